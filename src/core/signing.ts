import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";
import type { EndpointSecrets, SignatureVersion } from "./model.ts";

/**
 * Standard Webhooks 1.0.0, "Signature scheme": `v1` (HMAC-SHA256) and `v1a` (ed25519) over
 * `id.timestamp.body`.
 */

/** What one valid generation of an endpoint's secret signs with. */
export interface SigningKey {
  hmac: Uint8Array;
  ed25519: KeyObject | null;
}

const SECRET_BYTES = { made: 32, min: 24, max: 64 };
/** Of 64 bytes, the most that a secret or a key has. */
const BASE64_LENGTH_MAX = 88;
const PKCS8_ED25519 = Buffer.from("302e020100300506032b657004220420", "hex");
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * Not as a Buffer: each of those is a thing outside the heap, that the garbage collector has to ask about.
 */
function decodeBase64(text: string): Uint8Array | null {
  if (text === "" || text.length > BASE64_LENGTH_MAX || !BASE64.test(text)) return null;
  return Uint8Array.fromBase64(text);
}

export function makeSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES.made).toString("base64")}`;
}

/** The key of a `whsec_` secret (24 to 64 bytes in base64), or null where the text is none. */
export function readSecret(text: string): Uint8Array | null {
  const bytes = text.startsWith("whsec_") ? decodeBase64(text.slice(6)) : null;
  return bytes && bytes.length >= SECRET_BYTES.min && bytes.length <= SECRET_BYTES.max ? bytes : null;
}

/** A new ed25519 private key as `whsk_` + base64 of seed and public key. */
export function makePrivateKey(): string {
  const { privateKey } = generateKeyPairSync("ed25519");
  const jwk = privateKey.export({ format: "jwk" });
  return `whsk_${Buffer.concat([Buffer.from(String(jwk.d), "base64url"), Buffer.from(String(jwk.x), "base64url")]).toString("base64")}`;
}

/** A new secret, and a new key where there is one; those of now hold beside them until `expiresAt`. */
export function rotated(
  { secret, privateKey }: Pick<EndpointSecrets, "secret" | "privateKey">,
  expiresAt: number | null,
): Pick<EndpointSecrets, "secret" | "privateKey" | "previous"> {
  const previous = expiresAt === null ? null : { secret, privateKey, expiresAt };
  return { secret: makeSecret(), privateKey: privateKey === null ? null : makePrivateKey(), previous };
}

/**
 * The key of a `whsk_` text: a seed of 32 bytes, or seed and public key in 64 that belong together;
 * else null.
 */
export function readPrivateKey(text: string): KeyObject | null {
  const bytes = text.startsWith("whsk_") ? decodeBase64(text.slice(5)) : null;
  if (!bytes || (bytes.length !== 32 && bytes.length !== 64)) return null;
  const key = createPrivateKey({
    key: Buffer.concat([PKCS8_ED25519, bytes.subarray(0, 32)]),
    format: "der",
    type: "pkcs8",
  });
  const matches = bytes.length === 32 || Buffer.from(publicBytes(key)).equals(bytes.subarray(32));
  return matches ? key : null;
}

function publicBytes(key: KeyObject): Uint8Array {
  return Buffer.from(String(createPublicKey(key).export({ format: "jwk" }).x), "base64url");
}

/** `whpk_` + base64 of the 32-byte public key. */
export function publicKeyOf(key: KeyObject): string {
  return `whpk_${Buffer.from(publicBytes(key)).toString("base64")}`;
}

/** The key of a `whpk_` text: the 32-byte public key; else null. */
export function readPublicKey(text: string): KeyObject | null {
  const bytes = text.startsWith("whpk_") ? decodeBase64(text.slice(5)) : null;
  if (bytes?.length !== 32) return null;
  const x = Buffer.from(bytes).toString("base64url");
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
}

function signV1(key: Uint8Array, head: string, body: Uint8Array): string {
  return `v1,${new Bun.CryptoHasher("sha256", key).update(head).update(body).digest("base64")}`;
}

function signV1a(key: KeyObject, head: string, body: Uint8Array): string {
  return `v1a,${sign(null, Buffer.concat([Buffer.from(head), body]), key).toString("base64")}`;
}

/**
 * The value of `webhook-signature`: one entry for each valid key and version, newest key first, separated by
 * spaces. `timestampSeconds` is the moment of sending; `body` are the very bytes that are sent.
 */
export function signatureHeader(
  keys: readonly SigningKey[],
  versions: readonly SignatureVersion[],
  id: string,
  timestampSeconds: number,
  body: Uint8Array,
): string {
  const head = `${id}.${timestampSeconds}.`;
  const entries: string[] = [];
  if (versions.includes("v1")) for (const { hmac } of keys) entries.push(signV1(hmac, head, body));
  if (versions.includes("v1a")) {
    for (const { ed25519 } of keys) if (ed25519) entries.push(signV1a(ed25519, head, body));
  }
  return entries.join(" ");
}
