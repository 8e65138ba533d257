/** A delivery from the start of an attempt until the outcome of that attempt is on disk. */
interface Busy {
  /** Somebody asked for this attempt: it takes no slot. */
  byHand: boolean;
  isRecording: boolean;
  /** The delivery's turn came meanwhile: its row is read once the attempt is recorded. */
  again: boolean;
}

/**
 * The deliveries of one endpoint that are busy: none of them may have a second attempt. Their bodies are not
 * kept here, because a table that a Map has outgrown keeps all that stood in it until the next full
 * collection.
 */
export class Flights {
  readonly #busy = new Map<number, Busy>();
  #inFlight = 0;
  #byHand = 0;

  /** Busy deliveries: in flight, or with an outcome on its way to the disk. */
  get size(): number {
    return this.#busy.size;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Attempts in flight that the queue started. */
  get scheduled(): number {
    return this.#inFlight - this.#byHand;
  }

  /** Outcomes on their way to the disk. */
  get recording(): number {
    return this.#busy.size - this.#inFlight;
  }

  has(id: number): boolean {
    return this.#busy.has(id);
  }

  /** True while its outcome is on its way to the disk. */
  isRecording(id: number): boolean {
    return this.#busy.get(id)?.isRecording ?? false;
  }

  /** True where the delivery is busy; its row is then read again once its attempt is recorded. */
  defer(id: number): boolean {
    const flight = this.#busy.get(id);
    if (flight) flight.again = true;
    return flight !== undefined;
  }

  ids(): Iterable<number> {
    return this.#busy.keys();
  }

  /** Those whose turn came while they are busy. */
  deferred(): number[] {
    return [...this.#busy].flatMap(([id, { again }]) => (again ? id : []));
  }

  idsInFlight(): number[] {
    const ids: number[] = [];
    for (const [id, { isRecording }] of this.#busy) if (!isRecording) ids.push(id);
    return ids;
  }

  begin(id: number, byHand: boolean): void {
    this.#busy.set(id, { byHand, isRecording: false, again: false });
    this.#inFlight++;
    if (byHand) this.#byHand++;
  }

  /** The answer is there: the slot is free, the delivery stays busy until `end`. */
  land(id: number): void {
    const flight = this.#busy.get(id);
    if (!flight || flight.isRecording) throw new Error("an attempt ends that never began");
    flight.isRecording = true;
    this.#inFlight--;
    if (flight.byHand) this.#byHand--;
  }

  /** The outcome is on disk, or was given up. True where the delivery's turn came meanwhile. */
  end(id: number): boolean {
    const again = this.#busy.get(id)?.again ?? false;
    this.#busy.delete(id);
    return again;
  }
}
