import { type TSchema, Type } from "@sinclair/typebox";
import { formatRfc3339 } from "../core/rfc3339.ts";

/** Small schemas that many answers share, for the document. */

export function nullable<T extends TSchema>(schema: T, description?: string) {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
}

/** One of these words. */
export function oneOf<const T extends string>(words: readonly T[], options: { description?: string } = {}) {
  return Type.Union(
    words.map((word) => Type.Literal(word)),
    options,
  );
}

/** An instant as answers write it: RFC 3339 in UTC with milliseconds. */
export const timeShape = Type.String({ format: "date-time" });

/** An instant of the store (Unix milliseconds) as answers write it. */
export function timeText(at: number): string;
export function timeText(at: number | null): string | null;
export function timeText(at: number | null): string | null {
  return at === null ? null : formatRfc3339(at);
}
