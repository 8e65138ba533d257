/**
 * Nobody signs the content type: whatever it says, a request is the event that its bytes are, or is refused.
 */
import { describe, expect, setSystemTime, test } from "bun:test";
import { limit } from "../../src/core/limits.ts";
import type { InboundRequest, Provider, Reception, SourceMaterial } from "../../src/inbound/provider.ts";
import { listProviders } from "../../src/inbound/providers.ts";
import { CASES } from "./cases.ts";
import { CONTENT_TYPES } from "./forgery-kit.ts";
import {
  jsonRequest,
  keysOf,
  materialOf,
  NOW_MS,
  requestOf,
  SOURCE_URL,
  withBody,
  withHeader,
  withoutHeader,
} from "./kit.ts";
import { materialFor, outcome, receive } from "./outcome.ts";
import { base64Mac, hashOf, hexMac, macOf } from "./recompute.ts";

/** The same request under every other content type, and under none. */
function retyped(request: InboundRequest): InboundRequest[] {
  const typed = CONTENT_TYPES.map((type) => withHeader(request, "content-type", type));
  return [...typed, withoutHeader(request, "content-type")];
}

/** The event, with what it answers. */
function shown(reception: Reception): unknown {
  return reception.kind === "event" ? { ...reception, answer: reception.answer("evt_1", false) } : reception;
}

async function expectAlike(
  request: InboundRequest,
  receiveOne: (request: InboundRequest) => Promise<Reception>,
  isSigned = false,
): Promise<void> {
  const wanted = shown(await receiveOne(request));
  expect(wanted).toMatchObject({ kind: "event" });
  const own = request.headers.get("content-type");
  for (const other of retyped(request)) {
    const isOther = isSigned && other.headers.get("content-type") !== own;
    const refusal = { kind: "refused", reason: "bad_signature" };
    expect(shown(await receiveOne(other))).toEqual(isOther ? refusal : wanted);
  }
}

/** They sign the headers that they name, the content type among them. */
const SIGNS_TYPE = ["coinbase_cdp", "contentful"];

describe("a genuine request is the same event under any content type", () => {
  test.each(listProviders().map((provider): [string, Provider] => [provider.key, provider]))(
    "%s",
    async (key, provider) => {
      const proof = CASES[key];
      const documents = proof?.keyDocuments ?? {};
      const keys = {
        read: (document: { url: string }) => keysOf(documents[document.url] ?? null).read(document),
      };
      const by = (material: SourceMaterial, nowMs: number) => (request: InboundRequest) =>
        provider.receive(request, material, nowMs, keys);
      setSystemTime(NOW_MS);
      const request = await proof?.sign(proof.secrets[0] ?? "", NOW_MS);
      setSystemTime();
      if (!request) throw new Error(`Nothing proves ${key}.`);
      await expectAlike(request, by(materialFor(key), NOW_MS), SIGNS_TYPE.includes(key));
      for (const vector of proof?.vectors ?? [])
        await expectAlike(vector.request, by(vector.material, vector.nowMs));
    },
  );
});

describe("what a sender could make of another content type", () => {
  const alike = (key: string, request: InboundRequest) =>
    expectAlike(request, (each) => receive(key, each, materialOf(["s"])));
  const typed = (body: string, type: string, headers: Record<string, string>) =>
    requestOf({ body, headers: { ...headers, "content-type": type } });

  test("a slash command of Slack as text keeps its id", async () => {
    const body = "command=%2Fdeploy&text=now&trigger_id=t-1";
    const at = String(NOW_MS / 1000);
    const signature = `v0=${hexMac("s", `v0:${at}:${body}`)}`;
    const headers = { "x-slack-request-timestamp": at, "x-slack-signature": signature };
    await alike("slack", typed(body, "application/x-www-form-urlencoded", headers));
  });

  test("JSON that holds more ampersands than a form may have fields stays JSON", async () => {
    const body = JSON.stringify({ type: "a", id: "e-1", text: "&".repeat(limit("formFieldsMax") + 1) });
    const at = String(NOW_MS / 1000);
    const signature = `t=${at},v1=${hexMac("s", `${at}.${body}`)}`;
    await alike("stripe", jsonRequest(body, { "stripe-signature": signature }));
  });

  test("the hash of a body is that of its bytes, white space included", async () => {
    const body = '{"favorite_events":[{}]}\n';
    const signature = `sha256=${base64Mac("s", body)}`;
    await alike("x", jsonRequest(body, { "x-twitter-webhooks-signature": signature }));
  });

  test("Twilio's hash in the address is checked whatever the body is called", async () => {
    const body = '{"a":1}';
    const url = `${SOURCE_URL}?bodySHA256=${hashOf("sha256", "hex", body)}`;
    const headers = { "x-twilio-signature": macOf("sha1", "s", "base64", url) };
    const request = requestOf({ url, body, headers });
    await alike("twilio", request);
    for (const other of retyped(withBody(request, "")))
      expect(await outcome("twilio", other, materialOf(["s"]))).toBe("body_altered");
  });
});
