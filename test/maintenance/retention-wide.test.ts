/**
 * Retention of events with very many deliveries, which are asked once and not again for each slice, and of
 * very many projects.
 */
import { afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import { untriedDelivery } from "../../src/core/delivery.ts";
import { limit } from "../../src/core/limits.ts";
import type { Retention } from "../../src/maintenance/retention.ts";
import { type Api, type EndpointFields } from "../http/log-kit.ts";
import type { SetClock } from "../kit/clock.ts";
import { jobControlOf } from "../kit/job-control.ts";
import { startRetention } from "../kit/retention.ts";

const DAY_MS = 86_400_000;
const SLICES = 20;
const WIDTH = SLICES * limit("sliceRows");
let api: Api;
let clock: SetClock;
let retention: Retention;
let eventId: number;

beforeEach(async () => {
  ({ api, clock, retention } = await startRetention());
});

afterEach(() => api[Symbol.asyncDispose]());

/** An event as a wide fan-out leaves it: to one endpoint, of which each delivery is open, or dead. */
async function publishWide(
  fields: Partial<EndpointFields>,
  isDead: boolean,
  token = "full",
): Promise<string> {
  const endpoint = await api.endpoint({ url: api.receiver.url("wide"), ...fields }, token);
  const { id } = await api.publish("a.b", {}, token);
  eventId = api.data.ids.decode("evt", id) ?? 0;
  const { deliveries, store } = api.data;
  const at = clock.now();
  await store.write(() => {
    const first = store.takeKey(WIDTH);
    for (let n = 0; n < WIDTH - 1; n++) {
      const keys = { id: first + n, eventId, endpointId: endpoint.id, projectId: endpoint.projectId };
      const delivery = { ...keys, origin: "publish" as const, due: isDead ? null : at };
      deliveries.insert(untriedDelivery(delivery, isDead ? { status: "dead", at } : null), null);
    }
  });
  return id;
}

/** A run after so many days; how many times the event was asked meanwhile, and looked at for what is open. */
async function asked(days: number, rest = () => Promise.resolve()): Promise<{ ages: number; looks: number }> {
  clock.advance(days * DAY_MS);
  await api.data.index.writeDown();
  using ages = spyOn(api.data.ages, "of");
  using looks = spyOn(api.data.removal, "openOf");
  await retention.run(jobControlOf({ rest }));
  return {
    ages: ages.mock.calls.length,
    looks: looks.mock.calls.filter(([, after]) => after === eventId).length,
  };
}

const number = (sql: string) =>
  api.data.store.sqlite.query<{ n: number }, []>(`SELECT (${sql}) AS n`).get()?.n ?? -1;
const bodies = () => number("SELECT total(octet_length(data)) FROM event");

test("that loses its bodies is asked before, in the first write and in the last", async () => {
  await publishWide({ status: "disabled" }, true);
  expect([await asked(3), bodies()]).toEqual([{ ages: 3, looks: 0 }, 0]);
});

test("that loses its bodies is asked as rarely where another project's does the same meanwhile", async () => {
  for (const token of ["full", "other"]) await publishWide({ status: "disabled" }, true, token);
  expect([await asked(3), bodies()]).toEqual([{ ages: 6, looks: 0 }, 0]);
});

test("of which a delivery is retried between two slices keeps its body", async () => {
  const id = await publishWide({ status: "disabled" }, true);
  const [endpoint] = api.data.endpoints.all();
  await api.data.endpoints.change(endpoint?.id ?? 0, () => ({ status: "paused" }));
  const path = `/v1/deliveries/${api.data.ids.encode("msg", eventId + 1)}/retry`;
  const statuses: number[] = [];
  const before = bodies();
  await asked(3, async () => {
    if (statuses.length === 0) statuses.push((await api.call("POST", path, {})).status);
  });
  expect([statuses, bodies()]).toEqual([[202], before]);
  expect((await api.get<{ data: unknown }>(`/v1/events/${id}`)).data).not.toBeNull();
});

test("of which what was never fetched expires is asked before, and in the first write", async () => {
  await publishWide({ kind: "poll", config: {} }, false);
  const { ages, looks } = await asked(11);
  expect([number("SELECT count(*) FROM delivery WHERE status = 4"), looks, ages < SLICES]).toEqual([
    WIDTH,
    2,
    true,
  ]);
});

test("and its like are asked by few in one turn", async () => {
  for (let n = 0; n < 5; n++) await publishWide({ status: "paused" }, false);
  const turns: number[] = [];
  using ages = spyOn(api.data.ages, "of");
  clock.advance(11 * DAY_MS);
  await api.data.index.writeDown();
  const rest = async () => void turns.push(ages.mock.calls.length);
  await retention.run(jobControlOf({ rest }));
  expect(turns).toEqual([3, 5, 8, 10]);
});

test("of very many projects few are looked at in one turn", async () => {
  const { ages, tenants } = api.data;
  for (let n = 0; n < 120; n++)
    await tenants.createProject(api.callers.get("full")?.accountId ?? 0, `p${n}`, "live");
  using looks = spyOn(ages, "oldest");
  const turns: number[] = [];
  const rest = async () => void turns.push(looks.mock.calls.length);
  await retention.run(jobControlOf({ rest }));
  // What is kept whole and bodies, of 50 projects; the first has not begun its looks.
  expect(turns).toEqual([98, 198]);
});
