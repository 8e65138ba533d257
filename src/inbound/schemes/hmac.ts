import { type Bytes, type Encoding, type HashName, hmac, isAnySame } from "../digest.ts";
import { type SecretForm, textSecret } from "../secrets.ts";
import type { Scheme } from "./scheme.ts";
import { type Proof, type SignedRule, signedScheme } from "./signed.ts";

/** Shared-secret signatures: HMAC. */

export interface DigestRule extends SignedRule {
  readonly algorithm: HashName;
  readonly encoding: Encoding;
  /** Default: the secret's text is the key. */
  readonly secret?: SecretForm;
}

/**
 * A secret that nobody knows: stands in where a source has none that is usable, so that the same work
 * is done.
 */
const NOBODYS_SECRET = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("hex");

export function hmacProof(rule: DigestRule): Proof {
  const form = rule.secret ?? textSecret;
  const sign = (key: Bytes, content: readonly Bytes[]) =>
    spelled(hmac(rule.algorithm, key, content, rule.encoding), rule.encoding);
  return {
    name: "hmac",
    checks: `HMAC with ${spokenHash(rule.algorithm)} in ${rule.encoding}`,
    secretHelp: form.help,
    secretExample: form.example,
    isSecret: (text) => form.decode(text) !== null,
    holds(signatures, secrets, contentFor) {
      const expected = secrets.flatMap((secret) => {
        const key = form.decode(secret);
        return key === null ? [] : [sign(key, contentFor(secret))];
      });
      if (expected.length === 0) expected.push(sign(NOBODYS_SECRET, contentFor(NOBODYS_SECRET)));
      const given = signatures.map((text) => spelled(text, rule.encoding));
      return isAnySame(expected, given.length > 0 ? given : [""]);
    },
  };
}

/** `sha256` is called SHA-256. */
export function spokenHash(algorithm: HashName): string {
  return algorithm.replace("sha", "SHA-");
}

/**
 * One spelling of several: hex in either case, base64 and base64url with their padding or without (RFC 4648
 * 3.2).
 */
function spelled(signature: string, encoding: Encoding): string {
  return encoding === "hex" ? signature.toLowerCase() : signature.replace(/={1,2}$/, "");
}

/** HMAC over the signed content. */
export function hmacScheme(rule: DigestRule): Scheme {
  return signedScheme(rule, hmacProof(rule));
}
