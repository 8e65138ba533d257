/**
 * What is stored of an endpoint is used for what its owner stored it for. A walk over all kinds: a portal
 * link that changes any one field of `config` has to bring the credentials itself, and nobody sets a header
 * that the kind's protocol gives a meaning to.
 */
import { describe, expect, test } from "bun:test";
import { MASK } from "../../../src/destinations/credential-headers.ts";
import { findKind } from "../../../src/destinations/destinations.ts";
import { CASES } from "../../destinations/kinds/cases.ts";
import { type Config, type KindCase } from "../../destinations/kinds/case.ts";
import { apiForFile, expectRefusal } from "../log-kit.ts";

const api = apiForFile();

const fieldsOf = (kind: string) => findKind(kind)?.fields ?? [];
const secretsOf = (kind: string) => fieldsOf(kind).filter(({ secret }) => secret);

/** With `***` in place of each credential. */
function masked(kind: string, config: Config): Config {
  const secrets = secretsOf(kind).filter(({ name }) => name in config);
  return { ...config, ...Object.fromEntries(secrets.map(({ name }) => [name, MASK])) };
}

async function create({ kind, config }: Pick<KindCase, "kind" | "config">, more: object = {}) {
  const reply = await api.call("POST", "/v1/endpoints", { kind, config, consumer_id: "anna", ...more });
  expect([kind, reply.status, reply.json.errors]).toEqual([kind, 201, undefined]);
  return `/v1/endpoints/${String(reply.json["id"])}`;
}

/**
 * The config without the field, or with another right value in it: the first that a key of the project
 * may set.
 */
async function changed({ kind, config }: KindCase, name: string): Promise<Config> {
  const { [name]: value, ...without } = config;
  const texts = [
    `${value}a`,
    `${value}1`,
    `a${value}`,
    String(value).replace(/:([^:]*)$/, ":x$1"),
    String(value).replace(/[a-z0-9](?=[^a-z0-9]*$)/i, "7"),
  ];
  const tried: Config[] = [
    without,
    { ...config, [name]: !value },
    ...texts.map((text) => ({ ...config, [name]: text })),
  ];
  for (const one of tried) {
    const reply = await api.call("POST", "/v1/endpoints", { kind, config: one, consumer_id: "anna" });
    if (reply.status === 201) return one;
  }
  throw new Error(`nothing else is right for ${kind}.${name}`);
}

const WITH_SECRETS = CASES.filter(({ kind }) => secretsOf(kind).length > 0);

test("the walk meets every kind that stores credentials", () =>
  expect(WITH_SECRETS.length).toBeGreaterThan(12));

describe.each(WITH_SECRETS)("$kind", (row) => {
  const { kind, config } = row;
  const open = fieldsOf(kind).filter(({ secret, name }) => !secret && name in config);

  test.each(open.map(({ name }) => name))(
    "%s is not changed by a link without the credentials",
    async (name) => {
      const path = await create(row);
      const other = await changed(row, name);
      const pointers = secretsOf(kind)
        .map((field) => `/config/${field.name}`)
        .filter((at) => at.slice(8) in config);
      const patch = (body: object, token = "annaManages") => api.call("PATCH", path, body, token);
      expectRefusal(await patch({ config: masked(kind, other) }), 422, "invalid_request", pointers);
      expect((await patch({ config: masked(kind, config) })).status).toBe(200);
      expect((await patch({ config: masked(kind, other) }, "full")).status).toBe(200);
      expect((await patch({ config })).status).toBe(200);
    },
  );

  test("credential headers are asked for again, too", async () => {
    const [first] = open;
    if (!first) throw new Error("a kind has credentials alone");
    const path = await create(row, { headers: { "x-api-key": "stored", "x-tenant": "7" } });
    const other = await changed(row, first.name);
    const patch = (body: object) => api.call("PATCH", path, { config: other, ...body }, "annaManages");
    expectRefusal(await patch({}), 422, "invalid_request", ["/headers"]);
    expectRefusal(await patch({ headers: { "x-api-key": MASK } }), 422, "invalid_request", [
      "/headers/x-api-key",
    ]);
    expect((await patch({ headers: { "x-api-key": "own" } })).status).toBe(200);
  });
});

const WITH_HEADERS = CASES.filter(({ kind }) => findKind(kind)?.protocolHeaders !== undefined);

describe.each(WITH_HEADERS)("$kind", (row) => {
  const { protocolHeaders = [], settableHeaders = [] } = findKind(row.kind) ?? {};
  const names = protocolHeaders.map((name) => name.replace("*", "copy-source").toUpperCase());

  test.each(names)("takes no %s of an endpoint", async (name) => {
    const headers = { [name]: "x", "x-tenant": "7" };
    const given = { kind: row.kind, config: row.config, headers };
    expectRefusal(await api.call("POST", "/v1/endpoints", given), 422, "invalid_request", [
      `/headers/${name}`,
    ]);
    const path = await create(row);
    expectRefusal(await api.call("PATCH", path, { headers }), 422, "invalid_request", [`/headers/${name}`]);
    const url = api.receiver.url("http");
    const plain = await create({ kind: "http", config: { url } }, { headers });
    const moved = { kind: row.kind, config: row.config };
    expectRefusal(await api.call("PATCH", plain, moved), 422, "invalid_request", [`/headers/${name}`]);
  });

  test("takes the others", async () => {
    const headers = Object.fromEntries([...settableHeaders, "x-tenant"].map((name) => [name, "x"]));
    expect(await create(row, { headers })).toBeString();
  });
});

test("the kinds that are called with credentials alone say which headers are theirs", () => {
  const without = CASES.filter(({ kind }) => findKind(kind)?.protocolHeaders === undefined).map(
    ({ kind }) => kind,
  );
  // These can be called without a user, behind a proxy that asks for a header of its own.
  expect(without).toEqual(["http", "kafka_rest"]);
});

const BY_TYPE = CASES.flatMap((row) => {
  const kind = findKind(row.kind);
  if (!kind?.routesByType) return [];
  // Without the field by which the customer names the place.
  for (const { name, required } of kind.fields) {
    const { [name]: _, ...config } = row.config;
    const placed = kind.routesByType(row.config) ? { ...config, key_template: "{id}" } : row.config;
    if (!required && kind.routesByType(config)) return [{ ...row, config, placed }];
  }
  throw new Error(`${row.kind} never goes by the type`);
});

test("the kinds whose messages go by the event's type say so", () =>
  expect(BY_TYPE.map(({ kind }) => kind)).toEqual([
    "aws_eventbridge",
    "s3",
    "google_cloud_storage",
    "rabbitmq",
  ]));

test("an address on the same host is another destination: credentials in headers are given again", async () => {
  const http = { kind: "http", config: { url: "https://hooks.example.com/of/anna" } };
  const headers = { authorization: "Bearer stored", "x-tenant": "7" };
  const path = await create(http, { headers });
  const url = "https://hooks.example.com/of/another";
  const patch = (body: object, token = "annaManages") => api.call("PATCH", path, body, token);
  expectRefusal(await patch({ url }), 422, "invalid_request", ["/headers"]);
  const kept = { authorization: MASK, "x-tenant": "7" };
  expectRefusal(await patch({ url, headers: kept }), 422, "invalid_request", ["/headers/authorization"]);
  expect((await patch({ url }, "full")).status).toBe(200);
  expect((await patch({ url: http.config.url, headers: { "x-tenant": "7" } })).status).toBe(200);
  // What is left is no credential: the address changes freely on its host.
  expect((await patch({ url })).status).toBe(200);
});

describe.each(BY_TYPE)("$kind, where the type decides where a message goes", (row) => {
  test("is not tested by a link with a type that nobody of the project named", async () => {
    const path = await create(row, { timeout_seconds: 5 });
    const send = (type: string | undefined, token: string) =>
      api.call("POST", `${path}/test`, type === undefined ? {} : { type }, token);
    expectRefusal(await send("celery", "annaManages"), 422, "invalid_request", ["/type"]);
    expect((await send(undefined, "annaManages")).status).toBe(200);
    expect((await send("celery", "full")).status).toBe(200);
    const name = `order.${row.kind}`;
    expect((await api.call("POST", "/v1/event-types", { name })).status).toBe(201);
    expect((await send(name, "annaManages")).status).toBe(200);
  });

  test("is sent no test of another endpoint by a replay", async () => {
    const path = await create(row, { timeout_seconds: 5 });
    const other = await create({ kind: "http", config: { url: api.receiver.url("a-test") } });
    const tested = await api.call("POST", `${other}/test`, { type: "celery" }, "annaManages");
    const delivery = await api.call("GET", `/v1/deliveries/${String(tested.json["delivery_id"])}`);
    const replay = (endpoint: string) =>
      api.call(
        "POST",
        `/v1/events/${String(delivery.json["event_id"])}/replay`,
        { endpoint_ids: [endpoint.split("/").at(-1)] },
        "annaManages",
      );
    expectRefusal(await replay(path), 422, "invalid_request", ["/endpoint_ids/0"]);
    expect((await replay(other)).status).toBe(202);
  });

  const http = { url: api.receiver.url("before") };
  test.each([
    ["the field that names the place is dropped", row.kind, row.placed],
    ["it becomes one of this kind", "http", http],
  ])("is not sent its own test again by anybody, once %s", async (_how, kind, config) => {
    const path = await create({ kind, config }, { timeout_seconds: 5, retry: { schedule: [] } });
    const { delivery, event } = await testedBy(path, "celery");
    await moveTo(path, row);
    expectRefusal(await sendTest(path, "celery"), 422, "invalid_request", ["/type"]);
    for (const token of ["annaManages", "full"]) {
      for (const road of [`/v1/deliveries/${delivery}/retry`, `/v1/events/${event}/replay`]) {
        const before = await attemptsOf(delivery);
        expect((await api.call("POST", road, {}, token)).status).toBe(202);
        const after = await api.until(async () => {
          const all = await attemptsOf(delivery);
          return all.length > before.length && all;
        });
        expect(after.slice(1)).toEqual(before);
        expect(after[0]).toMatchObject({
          outcome: "malformed",
          error_code: "message_refused",
          request_headers: {},
        });
      }
    }
  });

  test("is sent a test again whose type the project has named", async () => {
    const path = await create(row, { timeout_seconds: 5, retry: { schedule: [] } });
    for (const type of ["test.event", "named.later"]) {
      await moveTo(path, { kind: "http", config: http });
      const { delivery, event } = await testedBy(path, type);
      if (type !== "test.event") await api.call("POST", "/v1/event-types", { name: type });
      await moveTo(path, row);
      const retried = await api.call("POST", `/v1/deliveries/${delivery}/retry`, {}, "annaManages");
      expect([type, retried.status]).toEqual([type, 202]);
      const replayed = await api.call("POST", `/v1/events/${event}/replay`, {}, "annaManages");
      expect([type, replayed.status]).toEqual([type, 202]);
    }
    await api.call("DELETE", "/v1/event-types/named.later");
  });
});

const sendTest = (path: string, type: string, token = "annaManages") =>
  api.call("POST", `${path}/test`, { type }, token);

/** A link's test, which the settings of that moment allow. */
async function testedBy(path: string, type: string): Promise<{ delivery: string; event: string }> {
  const tested = await sendTest(path, type);
  expect(tested.status).toBe(200);
  const delivery = String(tested.json["delivery_id"]);
  const { event_id } = await api.get<{ event_id: string }>(`/v1/deliveries/${delivery}`);
  return { delivery, event: event_id };
}

async function moveTo(path: string, { kind, config }: Pick<KindCase, "kind" | "config">): Promise<void> {
  expect((await api.call("PATCH", path, { kind, config })).status).toBe(200);
}

const attemptsOf = async (delivery: string) =>
  (await api.get<{ data: object[] }>(`/v1/deliveries/${delivery}/attempts`)).data;

const RABBIT = { url: "", vhost: "/", exchange: "amq.default", username: "u", password: "owners-password" };

test("a test that still waits when its type comes to decide is refused, and what comes after it is sent", async () => {
  const config = { ...RABBIT, url: api.receiver.url("rabbit") };
  const path = await create({ kind: "http", config: { url: api.receiver.url("still-http") } });
  const { event } = await testedBy(path, "celery");
  expect((await api.call("POST", `${path}/pause`)).status).toBe(200);
  expect((await api.call("POST", `/v1/events/${event}/replay`, {}, "annaManages")).status).toBe(202);
  await moveTo(path, { kind: "rabbitmq", config });
  expect((await api.call("POST", `${path}/resume`)).status).toBe(200);
  const [dead] = await api.settled(event, ["dead"]);
  expect(dead).toMatchObject({ dead_reason: "malformed", attempt_count: 2 });
  expect((await sendTest(path, "celery", "full")).status).toBe(200);
  const arrived = await api.receiver.arrived("rabbit/api/exchanges/%2F/amq.default/publish");
  expect(arrived).toHaveLength(1);
});
