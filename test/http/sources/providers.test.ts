/** The table of providers, and samples that are checked against a source. */
import { describe, expect, spyOn, test } from "bun:test";
import { sign } from "@octokit/webhooks-methods";
import Stripe from "stripe";
import { limit } from "../../../src/core/limits.ts";
import * as digest from "../../../src/inbound/digest.ts";
import { listProviders } from "../../../src/inbound/providers.ts";
import { appForFile } from "../../kit/for-file.ts";
import { expectProblem, type Reply } from "../kit.ts";
import { createSource, eventsOf, readSource } from "./kit.ts";

const stripe = new Stripe("sk_test_none");
const app = appForFile();

function expectFault(reply: Reply, ...pointers: string[]): void {
  expectProblem(reply, 422, "invalid_request");
  expect(reply.json.errors?.map(({ pointer }) => pointer)).toEqual(pointers);
}

describe("checking a sample", () => {
  const check = (id: string, sample: unknown) => app.live.post(`/v1/sources/${id}/verify-sample`, sample);

  test("says whether it would be accepted, and makes and counts nothing", async () => {
    const source = await createSource(app, "service");
    const { id, secret } = source;
    const sample = { headers: { "X-Service-Token": secret }, body: '{"id":"1"}' };
    const good = await check(id, sample);
    expect(good.json as unknown).toEqual({ verified: true, reason: null });
    const bad = await check(id, { ...sample, headers: { "x-service-token": "no" } });
    expect(bad.json as unknown).toEqual({ verified: false, reason: "bad_signature" });
    const none = await check(id, { ...sample, headers: {} });
    expect(none.json as unknown).toEqual({ verified: false, reason: "missing_header" });
    expect(await eventsOf(app, source)).toEqual([]);
    expect((await readSource(app, source)).counters).toMatchObject({
      accepted: 0,
      rejected: { bad_signature: 0 },
    });
  });

  test("tells a handshake from an event, and sees a token in the query", async () => {
    const github = await createSource(app, "github");
    const body = '{"zen":"Keep it logically awesome."}';
    const headers = { "x-github-event": "ping", "x-hub-signature-256": await sign(github.secret, body) };
    expect((await check(github.id, { headers, body })).json as unknown).toEqual({
      verified: true,
      reason: "handshake",
    });
    const service = await createSource(app, "service");
    const url = `https://hooks.example.com/x?token=${encodeURIComponent(service.secret)}`;
    const { json } = await check(service.id, { url, headers: {}, body: "{}" });
    expect(json as unknown).toEqual({ verified: false, reason: "token_in_query" });
  });

  test("one that was captured is held against the time at which it came", async () => {
    const { id } = await createSource(app, "stripe", { signing_secret: "whsec_x" });
    const payload = '{"id":"evt_1","type":"invoice.paid"}';
    const timestamp = Math.floor(Date.UTC(2026, 0, 2, 3, 4, 5) / 1000);
    const header = await stripe.webhooks.generateTestHeaderStringAsync({
      payload,
      secret: "whsec_x",
      timestamp,
    });
    const sample = { headers: { "stripe-signature": header }, body: payload };
    expect((await check(id, sample)).json as unknown).toEqual({ verified: false, reason: "stale_timestamp" });
    const then = { ...sample, at: "2026-01-02T03:04:10Z" };
    expect((await check(id, then)).json as unknown).toEqual({ verified: true, reason: null });
    expectFault(await check(id, { ...sample, at: "then" }), "/at");
  });

  test("an address that is none is refused", async () => {
    const { id } = await createSource(app, "service");
    expectFault(await check(id, { url: "nowhere", headers: {}, body: "" }), "/url");
    expectFault(await check(id, {}), "/headers", "/body");
  });

  test("what no request to the door could carry is refused, before any scheme works on it", async () => {
    const { id, secret } = await createSource(app, "gitlab");
    const max = limit("sampleHeadBytesMax");
    const url = (length: number) => "https://x.example.com/".padEnd(length, "a&");
    const sample = { headers: { "x-gitlab-token": secret }, body: "{}" };
    const rest = Buffer.byteLength(`x-gitlab-token: ${secret}\r\n`);
    using hmac = spyOn(digest, "hmac");
    expectFault(await check(id, { ...sample, url: url(max + 1) }), "/url");
    expectFault(await check(id, { ...sample, url: `${url(max - 1)}é` }), "/url");
    expectFault(await check(id, { ...sample, url: url(max - rest + 1) }), "/headers");
    const many = Object.fromEntries(Array.from({ length: max / 4 }, (_, nth) => [`h${nth}`, ""]));
    expectFault(await check(id, { ...sample, headers: many }), "/headers");
    expect(hmac).not.toHaveBeenCalled();
    const longest = await check(id, { ...sample, url: url(max - rest) });
    expect(longest.json as unknown).toEqual({ verified: true, reason: null });
    expect(hmac).toHaveBeenCalled();
    hmac.mockClear();
    const query = await check(id, { ...sample, url: url(max - rest - 1).replace("/a", "/?a") });
    expect(query.json as unknown).toEqual({ verified: false, reason: "malformed" });
    expect(hmac).not.toHaveBeenCalled();
  });
});

describe("providers", () => {
  test("all stand on one page, and each can be read by key and alias", async () => {
    const { json } = await app.live.get("/v1/providers");
    const all = json["data"] as Record<string, unknown>[];
    expect(all.map(({ key }) => key)).toEqual(
      listProviders()
        .map(({ key }) => key)
        .toSorted(),
    );
    expect(json["next_cursor"]).toBeNull();
    expect(all.find(({ key }) => key === "github")).toMatchObject({
      name: "GitHub",
      scheme: "hmac",
      secret_from: "source",
      headers: ["x-hub-signature-256"],
      needs_public_url: false,
      verified_with: { kind: "official_sdk", package: "@octokit/webhooks-methods" },
      setup: { address_at: expect.stringContaining("Payload URL"), is_checked: true },
    });
    const stripes = all.find(({ key }) => key === "stripe");
    expect(stripes?.["config_fields"]).toMatchObject([{ name: "tolerance_seconds", type: "integer" }]);
    const [aliased] = listProviders().filter(({ aliases }) => aliases.length > 0);
    const read = await app.live.get(`/v1/providers/${aliased?.aliases[0]}`);
    expect(read.json["key"]).toBe(aliased?.key);
  });

  test("a page goes on where the one before ended", async () => {
    const first = await app.live.get("/v1/providers?limit=2");
    const second = await app.live.get(`/v1/providers?limit=250&cursor=${String(first.json["next_cursor"])}`);
    const keys = [first, second].flatMap(({ json }) =>
      (json["data"] as { key: string }[]).map(({ key }) => key),
    );
    expect(keys).toEqual(
      listProviders()
        .map(({ key }) => key)
        .toSorted(),
    );
  });

  test("what does not exist is refused", async () => {
    expectProblem(await app.live.get("/v1/providers/nobody"), 404, "not_found");
    expectFault(await app.live.get("/v1/providers?cursor=nobody"), "cursor");
  });
});
