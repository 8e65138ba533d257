import { type AnswerCase, DELIVERED, type Meaning, refused } from "./case.ts";

/**
 * What was answered, its status, its body, and the error code that it means; null: its status says it all.
 */
type Row = readonly [
  what: string,
  status: number,
  body: unknown,
  means: "delivered" | Meaning | null,
  throttled?: true,
];

/** Answers of a product in the version named, or as the page named describes them. */
export function recorded(from: string, rows: readonly Row[]): AnswerCase[] {
  return rows.map(([what, status, body, means, throttled = false]) => ({
    name: `${what} (${from})`,
    status,
    body: typeof body === "string" ? body : JSON.stringify(body),
    judged: means === "delivered" ? DELIVERED : refused(means, throttled),
  }));
}
