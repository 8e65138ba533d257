/** What leaves before its event: bodies and attempts, where the plan keeps them for a shorter time. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readConfig } from "../../../src/config.ts";
import { limit } from "../../../src/core/limits.ts";
import type { Endpoint } from "../../../src/core/model.ts";
import { BUILT_IN_PLANS } from "../../../src/core/plans.ts";
import type { Retention } from "../../../src/maintenance/retention.ts";
import { type Api, expectRefusal, type Page } from "../../http/log-kit.ts";
import type { SetClock } from "../../kit/clock.ts";
import { jobControlOf } from "../../kit/job-control.ts";
import { startRetention } from "../../kit/retention.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
let api: Api;
let clock: SetClock;
let retention: Retention;

beforeEach(async () => {
  ({ api, clock, retention } = await startRetention({ attemptRetentionDays: 4 }));
});

afterEach(() => api[Symbol.asyncDispose]());

/** Whole passes, as days bring them. */
async function days(count: number, isStopping: () => boolean = () => false): Promise<void> {
  clock.advance(count * DAY_MS + HOUR_MS);
  await api.data.index.writeDown();
  await retention.run(jobControlOf({ isStopping }));
}

const number = (sql: string) =>
  api.data.store.sqlite.query<{ n: number }, []>(`SELECT (${sql}) AS n`).get()?.n;
const bodies = () => number("SELECT total(octet_length(data)) FROM event");
const sent = () =>
  number("SELECT count(*) FROM attempt WHERE request_body IS NOT NULL OR response_body IS NOT NULL");
const attempts = () => number("SELECT count(*) FROM attempt");

const endpoint = (fields: Partial<Endpoint> = {}) =>
  api.endpoint({ url: api.receiver.url("thin"), ...fields });

interface Shown {
  data: unknown;
  deliveries: { id: string; status: string; attempt_count: number }[];
}

async function published(type = "a.b"): Promise<string> {
  const { id } = await api.publish(type, { data: { secret: "s3cret" } });
  await api.settled(id);
  return id;
}

describe("a body that is older than the plan keeps bodies", () => {
  test("leaves its event, with what was sent and answered; later the attempts leave, then all of it", async () => {
    await endpoint({ transformations: [{ op: "set", path: "data.more", value: 1 }] });
    const id = await published();
    const event = () => api.get<Shown>(`/v1/events/${id}`);
    await days(1);
    expect((await event()).data).toEqual({ secret: "s3cret" });
    await days(1);
    expect([await event(), bodies(), sent(), attempts()]).toMatchObject([
      { data: null, deliveries: [{ status: "delivered", attempt_count: 1 }] },
      0,
      0,
      1,
    ]);
    const [delivery] = (await event()).deliveries;
    const tried = () => api.get<Page<object>>(`/v1/deliveries/${delivery?.id}/attempts`);
    expect((await tried()).data).toMatchObject([
      { outcome: "delivered", status_code: 204, request_body: null, response_body: null },
    ]);
    await days(2);
    expect([await event(), (await tried()).data]).toMatchObject([
      { data: null, deliveries: [{ status: "delivered", attempt_count: 1 }] },
      [],
    ]);
    await days(6);
    expect((await api.call("GET", `/v1/events/${id}`)).status).toBe(404);
  });

  test("is never sent or tried as an empty one: replays, retries and previews are refused, or pass it by", async () => {
    const { publicId } = await endpoint();
    const id = await published();
    const [delivery] = await api.settled(id);
    const bulk = (body: object) => api.call("POST", "/v1/replays", { dry_run: true, ...body });
    expect((await bulk({ status: ["delivered"] })).json["matched"]).toBe(1);
    await days(2);
    const received = api.receiver.requests("thin").length;
    expectRefusal(await api.call("POST", `/v1/events/${id}/replay`, {}), 409, "conflict");
    expectRefusal(await api.call("POST", `/v1/deliveries/${delivery?.id}/retry`, {}), 409, "conflict");
    expectRefusal(
      await api.call("POST", "/v1/endpoints/preview", { event_id: id, filter: {} }),
      422,
      "invalid_request",
      ["/event_id"],
    );
    expect((await bulk({ status: ["delivered"] })).json["matched"]).toBe(0);
    const later = await endpoint();
    expect((await bulk({ missing: true, endpoint_id: later.publicId })).json["matched"]).toBe(0);
    const many = await api.call("POST", "/v1/endpoints/preview", { last: 10, endpoint_id: publicId });
    expect(many.json).toMatchObject({ tried: 0, failed: 0 });
    expect(api.receiver.requests("thin").length).toBe(received);
  });

  test("stays while a delivery is open, and for a day after its end", async () => {
    const paused = await endpoint({ status: "paused" });
    const { id } = await api.publish("a.b", { data: { kept: true } });
    await days(5);
    expect(await api.get<Shown>(`/v1/events/${id}`)).toMatchObject({ data: { kept: true } });
    await api.change(paused, { status: "active" });
    await api.settled(id);
    expect(api.receiver.requests("thin").at(-1)?.body.toString()).toContain('"kept":true');
    await days(0);
    expect([await api.get<Shown>(`/v1/events/${id}`), attempts()]).toMatchObject([
      { data: { kept: true } },
      1,
    ]);
    await days(1);
    expect([await api.get<Shown>(`/v1/events/${id}`), attempts()]).toMatchObject([{ data: null }, 0]);
  });

  test("that was replayed in time stays", async () => {
    const receiver = await endpoint();
    const id = await published();
    clock.advance(2 * DAY_MS);
    await api.change(receiver, { status: "paused" });
    expect((await api.call("POST", `/v1/events/${id}/replay`, {})).status).toBe(202);
    await days(0);
    expect((await api.get<Shown>(`/v1/events/${id}`)).data).toEqual({ secret: "s3cret" });
  });
});

test("what many deliveries of one event were sent leaves in slices, and the next run goes on where one was cut short", async () => {
  const width = limit("sliceRows") + 50;
  for (let n = 0; n < width; n++)
    await endpoint({ transformations: [{ op: "set", path: "data.n", value: n }] });
  const { id } = await api.publish("a.b");
  await api.until(async () => attempts() === width);
  await api.until(async () => {
    const { data } = await api.get<Page<object>>(`/v1/deliveries?event_id=${id}&status=delivered&limit=250`);
    return data.length === width && number("SELECT count(*) FROM delivery WHERE status = 2") === width;
  });
  let looks = 0;
  await days(2, () => ++looks > 3);
  expect([bodies(), sent()].every((left) => Number(left) > 0)).toBeTrue();
  await days(0);
  await days(1);
  expect([bodies(), sent(), attempts()]).toEqual([0, 0, width]);
  await days(2);
  expect([attempts(), number("SELECT count(*) FROM delivery")]).toEqual([0, width]);
});

describe("SEALPOST_PLANS", () => {
  const read = (plans: object) => readConfig({ SEALPOST_PLANS: JSON.stringify(plans) });

  test("takes both numbers, each by itself; without them all leaves together", async () => {
    const config = read({ free: { body_retention_days: 2 }, pro: { attempt_retention_days: 30 }, other: {} });
    expect(config).toMatchObject({
      ok: true,
      config: {
        plans: {
          free: { ...BUILT_IN_PLANS["free"], bodyRetentionDays: 2 },
          pro: { ...BUILT_IN_PLANS["pro"], attemptRetentionDays: 30 },
          other: { deliveries: null, blocks: false, retentionDays: 30 },
        },
      },
    });
    expect(await api.get("/v1/usage")).toMatchObject({
      retention_days: 10,
      body_retention_days: 2,
      attempt_retention_days: 4,
    });
  });

  for (const row of [
    { body_retention_days: 8 },
    { attempt_retention_days: 8 },
    { body_retention_days: 0 },
    { attempt_retention_days: 1.5 },
    { body_retention_days: "2" },
    { retention_days: 2, body_retention_days: 3 },
  ])
    test(`refuses ${JSON.stringify(row)} of a plan that keeps events for ${row.retention_days ?? 7} days`, () => {
      const config = read({ free: row });
      expect(config.ok ? [] : config.problems).toEqual([expect.stringContaining("at most retention_days")]);
    });
});
