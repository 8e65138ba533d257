import { createPublicKey, type KeyObject, verify } from "node:crypto";
import type { Bytes } from "../digest.ts";
import { spokenHash } from "./hmac.ts";
import type { Scheme } from "./scheme.ts";
import { type Proof, type SignedRule, signedScheme } from "./signed.ts";

/**
 * Public-key signatures in a header. The "secret" is the public key in the form in which the provider
 * shows it.
 */

export interface PublicKeyForm {
  readonly help: string;
  /** One of this form, for documents. */
  readonly example: string;
  /** null where the text is no such key. */
  decode(text: string): KeyObject | null;
}

/** The one kind and size of key that a form takes: what a SubjectPublicKeyInfo has before its bytes. */
interface KeyKind {
  readonly head: Buffer;
  readonly keyBytes: number;
}

/** RFC 8410. */
const ED25519: KeyKind = { head: Buffer.from("302a300506032b6570032100", "hex"), keyBytes: 32 };
/** RFC 5480, an uncompressed point. */
const P256: KeyKind = {
  head: Buffer.from("3059301306072a8648ce3d020106082a8648ce3d03010703420004", "hex"),
  keyBytes: 64,
};

/** null for a key of any other kind or size, which nothing parses, and for bytes that are no key. */
function readKey({ head, keyBytes }: KeyKind, spki: Buffer): KeyObject | null {
  if (spki.length !== head.length + keyBytes || !spki.subarray(0, head.length).equals(head)) return null;
  try {
    return createPublicKey({ key: spki, format: "der", type: "spki" });
  } catch {
    return null;
  }
}

/**
 * The bytes; null unless the text is exactly how they are written, so that no changed character
 * passes unseen.
 */
function decodeExactly(text: string, encoding: "hex" | "base64"): Buffer | null {
  const bytes = Buffer.from(text, encoding);
  return bytes.toString(encoding) === (encoding === "hex" ? text.toLowerCase() : text) ? bytes : null;
}

/** RFC 8032 section 7.1, test 1. */
const ED25519_EXAMPLE = Buffer.from(
  "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
  "hex",
);

/** 32 bytes of an Ed25519 key as text, after a prefix. */
export function rawEd25519(encoding: "hex" | "base64", prefix = ""): PublicKeyForm {
  return {
    example: prefix + ED25519_EXAMPLE.toString(encoding),
    help: `The Ed25519 public key in ${encoding}${prefix === "" ? "" : `, with its prefix ${prefix}`}.`,
    decode(text) {
      const raw = text.startsWith(prefix) ? decodeExactly(text.slice(prefix.length), encoding) : null;
      return raw && readKey(ED25519, Buffer.concat([ED25519.head, raw]));
    },
  };
}

const PEM_LINES = /-----(?:BEGIN|END) PUBLIC KEY-----/g;

/** An ECDSA key on P-256: a PEM, or the base64 inside one. */
export const p256Key: PublicKeyForm = {
  help: "The ECDSA public key on the curve P-256, as PEM or as the base64 text that the provider shows.",
  /** RFC 9500 section 2.3, the test key of P-256. */
  example:
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEQiVI+I+3gv+17KN0RFLHKh5Vj71vc75eSOkyMsxFxbFsTNEMTLjVuKFxOelIgsiZJXKZNCX0FBmrfpCkKklCcg==",
  decode: (text) => readKey(P256, Buffer.from(text.replace(PEM_LINES, ""), "base64")),
};

export interface PublicKeyRule extends SignedRule {
  readonly key: PublicKeyForm;
  /** null for Ed25519, which hashes by itself. */
  readonly algorithm: "sha256" | "sha512" | null;
  readonly encoding: "hex" | "base64";
}

function joinBytes(parts: readonly Bytes[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part)));
}

/** Node throws on a signature of an impossible length or form: that is a wrong signature. */
export function isSignedWith(
  key: KeyObject,
  algorithm: "sha1" | "sha256" | "sha512" | null,
  content: Uint8Array,
  signature: Uint8Array,
): boolean {
  try {
    return verify(algorithm, content, key, signature);
  } catch {
    return false;
  }
}

/** Each costs some 100 µs; a provider that rotates its key sends two. */
const SIGNATURES_MAX = 8;

export function publicKeyProof(rule: PublicKeyRule): Proof {
  return {
    name: "public_key",
    checks: `${rule.algorithm === null ? "Ed25519" : `Public-key signature with ${spokenHash(rule.algorithm)}`} in ${rule.encoding}`,
    secretHelp: rule.key.help,
    secretExample: rule.key.example,
    isSecret: (text) => rule.key.decode(text) !== null,
    holds(signatures, secrets, contentFor) {
      const given = signatures
        .slice(0, SIGNATURES_MAX)
        .map((text) => decodeExactly(text, rule.encoding))
        .filter((bytes) => bytes !== null);
      return secrets.some((secret) => {
        const key = rule.key.decode(secret);
        const content = joinBytes(contentFor(secret));
        return (
          key !== null && given.some((signature) => isSignedWith(key, rule.algorithm, content, signature))
        );
      });
    },
  };
}

export function publicKeyScheme(rule: PublicKeyRule): Scheme {
  return signedScheme(rule, publicKeyProof(rule));
}

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "The ECDSA public key on the curve P-256, as PEM or as the base64 text that the provider shows.":
    "Der öffentliche ECDSA-Schlüssel auf der Kurve P-256, als PEM oder als der Base64-Text, den der Anbieter zeigt.",
};
