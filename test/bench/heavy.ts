/**
 * Floods of the flood bench that are few requests and much memory. Each meets a service of its own, and is of
 * another account than the neighbour.
 */
import {
  atOnce,
  call,
  makeEndpoints,
  makeLink,
  publish,
  type Tally,
  type Target,
  untilSent,
} from "./heavy-kit.ts";
import {
  crowdedPolls,
  filteredLists,
  heldLogos,
  longHeads,
  manyVersions,
  reshapedPastCache,
  schemasPastCache,
  searchingExports,
  signedBodies,
  strangersMegabytes,
} from "./heavy-callers.ts";
import { holdConnections } from "./held.ts";

export interface HeavyFlood {
  name: string;
  /** Above it the bench fails: up to half more than was measured, and less than without what bounds it. */
  peakMiBMax: number;
  /** How long the neighbour is watched: the flood ends before. */
  seconds: number;
  /** What has to be there before; answers the flood, which ends with what its requests were answered. */
  prepare(target: Target): Promise<() => Promise<Tally>>;
}

const MEGABYTE = "x".repeat(1_000_000);

export const HEAVY_FLOODS: readonly HeavyFlood[] = [
  { name: "large, hanging", peakMiBMax: 500, seconds: 20, prepare: largeToHanging },
  { name: "batch, all filtered", peakMiBMax: 320, seconds: 20, prepare: filteredBatch },
  { name: "polls, unread", peakMiBMax: 1000, seconds: 15, prepare: unreadPolls },
  { name: "previews", peakMiBMax: 900, seconds: 20, prepare: previews },
  { name: "replays of one", peakMiBMax: 640, seconds: 30, prepare: replaysOfOne },
  { name: "middling, filters", peakMiBMax: 300, seconds: 20, prepare: middlingToFilters },
  { name: "large, schema", peakMiBMax: 480, seconds: 20, prepare: largeToSchema },
  { name: "exports, unread", peakMiBMax: 310, seconds: 20, prepare: unreadExports },
  { name: "outcomes at once", peakMiBMax: 375, seconds: 20, prepare: outcomesAtOnce },
  { name: "long answers", peakMiBMax: 400, seconds: 20, prepare: longAnswersAtOnce },
  { name: "wide, all sorts", peakMiBMax: 520, seconds: 20, prepare: wideToAllSorts },
  { name: "lists of wide", peakMiBMax: 450, seconds: 15, prepare: listsOfWide },
  { name: "numbers, backlog", peakMiBMax: 300, seconds: 15, prepare: numbersOfBacklog },
  { name: "order, to and fro", peakMiBMax: 300, seconds: 15, prepare: orderToAndFro },
  { name: "chunks of a byte", peakMiBMax: 250, seconds: 15, prepare: chunksOfAByte },
  { name: "small, reshaped", peakMiBMax: 750, seconds: 20, prepare: smallReshaped },
  { name: "large, read at once", peakMiBMax: 650, seconds: 15, prepare: largeReadAtOnce },
  { name: "pipelined, no key", peakMiBMax: 170, seconds: 15, prepare: pipelined },
  { name: "refused previews", peakMiBMax: 350, seconds: 15, prepare: refusedPreviews },
  { name: "many credentials", peakMiBMax: 180, seconds: 15, prepare: manyCredentials },
  { name: "black holes", peakMiBMax: 370, seconds: 30, prepare: blackHoles },
  { name: "signed bodies", peakMiBMax: 650, seconds: 15, prepare: signedBodies },
  { name: "strangers", peakMiBMax: 650, seconds: 15, prepare: strangersMegabytes },
  { name: "held polls", peakMiBMax: 400, seconds: 15, prepare: crowdedPolls },
  { name: "held logos", peakMiBMax: 250, seconds: 15, prepare: heldLogos },
  { name: "long heads", peakMiBMax: 300, seconds: 15, prepare: longHeads },
  { name: "filtered lists", peakMiBMax: 350, seconds: 20, prepare: filteredLists },
  { name: "many versions", peakMiBMax: 300, seconds: 30, prepare: manyVersions },
  { name: "reshaped, past cache", peakMiBMax: 450, seconds: 20, prepare: reshapedPastCache },
  { name: "schemas, past cache", peakMiBMax: 650, seconds: 20, prepare: schemasPastCache },
  { name: "searching exports", peakMiBMax: 500, seconds: 20, prepare: searchingExports },
  { name: "fresh types", peakMiBMax: 400, seconds: 15, prepare: freshTypes },
];

/** 60 events of a megabyte to 40 endpoints that take them and never answer. */
async function largeToHanging(target: Target): Promise<() => Promise<Tally>> {
  const { port } = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  await makeEndpoints(target, 40, { url: `http://127.0.0.1:${port}/` });
  return () => atOnce(60, () => publish(target, { text: MEGABYTE }));
}

/** 500 tiny events, about each of which very many filters are asked, and say no. */
async function filteredBatch(target: Target): Promise<() => Promise<Tally>> {
  const fields = { url: "http://127.0.0.1:9/", filter: { data: { n: { $lt: 0 } } } };
  await makeEndpoints(target, target.endpoints, fields);
  const events = Array.from({ length: 500 }, (_, n) => ({ type: "bench.heavy", data: { n } }));
  return () => atOnce(1, () => call(target, "POST", "/v1/events/batch", { events }));
}

/** Connections that ask for the largest page of a poller, and read nothing of it. */
async function unreadPolls(target: Target): Promise<() => Promise<Tally>> {
  const reply = await call(target, "POST", "/v1/endpoints", { kind: "poll" });
  const { id, secret } = (await reply.json()) as { id: string; secret: string };
  await atOnce(16, () => publish(target, { text: MEGABYTE }));
  const request = `GET /poll/${id}?limit=100 HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${secret}\r\n\r\n`;
  return async () => {
    const close = await holdConnections(target.port, request, 400);
    await Bun.sleep(10_000);
    close();
    return {};
  };
}

/** 200 previews at once by one portal link, each over 40 events of a megabyte. */
async function previews(target: Target): Promise<() => Promise<Tally>> {
  await atOnce(40, () => publish(target, { n: 1, text: MEGABYTE }, { consumer_id: "anna" }));
  const key = await makeLink(target, "anna");
  const transformations = [{ op: "set", path: "data.made", value: true }];
  const body = { last: 40, filter: { data: { n: { $gte: 0 } } }, transformations };
  return () => atOnce(200, () => call({ ...target, key }, "POST", "/v1/endpoints/preview", body), 200);
}

/** 30 replays at once of one event that went to very many endpoints. */
async function replaysOfOne(target: Target): Promise<() => Promise<Tally>> {
  const receiver = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  await makeEndpoints(target, target.endpoints, { url: `http://127.0.0.1:${receiver.port}/` });
  const { id } = (await (await publish(target, {})).json()) as { id: string };
  await untilSent(target, id);
  return () => atOnce(30, () => call(target, "POST", `/v1/events/${id}/replay`, {}), 30);
}

/** 400 events of 46 KB, about each of which 300 filters are asked. */
async function middlingToFilters(target: Target): Promise<() => Promise<Tally>> {
  const fields = { url: "http://127.0.0.1:9/", filter: { data: { items: { $exist: false } } } };
  await makeEndpoints(target, 300, fields);
  const items = Array.from({ length: 1000 }, (_, n) => ({ id: `item_${n}`, amount: n, tags: ["a", "b"] }));
  return () => atOnce(400, () => publish(target, { items }), 40);
}

/** 60 events of nearly a megabyte, each held against a schema. */
async function largeToSchema(target: Target): Promise<() => Promise<Tally>> {
  const row = { type: "object", properties: { n: { type: "integer" }, text: { type: "string" } } };
  const schema = { type: "object", properties: { rows: { type: "array", items: row } } };
  const reply = await call(target, "POST", "/v1/event-types", { name: "bench.heavy", schema });
  if (reply.status !== 201) throw new Error(`no event type: ${reply.status} ${await reply.text()}`);
  const rows = Array.from({ length: 20_000 }, (_, n) => ({ n, text: "twenty characters it" }));
  return () => atOnce(60, () => publish(target, { rows }), 20);
}

/** Connections that ask for all of the log as a file, and read nothing of it. */
async function unreadExports(target: Target): Promise<() => Promise<Tally>> {
  await makeEndpoints(target, 1, { url: "http://127.0.0.1:9/" });
  for (let at = 0; at < 20; at++) {
    const events = Array.from({ length: 500 }, () => ({
      type: "bench.heavy",
      data: { text: "x".repeat(500) },
    }));
    await call(target, "POST", "/v1/events/batch", { events });
  }
  const path = "/v1/deliveries?format=ndjson";
  const request = `GET ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${target.key}\r\n\r\n`;
  return async () => {
    const close = await holdConnections(target.port, request, 2000);
    await Bun.sleep(12_000);
    close();
    return {};
  };
}

/** A receiver that holds thousands of attempts, and answers them all at one instant. */
async function outcomesAtOnce(target: Target): Promise<() => Promise<Tally>> {
  const gate = Promise.withResolvers<void>();
  let isOpen = false;
  const answer = async () => {
    if (!isOpen) await gate.promise;
    return new Response();
  };
  const receiver = Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch: answer });
  await makeEndpoints(target, Math.min(8000, target.endpoints), {
    url: `http://127.0.0.1:${receiver.port}/`,
  });
  await publish(target, {});
  return async () => {
    await Bun.sleep(8000);
    isOpen = true;
    gate.resolve();
    return {};
  };
}

/** 1,000 requests that are answered in one moment, by what takes long to search for credentials. */
async function longAnswersAtOnce(target: Target): Promise<() => Promise<Tally>> {
  const gate = Promise.withResolvers<void>();
  const answer = async () => {
    await gate.promise;
    return new Response("%41".repeat(6000), { headers: { "x-long": "%41".repeat(5000) } });
  };
  const receiver = Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch: answer });
  await makeEndpoints(target, 10, {
    url: `http://127.0.0.1:${receiver.port}/`,
    max_concurrency: 100,
    headers: { "x-token": "short-credential" },
  });
  await atOnce(100, () => publish(target, {}));
  return async () => {
    await Bun.sleep(5000);
    gate.resolve();
    return {};
  };
}

/** An event to very many endpoints: unordered, ordered, polled, paused, and some that cannot be reached. */
async function wideToAllSorts(target: Target): Promise<() => Promise<Tally>> {
  const receiver = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const url = `http://127.0.0.1:${receiver.port}/`;
  const some = Math.floor(target.endpoints / 5);
  await makeEndpoints(target, some, { url });
  await makeEndpoints(target, some, { url, ordering: "fifo" });
  await makeEndpoints(target, some, { kind: "poll" });
  await makeEndpoints(target, some, { url: "http://127.0.0.1:9/" });
  await makeEndpoints(target, some, { url, rate_limit_per_second: 1 });
  await publish(target, {});
  await Bun.sleep(5000);
  return () => atOnce(5, () => publish(target, {}), 1);
}

/** Four read-only links that look for dead deliveries in events with thousands each. */
async function listsOfWide(target: Target): Promise<() => Promise<Tally>> {
  const [own, others] = [Math.min(1000, target.endpoints), Math.min(3000, target.endpoints)];
  await makeEndpoints(target, own, { kind: "poll", consumer_id: "anna" });
  await makeEndpoints(target, others, { kind: "poll" });
  await atOnce(60, () => publish(target, {}, { consumer_id: "anna" }), 4);
  const links = Array.from({ length: 4 }, () => makeLink(target, "anna"));
  const keys = await Promise.all(links);
  return async () => {
    const ask = (key: string) => call({ ...target, key }, "GET", "/v1/events?status=dead&limit=250");
    const tallies = await Promise.all(keys.map((key) => atOnce(10, () => ask(key), 1)));
    return { "200": tallies.reduce((sum, tally) => sum + (tally["200"] ?? 0), 0) };
  };
}

/** The numbers of an endpoint with a backlog, a hundred times in each request. */
async function numbersOfBacklog(target: Target): Promise<() => Promise<Tally>> {
  const id = await makeBacklog(target);
  const path = `/v1/stats/endpoints?endpoint_ids=${Array.from({ length: 100 }, () => id).join(",")}`;
  return () => atOnce(50, () => call(target, "GET", path), 4);
}

/** An endpoint with a backlog that comes to keep order, and gives it up again. */
async function orderToAndFro(target: Target): Promise<() => Promise<Tally>> {
  const id = await makeBacklog(target);
  let at = 0;
  const change = () =>
    call(target, "PATCH", `/v1/endpoints/${id}`, { ordering: at++ % 2 === 0 ? "fifo" : "none" });
  return () => atOnce(40, change, 1);
}

/** Answers that come in as many chunks as they have bytes. */
async function chunksOfAByte(target: Target): Promise<() => Promise<Tally>> {
  const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
  const answer = Buffer.from(`${head}${"1\r\nx\r\n".repeat(65_000)}0\r\n\r\n`);
  const receiver = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket) {
        socket.write(answer);
        socket.end();
      },
    },
  });
  await makeEndpoints(target, 20, { url: `http://127.0.0.1:${receiver.port}/` });
  return () => atOnce(30, () => publish(target, {}), 1);
}

/** Bodies just light enough to be parsed in passing, each for many endpoints that reshape it. */
async function smallReshaped(target: Target): Promise<() => Promise<Tally>> {
  const receiver = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const rename = (at: number) => ({ op: "rename", from: `data.list.${at}`, to: `data.k${at}` });
  const transformations = Array.from({ length: 32 }, (_, at) => rename(at));
  const fields = { transformations, max_concurrency: 100 };
  await makeEndpoints(target, 40, { url: `http://127.0.0.1:${receiver.port}/`, ...fields });
  const list = Array.from({ length: 21_000 }, () => []);
  return () => atOnce(60, () => publish(target, { list }), 4);
}

/** A hundred readers at one instant of an attempt that shows nearly a megabyte. */
async function largeReadAtOnce(target: Target): Promise<() => Promise<Tally>> {
  const receiver = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  await makeEndpoints(target, 1, { url: `http://127.0.0.1:${receiver.port}/` });
  const { id } = (await (await publish(target, { text: MEGABYTE })).json()) as { id: string };
  await untilSent(target, id);
  const reply = await call(target, "GET", `/v1/deliveries?event_id=${id}`);
  const [delivery] = ((await reply.json()) as { data: { id: string }[] }).data;
  const read = () => call(target, "GET", `/v1/deliveries/${String(delivery?.id)}/attempts`);
  return () => atOnce(100, read, 100);
}

/** Requests in one burst on one connection, of somebody without a key who reads no answer. */
async function pipelined({ port }: Target): Promise<() => Promise<Tally>> {
  const request = "GET /x HTTP/1.1\r\nhost: a\r\n\r\n".repeat(150_000);
  return async () => {
    const close = await holdConnections(port, request, 1);
    await Bun.sleep(12_000);
    close();
    return {};
  };
}

/** Previews of a link that may only read, each with a filter that is refused for its size. */
async function refusedPreviews(target: Target): Promise<() => Promise<Tally>> {
  const key = await makeLink(target, "anna");
  const filter = { data: { n: { $in: Array.from({ length: 550_000 }, () => 1) } } };
  const body = { event: { type: "bench.heavy", data: {} }, filter };
  return () => atOnce(20, () => call({ ...target, key }, "POST", "/v1/endpoints/preview", body), 4);
}

/** Headers of very many credentials, each of which is hidden in an answer that holds none. */
async function manyCredentials(target: Target): Promise<() => Promise<Tally>> {
  const fetch = () => new Response("abcdefgh".repeat(2048));
  const receiver = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch });
  const value = (nth: number) =>
    Array.from({ length: 340 }, (_, at) => `a=q${(nth * 1000 + at).toString(36).padStart(8, "q")};`).join("");
  const names = Array.from({ length: 20 }, (_, nth) => [`x-auth-${nth}`, value(nth)]);
  const headers = Object.fromEntries(names) as Record<string, string>;
  await makeEndpoints(target, 1, { url: `http://127.0.0.1:${receiver.port}/`, headers });
  const events = Array.from({ length: 60 }, () => ({ type: "bench.heavy", data: {} }));
  return () => atOnce(5, () => call(target, "POST", "/v1/events/batch", { events }), 1);
}

/** Types that were not seen before, in a project of very many filters. */
async function freshTypes(target: Target): Promise<() => Promise<Tally>> {
  const filter = { data: { wanted: true } };
  await makeEndpoints(target, target.endpoints, { url: "http://127.0.0.1:9/", filter });
  let at = 0;
  const publishFresh = () => publish(target, {}, { type: `bench.fresh${at++}` });
  return () => atOnce(400, publishFresh, 8);
}

/** Receivers that answer no attempt to connect, and are given up after a second, by many endpoints. */
async function blackHoles(target: Target): Promise<() => Promise<Tally>> {
  const holes = Bun.spawn(["python3", "-u", "-c", HOLE], { stdout: "pipe" });
  const { value } = await holes.stdout.getReader().read();
  const url = `http://127.0.0.1:${new TextDecoder().decode(value).trim()}/`;
  await makeEndpoints(target, 500, { url, timeout_seconds: 1, max_concurrency: 100 });
  return async () => {
    const tally = await atOnce(100, () => publish(target, {}));
    await Bun.sleep(20_000);
    holes.kill();
    return tally;
  };
}

/** A listener whose queue is full, and which takes nobody out of it: what comes then is dropped. */
const HOLE = `
import socket, time
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(0)
held = []
for _ in range(4):
    held.append(socket.socket())
    held[-1].setblocking(False)
    held[-1].connect_ex(listener.getsockname())
print(listener.getsockname()[1])
time.sleep(600)
`;

/** An endpoint that is paused, with 200,000 deliveries; answers its id. */
async function makeBacklog(target: Target): Promise<string> {
  const reply = await call(target, "POST", "/v1/endpoints", { url: "http://127.0.0.1:9/" });
  const { id } = (await reply.json()) as { id: string };
  await call(target, "POST", `/v1/endpoints/${id}/pause`);
  const events = Array.from({ length: 500 }, () => ({ type: "bench.heavy", data: {} }));
  await atOnce(400, () => call(target, "POST", "/v1/events/batch", { events }), 4);
  return id;
}
