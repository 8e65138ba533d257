/** Why an upload failed; null where everything is in the replica. */
export type Failure = Error | null;

function asFailure(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/**
 * Uploads one after the other, each of all that is committed when it begins. Whoever asks while one runs
 * shares the next: what comes meanwhile gathers, as behind an fsync.
 */
export class Uploads {
  #running: Promise<Failure> | null = null;
  #next: Promise<Failure> | null = null;
  #began = 0;

  constructor(
    private readonly upload: () => Promise<Failure>,
    private readonly monotonic: () => number,
  ) {}

  /** Resolves once an upload that begins at this call or later has ended. */
  next(): Promise<Failure> {
    if (this.#next !== null) return this.#next;
    if (this.#running === null) return this.#begin();
    this.#next = this.#running.then(() => {
      this.#next = null;
      return this.#begin();
    });
    return this.#next;
  }

  /** For how long the one that runs has taken; 0 where none does. */
  runningMs(at: number): number {
    return this.#running === null ? 0 : at - this.#began;
  }

  #begin(): Promise<Failure> {
    this.#began = this.monotonic();
    this.#running = this.upload()
      .catch(asFailure)
      .finally(() => {
        this.#running = null;
      });
    return this.#running;
  }
}
