/** How many sources there may be, and how much their settings may weigh, as all stand in memory. */
import { afterEach, expect, test } from "bun:test";
import { LIMITS } from "../../../src/core/limits.ts";
import { openTestData } from "../../kit/data.ts";
import { appForFile } from "../../kit/for-file.ts";
import { plainSource } from "../../kit/source.ts";
import { expectProblem, type Reply } from "../kit.ts";
import { createSource } from "./kit.ts";

const names = ["sourcesPerProjectMax", "sourcesOfProjectBytesMax"] as const;
const usual = names.map((name) => LIMITS[name].value);
const setLimit = (name: (typeof names)[number], value: number) =>
  ((LIMITS[name] as { value: number }).value = value);

const app = appForFile();
afterEach(() => names.forEach((name, at) => setLimit(name, usual[at] ?? 0)));

const post = (fields: object = {}) =>
  app.live.post("/v1/sources", { provider: "service", name: "A source", ...fields });

function expectRefused(reply: Reply, detail: RegExp): void {
  expectProblem(reply, 422, "invalid_request");
  expect(reply.json.errors).toEqual([{ pointer: "", detail: expect.stringMatching(detail) }]);
}

test("a project has a bounded number of sources, and room again once one is gone", async () => {
  const { id } = await createSource(app, "github");
  const { data } = (await app.live.get("/v1/sources?limit=250")).json as { data?: unknown };
  const count = (data as unknown[]).length;
  setLimit("sourcesPerProjectMax", count);
  expectRefused(await post(), new RegExp(`^A project has at most ${count} sources\\.$`));
  expect((await app.test.post("/v1/sources", { provider: "service", name: "another's" })).status).toBe(201);
  expect((await app.live.patch(`/v1/sources/${id}`, { name: "as many as before" })).status).toBe(200);
  expect((await app.live.delete(`/v1/sources/${id}`)).status).toBe(204);
  expect((await post()).status).toBe(201);
});

test("its sources weigh a bounded sum: a heavier one is refused, a change to a lighter one is not", async () => {
  const secret = (length: number) => ({ signing_secret: "x".repeat(length) });
  const { id } = await createSource(app, "service", secret(5000));
  setLimit("sourcesOfProjectBytesMax", 9000);
  const tooLarge = /^The sources of this project are too large together/;
  expectRefused(await post(secret(5000)), tooLarge);
  expect((await post(secret(500))).status).toBe(201);
  const change = (fields: object) => app.live.patch(`/v1/sources/${id}`, fields);
  expectRefused(await change(secret(8000)), tooLarge);
  expectRefused(await app.live.post(`/v1/sources/${id}/rotate-secret`, secret(8000)), tooLarge);
  setLimit("sourcesOfProjectBytesMax", 10);
  expect((await change(secret(4000))).status).toBe(200);
  expect((await app.live.post(`/v1/sources/${id}/rotate-secret`, {})).status).toBe(200);
  expect((await app.live.post(`/v1/sources/${id}/pause`, {})).status).toBe(200);
  expect((await app.live.delete(`/v1/sources/${id}`)).status).toBe(204);
});

test("the sources of a project are found without a look at those of another", async () => {
  await using it = await openTestData();
  const { sources, tenants, store } = it.data;
  const other = await tenants.createProject(it.project.accountId, "other", "live");
  const [mine, foreign] = await store.write(() =>
    [it.project, other].map(({ id }) => sources.insert({ ...plainSource, projectId: id })),
  );
  if (!mine || !foreign) throw new Error("two were made");
  let looks = 0;
  const get = (source: typeof foreign, name: string | symbol) => {
    looks++;
    return Reflect.get(source, name) as unknown;
  };
  for (const made of [mine, new Proxy(foreign, { get })]) sources.remember(made);
  looks = 0;
  expect([...sources.ofProject(it.project.id).below(), looks]).toEqual([mine, 0]);
});
