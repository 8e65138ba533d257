import { describe, expect, spyOn, test } from "bun:test";
import { createPublicKey, randomBytes, verify } from "node:crypto";
import { Webhook } from "standardwebhooks";
import {
  makePrivateKey,
  makeSecret,
  publicKeyOf,
  readPrivateKey,
  readSecret,
  signatureHeader,
} from "../../src/core/signing.ts";

const body = Buffer.from('{"test": 2432232314}');
const id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const timestamp = 1614265330;
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const privateKey =
  "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==";

function keyOf(text: string, ed25519: string | null = null) {
  const hmac = readSecret(text);
  if (!hmac) throw new Error("no secret");
  return { hmac, ed25519: ed25519 === null ? null : readPrivateKey(ed25519) };
}

describe("the published vectors", () => {
  test("v1", () => {
    expect(signatureHeader([keyOf(secret)], ["v1"], id, timestamp, body)).toBe(
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    );
  });

  test("v1a, beside v1 in one header", () => {
    const header = signatureHeader([keyOf(secret, privateKey)], ["v1", "v1a"], id, timestamp, body);
    expect(header).toBe(
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==",
    );
  });

  test("the public key of a private one", () => {
    const key = readPrivateKey(privateKey);
    expect(key && publicKeyOf(key)).toBe("whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=");
  });
});

describe("during an overlap", () => {
  test("there is one entry for each key and version, and a library with either secret accepts", () => {
    const [now, before] = [makeSecret(), makeSecret()];
    const keys = [keyOf(now, makePrivateKey()), keyOf(before, makePrivateKey())];
    const seconds = Math.floor(Date.now() / 1000);
    const header = signatureHeader(keys, ["v1", "v1a"], id, seconds, body);
    expect(header.split(" ").map((entry) => entry.split(",")[0])).toEqual(["v1", "v1", "v1a", "v1a"]);
    const headers = { "webhook-id": id, "webhook-timestamp": String(seconds), "webhook-signature": header };
    for (const text of [now, before])
      expect(() => new Webhook(text).verify(body.toString(), headers)).not.toThrow();
    expect(() => new Webhook(makeSecret()).verify(body.toString(), headers)).toThrow();
  });

  test("each v1a entry verifies under its own public key", () => {
    const key = readPrivateKey(makePrivateKey());
    if (!key) throw new Error("no key");
    const header = signatureHeader([{ hmac: randomBytes(24), ed25519: key }], ["v1a"], id, timestamp, body);
    const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
    expect(verify(null, signed, createPublicKey(key), Buffer.from(header.slice(4), "base64"))).toBe(true);
  });
});

describe("secrets that are given", () => {
  const bytes = (count: number) => `whsec_${randomBytes(count).toString("base64")}`;

  test("have 24 to 64 bytes", () => {
    expect([23, 24, 64, 65].map((count) => readSecret(bytes(count)) !== null)).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });

  for (const text of [
    "",
    "whsec_",
    "whsec_not base64!not base64!not base64!",
    randomBytes(32).toString("base64"),
    `whsec_${"ab cd ".repeat(10)}`,
  ]) {
    test(`are none without the form: ${text.slice(0, 20)}`, () => expect(readSecret(text)).toBeNull());
  }

  test("a private key may be a seed, or a seed with its own public key, and nothing else", () => {
    const whole = Buffer.from(privateKey.slice(5), "base64");
    expect(readPrivateKey(`whsk_${whole.subarray(0, 32).toString("base64")}`)).not.toBeNull();
    const mixed = Buffer.concat([whole.subarray(0, 32), randomBytes(32)]);
    expect(readPrivateKey(`whsk_${mixed.toString("base64")}`)).toBeNull();
    expect(readPrivateKey(`whsk_${randomBytes(31).toString("base64")}`)).toBeNull();
  });
});

test("a text that is too long for a key is not decoded", () => {
  using decode = spyOn(Uint8Array, "fromBase64");
  const long = "A".repeat(92);
  expect([readSecret(`whsec_${long}`), readPrivateKey(`whsk_${long}`)]).toEqual([null, null]);
  expect(decode).not.toHaveBeenCalled();
});
