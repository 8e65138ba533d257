import type { DeliveryFilter } from "../store/delivery-list.ts";
import { deliveryOf } from "./delivery-shape.ts";
import { limit } from "../core/limits.ts";
import type { Answer } from "./route.ts";
import type { Services } from "./services.ts";

const encoder = new TextEncoder();

/**
 * Every delivery that matches, newest first, one JSON object a line (contract section 4). A page is read when the client
 * has taken the one before, so that an export of any length holds a page in memory.
 */
export function exportDeliveries(
  services: Services,
  filter: DeliveryFilter,
  before: number,
  countMax = Number.POSITIVE_INFINITY,
): Answer {
  let left = countMax;
  let position: number | null = before;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      let text = "";
      while (text === "" && position !== null) {
        const page = await services.deliveryList.page(
          filter,
          position,
          Math.min(limit("listLimitMax"), left),
        );
        const rows = page.rows.map((row) => JSON.stringify(deliveryOf(services, row, row.eventType)));
        text = rows.map((row) => `${row}\n`).join("");
        left -= rows.length;
        position = page.next;
      }
      if (text !== "") controller.enqueue(encoder.encode(text));
      if (position === null || left <= 0) controller.close();
    },
  });
  return { status: 200, body, headers: { "content-type": "application/x-ndjson" } };
}
