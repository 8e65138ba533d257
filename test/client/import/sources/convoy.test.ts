/**
 * Convoy's answers have the fields of docs/v3/openapi3.json in frain-dev/convoy (commit 2b60cc652e1d): its
 * schemas models.EndpointResponse, models.SubscriptionResponse, models.EventTypeResponse and
 * datastore.PaginationData; passwords are hidden as api/models/endpoint.go there does it.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { startReceiver, type Receiver } from "../../../kit/receiver.ts";
import type { Service } from "../../../kit/service.ts";
import type { Person } from "../../kit.ts";
import { call, onService } from "../../listening.ts";
import { Recorded } from "./recorded.ts";

let service: Service;
let person: Person;
let receiver: Receiver;
let convoy: Recorded;
onService((at) => ({ service, person } = at));

const KEY = "CO.recorded";
const PROJECT = "01HWA7A5SNM6SHNGJD6WBY5BZZ";
const SECRET = "8IX9njirDG6uREhRqxvyc2Ql9";
const dates = { created_at: "2026-01-02T03:04:05Z", updated_at: "2026-01-02T03:04:05Z", deleted_at: null };

function endpoint(uid: string, more: object = {}): object {
  return {
    ...{
      uid,
      project_id: PROJECT,
      owner_id: "acme",
      url: receiver.url(uid),
      name: "billing",
      description: "",
    },
    secrets: [
      { uid: "old", value: "an-expired-secret-of-before", expires_at: "2026-02-01T00:00:00Z", ...dates },
      { uid: "new", value: SECRET, expires_at: null, ...dates },
    ],
    ...{
      advanced_signatures: false,
      status: "active",
      http_timeout: 10,
      rate_limit: 0,
      rate_limit_duration: 0,
    },
    ...{ content_type: "application/json", authentication: null, events: 0, ...dates },
    ...more,
  };
}

function subscription(uid: string, types: string[], more: object = {}): object {
  return {
    ...{ uid: `sub-${uid}`, name: "s", type: "api", project_id: PROJECT, ...dates },
    ...{ endpoint_metadata: { uid }, source_metadata: null, function: null, delivery_mode: "at_least_once" },
    filter_config: {
      event_types: types,
      filter: { body: {}, headers: {}, query: {}, path: {}, is_flattened: false },
    },
    ...more,
  };
}

beforeAll(() => {
  receiver = startReceiver();
  const basic = { type: "basic_auth", api_key: null, basic_auth: { username: "u", password: "[REDACTED]" } };
  const apiKey = { type: "api_key", api_key: { header_name: "X-Key", header_value: "k1" }, basic_auth: null };
  const endpoints = [
    endpoint("01ONE", { rate_limit: 100, rate_limit_duration: 10, authentication: apiKey, http_timeout: 60 }),
    endpoint("01ALONE", { owner_id: "", rate_limit: 3, rate_limit_duration: 60 }),
    endpoint("01BASIC", { authentication: basic }),
    endpoint("01PAUSED", { status: "paused" }),
    endpoint("01UNSUBSCRIBED"),
    endpoint("01FILTER"),
    endpoint("01SCRIPT"),
    endpoint("01FORM", { content_type: "application/x-www-form-urlencoded" }),
    endpoint("01OAUTH", { authentication: { type: "oauth2" }, mtls_client_cert: { client_cert: "…" } }),
  ];
  const subscriptions = [
    subscription("01ONE", ["invoice.paid"]),
    subscription("01ONE", ["invoice.voided", "invoice.paid"]),
    ...["01ALONE", "01BASIC", "01PAUSED", "01FORM", "01OAUTH"].map((uid) => subscription(uid, ["*"])),
    subscription("01FILTER", ["*"], {
      filter_config: { event_types: ["*"], filter: { body: { amount: 1 } } },
    }),
    subscription("01SCRIPT", ["*"], { function: "function transform(p) { return p }" }),
  ];
  const types = [
    { uid: "1", name: "*", description: "", category: "", json_schema: {}, deprecated_at: null },
    {
      ...{ uid: "2", name: "invoice.paid", description: "An invoice was paid", category: "Billing" },
      ...{ json_schema: { type: "object", required: ["id"] }, deprecated_at: "2026-02-01T00:00:00Z" },
    },
  ];
  const paged = (rows: readonly object[], query: URLSearchParams) => {
    const [perPage, from] = [4, Number(query.get("next_page_cursor") ?? 0)];
    const next = from + perPage;
    const pagination = {
      ...{ per_page: perPage, has_next_page: next < rows.length, has_prev_page: from > 0 },
      ...{ prev_page_cursor: "", next_page_cursor: String(next) },
    };
    return { content: rows.slice(from, next), pagination };
  };
  convoy = new Recorded(KEY, { status: false, message: "authorization failed" }, ({ path, query }) => {
    const answer = (data: unknown) => ({ status: true, message: "fetched successfully", data });
    const part = path.replace(`/api/v1/projects/${PROJECT}/`, "");
    if (part === "event-types") return answer(types);
    if (part === "endpoints") return answer(paged(endpoints, query));
    if (part === "subscriptions") return answer(paged(subscriptions, query));
    return Response.json({ status: false, message: "project not found" }, { status: 404 });
  });
});
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await convoy[Symbol.asyncDispose]();
});

const types = (...words: string[]) =>
  person.types(["import", "convoy", "--from", `${convoy.url}/api`, ...words], "", { CONVOY_API_KEY: KEY });

test("endpoints come along with what their subscriptions say; the rest is left out with its reason", async () => {
  const { exitCode, stdout, stderr } = await types("--project", PROJECT, "--apply", "--json");
  expect([exitCode, stderr]).toEqual([1, ""]);
  type Step = { id?: string; name?: string; step: string; reasons: string[]; without: string[] };
  const steps = stdout
    .trim()
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Step);
  const told = steps.map(({ id, name, step, reasons, without }) => [
    id?.split(":")[2] ?? name,
    step,
    [...reasons, ...without].join("; "),
  ]);
  expect(told).toEqual([
    ["invoice.paid", "make", ""],
    ["01ONE", "make", ""],
    ["01ALONE", "make", "its rate of 3 in 60 seconds"],
    ["01BASIC", "leave_out", "the value of its header authorization is not known: put it in"],
    ["01PAUSED", "leave_out", "it is disabled there"],
    ["01UNSUBSCRIBED", "leave_out", "it is disabled there"],
    ["01FILTER", "leave_out", "a subscription has a filter: write it anew"],
    ["01SCRIPT", "leave_out", "a subscription's function is JavaScript: write it anew"],
    ["01FORM", "leave_out", "its bodies are application/x-www-form-urlencoded"],
    ["01OAUTH", "leave_out", "it asks for a token by OAuth 2; it has a client certificate"],
  ]);
  const { data } = await call<{ data: object[] }>(service, "GET", "/v1/endpoints");
  expect(data.toReversed()).toMatchObject([
    {
      consumer_id: "acme",
      event_types: ["invoice.paid", "invoice.voided"],
      headers: { "X-Key": "***" },
      rate_limit_per_second: 10,
      timeout_seconds: 30,
    },
    { consumer_id: "01ALONE", event_types: null, rate_limit_per_second: null, timeout_seconds: 10 },
  ]);
  const type = await call<object>(service, "GET", "/v1/event-types/invoice.paid");
  expect(type).toMatchObject({ group: "Billing", schema: { required: ["id"] }, archived: true });
});

test("what signs is the secret that the receiver has, as bytes", async () => {
  await call(service, "POST", "/v1/events", { type: "invoice.voided", consumer_id: "acme", data: { id: 1 } });
  const [request] = await receiver.arrived("01ONE");
  const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": given } = request?.headers ?? {};
  const body = request?.body.toString();
  expect(body).toBe('{"id":1}');
  const expected = createHmac("sha256", SECRET).update(`${id}.${time}.${body}`).digest("base64");
  expect(given).toBe(`v1,${expected}`);
  expect(request?.headers["x-key"]).toBe("k1");
});

test("a second run changes nothing", async () => {
  const { stdout } = await types("--project", PROJECT, "--apply");
  expect(stdout).toContain("event types  0     0        1     0\nendpoints    0     0        2     7\n");
});

test("a project is needed, and one that is not there is told", async () => {
  const none = await types();
  expect([none.exitCode, none.stderr]).toEqual([2, expect.stringContaining("--project must be the id")]);
  const unknown = await types("--project", "other");
  expect([unknown.exitCode, unknown.stderr]).toEqual([
    1,
    expect.stringContaining("answered 404: project not found"),
  ]);
});
