/** A source that its owner changes while a request to it is under way: what it is at the commit holds. */
import { expect, test } from "bun:test";
import type { Source } from "../../../src/core/model.ts";
import type { SourceAnswer } from "../../../src/http/sources/shape.ts";
import type { TransportResult } from "../../../src/transport/types.ts";
import { CASES } from "../../inbound/cases.ts";
import { headersOf } from "../../inbound/kit.ts";
import { type Api, startApi } from "../log-kit.ts";

interface Made {
  id: string;
  secret: string;
  ingest_path: string;
}

/** A genuine request, in the middle of which `change` takes effect, `most` times. */
async function knockDuring(api: Api, made: Made, change: () => Promise<unknown>, most = 1) {
  const { pipeline } = api.services;
  const prepare = pipeline.prepare.bind(pipeline);
  let times = 0;
  pipeline.prepare = async (...args) => {
    const prepared = await prepare(...args);
    if (times++ < most) await change();
    return prepared;
  };
  const reply = await api.call("POST", made.ingest_path, { type: "a.b" }, made.secret);
  pipeline.prepare = prepare;
  return { reply, times };
}

async function setUp(api: Api, asked: Record<string, unknown> = {}) {
  const { json } = await api.call("POST", "/v1/sources", { provider: "service", name: "s", ...asked });
  const made = json as unknown as Made;
  const key = api.data.ids.decode("src", made.id) ?? 0;
  const change = async (fields: Partial<Source>) => {
    const changed = await api.data.store.write(() => api.data.sources.update(key, () => fields));
    if (changed) api.data.sources.remember(changed);
  };
  return { made, key, change };
}

/** Why its requests were refused, as its owner sees it. */
async function refusalsOf(api: Api, { id }: Made): Promise<unknown[]> {
  const { counters } = await api.get<SourceAnswer>(`/v1/sources/${id}`);
  return Object.entries(counters.rejected).filter(([, count]) => count !== 0);
}

async function suspend(api: Api): Promise<void> {
  const { tenants, store } = api.data;
  const [account] = tenants.accounts();
  const { made } = await store.write(() =>
    tenants.updateAccount(account?.id ?? 0, () => ({ suspended: true })),
  );
  tenants.rememberAccount(made);
}

test("what is deleted or has another secret takes nothing any more", async () => {
  await using api = await startApi();
  for (const fields of [{ status: "deleted" }, { secret: "whsec_AAAA" }] as const) {
    const { made, change } = await setUp(api);
    const { reply } = await knockDuring(api, made, () => change(fields));
    expect([reply.status, reply.text]).toEqual([401, ""]);
  }
  expect((await api.get<{ data: unknown[] }>("/v1/events")).data).toEqual([]);
});

test("what is another consumer's by then is that consumer's", async () => {
  await using api = await startApi();
  const { made, change } = await setUp(api, { consumer_id: "anna" });
  const { reply, times } = await knockDuring(api, made, () => change({ consumerId: "bert" }));
  expect([reply.status, times]).toEqual([200, 2]);
  const { data } = await api.get<{ data: { consumer_id: string }[] }>("/v1/events");
  expect(data.map((event) => event.consumer_id)).toEqual(["bert"]);
});

test("a request is charged once, also where its source changed meanwhile", async () => {
  await using api = await startApi();
  const { made, change } = await setUp(api, { rate_limit_per_second: 1 });
  const { reply, times } = await knockDuring(api, made, () => change({ name: "another" }));
  expect([reply.status, times]).toEqual([200, 2]);
  expect(reply.headers.get("ratelimit")).toStartWith('"ingest";r=1;');
});

test("of an account that is suspended by then it is 503, counted once, and nothing is written", async () => {
  await using api = await startApi();
  const { made } = await setUp(api);
  const { reply } = await knockDuring(api, made, () => suspend(api));
  expect(reply.status).toBe(503);
  expect(await refusalsOf(api, made)).toEqual([["suspended", 1]]);
  expect((await api.call("POST", made.ingest_path, { type: "a.b" }, made.secret)).status).toBe(503);
  expect(await refusalsOf(api, made)).toEqual([["suspended", 2]]);
  expect((await api.get<{ data: unknown[] }>("/v1/events")).data).toEqual([]);
});

test("what changes twice meanwhile is 503, and counted", async () => {
  await using api = await startApi();
  const { made, change } = await setUp(api);
  const { reply, times } = await knockDuring(api, made, () => change({ name: "another" }), 2);
  expect([reply.status, reply.headers.get("retry-after"), times]).toEqual([503, "1", 2]);
  expect(await refusalsOf(api, made)).toEqual([["changed", 1]]);
});

test("a handshake whose address cannot be visited is counted", async () => {
  await using api = await startApi();
  const proof = CASES["aws_sns"];
  const [handshake] = proof?.handshakes ?? [];
  if (!proof || !handshake) throw new Error("there is no such case");
  api.services.transport.send = ({ url }): Promise<TransportResult> => {
    const document = proof.keyDocuments?.[url.href];
    if (document === undefined) return Promise.resolve({ kind: "timeout", code: "timeout_connect" });
    const body = new TextEncoder().encode(document);
    return Promise.resolve({ kind: "response", status: 200, headers: [], body, truncated: false });
  };
  const { made } = await setUp(api, { provider: "aws_sns", credentials: proof.credentials });
  const request = await handshake.request("", Date.now());
  const body = new TextDecoder().decode(request.body);
  const reply = await api.call("POST", made.ingest_path, body, "full", headersOf(request));
  expect(reply.status).toBe(503);
  expect(await refusalsOf(api, made)).toEqual([["visit_failed", 1]]);
});

test("a handshake of a source that is deleted meanwhile is refused as to one that does not exist", async () => {
  await using api = await startApi();
  const { made, key, change } = await setUp(api, { provider: "asana" });
  const { store, sourceStats } = api.data;
  const write = store.write.bind(store);
  store.write = async (run, ...more) => {
    store.write = write;
    await change({ status: "deleted" });
    return write(run, ...more);
  };
  const reply = await api.call("POST", made.ingest_path, "", "full", { "x-hook-secret": "learned" });
  expect([reply.status, reply.text]).toEqual([401, ""]);
  expect(sourceStats.last(key).refused).toBeNull();
});

test("what changes a source in the transaction of its first event, or while the deliveries of that are written, holds", async () => {
  await using api = await startApi();
  const { store, sources } = api.data;
  const deleted = { status: "deleted" } as const;
  const narrow = await setUp(api);
  await narrow.change({ pendingVerificationToken: "token" });
  const disk = Promise.withResolvers<void>();
  api.diskWaitsFor = disk.promise;
  const before = store.write(() => {});
  await api.until(async () => store.waiting === 0);
  const knock = api.call("POST", narrow.made.ingest_path, { type: "a.b" }, narrow.made.secret);
  await api.until(async () => store.waiting === 1);
  const change = narrow.change(deleted);
  disk.resolve();
  await Promise.all([before, knock, change]);
  expect([(await knock).status, sources.get(narrow.key)]).toEqual([200, undefined]);

  const url = api.receiver.url("first");
  for (let n = 0; n < 300; n++) await api.endpoint({ url });
  const wide = await setUp(api);
  await wide.change({ pendingVerificationToken: "token" });
  const written = store.untilCommitted();
  const reply = api.call("POST", wide.made.ingest_path, { type: "a.b" }, wide.made.secret);
  await written;
  await wide.change(deleted);
  expect([(await reply).status, sources.get(wide.key)]).toEqual([200, undefined]);
});
