/** A source that its owner changes while a request to it is under way: what it is at the commit holds. */
import { expect, test } from "bun:test";
import type { Source } from "../../../src/core/model.ts";
import { type Api, startApi } from "../log-kit.ts";

interface Made {
  id: string;
  secret: string;
  ingest_path: string;
}

/** A genuine request, in the middle of which `change` takes effect. */
async function knockDuring(api: Api, made: Made, change: () => Promise<unknown>) {
  const { pipeline } = api.services;
  const prepare = pipeline.prepare.bind(pipeline);
  let times = 0;
  pipeline.prepare = async (...args) => {
    const prepared = await prepare(...args);
    if (times++ === 0) await change();
    return prepared;
  };
  const reply = await api.call("POST", made.ingest_path, { type: "a.b" }, made.secret);
  pipeline.prepare = prepare;
  return { reply, times };
}

async function setUp(api: Api, consumerId: string | null = null) {
  const { json } = await api.call("POST", "/v1/sources", {
    provider: "service",
    name: "s",
    ...(consumerId !== null && { consumer_id: consumerId }),
  });
  const made = json as unknown as Made;
  const key = api.data.ids.decode("src", made.id) ?? 0;
  const change = async (fields: Partial<Source>) => {
    const changed = await api.data.store.write(() => api.data.sources.update(key, () => fields));
    if (changed) api.data.sources.remember(changed);
  };
  return { made, change };
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
  const { made, change } = await setUp(api, "anna");
  const { reply, times } = await knockDuring(api, made, () => change({ consumerId: "bert" }));
  expect([reply.status, times]).toEqual([200, 2]);
  const { data } = await api.get<{ data: { consumer_id: string }[] }>("/v1/events");
  expect(data.map((event) => event.consumer_id)).toEqual(["bert"]);
});

test("of an account that is suspended by then it is 503, and nothing is written", async () => {
  await using api = await startApi();
  const { made } = await setUp(api);
  const { tenants, store } = api.data;
  const { reply } = await knockDuring(api, made, async () => {
    const [account] = tenants.accounts();
    const { made: suspended } = await store.write(() =>
      tenants.updateAccount(account?.id ?? 0, { suspended: true }),
    );
    tenants.rememberAccount(suspended);
  });
  expect(reply.status).toBe(503);
});
