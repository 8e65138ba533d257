import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";

/**
 * Secrets and credentials at rest: AES-256-GCM with a random nonce. The ciphertext begins with the id of its
 * key (four bytes of the key's SHA-256), so that keys can be rotated; the place it belongs to is
 * authenticated, so that a value moved to another row does not open.
 */

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID_BYTES = 4;

export function keyIdOf(key: Uint8Array): string {
  return createHash("sha256")
    .update(key)
    .digest("hex")
    .slice(0, KEY_ID_BYTES * 2);
}

/** The first one encrypts; the others still open what they encrypted once. Each has 32 bytes. */
export type SecretKeys = readonly [Uint8Array, ...Uint8Array[]];

export class Cipher {
  readonly #keys: Map<string, Uint8Array>;
  readonly currentKeyId: string;
  readonly #current: Uint8Array;

  constructor(keys: SecretKeys) {
    this.#keys = new Map(keys.map((key) => [keyIdOf(key), key]));
    this.#current = keys[0];
    this.currentKeyId = keyIdOf(keys[0]);
  }

  /** `place` names where the value lives, e.g. "endpoint|123|secret". */
  seal(text: string, place: string): Uint8Array {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#current, nonce).setAAD(Buffer.from(place));
    const sealed = [cipher.update(text, "utf8"), cipher.final()];
    return Buffer.concat([Buffer.from(this.currentKeyId, "hex"), nonce, ...sealed, cipher.getAuthTag()]);
  }

  /** Throws where the key is missing, the value was altered, or it belongs to another place. */
  open(sealed: Uint8Array, place: string): string {
    const key = this.#keys.get(Cipher.keyId(sealed));
    if (!key)
      throw new Error(`SEALPOST_SECRET_KEY lacks the key ${Cipher.keyId(sealed)}, which stored secrets need`);
    const nonceEnd = KEY_ID_BYTES + NONCE_BYTES;
    const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(KEY_ID_BYTES, nonceEnd));
    decipher.setAAD(Buffer.from(place)).setAuthTag(sealed.subarray(-TAG_BYTES));
    const body = sealed.subarray(nonceEnd, sealed.length - TAG_BYTES);
    return decipher.update(body, undefined, "utf8") + decipher.final("utf8");
  }

  has(keyId: string): boolean {
    return this.#keys.has(keyId);
  }

  /** The id of the key that a ciphertext needs. */
  static keyId(sealed: Uint8Array): string {
    return Buffer.from(sealed.subarray(0, KEY_ID_BYTES)).toString("hex");
  }
}
