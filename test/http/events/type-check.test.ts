/** What event types ask of published events: schemas, and unknown types. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { requireValidForType } from "../../../src/http/events/type-check.ts";
import { openTestData, type TestData } from "../../kit/data.ts";
import { parsedAtOnce } from "../../kit/parsed.ts";
import { expectProblem, owner } from "../kit.ts";
import { pointersOf, type RoutingBench, startRouting } from "../routing-kit.ts";

let bench: RoutingBench;

beforeAll(async () => {
  bench = await startRouting();
});

afterAll(() => bench[Symbol.asyncDispose]());

const schema = {
  type: "object",
  properties: { total: { type: "integer" }, lines: { type: "array", items: { required: ["sku"] } } },
  required: ["total"],
};

async function describeType(fields: Record<string, unknown> = { schema }): Promise<string> {
  return String(
    (await bench.take("POST", "/v1/event-types", { name: bench.fresh("bound.t"), ...fields }))["name"],
  );
}

const publish = (body: unknown) => bench.send("POST", "/v1/events", body);
const batch = (events: unknown[]) => bench.send("POST", "/v1/events/batch", { events });

async function countOf(type: string): Promise<number> {
  const { data } = await bench.take("GET", `/v1/events?type=${type}`);
  return (data as unknown[]).length;
}

describe("data that violates the schema of its type", () => {
  test("is refused with pointers below /data, and not stored", async () => {
    const type = await describeType();
    const reply = await publish({ type, data: { total: "9", lines: [{ sku: 1 }, {}] } });
    expectProblem(reply, 422, "schema_violation");
    expect(pointersOf(reply)).toEqual(["/data/total", "/data/lines/1/sku"]);
    expect(pointersOf(await publish({ type, data: {} }))).toEqual(["/data/total"]);
    expect(await countOf(type)).toBe(0);
    expect((await publish({ type, data: { total: 9 } })).status).toBe(202);
  });

  test("is refused in a batch with pointers below its event, and none of the batch is stored", async () => {
    const [type, free] = [await describeType(), bench.fresh("free.t")];
    const reply = await batch([
      { type, data: { total: 1 } },
      { type: free, data: { total: "any" } },
      { type, data: { total: 1.5 } },
      { type, data: {} },
    ]);
    expectProblem(reply, 422, "schema_violation");
    expect(pointersOf(reply)).toEqual(["/events/2/data/total", "/events/3/data/total"]);
    expect([await countOf(type), await countOf(free)]).toEqual([0, 0]);
  });

  test("is refused with at most 50 pointers, however large the batch is", async () => {
    const type = await describeType();
    const reply = await batch(Array.from({ length: 500 }, () => ({ type, data: {} })));
    expectProblem(reply, 422, "schema_violation");
    expect(pointersOf(reply)).toHaveLength(50);
  });

  test("is accepted where the schema is taken away, and refused from the next publish on where one is added", async () => {
    const type = await describeType();
    await bench.take("PATCH", `/v1/event-types/${type}`, { schema: null });
    expect((await publish({ type, data: {} })).status).toBe(202);
    await bench.take("PATCH", `/v1/event-types/${type}`, { schema: { required: ["id"] } });
    expect(pointersOf(await publish({ type, data: {} }))).toEqual(["/data/id"]);
  });

  test("is answered with the first event where its external_id is there already", async () => {
    const type = await describeType({});
    const external_id = bench.fresh("ext-");
    const first = await publish({ type, data: {}, external_id });
    await bench.take("PATCH", `/v1/event-types/${type}`, { schema });
    const again = await publish({ type, data: {}, external_id });
    expect([again.status, again.json["duplicate"], again.json["id"]]).toEqual([200, true, first.json["id"]]);
  });

  test("is held to it also where the type is archived", async () => {
    const type = await describeType({ schema, archived: true });
    expect((await publish({ type, data: { total: 1 } })).status).toBe(202);
    expectProblem(await publish({ type, data: {} }), 422, "schema_violation");
  });

  test("that takes too many steps is refused", async () => {
    const type = await describeType({ schema: { properties: { x: { pattern: "^(a|b|ab)*c$" } } } });
    const reply = await publish({ type, data: { x: "ab".repeat(300_000) } });
    expectProblem(reply, 422, "schema_violation");
    expect(pointersOf(reply)).toEqual(["/data"]);
  });

  test("is no business of another project's type of this name", async () => {
    const type = await describeType();
    expect((await bench.send("POST", "/v1/events", { type, data: {} }, "other")).status).toBe(202);
  });
});

describe("where a project rejects unknown types", () => {
  const setPolicy = (policy: string | null) =>
    bench.take("PATCH", "/v1/project", { unknown_event_types: policy });

  test("they are refused at /type, alone and in a batch; described ones are accepted, archived ones too", async () => {
    const [known, archived] = [await describeType({}), await describeType({ archived: true })];
    const unknown = bench.fresh("unknown.t");
    await setPolicy("reject");
    const reply = await publish({ type: unknown, data: {} });
    expectProblem(reply, 422, "invalid_request");
    expect(pointersOf(reply)).toEqual(["/type"]);
    expect([
      await publish({ type: known, data: {} }),
      await publish({ type: archived, data: {} }),
    ]).toMatchObject([{ status: 202 }, { status: 202 }]);
    const many = await batch([
      { type: known, data: {} },
      { type: unknown, data: {} },
    ]);
    expectProblem(many, 422, "invalid_request");
    expect(pointersOf(many)).toEqual(["/events/1/type"]);
    expect((await bench.send("POST", "/v1/events", { type: unknown, data: {} }, "other")).status).toBe(202);
    await setPolicy(null);
    expect((await publish({ type: unknown, data: {} })).status).toBe(202);
  });

  test("neither that nor a schema binds inbound and test events", async () => {
    const source = await bench.take("POST", "/v1/sources", { provider: "service", name: "s" });
    const type = "service.bound";
    await bench.take("POST", "/v1/event-types", { name: type, schema: { required: ["total"] } });
    await setPolicy("reject");
    for (const sent of ["bound", "never.described"]) {
      const reply = await bench.request("POST", String(source["ingest_path"]), {
        token: null,
        json: { type: sent },
        headers: { "x-service-token": String(source["secret"]) },
      });
      expect(reply.status).toBe(200);
    }
    expect([await countOf(type), await countOf("service.never.described")]).toEqual([1, 1]);
    const endpoint = await bench.take("POST", "/v1/endpoints", { url: bench.api.receiver.url("unbound") });
    for (const tested of [type, bench.fresh("undescribed.t")]) {
      const attempt = await bench.take("POST", `/v1/endpoints/${endpoint.id}/test`, { type: tested });
      expect(attempt["outcome"]).toBe("delivered");
    }
    await setPolicy(null);
  });
});

/** One that asks for `x`. */
function insertType({ data: { store, eventTypes }, project }: TestData): Promise<void> {
  const described = { name: "a.b", description: null, example: null, group: null, archived: false };
  return store.write(() => {
    const asked = { schema: { required: ["x"] }, updatedAt: 0 };
    const type = eventTypes.insert({ ...described, projectId: project.id, ...asked });
    if (type) eventTypes.remember(type);
  });
}

const eventOf = (data: unknown) => ({
  ...{ type: "a.b", timestamp: 0, consumerId: null, externalId: null, sourceId: null },
  ...{ isTest: false, hops: 0, trace: null, data: JSON.stringify(data) },
});

test("a schema is compiled in a turn that has time for it", async () => {
  await using it = await openTestData({ beginShare: () => ({ isOver: true }) });
  await insertType(it);
  const caller = { ...owner, projectId: it.project.id };
  const context = { caller, turns: it.data.store.turns };
  const checked = requireValidForType(it.data, context, [eventOf({ x: 1 })], () => "");
  expect(it.data.eventTypes.compiledBytes).toBe(0);
  await checked;
  expect(it.data.eventTypes.compiledBytes).toBeGreaterThan(0);
});

test.each([
  ["small", 10_000],
  ["large", 100_000],
])("of an account's many %s events one at a time is kept parsed for its schema", async (_size, bytes) => {
  await using it = await openTestData({ beginShare: () => ({ isOver: true }) });
  await insertType(it);
  const event = eventOf({ x: "y".repeat(bytes) });
  const caller = { ...owner, projectId: it.project.id };
  const publications = Array.from({ length: 20 }, (_, key) => {
    const turns = it.data.store.turns.of("account", null, `key:${key % 4}`);
    return async () => await requireValidForType(it.data, { caller, turns }, [event], () => "");
  });
  expect(await parsedAtOnce(publications, bytes)).toBe(1);
});
