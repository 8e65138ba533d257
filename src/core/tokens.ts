import { createHash, randomBytes } from "node:crypto";

/**
 * Bearer tokens: prefix, cell code, 43 base62 characters of 256 random bits, 6 base62 characters of a CRC-32 over what stands
 * before (contract section 1). A scanner recognises a leaked one, and a typo is refused without a look-up.
 */

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_CHARS = 43;
const CHECK_CHARS = 6;
const FORM = /^(?:sp_live_|sp_test_|spl_)[0-9A-Z]{2}[0-9A-Za-z]{49}$/;
/** What of a token may be shown again: enough to tell one key from another. */
const SHOWN_CHARS = 14;

export type TokenPrefix = "sp_live_" | "sp_test_" | "spl_";

function base62(value: bigint, length: number): string {
  let out = "";
  for (let left = value, n = 0; n < length; n++, left /= 62n) out = BASE62[Number(left % 62n)] + out;
  return out;
}

function checkOf(text: string): string {
  return base62(BigInt(Bun.hash.crc32(text)), CHECK_CHARS);
}

export function makeToken(prefix: TokenPrefix, cell: string): string {
  const random = base62(BigInt(`0x${randomBytes(32).toString("hex")}`), RANDOM_CHARS);
  const text = prefix + cell + random;
  return text + checkOf(text);
}

/** True where the token has the form and its check digits hold; says nothing about whether it exists. */
export function isWellFormedToken(token: string): boolean {
  if (!FORM.test(token)) return false;
  return checkOf(token.slice(0, -CHECK_CHARS)) === token.slice(-CHECK_CHARS);
}

/** What is stored of a token. A fast hash is right for 256 random bits. */
export function hashToken(token: string): Uint8Array {
  return createHash("sha256").update(token).digest();
}

export function shownPrefix(token: string): string {
  return token.slice(0, SHOWN_CHARS);
}
