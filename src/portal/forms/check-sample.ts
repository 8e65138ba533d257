/**
 * Judges a pasted request by the source, and finds out what pasting did to it: a body that lost its last line
 * break, or that a viewer laid out anew, is not what was signed, and a request of yesterday is too old
 * whatever else it is.
 */
export interface Sample {
  method: string;
  url?: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** Held against this time. */
  at?: string;
}

export interface Answer {
  verified: boolean;
  reason: string | null;
}

export type Variant = "shorter" | "longer" | "crlf" | "compact";

export interface Verdict extends Answer {
  /** When it was signed, where it is genuine but for its age. */
  at: string | null;
  /** What had to be made good for it to be genuine. */
  variant: Variant | null;
}

type Ask = (sample: Sample) => Promise<Answer>;

const BODY_REASONS = ["bad_signature", "body_altered"];

export async function checkSample(sample: Sample, ask: Ask): Promise<Verdict> {
  const first = await ask(sample);
  const { answer, at } = await atItsTime(sample, first, ask);
  const timed = at === null ? sample : { ...sample, at };
  if (answer.verified || !BODY_REASONS.includes(answer.reason ?? "")) return { ...answer, at, variant: null };
  for (const [variant, body] of variantsOf(sample.body)) {
    const other = await ask({ ...timed, body });
    if (other.verified) return { ...other, at, variant };
  }
  return { ...answer, at, variant: null };
}

/** A request that is too old, as it would have been judged when it was signed. */
async function atItsTime(
  sample: Sample,
  first: Answer,
  ask: Ask,
): Promise<{ answer: Answer; at: string | null }> {
  if (first.reason !== "stale_timestamp") return { answer: first, at: null };
  for (const at of timesIn(sample)) {
    const answer = await ask({ ...sample, at });
    if (answer.reason !== "stale_timestamp") return { answer, at };
  }
  return { answer: first, at: null };
}

const TIMES_MAX = 6;
const TIME = /\b(\d{10}(?:\d{3})?)\b|\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g;
/** Ten digits are seconds since 1970 from 2001 on. */
const SECONDS_DIGITS = 10;

/** What may be the time at which it was signed: of the headers first, then of the body. */
export function timesIn({ headers, body }: Pick<Sample, "headers" | "body">): string[] {
  const texts = [...Object.values(headers), body];
  const found = texts.flatMap((text) =>
    [...text.matchAll(TIME)].map(([whole, digits]) => toMs(whole, digits)),
  );
  const times = [...new Set(found.filter((ms) => !Number.isNaN(ms)))].slice(0, TIMES_MAX);
  return times.map((ms) => new Date(ms).toISOString());
}

function toMs(whole: string, digits: string | undefined): number {
  if (digits === undefined) return Date.parse(whole);
  return digits.length === SECONDS_DIGITS ? Number(digits) * 1000 : Number(digits);
}

/** Bodies that this one may have been before it was pasted. */
export function variantsOf(body: string): [Variant, string][] {
  const all: [Variant, string][] = [
    ["shorter", body.replace(/(?<!\n)\n+$/, "")],
    ["longer", `${body}\n`],
    ["crlf", body.replaceAll("\n", "\r\n")],
    ["compact", compact(body) ?? body],
  ];
  return all.filter(([, text]) => text !== body);
}

function compact(body: string): string | null {
  try {
    return JSON.stringify(JSON.parse(body));
  } catch {
    return null;
  }
}
