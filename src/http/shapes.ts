import { type SchemaOptions, type TSchema, Type } from "@sinclair/typebox";
import { limit } from "../core/limits.ts";
import { formatRfc3339 } from "../core/rfc3339.ts";

/** Small schemas that many answers share, for the document. */

export function nullable<T extends TSchema>(schema: T, description?: string) {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
}

/** One of these words. */
export function oneOf<const T extends string>(words: readonly T[], options: SchemaOptions = {}) {
  return Type.Union(
    words.map((word) => Type.Literal(word)),
    options,
  );
}

/** One that is no control character, nor half of a surrogate pair; read alike with and without the flag `u`. */
const CHARACTER = "(?:[^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]|[\\ud800-\\udbff][\\udc00-\\udfff])";

/**
 * A name that people give, as http/event-input.ts reads those of an event. SQLite keeps no halves of surrogate pairs: two names would
 * become one. Characters are counted, where `maxLength` would count the halves.
 */
export function nameText(max: number, options: { description?: string } = {}) {
  return Type.String({
    pattern: `^${CHARACTER}{1,${max}}$`,
    expected: `a string of 1 to ${max} characters, none of them a control character`,
    ...options,
  });
}

export const EXPECTED_CONSUMER =
  `a string of 1 to ${limit("consumerIdLengthMax")} characters, none of them a control character, ` +
  "and neither . nor .., which no path can name";

/** The `consumer_id` that somebody gives. Clients take `.` and `..` out of a path: DELETE /v1/consumers/:id could not name such a one. */
export function consumerText(options: { description?: string } = {}) {
  const pattern = `^(?!\\.{1,2}$)${CHARACTER}{1,${limit("consumerIdLengthMax")}}$`;
  return Type.String({ pattern, expected: EXPECTED_CONSUMER, ...options });
}

/** An instant as answers write it: RFC 3339 in UTC with milliseconds. */
export const timeShape = Type.String({ format: "date-time" });

/** An instant of the store (Unix milliseconds) as answers write it. */
export function timeText(at: number): string;
export function timeText(at: number | null): string | null;
export function timeText(at: number | null): string | null {
  return at === null ? null : formatRfc3339(at);
}
