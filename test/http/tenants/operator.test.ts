/** What the operator does with accounts, over the whole service. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import type { TestApp } from "../../kit/app.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import { createTenant, OPERATOR_TOKEN, operatorOf, startOperated } from "../../kit/operator.ts";
import { startReceiver } from "../../kit/receiver.ts";
import { RunningClock } from "../../kit/running-clock.ts";
import { runService } from "../../kit/service.ts";
import { expectProblem, type Reply } from "../kit.ts";
import { Tenants } from "../../../src/store/resources/tenants.ts";

const ACCOUNTS = "/v1/operator/accounts";
const PLANS = JSON.stringify({ team: { deliveries: 5, blocks: true, retention_days: 14 } });

let app: TestApp;

beforeAll(async () => {
  app = await startOperated({ SEALPOST_PLANS: PLANS });
});

afterAll(() => app[Symbol.asyncDispose]());

interface Account {
  id: string;
  name: string;
  plan: string;
  suspended: boolean;
  projects: { id: string; mode: string; name: string; api_key?: string }[];
  usage: Record<string, unknown>;
}

const operator = () => operatorOf(app);
const create = (fields: Record<string, unknown> = {}) =>
  operator().create<Account>(ACCOUNTS, { name: "Acme", ...fields });
const patch = (id: string, fields: unknown) => operator().patch(`${ACCOUNTS}/${id}`, fields);
const thisMonth = () => new Date().toISOString().slice(0, 7);

function expectFault(reply: Reply, pointer: string): void {
  expectProblem(reply, 422, "invalid_request");
  expect(reply.json.errors?.map((fault) => fault.pointer)).toEqual([pointer]);
}

describe("a first start with an operator's token", () => {
  test("makes no account, and says how to make one", async () => {
    await using fresh = await startOperated();
    expect((await operatorOf(fresh).get(ACCOUNTS)).json as unknown).toEqual({ data: [], next_cursor: null });
    expect(fresh.keys).toEqual({ live: "", test: "" });
    await fresh.stop();
    expect(fresh.log()).toContain("POST /v1/operator/accounts");
  });
});

describe("a new account", () => {
  test("is on the free plan, and has a live and a test project with a key that works at once", async () => {
    const account = await create();
    expect(account).toMatchObject({ name: "Acme", plan: "free", suspended: false });
    expect(account.id).toMatch(/^acct_[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(account.projects.map(({ mode }) => mode)).toEqual(["live", "test"]);
    for (const { id, mode, api_key: key } of account.projects) {
      expect(key).toStartWith(`sp_${mode}_`);
      expect((await app.with(String(key)).get("/v1/project")).json).toMatchObject({ id, mode });
    }
  });

  test("shows its keys once: not when it is read, listed, or made again with the same Idempotency-Key", async () => {
    const header = { "idempotency-key": "make-acme" };
    const first = await operator().post(ACCOUNTS, { name: "Once" }, header);
    const again = await operator().post(ACCOUNTS, { name: "Once" }, header);
    const { projects } = first.json as unknown as Account;
    const { id } = again.json as unknown as Account;
    expect([again.status, again.headers.get("idempotency-replayed"), id]).toEqual([
      201,
      "true",
      String(first.json["id"]),
    ]);
    const replies = [again, await operator().get(`${ACCOUNTS}/${id}`), await operator().get(ACCOUNTS)];
    for (const { text } of replies) {
      expect(text).not.toContain("api_key");
      for (const { api_key: key } of projects) expect(text).not.toContain(String(key).slice(15));
    }
  });

  test("knows nothing of another account", async () => {
    const [one, other] = [await createTenant(app), await createTenant(app)];
    const endpoint = await one.live.create("/v1/endpoints", { url: "http://127.0.0.1:9/" });
    expectProblem(await other.live.get(`/v1/endpoints/${endpoint["id"]}`), 404, "not_found");
    expectProblem(await one.test.get(`/v1/endpoints/${endpoint["id"]}`), 404, "not_found");
  });

  test.each([
    ["no name", {}, "/name"],
    ["an empty name", { name: "" }, "/name"],
    ["a plan that does not exist", { name: "x", plan: "gold" }, "/plan"],
    ["a plan called like what every object has", { name: "x", plan: "constructor" }, "/plan"],
    ["a field that is none", { name: "x", suspended: true }, "/suspended"],
  ])("is refused with %s", async (_, fields, pointer) => {
    expectFault(await operator().post(ACCOUNTS, fields), pointer);
  });
});

describe("accounts", () => {
  test("are listed newest first, in pages, each with its projects and this month's usage", async () => {
    const older = await create({ plan: "team" });
    const newer = await create();
    const first = await operator().get(`${ACCOUNTS}?limit=1`);
    const second = await operator().get(`${ACCOUNTS}?limit=1&cursor=${String(first.json["next_cursor"])}`);
    const [one, two] = [first, second].map(({ json }) => (json["data"] as Account[])[0]);
    expect([one?.id, two?.id]).toEqual([newer.id, older.id]);
    expect(two?.projects.map(({ name }) => name)).toEqual(["live", "test"]);
    expect(two?.usage).toEqual({ month: thisMonth(), deliveries: 0, limit: 5, remaining: 5, overage: 0 });
    expect((await operator().get(`${ACCOUNTS}/${older.id}`)).json as unknown).toEqual(two);
    expectFault(await operator().get(`${ACCOUNTS}?cursor=x`), "cursor");
  });

  test("are read, changed and listed without a walk over all accounts, or over the projects of others", async () => {
    const { id } = await create();
    const walks = [spyOn(Tenants.prototype, "accounts"), spyOn(Tenants.prototype, "projects")];
    try {
      const replies = [
        await operator().get(`${ACCOUNTS}?limit=1`),
        await operator().get(`${ACCOUNTS}/${id}`),
        await patch(id, { name: "Acme Ltd" }),
      ];
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(walks.map((walk) => walk.mock.calls.length)).toEqual([0, 0]);
    } finally {
      for (const walk of walks) walk.mockRestore();
    }
  });

  test("keep what was changed, over a restart", async () => {
    await using other = await startOperated();
    const { id } = await createTenant(other);
    const change = { name: "Acme Ltd", plan: "pro", suspended: true };
    const { json } = await operatorOf(other).patch(`${ACCOUNTS}/${id}`, change);
    expect(json).toMatchObject(change);
    await other.stop();
    await other.start();
    expect((await operatorOf(other).get(`${ACCOUNTS}/${id}`)).json as unknown).toEqual(json);
  });

  test.each([
    ["an unknown plan", { plan: "gold" }, "/plan"],
    ["a plan that is null", { plan: null }, "/plan"],
    ["a suspension that is no boolean", { suspended: "yes" }, "/suspended"],
    ["a field that cannot be changed", { id: "x" }, "/id"],
  ])("cannot be changed to %s", async (_, fields, pointer) => {
    const { id, plan } = await create();
    expectFault(await patch(id, fields), pointer);
    expect((await operator().get(`${ACCOUNTS}/${id}`)).json).toMatchObject({ plan, suspended: false });
  });

  test("that do not exist are 404, like ids that are none", async () => {
    const { projects } = await create();
    for (const id of [projects[0]?.id, "acct_x", "acct_01KAHM8ZZZ00K1M2N3P4Q5R6S7"]) {
      for (const [method, path, json] of [
        ["GET", "", undefined],
        ["PATCH", "", {}],
        ["POST", "/projects", { name: "x", mode: "live" }],
      ] as const) {
        const body = json === undefined ? {} : { json };
        expectProblem(await operator().send(method, `${ACCOUNTS}/${id}${path}`, body), 404, "not_found");
      }
    }
  });

  test("are the operator's alone", async () => {
    const { live } = await createTenant(app);
    for (const client of [live, app.with(null), app.with(`${OPERATOR_TOKEN}x`)]) {
      expectProblem(await client.get(ACCOUNTS), 401, "unauthenticated");
      expectProblem(await client.post(ACCOUNTS, { name: "x" }), 401, "unauthenticated");
    }
    expectProblem(await operator().get("/v1/project"), 401, "unauthenticated");
  });
});

test("a project more has a key of its own, and belongs to its account", async () => {
  const { id } = await create();
  const made = await operator().create(`${ACCOUNTS}/${id}/projects`, { name: "Shop", mode: "live" });
  expect((await app.with(String(made["api_key"])).get("/v1/project")).json).toMatchObject({
    id: made["id"],
    name: "Shop",
    mode: "live",
  });
  const { json } = await operator().get(`${ACCOUNTS}/${id}`);
  expect((json["projects"] as { name: string }[]).map(({ name }) => name)).toEqual(["live", "test", "Shop"]);
  expectFault(await operator().post(`${ACCOUNTS}/${id}/projects`, { name: "x", mode: "beta" }), "/mode");
});

describe("a key that the operator makes for a project", () => {
  const keysOf = (id: string) => `/v1/operator/projects/${id}/api-keys`;

  test("opens it for whoever has lost every other one, and is shown once", async () => {
    const { live, test: testing } = await createTenant(app);
    const project = String((await live.get("/v1/project")).json["id"]);
    const [lost] = (await live.get("/v1/api-keys")).json["data"] as { id: string }[];
    await live.delete(`/v1/api-keys/${lost?.id}`);
    expectProblem(await live.get("/v1/project"), 401, "unauthenticated");
    const header = { "idempotency-key": "found" };
    const made = await operator().post(keysOf(project), { name: "After the loss" }, header);
    const again = await operator().post(keysOf(project), { name: "After the loss" }, header);
    expect(made.json).toMatchObject({ name: "After the loss", scopes: ["full"], expires_at: null });
    const { key, ...rest } = made.json;
    expect(again.json).toEqual(rest);
    const found = app.with(String(key));
    expect((await found.get("/v1/project")).json["id"]).toBe(project);
    expect((await found.get("/v1/api-keys")).json["data"]).toMatchObject([{ id: made.json["id"] }]);
    const entries = async (client: typeof found) =>
      (await client.get("/v1/audit?action=api_key.created")).json["data"];
    expect(await entries(found)).toMatchObject([
      { actor: { kind: "operator", id: null }, object: { kind: "api_key", id: made.json["id"] } },
    ]);
    expect(await entries(testing)).toEqual([]);
  });

  test("is made where the project has as many as it may have", async () => {
    const { live } = await createTenant(app);
    const project = String((await live.get("/v1/project")).json["id"]);
    const bound: { value: number } = LIMITS.apiKeysPerProjectMax;
    const usual = bound.value;
    bound.value = 1;
    try {
      expectFault(await live.post("/v1/api-keys", { name: "One more" }), "");
      expect((await operator().post(keysOf(project), { name: "After the loss" })).status).toBe(201);
    } finally {
      bound.value = usual;
    }
  });

  test("has the scopes and the expiry that are asked for, and the mode of its project", async () => {
    const { test: testing } = await createTenant(app);
    const project = String((await testing.get("/v1/project")).json["id"]);
    const made = await operator().create(keysOf(project), {
      name: "Reader",
      scopes: ["read"],
      expires_at: "2100-01-01T00:00:00Z",
    });
    expect(made["key"]).toStartWith("sp_test_");
    const reader = app.with(String(made["key"]));
    expect((await reader.get("/v1/events")).status).toBe(200);
    expectProblem(await reader.post("/v1/events", { type: "a.b", data: {} }), 403, "forbidden");
    expectFault(await operator().post(keysOf(project), {}), "/name");
    expectFault(await operator().post(keysOf(project), { name: "x", scopes: ["all"] }), "/scopes/0");
    expectFault(
      await operator().post(keysOf(project), { name: "x", expires_at: "2020-01-01T00:00:00Z" }),
      "/expires_at",
    );
  });

  test("is made of no project that does not exist, and by nobody else", async () => {
    const { id, live } = await createTenant(app);
    const project = String((await live.get("/v1/project")).json["id"]);
    for (const unknown of [id, "proj_x", "proj_01KAHM8ZZZ00K1M2N3P4Q5R6S7"]) {
      expectProblem(await operator().post(keysOf(unknown), { name: "x" }), 404, "not_found");
    }
    for (const client of [live, app.with(null), app.with(`${OPERATOR_TOKEN}x`)]) {
      expectProblem(await client.post(keysOf(project), { name: "x" }), 401, "unauthenticated");
    }
  });
});

describe("a suspended account", () => {
  test("has keys that are refused with the reason, from the next request on until it ends", async () => {
    const { id, live, test: testing } = await createTenant(app);
    await patch(id, { suspended: true });
    for (const client of [live, testing]) {
      const refused = await client.get("/v1/project");
      expectProblem(refused, 401, "unauthenticated");
      expect(refused.json.detail).toContain("suspended");
    }
    await patch(id, { suspended: false });
    expect((await live.get("/v1/project")).status).toBe(200);
  });

  test("takes nothing in, and tells so only to whom is genuine", async () => {
    const { id, live } = await createTenant(app);
    const source = await live.create("/v1/sources", { provider: "service", name: "x" });
    const ingest = (token: unknown) =>
      app.with(null).post(String(source["ingest_path"]), { id: "1" }, { "x-service-token": String(token) });
    await patch(id, { suspended: true });
    const genuine = await ingest(source["secret"]);
    expectProblem(genuine, 503, "unavailable");
    expect(genuine.headers.get("retry-after")).toBe("60");
    const forged = await ingest("whsec_forged");
    expect([forged.status, forged.text]).toEqual([401, ""]);
    await patch(id, { suspended: false });
    expect((await ingest(source["secret"])).status).toBe(200);
    expect((await live.get("/v1/events")).json["data"]).toBeArrayOfSize(1);
  });

  test("sends nothing, loses nothing, and goes on where it stopped", async () => {
    const clock = new RunningClock();
    await using receiver = startReceiver();
    await using own = await startOperated({}, clock);
    const url = receiver.at("retried", (_, nth) => new Response(null, { status: nth === 1 ? 500 : 200 }));
    const { id, live } = await createTenant(own);
    await live.create("/v1/endpoints", { url, retry: { schedule: [60] } });
    await live.post("/v1/events", { type: "a.b", data: {} });
    await receiver.arrived("retried", 1);
    const due = await own.until(async () => {
      const [delivery] = (await live.get("/v1/deliveries?status=retrying")).json["data"] as {
        next_attempt_at: string;
      }[];
      return delivery?.next_attempt_at;
    });
    const suspend = (suspended: boolean) =>
      operatorOf(own).patch(`/v1/operator/accounts/${id}`, { suspended });
    expect((await suspend(true)).status).toBe(200);
    clock.set(Date.parse(due) + 300);
    // A delivery that is due at once, of somebody else, goes meanwhile.
    const other = await createTenant(own);
    await other.live.create("/v1/endpoints", { url: receiver.url("other") });
    await other.live.post("/v1/events", { type: "a.b", data: {} });
    await receiver.arrived("other");
    expect(receiver.requests("retried")).toHaveLength(1);
    await suspend(false);
    await receiver.arrived("retried", 2);
  });
});

test("a start that lacks the plan of an account is refused like any wrong setting, naming it and how many are on it", async () => {
  await using other = await startOperated({ SEALPOST_PLANS: '{"gold": {"deliveries": 7}}' });
  await createTenant(other, { plan: "gold" });
  await createTenant(other, { plan: "gold" });
  await other.stop();
  const { exitCode, output } = await runService({ env: { SEALPOST_DATA_DIR: other.dataDir } });
  expect(exitCode).toBe(2);
  expect(output).toContain('SEALPOST_PLANS lacks the plan "gold", which 2 accounts are on');
  expect(output).not.toContain("cannot be used");
});
