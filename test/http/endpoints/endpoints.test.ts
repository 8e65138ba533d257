/** Creating and listing endpoints over the whole service. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { EndpointAnswer } from "../../../src/http/endpoints/shape.ts";
import { type EndpointBench, expectFault, startBench } from "./kit.ts";

let bench: EndpointBench;

beforeAll(async () => {
  bench = await startBench();
});

afterAll(() => bench[Symbol.asyncDispose]());

describe("creating", () => {
  test("a URL alone is enough; every other field has its default", async () => {
    const { url } = bench.fresh();
    const { id, secret, created_at, updated_at, ...rest } = await bench.create({ url });
    expect(id).toMatch(/^ep_[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(Buffer.from(secret.slice(6), "base64")).toHaveLength(32);
    expect(Date.parse(updated_at)).toBeGreaterThanOrEqual(Date.parse(created_at) - 1);
    expect(rest as unknown).toEqual({
      kind: "http",
      config: { url },
      url,
      description: null,
      event_types: null,
      filter: null,
      transformations: null,
      consumer_id: null,
      headers: {},
      signature_versions: ["v1"],
      retry: null,
      timeout_seconds: 15,
      rate_limit_per_second: null,
      max_concurrency: 10,
      ordering: "none",
      metadata: {},
      status: "active",
      disabled_reason: null,
      failing_since: null,
    });
  });

  test("every field comes back as it was given, in the answer, the read and the list", async () => {
    const given = {
      kind: "http",
      config: { url: bench.fresh().url },
      description: "Zoë's ledger",
      event_types: ["invoice.*", "order.paid"],
      filter: { data: { total: { $gte: 5 } } },
      transformations: [{ op: "omit", paths: ["data.note"] }],
      consumer_id: "acme",
      headers: { "X-Tenant": "a b" },
      retry: { schedule: [1, 259_200] },
      timeout_seconds: 30,
      rate_limit_per_second: 7,
      max_concurrency: 100,
      ordering: "fifo",
      metadata: { team: "billing", nested: { on: true, nothing: null } },
    };
    const made = await bench.create(given);
    expect(made).toMatchObject(given);
    const { secret: _secret, ...shown } = made;
    expect(await bench.read(made.id)).toEqual(shown);
    const list = await bench.app.live.get("/v1/endpoints?consumer_id=acme");
    expect(list.json["data"]).toContainEqual(shown);
  });

  test("the secret stands in the creation's answer only", async () => {
    const { id, secret } = await bench.create({ url: bench.fresh().url });
    const texts = await Promise.all(
      [`/v1/endpoints/${id}`, "/v1/endpoints?limit=250"].map((path) => bench.app.live.get(path)),
    );
    for (const { text } of texts) expect(text).not.toContain(secret.slice(6));
  });

  test("an event type that is given twice counts once", async () => {
    expect(
      (await bench.create({ url: bench.fresh().url, event_types: ["a.b", "c", "a.b"] })).event_types,
    ).toEqual(["a.b", "c"]);
  });

  test("null stands for the default", async () => {
    const made = await bench.create({
      url: bench.fresh().url,
      timeout_seconds: null,
      ordering: null,
      headers: null,
      metadata: null,
    });
    expect(made).toMatchObject({ timeout_seconds: 15, ordering: "none", headers: {}, metadata: {} });
  });

  test("url and config.url may both stand there where they agree", async () => {
    const { url } = bench.fresh();
    expect((await bench.create({ url, config: { url } })).url).toBe(url);
  });
});

describe("what is refused", () => {
  const okay = "http://127.0.0.1:9/x";
  const tooMany = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`x-${at}`, "1"]));
  const cases: [string, Record<string, unknown>, string][] = [
    ["no destination", {}, "/url"],
    ["an unknown kind", { kind: "carrier_pigeon", config: {} }, "/kind"],
    ["a kind without its config", { kind: "http" }, "/url"],
    ["config without a required field", { kind: "http", config: {} }, "/config/url"],
    ["config with an unknown field", { kind: "http", config: { url: okay, "a/b": 1 } }, "/config/a~1b"],
    ["config of a wrong type", { config: { url: 5 } }, "/config/url"],
    ["two different addresses", { url: okay, config: { url: `${okay}y` } }, "/url"],
    ["what is no URL", { url: "not a url" }, "/url"],
    ["an address that is too long", { url: `${okay}${"x".repeat(2048)}` }, "/url"],
    [
      "an address that is too long, in config",
      { config: { url: `${okay}${"x".repeat(2048)}` } },
      "/config/url",
    ],
    ["no event types", { url: okay, event_types: [] }, "/event_types"],
    [
      "101 event types",
      { url: okay, event_types: Array.from({ length: 101 }, (_, at) => `t.${at}`) },
      "/event_types",
    ],
    ["a broken pattern", { url: okay, event_types: ["a.b", "a.*.b"] }, "/event_types/1"],
    [
      "a filter with an unknown operator",
      { url: okay, filter: { data: { total: { $above: 5 } } } },
      "/filter/data/total/$above",
    ],
    ["a filter that is a list", { url: okay, filter: [] }, "/filter"],
    ["an unknown operation", { url: okay, transformations: [{ op: "encrypt" }] }, "/transformations/0/op"],
    [
      "an operation with a wrong operand",
      { url: okay, transformations: [{ op: "pick" }] },
      "/transformations/0/paths",
    ],
    ["an empty consumer", { url: okay, consumer_id: "" }, "/consumer_id"],
    ["21 headers", { url: okay, headers: tooMany }, "/headers"],
    ["22 headers, one of which is no text", { url: okay, headers: { ...tooMany, x20: 1 } }, "/headers"],
    [
      "33 operations, one of which is none",
      {
        url: okay,
        transformations: Array.from({ length: 33 }, (_, at) => ({ op: at < 32 ? "pick" : "x" })),
      },
      "/transformations",
    ],
    ["a header of ours", { url: okay, headers: { "Webhook-Id": "1" } }, "/headers/Webhook-Id"],
    [
      "a header of the connection",
      { url: okay, headers: { "Transfer-Encoding": "chunked" } },
      "/headers/Transfer-Encoding",
    ],
    ["a header's name of 129 characters", { url: okay, headers: { ["x".repeat(129)]: "1" } }, "/headers"],
    ["a header that is no token", { url: okay, headers: { "a b": "1" } }, "/headers"],
    ["a header with a line break", { url: okay, headers: { "x-a": "1\r\nx-b: 2" } }, "/headers/x-a"],
    ["a header beyond Latin-1", { url: okay, headers: { "x-a": "世" } }, "/headers/x-a"],
    ["one header in two spellings", { url: okay, headers: { "x-a": "1", "X-A": "2" } }, "/headers/X-A"],
    [
      "a mask that stands for nothing",
      { url: okay, headers: { authorization: "***" } },
      "/headers/authorization",
    ],
    ["v1a alone", { url: okay, signature_versions: ["v1a"] }, "/signature_versions"],
    ["21 waits", { url: okay, retry: { schedule: Array.from({ length: 21 }, () => 1) } }, "/retry/schedule"],
    ["a wait of nothing", { url: okay, retry: { schedule: [1, 0] } }, "/retry/schedule/1"],
    ["a wait above 72 hours", { url: okay, retry: { schedule: [259_201] } }, "/retry/schedule/0"],
    ["a timeout above 30 s", { url: okay, timeout_seconds: 31 }, "/timeout_seconds"],
    ["a rate of nothing", { url: okay, rate_limit_per_second: 0 }, "/rate_limit_per_second"],
    ["101 at once", { url: okay, max_concurrency: 101 }, "/max_concurrency"],
    ["an unknown order", { url: okay, ordering: "lifo" }, "/ordering"],
    ["metadata that is too large", { url: okay, metadata: { text: "x".repeat(16_385) } }, "/metadata"],
    ["metadata that is a list", { url: okay, metadata: [] }, "/metadata"],
    [
      "a private key without v1a",
      { url: okay, private_key: `whsk_${Buffer.alloc(32, 1).toString("base64")}` },
      "/private_key",
    ],
    ["an unknown field", { url: okay, enabled: true }, "/enabled"],
  ];

  test.each(cases)("%s", async (_name, body, pointer) => {
    expectFault(await bench.app.live.post("/v1/endpoints", body), pointer);
  });

  test("thousands of unknown names in config are told as 50", async () => {
    const config = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`f${at}`, "1"]));
    const { json } = await bench.app.live.post("/v1/endpoints", { kind: "http", config });
    expect(json.errors).toHaveLength(50);
  });

  test("metadata is as long as it is kept: what is null counts", async () => {
    const metadata = {
      list: null,
      ...Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [at, null])),
    };
    expectFault(await bench.app.live.post("/v1/endpoints", { url: okay, metadata }), "/metadata");
  });

  test("a header's name that is too long is told so, one of 128 characters is taken", async () => {
    const make = (length: number) =>
      bench.app.live.post("/v1/endpoints", { url: okay, headers: { ["x".repeat(length)]: "1" } });
    const { json } = await make(129);
    expect(json.errors?.map(({ detail }) => detail)).toEqual(["Expected a name of at most 128 characters."]);
    expect((await make(128)).status).toBe(201);
  });

  test("all faults of a body are told at once", async () => {
    const body = { url: okay, event_types: ["a..b"], headers: { host: "x" }, secret: "x" };
    const { json } = await bench.app.live.post("/v1/endpoints", body);
    expect(json.errors?.map(({ pointer }) => pointer).toSorted()).toEqual([
      "/event_types/0",
      "/headers/host",
      "/secret",
    ]);
  });

  test.each([
    ["/url", { url: "http://10.0.0.1/x" }],
    ["/config/url", { config: { url: "https://localhost/x" } }],
    ["/url", { url: "ftp://example.com/" }],
    ["/url", { url: "https://user:pass@example.com/" }],
    ["/url", { url: "http://[::ffff:169.254.169.254]/latest" }],
  ])("an address that the guard refuses, at %s", async (pointer, body) => {
    expectFault(await bench.app.live.post("/v1/endpoints", body), pointer, "unsafe_destination");
  });

  test("neither a secret nor a private key that is refused is repeated", async () => {
    const bad = { secret: `whsec_${"not base64! ".repeat(4)}`, private_key: "whsk_AAAA" };
    const { text, json } = await bench.app.live.post("/v1/endpoints", {
      url: okay,
      signature_versions: ["v1", "v1a"],
      ...bad,
    });
    expect(json.errors?.map(({ pointer }) => pointer)).toEqual(["/secret", "/private_key"]);
    expect(text).not.toContain("not base64!");
    expect(text).not.toContain("AAAA");
  });

  test("nothing is stored of what was refused", async () => {
    const ids = async () =>
      ((await bench.app.test.get("/v1/endpoints")).json["data"] as EndpointAnswer[]).length;
    await bench.app.test.post("/v1/endpoints", { url: okay, ordering: "lifo" });
    expect(await ids()).toBe(0);
  });

  test("a consumer's thousand and first endpoint, and no other consumer's", async () => {
    const fields = { url: okay, consumer_id: "many", event_types: ["never.sent"] };
    for (let made = 0; made < 1000; made += 100) {
      await Promise.all(Array.from({ length: 100 }, () => bench.create(fields)));
    }
    const more = await Promise.all(
      [fields, fields].map((body) => bench.app.live.post("/v1/endpoints", body)),
    );
    for (const reply of more) expectFault(reply, "/consumer_id");
    const other = await bench.create({ ...fields, consumer_id: "few" });
    expectFault(
      await bench.app.live.patch(`/v1/endpoints/${other.id}`, { consumer_id: "many" }),
      "/consumer_id",
    );
  });
});

describe("lists", () => {
  test("are newest first, filtered, and paged without gaps", async () => {
    const ids: string[] = [];
    for (let made = 0; made < 5; made++)
      ids.push((await bench.create({ url: bench.fresh().url, consumer_id: "pages" })).id);
    const seen: string[] = [];
    let path: string | null = "/v1/endpoints?consumer_id=pages&limit=2";
    while (path !== null) {
      const { json } = await bench.app.live.get(path);
      const page = json["data"] as EndpointAnswer[];
      expect(page.length).toBeLessThanOrEqual(2);
      seen.push(...page.map(({ id }) => id));
      const cursor = json["next_cursor"] as string | null;
      path = cursor === null ? null : `/v1/endpoints?consumer_id=pages&limit=2&cursor=${cursor}`;
    }
    expect(seen).toEqual(ids.toReversed());
  });

  test("status and kind narrow them", async () => {
    const { id } = await bench.create({ url: bench.fresh().url, consumer_id: "narrow" });
    await bench.create({ url: bench.fresh().url, consumer_id: "narrow" });
    await bench.app.live.post(`/v1/endpoints/${id}/pause`);
    const { json } = await bench.app.live.get("/v1/endpoints?consumer_id=narrow&status=paused&kind=http");
    expect((json["data"] as EndpointAnswer[]).map((each) => each.id)).toEqual([id]);
  });

  const listed = async (query: string) => {
    const { json } = await bench.app.live.get(`/v1/endpoints?${query}`);
    return (json["data"] as EndpointAnswer[]).map(({ id }) => id);
  };

  test("those that do not work are found however many do", async () => {
    const make = (url: string, fields = {}) => bench.create({ url, consumer_id: "trouble", ...fields });
    const { receiver, app } = bench;
    const failing = await make(receiver.at("trouble-fails", () => new Response(null, { status: 500 })));
    const gone = await make(receiver.at("trouble-gone", () => new Response(null, { status: 410 })));
    const fine = [await make(bench.fresh().url), await make(bench.fresh().url)];
    await app.live.post("/v1/events", { type: "trouble", data: {}, consumer_id: "trouble" });
    await app.until(async () => {
      const [first, second] = await Promise.all([bench.read(failing.id), bench.read(gone.id)]);
      return first.failing_since !== null && second.status === "disabled";
    });
    expect(await listed("consumer_id=trouble&failing=true")).toEqual([gone.id, failing.id]);
    expect(await listed("consumer_id=trouble&failing=false")).toEqual(fine.map(({ id }) => id).toReversed());
    const { json } = await app.live.get("/v1/endpoints?consumer_id=trouble&failing=true&limit=1");
    const cursor = String(json["next_cursor"]);
    expect(await listed(`consumer_id=trouble&failing=true&limit=1&cursor=${cursor}`)).toEqual([failing.id]);
    await app.live.post(`/v1/endpoints/${gone.id}/enable`);
    receiver.at("trouble-fails", () => new Response());
    await app.live.post(`/v1/endpoints/${failing.id}/test`, {});
    expect(await listed("consumer_id=trouble&failing=true")).toEqual([]);
  });

  test("ids name those that are wanted, in no order; others are left out", async () => {
    const make = async () => (await bench.create({ url: bench.fresh().url })).id;
    const [first, second, third] = [await make(), await make(), await make()];
    const unknown = `ep_${"0".repeat(26)}`;
    expect(await listed(`endpoint_ids=${first},${third},${unknown},nothing`)).toEqual(
      [third, first].map(String),
    );
    expect(await listed(`endpoint_ids=${second}&status=paused`)).toEqual([]);
  });

  test("text narrows them by what they show, never by a credential", async () => {
    const fields = { consumer_id: "texts", event_types: ["invoice.paid"], description: "Zoë's LEDGER" };
    const { id } = await bench.create({ url: `${bench.fresh().url}?place=Here`, ...fields });
    const config = { queue_url: "https://sqs.eu-west-1.amazonaws.com/1/orders", region: "eu-west-1" };
    const keys = { access_key_id: "AKIAIOSFODNN7EXAMPLE", secret_access_key: "hidden-words" };
    const queue = await bench.create({
      kind: "aws_sqs",
      consumer_id: "texts",
      config: { ...config, ...keys },
      event_types: ["order.*"],
    });
    const found = (q: string) => listed(`consumer_id=texts&q=${encodeURIComponent(q)}`);
    for (const q of ["zoë's ledger", "INVOICE.", "place=here", id])
      expect([q, await found(q)]).toEqual([q, [id]]);
    expect(await found("/1/ORDERS")).toEqual([queue.id]);
    expect(await found("hidden-words")).toEqual([]);
  });

  test.each([
    "limit=0",
    "limit=251",
    "cursor=abc",
    "status=deleted",
    "kind=smtp",
    "failing=maybe",
    "q=",
    "colour=red",
  ])("%s is refused", async (query) => {
    expectFault(await bench.app.live.get(`/v1/endpoints?${query}`), query.split("=")[0] ?? "");
  });
});

describe("an Idempotency-Key", () => {
  test("makes one endpoint of two requests; the second answer lacks the secret", async () => {
    const body = { url: bench.fresh().url, consumer_id: "once" };
    const key = { "idempotency-key": "make-it" };
    const first = await bench.app.live.post("/v1/endpoints", body, key);
    const second = await bench.app.live.post("/v1/endpoints", body, key);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    const { secret, ...rest } = first.json;
    expect(secret).toBeString();
    expect(second.json).toEqual(rest);
    const { json } = await bench.app.live.get("/v1/endpoints?consumer_id=once");
    expect(json["data"]).toHaveLength(1);
  });
});
