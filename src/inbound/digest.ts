import { timingSafeEqual } from "node:crypto";

/** Hashes and comparisons. Every comparison with something secret goes through `isAnySame`. */

export type HashName = "sha1" | "sha256" | "sha512";
export type Encoding = "hex" | "base64" | "base64url";
export type Bytes = string | Uint8Array;

export function hash(name: HashName, parts: readonly Bytes[], encoding: Encoding): string {
  const hasher = new Bun.CryptoHasher(name);
  for (const part of parts) hasher.update(part);
  return hasher.digest(encoding);
}

/** HMAC over the concatenation of `parts`; a part is UTF-8 text or bytes. */
export function hmac(name: HashName, key: Bytes, parts: readonly Bytes[], encoding: Encoding): string {
  const hasher = new Bun.CryptoHasher(name, key);
  for (const part of parts) hasher.update(part);
  return hasher.digest(encoding);
}

function fingerprint(text: string): Buffer {
  return Bun.CryptoHasher.hash("sha256", text);
}

/**
 * Equal or not, in a time that tells nothing of where two texts differ, nor of their lengths: digests
 * are compared.
 */
export function isSame(one: string, other: string): boolean {
  return timingSafeEqual(fingerprint(one), fingerprint(other));
}

/** True when any of `given` equals any of `expected`; always compares every pair. */
export function isAnySame(expected: readonly string[], given: readonly string[]): boolean {
  const wanted = expected.map(fingerprint);
  let found = false;
  for (const text of given) {
    const print = fingerprint(text);
    for (const other of wanted) found = timingSafeEqual(print, other) || found;
  }
  return found;
}
