/**
 * Outpost's answers are the examples of docs/apis/openapi.yaml in hookdeck/outpost (commit f67ae011b287),
 * with the masks that internal/destregistry/baseprovider.go there puts over credentials, and with addresses
 * and secrets that the test needs.
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
onService((at) => ({ service, person } = at));

const KEY = "outpost_key";
const STANDARD = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OWN_TEXT = "a-secret-of-32-characters-or-so!";
const dates = { created_at: "2024-02-15T10:00:00Z", updated_at: "2024-02-15T10:00:00Z" };

function destinationsOf(tenant: string): object[] | null {
  const webhook = (id: string, more: object) => ({
    ...{ id, type: "webhook", topics: ["user.created", "order.shipped"], disabled_at: null, ...dates },
    ...{ config: { url: receiver.url(id) }, credentials: { secret: STANDARD } },
    ...more,
  });
  const sqs = {
    ...{ id: "des_sqs_456", type: "aws_sqs", topics: ["*"], disabled_at: null, ...dates },
    config: { queue_url: "https://sqs.us-west-2.amazonaws.com/123456789012/my-app-queue" },
    credentials: { key: "AKIA****************", secret: "wJal************************************" },
  };
  if (tenant === "tenant_456") return [sqs, webhook("des_off", { disabled_at: "2024-03-01T12:00:00Z" })];
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
    webhook("des_own", { topics: "*", credentials: { secret: OWN_TEXT } }),
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
    { id: "tenant_123", metadata: { name: "Acme Inc." }, ...dates },
    { id: "tenant_456", metadata: null, ...dates },
  ];
  const refused = { status: 401, message: "unauthorized" };
  outpost = new Recorded(KEY, refused, ({ path, query }) => {
    if (path === "/api/v1/topics") return ["user.created", "order.shipped"];
    if (path === "/api/v1/tenants") {
      if (!canList) return Response.json({ error: "list tenant not supported" }, { status: 501 });
      const at = query.get("next") === null ? 0 : 1;
      const pagination = {
        order_by: "created_at",
        dir: "asc",
        limit: 1,
        next: at === 0 ? "MTcw" : null,
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
    {
      event_types: ["user.*"],
      filter: { data: { amount: { $gte: 100 }, customer: { tier: "premium" }, kind: { $in: ["a", "b"] } } },
    },
  ]);
  expect(rows).toHaveLength(3);
});

test("a receiver verifies by the secret that it has, also where that was a text of its owner's", async () => {
  const data = { user_id: "usr_123" };
  await call(service, "POST", "/v1/events", { type: "order.shipped", consumer_id: "tenant_123", data });
  const secrets = { des_webhook_123: STANDARD, des_own: `whsec_${Buffer.from(OWN_TEXT).toString("base64")}` };
  for (const [name, secret] of Object.entries(secrets)) {
    const [request] = await receiver.arrived(name);
    expect(new Webhook(secret).verify(request?.body.toString() ?? "", request?.headers ?? {})).toEqual(data);
  }
  const [request] = receiver.requests("des_webhook_123");
  expect(request?.headers["x-api-key"]).toBe("secret123");
});

test("a second run changes nothing, and of what is no longer there it tells", async () => {
  expect((await types("--apply")).stdout).toContain("endpoints    0     0        3     6");
  const { stdout } = await types("--tenant", "tenant_456");
  expect(stdout).toContain("endpoints    0     0       0     2");
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

test("an address is needed, and one that is not the API's is told", async () => {
  const env = { OUTPOST_API_KEY: KEY };
  const none = await person.types(["import", "outpost"], "", env);
  expect([none.exitCode, none.stderr]).toEqual([2, expect.stringContaining("--from must be the address")]);
  const service404 = await person.types(["import", "outpost", "--from", outpost.url], "", env);
  expect([service404.exitCode, service404.stderr]).toEqual([1, expect.stringContaining("answered 404")]);
});
