import type { Caller } from "../../core/caller.ts";
import { limit } from "../../core/limits.ts";
import type { Turns } from "../../core/structures/turn-queue.ts";
import type { DeliveryFilter } from "../../store/log/delivery-list.ts";
import type { PageAsk } from "../../store/page.ts";
import { deliveryOf } from "./shape.ts";
import type { Bytes } from "../framework/request-body.ts";
import { AtOnce } from "../shared/at-once.ts";
import type { Answer } from "../framework/route.ts";
import type { AnswerPieces } from "../framework/streamed.ts";
import type { Needs } from "../framework/services.ts";

const encoder = new TextEncoder();

export interface Export {
  filter: DeliveryFilter;
  before: number;
  countMax: number;
  turns: Turns;
  /** Takes the permit of a long work; answers what gives it back. */
  beginPiece(): Promise<() => void>;
  /** Throws where the caller may not read any more. */
  requireCaller(): void;
}

/**
 * Every delivery that matches, newest first, one JSON object a line. A page is read when the client has taken
 * the one before, so that an export of any length holds two in memory, which are counted as a large answer
 * is. It ends complete, or by an error that the client sees: one that takes nothing for `exportStallMs` is
 * cut off, and so is one for whose pages there is no room.
 */
export class Exports {
  readonly #atOnce = new AtOnce("exportsAtOnceMax", "exports");

  constructor(private readonly services: Needs<"ids" | "deliveryList" | "actors">) {}

  /** Throws 429 where the caller has too many under way. */
  begin(caller: Caller, asked: Export): Answer {
    const end = this.#atOnce.begin(caller);
    const body = new ExportPages(this.services, asked, end);
    return { status: 200, body, headers: { "content-type": "application/x-ndjson" } };
  }
}

class ExportPages implements AnswerPieces {
  readonly patience = { ms: limit("exportStallMs"), of: "each piece" } as const;
  #position: number | null;
  #left: number;

  constructor(
    private readonly services: Needs<"ids" | "deliveryList" | "actors">,
    private readonly asked: Export,
    readonly end: () => void,
  ) {
    this.#position = asked.before;
    this.#left = asked.countMax;
  }

  async next(): Promise<Bytes | null> {
    const text = await this.#read();
    return text === "" ? null : (encoder.encode(text) as Bytes);
  }

  /** The lines of the next page that has any; empty at the end. */
  async #read(): Promise<string> {
    const { turns } = this.asked;
    let text = "";
    while (text === "" && this.#position !== null && this.#left > 0) {
      this.asked.requireCaller();
      const count = Math.min(limit("listLimitMax"), this.#left);
      text = await this.#readPage({ before: this.#position, count, turns });
    }
    return text;
  }

  /** Where it looks at much it has the permit of a long work, and none while its reader takes the page. */
  async #readPage(ask: Omit<PageAsk, "begin">): Promise<string> {
    let end = () => {};
    const begin = async () => {
      end = await this.asked.beginPiece();
      // The wait may have been long.
      this.asked.requireCaller();
    };
    try {
      const { rows, next } = await this.services.deliveryList.page(this.asked.filter, { ...ask, begin });
      this.#left -= rows.length;
      this.#position = next;
      return rows.map((row) => `${JSON.stringify(deliveryOf(this.services, row, row.eventType))}\n`).join("");
    } finally {
      end();
    }
  }
}
