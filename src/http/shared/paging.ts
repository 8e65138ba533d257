import { type TSchema, Type } from "@sinclair/typebox";
import { invalid } from "../../core/errors.ts";
import { isEventTypePattern } from "../../core/event-type.ts";
import { type IdKind, keyTime } from "../../core/ids.ts";
import { limit } from "../../core/limits.ts";
import { parseRfc3339 } from "../../core/rfc3339.ts";
import { isHeavy } from "../../core/structures/turn-queue.ts";
import type { PageAsk } from "../../store/page.ts";
import type { Answer, RequestContext } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { nullable, timeInput, timeShape, timeText } from "./shapes.ts";

/** What lists have in common: `limit` and `cursor`, newest first, `{data, next_cursor}`. */

const CURSOR_LENGTH_MAX = 100;
/** 26 characters of Crockford base32, in either case. */
const ID_TAIL = /^[0-9A-HJKMNP-TV-Z]{26}$/i;

/** Query parameters of every list. */
export const pagingQuery = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limit("listLimitMax"),
      default: limit("listLimitDefault"),
      description: "How many entries the page has at most.",
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: CURSOR_LENGTH_MAX,
      description: "`next_cursor` of the page before.",
      expected: "the `next_cursor` of the page before",
    }),
  ),
};

/** How many entries a page has. */
export function pageSize(query: { limit?: number }): number {
  return query.limit ?? limit("listLimitDefault");
}

/**
 * The key below which the list goes on; above every key where no cursor is given. `kind` tells the cursors of
 * different lists apart. Throws 422 with the pointer `cursor` for a text that `writeCursor` never wrote.
 */
export function readCursor(services: Needs<"ids">, kind: IdKind, cursor: string | undefined): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER;
  const key = services.ids.decode(kind, Buffer.from(cursor, "base64url").toString());
  if (key !== null && writeCursor(services, kind, key) === cursor) return key;
  throw invalid("cursor", "Expected the `next_cursor` of the page before.");
}

/** The cursor to go on below `key`; null at the end of the list. */
export function writeCursor(services: Needs<"ids">, kind: IdKind, key: number | null): string | null {
  return key === null ? null : Buffer.from(services.ids.encode(kind, key)).toString("base64url");
}

/** What a list that may look at very much is asked for. */
export function pageAsk(
  services: Needs<"ids">,
  kind: IdKind,
  context: Pick<RequestContext, "turns" | "beginWork"> & { query: { limit?: number; cursor?: string } },
): PageAsk {
  const { query, turns } = context;
  return {
    before: readCursor(services, kind, query.cursor),
    count: pageSize(query),
    turns,
    begin: () => context.beginWork(),
  };
}

/** What the page of a list needs of its request. */
type ListContext = Pick<RequestContext, "turns" | "reachAnswer">;

/** What a page of the usual size asks its table for at once; a larger one asks again as it comes to them. */
const CHUNK = limit("listLimitDefault") + 1;

interface Listing<Row> extends Pick<Found<Row>, "keep" | "show"> {
  /** Rows below a key, newest first: of those in memory all, of a table no more than `count`. */
  rows: (before: number, count: number) => Iterable<Row>;
}

/** The answer of a list: the page that `query` asks for, or a shorter one where it would be very large. */
export function pageOf<Row extends { id: number }>(
  services: Needs<"ids">,
  kind: IdKind,
  context: ListContext & { query: { limit?: number; cursor?: string } },
  { rows, ...listing }: Listing<Row>,
): Promise<Answer> {
  const size = pageSize(context.query);
  const found = inChunks(rows, readCursor(services, kind, context.query.cursor), Math.min(CHUNK, size + 1));
  return writePage(services, kind, context, { ...listing, rows: found, next: null, size });
}

function* inChunks<Row extends { id: number }>(
  rows: Listing<Row>["rows"],
  before: number,
  count: number,
): Generator<Row> {
  let below = before;
  for (let given = count; given >= count; ) {
    given = 0;
    for (const row of rows(below, count)) {
      yield row;
      below = row.id;
      given++;
    }
  }
}

/** Rows that are found: each is read, where that is left to do, and shown in its turn. */
interface Found<Row> {
  rows: Iterable<Row>;
  /** The key to go on below once all of them are shown. */
  next: number | null;
  /** Whether text was looked for, so that the answer says how far back. */
  isSearch?: boolean;
  /** How many the page has at most. */
  size?: number;
  /** What each of them shows at most, where that may be heavy. */
  bytesOfRow?: number;
  /** Which of them the page has; all unless given. */
  keep?: (row: Row) => boolean;
  /** May be a promise. */
  show: (row: Row) => unknown;
}

/** What a row in hand is counted as while its page waits: some of it is text of the caller's. */
const ROW_BYTES = 512;

/** The bytes of a page, made row by row: of a large one they would be work of milliseconds at its end. */
class PageText {
  readonly #pieces: Uint8Array[] = [];
  rows = 0;
  bytes = 0;

  add(shown: unknown): void {
    this.#append((this.rows++ === 0 ? '{"data":[' : ",") + JSON.stringify(shown));
  }

  end(rest: { next_cursor: string | null }): Uint8Array<ArrayBuffer> {
    this.#append(`${this.rows === 0 ? '{"data":[' : ""}],${JSON.stringify(rest).slice(1)}`);
    return Buffer.concat(this.#pieces, this.bytes);
  }

  #append(text: string): void {
    const piece = Buffer.from(text);
    this.#pieces.push(piece);
    this.bytes += piece.length;
  }
}

/**
 * The answer of a list whose rows are found. The page ends with `size` rows, or where it would be very large.
 * Others have their turns between its rows, and pages of an account that wait for turns are written one by
 * one: what is written of it by now, and its rows in hand, take room of the answers meanwhile.
 */
export async function writePage<Row extends { id: number }>(
  services: Needs<"ids">,
  kind: IdKind,
  { turns, reachAnswer }: ListContext,
  found: Found<Row>,
): Promise<Answer> {
  const { size = Number.POSITIVE_INFINITY, bytesOfRow = 0, keep, show } = found;
  const bytesInHand = Array.isArray(found.rows) ? found.rows.length * ROW_BYTES : 0;
  // They count once they are held from turn to turn.
  let held = 0;
  const rows = found.rows[Symbol.iterator]();
  const text = new PageText();
  let end: (() => void) | null = null;
  let last = null;
  let { next } = found;
  try {
    for (;;) {
      // Awaited only then: of many that come at once each has to see what those before it have taken.
      if (turns.isOver || isHeavy(bytesOfRow)) {
        held = bytesInHand;
        reachAnswer(text.bytes + held);
        end ??= await turns.beginPage();
        await turns.giveWay(bytesOfRow);
      }
      const { done, value: row } = rows.next();
      if (done) break;
      if (keep?.(row) === false) continue;
      if (text.rows === size || text.bytes >= limit("pageBytesMax")) {
        next = last;
        break;
      }
      const shown = show(row);
      // What is asked for it takes turns of its own, and nobody waits for those.
      if (shown instanceof Promise) {
        end?.();
        end = null;
      }
      text.add(shown instanceof Promise ? await shown : shown);
      last = row.id;
      reachAnswer(text.bytes + held);
    }
  } finally {
    end?.();
  }
  const rest = { next_cursor: writeCursor(services, kind, next) };
  const searched = { searched_since: timeText(next === null ? null : keyTime(next)) };
  const body = text.end(found.isSearch ? { ...rest, ...searched } : rest);
  return { status: 200, body, headers: { "content-type": "application/json" } };
}

/**
 * Schema and example of a page, for the `answers` of a route: `{description: "…",
 * ...listShape(item, example)}`.
 */
export function listShape<Item extends TSchema>(item: Item, example: unknown) {
  const nextCursor = Type.Union([Type.String(), Type.Null()], {
    description:
      "Give it as `cursor` to get the next page; null at the end. A page that would be very large has fewer entries than asked for.",
  });
  return {
    schema: Type.Object(
      { data: Type.Array(item), next_cursor: nextCursor },
      item.$id === undefined ? {} : { $id: `${item.$id}Page` },
    ),
    example: { data: [example], next_cursor: null },
  };
}

/** The same of a list in which text may be looked for. */
export function searchShape<Item extends TSchema>(item: Item, example: unknown) {
  const { schema, ...shape } = listShape(item, example);
  const description =
    "With `q` only: how far back this page has looked for the text; null where nothing older is left.";
  const searchedSince = Type.Optional(nullable(timeShape, description));
  const properties = { ...schema.properties, searched_since: searchedSince };
  return { ...shape, schema: Type.Object(properties, schema.$id === undefined ? {} : { $id: schema.$id }) };
}

/** A query parameter that is a time; `parseTime` reads it. */
export function timeParameter(description: string) {
  return Type.Optional(timeInput({ description, examples: ["2026-11-20T09:00:00.000Z"] }));
}

/**
 * The instant that a query parameter names in RFC 3339, in Unix milliseconds. Throws 422 with the
 * parameter's name. The space that an unescaped `+` of an offset becomes in a query string counts as the `+`
 * that was meant.
 */
export function parseTime(name: string, text: string): number {
  const at = parseRfc3339(text.replace(" ", "+"));
  if (at === null) throw invalid(name, "Expected a time as RFC 3339 has it, such as 2026-11-20T09:00:00Z.");
  return at;
}

/** What filtered lists say about their pages. */
export const SHORT_PAGES =
  `A page looks at ${limit("listScanMax")} entries at most, where it searches text at ${limit("searchScanMax")}, so that with rare matches it may be short, or empty, ` +
  "and still carry a `next_cursor`.";

/** Throws 422 where a filter is neither an event type nor a pattern of them. */
export function requirePattern(pointer: string, pattern: string): void {
  if (!isEventTypePattern(pattern)) {
    throw invalid(pointer, "Expected an event type, a pattern such as invoice.*, or *.");
  }
}

/** No row has this key. */
const NO_KEY = -1;

/**
 * The key of an id that filters a list; null where the filter is not given. An id that nothing has
 * filters all out. Throws 422 with the parameter's name where the text does not look like an id of this kind.
 */
export function readFilterId(
  services: Needs<"ids">,
  kind: IdKind,
  name: string,
  id: string | undefined,
): number | null {
  if (id === undefined) return null;
  if (!id.startsWith(`${kind}_`) || !ID_TAIL.test(id.slice(kind.length + 1))) {
    throw invalid(name, `Expected an id that begins with ${kind}_.`);
  }
  return services.ids.decode(kind, id) ?? NO_KEY;
}
