import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import type { Answer, OutgoingRequest } from "../../../src/destinations/destination.ts";
import { answerOf } from "./case.ts";

/** A service account of the tests' own, and whoever grants it tokens. */

const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
});

/** An RSA key of two Mersenne primes, 2^a − 1 and 2^b − 1: of any size, and made at once. */
export function mersenneKey(a: number, b: number): string {
  const [q, p] = [2n ** BigInt(a) - 1n, 2n ** BigInt(b) - 1n];
  const e = 65_537n;
  const d = inverse(e, (p - 1n) * (q - 1n));
  const numbers = { n: p * q, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) };
  const jwk = Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, base64urlOf(value)]));
  const key = createPrivateKey({ key: { kty: "RSA", ...jwk }, format: "jwk" });
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

/** By Euclid's algorithm. */
function inverse(value: bigint, modulus: bigint): bigint {
  let [low, high, one, other] = [value % modulus, modulus, 1n, 0n];
  while (low > 1n) [low, high, one, other] = [high % low, low, other - (high / low) * one, one];
  return ((one % modulus) + modulus) % modulus;
}

function base64urlOf(value: bigint): string {
  const hex = value.toString(16);
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), "0"), "hex").toString("base64url");
}

/** The key file, in the form that Google Cloud makes. */
export function serviceAccount(tokenUri: string, key: string = privateKey): string {
  return JSON.stringify({
    type: "service_account",
    project_id: "acme-1",
    private_key_id: "3f1c5a",
    private_key: key,
    client_email: "sealpost@acme-1.iam.example.com",
    client_id: "1",
    token_uri: tokenUri,
  });
}

export function grantToken(_request: OutgoingRequest): Answer {
  return answerOf({
    status: 200,
    body: '{"access_token":"ya29.granted","expires_in":3599,"token_type":"Bearer"}',
  });
}
