import { isUtf8 } from "node:buffer";
import type { TSchema } from "@sinclair/typebox";
import { type Fault, invalid, Problem } from "../../core/errors.ts";
import { findOutOfRange } from "../../core/json/range.ts";
import { limit } from "../../core/limits.ts";
import { isHeavy } from "../../core/structures/turn-queue.ts";
import { nextTurn } from "../../platform/turns.ts";
import type { BodyInFlight } from "./bodies-in-flight.ts";
import { compileValidator } from "./validate.ts";

export type Bytes = Uint8Array<ArrayBuffer>;

export const NO_BYTES: Bytes = new Uint8Array(0);

const JSON_TYPE = /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i;
/** RFC 7396, section 4. */
export const MERGE_PATCH_TYPE = "application/merge-patch+json";
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function tooLarge(maxBytes: number): Problem {
  return new Problem("payload_too_large", `The body may hold at most ${maxBytes} bytes.`);
}

/**
 * Throws 415 where a body is announced that is not plain `application/json` in UTF-8, nor, for a PATCH, a
 * merge patch by its own name.
 */
export function requireJson(request: Request): void {
  const { headers } = request;
  const type = headers.get("content-type");
  const isEncoded = (headers.get("content-encoding") ?? "identity") !== "identity";
  if (!isEncoded && type !== null && (type === "application/json" || JSON_TYPE.test(type))) return;
  const isPatch = request.method === "PATCH";
  if (!isEncoded && isPatch && type?.trim().toLowerCase() === MERGE_PATCH_TYPE) return;
  if (request.body === null) return;
  const detail = isEncoded
    ? "Send the body without a content-encoding."
    : `Send the body as application/json${isPatch ? ` or ${MERGE_PATCH_TYPE}` : ""}.`;
  throw new Problem("unsupported_media_type", detail);
}

/**
 * The whole body, counted in `room` as it comes, and not settled there. Throws 413 as soon as it is, or says
 * it will be, longer than `maxBytes`, and 503 where there is no room for it. Bun's own limit answers without
 * a body, so it is set out of reach and the bytes are counted here.
 */
export function readBody(request: Request, maxBytes: number, room: BodyInFlight): Bytes | Promise<Bytes> {
  const header = request.headers.get("content-length");
  if ((header === null || header === "0") && request.body === null) return NO_BYTES;
  const length = header === null ? null : Number(header);
  if (length !== null && length > maxBytes) throw tooLarge(maxBytes);
  if (length !== null && length <= limit("smallBodyBytesMax")) return readWhole(request, room);
  // A body of few pieces is not read as a stream, which costs more than it saves.
  const isLight = length !== null && !isHeavy(length);
  if (isLight) room.take(length);
  return new Promise((resolve, reject) => {
    const reader = isLight ? null : request.body?.getReader();
    room.whenRefused((problem) => {
      reject(problem);
      void reader?.cancel().catch(() => {});
    });
    const read = reader ? readChunks(reader, maxBytes, room) : (request.bytes() as Promise<Bytes>);
    read.then(resolve, reject);
  });
}

/** A small body costs no more than its connection: it counts once it is here. */
async function readWhole(request: Request, room: BodyInFlight): Promise<Bytes> {
  const bytes = (await request.bytes()) as Bytes;
  room.take(bytes.length);
  return bytes;
}

type ChunkReader = Pick<ReadableStreamDefaultReader<Uint8Array>, "read" | "cancel">;

/**
 * One piece in a turn: what comes meanwhile Bun puts together by itself, so that a body in chunks of one byte
 * is read in as many pieces as the connection is, and weighs what it holds.
 */
async function readChunks(reader: ChunkReader, maxBytes: number, room: BodyInFlight): Promise<Bytes> {
  const pieces = new Bun.ArrayBufferSink();
  pieces.start({ asUint8Array: true });
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return pieces.end() as Bytes;
      size += value.byteLength;
      if (size > maxBytes) throw tooLarge(maxBytes);
      room.take(value.byteLength);
      pieces.write(value);
      await nextTurn();
    }
  } catch (error) {
    // Else its memory is there until it is collected, which nothing hurries.
    pieces.end();
    if (error instanceof Problem) await reader.cancel();
    throw error;
  }
}

/**
 * The JSON value that the bytes spell. Throws 400 `invalid_json`, also for invalid UTF-8, and 422 where it is
 * nested too deeply; the depth is counted before parsing, as JSON.parse itself takes half a million levels.
 */
export function parseJson(bytes: Uint8Array): unknown {
  if (isTooDeep(bytes, limit("jsonDepthMax"))) {
    throw invalid("", `Expected JSON of at most ${limit("jsonDepthMax")} levels.`);
  }
  return parseText(decodeJson(bytes), bytes);
}

/** The text of a JSON body. Throws 400 where it is no UTF-8. */
export function decodeJson(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw invalidJson(bytes);
  }
}

/**
 * The value of a text that is, or is part of, what `bytes` spell. Throws 400, and 422 for a number that no
 * double holds: it could not be compared, nor written again. `place`: where the part stands.
 */
export function parseText(text: string, bytes: Uint8Array, place = ""): unknown {
  const value = tryParse(text, bytes);
  const pointer = findOutOfRange(text, value);
  if (pointer !== null) throw invalid(place + pointer, "Expected a number within the range of a double.");
  return value;
}

function tryParse(text: string, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidJson(bytes);
  }
}

/** 400; says what is known of the fault without repeating what was sent. */
function invalidJson(bytes: Uint8Array): Problem {
  return new Problem("invalid_json", faultOf(bytes));
}

function faultOf(bytes: Uint8Array): string {
  if (bytes.length === 0) return "The body is empty; JSON is expected.";
  if (BYTE_ORDER_MARK.every((byte, at) => bytes[at] === byte))
    return "The body begins with a byte order mark (EF BB BF): send it without.";
  return isUtf8(bytes)
    ? "The body is UTF-8, and not JSON."
    : "The body is not JSON in UTF-8: its encoding is another.";
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

function isTooDeep(bytes: Uint8Array, max: number): boolean {
  if (bytes.length <= max) return false;
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at);
    // With bit 5 set, "[" is "{" and "]" is "}"; no other byte of JSON outside strings is either.
    else if (byte !== undefined && (byte | 0x20) === 0x7b && ++depth > max) return true;
    else if (byte !== undefined && (byte | 0x20) === 0x7d) depth--;
  }
  return false;
}

/** The index of the quote that closes the string which opens at `start`. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    if (bytes[at] === BACKSLASH) at++;
    else if (bytes[at] === QUOTE) return at;
  }
  return bytes.length;
}

/** Parses and checks a JSON body: its value, and the faults that the schema finds in it. */
export type BodyReader = (bytes: Bytes) => { value: unknown; faults: readonly Fault[] };

/** Compiles the body of a route. An empty body counts as `{}` where every field is optional. */
export function compileBody(schema: TSchema): BodyReader {
  const validate = compileValidator(schema);
  const mayBeEmpty = validate({}).length === 0;
  return (bytes) => {
    if (bytes.length === 0 && mayBeEmpty) return { value: {}, faults: [] };
    const value = parseJson(bytes);
    return { value, faults: validate(value) };
  };
}
