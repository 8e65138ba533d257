/** Which events came before, asked of a real database. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Identity, KnownEvents, ProofSpent } from "../../src/pipeline/known.ts";
import { openTestData, type TestData } from "../kit/data.ts";

let it: TestData;
beforeAll(async () => {
  it = await openTestData();
});
afterAll(() => it[Symbol.asyncDispose]());

const SOURCE = 7;
const INBOUND = { sourceId: SOURCE, externalId: null, data: "{}" };
const CHANGED = { ...INBOUND, data: '{"changed":true}' };

function knownBy(identity: Identity | null): KnownEvents {
  return new KnownEvents(it.data, it.project.id, identity);
}

function accept(identity: Identity | null, incoming: Parameters<KnownEvents["find"]>[0]): Promise<number> {
  return it.data.store.write(() => {
    const id = it.insertEvent(0, incoming);
    knownBy(identity).remember(incoming, id);
    return id;
  });
}

test("a published event is known by its external_id, within its project", async () => {
  const incoming = { ...INBOUND, sourceId: null, externalId: "order-1" };
  expect(knownBy(null).find(incoming)).toBeNull();
  const id = await accept(null, incoming);
  expect(knownBy(null).find(incoming)?.id).toBe(id);
  expect(knownBy(null).find({ ...incoming, externalId: null })).toBeNull();
  expect(new KnownEvents(it.data, it.project.id + 1, null).find(incoming)).toBeNull();
});

test("an inbound event is known by its delivery id, within its source, also once it has left the log", async () => {
  const identity = { deliveryId: "d-1", keptSeconds: 60, proof: null };
  const id = await accept(identity, INBOUND);
  expect(knownBy(identity).find(INBOUND)?.id).toBe(id);
  expect(knownBy(identity).find({ ...INBOUND, sourceId: SOURCE + 1 })).toBeNull();
  expect(knownBy({ ...identity, deliveryId: null }).find(INBOUND)).toBeNull();
  const gone = { ...identity, deliveryId: "d-2" };
  await it.data.store.write(() => knownBy(gone).remember(INBOUND, id + 1));
  expect(knownBy(gone).find(INBOUND)).toMatchObject({ id: id + 1, type: "", sourceId: SOURCE });
});

describe("a proof", () => {
  const of = (deliveryId: string, id: string, cut?: string): Identity => ({
    deliveryId,
    keptSeconds: 60,
    proof: { id, keptSeconds: 60, ...(cut !== undefined && { cut }) },
  });

  test("makes one event, and what comes again with it is that one", async () => {
    const id = await accept(of("p-1", "one"), INBOUND);
    expect(knownBy(of("p-1", "one")).find(INBOUND)?.id).toBe(id);
    expect(() => knownBy(of("p-2", "one")).find(CHANGED)).toThrow(ProofSpent);
    expect(knownBy(of("p-2", "one")).find({ ...INBOUND, sourceId: SOURCE + 1 })).toBeNull();
  });

  test("of an event that comes again makes no other one either", async () => {
    const id = await accept(of("r-1", "first"), INBOUND);
    expect(knownBy(of("r-2", "second")).find(INBOUND)).toBeNull();
    await it.data.store.write(() => knownBy(of("r-1", "second")).rememberRepeat(INBOUND, id));
    expect(() => knownBy(of("r-2", "second")).find(CHANGED)).toThrow(ProofSpent);
  });

  test("with the body that it came with is that event, whatever else that is known by", async () => {
    const withContent = (deliveryId: string | null, content: string): Identity => ({
      deliveryId,
      keptSeconds: 60,
      proof: { id: "same body", content, keptSeconds: 60 },
    });
    const id = await accept(withContent("b-1", "one"), INBOUND);
    for (const other of [null, "b-2"]) {
      expect(knownBy(withContent(other, "one")).find(CHANGED)?.id).toBe(id);
      expect(() => knownBy(withContent(other, "two")).find(CHANGED)).toThrow(ProofSpent);
    }
    const another = await accept({ ...withContent("b-2", "one"), proof: null }, INBOUND);
    expect(another).not.toBe(id);
    expect(() => knownBy(withContent("b-2", "one")).find(INBOUND)).toThrow(ProofSpent);
  });

  test("with the data of the event that it made is that event, also where nothing is kept of its body", async () => {
    const upgraded = (deliveryId: string | null): Identity => ({
      deliveryId,
      keptSeconds: 60,
      proof: { id: "before", content: "hash", keptSeconds: 60 },
    });
    const id = await accept(of("m-1", "before"), INBOUND);
    for (const other of [null, "m-1|hash"]) {
      expect(knownBy(upgraded(other)).find(INBOUND)?.id).toBe(id);
      expect(() => knownBy(upgraded(other)).find(CHANGED)).toThrow(ProofSpent);
    }
    const gone = of("m-2", "gone");
    await it.data.store.write(() => knownBy(gone).remember(INBOUND, id + 1));
    expect(() => knownBy({ ...gone, deliveryId: null }).find(INBOUND)).toThrow(ProofSpent);
  });

  test("of a body that is cut into events makes each of that cut, and none of another", async () => {
    const id = await accept(of("c-1", "whole", "cut"), INBOUND);
    expect(knownBy(of("c-2", "whole", "cut")).find(INBOUND)).toBeNull();
    expect(knownBy(of("c-1", "whole", "cut")).find(INBOUND)?.id).toBe(id);
    expect(() => knownBy(of("c-1", "whole", "other")).find(INBOUND)).toThrow(ProofSpent);
  });

  test("that is kept for longer than the identity makes what is equal once more, and nothing else", async () => {
    const brief = (deliveryId: string): Identity => ({
      deliveryId,
      keptSeconds: 0,
      proof: { id: "long", keptSeconds: 60 },
    });
    await accept(brief("equal"), INBOUND);
    expect(knownBy(brief("equal")).find(INBOUND)).toBeNull();
    expect(() => knownBy(brief("other")).find(CHANGED)).toThrow(ProofSpent);
    await accept(brief("equal"), INBOUND);
    expect(() => knownBy(brief("other")).find(CHANGED)).toThrow(ProofSpent);
  });
});
