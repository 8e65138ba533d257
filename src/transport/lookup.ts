/**
 * One question to the guard where a URL leads.
 *
 * The guard's resolver cannot be told to stop: it answers a question that was given up like any other, in its
 * own time. Until then the question is held, and nothing of whoever asked.
 */
import type { AddressVerdict, Guard } from "./guard.ts";
import type { UrlParts } from "./url-parts.ts";

/** Whoever asked: an exchange that owns no connection yet. */
export interface LookupOwner {
  /** Called once at most, later than the question is asked, and never after `giveUp()`. */
  onVerdict(verdict: AddressVerdict): void;
}

export class Lookup {
  /** Resolves once the guard has answered, also where nobody waits for that any more. */
  readonly gone: Promise<void>;
  #owner: LookupOwner | null;

  constructor(guard: Pick<Guard, "pin">, url: UrlParts, owner: LookupOwner) {
    this.#owner = owner;
    this.gone = this.#ask(guard, url);
  }

  giveUp(): void {
    this.#owner = null;
  }

  async #ask(guard: Pick<Guard, "pin">, url: UrlParts): Promise<void> {
    const verdict = await guard.pin(url);
    this.#owner?.onVerdict(verdict);
  }
}
