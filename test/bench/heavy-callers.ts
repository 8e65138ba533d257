import type { Socket } from "bun";
import { createHmac } from "node:crypto";
import { atOnce, call, makeEndpoints, makeLink, publish, type Tally, type Target } from "./heavy-kit.ts";
import { holdConnections } from "./held.ts";

/** Heavy floods by those who may call, and by receivers of a raw answer. */

/** The last byte of every payload. */
const BRACE = 0x7d;
const SECRET = "a-secret-of-the-bench";
const none = () => Promise.reject<Response>(new Error("none"));

/**
 * Signed bodies of a megabyte that make most work of what is read after the proof: very many proofs to mask,
 * ids beyond 2^53, values behind many levels, and a search in XML that finds no end. Then many at once of
 * those that take most memory once they are parsed.
 */
export async function signedBodies(target: Target): Promise<() => Promise<Tally>> {
  const custom = { header: "x-sig", algorithm: "sha256", encoding: "hex" };
  const sign = (body: string) => createHmac("sha256", SECRET).update(body).digest("hex");
  const signed = (body: string) => ({ body, headers: { "x-sig": sign(body) } });
  const proofs = '{"clientState":"s"},'.repeat(52_000).slice(0, -1);
  const objects = `${"{},".repeat(349_000)}{}`;
  const zeros = `${"0,".repeat(510_000)}0`;
  const payload = Buffer.from("<kind ".repeat(100_000)).toString("base64");
  const mac = createHmac("sha1", new Bun.SHA1().update("sk").digest()).update(payload).digest("hex");
  const form = new URLSearchParams({ bt_signature: `pk|${mac}`, bt_payload: payload });
  const sources = [
    [
      { provider: "microsoft_graph", signing_secret: "s" },
      { body: `{"value":[${proofs}]}`, headers: {} },
    ],
    [
      {
        provider: "hmac",
        signing_secret: SECRET,
        config: { ...custom, id_path: "id", type_path: "type" },
      },
      signed(`{"id":12345678901234567890,"type":12345678901234567891,"x":[${zeros}]}`),
    ],
    [
      { provider: "hmac", signing_secret: SECRET, config: { ...custom, id_path: `x${".*".repeat(60)}` } },
      signed(`{"x":${"[".repeat(60)}${zeros}${"]".repeat(60)}}`),
    ],
    [
      { provider: "braintree", credentials: { public_key: "pk", private_key: "sk" } },
      { body: form.toString(), headers: { "content-type": "application/x-www-form-urlencoded" } },
    ],
    [
      { provider: "microsoft_graph", signing_secret: "s" },
      { body: `{"value":[{"clientState":"s","id":"1","x":[${objects}]}]}`, headers: {} },
    ],
  ] as const;
  const requests: (() => Promise<Response>)[] = [];
  for (const [source, { body, headers }] of sources) {
    const reply = await call(target, "POST", "/v1/sources", { name: "bench", ...source });
    const { ingest_path: path } = (await reply.json()) as { ingest_path: string };
    requests.push(() => fetch(`http://127.0.0.1:${target.port}${path}`, { method: "POST", body, headers }));
  }
  const parsedLarge = requests.pop();
  let at = 0;
  return async () => {
    const tally = await atOnce(40, () => requests[at++ % requests.length]?.() ?? none(), 4);
    const others = await atOnce(28, () => parsedLarge?.() ?? none(), 28);
    return {
      ...tally,
      ...Object.fromEntries(Object.entries(others).map(([key, n]) => [`at once ${key}`, n])),
    };
  };
}

/**
 * Strangers who send a megabyte to no source, each again as soon as it is answered, beside a genuine sender:
 * more than half of what that sends has to pass.
 */
export async function strangersMegabytes(target: Target): Promise<() => Promise<Tally>> {
  const source = { name: "bench", provider: "github", signing_secret: SECRET };
  const reply = await call(target, "POST", "/v1/sources", source);
  const { ingest_path: path } = (await reply.json()) as { ingest_path: string };
  const send = (to: string, body: string, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${target.port}${to}`, { method: "POST", body, headers });
  const megabyte = "x".repeat(1024 * 1024);
  const stranger = () => send("/ingest/src_01M888DMFK00XMN49FS0AGF330", megabyte);
  const body = JSON.stringify({ text: "x".repeat(200_000) });
  const signature = `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`;
  let nth = 0;
  const genuine = async () => {
    await Bun.sleep(20);
    const own = { "x-hub-signature-256": signature, "x-github-event": "push" };
    return send(path, body, { ...own, "x-github-delivery": String(nth++) });
  };
  return async () => {
    const [strangers, passed] = await Promise.all([atOnce(4000, stranger, 100), atOnce(10, genuine, 1)]);
    if ((passed["200"] ?? 0) < 6)
      throw new Error(`genuine bodies have not passed: ${JSON.stringify(passed)}`);
    return {
      ...Object.fromEntries(Object.entries(passed).map(([key, n]) => [`genuine ${key}`, n])),
      ...strangers,
    };
  };
}

/** Held polls of endpoints that are paused, each of which hears of every event. */
export async function crowdedPolls(target: Target): Promise<() => Promise<Tally>> {
  const held: (() => void)[] = [];
  for (let n = 0; n < 20; n++) {
    const reply = await call(target, "POST", "/v1/endpoints", { kind: "poll" });
    const { id, secret } = (await reply.json()) as { id: string; secret: string };
    await call(target, "POST", `/v1/endpoints/${id}/pause`);
    const request = `GET /poll/${id}?wait=20 HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${secret}\r\n\r\n`;
    held.push(await holdConnections(target.port, request, 100));
  }
  return async () => {
    const tally = await atOnce(100, () => publish(target, {}), 4);
    for (const close of held) close();
    return tally;
  };
}

/** Logos whose server sends all but the last byte. */
export async function heldLogos(target: Target): Promise<() => Promise<Tally>> {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: ${256 * 1024}\r\n\r\n`;
  const answer = Buffer.from(head + "x".repeat(256 * 1024 - 1));
  const socket = { data: (one: { write(bytes: Uint8Array): number }) => void one.write(answer) };
  const { port } = Bun.listen({ hostname: "127.0.0.1", port: 0, socket });
  const branding = { logo_url: `http://127.0.0.1:${port}/logo.png` };
  return () => atOnce(600, () => call(target, "PATCH", "/v1/project", { branding }), 600);
}

/**
 * 3,000 answers at one instant that make most work of what is read. Of heads as large as one may be: very
 * many lines, very many members of a list, as many lines as are taken, and very many heads before the last,
 * no two alike. Of bodies: very many chunks, of a byte and as small as are read to the end, and trailers.
 */
export async function longHeads(target: Target): Promise<() => Promise<Tally>> {
  const head = (line: string, count: number) =>
    Buffer.from(`HTTP/1.1 200 OK\ncontent-length: 0\n${line.repeat(count)}\n`);
  const chunks = (body: string) => Buffer.from(`HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n${body}`);
  const heads = [
    head("a:\n", 5400),
    head(`connection: ${",".repeat(16_000)}\n`, 1),
    head(`a:${" ".repeat(122)}\n`, 127),
    Buffer.from(Array.from({ length: 900 }, (_, at) => `HTTP/1.1 100 ${at}\n\n`).join("")),
    chunks("1\r\na\r\n".repeat(12_000)),
    chunks(`60\r\n${"a".repeat(96)}\r\n`.repeat(650)),
    chunks(`ffff\r\n${"a".repeat(65_535)}\r\n0\r\n${"a\r\n".repeat(20_000)}`),
  ];
  const held: Socket[] = [];
  const { port } = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (socket: Socket) => void held.push(socket), error() {} },
  });
  const fields = { url: `http://127.0.0.1:${port}/`, max_concurrency: 100, retry: { schedule: [] } };
  await makeEndpoints(target, 30, fields);
  await atOnce(100, () => publish(target, {}));
  return async () => {
    while (held.length < 3000) await Bun.sleep(50);
    held.forEach((socket, at) => void socket.write(heads[at % heads.length] ?? ""));
    return { held: held.length };
  };
}

/** Links that ask, as often as they may, for what no index answers, each time on a connection of its own. */
export async function filteredLists(target: Target): Promise<() => Promise<Tally>> {
  await makeEndpoints(target, 1, { kind: "poll", consumer_id: "anna" });
  const events = Array.from({ length: 500 }, () => ({ type: "bench.heavy", consumer_id: "anna", data: {} }));
  await atOnce(20, () => call(target, "POST", "/v1/events/batch", { events }), 1);
  const links = await Promise.all([1, 2, 3].map(() => makeLink(target, "anna")));
  const request = (link: string) =>
    `GET /v1/deliveries?limit=1&status_code=599 HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${link}\r\n\r\n`;
  return async () => {
    const closes: (() => void)[] = [];
    for (let n = 0; n < 100; n++) {
      for (const link of links) closes.push(await holdConnections(target.port, request(link), 10));
      await Bun.sleep(100);
    }
    for (const close of closes) close();
    return { asked: 100 * 10 * links.length };
  };
}

/** Versions of an endpoint, each with long headers of its own, and an attempt by each. */
export async function manyVersions(target: Target): Promise<() => Promise<Tally>> {
  // No server of Bun's: it takes no head of that size.
  const data = (socket: Socket, chunk: Buffer) => {
    if (chunk.at(-1) === BRACE) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
  };
  const receiver = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data } });
  const headers = (version: string) =>
    Object.fromEntries(Array.from({ length: 20 }, (_, nth) => [`x-${nth}`, version.padEnd(4000, "v")]));
  const reply = await call(target, "POST", "/v1/endpoints", {
    url: `http://127.0.0.1:${receiver.port}/`,
    headers: headers(""),
    transformations: [{ op: "omit", paths: ["data.a"] }],
  });
  const { id } = (await reply.json()) as { id: string };
  let at = 0;
  const change = async () => {
    await (await publish(target, {})).arrayBuffer();
    return call(target, "PATCH", `/v1/endpoints/${id}`, { headers: headers(String(at++)) });
  };
  return () => atOnce(4000, change, 4);
}

/** Small events to 60 endpoints whose transformations take more room, compiled, than is kept. */
export async function reshapedPastCache(target: Target): Promise<() => Promise<Tally>> {
  const receiver = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const omit = { op: "omit", paths: Array.from({ length: 230 }, () => "xyz.z") };
  const transformations = Array.from({ length: 32 }, () => omit);
  await makeEndpoints(target, 60, { url: `http://127.0.0.1:${receiver.port}/`, transformations });
  return () => atOnce(60, () => publish(target, {}), 4);
}

/** Small events of 60 types whose schemas take more room, compiled, than is kept. */
export async function schemasPastCache(target: Target): Promise<() => Promise<Tally>> {
  const schema = { allOf: Array.from({ length: 2900 }, () => ({ not: {} })) };
  for (let at = 0; at < 60; at++) {
    const reply = await call(target, "POST", "/v1/event-types", { name: `bench.heavy${at}`, schema });
    if (reply.status !== 201) throw new Error(`no event type: ${reply.status} ${await reply.text()}`);
  }
  let next = 0;
  return () => atOnce(400, () => publish(target, {}, { type: `bench.heavy${next++ % 60}` }), 16);
}

/** Exports that search, of as many callers as have ten each. */
export async function searchingExports(target: Target): Promise<() => Promise<Tally>> {
  await makeEndpoints(target, 1, { url: "http://127.0.0.1:9/" });
  const events = Array.from({ length: 500 }, () => ({
    type: "bench.heavy",
    data: { text: "x".repeat(100) },
  }));
  for (let at = 0; at < 20; at++) await call(target, "POST", "/v1/events/batch", { events });
  const keys: string[] = [];
  for (let at = 0; at < 40; at++) {
    const reply = await call(target, "POST", "/v1/api-keys", { name: `exports ${at}`, scopes: ["read"] });
    keys.push(((await reply.json()) as { key: string }).key);
  }
  let next = 0;
  const search = () => {
    const key = keys[next++ % keys.length] ?? "";
    return call({ ...target, key }, "GET", "/v1/deliveries?format=ndjson&q=nothing");
  };
  return () => atOnce(400, search, 400);
}
