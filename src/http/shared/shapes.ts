import { type SchemaOptions, type TSchema, Type } from "@sinclair/typebox";
import type { IdKind } from "../../core/ids.ts";
import { limit } from "../../core/limits.ts";
import { formatRfc3339 } from "../../core/rfc3339.ts";

/** Small schemas that many answers share, for the document. */

export function nullable<T extends TSchema>(schema: T, description?: string) {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
}

/**
 * Checked by one schema, shown by another: where what reads the value says better what is wrong with it, or
 * where a keyword means the same to TypeBox and to validators elsewhere only in other words.
 */
export function shownAs<T extends TSchema>(checked: T, shown: TSchema): T {
  return { ...checked, shown };
}

/** One of several shapes, each with an `$id`, that a field tells apart: generators make a type of each. */
export function taggedBy(tag: string, variants: Readonly<Record<string, TSchema>>): TSchema {
  const entries = Object.entries(variants).map(([value, { $id }]) => [value, `#/components/schemas/${$id}`]);
  const discriminator = { propertyName: tag, mapping: Object.fromEntries(entries) };
  return Type.Unsafe({ oneOf: [...new Set(Object.values(variants))], discriminator });
}

/** One of these words. */
export function oneOf<const T extends string>(words: readonly T[], options: SchemaOptions = {}) {
  return Type.Union(
    words.map((word) => Type.Literal(word)),
    options,
  );
}

const ID_TAIL = "[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{26}";

/** The id of something, as somebody gives it; whoever looks for it says what is wrong with another text. */
export function idText(kinds: IdKind | readonly IdKind[], options: SchemaOptions = {}) {
  const prefix = typeof kinds === "string" ? kinds : `(${kinds.join("|")})`;
  return shownAs(Type.String(options), Type.String({ pattern: `^${prefix}_${ID_TAIL}$`, ...options }));
}

const TYPE_NAME = "[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*";

/** The name of an event type (core/event-type.ts). */
export function typeText(options: SchemaOptions = {}) {
  const shape = { minLength: 1, maxLength: limit("eventTypeLengthMax"), ...options };
  return shownAs(Type.String(options), Type.String({ pattern: `^${TYPE_NAME}$`, ...shape }));
}

/** Such a name, a pattern of names, or `*`. */
export function typePatternText(options: SchemaOptions = {}) {
  const shape = { minLength: 1, maxLength: limit("eventTypeLengthMax") + 2, ...options };
  const pattern = `^(\\*|${TYPE_NAME}(\\.\\*)?)$`;
  return shownAs(Type.String(options), Type.String({ pattern, ...shape }));
}

/** A time with any offset (core/rfc3339.ts). */
export function timeInput(options: SchemaOptions = {}) {
  return shownAs(Type.String(options), Type.String({ format: "date-time", ...options }));
}

/**
 * One that is no control character, nor half of a surrogate pair; read alike with and without the flag `u`.
 */
const CHARACTER = "(?:[^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]|[\\ud800-\\udbff][\\udc00-\\udfff])";

/**
 * A name that people give, as http/events/input.ts reads those of an event. SQLite keeps no halves of
 * surrogate pairs: two names would become one. Characters are counted, where `maxLength` would count
 * the halves.
 */
export function nameText(max: number, options: { description?: string } = {}) {
  const checked = Type.String({
    pattern: `^${CHARACTER}{1,${max}}$`,
    expected: `a string of 1 to ${max} characters, none of them a control character`,
    ...options,
  });
  return shownAs(checked, shownText("", max, options));
}

/** JSON Schema counts characters; halves of pairs cannot be in what is sent as UTF-8. */
function shownText(ahead: string, max: number, options: SchemaOptions): TSchema {
  const pattern = `^${ahead}[^\\u0000-\\u001f\\u007f-\\u009f]+$`;
  return Type.String({ minLength: 1, maxLength: max, pattern, ...options });
}

export const EXPECTED_CONSUMER =
  `a string of 1 to ${limit("consumerIdLengthMax")} characters, none of them a control character, ` +
  "and neither . nor .., which no path can name";

/**
 * The `consumer_id` that somebody gives. Clients take `.` and `..` out of a path: DELETE /v1/consumers/:id
 * could not name such a one.
 */
export function consumerText(options: { description?: string } = {}) {
  const [ahead, max] = ["(?!\\.{1,2}$)", limit("consumerIdLengthMax")];
  const pattern = `^${ahead}${CHARACTER}{1,${max}}$`;
  const checked = Type.String({ pattern, expected: EXPECTED_CONSUMER, ...options });
  return shownAs(checked, shownText(ahead, max, options));
}

/** Something secret of an answer: of an answer that is given again it is no part. */
export function shownOnce(description: string) {
  const again = "Left out where the answer is given again for its `Idempotency-Key`: secrets are not kept.";
  return Type.Optional(Type.String({ description: `${description} ${again}` }));
}

/** An instant as answers write it: RFC 3339 in UTC with milliseconds. */
export const timeShape = Type.String({ format: "date-time" });

/** An instant of the store (Unix milliseconds) as answers write it. */
export function timeText(at: number): string;
export function timeText(at: number | null): string | null;
export function timeText(at: number | null): string | null {
  return at === null ? null : formatRfc3339(at);
}
