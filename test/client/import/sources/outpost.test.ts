/**
 * Outpost's answers are those of a real server, v1.2.0-10-gf67ae011b287 of hookdeck/outpost in its mode
 * `standard` on 2026-11-30, with ids, addresses and secrets that the test needs. That of a queue's
 * credentials, which was built without, is the example of docs/apis/openapi.yaml there.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { startReceiver, type Receiver } from "../../../kit/receiver.ts";
import type { Service } from "../../../kit/service.ts";
import type { Person } from "../../kit.ts";
import { call, onService } from "../../listening.ts";
import { Recorded } from "./recorded.ts";

let service: Service;
let person: Person;
let receiver: Receiver;
let outpost: Recorded;
let canList = true;
let topics: string[] | null = ["user.created", "order.shipped"];
onService((at) => ({ service, person } = at));

const KEY = "outpost_key";
const STANDARD = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OWN_TEXT = "a-secret-of-32-characters-or-so!";
const dates = { created_at: "2026-11-30T20:29:52.102Z", updated_at: "2026-11-30T20:29:52.102Z" };

function destinationsOf(tenant: string): object[] | null {
  const webhook = (id: string, more: object) => ({
    ...{ id, tenant_id: tenant, type: "webhook", topics: ["user.created", "order.shipped"] },
    ...{ config: { url: receiver.url(id) }, credentials: { secret: STANDARD } },
    ...{ ...dates, disabled_at: null, target: receiver.url(id) },
    ...more,
  });
  const rabbit = {
    ...{ id: "des_rabbit", tenant_id: tenant, type: "rabbitmq", topics: ["*"] },
    config: { exchange: "amq.direct", server_url: "127.0.0.1:5996", tls: "false" },
    credentials: { password: "*****", username: "guest" },
    ...{ ...dates, disabled_at: null, target: "amq.direct -> *" },
  };
  const sqs = {
    ...{ id: "des_sqs_456", tenant_id: tenant, type: "aws_sqs", topics: ["*"], disabled_at: null, ...dates },
    config: { queue_url: "https://sqs.us-west-2.amazonaws.com/123456789012/my-app-queue" },
    credentials: { key: "AKIA****************", secret: "wJal************************************" },
  };
  if (tenant === "tenant_456")
    return [sqs, rabbit, webhook("des_off", { disabled_at: "2026-11-30T20:29:52.117Z" })];
  if (tenant !== "tenant_123") return null;
  return [
    webhook("des_webhook_123", {
      metadata: { "internal-id": "123", team: "platform" },
      delivery_metadata: { "app-id": "my-app" },
      config: {
        url: receiver.url("des_webhook_123"),
        custom_headers: '{"x-api-key":"secret123","x-tenant-id":"customer-456"}',
      },
    }),
    webhook("des_own", { topics: ["*"], credentials: { secret: OWN_TEXT } }),
    webhook("des_rotated", {
      topics: ["order.shipped"],
      credentials: {
        previous_secret: "whsec_VEebtr5zF0i9AWusd92SLmoodT2CMGhGqCazchwmMcE=",
        previous_secret_invalid_at: "2026-12-01T20:29:52Z",
        secret: "whsec_v7QbMzDv53OFP1JkldejMZ9U1yCD8ZfLvI9Y6N35LLw=",
      },
    }),
    webhook("des_filter", {
      topics: ["user.*"],
      filter: { data: { amount: { $gte: 100 }, customer: { tier: "premium" }, kind: { $in: ["a", "b"] } } },
    }),
    webhook("des_not", { filter: { data: { status: { $not: { $in: ["cancelled"] } } } } }),
    webhook("des_meta", { filter: { metadata: { source: "api" } } }),
    webhook("des_short", { credentials: { secret: "whsec_abc123" } }),
    webhook("des_pattern", { topics: ["*.created"] }),
  ];
}

const types = (...words: string[]) =>
  person.types(["import", "outpost", "--from", `${outpost.url}/api/v1`, ...words], "", {
    OUTPOST_API_KEY: KEY,
  });

beforeAll(() => {
  receiver = startReceiver();
  const tenants = [
    {
      id: "tenant_123",
      ...{ destinations_count: 8, topics: ["*"], metadata: { name: "Acme Inc." }, ...dates },
    },
    { id: "tenant_456", destinations_count: 3, topics: ["*"], ...dates },
  ];
  outpost = new Recorded(KEY, null, ({ path, query }) => {
    if (path === "/api/v1/topics") return topics;
    if (path === "/api/v1/tenants") {
      const message = "list tenant feature is not enabled";
      if (!canList) return Response.json({ status: 501, message }, { status: 501 });
      const at = query.get("next") === null ? 0 : 1;
      const pagination = {
        order_by: "created_at",
        dir: "asc",
        limit: 1,
        next: at === 0 ? "gC02baKQeaZ25IYK15RhdFpCZSJ" : null,
        prev: null,
      };
      return { models: tenants.slice(at, at + 1), pagination, count: 2 };
    }
    const [, tenant = ""] = /^\/api\/v1\/tenants\/([^/]+)\/destinations$/.exec(path) ?? [];
    return (
      destinationsOf(tenant) ?? Response.json({ status: 404, message: "tenant not found" }, { status: 404 })
    );
  });
});
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await outpost[Symbol.asyncDispose]();
});

const LEFT = {
  "outpost:tenant_123:des_not": "its filter may mean something else here: write it anew",
  "outpost:tenant_123:des_meta": "its filter may mean something else here: write it anew",
  "outpost:tenant_123:des_short": "its secret is not whsec_ and 24 to 64 bytes in base64",
  "outpost:tenant_123:des_pattern": expect.stringContaining(
    "it wants *.created, which is no event type here",
  ),
  "outpost:tenant_456:des_sqs_456": "it is of the type aws_sqs, whose credentials Outpost does not show",
  "outpost:tenant_456:des_rabbit": "it is of the type rabbitmq, whose credentials Outpost does not show",
  "outpost:tenant_456:des_off": "it is disabled there",
};

test("webhooks come along with headers, topics and filters; the rest is left out with its reason", async () => {
  const { exitCode, stdout, stderr } = await types("--apply", "--json");
  expect([exitCode, stderr]).toEqual([1, ""]);
  type Step = { id?: string; step: string; reasons: string[]; without: string[] };
  const steps = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Step);
  const left = steps.filter(({ step }) => step === "leave_out");
  expect(Object.fromEntries(left.map(({ id, reasons }) => [id, reasons[0]]))).toEqual(LEFT);
  const made = steps.find(({ id }) => id === "outpost:tenant_123:des_webhook_123");
  expect(made).toMatchObject({ step: "make", without: ["its delivery metadata, which were headers"] });
  type Row = Record<string, unknown>;
  const rows = (await call<{ data: Row[] }>(service, "GET", "/v1/endpoints")).data.toReversed();
  expect(rows).toMatchObject([
    {
      consumer_id: "tenant_123",
      event_types: ["user.created", "order.shipped"],
      headers: { "x-api-key": "***", "x-tenant-id": "customer-456" },
      metadata: { team: "platform" },
    },
    { event_types: null },
    { event_types: ["order.shipped"] },
    {
      event_types: ["user.*"],
      filter: { data: { amount: { $gte: 100 }, customer: { tier: "premium" }, kind: { $in: ["a", "b"] } } },
    },
  ]);
  expect(rows).toHaveLength(4);
});

test("a receiver verifies by the secret that it has, also where that was a text of its owner's", async () => {
  const data = { user_id: "usr_123" };
  await call(service, "POST", "/v1/events", { type: "order.shipped", consumer_id: "tenant_123", data });
  const secrets = {
    des_webhook_123: STANDARD,
    des_own: `whsec_${Buffer.from(OWN_TEXT).toString("base64")}`,
    des_rotated: "whsec_v7QbMzDv53OFP1JkldejMZ9U1yCD8ZfLvI9Y6N35LLw=",
  };
  for (const [name, secret] of Object.entries(secrets)) {
    const [request] = await receiver.arrived(name);
    expect(new Webhook(secret).verify(request?.body.toString() ?? "", request?.headers ?? {})).toEqual(data);
  }
  const [request] = receiver.requests("des_webhook_123");
  expect(request?.headers["x-api-key"]).toBe("secret123");
});

test("a second run changes nothing, and of what is no longer there it tells", async () => {
  expect((await types("--apply")).stdout).toContain("endpoints    0     0        4     7");
  const { stdout } = await types("--tenant", "tenant_456");
  expect(stdout).toContain("endpoints    0     0       0     3");
  const mark = { id: "outpost:tenant_123:des_gone", digest: "x" };
  await call(service, "POST", "/v1/endpoints", {
    url: receiver.url("gone"),
    metadata: { sealpost_import: { ...mark, source: `${outpost.url}/api/v1` } },
  });
  expect((await types()).stdout).toMatch(
    /des_gone: it is no longer there, or this token does not see it: delete ep_\w+ in Sealpost/,
  );
});

test("an Outpost that cannot list its tenants is asked for those that are named", async () => {
  canList = false;
  const { exitCode, stderr } = await types();
  expect([exitCode, stderr]).toEqual([1, "This Outpost cannot list its tenants: name them by --tenant\n"]);
  const unknown = await types("--tenant", "tenant_9");
  expect([unknown.exitCode, unknown.stderr]).toEqual([
    1,
    expect.stringContaining("answered 404: tenant not found"),
  ]);
  canList = true;
});

test("an Outpost whose settings name no topics has no event types, and its destinations come along", async () => {
  const named = topics;
  topics = null;
  const { exitCode, stdout, stderr } = await types("--records");
  topics = named;
  const records = stdout.trim().split("\n");
  expect([exitCode, stderr, records.length, stdout.includes('"event_type"')]).toEqual([0, "", 13, false]);
});

test("an address is needed, and one that is not the API's is told", async () => {
  const env = { OUTPOST_API_KEY: KEY };
  const none = await person.types(["import", "outpost"], "", env);
  expect([none.exitCode, none.stderr]).toEqual([2, expect.stringContaining("--from must be the address")]);
  const service404 = await person.types(["import", "outpost", "--from", outpost.url], "", env);
  expect([service404.exitCode, service404.stderr]).toEqual([1, expect.stringContaining("answered 404")]);
  const words = ["import", "outpost", "--from", `${outpost.url}/api/v1`];
  const wrong = await person.types(words, "", { OUTPOST_API_KEY: "wrong" });
  expect([wrong.exitCode, wrong.stderr]).toEqual([1, expect.stringContaining("answered 401: no reason")]);
});
