/**
 * The vectors for verifiers are right: the service's own verifier and signer, and the verifier of the package
 * agree with each, and the published library with each that is not optional.
 */
import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import { Webhook as Published } from "standardwebhooks";
import * as verifier from "../../sdk/typescript/src/verify.ts";
import { judge } from "../../src/client/verdict.ts";
import { publicKeyOf, readPrivateKey, readSecret, signatureHeader } from "../../src/core/signing.ts";
import { PRIVATE_KEYS, type Vector, VECTORS } from "./vectors.ts";
import { verdictOf } from "./verdict.ts";

const rows = VECTORS.map((vector): [string, Vector] => [vector.name, vector]);
const bodyOf = ({ body_base64 }: Vector) => Buffer.from(body_base64, "base64");
const isText = (bytes: Buffer) => Buffer.from(bytes.toString()).equals(bytes);
/** The published library knows v1 alone, and takes secrets of any length and without their prefix. */
const published = rows.filter(
  ([, vector]) =>
    vector.optional !== true &&
    vector.verdict !== "malformed_secret" &&
    vector.secrets.every((secret) => secret.startsWith("whsec_")) &&
    isText(bodyOf(vector)),
);

afterEach(() => void setSystemTime());

test("there are good and bad ones of every sort, each under a name of its own", () => {
  const verdicts = [...new Set(VECTORS.map(({ verdict }) => verdict))].toSorted();
  expect(verdicts).toEqual([
    ...["malformed_secret", "no_header", "too_new", "too_old", "valid", "wrong_signature"],
  ]);
  expect(new Set(VECTORS.map(({ name }) => name)).size).toBe(VECTORS.length);
  expect(published.length).toBeGreaterThan(40);
});

describe("the service's verifier", () => {
  test.each(rows)("%s", (_name, vector) => {
    const headers = new Map(
      Object.entries(vector.headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const found = vector.secrets.map((secret) => {
      const terms = { secret, nowMs: vector.at * 1000, toleranceSeconds: vector.tolerance_seconds };
      return judge({ headers, body: bodyOf(vector) }, terms).verdict;
    });
    // It takes one secret at a time: a receiver with several asks for each.
    expect(found.find((verdict) => verdict !== "wrong_signature") ?? "wrong_signature").toBe(
      vector.verdict as never,
    );
  });
});

describe("the service's signer signs so", () => {
  const valid = rows.filter(([, { verdict }]) => verdict === "valid");

  test.each(valid)("%s", (_name, vector) => {
    const headers = new Headers(vector.headers);
    const entries = vector.secrets.map((secret) => {
      const ed25519 = readPrivateKey(PRIVATE_KEYS[secret] ?? "");
      const hmac = readSecret(secret) ?? new Uint8Array();
      const [id, at] = [headers.get("webhook-id") ?? "", Number(headers.get("webhook-timestamp"))];
      return signatureHeader([{ hmac, ed25519 }], [ed25519 === null ? "v1" : "v1a"], id, at, bodyOf(vector));
    });
    const given = headers.get("webhook-signature")?.split(/,? /) ?? [];
    expect(entries.some((entry) => given.includes(entry))).toBe(true);
  });

  test("with the private keys that the file has beside the public ones", () => {
    for (const [publicKey, privateKey] of Object.entries(PRIVATE_KEYS)) {
      const key = readPrivateKey(privateKey);
      expect(key === null ? null : publicKeyOf(key)).toBe(publicKey);
    }
  });
});

describe("the published library", () => {
  test.each(published)("%s", (_name, vector) => {
    setSystemTime(vector.at * 1000);
    const isGenuine = vector.secrets.some((secret) => {
      try {
        new Published(secret).verify(bodyOf(vector), vector.headers, { jsonParse: false });
        return true;
      } catch {
        return false;
      }
    });
    expect(isGenuine).toBe(vector.verdict === "valid");
  });
});

describe("the verifier of the package", () => {
  test.each(rows)("%s", async (_name, vector) => {
    expect(await verdictOf(verifier, vector)).toBe(vector.verdict);
  });
});
