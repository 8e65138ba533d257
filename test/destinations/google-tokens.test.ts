/**
 * Access tokens of service accounts: one request for however many attempts, kept, made anew before their end.
 */
import { beforeEach, describe, expect, test } from "bun:test";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { jwtVerify } from "jose";
import { limit } from "../../src/core/limits.ts";
import {
  type Answer,
  type Ask,
  type InPool,
  type OutgoingRequest,
  Unprepared,
} from "../../src/destinations/destination.ts";
import {
  bearerOf,
  forgetToken,
  readServiceAccount,
  serviceAccountField,
  tokenSecrets,
} from "../../src/destinations/google-tokens.ts";
import { answerOf, atOnce } from "./kinds/case.ts";
import { mersenneKey, serviceAccount } from "./kinds/google.ts";

const SCOPE = "https://www.googleapis.com/auth/pubsub";
const TOKEN_URI = "https://oauth2.example.com/token";
const START = Date.UTC(2026, 10, 21, 9);
const HOUR_MS = 3_600_000;

const config = () => ({ service_account_json: serviceAccount(TOKEN_URI) });

/** Grants `token-1`, `token-2`, … for an hour each, unless told to refuse. */
class Grants {
  readonly requests: OutgoingRequest[] = [];
  refuses: Error | null = null;

  readonly ask: Ask = async (request) => {
    this.requests.push(request);
    await Promise.resolve();
    if (this.refuses) throw this.refuses;
    return answerOf({
      status: 200,
      body: JSON.stringify({ access_token: `token-${this.requests.length}`, expires_in: 3600 }),
    });
  };
}

describe("a token", () => {
  test("is asked for with a JWT as Google documents it", async () => {
    const grants = new Grants();
    expect(await bearerOf(config(), SCOPE, START, grants.ask, atOnce)).toBe("Bearer token-1");
    const [request] = grants.requests;
    expect([request?.method, request?.url.href]).toEqual(["POST", TOKEN_URI]);
    const form = new URLSearchParams(new TextDecoder().decode(request?.body));
    expect(form.get("grant_type")).toBe("urn:ietf:params:oauth:grant-type:jwt-bearer");
    const key = createPublicKey(readServiceAccount(serviceAccount(TOKEN_URI)).privateKey);
    const { payload, protectedHeader } = await jwtVerify(form.get("assertion") ?? "", key, {
      currentDate: new Date(START),
    });
    const issuedAt = START / 1000;
    expect(payload).toEqual({
      iss: "sealpost@acme-1.iam.example.com",
      scope: SCOPE,
      aud: TOKEN_URI,
      iat: issuedAt,
      exp: issuedAt + 3600,
    });
    expect(protectedHeader).toEqual({ alg: "RS256", typ: "JWT", kid: "3f1c5a" });
  });

  test("is asked for once for a hundred attempts at a time, and once again after each change of the endpoint", async () => {
    const grants = new Grants();
    const same = config();
    const all = await Promise.all(
      Array.from({ length: 100 }, () => bearerOf(same, SCOPE, START, grants.ask, atOnce)),
    );
    expect([new Set(all), grants.requests.length]).toEqual([new Set(["Bearer token-1"]), 1]);
    expect(await bearerOf(config(), SCOPE, START, grants.ask, atOnce)).toBe("Bearer token-2");
  });

  test("serves until five minutes before its end, and is made anew then", async () => {
    const grants = new Grants();
    const same = config();
    const at = (ms: number) => bearerOf(same, SCOPE, START + ms, grants.ask, atOnce);
    await at(0);
    expect(await at(HOUR_MS - 300_001)).toBe("Bearer token-1");
    expect(await at(HOUR_MS - 300_000)).toBe("Bearer token-2");
  });

  test("still serves while no other can be had, until it ends", async () => {
    const grants = new Grants();
    const same = config();
    const at = (ms: number) => bearerOf(same, SCOPE, START + ms, grants.ask, atOnce);
    await at(0);
    grants.refuses = new Unprepared({ kind: "unreachable", code: "connection_refused" });
    expect(await at(HOUR_MS - 60_000)).toBe("Bearer token-1");
    await expect(at(HOUR_MS - 5000)).rejects.toBe(grants.refuses);
    grants.refuses = null;
    expect(await at(HOUR_MS)).toStartWith("Bearer token-");
  });

  test("that was refused is asked for anew", async () => {
    const grants = new Grants();
    const same = config();
    await bearerOf(same, SCOPE, START, grants.ask, atOnce);
    forgetToken(same);
    expect(await bearerOf(same, SCOPE, START, grants.ask, atOnce)).toBe("Bearer token-2");
  });

  test("that cannot be had says why, as the server's own answer", async () => {
    const refusals: [body: string, status: number, detail: string][] = [
      ['{"error":"invalid_grant","error_description":"Invalid JWT Signature."}', 400, "invalid_grant"],
      ['{"error":{"status":"UNAVAILABLE"}}', 503, "UNAVAILABLE"],
      ['{"access_token":"x"}', 200, "The answer holds no token that can be used."],
      ["<html>", 502, "The answer holds no token that can be used."],
    ];
    for (const [body, status, detail] of refusals) {
      const failed = await bearerOf(
        config(),
        SCOPE,
        START,
        async () => answerOf({ status, body }),
        atOnce,
      ).catch((error: unknown) => error);
      expect(failed).toBeInstanceOf(Unprepared);
      expect(failed).toMatchObject({
        error: { code: "token_unavailable", detail },
        result: { kind: "response", status },
      });
    }
  });
});

describe("what is signed", () => {
  let signatures = 0;
  const inPool: InPool = (work) => {
    if (typeof work !== "function") return work;
    signatures++;
    return work();
  };
  /** The assertion of each request. */
  let assertions: string[] = [];
  const answering = (answer: () => Answer): Ask => {
    return (request) => {
      assertions.push(new URLSearchParams(new TextDecoder().decode(request.body)).get("assertion") ?? "");
      return Promise.resolve(answer());
    };
  };
  beforeEach(() => ([signatures, assertions] = [0, []]));

  test.each([
    ["refuses each time", () => answerOf({ status: 400, body: '{"error":"invalid_grant"}' })],
    [
      "grants what has ended",
      () => answerOf({ status: 200, body: '{"access_token":"a","expires_in":-3600}' }),
    ],
  ])("serves again for 50 minutes where the server %s", async (_name, answer) => {
    const same = config();
    const at = (ms: number) =>
      bearerOf(same, SCOPE, START + ms, answering(answer), inPool).catch((error: unknown) => error);
    for (let attempt = 0; attempt < 20; attempt++) await at(attempt * 2000);
    await at(2_999_999);
    expect([assertions.length, new Set(assertions).size, signatures]).toEqual([21, 1, 1]);
    await at(3_000_000);
    expect([new Set(assertions).size, signatures]).toEqual([2, 2]);
    // A clock that was set back would call what it signed before not valid yet.
    await at(2_999_000);
    expect([new Set(assertions).size, signatures]).toEqual([3, 3]);
  });

  test("serves again where the token itself was refused", async () => {
    const same = config();
    const grants = new Grants();
    for (let attempt = 1; attempt <= 5; attempt++) {
      expect(await bearerOf(same, SCOPE, START, grants.ask, inPool)).toBe(`Bearer token-${attempt}`);
      forgetToken(same);
    }
    expect(signatures).toBe(1);
  });

  test("is signed by a key of 2048 to 4096 bits, and no other is stored", () => {
    const { check } = serviceAccountField("Pub/Sub Publisher");
    const sized = (modulusLength: number) =>
      generateKeyPairSync("rsa", { modulusLength })
        .privateKey.export({ type: "pkcs8", format: "pem" })
        .toString();
    const faults = [sized(2048), sized(4096), mersenneKey(521, 607), mersenneKey(2203, 2281)].map((key) =>
      check?.(serviceAccount(TOKEN_URI, key)),
    );
    expect(faults).toEqual([
      null,
      null,
      "The key file's private_key has 1128 bits; expected 2048 to 4096.",
      "The key file's private_key has 4484 bits; expected 2048 to 4096.",
    ]);
  });

  test("is of short texts in ASCII, and no others are stored; those of before the bound serve", async () => {
    const file = JSON.parse(serviceAccount(TOKEN_URI)) as Record<string, string>;
    const { check } = serviceAccountField("Pub/Sub Publisher");
    const longest = `https://${"a".repeat(limit("serviceAccountTextLengthMax") - 8)}`;
    for (const name of ["client_email", "private_key_id", "token_uri"]) {
      const faults = [longest, `${longest}a`, `${TOKEN_URI}/ā`].map((text) =>
        check?.(JSON.stringify({ ...file, [name]: text })),
      );
      const fault = `The key file's ${name} is too long or not of ASCII; expected at most 320 characters.`;
      expect(faults).toEqual([null, fault, fault]);
    }
    const stored = { service_account_json: JSON.stringify({ ...file, client_email: "ā".repeat(5000) }) };
    expect(await bearerOf(stored, SCOPE, START, new Grants().ask, inPool)).toBe("Bearer token-1");
  });

  test("is kept up to a bound, for those endpoints that used it last", async () => {
    const long = "a".repeat(2 ** 20);
    const sign = ((work: unknown) => (typeof work === "function" ? Promise.resolve(long) : work)) as InPool;
    const configs = Array.from({ length: 40 }, config);
    const refuse = answering(() => answerOf({ status: 400, body: "{}" }));
    for (const one of configs) await bearerOf(one, SCOPE, START, refuse, sign).catch(() => null);
    const kept = configs.map((one) => tokenSecrets(one).length);
    const count = Math.floor(limit("grantsKeptBytesMax") / long.length);
    expect(kept.reduce((sum, some) => sum + some)).toBeWithin(1, count + 1);
    expect([kept.at(0), kept.at(-1)]).toEqual([0, 1]);
  });

  test("is nothing by a larger key that was stored before: the attempt says why, and asks nobody", async () => {
    const stored = { service_account_json: serviceAccount(TOKEN_URI, mersenneKey(2203, 2281)) };
    const grants = new Grants();
    const failed = bearerOf(stored, SCOPE, START, grants.ask, inPool);
    await expect(failed).rejects.toThrow("has 4484 bits; expected 2048 to 4096.");
    expect(grants.requests).toEqual([]);
  });
});
