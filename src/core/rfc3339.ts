/**
 * Times as RFC 3339 spells them. Read: any offset, any number of fractional digits, `T` and `Z` in
 * either case.
 */

const SHAPE = /^(\d{4}-\d\d-\d\d)t(\d\d:\d\d):(\d\d)(?:\.(\d+))?(?:z|([+-])([01]\d|2[0-3]):([0-5]\d))$/i;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const EARLIEST = Date.parse("0000-01-01T00:00:00.000Z");
const LATEST = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * The instant in Unix milliseconds, what is finer cut off; null for anything else, and for what falls outside
 * of the years 0000 to 9999 in UTC. A leap second counts as the second after it.
 */
export function parseRfc3339(text: string): number | null {
  const [whole, date, time, second = "", fraction = "", sign, hours, minutes] = SHAPE.exec(text) ?? [];
  if (whole === undefined) return null;
  const isLeap = second === "60";
  const utc = `${date}T${time}:${isLeap ? "59" : second}.${fraction.slice(0, 3).padEnd(3, "0")}Z`;
  const local = Date.parse(utc);
  // 30 February and 24:00 parse too, as another day.
  if (Number.isNaN(local) || new Date(local).toISOString() !== utc) return null;
  const offsetMs = sign === undefined ? 0 : (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
  const at = (sign === "-" ? local + offsetMs : local - offsetMs) + (isLeap ? 1000 : 0);
  if (isLeap && ((at % DAY_MS) + DAY_MS) % DAY_MS >= 1000) return null;
  return at < EARLIEST || at > LATEST ? null : at;
}

let lastAt = Number.NaN;
let lastText = "";

/**
 * An instant in UTC with milliseconds. What happens together is written together, so the last one is kept.
 */
export function formatRfc3339(at: number): string {
  if (at !== lastAt) lastText = new Date(at).toISOString();
  lastAt = at;
  return lastText;
}
