/**
 * The value of a text that is sent again as JSON. Throws where it is none, and for a number that would be
 * sent as `null` (1e400).
 */
export function parseExact(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown) => {
    if (typeof value === "number" && !Number.isFinite(value)) throw new RangeError("no double holds it");
    return value;
  });
}
