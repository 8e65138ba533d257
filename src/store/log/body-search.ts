import type { Events } from "./events.ts";
import type { BodySearch } from "../page.ts";

/** Looks for text in the `data` of the events that rows name. */
export function searchOf<Row extends { bytes: number }>(
  events: Events,
  text: string,
  eventOf: (row: Row) => number,
): BodySearch<Row> {
  return {
    bytesOf: ({ bytes }) => bytes,
    holds: (row) => holdsText(events.getWithData(eventOf(row))?.data ?? "", text),
  };
}

/**
 * True where JSON text holds `text`, in any case, however the publisher spelled it: "ü" and "\\u00fc" are
 * one, as are a quotation mark and its escape.
 */
export function holdsText(json: string, text: string): boolean {
  const wanted = text.toLowerCase();
  if (json.toLowerCase().includes(wanted)) return true;
  if (!json.includes("\\")) return false;
  const spelled = JSON.stringify(JSON.parse(json)).toLowerCase();
  return spelled.includes(wanted) || spelled.includes(JSON.stringify(wanted).slice(1, -1));
}
