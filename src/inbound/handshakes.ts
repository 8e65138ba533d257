import { emptyHandshake } from "./answers.ts";
import { type Facts, readPath } from "./facts.ts";
import type { Handshake } from "./row.ts";
import type { Arrival } from "./schemes/scheme.ts";

/** Handshakes that several providers share. */

/** `HEAD` when the address is entered: 200 (Trello, Intercom, Mandrill). */
export const headProbe: Handshake<Arrival> = {
  text: "HEAD is answered 200",
  answer: ({ request }) => (request.method === "HEAD" ? emptyHandshake() : null),
};

/** A signed test event that is no event. */
export function ping(path: string, value: string): Handshake<Facts> {
  return {
    text: `test event ${value}`,
    answer: ({ body }) => (readPath(body, path) === value ? emptyHandshake() : null),
  };
}

/** A signed body without events proves the address (Xero, LINE) or the connection (Asana). */
export function emptyBatch(text: string, path = "events"): Handshake<Facts> {
  return {
    text,
    answer: ({ body }) => (isEmptyArray(body.value, path) ? emptyHandshake() : null),
  };
}

function isEmptyArray(value: unknown, name: string): boolean {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return false;
  const list: unknown = Reflect.get(value, name);
  return Array.isArray(list) && list.length === 0;
}
