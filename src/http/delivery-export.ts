import { limit } from "../core/limits.ts";
import type { Turns } from "../core/turn-queue.ts";
import type { DeliveryFilter } from "../store/delivery-list.ts";
import { deliveryOf } from "./delivery-shape.ts";
import type { Answer } from "./route.ts";
import type { Services } from "./services.ts";

const encoder = new TextEncoder();

/**
 * Every delivery that matches, newest first, one JSON object a line. A page is read when the client has taken the one before, so that an
 * export of any length holds a page in memory. It ends complete, or by an error that the client sees: one that takes nothing for
 * `exportStallMs` is cut off.
 */
export function exportDeliveries(
  services: Services,
  filter: DeliveryFilter,
  before: number,
  turns: Turns,
  countMax = Number.POSITIVE_INFINITY,
): Answer {
  let left = countMax;
  let position: number | null = before;
  const stall = new Stall();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      stall.end();
      let text = "";
      while (text === "" && position !== null) {
        const count = Math.min(limit("listLimitMax"), left);
        const page = await services.deliveryList.page(filter, position, count, turns);
        const rows = page.rows.map((row) => JSON.stringify(deliveryOf(services, row, row.eventType)));
        text = rows.map((row) => `${row}\n`).join("");
        left -= rows.length;
        position = page.next;
      }
      if (text !== "") controller.enqueue(encoder.encode(text));
      if (position === null || left <= 0) return controller.close();
      stall.begin(() => controller.error(new Error("the reader of an export takes nothing")));
    },
    cancel: () => stall.end(),
  });
  return { status: 200, body, headers: { "content-type": "application/x-ndjson" } };
}

/** The time in which a reader has taken nothing. */
class Stall {
  #timer: ReturnType<typeof setTimeout> | undefined;

  begin(cut: () => void): void {
    this.#timer = setTimeout(cut, limit("exportStallMs"));
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
