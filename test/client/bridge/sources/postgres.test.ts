import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { SQL } from "bun";
import { limit } from "../../../../src/core/limits.ts";
import { hasPostgres } from "../../../kit/postgres.ts";
import type { Service } from "../../../kit/service.ts";
import { lookAgain } from "../../../kit/until.ts";
import { Person } from "../../kit.ts";
import { call, onService, type Running } from "../../listening.ts";
import { startPostgresTrial } from "../postgres-trial.ts";
import { eventsOf, startBridge } from "../trial.ts";

let service: Service;
let person: Person;
onService((at) => ({ service, person } = at));

const DATABASE_URL = "postgres://127.0.0.1:1/nothing";

test.each([
  [[], {}, "DATABASE_URL must hold the address of the database"],
  [[], { DATABASE_URL: "localhost" }, "DATABASE_URL must be an address such as postgres://"],
  [[], { DATABASE_URL: "mysql://root@127.0.0.1/x" }, "DATABASE_URL must be an address such as postgres://"],
  [[], { DATABASE_URL: "postgres://a:b%@127.0.0.1/x" }, "DATABASE_URL is no address of a database: "],
  [[], { DATABASE_URL: `${DATABASE_URL}?sslmode=no` }, "DATABASE_URL is no address of a database: "],
  [["--table", "a; DROP"], { DATABASE_URL }, "--table must be a name of small letters"],
  [["--print-table", "--table", "A"], {}, "--table must be a name of small letters"],
  [["--interval", "0"], { DATABASE_URL }, "--interval must be a number of seconds from 0.1 to 3600"],
  [["--interval", "soon"], { DATABASE_URL }, "--interval must be a number of seconds from 0.1 to 3600"],
])("%j with %j is a wrong call", async (words, env, told) => {
  const { exitCode, stderr } = await person.types(["bridge", "postgres", ...words], "", env);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(told)]);
});

test("a database that is not there is waited for, and an end does not wait", async () => {
  using somebody = new Person({ ...person.env, DATABASE_URL });
  const bridge = await startBridge(somebody, ["postgres"]);
  await bridge.tells("PostgreSQL: Failed to connect (trying until it is there again)");
  expect([await bridge.end("SIGTERM"), bridge.stderr]).toEqual([0, expect.stringContaining("Published 0.")]);
});

describe.skipIf(!hasPostgres)("with a database", () => {
  let trial: Awaited<ReturnType<typeof startPostgresTrial>>;
  let sql: SQL;
  let owner: Person;

  beforeAll(async () => {
    trial = await startPostgresTrial();
    ({ sql } = trial.postgres);
  }, 30_000);
  afterAll(() => trial?.[Symbol.asyncDispose]());
  beforeEach(() => {
    owner = new Person({ ...person.env, ...trial.env });
  });

  const begin = (words: readonly string[] = []) => startBridge(owner, [...trial.words, ...words]);
  const drained = () =>
    lookAgain(
      async () => (await trial.left()) === 0,
      () => undefined,
    );
  const newest = async () => (await eventsOf(service))[0];
  const rowsLeft = () =>
    sql`SELECT type, error, failed_at FROM sealpost_outbox ORDER BY id` as Promise<Row[]>;
  interface Row {
    type: string;
    error: string | null;
    failed_at: Date | null;
  }

  /** Runs a bridge until nothing waits; what it said. */
  async function drain(words: readonly string[] = []): Promise<Running> {
    const bridge = await begin(words);
    await drained();
    expect(await bridge.end("SIGTERM")).toBe(0);
    return bridge;
  }

  test("an event has all that its row says, and numbers keep their digits", async () => {
    await sql.unsafe(`INSERT INTO sealpost_outbox (type, data, consumer_id, timestamp, external_id)
      VALUES ('order.paid', '{"n": 1.000000000000000000001, "z": [12345678901234567890]}', 'cust_7', '2026-01-02T03:04:05.678+02:00', 'order-1')`);
    const { stderr } = await drain();
    expect(stderr).toContain("Published 1.");
    expect(await newest()).toMatchObject({
      type: "order.paid",
      consumer_id: "cust_7",
      timestamp: "2026-01-02T01:04:05.678Z",
      external_id: "order-1",
    });
    const { id = "" } = (await newest()) ?? {};
    const reply = await fetch(`${service.url}/v1/events/${id}`, {
      headers: { authorization: `Bearer ${service.keys.test}` },
    });
    expect(await reply.text()).toContain('{"n":1.000000000000000000001,"z":[12345678901234567890]}');
  });

  test("the same external_id again is the same event", async () => {
    await sql`INSERT INTO sealpost_outbox (type, data, external_id) VALUES ('a.b', '{}', 'twice'), ('a.b', '{}', 'twice')`;
    const { stderr } = await drain();
    expect(stderr).toContain("Published 2, of which 1 were there before.");
    const events = await eventsOf(service);
    expect(events.filter(({ external_id: id }) => id === "twice").length).toBe(1);
  });

  test("the order is that of the rows", async () => {
    await sql`INSERT INTO sealpost_outbox (type, data, external_id) SELECT 'a.b', '{}', 'nth-' || n FROM generate_series(1, 250) AS n`;
    await drain();
    const ids = (await eventsOf(service)).map(({ external_id: id }) => id ?? "");
    const inOrder = Array.from({ length: 250 }, (_, at) => `nth-${at + 1}`);
    expect(ids.filter((id) => id.startsWith("nth-")).toReversed()).toEqual(inOrder);
  });

  test("a row whose transaction ends late is not passed over", async () => {
    const late = await sql.reserve();
    await late`BEGIN`;
    await late`INSERT INTO sealpost_outbox (type, data, external_id) VALUES ('a.late', '{}', 'late')`;
    await sql`INSERT INTO sealpost_outbox (type, data, external_id) VALUES ('a.early', '{}', 'early')`;
    const bridge = await begin();
    await drained();
    await late`COMMIT`;
    await late.release();
    await drained();
    expect(await bridge.end()).toBe(0);
    const [last, before] = await eventsOf(service);
    expect([before?.external_id, last?.external_id]).toEqual(["early", "late"]);
  });

  test("what is refused stays with its reason, and holds up nothing", async () => {
    await call(service, "POST", "/v1/event-types", {
      name: "strict.one",
      schema: { type: "object", required: ["total"] },
    });
    const max = limit("eventBodyBytesMax");
    await sql`INSERT INTO sealpost_outbox (type, data) SELECT 'good.one', '{}' FROM generate_series(1, 120)`;
    await sql`INSERT INTO sealpost_outbox (type, data) VALUES
      ('not a type', '{}'), ('a.list', '[]'), ('strict.one', '{}'),
      ('too.large', jsonb_build_object('text', repeat('x', ${max}::int))),
      ('just.large', jsonb_build_object('text', repeat('x', ${max - 20}::int)))`;
    await sql`INSERT INTO sealpost_outbox (type, data) SELECT 'good.one', '{}' FROM generate_series(1, 120)`;
    const { stderr } = await drain();
    expect(stderr).toContain("Published 240; 5 refused.");
    expect(stderr).toMatch(
      /refused, and kept there with failed_at and error: id \d+: POST .* is answered 422: The request is not valid; \/type: Expected letters/,
    );
    const rows = await rowsLeft();
    expect(rows.map(({ type, error, failed_at: at }) => [type, error, at !== null])).toEqual([
      ["not a type", expect.stringContaining("/type: Expected letters"), true],
      ["a.list", expect.stringContaining("/data: Expected an object"), true],
      ["strict.one", expect.stringContaining("The data violates the schema of its event type."), true],
      ["too.large", `Its data has more than ${max} bytes, which no event may have.`, true],
      ["just.large", `It has more than ${max} bytes, which no event may have.`, true],
    ]);
    await sql`UPDATE sealpost_outbox SET failed_at = NULL, data = '{"total": 1}' WHERE type = 'strict.one'`;
    await sql`DELETE FROM sealpost_outbox WHERE failed_at IS NOT NULL`;
    expect((await drain()).stderr).toContain("Published 1.");
    expect(await rowsLeft()).toEqual([]);
  });

  test("a limit of the project makes it slower, and nothing else", async () => {
    await sql`INSERT INTO sealpost_outbox (type, data) SELECT 'a.b', '{}' FROM generate_series(1, 1500)`;
    expect((await drain()).stderr).toContain("Published 1500.");
  });

  test("large rows are taken a few at a time", async () => {
    await sql`INSERT INTO sealpost_outbox (type, data) SELECT 'a.b', jsonb_build_object('text', repeat('x', 900000)) FROM generate_series(1, 12)`;
    expect((await drain()).stderr).toContain("Published 12.");
  });

  test("a key that is wrong ends it, and no row is touched", async () => {
    await sql`INSERT INTO sealpost_outbox (type, data) VALUES ('a.b', '{}')`;
    const { exitCode, stderr } = await owner.types(["bridge", ...trial.words], "", {
      SEALPOST_API_KEY: "sp_test_wrong",
    });
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("is answered 401")]);
    const readOnly = await call<{ key: string }>(service, "POST", "/v1/api-keys", {
      name: "reads",
      scopes: ["read"],
    });
    const ended = await owner.types(["bridge", ...trial.words], "", { SEALPOST_API_KEY: readOnly.key });
    expect([ended.exitCode, ended.stderr]).toEqual([1, expect.stringContaining("is answered 403")]);
    expect(await rowsLeft()).toEqual([{ type: "a.b", error: null, failed_at: null }]);
    await drain();
  });

  test.each([
    ["DELETE", "good.one"],
    ["UPDATE", "not a type"],
  ])("a row that stays through a %s ends it", async (command, type) => {
    await sql.unsafe(`CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
      CREATE TRIGGER keep BEFORE ${command} ON sealpost_outbox FOR EACH ROW EXECUTE FUNCTION keep()`);
    await sql`INSERT INTO sealpost_outbox (type, data) VALUES (${type}, '{}')`;
    const { exitCode, stderr } = await owner.types(["bridge", ...trial.words]);
    await sql`DROP FUNCTION keep CASCADE`;
    await sql`DELETE FROM sealpost_outbox`;
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringContaining(`PostgreSQL: a ${command} of 1 rows changed 0`),
    ]);
  });

  test.each([
    ["a table that is not there", ["--table", "nothing"], "", 'relation "nothing" does not exist (42P01)'],
    ["a database that is not there", [], "/nothing", 'database "nothing" does not exist (3D000)'],
  ])("%s ends it", async (_, words, path, told) => {
    const url = path === "" ? trial.postgres.url : trial.postgres.url.replace(/\/\w+$/, path);
    const env = { DATABASE_URL: url };
    const { exitCode, stderr } = await owner.types(["bridge", "postgres", ...words], "", env);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`PostgreSQL: ${told}`)]);
  });

  test("--print-table prints what makes a table, in a schema too", async () => {
    const { exitCode, stdout } = await person.types([
      ...["bridge", "postgres", "--print-table", "--table", "hooks.outbox"],
    ]);
    expect(exitCode).toBe(0);
    await sql`CREATE SCHEMA hooks`;
    await sql.unsafe(stdout);
    await sql`INSERT INTO hooks.outbox (type, data, external_id) VALUES ('a.b', '{}', 'in a schema')`;
    const bridge = await begin(["--table", "hooks.outbox"]);
    await lookAgain(
      async () => (await newest())?.external_id === "in a schema",
      () => undefined,
    );
    expect(await bridge.end()).toBe(0);
    expect((await sql<unknown[]>`SELECT id FROM hooks.outbox`).length).toBe(0);
  });
});
