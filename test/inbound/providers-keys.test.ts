/** Providers whose keys are fetched: what is asked of whom, and what comes of it while they cannot be had. */
import { describe, expect, test } from "bun:test";
import type { InboundRequest, KeyReader } from "../../src/inbound/provider.ts";
import { findProvider } from "../../src/inbound/providers.ts";
import { certifiedKey } from "../../src/inbound/schemes/certificate.ts";
import { CASES } from "./cases.ts";
import { keysOf, NOW_MS, textOf, withBody, withHeader } from "./kit.ts";
import { genuine, materialFor, outcome, receive } from "./outcome.ts";

describe("keys that are fetched", () => {
  const DOWN = keysOf(null);
  const UNKNOWN: KeyReader = { read: () => Promise.resolve({ kind: "unknown" }) };

  test.each(["aws_sns", "paypal", "plaid", "google_pubsub", "fal", "fireblocks"])(
    "%s is unavailable while its keys cannot be had",
    async (key) => {
      expect(await outcome(key, await genuine(key), materialFor(key), DOWN)).toBe("unavailable");
      expect(["unavailable", "bad_signature"]).toContain(
        await outcome(key, await genuine(key), materialFor(key), keysOf("<html>")),
      );
    },
  );

  /** The genuine request, in which something is wrong that no key is needed to see. */
  function keyless(key: string, request: InboundRequest): InboundRequest[] {
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const [claims, signature] = [part({ a: 1 }), "AAAA"];
    const tokens = ["HS256", "none", "RS512", "RS256", "ES256"].flatMap((alg) => {
      const [head, critical] = [part({ alg, kid: "a" }), part({ alg, kid: "a", crit: ["a"], a: 1 })];
      const bodies = [claims, "", part([]), "AAA"];
      return [`${critical}..${signature}`, ...bodies.map((body) => `${head}.${body}.`)];
    });
    const words = [
      "",
      "..",
      ".a.",
      "a.b.c",
      "x",
      "=",
      ...tokens,
      `${part({ alg: "HS256" })}.${claims}.${signature}`,
    ];
    // An id may be anything.
    const headers = findProvider(key)?.headers.filter((name) => !name.endsWith("-id")) ?? [];
    const inHeaders = headers.flatMap((name) => words.map((word) => withHeader(request, name, word)));
    const text = textOf(request);
    const inBody =
      key !== "aws_sns" ? [] : words.map((word) => text.replace(/("Signature":")[^"]*/, `$1${word}`));
    return [...inHeaders, ...inBody.filter((body) => body !== text).map((body) => withBody(request, body))];
  }

  test.each(["aws_sns", "paypal", "plaid", "google_pubsub", "fal", "fireblocks"])(
    "%s asks for none by a request that no key could save, and refuses it while they cannot be had",
    async (key) => {
      let asked = 0;
      const counting: KeyReader = { read: (document) => (asked++, DOWN.read(document)) };
      const others = keyless(key, await genuine(key));
      expect(others.length).toBeGreaterThan(20);
      for (const other of others) {
        const reception = await receive(key, other, materialFor(key), counting);
        expect([reception.kind, asked]).toEqual(["refused", 0]);
      }
    },
  );

  test.each(["google_pubsub", "fireblocks"])(
    "%s looks once for a newer set when the key id is not there",
    async (key) => {
      const [right = ""] = Object.values(CASES[key]?.keyDocuments ?? {});
      const asked: boolean[] = [];
      const rotating: KeyReader = {
        read(document, isRenewal = false) {
          asked.push(isRenewal);
          return keysOf(isRenewal ? right : '{"keys":[]}').read(document);
        },
      };
      expect(await outcome(key, await genuine(key), materialFor(key), rotating)).toBe("event");
      expect(asked).toEqual([false, true]);
      expect(await outcome(key, await genuine(key), materialFor(key), keysOf('{"keys":[]}'))).toBe(
        "wrong_key_id",
      );
    },
  );

  test("a Plaid key that has expired, or that Plaid does not know, is a wrong key id", async () => {
    const [text = "{}"] = Object.values(CASES["plaid"]?.keyDocuments ?? {});
    const expired = text.replace('"expired_at":null', `"expired_at":${NOW_MS / 1000}`);
    for (const document of [expired, '{"error_code":"INVALID_FIELD"}']) {
      const keys = keysOf(document);
      expect(await outcome("plaid", await genuine("plaid"), materialFor("plaid"), keys)).toBe("wrong_key_id");
    }
  });

  test.each(["aws_sns", "paypal", "plaid"])(
    "%s: a document that the request names and the provider does not know is a wrong key id",
    async (key) => {
      expect(await outcome(key, await genuine(key), materialFor(key), UNKNOWN)).toBe("wrong_key_id");
      const asked: (boolean | undefined)[] = [];
      const noting: KeyReader = {
        read(document) {
          asked.push(document.isNamedBySender);
          return UNKNOWN.read(document);
        },
      };
      await outcome(key, await genuine(key), materialFor(key), noting);
      expect(new Set(asked)).toEqual(new Set([true]));
    },
  );

  test("a certificate that is made out to somebody else, or is not valid now, has no key for us", () => {
    const [pem = ""] = Object.values(CASES["aws_sns"]?.keyDocuments ?? {});
    const centuryMs = 100 * 365 * 86_400_000;
    expect(certifiedKey(pem, /^sns\.amazonaws\.com$/, NOW_MS)).not.toBeNull();
    expect(certifiedKey(pem, /^sns\.example\.com$/, NOW_MS)).toBeNull();
    expect(certifiedKey(pem, /^sns\.amazonaws\.com$/, NOW_MS + centuryMs)).toBeNull();
    expect(certifiedKey(pem, /^sns\.amazonaws\.com$/, NOW_MS - centuryMs)).toBeNull();
    expect(certifiedKey("no certificate", /./, NOW_MS)).toBeNull();
  });

  test("an altered body under a genuine token is told apart", async () => {
    for (const key of ["livekit", "qstash", "vonage", "netlify"]) {
      const request = await genuine(key);
      expect(await outcome(key, withBody(request, `${textOf(request)} `), materialFor(key))).toBe(
        "body_altered",
      );
    }
  });
});
