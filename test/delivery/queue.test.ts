import { expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { untriedDelivery } from "../../src/core/delivery.ts";
import { Queue } from "../../src/delivery/queue.ts";

const keys = { id: 0, eventId: 0, endpointId: 0, projectId: 0 };
const load = (text: string) => ({
  delivery: untriedDelivery({ ...keys, origin: "publish", due: 0 }),
  type: "a.b",
  hops: 0,
  trace: null,
  body: new TextEncoder().encode(text),
});
const item = (id: number, text?: string) => ({
  id,
  endpointId: 1,
  due: id,
  queueOrder: null,
  load: text === undefined ? null : load(text),
});
const held = { deliveries: 0, bytes: 0 };
const makeQueue = () => new Queue("none", Object.assign(held, { deliveries: 0, bytes: 0 }));

/** How many of them something still holds. */
async function countHeld(items: readonly WeakRef<object>[]): Promise<number> {
  await nextTurn();
  Bun.gc(true);
  return items.filter((one) => one.deref() !== undefined).length;
}

test("what is dropped keeps neither its load nor, beyond some, its place, wherever it stands", async () => {
  const queue = makeQueue();
  queue.push(item(0, "first"));
  const dropped = Array.from({ length: 1000 }, (_, at) => {
    const one = item(at + 1, "a body");
    queue.push(one);
    queue.drop(one.id);
    expect(one.load).toBeNull();
    return new WeakRef(one);
  });
  expect(held).toEqual({ deliveries: 1, bytes: 5 });
  expect(await countHeld(dropped)).toBeLessThan(100);
  expect(queue.pop()?.load).toEqual(load("first"));
  expect(queue.pop()).toBeUndefined();
});

test("an item that is put in again and again takes one place", async () => {
  const queue = makeQueue();
  const put = Array.from({ length: 1000 }, (_, times) => {
    const one = item(7, String(times));
    queue.push(one);
    return new WeakRef(one);
  });
  expect([queue.size, queue.peek()?.load]).toEqual([1, load("999")]);
  expect(await countHeld(put)).toBeLessThan(100);
});

test("after places were given up, the smallest still comes first", () => {
  const queue = makeQueue();
  const ids = Array.from({ length: 500 }, (_, at) => (at * 7919) % 500);
  for (const id of ids) queue.push(item(id));
  for (let id = 0; id < 500; id += 1) if (id % 5 !== 0) queue.drop(id);
  const popped: number[] = [];
  for (let next = queue.pop(); next; next = queue.pop()) popped.push(next.id);
  expect(popped).toEqual(Array.from({ length: 100 }, (_, at) => at * 5));
});
