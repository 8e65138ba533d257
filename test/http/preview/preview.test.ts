/** POST /v1/endpoints/preview: on a pasted event, on a stored one, and over the newest stored events. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { limit } from "../../../src/core/limits.ts";
import { TurnQueue } from "../../../src/core/structures/turn-queue.ts";
import { compileTransformations } from "../../../src/core/transform/transform.ts";
import { tryOn } from "../../../src/http/preview/run.ts";
import { parsedAtOnce } from "../../kit/parsed.ts";
import { expectProblem, type Reply } from "../kit.ts";
import { pointersOf, type RoutingBench, startRouting } from "../routing-kit.ts";

let bench: RoutingBench;

beforeAll(async () => {
  bench = await startRouting();
});

afterAll(() => bench[Symbol.asyncDispose]());

test("a large pasted event is read as text in another turn than that of its parse", async () => {
  using giveWay = spyOn(TurnQueue.prototype, "giveWay");
  const event = { type: "a.b", data: { text: "x".repeat(100_000) } };
  await bench.take("POST", "/v1/endpoints/preview", { event });
  const bytes = Buffer.byteLength(JSON.stringify({ event }));
  expect(giveWay.mock.calls.filter(([asked]) => asked === bytes)).toHaveLength(1);
});

test("filter and transformations are compiled in a turn of their own, also those of a stored endpoint", async () => {
  const fields = { url: "https://hooks.example.com/", event_types: ["compiled.here"] };
  const { id } = await bench.take("POST", "/v1/endpoints", fields);
  using ownTurn = spyOn(TurnQueue.prototype, "ownTurn");
  const event = { type: "a.b", data: {} };
  await bench.take("POST", "/v1/endpoints/preview", { event });
  expect(ownTurn).toHaveBeenCalledTimes(0);
  await bench.take("POST", "/v1/endpoints/preview", { event, endpoint_id: id });
  await bench.take("POST", "/v1/endpoints/preview", { event, filter: { type: "a.b" } });
  expect(ownTurn).toHaveBeenCalledTimes(2);
});

/** An event of so many bytes, some of which are two to a character. */
function eventOf(bytes: number): string {
  const [before, after] = ['{"type":"a.b","data":{"text":"é', '"}}'];
  return before + "x".repeat(bytes - Buffer.byteLength(before + after)) + after;
}

test("a pasted event is no larger than a published one, and a body little larger than that", async () => {
  const max = limit("eventBodyBytesMax");
  const filter = { data: { n: { $in: Array.from({ length: 250 }, () => "x".repeat(60)) } } };
  const transformations = [{ op: "set", path: "data.n", value: "x".repeat(65_400) }];
  const ask = (event: string, rest: object = {}) =>
    bench.request("POST", "/v1/endpoints/preview", {
      body: `{"event":${event},${JSON.stringify({ filter: null, ...rest }).slice(1)}`,
      headers: { "content-type": "application/json" },
    });
  expect((await ask(eventOf(max), { filter, transformations })).status).toBe(200);
  using parse = spyOn(JSON, "parse");
  const larger = await ask(eventOf(max + 1));
  expectProblem(larger, 413, "payload_too_large");
  expect(larger.json.errors?.map(({ pointer }) => pointer)).toEqual(["/event"]);
  const parsedOf = () => parse.mock.calls.filter(([text]) => text.length > max / 2).length;
  expect(parsedOf()).toBe(1);
  expectProblem(await ask(eventOf(1.25 * max)), 413, "payload_too_large");
  expect(parsedOf()).toBe(1);
});

interface Sample {
  event_id: string;
  matched: boolean;
  explanation?: string;
  before: { type: string; data: Record<string, unknown> };
  after: unknown;
}

interface Many {
  tried: number;
  matched: number;
  failed: number;
  samples: Sample[];
}

const send = (body: unknown, token = "full"): Promise<Reply> =>
  bench.send("POST", "/v1/endpoints/preview", body, token);

async function preview(body: Record<string, unknown>, token = "full"): Promise<unknown> {
  return bench.take("POST", "/v1/endpoints/preview", body, token);
}

async function previewMany(body: Record<string, unknown>, token = "full"): Promise<Many> {
  return (await preview(body, token)) as Many;
}

async function createEndpoint(fields: Record<string, unknown>): Promise<string> {
  const url = bench.api.receiver.url(bench.fresh("preview"));
  return (await bench.take("POST", "/v1/endpoints", { url, ...fields })).id;
}

const paid = {
  type: "invoice.paid",
  timestamp: "2026-11-20T10:00:00+01:00",
  data: { total: 990, note: "x" },
};
const envelope = { ...paid, timestamp: "2026-11-20T09:00:00.000Z" };

describe("on a pasted event", () => {
  test("without anything the body is the envelope, to the spelling of its numbers", async () => {
    const event =
      '{"type":"a.b","timestamp":"2026-11-20T09:00:00Z","data":{"z":1.0,"big": 12345678901234567890}}';
    const reply = await bench.request("POST", "/v1/endpoints/preview", {
      body: `{"filter":null,"event":${event}}`,
      headers: { "content-type": "application/json" },
    });
    expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(reply.text).toBe(
      '{"matched":true,"explanation":null,"body":{"type":"a.b","timestamp":"2026-11-20T09:00:00.000Z",' +
        '"data":{"z":1.0,"big":12345678901234567890}}}',
    );
  });

  test("a filter says yes, or which of its clauses says no", async () => {
    const filter = { type: "invoice.paid", data: { total: { $gte: 990 } } };
    expect(await preview({ event: paid, filter })).toEqual({
      matched: true,
      explanation: null,
      body: envelope,
    });
    expect(await preview({ event: { ...paid, data: { total: 5 } }, filter })).toEqual({
      matched: false,
      explanation: "/data/total/$gte said no: it asks for 990, the value is 5.",
      body: null,
    });
  });

  test("transformations make the body, or say why they cannot", async () => {
    const transformations = [
      { op: "omit", paths: ["data.note", "timestamp"] },
      { op: "wrap", key: "event" },
    ];
    expect(await preview({ event: paid, transformations })).toEqual({
      matched: true,
      explanation: null,
      body: { event: { type: "invoice.paid", data: { total: 990 } } },
    });
    expect(await preview({ event: paid, transformations: [{ op: "unwrap", path: "data.total" }] })).toEqual({
      matched: true,
      explanation: "Transformation 1 failed: the value at data.total is not an object.",
      body: null,
    });
  });

  test("an endpoint's types, filter and transformations apply, unless the body has others", async () => {
    const endpoint_id = await createEndpoint({
      event_types: ["invoice.*", "order.made"],
      filter: { data: { total: { $gt: 1000 } } },
      transformations: [{ op: "unwrap", path: "data" }],
    });
    const on = (more: Record<string, unknown>) => preview({ endpoint_id, event: paid, ...more });
    expect(await on({ event: { ...paid, type: "order.paid" } })).toEqual({
      matched: false,
      explanation: "The endpoint's types are invoice.*, order.made; the event is of the type order.paid.",
      body: null,
    });
    expect(await on({})).toMatchObject({ matched: false, body: null });
    expect(await on({ filter: { data: { total: 990 } } })).toMatchObject({ matched: true, body: paid.data });
    expect(await on({ filter: null, transformations: null })).toMatchObject({
      matched: true,
      body: envelope,
    });
  });

  test("it is of the endpoint's consumer unless it names one", async () => {
    const endpoint_id = await createEndpoint({ consumer_id: "anna" });
    expect(await preview({ endpoint_id, event: paid })).toMatchObject({ matched: true });
    expect(await preview({ endpoint_id, event: { ...paid, consumer_id: "anna" } })).toMatchObject({
      matched: true,
    });
    expect(await preview({ endpoint_id, event: { ...paid, consumer_id: "bert" } })).toEqual({
      matched: false,
      explanation: "The endpoint belongs to a consumer that this event was not published for.",
      body: null,
    });
  });
});

describe("on a stored event", () => {
  test("what is previewed is what was sent", async () => {
    const type = bench.fresh("sent.t");
    const endpoint_id = await createEndpoint({
      event_types: [type],
      transformations: [
        { op: "rename", from: "data.id", to: "data.invoice.id" },
        { op: "set", path: "version", value: [1, null] },
      ],
    });
    const event_id = await bench.publish(type, { id: "in_1", total: 1.5 });
    const [delivery] = await bench.api.settled(event_id);
    const { data } = await bench.take("GET", `/v1/deliveries/${delivery?.id}/attempts`);
    const [attempt] = data as { request_body: string }[];
    const { body } = (await preview({ event_id, endpoint_id })) as { body: unknown };
    expect(JSON.stringify(body)).toBe(attempt?.request_body ?? "");
  });

  test("of another consumer an endpoint is told so", async () => {
    const endpoint_id = await createEndpoint({ consumer_id: "anna" });
    const event_id = await bench.publish("stored.t", {}, { consumer_id: "bert" });
    expect(await preview({ event_id, endpoint_id })).toMatchObject({ matched: false, body: null });
    expect(await preview({ event_id })).toMatchObject({ matched: true });
  });
});

describe("over the newest stored events", () => {
  test("counts what matches and what fails, and shows a few before and after", async () => {
    const consumer_id = bench.fresh("history");
    const endpoint_id = await createEndpoint({ consumer_id, event_types: ["order.*"] });
    const ids: string[] = [];
    for (let total = 0; total < 8; total++) {
      const data = { total, ...(total !== 6 && { order: { total } }) };
      ids.unshift(await bench.publish("order.paid", data, { consumer_id }));
    }
    await bench.publish("invoice.paid", {}, { consumer_id });
    await bench.publish("order.paid", {}, { consumer_id: `${consumer_id}x` });
    const { samples, ...counts } = await previewMany({
      endpoint_id,
      filter: { data: { total: { $gte: 3 } } },
      transformations: [{ op: "unwrap", path: "data.order" }],
      last: 8,
    });
    expect(counts).toEqual({ tried: 8, matched: 5, failed: 1 });
    const shown = samples.map(({ event_id, matched, after }) => [ids.indexOf(event_id), matched, after]);
    expect(shown).toEqual([
      [-1, false, null],
      [0, true, { total: 7 }],
      [1, true, null],
      [2, true, { total: 5 }],
      [3, true, { total: 4 }],
      [5, false, null],
      [6, false, null],
    ]);
    expect(samples[2]?.explanation).toBe("Transformation 1 failed: the value at data.order is missing.");
    expect(samples[5]?.explanation).toBe("/data/total/$gte said no: it asks for 3, the value is 2.");
    expect(samples[1]).not.toHaveProperty("explanation");
    expect(samples[1]?.before).toMatchObject({ type: "order.paid", data: { total: 7, order: { total: 7 } } });
  });

  test("looks at no more than are there, and at no test event", async () => {
    const consumer_id = bench.fresh("history");
    const endpoint_id = await createEndpoint({ consumer_id });
    await bench.publish("a.b", { n: 1 }, { consumer_id });
    await bench.take("POST", `/v1/endpoints/${endpoint_id}/test`, {});
    expect(await previewMany({ endpoint_id, last: 1000 })).toMatchObject({ tried: 1, matched: 1, failed: 0 });
    const nobody = await createEndpoint({ consumer_id: bench.fresh("nobody") });
    expect(await previewMany({ endpoint_id: nobody, last: 5 })).toEqual({
      tried: 0,
      matched: 0,
      failed: 0,
      samples: [],
    });
  });

  test("a key repeats the first answer, word by word", async () => {
    await bench.publish("a.b", { big: 1 });
    const once = (): Promise<Reply> =>
      bench.request("POST", "/v1/endpoints/preview", {
        json: { last: 1 },
        headers: { "idempotency-key": "preview-1" },
      });
    const first = await once();
    await bench.publish("a.b", { big: 2 });
    const again = await once();
    expect([again.text, again.headers.get("idempotency-replayed")]).toEqual([first.text, "true"]);
  });
});

test("nothing is stored and nothing is sent", async () => {
  const [name, type] = [bench.fresh("silent"), bench.fresh("silent.t")];
  const made = await bench.take("POST", "/v1/endpoints", {
    url: bench.api.receiver.url(name),
    event_types: [type],
  });
  const endpoint_id = made.id;
  await preview({ endpoint_id, event: { ...paid, type } });
  await preview({ endpoint_id, last: 100 });
  await bench.publish(type, { real: true });
  await bench.api.receiver.arrived(name);
  expect(bench.api.receiver.requests(name)).toHaveLength(1);
  expect((await bench.take("GET", `/v1/events?type=${type}`))["data"]).toHaveLength(1);
  expect((await bench.take("GET", `/v1/deliveries?endpoint_id=${endpoint_id}`))["data"]).toHaveLength(1);
});

describe("a filter that looks for what no event has", () => {
  const filter = { "data.total": { $gte: 5 } };
  const warnings = [
    {
      pointer: "/filter/data.total",
      detail:
        'No event has "data.total" at its top, only type, timestamp and data: write {"data": {"total": …}}.',
    },
  ];

  test("is tried, with a warning beside the answer", async () => {
    expect(await preview({ event: paid, filter })).toMatchObject({ matched: false, warnings });
    expect(await previewMany({ last: 5, filter })).toMatchObject({ matched: 0, warnings });
  });

  test("is saved, by creation and by change, with the same warning; it is kept as it was written", async () => {
    const url = bench.api.receiver.url(bench.fresh("warned"));
    const made = await bench.take("POST", "/v1/endpoints", { url, filter });
    expect(made).toMatchObject({ filter, warnings });
    const path = `/v1/endpoints/${made.id}`;
    expect(await bench.take("PATCH", path, { filter })).toMatchObject({ filter, warnings });
    expect(await bench.take("PATCH", path, { description: "other" })).not.toHaveProperty("warnings");
    expect(await bench.take("PATCH", path, { filter: { data: { total: 5 } } })).not.toHaveProperty(
      "warnings",
    );
    expect(await preview({ event: paid, filter: null })).not.toHaveProperty("warnings");
  });
});

describe("refused with a pointer", () => {
  test.each([
    ["nothing to try on", { filter: {} }, ["/event"]],
    ["an event and an id", { event: paid, event_id: "evt_1" }, ["/event_id"]],
    ["an id and a number", { event_id: "evt_1", last: 1 }, ["/last"]],
    ["no event at all", { last: 0 }, ["/last"]],
    ["more than 1,000", { last: 1001 }, ["/last"]],
    [
      "an unknown operator",
      { event: paid, filter: { data: { a: { $regex: "x" } } } },
      ["/filter/data/a/$regex"],
    ],
    ["an unknown operation", { event: paid, transformations: [{ op: "eval" }] }, ["/transformations/0/op"]],
    [
      "a wrong path",
      { event: paid, transformations: [{ op: "omit", paths: ["a..b"] }] },
      ["/transformations/0/paths/0"],
    ],
    [
      "filter and transformations at once",
      { last: 1, filter: { a: { $in: [] } }, transformations: [{ op: "wrap", key: "" }] },
      ["/filter/a/$in", "/transformations/0/key"],
    ],
    ["a pasted event without data", { event: { type: "a" } }, ["/event/data"]],
    ["a pasted event of a wrong type", { event: { ...paid, type: "a b" } }, ["/event/type"]],
    ["a pasted event of a wrong time", { event: { ...paid, timestamp: "yesterday" } }, ["/event/timestamp"]],
    ["a pasted event of unknown fields", { event: { ...paid, id: "evt_1" } }, ["/event/id"]],
    ["an unknown field", { event: paid, filters: {} }, ["/filters"]],
  ])("%s", async (_name, body, pointers) => {
    const reply = await send(body);
    expectProblem(reply, 422, "invalid_request");
    expect(pointersOf(reply)).toEqual(pointers);
  });
});

describe("what a caller does not see", () => {
  test("is unknown: events and endpoints of another project", async () => {
    const event_id = await bench.publish("foreign.t", {});
    const endpoint_id = await createEndpoint({});
    expect((await send({ event_id, endpoint_id })).status).toBe(200);
    for (const [foreign, unknown] of [
      [{ event_id }, { event_id: "evt_nonsense" }],
      [
        { endpoint_id, event: paid },
        { endpoint_id: "ep_nonsense", event: paid },
      ],
      [
        { endpoint_id, last: 1 },
        { endpoint_id: "ep_nonsense", last: 1 },
      ],
    ]) {
      const reply = await send(foreign, "other");
      expectProblem(reply, 404, "not_found");
      expect(reply.json.detail).toBe((await send(unknown, "other")).json.detail ?? "");
    }
    const { samples } = await previewMany({ last: 1000 }, "other");
    expect(samples.map((sample) => sample.event_id)).not.toContain(event_id);
  });

  test("a portal token previews over its consumer's events only, read grant or more", async () => {
    const [own, foreign] = [
      await bench.publish("portal.t", { whose: "anna" }, { consumer_id: "anna" }),
      await bench.publish("portal.t", { whose: "bert" }, { consumer_id: "bert" }),
    ];
    const [annas, berts, projects] = [
      await createEndpoint({ consumer_id: "anna" }),
      await createEndpoint({ consumer_id: "bert" }),
      await createEndpoint({}),
    ];
    for (const token of ["anna", "annaManages"]) {
      const { samples } = await previewMany({ last: 1000, filter: { type: "portal.t" } }, token);
      expect(
        new Set(samples.filter(({ matched }) => matched).map(({ before }) => before.data["whose"])),
      ).toEqual(new Set(["anna"]));
      expect(await preview({ event_id: own, endpoint_id: annas }, token)).toMatchObject({ matched: true });
      expectProblem(await send({ event_id: foreign }, token), 404, "not_found");
      for (const endpoint_id of [berts, projects])
        expectProblem(await send({ last: 1, endpoint_id }, token), 404, "not_found");
      expect(await preview({ event: paid, endpoint_id: annas }, token)).toMatchObject({ matched: true });
      const reply = await send({ event: { ...paid, consumer_id: "bert" } }, token);
      expect([reply.status, pointersOf(reply)]).toEqual([422, ["/event/consumer_id"]]);
    }
  });

  test("keys of scope publish or read may not preview", async () => {
    for (const token of ["publish", "read"]) expectProblem(await send({ last: 1 }, token), 403, "forbidden");
  });
});

test("a large and hostile history is judged within the steps of each event", async () => {
  const consumer_id = bench.fresh("hostile");
  for (let at = 0; at < 3; at++)
    await bench.publish("hostile.t", { x: Array.from({ length: 300_000 }, () => 1) }, { consumer_id });
  const endpoint_id = await createEndpoint({ consumer_id });
  const filter = { data: { x: { $and: Array.from({ length: 100 }, (_, at) => ({ $neq: at + 5 })) } } };
  const { samples, ...counts } = await previewMany({ endpoint_id, filter, last: 10 });
  expect(counts).toEqual({ tried: 3, matched: 0, failed: 0 });
  expect(samples[0]?.explanation).toContain("takes more than 600000 steps");
});

test.each([
  ["small", 10_000],
  ["large", 100_000],
])("of an account's many %s events one at a time is kept parsed for its previews", async (_size, bytes) => {
  const schedule = (next: () => void) => void setImmediate(next);
  const queue = new TurnQueue({ schedule, beginShare: () => ({ isOver: true }) });
  const compiled = compileTransformations([{ op: "omit", paths: ["data.z"] }]);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
  const shaping = { endpoint: null, filter: null, transformation: compiled.transformation };
  const data = JSON.stringify({ x: "y".repeat(bytes) });
  const event = { type: "a.b", timestamp: 0, consumerId: null, data };
  const previews = Array.from({ length: 20 }, (_, key) => {
    const turns = queue.of("account", null, `key:${key % 4}`);
    return async () => await tryOn(shaping, event, turns, false);
  });
  expect(await parsedAtOnce(previews, bytes)).toBe(1);
});
