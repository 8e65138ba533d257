/** Retention of a project beside another one that has much to remove. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Retention } from "../../src/maintenance/retention.ts";
import type { Api } from "../http/log-kit.ts";
import type { SetClock } from "../kit/clock.ts";
import { jobControlOf } from "../kit/job-control.ts";
import { startRetention } from "../kit/retention.ts";

const DAY_MS = 86_400_000;
/** As many slices of a hundred. */
const SLICES = 20;
let api: Api;
let clock: SetClock;
let retention: Retention;

beforeEach(async () => {
  ({ api, clock, retention } = await startRetention());
});

afterEach(() => api[Symbol.asyncDispose]());

/** So many events of a project, which have matched nothing. */
async function publish(count: number, token: string): Promise<void> {
  const events = Array.from({ length: count }, () => ({ type: "a.b", data: { count } }));
  const { status } = await api.call("POST", "/v1/events/batch", { events }, token);
  expect(status).toBe(202);
}

async function publishMuch(): Promise<void> {
  for (let n = 0; n < SLICES; n++) await publish(100, "full");
}

const number = (sql: string, token: string) =>
  api.data.store.sqlite
    .query<{ n: number }, [number]>(`SELECT (${sql}) AS n`)
    .get(api.callers.get(token)?.projectId ?? 0)?.n ?? -1;
const events = (token: string) => number("SELECT count(*) FROM event WHERE project_id = ?", token);
const bodies = (token: string) =>
  number("SELECT count(*) FROM event WHERE project_id = ? AND octet_length(data) > 0", token);

/** A run that calls `rest` at each rest, with how many there were. */
async function run(days: number, rest: (rests: number) => void | Promise<void>): Promise<number> {
  clock.advance(days * DAY_MS);
  await api.data.index.writeDown();
  let rests = 0;
  return retention.run(jobControlOf({ rest: async () => rest(++rests) }));
}

test("its event leaves after a few slices of the other", async () => {
  await publishMuch();
  await publish(1, "other");
  const left: number[][] = [];
  const removed = await run(11, () => void left.push([events("other"), events("full")]));
  expect([left[3]?.[0], (left[3]?.[1] ?? 0) > 15 * 100]).toEqual([0, true]);
  expect([removed, events("full")]).toEqual([SLICES * 100 + 1, 0]);
});

test("its event loses its body after a few slices of the other", async () => {
  await publishMuch();
  await publish(1, "other");
  const left: number[][] = [];
  await run(3, () => void left.push([bodies("other"), bodies("full")]));
  expect([left[3]?.[0], (left[3]?.[1] ?? 0) > 15 * 100]).toEqual([0, true]);
  expect([bodies("full"), events("full"), events("other")]).toEqual([0, SLICES * 100, 1]);
});

test("its event leaves soon that grows old while the other's are removed", async () => {
  await publishMuch();
  clock.advance(DAY_MS);
  await publish(1, "other");
  const left: number[][] = [];
  await run(10 - 0.5, (rests) => {
    if (rests === 3) clock.advance(DAY_MS);
    left.push([events("other"), events("full")]);
  });
  expect([left[2]?.[0], left[8]?.[0], (left[8]?.[1] ?? 0) > 5 * 100]).toEqual([1, 0, true]);
  expect(events("full")).toBe(0);
});
