/** Many consumers are erased: a run of the job lasts while new ones come as fast as they are done. */
import { expect, spyOn, test } from "bun:test";
import { heapStats } from "bun:jsc";
import { limit, LIMITS } from "../../src/core/limits.ts";
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

test.each([false, true])(
  "a transaction reads deliveries of a bounded number of events, although they follow later (one open: %p)",
  async (isOpen) => {
    await using api = await startApi();
    const { erasures, index, removal } = api.data;
    const { value } = LIMITS.deliveriesLookedAtMax;
    const width = limit("sliceRows") + 1;
    const events = 20;
    const url = api.receiver.url("wide");
    for (let n = 1; n < width; n++)
      await api.endpoint({ url, status: "disabled", disabledReason: "failing" });
    await api.endpoint(
      isOpen ? { url, status: "paused" } : { url, status: "disabled", disabledReason: "failing" },
    );
    for (let n = 0; n < events; n++) await api.publish("a.b", { consumer_id: "wide" });
    await index.writeDown();
    using advance = spyOn(erasures, "advance");
    using close = spyOn(removal, "close");
    const closed: number[] = [];
    advance.mockImplementation(() => void closed.push(close.mock.calls.length));
    (LIMITS.deliveriesLookedAtMax as { value: number }).value = 5 * width;
    try {
      expect((await api.call("DELETE", "/v1/consumers/wide")).status).toBe(202);
      await api.services.eraser.run(jobControlOf());
    } finally {
      (LIMITS.deliveriesLookedAtMax as { value: number }).value = value;
    }
    const each = closed.map((count, at) => count - (closed[at - 1] ?? 0));
    expect([each.length > 3, Math.max(...each)]).toEqual([true, 5]);
  },
);
