import { generateKeyPairSync } from "node:crypto";
import type { Answer, OutgoingRequest } from "../../../src/destinations/destination.ts";
import { answerOf } from "./case.ts";

/** A service account of the tests' own, and whoever grants it tokens. */

const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
});

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
