import { afterAll, beforeAll, describe, expect, setSystemTime, test } from "bun:test";
import type {
  InboundRequest,
  KeyReader,
  Provider,
  Reception,
  SourceMaterial,
} from "../../src/inbound/provider.ts";
import { listProviders } from "../../src/inbound/providers.ts";
import type { ProviderCase } from "./case.ts";
import { CASES } from "./cases.ts";
import { keysOf, materialOf, NOW_MS, withBody, withHeader, withoutHeader, withUrl } from "./kit.ts";
import { hashOf } from "./recompute.ts";

/** One suite over the table: a row without a case fails. */

/** The SDKs read the clock themselves. */
beforeAll(() => setSystemTime(NOW_MS));
afterAll(() => setSystemTime());

/** How many bytes of a body are changed, one at a time, evenly spread. */
const ALTERED_BYTES = 24;

function keysIn(documents: Readonly<Record<string, string>>): KeyReader {
  return { read: (document) => keysOf(documents[document.url] ?? null).read(document) };
}

function receive(
  provider: Provider,
  proof: ProviderCase,
  request: InboundRequest,
  material = materialFor(proof),
) {
  return provider.receive(request, material, NOW_MS, keysIn(proof.keyDocuments ?? {}));
}

function materialFor(proof: ProviderCase, secrets = proof.secrets.slice(0, 1)): SourceMaterial {
  return materialOf(secrets, { credentials: proof.credentials ?? {}, config: proof.config ?? {} });
}

function genuine(proof: ProviderCase, shiftMs = 0, secret = proof.secrets[0] ?? "") {
  return Promise.resolve(proof.sign(secret, NOW_MS + shiftMs));
}

function otherCharacter(character: string | undefined): string {
  return character === "0" ? "1" : "0";
}

/** Every text that differs from this one in one character. */
function alteredTexts(text: string): string[] {
  return Array.from(
    text,
    (character, at) => text.slice(0, at) + otherCharacter(character) + text.slice(at + 1),
  );
}

function alteredBodies(request: InboundRequest): InboundRequest[] {
  const { body } = request;
  const step = Math.max(1, Math.floor(body.length / ALTERED_BYTES));
  const places = Array.from({ length: Math.ceil(body.length / step) }, (_unused, index) => index * step);
  return places.map((place) => {
    const bytes = body.slice();
    bytes[place] = (bytes[place] ?? 0) ^ 1;
    return withBody(request, bytes);
  });
}

function alterationsOf(proof: ProviderCase, request: InboundRequest): InboundRequest[] {
  const headers = proof.requiredHeaders.flatMap((name) =>
    alteredTexts(request.headers.get(name) ?? "").map((text) => withHeader(request, name, text)),
  );
  const bodies = proof.isBodySigned === false ? [] : alteredBodies(request);
  const others = (proof.alterations ?? []).map((alter) => alter(request));
  return [...headers, ...bodies, ...others];
}

function kindOf(reception: Reception): string {
  return reception.kind === "refused" ? reception.reason : reception.kind;
}

test("every row has a case, and every case a row: add it in test/inbound/cases/, under the row's key", () => {
  const keys = listProviders().map((provider) => provider.key);
  expect(keys.filter((key) => !CASES[key])).toEqual([]);
  expect(Object.keys(CASES).filter((key) => !keys.includes(key))).toEqual([]);
});

test("every row has a key in snake case, which begins the types of its events and its page's address", () => {
  const keys = listProviders().map((provider) => provider.key);
  expect(keys.filter((key) => !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(key))).toEqual([]);
});

for (const provider of listProviders()) {
  const proof = CASES[provider.key];
  if (!proof) continue;
  const { window } = proof;
  describe(provider.key, () => {
    test("a genuine request is an event with its type and identity, and so is its redelivery", async () => {
      for (const shift of [proof.signsTimeOfEvent ? 0 : -20_000, 0]) {
        const request = await genuine(proof, shift);
        const reception = await receive(provider, proof, request);
        expect([shift, kindOf(reception)]).toEqual([shift, "event"]);
        if (reception.kind !== "event") continue;
        const { type, deliveryId } = proof.expected;
        expect({ type: reception.type, deliveryId: reception.deliveryId }).toEqual({
          type,
          deliveryId: deliveryId && deliveryId.replace("#", hashOf("sha256", "hex", request.body)),
        });
        expect(JSON.parse(reception.data)).toBeObject();
        expect(reception.answer("evt_1", false).status).toBeWithin(200, 300);
      }
    });

    if (!proof.isUnsigned) {
      test("one changed byte in anything signed is refused", async () => {
        const altered = alterationsOf(proof, await genuine(proof));
        const receptions = await Promise.all(altered.map((request) => receive(provider, proof, request)));
        expect(altered.length).toBeGreaterThan(0);
        expect(receptions.map((reception) => reception.kind).filter((kind) => kind !== "refused")).toEqual(
          [],
        );
      });

      test("a wrong secret is refused, and so is a source that has none yet", async () => {
        const request = await genuine(proof);
        const wrong = proof.wrong
          ? { ...materialFor(proof), ...proof.wrong }
          : materialFor(proof, [proof.secrets[1] ?? ""]);
        expect((await receive(provider, proof, request, wrong)).kind).toBe("refused");
        const nothing = materialOf([], { config: proof.config ?? {} });
        const isNeeded = provider.fields.some((field) => field.required) || proof.secrets.length > 0;
        expect(kindOf(await receive(provider, proof, request, nothing)) !== "event").toBe(isNeeded);
      });
    }

    test("a missing header is refused", async () => {
      const request = await genuine(proof);
      for (const name of proof.requiredHeaders) {
        const reception = await receive(provider, proof, withoutHeader(request, name));
        expect([name, kindOf(reception)]).toEqual([name, "missing_header"]);
      }
    });

    if (provider.scheme === "token" || provider.scheme === "basic_auth") {
      test("the secret in the query string is refused, also beside the genuine one", async () => {
        const request = await genuine(proof);
        const [secret = ""] = proof.secrets;
        const encoded = encodeURIComponent(secret);
        const basic = encodeURIComponent(Buffer.from(secret).toString("base64"));
        const queries = [
          `any=${encoded}`,
          encoded,
          `authorization=Bearer%20${encoded}`,
          `authorization=Basic%20${basic}`,
          `x=1;token=${encoded}`,
          `a=b&x${encoded}x=`,
        ];
        for (const query of queries) {
          const both = withUrl(request, `${request.url}?${query}`);
          expect([query, kindOf(await receive(provider, proof, both))]).toEqual([query, "token_in_query"]);
        }
        expect(kindOf(await receive(provider, proof, withUrl(request, `${request.url}?any=thing`)))).toBe(
          "event",
        );
      });
    }

    if (window) {
      test("the edges of the time window are accepted, what lies beyond is stale", async () => {
        const inside = [-window.past * 1000, window.future * 1000];
        const instant = (shift: number) => `signed ${shift / 1000} s from now`;
        const outside = [-window.past * 1000 - 1000, window.future * 1000 + 1000];
        for (const shift of inside) {
          const reception = await receive(provider, proof, await genuine(proof, shift));
          expect([instant(shift), kindOf(reception)]).toEqual([instant(shift), "event"]);
        }
        for (const shift of outside) {
          const reception = await receive(provider, proof, await genuine(proof, shift));
          expect([instant(shift), kindOf(reception)]).toEqual([instant(shift), "stale_timestamp"]);
        }
      });
    }

    const [secret, otherSecret] = proof.secrets;
    if (secret !== undefined && otherSecret !== undefined) {
      test("during a rotation the new and the previous secret are accepted", async () => {
        const both = materialFor(proof, [otherSecret, secret]);
        for (const valid of proof.secrets) {
          const reception = await receive(provider, proof, await genuine(proof, 0, valid), both);
          expect(kindOf(reception)).toBe("event");
        }
      });

      test("the form of its secrets is accepted, an empty one is not", () => {
        expect(proof.secrets.map((text) => provider.checkSecret(text))).toEqual([null, null]);
        expect(provider.checkSecret("")).toBeString();
      });
    }

    if (proof.accepts) {
      test("the provider's own verifier agrees", async () => {
        const request = await genuine(proof);
        const [altered = request] = alterationsOf(proof, request).slice(-1);
        expect(await proof.accepts?.(request, secret ?? "", NOW_MS)).toBe(true);
        expect(await proof.accepts?.(altered, secret ?? "", NOW_MS)).toBe(false);
      });
    }

    for (const vector of proof.vectors ?? []) {
      test(`the published vector holds: ${vector.source}`, async () => {
        const keys = keysIn(proof.keyDocuments ?? {});
        const reception = await provider.receive(vector.request, vector.material, vector.nowMs, keys);
        expect(kindOf(reception)).toBe("event");
      });
    }

    test("every handshake of the row is answered as demanded, and makes no event", async () => {
      const handshakes = proof.handshakes ?? [];
      const isComplete = handshakes.length >= provider.handshakes.length;
      expect(isComplete ? null : `test/inbound/cases/ lacks handshakes of ${provider.key}`).toBeNull();
      for (const handshake of handshakes) {
        const request = await handshake.request(proof.secrets[0] ?? "", NOW_MS);
        const material = { ...materialFor(proof), ...handshake.material };
        const reception = await receive(provider, proof, request, material);
        expect(reception).toMatchObject({ kind: "answer", headers: {}, ...handshake.answer });
      }
    });
  });
}

test("only a provider that is verified by nothing has a case without a refusal", () => {
  const unsigned = listProviders().filter((provider) => CASES[provider.key]?.isUnsigned);
  expect(unsigned.map((provider) => provider.scheme)).toEqual(["address"]);
});

test("no case stands for a provider that the table lacks", () => {
  const keys = new Set(listProviders().map((provider) => provider.key));
  expect(Object.keys(CASES).filter((key) => !keys.has(key))).toEqual([]);
});

test("a row proven by code or a vector has a case with it", () => {
  const unproven = listProviders().filter(({ key, verifiedWith }) => {
    const proof = CASES[key];
    return (
      verifiedWith.kind !== "documentation" && !proof?.accepts && !proof?.isSignedBySdk && !proof?.vectors
    );
  });
  expect(unproven.map((provider) => provider.key)).toEqual([]);
});
