import { afterAll, beforeAll, expect, test } from "bun:test";
import { Svix, Webhook } from "svix";
import { addressFor } from "../../../../src/client/import/sources/svix.ts";
import { startReceiver, type Receiver } from "../../../kit/receiver.ts";
import type { Service } from "../../../kit/service.ts";
import { Person } from "../../kit.ts";
import { call, onService } from "../../listening.ts";
import type { Recorded } from "./recorded.ts";
import {
  FIRST_SECRET,
  recordedSvix,
  SVIX_TOKEN,
  type SvixData,
  svixApplication,
  svixEndpoint,
  svixTeam,
} from "./recorded-svix.ts";

let service: Service;
let person: Person;
let receiver: Receiver;
let data: SvixData;
let svix: Recorded;
onService((at) => ({ service, person } = at));

interface EndpointRow {
  id: string;
  consumer_id: string;
  url: string;
  headers: Record<string, string>;
  metadata: Record<string, unknown>;
  updated_at: string;
}

const endpoints = async () =>
  (await call<{ data: EndpointRow[] }>(service, "GET", "/v1/endpoints")).data.toReversed();
const types = (...words: string[]) =>
  person.types(["import", "svix", "--from", svix.url, ...words], "", { SVIX_AUTH_TOKEN: SVIX_TOKEN });

beforeAll(() => {
  receiver = startReceiver();
  data = svixTeam(receiver.url("hooks"));
  svix = recordedSvix(data);
});
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await svix[Symbol.asyncDispose]();
});

test("Svix's own client reads the recorded service", async () => {
  const client = new Svix(SVIX_TOKEN, { serverUrl: svix.url });
  const applications = await client.application.list();
  expect(applications.data.map(({ uid }) => uid)).toEqual(["acme", undefined]);
  const [endpoint] = (await client.endpoint.list("acme")).data;
  expect(endpoint?.eventTypes).toEqual(["invoice.paid"]);
  expect((await client.endpoint.getSecret("acme", endpoint?.id ?? "")).key).toBe(FIRST_SECRET);
  const headers = await client.endpoint.getHeaders("acme", endpoint?.id ?? "");
  expect(headers).toEqual({ headers: { "X-Example": "123", "X-Foobar": "Bar" }, sensitive: [] });
  const [eventType] = (await client.eventType.list({ withContent: true })).data;
  expect(eventType).toMatchObject({ name: "invoice.paid", groupName: "Billing", deprecated: false });
});

test("a dry run says what would be made, and makes nothing", async () => {
  const { exitCode, stdout, stderr } = await types();
  expect([exitCode, stderr]).toEqual([0, ""]);
  expect(
    stdout,
  ).toBe(`make       event type invoice.paid, without older versions of its schema: version 2 comes along
make       event type user.signup
make       endpoint svix:ep_1srOrx2ZWZBpBUvZwXKQmoEYga2 of acme to ${receiver.url("hooks")}/acme
make       endpoint svix:ep_2xUwlm2ZWZBpBUvZwXKQmoEYgb3 of app_2xUwlm2ZWZBpBUvZwXKQmoEYgb3 to ${receiver.url("hooks")}/globex

             make  change  keep  leave out
event types  2     0       0     0
endpoints    2     0       0     0
consumers: 2, and nothing to make: each begins with its first endpoint or event
Nothing is written yet: --apply does it
`);
  expect(await endpoints()).toEqual([]);
});

test("what is applied delivers what receivers had, so that Svix's library verifies it", async () => {
  const { exitCode, stdout } = await types("--apply");
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining("endpoints    2     0        0     0")]);
  const [acme, globex] = await endpoints();
  expect(acme).toMatchObject({
    consumer_id: "acme",
    headers: { "X-Example": "123", "X-Foobar": "Bar" },
  });
  expect(globex?.consumer_id).toBe("app_2xUwlm2ZWZBpBUvZwXKQmoEYgb3");
  const type = await call<object>(service, "GET", "/v1/event-types/invoice.paid");
  expect(type).toMatchObject({ group: "Billing", schema: { required: ["invoiceId"] }, archived: false });
  const payload = { invoiceId: "in_1", userId: "u_1" };
  await call(service, "POST", "/v1/events", { type: "invoice.paid", consumer_id: "acme", data: payload });
  const [request] = await receiver.arrived("hooks/acme");
  expect(request?.headers["x-example"]).toBe("123");
  const text = request?.body.toString() ?? "";
  expect(JSON.parse(text)).toEqual(payload);
  const verify = (secret: string) => () => new Webhook(secret).verify(text, request?.headers ?? {});
  expect(verify(FIRST_SECRET)).not.toThrow();
  expect(verify("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).toThrow();
});

/** Runs find nothing to do, in whatever order Svix lists names. */
async function changesNothing(): Promise<void> {
  const before = await endpoints();
  for (const isTurned of [true, false]) {
    data.isTurned = isTurned;
    const { exitCode, stdout } = await types("--apply");
    expect(exitCode).toBe(0);
    expect(stdout).toStartWith(`             made  changed  kept  left out
event types  0     0        2     0
endpoints    0     0        2     0
`);
  }
  expect(await endpoints()).toEqual(before);
}

test("a second run changes nothing", changesNothing);

test("what changes at Svix comes along in the next run, and what changed here alone stays", async () => {
  const [acme, globex] = await endpoints();
  await call(service, "PATCH", `/v1/endpoints/${globex?.id}`, { description: "ours" });
  const there = data.applications[0]?.endpoints[0];
  if (there) there.out["eventTypes"] = ["invoice.paid", "user.signup"];
  const signup = data.eventTypes[1];
  if (signup) signup["description"] = "Somebody has signed up";
  const { exitCode, stdout } = await types("--apply");
  expect([exitCode, stdout.split("\n").slice(0, 2)]).toEqual([
    0,
    [
      "changed    event type user.signup: description",
      expect.stringMatching(
        /^changed    endpoint svix:ep_1srOrx2ZWZBpBUvZwXKQmoEYga2 of acme .*: event_types$/,
      ),
    ],
  ]);
  expect(await endpoints()).toMatchObject([
    { id: acme?.id, event_types: ["invoice.paid", "user.signup"] },
    { id: globex?.id, description: "ours" },
  ]);
  await changesNothing();
});

test("a secret that was rotated there cannot be brought into an endpoint that is there", async () => {
  const there = data.applications[0]?.endpoints[0];
  if (there) there.secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const [acme] = await endpoints();
  const refused = await types("--apply");
  expect(refused.exitCode).toBe(1);
  expect(refused.stdout).toContain(
    `it has another secret now: delete ${acme?.id} in Sealpost, and run this again`,
  );
  await call(service, "DELETE", `/v1/endpoints/${acme?.id}`);
  expect((await types("--apply")).exitCode).toBe(0);
  const made = (await endpoints()).find(({ consumer_id: consumer }) => consumer === "acme");
  const { secret } = await call<{ secret: string }>(service, "GET", `/v1/endpoints/${made?.id}/secret`);
  expect(secret).toBe("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
});

test("what cannot come along is left out with its reason, and the rest comes", async () => {
  const url = receiver.url("odd");
  data.applications.push(
    svixApplication("app_3odd", "odd", [
      svixEndpoint("ep_channels", url, { channels: ["project_123"] }),
      svixEndpoint("ep_hidden", url, { headers: { headers: {}, sensitive: ["Authorization"] } }),
      svixEndpoint("ep_script", url, { transformation: { code: "function handler(w) {}", enabled: true } }),
      svixEndpoint("ep_asleep", url, { transformation: { code: "function handler(w) {}", enabled: false } }),
      svixEndpoint("ep_asymmetric", url, { secret: "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=" }),
      svixEndpoint("ep_inside", "http://10.0.0.1/"),
    ]),
  );
  const { exitCode, stdout } = await types("--apply", "--json");
  expect(exitCode).toBe(1);
  const steps = stdout
    .split("\n")
    .filter((line) => line.includes('"consumer_id":"odd"'))
    .map((line) => JSON.parse(line) as { id: string; step: string; reasons: string[] });
  expect(steps.map(({ id, step, reasons }) => [id, step, reasons[0] ?? ""])).toEqual([
    ["svix:ep_channels", "leave_out", expect.stringContaining("the channels project_123")],
    ["svix:ep_hidden", "leave_out", "the value of its header Authorization is not known: put it in"],
    ["svix:ep_script", "leave_out", "its transformation is JavaScript: write it anew"],
    ["svix:ep_asleep", "make", ""],
    ["svix:ep_asymmetric", "leave_out", "Svix does not hand out the private key that signs for it"],
    ["svix:ep_inside", "leave_out", expect.stringContaining("Sealpost refuses it: ")],
  ]);
  data.applications.pop();
  const gone = await types();
  expect([gone.exitCode, gone.stdout]).toEqual([
    1,
    expect.stringContaining("svix:ep_asleep: it is no longer there"),
  ]);
  const asleep = (await endpoints()).find(({ consumer_id: consumer }) => consumer === "odd");
  await call(service, "DELETE", `/v1/endpoints/${asleep?.id}`);
});

test("an endpoint that is disabled there stays there, and that is no failure", async () => {
  data.applications.push(
    svixApplication("app_4off", "off", [svixEndpoint("ep_off", receiver.url("off"), { disabled: true })]),
  );
  const { exitCode, stdout } = await types("--apply");
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining("ep_off of off to")]);
  expect(stdout).toContain("it is disabled there");
  data.applications.pop();
});

test("all pages are read, and a limit or a fault that passes is waited for", async () => {
  data.pageMax = 1;
  svix.asked.length = 0;
  const limited = { status: 429, headers: { "retry-after": "1" } };
  const troubles = [
    Response.json({ code: "rate_limited", detail: "Too many requests" }, limited),
    new Response("", { status: 502 }),
  ];
  svix.trouble = (path) => (path.endsWith("/secret") ? (troubles.shift() ?? null) : null);
  const started = performance.now();
  const { exitCode, stdout, stderr } = await types();
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining("endpoints    0     0       2     0")]);
  expect(performance.now() - started).toBeGreaterThan(1000);
  expect(stderr).toMatch(/^GET \S+ is answered 502: no reason .*\nIt is there again.\n$/);
  expect(svix.asked.filter((line) => line.includes("iterator="))).toHaveLength(2);
  data.pageMax = 250;
});

test("a fault of the first question is told at once", async () => {
  svix.trouble = () => Response.json({ code: "x", detail: "not now" }, { status: 503 });
  const { exitCode, stderr } = await types();
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining("is answered 503: not now")]);
  svix.trouble = () => null;
});

test("--records prints what a later run of ndjson takes, and asks no Sealpost", async () => {
  using nobody = new Person();
  const words = ["import", "svix", "--from", svix.url, "--records", "--body", "envelope"];
  const { exitCode, stdout } = await nobody.types(words, "", { SVIX_AUTH_TOKEN: SVIX_TOKEN });
  expect(exitCode).toBe(0);
  const records = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(records.map(({ record }) => record)).toEqual([
    "event_type",
    "event_type",
    "consumer",
    "endpoint",
    "consumer",
    "endpoint",
  ]);
  expect(records[3]).toMatchObject({ id: "svix:ep_1srOrx2ZWZBpBUvZwXKQmoEYga2", transformations: null });
  const again = await person.types(["import", "ndjson"], stdout);
  expect([again.exitCode, again.stdout]).toEqual([
    0,
    expect.stringContaining("endpoints    0     2       0     0"),
  ]);
});

test("a server of before has other names, and what goes away meanwhile is not there", async () => {
  const before = structuredClone(data);
  const [older] = before.applications[0]?.endpoints ?? [];
  const gone = svixEndpoint("ep_3gone", "https://example.com", { secret: "" });
  before.applications[0]?.endpoints.push(gone);
  delete older?.out["eventTypes"];
  Object.assign(older?.out ?? {}, { filterTypes: ["user.signup"], rateLimit: 7 });
  await using server = recordedSvix(before);
  const words = ["import", "svix", "--from", server.url, "--records"];
  const { exitCode, stdout } = await person.types(words, "", { SVIX_AUTH_TOKEN: SVIX_TOKEN });
  expect([exitCode, stdout.includes("ep_3gone")]).toEqual([0, false]);
  const [read] = stdout.split("\n").filter((line) => line.includes(String(older?.out.id)));
  expect(JSON.parse(read ?? "")).toMatchObject({ event_types: ["user.signup"], rate_limit_per_second: 7 });
});

test.each<[string[], Record<string, string>, number, string]>([
  [[], {}, 2, "SVIX_AUTH_TOKEN must hold a token of Svix"],
  [[], { SVIX_AUTH_TOKEN: "wrong" }, 1, "is answered 401: Invalid token"],
  [["--from", "http://127.0.0.1:1"], { SVIX_AUTH_TOKEN: SVIX_TOKEN }, 1, "cannot be reached"],
  [["--from", "svix"], { SVIX_AUTH_TOKEN: SVIX_TOKEN }, 2, "The address must be"],
  [["--records", "--apply"], { SVIX_AUTH_TOKEN: SVIX_TOKEN }, 2, "--records prints, and --apply writes"],
  [["--body", "raw"], { SVIX_AUTH_TOKEN: SVIX_TOKEN }, 2, "Allowed choices are"],
])("import svix %p with %p ends with %d", async (words, env, code, reason) => {
  const { exitCode, stdout, stderr } = await person.types(
    ["import", "svix", "--from", svix.url, ...words],
    "",
    env,
  );
  expect([exitCode, stdout, stderr.includes(reason) ? reason : stderr]).toEqual([code, "", reason]);
});

test("a token says in which region Svix is", () => {
  expect(addressFor("testsk_x.eu")).toBe("https://api.eu.svix.com");
  expect(addressFor("testsk_x")).toBe("https://api.svix.com");
});
