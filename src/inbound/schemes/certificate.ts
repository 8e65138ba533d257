import { type KeyObject, X509Certificate } from "node:crypto";
import { isSignedWith } from "./public-key.ts";
import { type Arrival, refused, VERIFIED, type Verdict, withoutKeys } from "./scheme.ts";

/**
 * Certificates by which AWS and PayPal sign. They come over TLS from the provider's own host, which is what
 * vouches for them.
 */

/** A signature in base64, and the certificate that the sender names for it. */
export interface CertifiedProof {
  /** One of the provider's own addresses. */
  readonly url: string;
  readonly commonName: RegExp;
  readonly algorithm: "sha1" | "sha256";
  readonly content: string;
  readonly signature: string;
}

export async function verifyCertified(
  proof: CertifiedProof,
  whose: string,
  arrival: Arrival,
): Promise<Verdict> {
  const { url, commonName, algorithm, content } = proof;
  const signature = Buffer.from(proof.signature, "base64");
  const isCanonical = signature.length > 0 && signature.toString("base64") === proof.signature;
  if (!isCanonical) return refused("malformed");
  const answer = await arrival.keys.read({ url, isNamedBySender: true });
  if (answer.kind !== "document") return withoutKeys(answer.kind, whose);
  const key = certifiedKey(answer.text, commonName, arrival.nowMs);
  const isGenuine = key !== null && isSignedWith(key, algorithm, Buffer.from(content), signature);
  return isGenuine ? VERIFIED : refused("bad_signature");
}

/**
 * The key of the first certificate in a PEM text, where it is valid now and made out to `commonName`;
 * else null.
 */
export function certifiedKey(pem: string, commonName: RegExp, nowMs: number): KeyObject | null {
  const certificate = parse(pem);
  if (!certificate) return null;
  const isValid = Date.parse(certificate.validFrom) <= nowMs && nowMs <= Date.parse(certificate.validTo);
  const names = certificate.subject.split("\n").filter((line) => line.startsWith("CN="));
  const isNamed = names.some((line) => commonName.test(line.slice("CN=".length)));
  return isValid && isNamed ? certificate.publicKey : null;
}

function parse(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}
