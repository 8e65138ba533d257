import { createHash, randomBytes } from "node:crypto";

/**
 * Bearer tokens: prefix, cell code, 43 base62 characters of 256 random bits, 6 base62 characters of a CRC-32
 * over what stands before. A scanner recognises a leaked one, and a typo is refused without a look-up.
 */

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_CHARS = 43;
const CHECK_CHARS = 6;
const FORM = /^(?:sp_live_|sp_test_|spl_)[0-9A-Z]{2}[0-9A-Za-z]{49}$/;
/** What of a token may be shown again: enough to tell one key from another. */
const SHOWN_CHARS = 14;

export type TokenPrefix = "sp_live_" | "sp_test_" | "spl_";

function base62(value: bigint): string {
  let out = "";
  for (let left = value, n = 0; n < RANDOM_CHARS; n++, left /= 62n) out = BASE62[Number(left % 62n)] + out;
  return out;
}

/** Asked with every request, so without big integers: a CRC-32 fits into a number. */
function checkOf(text: string): string {
  let out = "";
  for (let left = Bun.hash.crc32(text), n = 0; n < CHECK_CHARS; n++, left = Math.floor(left / 62)) {
    out = BASE62[left % 62] + out;
  }
  return out;
}

export function makeToken(prefix: TokenPrefix, cell: string): string {
  const random = base62(BigInt(`0x${randomBytes(32).toString("hex")}`));
  const text = prefix + cell + random;
  return text + checkOf(text);
}

/** Hashes of well-formed tokens that came lately: the same few come with every request. */
const hashes = new Map<string, string>();
const HASHES_MAX = 1000;

/** True where the token has the form and its check digits hold; says nothing about whether it exists. */
export function isWellFormedToken(token: string): boolean {
  if (hashes.has(token)) return true;
  if (!FORM.test(token)) return false;
  return checkOf(token.slice(0, -CHECK_CHARS)) === token.slice(-CHECK_CHARS);
}

/** What is stored of a token. A fast hash is right for 256 random bits. */
export function hashToken(token: string): Uint8Array {
  return createHash("sha256").update(token).digest();
}

/** The same as text (base64), by which a token is found in memory. */
export function hashText(token: string): string {
  const known = hashes.get(token);
  if (known !== undefined) return known;
  const hash = new Bun.CryptoHasher("sha256").update(token).digest("base64");
  if (hashes.size >= HASHES_MAX) hashes.clear();
  if (isWellFormedToken(token)) hashes.set(token, hash);
  return hash;
}

export function shownPrefix(token: string): string {
  return token.slice(0, SHOWN_CHARS);
}
