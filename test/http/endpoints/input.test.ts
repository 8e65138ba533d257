/** What a body says of an endpoint: what of it is read once, and in which turn. */
import { expect, spyOn, test } from "bun:test";
import { TurnQueue } from "../../../src/core/structures/turn-queue.ts";
import { readEndpointChange, readNewEndpoint, readRouting } from "../../../src/http/endpoints/input.ts";

const queue = () => new TurnQueue({ schedule: setImmediate, beginShare: () => ({ isOver: false }) });

test("transformations are compiled once, whatever row the change is of", async () => {
  let reads = 0;
  const get = (target: Record<string, unknown>[], name: string | symbol) => {
    reads++;
    return Reflect.get(target, name) as unknown;
  };
  const body = { transformations: new Proxy([{ op: "omit", paths: ["data.x"] }], { get }) };
  const routing = await readRouting(body, queue());
  const read = reads;
  expect(read).toBeGreaterThan(0);
  const made = readNewEndpoint({ url: "https://x.example.com/" }, { change: {}, faults: [] }, 1, 0);
  for (const id of [1, 2]) {
    const change = readEndpointChange(body, routing, { ...made, id });
    expect(change.transformations).toBe(body.transformations);
  }
  expect(reads).toBe(read);
});

test("filter and transformations are compiled in a turn of their own, in a light body too", async () => {
  const turns = queue();
  using ownTurn = spyOn(turns, "ownTurn");
  await readRouting({ description: "x", event_types: ["a.b"], filter: null }, turns);
  expect(ownTurn).toHaveBeenCalledTimes(0);
  await readRouting({ filter: { data: { x: 1 } } }, turns);
  await readRouting({ transformations: [{ op: "omit", paths: ["data.x"] }] }, turns);
  expect(ownTurn).toHaveBeenCalledTimes(2);
});
