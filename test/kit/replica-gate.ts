import type { TurnParts } from "../../src/core/structures/turn-queue.ts";
import { turnParts } from "../../src/platform/turns.ts";
import { Confirmations, type ReplicaGate } from "../../src/pipeline/confirmations.ts";

/** A replica that confirms when a test says so. */
export class GateByHand implements ReplicaGate {
  /** Why nothing is confirmed. */
  problem: string | null = null;
  /** How long answers wait. */
  waitMs = 5000;
  readonly refused: string[] = [];
  readonly failures: unknown[] = [];
  confirmed = 0;
  #waiting: (() => void)[] = [];
  #onAsked: (() => void)[] = [];
  #asked = 0;

  obstacle(): string | null {
    return this.problem;
  }

  untilWritten(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#asked++;
      for (const tell of this.#onAsked.splice(0)) tell();
    });
  }

  /** Resolves once so many have asked since the start. */
  async asked(count = 1): Promise<void> {
    while (this.#asked < count) await new Promise<void>((resolve) => this.#onAsked.push(resolve));
  }

  /** An upload that brings everything ends. */
  confirm(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** Answers that wait for this gate, with its numbers. */
export function confirmationsBy(gate: GateByHand, turns: TurnParts = turnParts): Confirmations {
  return new Confirmations({
    gate,
    turns,
    get waitMs() {
      return gate.waitMs;
    },
    monotonic: () => performance.now(),
    onConfirmed: (events) => void (gate.confirmed += events),
    onRefused: (when) => gate.refused.push(when),
    onFailed: (error) => gate.failures.push(error),
  });
}
