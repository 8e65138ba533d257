/** What a batch takes in memory while its events are read, turn by turn. */
import { expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { TurnQueue } from "../../../src/core/structures/turn-queue.ts";
import { readBatch } from "../../../src/http/events/batch-input.ts";

const COUNT = 100;

test.each([
  ["are none", (n: number) => [n]],
  ["hold what no event has", (n: number) => ({ type: "a.b", data: {}, more: [n] })],
  ["are in order", (n: number) => ({ type: "a.b", data: { n } })],
])("of events that %s, nothing that was parsed stands once all are", async (_name, eventOf) => {
  const schedule = (next: () => void) => void setImmediate(next);
  const turns = new TurnQueue({ schedule, beginShare: () => ({ isOver: true }) });
  const text = JSON.stringify({ events: Array.from({ length: COUNT }, (_event, n) => eventOf(n)) });
  const parsed: WeakRef<object>[] = [];
  const { parse } = JSON;
  const { promise: isRead, resolve: read } = Promise.withResolvers<void>();
  JSON.parse = (json: string) => {
    const value = parse(json) as object;
    parsed.push(new WeakRef(value));
    // The text around the events is one more: what stands is looked at in a later turn.
    if (parsed.length > COUNT) read();
    return value;
  };
  const done = readBatch(new TextEncoder().encode(text), 0, turns, () => {}).catch(() => {});
  try {
    await isRead;
  } finally {
    JSON.parse = parse;
  }
  await nextTurn();
  Bun.gc(true);
  const standing = parsed.filter((ref) => ref.deref() !== undefined).length;
  await done;
  expect(parsed.length).toBeGreaterThanOrEqual(COUNT);
  expect(standing).toBeLessThan(COUNT / 10);
});
