/** Event types as a resource: fields, refusals, lists, grants, projects, and the proposal of a schema. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { TurnQueue } from "../../../src/core/structures/turn-queue.ts";
import { readEventTypeChange, readNewEventType } from "../../../src/http/event-types/input.ts";
import type { EventTypeAnswer } from "../../../src/http/event-types/shape.ts";
import { startApp } from "../../kit/app.ts";
import { expectProblem } from "../kit.ts";
import { pointersOf, type RoutingBench, startRouting } from "../routing-kit.ts";

let bench: RoutingBench;

beforeAll(async () => {
  bench = await startRouting();
});

afterAll(() => bench[Symbol.asyncDispose]());

const schema = { type: "object", properties: { total: { type: "integer" } }, required: ["total"] };

async function create(fields: Record<string, unknown> = {}): Promise<EventTypeAnswer> {
  const made = await bench.take("POST", "/v1/event-types", { name: bench.fresh("made.t"), ...fields });
  return made as unknown as EventTypeAnswer;
}

test("an example that is too long is refused before its elements are looked at", () => {
  const reads: (string | symbol)[] = [];
  const get = (target: number[], name: string | symbol) => {
    reads.push(name);
    return Reflect.get(target, name) as unknown;
  };
  const list = new Proxy(Array.from<number>({ length: 100_000 }).fill(1), { get });
  expect(() => readNewEventType({ name: "a", example: { list } }, 1, 0)).toThrow("not valid");
  expect(reads.filter((name) => name !== "length" && name !== "toJSON")).toEqual([]);
});

test("what was compiled before the write is not compiled in it, unless what the body leaves has changed meanwhile", () => {
  const seen = { ...readNewEventType({ name: "a", example: { total: 1 } }, 1, 0), id: 1 };
  let reads = 0;
  const get = (target: typeof schema, name: keyof typeof schema) => {
    reads++;
    return target[name];
  };
  const body = { schema: new Proxy(schema, { get }) };
  const changeOf = readEventTypeChange(body, seen);
  const before = reads;
  expect(before).toBeGreaterThan(0);
  const change = changeOf({ ...seen, group: "x", schema: { type: "object" }, example: { total: 1 } });
  expect(reads).toBe(before);
  expect(change.schema).toBe(body.schema);
  expect(() => changeOf({ ...seen, example: { total: "x" } })).toThrow("not valid");
});

test("a schema is compiled in a turn of its own, whether it is given or what an example is held to", async () => {
  const { name } = await create();
  using ownTurn = spyOn(TurnQueue.prototype, "ownTurn");
  await bench.take("PATCH", `/v1/event-types/${name}`, { group: "x" });
  expect(ownTurn).toHaveBeenCalledTimes(0);
  await bench.take("PATCH", `/v1/event-types/${name}`, { schema });
  await bench.take("PATCH", `/v1/event-types/${name}`, { example: { total: 1 } });
  await create({ schema });
  expect(ownTurn).toHaveBeenCalledTimes(3);
});

describe("a type", () => {
  test("has defaults, and is read as it was made", async () => {
    const { name, created_at, updated_at, ...rest } = await create();
    expect(rest as unknown).toEqual({
      description: null,
      schema: null,
      example: null,
      group: null,
      archived: false,
    });
    expect(created_at).toMatch(/^\d{4}-.*\.\d{3}Z$/);
    expect((await bench.take("GET", `/v1/event-types/${name}`))["updated_at"]).toBe(updated_at);
  });

  test("keeps every field, and a restart keeps them too", async () => {
    await using app = await startApp();
    const fields = {
      name: "invoice.paid",
      description: "Paid in full",
      schema: { ...schema, $comment: "é", properties: { total: { type: "integer", default: null } } },
      example: { total: 1, nothing: null, deep: [{ a: "ü" }] },
      group: "Billing",
      archived: true,
    };
    const made = await app.live.create<EventTypeAnswer>("/v1/event-types", fields);
    expect(made as unknown).toMatchObject(fields);
    await app.stop();
    await app.start();
    expect((await app.live.get("/v1/event-types/invoice.paid")).json as unknown).toEqual(made);
    expect((await app.live.post("/v1/events", { type: "invoice.paid", data: {} })).json.code).toBe(
      "schema_violation",
    );
  });

  test("is unique by its name in its project, also among requests at once", async () => {
    const name = bench.fresh("made.once");
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => bench.send("POST", "/v1/event-types", { name })),
    );
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409, 409, 409]);
    expectProblem(await bench.send("POST", "/v1/event-types", { name }), 409, "conflict");
    expect((await bench.send("POST", "/v1/event-types", { name }, "other")).status).toBe(201);
  });

  test("is changed field by field; null resets; schema and example are replaced whole", async () => {
    const { name } = await create({ schema, example: { total: 1 }, group: "A", description: "x" });
    const patch = async (body: unknown) => bench.take("PATCH", `/v1/event-types/${name}`, body);
    expect(await patch({ group: "B", archived: true })).toMatchObject({
      group: "B",
      archived: true,
      description: "x",
    });
    expect(await patch({ schema: { type: "object" }, example: { a: null } })).toMatchObject({
      schema: { type: "object" },
      example: { a: null },
    });
    const reset = { description: null, schema: null, example: null, group: null };
    expect(await patch({ ...reset, archived: null })).toMatchObject({ ...reset, archived: false });
  });

  test("that is deleted is gone, and its name is free", async () => {
    const { name } = await create({ schema });
    expect((await bench.send("DELETE", `/v1/event-types/${name}`)).status).toBe(204);
    for (const method of ["GET", "PATCH", "DELETE"]) {
      const body = method === "PATCH" ? {} : undefined;
      expectProblem(await bench.send(method, `/v1/event-types/${name}`, body), 404, "not_found");
    }
    await bench.publish(name, {});
    expect(await create({ name })).toMatchObject({ name, schema: null });
  });
});

describe("refused with a pointer", () => {
  test.each([
    ["no name", {}, ["/name"]],
    ["a name with a space", { name: "a b" }, ["/name"]],
    ["a pattern as a name", { name: "invoice.*" }, ["/name"]],
    ["a name of 129 characters", { name: "x".repeat(129) }, ["/name"]],
    ["an unknown field", { name: "a", schemas: {} }, ["/schemas"]],
    ["a schema that is true", { name: "a", schema: true }, ["/schema"]],
    [
      "a wrong keyword",
      { name: "a", schema: { properties: { a: { type: "text" } } } },
      ["/schema/properties/a/type"],
    ],
    [
      "a schema that refers elsewhere",
      { name: "a", schema: { $ref: "https://example.com/x" } },
      ["/schema/$ref"],
    ],
    ["a pattern with look-ahead", { name: "a", schema: { pattern: "(?=a)" } }, ["/schema/pattern"]],
    [
      "an unknown dialect",
      { name: "a", schema: { $schema: "http://json-schema.org/draft-04/schema#" } },
      ["/schema/$schema"],
    ],
    ["a schema that is too large", { name: "a", schema: { title: "x".repeat(33_000) } }, ["/schema"]],
    ["an example that is a list", { name: "a", example: [1] }, ["/example"]],
    ["an example that is too large", { name: "a", example: { text: "x".repeat(66_000) } }, ["/example"]],
    [
      "an example that violates the schema",
      { name: "a", schema, example: { total: "9" } },
      ["/example/total"],
    ],
    ["an example without what is required", { name: "a", schema, example: {} }, ["/example/total"]],
    ["an empty group", { name: "a", group: "" }, ["/group"]],
    ["name and schema together", { name: "a b", schema: { type: "text" } }, ["/name", "/schema/type"]],
  ])("%s", async (_name, body, pointers) => {
    const reply = await bench.send("POST", "/v1/event-types", body);
    expectProblem(reply, 422, "invalid_request");
    expect(pointersOf(reply)).toEqual(pointers);
    expect((await bench.send("GET", "/v1/event-types/a")).status).toBe(404);
  });

  test("a change of the schema that the example does not satisfy, and nothing changes", async () => {
    const before = await create({ schema, example: { total: 1 } });
    const path = `/v1/event-types/${before.name}`;
    const reply = await bench.send("PATCH", path, { schema: { required: ["id"] }, group: "X" });
    expectProblem(reply, 422, "invalid_request");
    expect(pointersOf(reply)).toEqual(["/example/id"]);
    expect((await bench.take("GET", path)) as unknown).toEqual(before);
    expect(pointersOf(await bench.send("PATCH", path, { name: "other" }))).toEqual(["/name"]);
  });
});

describe("the list", () => {
  test("is newest first, in pages, by group and by archived", async () => {
    const group = bench.fresh("Group");
    const made: string[] = [];
    for (let at = 0; at < 5; at++) made.unshift((await create({ group, archived: at % 2 === 1 })).name);
    const names = async (query: string) => {
      const { data, next_cursor } = await bench.take("GET", `/v1/event-types?group=${group}&${query}`);
      return { names: (data as EventTypeAnswer[]).map(({ name }) => name), cursor: next_cursor };
    };
    const first = await names("limit=2");
    const second = await names(`limit=3&cursor=${String(first.cursor)}`);
    expect([...first.names, ...second.names]).toEqual(made);
    expect(second.cursor).toBeNull();
    expect((await names("archived=true")).names).toEqual(made.filter((_, at) => at % 2 === 1));
    expect((await names("archived=false")).names).toEqual(made.filter((_, at) => at % 2 === 0));
  });

  test.each([
    ["cursor=nonsense", "cursor"],
    ["limit=0", "limit"],
    ["archived=maybe", "archived"],
    ["groups=a", "groups"],
  ])("refuses ?%s", async (query, pointer) => {
    const reply = await bench.send("GET", `/v1/event-types?${query}`);
    expectProblem(reply, 422, "invalid_request");
    expect(pointersOf(reply)).toEqual([pointer]);
  });

  test("does not take the cursor of another list", async () => {
    await bench.publish("a.b", {});
    await bench.publish("a.b", {});
    const { next_cursor } = await bench.take("GET", "/v1/events?limit=1");
    expectProblem(
      await bench.send("GET", `/v1/event-types?cursor=${String(next_cursor)}`),
      422,
      "invalid_request",
    );
  });
});

describe("who may what", () => {
  test("another project knows nothing of a type", async () => {
    const { name } = await create({ schema });
    const calls: [string, string, unknown][] = [
      ["GET", "", undefined],
      ["PATCH", "", { group: "x" }],
      ["POST", "/infer-schema", {}],
      ["DELETE", "", undefined],
    ];
    for (const [method, tail, body] of calls) {
      const unknown = await bench.send(method, `/v1/event-types/no.such${tail}`, body, "other");
      const foreign = await bench.send(method, `/v1/event-types/${name}${tail}`, body, "other");
      expectProblem(foreign, 404, "not_found");
      expect(foreign.json.detail).toBe(unknown.json.detail ?? "");
    }
    const { data } = await bench.take("GET", "/v1/event-types?limit=250", undefined, "other");
    expect((data as EventTypeAnswer[]).map((type) => type.name)).not.toContain(name);
    expect((await bench.send("GET", `/v1/event-types/${name}`)).status).toBe(200);
  });

  test("portal tokens and keys of scope read may read, and change nothing", async () => {
    const { name } = await create();
    for (const token of ["anna", "annaManages", "read"]) {
      expect((await bench.send("GET", `/v1/event-types/${name}`, undefined, token)).status).toBe(200);
      expect((await bench.send("GET", "/v1/event-types", undefined, token)).status).toBe(200);
      const changes: [string, string, unknown][] = [
        ["POST", "", { name: "x" }],
        ["PATCH", `/${name}`, {}],
        ["DELETE", `/${name}`, undefined],
        ["POST", `/${name}/infer-schema`, {}],
      ];
      for (const [method, tail, body] of changes) {
        expectProblem(await bench.send(method, `/v1/event-types${tail}`, body, token), 403, "forbidden");
      }
    }
    expectProblem(await bench.send("GET", "/v1/event-types", undefined, "publish"), 403, "forbidden");
  });
});

describe("the proposal of a schema", () => {
  const infer = (name: string, body: unknown = {}) =>
    bench.take("POST", `/v1/event-types/${name}/infer-schema`, body);

  test("says what the newest events have in common, and changes nothing", async () => {
    const { name } = await create();
    await bench.publish(name, { old: true });
    for (const total of [1, 2]) await bench.publish(name, { total, ...(total === 1 && { note: null }) });
    const newest = {
      type: "object",
      properties: { total: { type: "integer" }, note: { type: "null" } },
      required: ["total"],
    };
    const { schema: proposed, events } = await infer(name, { last: 2 });
    expect([proposed, events]).toEqual([expect.objectContaining(newest), 2]);
    expect(await infer(name)).toMatchObject({
      events: 3,
      schema: { properties: { old: { type: "boolean" } } },
    });
    expect((await bench.take("GET", `/v1/event-types/${name}`))["schema"]).toBeNull();
    expect((await bench.send("PATCH", `/v1/event-types/${name}`, { schema: proposed })).status).toBe(200);
  });

  test("works for a type that is not described yet, and says 404 where nothing is known", async () => {
    const name = bench.fresh("seen.t");
    await bench.publish(name, { a: [1] });
    expect(await infer(name)).toMatchObject({ events: 1, schema: { properties: { a: { type: "array" } } } });
    const { name: unseen } = await create();
    expect(await infer(unseen)).toMatchObject({ events: 0 });
    expectProblem(await bench.send("POST", "/v1/event-types/never.seen/infer-schema", {}), 404, "not_found");
  });

  test("leaves out test events, what is too large, and other projects", async () => {
    const { name } = await create({ example: { example: 1 } });
    const endpoint = await bench.take("POST", "/v1/endpoints", { url: bench.api.receiver.url("infer") });
    await bench.take("POST", `/v1/endpoints/${endpoint.id}/test`, { type: name });
    await bench.publish(name, { large: "x".repeat(300_000) });
    await bench.take("POST", "/v1/events", { type: name, data: { other: 1 } }, "other");
    await bench.publish(name, { own: 1 });
    const { schema: proposed, events } = await infer(name, { last: 1000 });
    expect([Object.keys((proposed as { properties: object }).properties), events]).toEqual([["own"], 1]);
  });

  test.each([{ last: 0 }, { last: 1001 }, { last: "1" }])("refuses %j", async (body) => {
    const reply = await bench.send("POST", "/v1/event-types/a/infer-schema", body);
    expectProblem(reply, 422, "invalid_request");
    expect(pointersOf(reply)).toEqual(["/last"]);
  });
});

test("a test event carries the example of its type", async () => {
  const { name } = await create({ example: { total: 7, note: "ü" } });
  const endpoint = await bench.take("POST", "/v1/endpoints", { url: bench.api.receiver.url("example") });
  const attempt = await bench.take("POST", `/v1/endpoints/${endpoint.id}/test`, { type: name });
  expect(JSON.parse(String(attempt["request_body"]))).toMatchObject({
    type: name,
    data: { total: 7, note: "ü" },
  });
  const plain = await bench.take("POST", `/v1/endpoints/${endpoint.id}/test`, {});
  expect(JSON.parse(String(plain["request_body"]))).toMatchObject({ type: "test.event" });
});
