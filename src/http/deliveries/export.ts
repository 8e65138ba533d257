import type { Caller } from "../../core/caller.ts";
import { Problem } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import type { Turns } from "../../core/structures/turn-queue.ts";
import type { DeliveryFilter } from "../../store/log/delivery-list.ts";
import { deliveryOf } from "./shape.ts";
import type { Answer } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";

const encoder = new TextEncoder();
const RETRY_SECONDS = 5;

export interface Export {
  filter: DeliveryFilter;
  before: number;
  countMax: number;
  turns: Turns;
  /** Throws where the caller may not read any more. */
  requireAdmission(): void;
}

/**
 * Every delivery that matches, newest first, one JSON object a line. A page is read when the client has taken
 * the one before, so that an export of any length holds a page in memory. It ends complete, or by an error
 * that the client sees: one that takes nothing for `exportStallMs` is cut off.
 */
export class Exports {
  /** How many of a caller are under way. */
  readonly #open = new Map<string, number>();

  constructor(private readonly services: Needs<"ids" | "deliveryList" | "actors">) {}

  /** Throws 429 where the caller has too many under way. */
  begin(caller: Caller, asked: Export): Answer {
    const end = this.#enter(`${caller.kind}:${caller.id}`);
    const source = new ExportSource(this.services, asked, end);
    const body = new ReadableStream<Uint8Array>(source);
    return { status: 200, body, headers: { "content-type": "application/x-ndjson" } };
  }

  /** Answers what ends it, which may be called twice. */
  #enter(who: string): () => void {
    const before = this.#open.get(who) ?? 0;
    const max = limit("exportsAtOnceMax");
    if (before >= max) {
      const headers = { "retry-after": String(RETRY_SECONDS) };
      throw new Problem("rate_limited", `${max} exports are under way.`, { headers });
    }
    this.#open.set(who, before + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      const left = (this.#open.get(who) ?? 1) - 1;
      if (left > 0) this.#open.set(who, left);
      else this.#open.delete(who);
    };
  }
}

class ExportSource {
  #position: number | null;
  #left: number;
  /** Runs out where the reader takes nothing. */
  #stall: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly services: Needs<"ids" | "deliveryList" | "actors">,
    private readonly asked: Export,
    private readonly end: () => void,
  ) {
    this.#position = asked.before;
    this.#left = asked.countMax;
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    clearTimeout(this.#stall);
    try {
      const text = await this.#read();
      if (text !== "") controller.enqueue(encoder.encode(text));
    } catch (error) {
      this.end();
      throw error;
    }
    if (this.#position === null || this.#left <= 0) {
      this.end();
      return controller.close();
    }
    this.#stall = setTimeout(() => {
      this.end();
      controller.error(new Error("the reader of an export takes nothing"));
    }, limit("exportStallMs"));
  }

  cancel(): void {
    clearTimeout(this.#stall);
    this.end();
  }

  /** The lines of the next page that has any; empty at the end. */
  async #read(): Promise<string> {
    const { filter, turns } = this.asked;
    let text = "";
    while (text === "" && this.#position !== null) {
      this.asked.requireAdmission();
      const count = Math.min(limit("listLimitMax"), this.#left);
      const page = await this.services.deliveryList.page(filter, this.#position, count, turns);
      for (const row of page.rows)
        text += `${JSON.stringify(deliveryOf(this.services, row, row.eventType))}\n`;
      this.#left -= page.rows.length;
      this.#position = page.next;
    }
    return text;
  }
}
