import { afterAll, beforeEach, expect, test } from "bun:test";
import { Publisher } from "../../../src/client/bridge/publisher.ts";
import { Api } from "../../../src/client/api.ts";
import { limit } from "../../../src/core/limits.ts";
import type { Service } from "../../kit/service.ts";
import { onService } from "../listening.ts";
import { eventsOf } from "./trial.ts";

let service: Service;
onService((at) => ({ service } = at));

const publisherOf = (url: string, key: string) => new Publisher(new Api({ url, key }));
const eventText = (id: string, more: object = {}) =>
  JSON.stringify({ type: "a.b", data: {}, external_id: id, ...more });
const many = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, at) => eventText(`${prefix}${at}`));

/** All verdicts, asked for as the loop does. */
async function publishAll(publisher: Publisher, texts: readonly string[]): Promise<(string | null)[]> {
  const verdicts: (string | null)[] = [];
  while (verdicts.length < texts.length)
    verdicts.push(...(await publisher.publish(texts.slice(verdicts.length))));
  return verdicts;
}

test("events are published together, in their order, and are known when they come again", async () => {
  const publisher = publisherOf(service.url, service.keys.test);
  const texts = many("o", 250);
  expect((await publisher.publish(texts)).length).toBe(100);
  expect(await publishAll(publisher, texts)).toEqual(texts.map(() => null));
  expect([publisher.count, publisher.repeatedCount]).toEqual([350, 100]);
  const ids = (await eventsOf(service)).map(({ external_id: id }) => id);
  expect(ids.toReversed()).toEqual(Array.from({ length: 250 }, (_, at) => `o${at}`));
});

test("whatever stands among them, each gets the verdict that it would get alone", async () => {
  const publisher = publisherOf(service.url, service.keys.test);
  const isBad = (at: number) => at % 7 === 3 || at > 95;
  const texts = many("b", 100).map((text, at) =>
    isBad(at) ? eventText(`b${at}`, { type: "no type" }) : text,
  );
  const verdicts = await publishAll(publisher, texts);
  expect(verdicts.map((verdict) => verdict !== null)).toEqual(texts.map((_, at) => isBad(at)));
  expect(verdicts[3]).toContain("/v1/events is answered 422: The request is not valid.\n  /type: Expected");
  expect(publisher.count).toBe(verdicts.filter((verdict) => verdict === null).length);
});

test("no more go together than a request may hold", async () => {
  const publisher = publisherOf(service.url, service.keys.test);
  const large = "x".repeat(limit("eventBodyBytesMax") - 100);
  const texts = Array.from({ length: 10 }, (_, at) => eventText(`l${at}`, { data: { large } }));
  expect((await publisher.publish(texts)).length).toBe(8);
  expect((await publisher.publish(texts.slice(0, 1))).length).toBe(1);
});

test.each([1, 3])("%d without ids, whose answer is lost, are not published twice", async (count) => {
  let isCut = true;
  await using wire = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const { method, headers } = request;
      const reply = await fetch(`${service.url}${pathname}`, { method, headers, body: await request.text() });
      return isCut ? new Response("", { status: 502 }) : new Response(await reply.text(), reply);
    },
  });
  const before = (await eventsOf(service)).length;
  const publisher = new Publisher(
    new Api({ url: `http://127.0.0.1:${wire.port}`, key: service.keys.test }),
    true,
  );
  const texts = Array.from({ length: count }, (_, n) => JSON.stringify({ type: "no.id", data: { n } }));
  await expect(publisher.publish(texts)).rejects.toThrow("is answered 502");
  isCut = false;
  expect((await publisher.publish(texts)).length).toBe(count);
  expect((await eventsOf(service)).length).toBe(before + count);
  // Answered, and then the same once more: these are others.
  await publisher.publish(texts);
  expect((await eventsOf(service)).length).toBe(before + 2 * count);
});

let answer: () => Response = () => new Response();
let sizes: number[] = [];
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    const body = (await request.json()) as { events?: unknown[] };
    sizes.push(body.events?.length ?? 1);
    return answer();
  },
});
afterAll(() => server.stop(true));
beforeEach(() => {
  sizes = [];
});
const there = () => publisherOf(`http://127.0.0.1:${server.port}`, "k");

test("a rate limit halves what goes together, down to one", async () => {
  answer = () => Response.json({ code: "rate_limited" }, { status: 429 });
  const publisher = there();
  const texts = many("r", 100);
  for (let nth = 0; nth < 9; nth++)
    expect(await publisher.publish(texts.slice(0, publisher.size)).catch(() => "refused")).toBe("refused");
  expect(sizes).toEqual([100, 50, 25, 12, 6, 3, 1, 1, 1]);
});

test("what is no judgement of an event is thrown, and no verdict", async () => {
  const answers = [
    Response.json({ code: "unauthenticated" }, { status: 401 }),
    Response.json({ code: "plan_limit_reached" }, { status: 402 }),
    new Response("a proxy's own words", { status: 400 }),
    Response.json({ code: "unavailable" }, { status: 503 }),
  ];
  for (const one of answers) {
    answer = () => one;
    const thrown: unknown = await there()
      .publish(many("p", 1))
      .catch((error: unknown) => error);
    expect(thrown).toMatchObject({ name: "Refused", status: one.status });
  }
});

test.each([[{}], [{ id: "evt_1" }], [{ data: [] }], [[]]])(
  "%j names no event: nothing is given up",
  async (json) => {
    answer = () => Response.json(json);
    for (const count of [1, 2])
      await expect(there().publish(many("n", count))).rejects.toThrow("does not answer as Sealpost does");
  },
);
