/**
 * Convoy's answers are those of a real server, v26.7.3-1-g2b60cc652e1d of frain-dev/convoy on 2026-11-30,
 * with ids, addresses and secrets that the test needs. What that server has no licence for (functions,
 * OAuth 2, client certificates, basic authentication) has the fields of docs/v3/openapi3.json and
 * api/models/endpoint.go there.
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
const AT = "2026-11-30T20:38:57.343948Z";
const dates = { created_at: AT, updated_at: AT, deleted_at: null };
const unknown = {
  ...{ failure_rate: null, cb_state: null, period_failure_rate: null, success_count: null },
  ...{ failure_count: null, retry_count: null },
};

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
      {
        uid: "old",
        value: "an-expired-secret-of-before",
        expires_at: "2026-11-30T20:38:58.72694Z",
        ...dates,
      },
      { uid: "new", value: SECRET, expires_at: null, ...dates },
    ],
    ...{
      advanced_signatures: true,
      status: "active",
      http_timeout: 10,
      rate_limit: 0,
      rate_limit_duration: 0,
    },
    ...{ content_type: "application/json", authentication: {}, ...unknown, ...dates },
    ...more,
  };
}

interface Subscription {
  row: { uid: string };
  /** What is answered of them; null: the server is older than they are. */
  filters: object[] | null;
}

const EMPTY = { headers: {}, body: {}, query: {}, path: {} };
const EMPTY_RAW = { raw_headers: {}, raw_body: {}, raw_query: {}, raw_path: {} };

function filter(eventType: string, more: object = {}): object {
  return {
    uid: "f",
    subscription_id: "s",
    event_type: eventType,
    enabled_at: AT,
    ...EMPTY,
    ...EMPTY_RAW,
    ...more,
  };
}

let subscriptionCount = 0;

/** The row says `*`, whatever its filters are: they are changed alone. */
function subscription(endpointId: string, filters: object[] | null, more: object = {}): Subscription {
  const row = {
    ...{ uid: `sub-${subscriptionCount++}`, name: "s", type: "api", project_id: PROJECT, function: null },
    ...{ source_metadata: null, endpoint_metadata: { uid: endpointId, owner_id: "acme" } },
    device_metadata: null,
    filter_config: { event_types: ["*"], filter: { is_flattened: true, ...EMPTY } },
    ...{ delivery_mode: "at_least_once", ...dates, ...more },
  };
  return { row, filters };
}

/** Four rows a page, and by the version of the setting `api_version` where none is asked for. */
function recordedConvoy(types: object[], endpoints: object[], subscriptions: Subscription[]): Recorded {
  const paged = (rows: readonly object[], query: URLSearchParams) => {
    const [perPage, from] = [4, Number(query.get("next_page_cursor") ?? 0)];
    const next = from + perPage;
    const pagination = {
      ...{ per_page: perPage, has_next_page: next < rows.length, has_prev_page: from > 0 },
      ...{ prev_page_cursor: "", next_page_cursor: String(next) },
    };
    return { content: rows.slice(from, next), pagination };
  };
  const refused = { status: false, message: "authorization failed" };
  return new Recorded(KEY, refused, ({ path, query, headers }) => {
    const answer = (data: unknown) => ({ status: true, message: "fetched successfully", data });
    // The project of the key is answered, whatever the address says.
    const [, part = ""] = /^\/api\/v1\/projects\/[^/]+\/?(.*)$/.exec(path) ?? [];
    if (part === "") return answer({ uid: PROJECT, name: "p", type: "outgoing" });
    if (part === "event-types") return answer(types);
    if (part === "endpoints")
      return answer(paged(headers.has("x-convoy-version") ? endpoints : endpoints.map(before2024), query));
    if (part === "subscriptions") {
      const rows = subscriptions.map(({ row }) => row);
      return answer(paged(rows, query));
    }
    const [, uid] = /^subscriptions\/(.+)\/filters$/.exec(part) ?? [];
    const filters = subscriptions.find(({ row }) => row.uid === uid)?.filters;
    return filters ? answer(filters) : new Response("404 page not found\n", { status: 404 });
  });
}

/** An endpoint as the version 2023-01-01 has it. */
function before2024(one: object): object {
  const { url, name, http_timeout: timeout, ...rest } = one as Record<string, unknown>;
  return { ...rest, target_url: url, title: name, http_timeout: `${String(timeout)}s` };
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
    endpoint("01OFF"),
    endpoint("01SCRIPT"),
    endpoint("01FORM", { content_type: "application/x-www-form-urlencoded" }),
    endpoint("01OAUTH", { authentication: { type: "oauth2" }, mtls_client_cert: { client_cert: "…" } }),
  ];
  const subscriptions = [
    subscription("01ONE", [filter("invoice.paid"), filter("user.signup", { enabled_at: null })]),
    subscription("01ONE", [filter("invoice.voided"), filter("invoice.paid")]),
    ...["01ALONE", "01BASIC", "01PAUSED", "01FORM", "01OAUTH"].map((uid) => subscription(uid, [filter("*")])),
    subscription("01FILTER", [filter("invoice.paid", { body: { amount: { $gte: 5 } } }), filter("*")]),
    subscription("01OFF", [filter("*", { enabled_at: null })]),
    subscription("01SCRIPT", [filter("*")], { function: "function transform(p) { return p }" }),
  ];
  const types = [
    { uid: "1", name: "*", category: "", json_schema: {}, description: "", deprecated_at: null },
    {
      ...{ uid: "2", name: "invoice.paid", description: "An invoice was paid", category: "Billing" },
      ...{ json_schema: { type: "object", required: ["id"] }, deprecated_at: AT },
    },
  ];
  convoy = recordedConvoy(types, endpoints, subscriptions);
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
    ["01OFF", "leave_out", "it is disabled there"],
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
  expect(stdout).toContain("event types  0     0        1     0\nendpoints    0     0        2     8\n");
});

test("a project is needed, and one that is not there is told", async () => {
  const none = await types();
  expect([none.exitCode, none.stderr]).toEqual([2, expect.stringContaining("--project must be the id")]);
  const other = await types("--project", "other");
  expect([other.exitCode, other.stderr]).toEqual([
    1,
    `CONVOY_API_KEY is of the project ${PROJECT}, not other\n`,
  ]);
});

test("a server from before filters has them in the subscription", async () => {
  const config = (conditions: object, ...names: string[]) => ({
    filter_config: { event_types: names, filter: conditions },
  });
  const subscriptions = [
    subscription("01ONE", null, config(EMPTY, "invoice.paid")),
    subscription("01TWO", null, config({ ...EMPTY, body: { amount: 1 } }, "*")),
  ];
  await using server = recordedConvoy([], [endpoint("01ONE"), endpoint("01TWO")], subscriptions);
  const words = ["import", "convoy", "--from", `${server.url}/api`, "--project", PROJECT, "--records"];
  const { stdout } = await person.types(words, "", { CONVOY_API_KEY: KEY });
  const records = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as object);
  expect(records).toMatchObject([
    { record: "consumer" },
    { url: receiver.url("01ONE"), event_types: ["invoice.paid"], cannot: [] },
    { event_types: null, cannot: ["a subscription has a filter: write it anew"] },
  ]);
});
