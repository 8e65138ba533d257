/** Numbers of sources over time, over the whole service. */
import { expect, spyOn, test } from "bun:test";
import { sign } from "@octokit/webhooks-methods";
import { TurnQueue } from "../../../src/core/structures/turn-queue.ts";
import { SetClock } from "../../kit/clock.ts";
import { startApp, type TestApp } from "../../kit/app.ts";
import { expectProblem } from "../kit.ts";
import { createSource, knock, sendToken } from "./kit.ts";

const HOUR_MS = 3_600_000;
const AT = Date.UTC(2026, 10, 21, 9, 30);
const text = (at: number) => new Date(at).toISOString();

async function startAt(at: number): Promise<{ app: TestApp; clock: SetClock }> {
  const clock = new SetClock(at);
  return { app: await startApp({ clock }), clock };
}

const refuse = (app: TestApp, path: string, headers: Record<string, string> = {}) =>
  knock(app, path, "{}", headers);

test("stand by the hour and by reason, outlive a restart, and hold nothing that was never there", async () => {
  const { app, clock } = await startAt(AT - HOUR_MS);
  await using _ = app;
  const source = await createSource(app, "stripe");
  const other = await createSource(app, "service");
  await refuse(app, source.ingest_path);
  clock.advance(HOUR_MS);
  await app.live.patch(`/v1/sources/${source.id}`, { signing_secret: "whsec_x" });
  await refuse(app, source.ingest_path, { "stripe-signature": "t=1,v1=00" });
  await sendToken(app, other, { type: "a", id: "1" });
  const expected = {
    data: [
      {
        at: text(AT - 1.5 * HOUR_MS),
        accepted: 0,
        duplicates: 0,
        handshakes: 0,
        rejected: { missing_header: 1 },
      },
      {
        at: text(AT - 0.5 * HOUR_MS),
        accepted: 0,
        duplicates: 0,
        handshakes: 0,
        rejected: { stale_timestamp: 1 },
      },
    ],
    total: { accepted: 0, duplicates: 0, handshakes: 0, rejected: { missing_header: 1, stale_timestamp: 1 } },
    last_received_at: null,
    last_handshake_at: null,
    last_rejected: { at: text(AT), reason: "stale_timestamp" },
  };
  const read = async (path: string) => (await app.live.get(path)).json as unknown;
  expect(await read(`/v1/sources/${source.id}/stats`)).toEqual(expected);
  await app.stop();
  await app.start();
  expect(await read(`/v1/sources/${source.id}/stats`)).toEqual(expected);
  expect(await read(`/v1/sources/${source.id}/stats?by=day`)).toMatchObject({
    data: [{ at: "2026-11-21T00:00:00.000Z", rejected: { missing_header: 1, stale_timestamp: 1 } }],
  });
  const later = `since=${text(AT - 0.5 * HOUR_MS)}`;
  expect(await read(`/v1/stats/sources?source_ids=${other.id},src_x,${source.id}&${later}`)).toEqual({
    data: [
      {
        source_id: other.id,
        accepted: 1,
        duplicates: 0,
        handshakes: 0,
        rejected: {},
        last_received_at: text(AT),
        last_handshake_at: null,
        last_rejected: null,
      },
      {
        source_id: source.id,
        accepted: 0,
        duplicates: 0,
        handshakes: 0,
        rejected: { stale_timestamp: 1 },
        last_received_at: null,
        last_handshake_at: null,
        last_rejected: expected.last_rejected,
      },
    ],
  });
});

test("tell genuine requests that the provider was asked to send again: paused, or over the rate", async () => {
  const { app } = await startAt(AT);
  await using _ = app;
  const source = await createSource(app, "service", { rate_limit_per_second: 1 });
  await app.live.post(`/v1/sources/${source.id}/pause`);
  expect((await sendToken(app, source, {})).status).toBe(503);
  await refuse(app, source.ingest_path, { "x-service-token": "forged" });
  await app.live.post(`/v1/sources/${source.id}/resume`);
  const statuses: number[] = [];
  for (let n = 0; n < 3; n++) statuses.push((await sendToken(app, source, { n })).status);
  expect(statuses).toEqual([200, 200, 429]);
  const { json } = await app.live.get(`/v1/sources/${source.id}/stats`);
  const rejected = { paused: 1, bad_signature: 1, rate_limited: 1 };
  expect(json["total"]).toEqual({ accepted: 2, duplicates: 0, handshakes: 0, rejected });
  expect((await app.live.get(`/v1/sources/${source.id}`)).json["counters"]).toMatchObject({ rejected });
});

test("tell handshakes apart: genuine, and no event", async () => {
  const { app, clock } = await startAt(AT);
  await using _ = app;
  const source = await createSource(app, "github");
  const body = '{"zen":"Keep it logically awesome."}';
  const headers = { "x-github-event": "ping", "x-hub-signature-256": await sign(source.secret, body) };
  expect((await knock(app, source.ingest_path, body, headers)).status).toBe(200);
  clock.advance(1000);
  const { json } = await app.live.get(`/v1/sources/${source.id}/stats`);
  expect(json as unknown).toMatchObject({
    total: { accepted: 0, duplicates: 0, handshakes: 1, rejected: {} },
    last_received_at: null,
    last_handshake_at: text(AT),
    last_rejected: null,
  });
});

test("of several are read once each, a day's hours at once with turns between", async () => {
  const { app } = await startAt(AT);
  await using _ = app;
  const source = await createSource(app, "service");
  const other = await createSource(app, "service");
  await sendToken(app, source, {});
  const month = `since=${text(AT - 31 * 24 * HOUR_MS)}`;
  const again = source.id.replace(/_.*/, (key) => key.toLowerCase());
  const asked = [source.id, again, other.id, ...Array.from({ length: 97 }, () => source.id)].join(",");
  using giveWay = spyOn(TurnQueue.prototype, "giveWay");
  const { json } = await app.live.get(`/v1/stats/sources?source_ids=${asked}&${month}`);
  const data = json["data"] as { source_id: string; accepted: number }[];
  expect(data.map((row) => [row.source_id, row.accepted])).toEqual([
    [source.id, 1],
    [other.id, 0],
  ]);
  expect(giveWay.mock.calls.length).toBeGreaterThanOrEqual(2 * 31);
  const before = giveWay.mock.calls.length;
  await app.live.get(`/v1/sources/${source.id}/stats?${month}`);
  expect(giveWay.mock.calls.length - before).toBeGreaterThanOrEqual(31);
});

test("of another project, of none, and for a span that is turned round are refused", async () => {
  await using app = await startApp();
  const { id } = await createSource(app, "service");
  const path = `/v1/sources/${id}/stats`;
  expectProblem(await app.test.get(path), 404, "not_found");
  expect((await app.test.get(`/v1/stats/sources?source_ids=${id}`)).json["data"]).toEqual([]);
  const turned = `since=${text(AT)}&until=${text(AT - 1)}`;
  expectProblem(await app.live.get(`${path}?${turned}`), 422, "invalid_request");
  expectProblem(await app.live.get(`/v1/stats/sources?source_ids=${id}&${turned}`), 422, "invalid_request");
  const many = Array.from({ length: 101 }, () => id).join(",");
  const { json } = await app.live.get(`/v1/stats/sources?source_ids=${many}`);
  expect(json.errors?.map(({ pointer }) => pointer)).toEqual(["source_ids"]);
});

test("may be read with a key that only reads", async () => {
  await using app = await startApp();
  const { id } = await createSource(app, "service");
  const { key = "" } = await app.live.create("/v1/api-keys", { name: "r", scopes: ["read"] });
  expect((await app.with(key).get(`/v1/sources/${id}/stats`)).status).toBe(200);
});
