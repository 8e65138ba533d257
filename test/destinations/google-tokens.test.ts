/**
 * Access tokens of service accounts: one request for however many attempts, kept, made anew before their end.
 */
import { describe, expect, test } from "bun:test";
import { createPublicKey } from "node:crypto";
import { jwtVerify } from "jose";
import { type Ask, type OutgoingRequest, Unprepared } from "../../src/destinations/destination.ts";
import { bearerOf, forgetToken, readServiceAccount } from "../../src/destinations/google-tokens.ts";
import { answerOf } from "./kinds/case.ts";
import { serviceAccount } from "./kinds/google.ts";

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
    expect(await bearerOf(config(), SCOPE, START, grants.ask)).toBe("Bearer token-1");
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
      Array.from({ length: 100 }, () => bearerOf(same, SCOPE, START, grants.ask)),
    );
    expect([new Set(all), grants.requests.length]).toEqual([new Set(["Bearer token-1"]), 1]);
    expect(await bearerOf(config(), SCOPE, START, grants.ask)).toBe("Bearer token-2");
  });

  test("serves until five minutes before its end, and is made anew then", async () => {
    const grants = new Grants();
    const same = config();
    const at = (ms: number) => bearerOf(same, SCOPE, START + ms, grants.ask);
    await at(0);
    expect(await at(HOUR_MS - 300_001)).toBe("Bearer token-1");
    expect(await at(HOUR_MS - 300_000)).toBe("Bearer token-2");
  });

  test("still serves while no other can be had, until it ends", async () => {
    const grants = new Grants();
    const same = config();
    const at = (ms: number) => bearerOf(same, SCOPE, START + ms, grants.ask);
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
    await bearerOf(same, SCOPE, START, grants.ask);
    forgetToken(same);
    expect(await bearerOf(same, SCOPE, START, grants.ask)).toBe("Bearer token-2");
  });

  test("that cannot be had says why, as the server's own answer", async () => {
    const refusals: [body: string, status: number, detail: string][] = [
      ['{"error":"invalid_grant","error_description":"Invalid JWT Signature."}', 400, "invalid_grant"],
      ['{"error":{"status":"UNAVAILABLE"}}', 503, "UNAVAILABLE"],
      ['{"access_token":"x"}', 200, "The answer holds no token."],
      ["<html>", 502, "The answer holds no token."],
    ];
    for (const [body, status, detail] of refusals) {
      const failed = await bearerOf(config(), SCOPE, START, async () => answerOf({ status, body })).catch(
        (error: unknown) => error,
      );
      expect(failed).toBeInstanceOf(Unprepared);
      expect(failed).toMatchObject({
        error: { code: "token_unavailable", detail },
        result: { kind: "response", status },
      });
    }
  });
});
