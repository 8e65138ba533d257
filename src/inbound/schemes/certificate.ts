import { type KeyObject, X509Certificate } from "node:crypto";

/** Certificates by which AWS and PayPal sign. They come over TLS from the provider's own host, which is what vouches for them. */

/** The key of the first certificate in a PEM text, where it is valid now and made out to `commonName`; else null. */
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
