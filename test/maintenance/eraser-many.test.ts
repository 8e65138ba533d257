/** Many consumers are erased: a run of the job lasts while new ones come as fast as they are done. */
import { expect, test } from "bun:test";
import { heapStats } from "bun:jsc";
import { startApi } from "../http/log-kit.ts";
import { jobControlOf } from "../kit/job-control.ts";

const CONSUMERS = 30;

test("of erasures that are done nothing is held while another one is still to be done", async () => {
  await using api = await startApi();
  for (let n = 0; n < CONSUMERS; n++) {
    await api.publish("a.b", { consumer_id: `c-${n}` });
    expect((await api.call("DELETE", `/v1/consumers/c-${n}`)).status).toBe(202);
  }
  const held: number[] = [];
  const rest = () => {
    if (api.data.erasures.countRunning() === 1) {
      Bun.gc(true);
      held.push(heapStats().objectTypeCounts["AsyncGenerator"] ?? 0);
    }
    return Promise.resolve();
  };
  await api.services.eraser.run(jobControlOf({ rest }));
  expect([held.length > 0, Math.max(...held) < CONSUMERS / 2]).toEqual([true, true]);
});
