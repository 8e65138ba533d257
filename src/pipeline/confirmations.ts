import { Problem } from "../core/errors.ts";
import type { Share, TurnParts } from "../core/structures/turn-queue.ts";

/** What is asked of the replica: src/replica/replication.ts is it, whether there is one or not. */
export interface ReplicaGate {
  /** Why nothing is confirmed at the moment; null where it is. */
  obstacle(): string | null;
  /**
   * Resolves once all that is committed by now is in the replica, however long that takes: for all who ask in
   * the order in which they did.
   */
  untilWritten(): Promise<void>;
}

export interface ConfirmationParts {
  gate: ReplicaGate;
  turns: TurnParts;
  /** How long an answer waits. */
  waitMs: number;
  monotonic(): number;
  /** Events are in the replica, so long after their commit. */
  onConfirmed(events: number, ms: number): void;
  /** Before the commit, or after it as the wait was over. */
  onRefused(when: "before" | "after"): void;
  /** What went on after its answer has failed. */
  onFailed(error: unknown): void;
}

const RETRY_SECONDS = 5;

/** Answers that wait for the replica. Those that ask for the disk alone know nothing of it. */
export class Confirmations {
  /** What runs in later turns of the loop: one upload may confirm very many at once. */
  #line: (() => void)[] = [];
  /** Of this turn; null where nothing was run in it yet. */
  #share: Share | null = null;

  /** Answers that wait, or may come to that. */
  #count = 0;
  #onAnswered: (() => void)[] = [];
  #isEnding = false;

  constructor(private readonly parts: ConfirmationParts) {}

  /** Before anything is written. Throws 503 where nothing would be confirmed. */
  requireReached(): void {
    const obstacle = this.#isEnding ? "The service is stopping." : this.parts.gate.obstacle();
    if (obstacle === null) return;
    this.parts.onRefused("before");
    throw refusal(`${obstacle} Nothing was stored by this request.`);
  }

  /**
   * After the commit of so many events: `then` runs once the replica has them, however long that takes, and
   * in the order of the calls. The answer waits for that no longer than it may: throws 503 beyond.
   */
  async confirm<T>(events: number, then: () => T | Promise<T>): Promise<T> {
    const { parts } = this;
    const from = parts.monotonic();
    const goOn = async () => {
      parts.onConfirmed(events, parts.monotonic() - from);
      return then();
    };
    const confirmed = parts.gate
      .untilWritten()
      .then(() => new Promise<T>((resolve) => this.#inTurn(() => resolve(goOn()))));
    const { promise: tooLate, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      confirmed.catch((error: unknown) => parts.onFailed(error));
      parts.onRefused("after");
      reject(notInTime());
    }, parts.waitMs);
    return this.answering(() => Promise.race([confirmed, tooLate]).finally(() => clearTimeout(timer)));
  }

  /** What leads to a wait, and the wait itself: the end of the service waits for its answer. */
  async answering<T>(work: () => Promise<T>): Promise<T> {
    this.#count++;
    try {
      return await work();
    } finally {
      this.#count--;
      if (this.#count === 0) for (const tell of this.#onAnswered.splice(0)) tell();
    }
  }

  /**
   * The end of the service: resolves when no answer waits, nor will: each waits for so long at most, and
   * nothing that asks for the replica begins from now on.
   */
  untilAnswered(): Promise<void> {
    this.#isEnding = true;
    return this.#count === 0 ? Promise.resolve() : new Promise((tell) => this.#onAnswered.push(tell));
  }

  /** Runs it in this turn of the loop where there is time left, and nobody waits for the next. */
  #inTurn(run: () => void): void {
    this.#share ??= this.#beginShare();
    if (this.#line.length > 0 || this.#share.isOver) this.#line.push(run);
    else run();
  }

  #beginShare(): Share {
    const { turns } = this.parts;
    turns.schedule(() => this.#nextTurn());
    return turns.beginShare();
  }

  #nextTurn(): void {
    this.#share = null;
    if (this.#line.length === 0) return;
    const share = (this.#share = this.#beginShare());
    let done = 0;
    do this.#line[done++]?.();
    while (done < this.#line.length && !share.isOver);
    this.#line.splice(0, done);
  }

  /** What an earlier request has stored is answered again: the replica has it by then. */
  async confirmAgain(): Promise<void> {
    this.requireReached();
    await this.confirm(0, () => {});
  }
}

function notInTime(): Problem {
  return refusal(
    "The event is on this disk, and the replica has not confirmed it in time. It is not acknowledged, and may be delivered later. Send it again with the same external_id or Idempotency-Key.",
  );
}

function refusal(detail: string): Problem {
  return new Problem("replica_unavailable", detail, { headers: { "retry-after": String(RETRY_SECONDS) } });
}
