import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { readPrivateKey, readPublicKey, readSecret, signatureHeader } from "../core/signing.ts";
import type { Captured } from "./captured.ts";

/** What is found of a captured request. */
export type Verdict = "valid" | "no_header" | "wrong_signature" | "too_old" | "too_new" | "malformed_secret";

export interface Judgement {
  verdict: Verdict;
  /** One sentence. */
  detail: string;
}

export interface Terms {
  /** `whsec_…` for `v1`; `whpk_…`, or the private `whsk_…`, for `v1a`. */
  secret: string;
  nowMs: number;
  /** How old a request may be, and how far in the future. */
  toleranceSeconds: number;
}

/** What a secret verifies: the signatures of its version. */
interface Verifier {
  version: "v1" | "v1a";
  isRight: (signed: Signed, body: Uint8Array) => boolean;
}

/** What the signature is made of and by, beside the body. */
interface Signed {
  id: string;
  seconds: number;
  entries: readonly string[];
}

const HEADERS = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;

/** Whether a receiver that holds the secret takes the request, or the first reason why it does not. */
export function judge({ headers, body }: Captured, terms: Terms): Judgement {
  const verifier = verifierOf(terms.secret);
  if (verifier === null)
    return found(
      "malformed_secret",
      "The secret must be whsec_ and 24 to 64 bytes, or whpk_ and 32, in base64",
    );
  const missing = HEADERS.filter((name) => (headers.get(name) ?? "") === "");
  if (missing.length > 0) return found("no_header", `It has no ${missing.join(" and no ")}`);
  const [id = "", time = "", signature = ""] = HEADERS.map((name) => headers.get(name));
  // Else a forger moves the dot behind the timestamp, for a body that begins with digits and a dot.
  if (id.includes(".")) return found("no_header", "Its webhook-id has a dot, which no id has");
  if (!/^(?:0|[1-9][0-9]{0,11})$/.test(time))
    return found("no_header", "Its webhook-timestamp is no number of seconds");
  const signed = { id, seconds: Number(time), entries: signature.split(/,?\s+/) };
  if (!verifier.isRight(signed, body)) return found("wrong_signature", whyWrong(verifier, signed, body));
  return judgeAge(signed.seconds, verifier, terms);
}

function found(verdict: Verdict, detail: string): Judgement {
  return { verdict, detail };
}

function judgeAge(
  seconds: number,
  { version }: Verifier,
  { nowMs, toleranceSeconds: most }: Terms,
): Judgement {
  const age = Math.round(nowMs / 1000 - seconds);
  const right = `Its ${version} signature is right`;
  if (age > most) return found("too_old", `${right}, but it is ${age} s old, and ${most} s are allowed`);
  if (-age > most)
    return found("too_new", `${right}, but it is ${-age} s in the future, and ${most} s are allowed`);
  return found("valid", `${right}, and it is ${age} s old`);
}

function verifierOf(secret: string): Verifier | null {
  const hmac = readSecret(secret);
  if (hmac !== null) {
    const isRight = ({ id, seconds, entries }: Signed, body: Uint8Array) =>
      entries.includes(signatureHeader([{ hmac, ed25519: null }], ["v1"], id, seconds, body));
    return { version: "v1", isRight };
  }
  const privateKey = readPrivateKey(secret);
  const key = privateKey === null ? readPublicKey(secret) : createPublicKey(privateKey);
  return key === null ? null : { version: "v1a", isRight: (signed, body) => isSignedBy(key, signed, body) };
}

function isSignedBy(key: KeyObject, { id, seconds, entries }: Signed, body: Uint8Array): boolean {
  const content = Buffer.concat([Buffer.from(`${id}.${seconds}.`), body]);
  return entries.some((entry) => {
    const [version, signature = ""] = entry.split(",");
    return version === "v1a" && verify(null, content, key, Buffer.from(signature, "base64"));
  });
}

/** What people do to a body on its way from the wire to a file. */
const CHANGES: readonly { what: string; undo: (text: string) => string }[] = [
  { what: "a line end was added to the body", undo: (text) => text.replace(/\r?\n$/, "") },
  { what: "the line ends of the body were changed", undo: (text) => text.replaceAll("\r\n", "\n") },
  { what: "the body was parsed and printed anew", undo: (text) => JSON.stringify(JSON.parse(text)) },
];

function whyWrong({ version, isRight }: Verifier, signed: Signed, body: Uint8Array): string {
  if (!signed.entries.some((entry) => entry.startsWith(`${version},`)))
    return `Its webhook-signature has no ${version}, which this secret verifies`;
  const text = Buffer.from(body).toString();
  const change = CHANGES.find(({ undo }) => {
    try {
      return isRight(signed, Buffer.from(undo(text)));
    } catch {
      return false;
    }
  });
  if (change !== undefined) return `No ${version} signature is right, because ${change.what}`;
  return `No ${version} signature is right: the secret is another one, or the body or a header was changed`;
}
