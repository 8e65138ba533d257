/** Which month a caller is told of. */
import { expect, test } from "bun:test";
import { startApp } from "../../kit/app.ts";
import { SetClock } from "../../kit/clock.ts";

interface Usage {
  period: { start: string };
  limit: number | null;
  remaining: number | null;
}

test("the month is the one that is counted in, also while the wall clock is set ahead of its end and not believed", async () => {
  const clock = new SetClock(Date.parse("2026-11-30T23:59:00Z"));
  await using app = await startApp({
    clock,
    env: { SEALPOST_PLANS: '{"unlimited":{"deliveries":20,"blocks":true}}' },
  });
  const read = async () => {
    const { period, limit, remaining } = (await app.live.get("/v1/usage")).json as unknown as Usage;
    return { start: period.start.slice(0, 10), limit, remaining };
  };
  const november = await read();
  expect(november).toMatchObject({ start: "2026-11-01", remaining: november.limit });
  expect(november.limit).toBeNumber();
  clock.step(600_000);
  expect(await read()).toEqual(november);
  clock.advance(600_000);
  expect((await read()).start).toBe("2026-12-01");
});
