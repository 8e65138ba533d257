import { isUtf8 } from "node:buffer";
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import { limit } from "../core/limits.ts";
import type { InboundRequest, ReadingMeans } from "./provider.ts";

/**
 * Bodies that come compressed. Nobody signs the header that says so: bytes that are text are never unpacked,
 * and others by what they begin with, so that another header makes no other event of a request.
 */

interface Coding {
  readonly name: "gzip" | "deflate" | "br";
  readonly unpack: (packed: Uint8Array, options: { maxOutputLength: number }) => Uint8Array;
  /** Its beginning and a checksum tell it from other bytes. */
  readonly isCertain: boolean;
  begins(bytes: Uint8Array): boolean;
  /** What it may unpack to. */
  lengthOf(packed: Uint8Array): number;
}

/** Of gzip's head and tail (RFC 1952); the tail ends with the length of what was packed. */
const FRAME_BYTES = 18;
const LENGTH_BYTES = 4;

/** To how much a gzip says that it unpacks; null where it is shorter than one. */
export function gzipLength(packed: Uint8Array): number | null {
  if (packed.length < FRAME_BYTES) return null;
  const tail = new DataView(packed.buffer, packed.byteOffset + packed.length - LENGTH_BYTES, LENGTH_BYTES);
  return tail.getUint32(0, true);
}

export const GZIP: Coding = {
  name: "gzip",
  unpack: gunzipSync,
  isCertain: true,
  begins: ([one, two, method]) => one === 0x1f && two === 0x8b && method === 8,
  lengthOf: (packed) => Math.min(gzipLength(packed) ?? 0, limit("ingestBodyBytesMax")),
};

const CODINGS: readonly Coding[] = [
  GZIP,
  {
    name: "deflate",
    unpack: inflateSync,
    isCertain: true,
    // RFC 1950 section 2.2: the method, the window, and a check of both.
    begins: ([one = 0, two = 0]) => (one & 0x0f) === 8 && one >> 4 <= 7 && (one * 256 + two) % 31 === 0,
    lengthOf: () => limit("ingestBodyBytesMax"),
  },
  {
    name: "br",
    unpack: brotliDecompressSync,
    isCertain: false,
    begins: () => true,
    lengthOf: () => limit("ingestBodyBytesMax"),
  },
];

/** What it unpacks to, up to `most` bytes. */
export function unpackBy(
  { unpack }: Coding,
  packed: Uint8Array,
  most: number,
): Uint8Array | "broken" | "too_large" {
  try {
    return unpack(packed, { maxOutputLength: most });
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE"
      ? "too_large"
      : "broken";
  }
}

/** JSON holds no byte of 0, and no other text that is UTF-8. */
function isText(bytes: Uint8Array): boolean {
  return isUtf8(bytes) && !bytes.includes(0);
}

/** A JSON object or array, as far as its beginning tells. */
function looksLikeJson(bytes: Uint8Array): boolean {
  return /^\s*[{[]/.test(Buffer.from(bytes.subarray(0, 100)).toString("latin1")) && isText(bytes);
}

function isNamed({ name }: Coding, { headers }: InboundRequest): boolean {
  const named = headers.get("content-encoding")?.trim().toLowerCase();
  return named === name || named === `x-${name}`;
}

/**
 * A verified request with the body that its sender compressed, in a turn of its own where that may be heavy;
 * the request itself where it is text, or unpacks by no coding. Takes room for what it unpacks to.
 */
export async function unpackedRequest(
  request: InboundRequest,
  means: ReadingMeans,
): Promise<InboundRequest | "too_large"> {
  const { body: packed } = request;
  if (isText(packed)) return request;
  for (const coding of CODINGS.filter((one) => one.begins(packed))) {
    await means.giveWay(coding.lengthOf(packed));
    const body = unpackBy(coding, packed, limit("ingestBodyBytesMax"));
    const isMeant = coding.isCertain || isNamed(coding, request);
    if (body === "too_large" && isMeant) return "too_large";
    if (typeof body === "string" || (!isMeant && !looksLikeJson(body))) continue;
    means.takeRoom(body.length);
    return { ...request, body };
  }
  return request;
}
