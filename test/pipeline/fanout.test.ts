/** What wide events gather is bounded: whoever publishes more waits until it is written. */
import { afterEach, expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { LIMITS } from "../../src/core/limits.ts";
import { startApi } from "../http/log-kit.ts";

const BOUNDS = { fanoutAtOnceMax: 2, eventRowsMax: 2, fanoutSliceRows: 1, fanoutWaitingMax: 10 } as const;
const names = Object.keys(BOUNDS) as (keyof typeof BOUNDS)[];
const usual = names.map((name) => LIMITS[name].value);
const setLimit = (name: keyof typeof BOUNDS, value: number) => {
  (LIMITS[name] as { value: number }).value = value;
};

afterEach(() => names.forEach((name, at) => setLimit(name, usual[at] ?? 0)));

test("a project's wide events wait at the door until those before them are written, and all are", async () => {
  for (const name of names) setLimit(name, BOUNDS[name]);
  await using api = await startApi();
  for (let n = 0; n < 6; n++) await api.endpoint({ url: "http://127.0.0.1:9/", status: "paused" });
  let published = 0;
  const publishing = Array.from({ length: 8 }, async (_, n) => {
    await api.publish("wide", { data: { n } });
    published++;
  });
  let most = 0;
  while (published < publishing.length) {
    most = Math.max(most, api.data.fanouts.count());
    await nextTurn();
  }
  while (api.data.fanouts.count() > 0) await nextTurn();
  // The last row of one may leave room for the next.
  expect(most).toBeLessThanOrEqual(2);
  const rows = api.data.store.sqlite.query<{ n: number }, []>("SELECT count(*) AS n FROM delivery").get();
  expect(rows?.n).toBe(48);
});
