import { describe, expect, test } from "bun:test";
import { createPublicKey, generateKeyPairSync, type KeyObject, sign as signWith } from "node:crypto";
import { sign } from "@octokit/webhooks-methods";
import examples from "@octokit/webhooks-examples/api.github.com/index.json" with { type: "json" };
import { findProvider, listProviders } from "../../src/inbound/providers.ts";
import { CASES } from "./cases.ts";
import { jsonRequest, materialOf, NOW_MS, NOW_SECONDS } from "./kit.ts";
import { load } from "./sdk.ts";

/** What must hold of the table as a whole. */

test("holds every provider once, and finds it by key and alias", () => {
  const names = listProviders().flatMap((provider) => [provider.key, ...provider.aliases]);
  expect(listProviders().length).toBeGreaterThan(100);
  expect(new Set(names).size).toBe(names.length);
  expect(findProvider("whatsapp")?.key).toBe("meta");
  expect(findProvider("twitter")?.key).toBe("x");
  expect(findProvider("no_such_provider")).toBeUndefined();
  expect(findProvider("__proto__")).toBeUndefined();
});

test("no two providers are set up by the same words", () => {
  for (const part of ["addressAt", "secretAt"] as const) {
    const texts = listProviders().map((provider) => provider.docs[part]);
    expect(texts.filter((text, index) => texts.indexOf(text) !== index)).toEqual([]);
  }
});

test("every row says what its docs page needs, and where it is from", () => {
  for (const provider of listProviders()) {
    expect([provider.key, provider.key]).toEqual([provider.key, expect.stringMatching(/^[a-z0-9_]+$/)]);
    const { addressAt, secretAt, page, pitfalls } = provider.docs;
    const texts = [
      provider.name,
      provider.eventType,
      provider.deliveryId,
      addressAt,
      secretAt,
      page,
      ...pitfalls,
    ];
    expect(texts.filter((text) => text.trim() === "")).toEqual([]);
    expect([provider.key, pitfalls.length > 0]).toEqual([provider.key, true]);
  }
});

test("a secret of the source's own can be used where the row says so", () => {
  const own = {
    base64: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw+/8=",
    base64url: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw-_8",
  };
  const unfit = listProviders().filter((provider) => {
    return provider.secretFrom === "source" && provider.checkSecret(own[provider.secretAlphabet]) !== null;
  });
  expect(unfit.map((provider) => provider.key)).toEqual([]);
});

test("the versions that rows are proven with are those installed", () => {
  for (const { key, verifiedWith } of listProviders()) {
    if (!("package" in verifiedWith)) continue;
    const path = new URL(`../../node_modules/${verifiedWith.package}/package.json`, import.meta.url).pathname;
    expect([key, verifiedWith.version]).toEqual([key, (load(path) as { version: string }).version]);
  }
});

describe("GitHub's own example payloads", () => {
  const github = findProvider("github");

  test.each(examples.map(({ name, examples: payloads }) => [name, payloads.length, payloads] as const))(
    "%s (%d), signed by GitHub's package, come in as they are",
    async (name, _count, payloads) => {
      for (const payload of payloads) {
        const body = JSON.stringify(payload);
        const headers = { "x-github-event": name, "x-hub-signature-256": await sign("secret", body) };
        const reception = await github?.receive(jsonRequest(body, headers), materialOf(["secret"]), NOW_MS);
        if (name === "ping") expect(reception?.kind).toBe("answer");
        else {
          expect(reception).toMatchObject({ kind: "event", data: body });
          expect(reception?.kind === "event" && reception.type).toStartWith(`github.${name}`);
        }
      }
    },
  );
});

/** An RSA key that costs milliseconds a verification, from a modulus that nobody has to find. */
function longRsaKey(): KeyObject {
  const n = Buffer.alloc(2048, 0xff).toString("base64url");
  return createPublicKey({ key: { kty: "RSA", n, e: "Af____8" }, format: "jwk" });
}

function pem(key: KeyObject): string {
  return key.export({ format: "pem", type: "spki" }).toString();
}

function spki(key: KeyObject): string {
  return key.export({ format: "der", type: "spki" }).toString("base64");
}

describe("a public key is taken as a secret only where it is of the kind and size that its provider signs with", () => {
  const ofCurve = (namedCurve: string) => generateKeyPairSync("ec", { namedCurve });
  const p256 = ofCurve("P-256");
  const p384 = ofCurve("P-384");
  const ed25519 = generateKeyPairSync("ed25519").publicKey;
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const others = [p384.publicKey, ofCurve("P-521").publicKey, rsa.publicKey, longRsaKey()];

  test.each(["discord", "telnyx", "standard_webhooks", "sendgrid"])("%s", (key) => {
    const provider = findProvider(key);
    const isPrefixed = key === "standard_webhooks";
    const isEd25519 = key !== "sendgrid";
    const texts = [...others, isEd25519 ? p256.publicKey : ed25519].flatMap((other) => [
      spki(other),
      pem(other),
      Buffer.from(spki(other), "base64").toString("hex"),
    ]);
    const taken = texts.filter((text) => provider?.checkSecret(isPrefixed ? `whpk_${text}` : text) === null);
    expect(taken).toEqual([]);
    const [own = ""] = CASES[key]?.secrets ?? [];
    expect(provider?.checkSecret(own)).toBeNull();
  });

  test("sendgrid takes a PEM too, and no private key", () => {
    const provider = findProvider("sendgrid");
    const privateKey = p256.privateKey.export({ format: "pem", type: "pkcs8" }).toString();
    const verdicts = [pem(p256.publicKey), `${pem(p256.publicKey)}\n`, privateKey].map((text) =>
      provider?.checkSecret(text),
    );
    expect(verdicts).toEqual([null, null, expect.stringContaining("ECDSA public key on the curve P-256")]);
  });

  test.each([
    ["RSA", rsa],
    ["P-384", p384],
  ])("a key of %s that is stored already proves nothing", async (_name, { publicKey, privateKey }) => {
    const body = '[{"event":"delivered"}]';
    const signature = signWith("sha256", Buffer.from(`${NOW_SECONDS}${body}`), privateKey);
    const request = jsonRequest(body, {
      "x-twilio-email-event-webhook-timestamp": String(NOW_SECONDS),
      "x-twilio-email-event-webhook-signature": signature.toString("base64"),
    });
    const reception = await findProvider("sendgrid")?.receive(request, materialOf([spki(publicKey)]), NOW_MS);
    expect(reception).toMatchObject({ kind: "refused", reason: "bad_signature" });
  });
});
