/**
 * A flood of forgeries that name keys of their own, for every provider whose requests say which key
 * signed them.
 */
import { afterAll, beforeAll, expect, setSystemTime, test } from "bun:test";
import { TurnQueue } from "../../src/core/structures/turn-queue.ts";
import { type Fetched, KeyCache } from "../../src/inbound/keys.ts";
import type { InboundRequest, KeyDocument } from "../../src/inbound/provider.ts";
import { listProviders } from "../../src/inbound/providers.ts";
import { turnParts } from "../../src/platform/turns.ts";
import { CASES } from "./cases.ts";
import { materialOf, NOW_MS, textOf, withBody, withHeader } from "./kit.ts";

beforeAll(() => setSystemTime(NOW_MS));
afterAll(() => setSystemTime());

/** The same request, naming another key. */
const FORGE: Readonly<Record<string, (request: InboundRequest, number: number) => InboundRequest>> = {
  aws_sns: (request, number) =>
    withBody(request, textOf(request).replace("SimpleNotificationService-", `Forged${number}-`)),
  paypal: (request, number) =>
    withHeader(request, "paypal-cert-url", `${request.headers.get("paypal-cert-url")}-${number}`),
  plaid(request, number) {
    const [head = "", ...rest] = (request.headers.get("plaid-verification") ?? "").split(".");
    const header = JSON.parse(Buffer.from(head, "base64url").toString()) as Record<string, unknown>;
    const forged = JSON.stringify({ ...header, kid: `forged-${number}` });
    const token = [Buffer.from(forged).toString("base64url"), ...rest].join(".");
    return withHeader(request, "plaid-verification", token);
  },
};

/** More than a source may fetch in a minute. */
const FORGERIES = 60;
const DAY_MS = 86_400_000;
const TURNS = new TurnQueue(turnParts);

test.each(Object.keys(CASES).filter((key) => CASES[key]?.keyDocuments))(
  "%s: a key that served before is had again in a flood of forged names",
  async (key) => {
    const proof = CASES[key];
    const provider = listProviders().find((each) => each.key === key);
    if (!proof || !provider) throw new Error(`There is no row ${key}.`);
    const clock = { nowMs: NOW_MS };
    const asked: KeyDocument[] = [];
    const fetchDocument = (document: KeyDocument): Promise<Fetched> => {
      asked.push(document);
      const isForged = /forged/i.test(document.post ?? "");
      const text = isForged ? undefined : proof.keyDocuments?.[document.url];
      return Promise.resolve(
        text === undefined ? { kind: "unknown" } : { kind: "document", text, maxAgeSeconds: null },
      );
    };
    const keys = new KeyCache({ monotonicMs: () => clock.nowMs, fetchDocument }).readerFor(1, TURNS);
    const [secret = ""] = proof.secrets;
    const material = materialOf(proof.secrets.slice(0, 1), {
      credentials: proof.credentials ?? {},
      config: proof.config ?? {},
    });
    const receive = async (request: InboundRequest) =>
      (await provider.receive(request, material, clock.nowMs, keys)).kind;
    expect(await receive(await proof.sign(secret, clock.nowMs))).toBe("event");
    const forge = FORGE[key];
    expect(asked.some(({ isNamedBySender }) => isNamedBySender)).toBe(forge !== undefined);
    if (!forge) return;
    clock.nowMs += DAY_MS;
    setSystemTime(clock.nowMs);
    const request = await proof.sign(secret, clock.nowMs);
    for (let number = 0; number < FORGERIES; number++)
      expect(await receive(forge(request, number))).not.toBe("event");
    expect(asked.length).toBeLessThan(FORGERIES);
    expect(await receive(request)).toBe("event");
    setSystemTime(NOW_MS);
  },
);
