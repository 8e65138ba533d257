/** What stands in place of a credential wherever it is read. */
export const MASK = "***";

/** A header with one of these anywhere in its name carries a credential. */
export const CREDENTIAL_PARTS = [
  "authentication",
  "authoriz",
  "cookie",
  "credential",
  "key",
  "passphrase",
  "passwd",
  "password",
  "secret",
  "session",
  "signature",
  "token",
];

/** So does a header with one of these as a word of its name, between characters that are no letters. */
export const CREDENTIAL_WORDS = ["auth", "bearer", "hmac", "jwt", "otp", "pin", "pwd", "sid", "sig"];

const NAMES = new RegExp(
  `${CREDENTIAL_PARTS.join("|")}|(^|[^a-z])(${CREDENTIAL_WORDS.join("|")})([^a-z]|$)`,
  "i",
);

const known = new Map<string, boolean>();
const KNOWN_MAX = 1000;

/**
 * True for a header whose value is a credential: it is encrypted at rest and read as `***`. What Sealpost
 * signs with is none. Asked for every header of every attempt.
 */
export function isCredentialHeader(name: string): boolean {
  let verdict = known.get(name);
  if (verdict === undefined) {
    verdict = !/^webhook-/i.test(name) && NAMES.test(name);
    if (known.size < KNOWN_MAX) known.set(name, verdict);
  }
  return verdict;
}
