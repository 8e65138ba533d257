import { type BinaryToTextEncoding, createHash, createHmac } from "node:crypto";

/** The schemes computed a second time, from the providers' pages and with other code than that under test. */

export type Part = string | Uint8Array;

function bytesOf(parts: readonly Part[]): Buffer {
  return Buffer.concat(parts.map((part) => Buffer.from(part)));
}

export function macOf(
  algorithm: string,
  key: Part,
  encoding: BinaryToTextEncoding,
  ...parts: readonly Part[]
): string {
  return createHmac(algorithm, key).update(bytesOf(parts)).digest(encoding);
}

/** HMAC-SHA256 in hex: what most providers send. */
export function hexMac(key: Part, ...parts: readonly Part[]): string {
  return macOf("sha256", key, "hex", ...parts);
}

export function base64Mac(key: Part, ...parts: readonly Part[]): string {
  return macOf("sha256", key, "base64", ...parts);
}

export function hashOf(algorithm: string, encoding: BinaryToTextEncoding, ...parts: readonly Part[]): string {
  return createHash(algorithm).update(bytesOf(parts)).digest(encoding);
}
