/** How much the event types of a project may weigh together, as all of them stand in memory, parsed. */
import { afterEach, expect, test } from "bun:test";
import { LIMITS } from "../../../src/core/limits.ts";
import { weightOf } from "../../../src/core/json/weight.ts";
import { openTestData } from "../../kit/data.ts";
import { appForFile } from "../../kit/for-file.ts";
import { expectProblem, type Reply } from "../kit.ts";

const usual = LIMITS.eventTypesOfProjectBytesMax.value;
const setLimit = (value: number) => ((LIMITS.eventTypesOfProjectBytesMax as { value: number }).value = value);

type Settings = Readonly<Record<string, unknown>>;

const app = appForFile();
afterEach(() => setLimit(usual));

function expectRefused(reply: Reply, pointer: string): void {
  expectProblem(reply, 422, "invalid_request");
  const detail = expect.stringMatching(/^The event types of this project are too large together/);
  expect(reply.json.errors).toEqual([{ pointer, detail }]);
}

/** Small as a text, and many times that in memory. */
const parts = (count: number) => ({ x: Array.from({ length: count }, () => []) });
const post = (name: string, fields: object) => app.live.post("/v1/event-types", { name, ...fields });
const patch = (name: string, fields: object) => app.live.patch(`/v1/event-types/${name}`, fields);

test("types of many parts are refused at the field that is too much, and others have room once one is gone", async () => {
  setLimit(2.5 * weightOf(parts(1000)));
  expect((await post("a.one", { example: parts(1000) })).status).toBe(201);
  expect((await post("a.two", { schema: { enum: parts(1000).x } })).status).toBe(201);
  expectRefused(await post("a.three", { example: parts(1000) }), "/example");
  expectRefused(await post("a.three", { schema: { enum: parts(1000).x }, example: null }), "/schema");
  expectRefused(await patch("a.one", { example: parts(2000), description: "more" }), "/example");
  expect((await app.test.post("/v1/event-types", { name: "b", example: parts(1000) })).status).toBe(201);
  expect((await post("a.light", { example: { id: 1 } })).status).toBe(201);
  expect((await app.live.delete("/v1/event-types/a.two")).status).toBe(204);
  expect((await post("a.three", { example: parts(1000) })).status).toBe(201);
});

test("what is stored above the limit stays, and may become lighter", async () => {
  expect((await post("c.heavy", { example: parts(2000) })).status).toBe(201);
  setLimit(10);
  expect((await app.live.get("/v1/event-types/c.heavy")).status).toBe(200);
  expect((await patch("c.heavy", { archived: true })).status).toBe(200);
  expect((await patch("c.heavy", { example: parts(1500) })).status).toBe(200);
  expectRefused(await patch("c.heavy", { group: "a group" }), "/group");
  expect((await patch("c.heavy", { example: null })).status).toBe(200);
});

test("the types of a project weigh what their fields do, from a restart on too", async () => {
  await using it = await openTestData();
  const { eventTypes, store } = it.data;
  const projectId = it.project.id;
  const fields = { projectId, description: null, group: null, archived: false, updatedAt: 0 };
  const add = (name: string, schema: Settings | null, example: Settings) =>
    store.write(() => eventTypes.insert({ ...fields, name, schema, example }));
  const made = [await add("a", null, parts(100)), await add("b", { type: "object" }, parts(50))];
  for (const type of made) if (type) eventTypes.remember(type);
  const { weight } = eventTypes.ofProject(projectId);
  expect(weight).toBeGreaterThan(weightOf(parts(100)) + weightOf(parts(50)));
  await it.reopen();
  expect(it.data.eventTypes.ofProject(projectId).weight).toBe(weight);
});
