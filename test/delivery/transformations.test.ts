import { expect, test } from "bun:test";
import { untriedDelivery } from "../../src/core/delivery.ts";
import { limit } from "../../src/core/limits.ts";
import type { Endpoint } from "../../src/core/model.ts";
import { TurnQueue } from "../../src/core/structures/turn-queue.ts";
import type { Load } from "../../src/core/waiting.ts";
import { compiledTransformations, reshape, transformationOf } from "../../src/delivery/transformations.ts";
import { turnsOf } from "../../src/store/project-turns.ts";
import { openTestData } from "../kit/data.ts";
import { parsedAtOnce } from "../kit/parsed.ts";

const deep = (at: number) => `a${at}.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p`;
const paths = Array.from({ length: 50 }, (_, at) => deep(at));
const heavy = () => Array.from({ length: 32 }, () => ({ op: "pick", paths }));
const endpointWith = (transformations: unknown) => ({ transformations }) as Endpoint;

test("compiled transformations are kept up to a weight, those that were used last", () => {
  const light = endpointWith([{ op: "omit", paths: ["data.secret"] }]);
  const kept = transformationOf(light);
  for (let at = 0; at < 20; at++) {
    transformationOf(endpointWith(heavy()));
    expect(transformationOf(light)).toBe(kept);
    expect(compiledTransformations.weight).toBeLessThanOrEqual(limit("compiledTransformationsBytesMax"));
  }
  expect(compiledTransformations.size).toBeLessThan(12);
  expect(transformationOf(endpointWith(null))).toBeNull();
});

test.each([
  ["small", 50_000],
  ["large", 100_000],
])("of a project's many %s bodies one at a time is kept parsed for its operations", async (_, bytes) => {
  await using it = await openTestData({ beginShare: () => ({ isOver: true }) });
  const turns = () => turnsOf(it.data, it.project.id);
  const transformations = [{ op: "omit", paths: ["data.z"] }];
  const endpoint = { ...endpointWith(transformations), projectId: it.project.id };
  const body = new TextEncoder().encode(JSON.stringify({ data: { x: "y".repeat(bytes), z: 1 } }));
  const load = { body } as Load;
  const shape = async () => reshape({ turnsOf: turns }, endpoint, load);
  expect(await parsedAtOnce(Array<typeof shape>(20).fill(shape), bytes)).toBe(1);
});

test("heavy ones are compiled operation by operation, others going first in between", async () => {
  let turns = 0;
  const parts = { schedule: (next: () => void) => void (turns++, setImmediate(next)) };
  const queue = new TurnQueue({ ...parts, beginShare: () => ({ isOver: true }) });
  const load = { body: new TextEncoder().encode("{}") } as Load;
  const endpoint = endpointWith(heavy());
  await reshape({ turnsOf: () => queue }, endpoint, load);
  const first = turns;
  await reshape({ turnsOf: () => queue }, endpoint, load);
  expect(first - (turns - first)).toBeGreaterThanOrEqual(heavy().length);
});

test("are compiled in a turn that has time for it", async () => {
  const turns = new TurnQueue({ schedule: setImmediate, beginShare: () => ({ isOver: true }) });
  const endpoint = endpointWith(heavy());
  const load = { body: new TextEncoder().encode("{}") } as Load;
  const shaped = reshape({ turnsOf: () => turns }, endpoint, load);
  expect(compiledTransformations.has(endpoint)).toBe(false);
  await shaped;
  expect(compiledTransformations.has(endpoint)).toBe(true);
});

test("what a body is refused for is told in as many characters as an error's detail may have", async () => {
  const text = `{"type":"a.b","timestamp":"2026-11-27T00:00:00.000Z","data":{"${"k".repeat(5000)}":1e999}}`;
  const keys = { id: 4, eventId: 3, endpointId: 1, projectId: 1 };
  const delivery = untriedDelivery({ ...keys, origin: "publish", due: 0 });
  const load = { delivery, type: "a.b", hops: 0, trace: null, body: new TextEncoder().encode(text) };
  const turns = new TurnQueue({ schedule: setImmediate, beginShare: () => ({ isOver: false }) });
  const shaped = await reshape({ turnsOf: () => turns }, endpointWith([{ op: "omit", paths: ["x"] }]), load);
  if (shaped.ok) throw new Error("a number that no double holds was written");
  expect(shaped.error.detail).toHaveLength(limit("errorDetailLengthMax"));
});
