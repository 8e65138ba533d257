/** One attempt, with a transport and clocks of the test's own (src/delivery/send.ts). */
import { generateKeyPairSync } from "node:crypto";
import { expect, spyOn, test } from "bun:test";
import { untriedDelivery } from "../../src/core/delivery.ts";
import { IdCodec } from "../../src/core/ids.ts";
import type { Endpoint } from "../../src/core/model.ts";
import { TurnQueue, type Turns } from "../../src/core/structures/turn-queue.ts";
import { send } from "../../src/delivery/send.ts";
import { reshape } from "../../src/delivery/transformations.ts";
import type { TransportRequest, TransportResult } from "../../src/transport/types.ts";
import { mersenneKey, serviceAccount } from "../destinations/kinds/google.ts";
import { plainEndpoint } from "../kit/endpoint.ts";
import { partsWith } from "../kit/send-parts.ts";

const TURN_MS = 6000;

const endpoint: Endpoint = {
  ...plainEndpoint,
  id: 1,
  transformations: [{ op: "omit", paths: ["data.z"] }],
};

const keys = { id: 4, eventId: 3, endpointId: endpoint.id, projectId: endpoint.projectId };
const delivery = untriedDelivery({ ...keys, origin: "publish", due: 0 });

test("a 410 of the server that gives tokens says nothing of the destination", async () => {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const account = {
    client_email: "a@b.example",
    private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
    token_uri: "https://tokens.example/token",
  };
  const pubsub: Endpoint = {
    ...endpoint,
    kind: "gcp_pubsub",
    transformations: null,
    config: { project_id: "p-12345", topic: "topic" },
    credentials: { service_account_json: JSON.stringify(account) },
  };
  const asked: string[] = [];
  const gone = {
    kind: "response" as const,
    status: 410,
    headers: [],
    body: new Uint8Array(),
    truncated: false,
  };
  const sent = await send(
    partsWith(({ url }: TransportRequest) => {
      asked.push(url.hostname);
      return Promise.resolve(gone);
    }),
    pubsub,
    { type: "a.b", hops: 0, trace: null, body: new TextEncoder().encode("{}"), delivery },
  );
  expect([asked, sent?.statusCode, sent?.saysGone]).toEqual([["tokens.example"], 410, false]);
});

test("a key that is stored and too large is an attempt's error, and nobody is asked", async () => {
  const account = serviceAccount("https://tokens.example/token", mersenneKey(2203, 2281));
  const pubsub: Endpoint = {
    ...endpoint,
    kind: "gcp_pubsub",
    transformations: null,
    config: { project_id: "p-12345", topic: "topic" },
    credentials: { service_account_json: account },
  };
  const nobody = () => Promise.reject(new Error("somebody was asked"));
  const load = { type: "a.b", hops: 0, trace: null, body: new TextEncoder().encode("{}"), delivery };
  expect((await send(partsWith(nobody), pubsub, load))?.error).toEqual({
    code: "message_refused",
    detail: "The key file's private_key has 4484 bits; expected 2048 to 4096.",
  });
});

test("signatures of all endpoints are made one at a time, and their wait is not the destination's", async () => {
  const load = { type: "a.b", hops: 0, trace: null, body: new TextEncoder().encode("{}"), delivery };
  let [clock, atWork, most, signed] = [0, 0, 0, 0];
  const timeouts: number[] = [];
  const parts = partsWith(({ timeoutMs }) => {
    timeouts.push(timeoutMs);
    return Promise.resolve({ kind: "unreachable", code: "connection_refused" });
  });
  const turns = parts.turnsOf(endpoint.projectId);
  const counted: Turns = Object.assign(Object.create(turns) as Turns, {
    inPool: <Made>(work: () => Promise<Made>) =>
      turns.inPool(async () => {
        most = Math.max(most, ++atWork);
        const made = await work();
        signed++;
        clock += TURN_MS;
        atWork--;
        return made;
      }),
  });
  const own = { ...parts, monotonic: () => clock, turnsOf: () => counted };
  const credentials = { service_account_json: serviceAccount("https://tokens.example/token") };
  const config = { project_id: "p-12345", topic: "topic" };
  const all = Array.from({ length: 8 }, (_, id) => {
    const pubsub: Endpoint = {
      ...endpoint,
      id,
      kind: "gcp_pubsub",
      transformations: null,
      config,
      credentials,
    };
    return send(own, pubsub, load);
  });
  await Promise.all(all);
  expect([most, signed]).toEqual([1, 8]);
  expect(new Set(timeouts)).toEqual(new Set([endpoint.timeoutSeconds * 1000]));
});

test("all attempts that wait for one signature get the time back that it takes", async () => {
  const load = { type: "a.b", hops: 0, trace: null, body: new TextEncoder().encode("{}"), delivery };
  let clock = 0;
  const timeouts: number[] = [];
  const token = new TextEncoder().encode('{"access_token":"a","expires_in":3600}');
  const parts = partsWith(({ url, timeoutMs }) => {
    const isToken = url.hostname === "tokens.example";
    if (isToken)
      return Promise.resolve({ kind: "response", status: 200, headers: [], body: token, truncated: false });
    timeouts.push(timeoutMs);
    return Promise.resolve({ kind: "unreachable", code: "connection_refused" });
  });
  const turns = parts.turnsOf(endpoint.projectId);
  const slow: Turns = Object.assign(Object.create(turns) as Turns, {
    inPool: async <Made>(work: () => Promise<Made>) => {
      const made = await turns.inPool(work);
      clock += endpoint.timeoutSeconds * 1000;
      return made;
    },
  });
  const own = { ...parts, monotonic: () => clock, turnsOf: () => slow };
  const credentials = { service_account_json: serviceAccount("https://tokens.example/token") };
  const config = { project_id: "p-12345", topic: "topic" };
  const pubsub: Endpoint = { ...endpoint, kind: "gcp_pubsub", transformations: null, config, credentials };
  await Promise.all([1, 2, 3].map(() => send(own, pubsub, load)));
  expect(timeouts).toEqual([1, 2, 3].map(() => endpoint.timeoutSeconds * 1000));
});

test("what is done with answers that come in one turn of the loop is shared over turns, and costs them no time", async () => {
  const load = { type: "a.b", hops: 0, trace: null, body: new TextEncoder().encode("{}"), delivery };
  const perTurn: number[] = [];
  let clock = 0;
  const turns = new TurnQueue({
    schedule: setImmediate,
    beginShare() {
      perTurn.push(0);
      return { isOver: true };
    },
  });
  const answer = { kind: "response", status: 200, headers: [], truncated: false } as const;
  const parts = partsWith(() => Promise.resolve({ ...answer, body: new Uint8Array() }));
  const own = { ...parts, monotonic: () => clock, turnsOf: () => turns, isTurnOver: () => true };
  const attempts = Array.from({ length: 7 }, async () => {
    const sent = await send(own, { ...endpoint, transformations: null }, load);
    perTurn.push((perTurn.pop() ?? 0) + 1);
    clock += TURN_MS;
    return sent?.durationMs;
  });
  expect(await Promise.all(attempts)).toEqual(Array<number>(7).fill(0));
  expect(perTurn).toEqual(Array<number>(7).fill(1));
});

test("heavy requests that waited for one token have a turn of their own each", async () => {
  const body = new Uint8Array(100_000);
  const load = { type: "a.b", hops: 0, trace: null, body, delivery };
  const token = new TextEncoder().encode('{"access_token":"a","expires_in":3600}');
  const answer = { kind: "response", status: 200, headers: [], truncated: false } as const;
  let own = 0;
  const sentIn: number[] = [];
  const parts = partsWith(({ url }) => {
    if (url.hostname !== "tokens.example") sentIn.push(own);
    return Promise.resolve({ ...answer, body: url.hostname === "tokens.example" ? token : new Uint8Array() });
  });
  const turns = parts.turnsOf(endpoint.projectId);
  using given = spyOn(turns, "giveWay").mockImplementation(async (bytes) => {
    if ((bytes ?? 0) >= body.length) await turns.ownTurn();
    own++;
  });
  const credentials = { service_account_json: serviceAccount("https://tokens.example/token") };
  const config = { project_id: "p-12345", topic: "topic" };
  const pubsub: Endpoint = { ...endpoint, kind: "gcp_pubsub", transformations: null, config, credentials };
  await Promise.all(Array.from({ length: 4 }, () => send({ ...parts, turnsOf: () => turns }, pubsub, load)));
  expect([given.mock.calls.length, new Set(sentIn).size]).toEqual([4, 4]);
});

test("what waits for the pool is given up where the process stops", async () => {
  const load = { type: "a.b", hops: 0, trace: null, body: new TextEncoder().encode("{}"), delivery };
  const stop = new AbortController();
  const parts = partsWith(() => Promise.reject(new Error("somebody was asked")));
  const credentials = { service_account_json: serviceAccount("https://tokens.example/token") };
  const config = { project_id: "p-12345", topic: "topic" };
  const pubsub: Endpoint = { ...endpoint, kind: "gcp_pubsub", transformations: null, config, credentials };
  stop.abort();
  expect(await send({ ...parts, signal: stop.signal }, pubsub, load)).toBeNull();
});

test("the signature by which credentials were asked for is hidden where the server repeats it", async () => {
  const accessKeys = {
    access_key_id: "AKIAIOSFODNN7EXAMPLE",
    secret_access_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  };
  const s3: Endpoint = {
    ...endpoint,
    kind: "s3",
    transformations: null,
    config: { bucket: "bucket", region: "eu-central-1", role_arn: "arn:aws:iam::123456789012:role/sender" },
    credentials: accessKeys,
  };
  let signature = "";
  const sent = await send(
    partsWith(({ headers }: TransportRequest) => {
      const [, authorization = ""] = headers.find(([name]) => name === "authorization") ?? [];
      signature = /Signature=(\w+)/.exec(authorization)?.[1] ?? "";
      const body = new TextEncoder().encode(`not for ${authorization}`);
      return Promise.resolve({ kind: "response", status: 403, headers: [], body, truncated: false });
    }),
    s3,
    { type: "a.b", hops: 0, trace: null, body: new TextEncoder().encode("{}"), delivery },
  );
  expect(signature).toHaveLength(64);
  expect(sent?.error?.code).toBe("role_refused");
  expect(Buffer.from(sent?.responseBody ?? []).toString()).not.toContain(signature);
  expect(Buffer.from(sent?.responseBody ?? []).toString()).toContain("not for");
});

test("what a request was signed with is hidden in its answer, also where others were granted meanwhile", async () => {
  const s3: Endpoint = {
    ...endpoint,
    kind: "s3",
    transformations: null,
    config: { bucket: "bucket", region: "eu-central-1", role_arn: "arn:aws:iam::123456789012:role/sender" },
    credentials: { access_key_id: "AKIAIOSFODNN7EXAMPLE", secret_access_key: "own-secret-access-key" },
  };
  let granted = 0;
  const grantedAgain = Promise.withResolvers<void>();
  const respond = (status: number, text: string, headers: [string, string][] = []): TransportResult => ({
    kind: "response",
    status,
    headers,
    body: new TextEncoder().encode(text),
    truncated: false,
  });
  const grant = () => {
    const [name, ends] = [`GRANTED-${++granted}`, new Date(Date.now() + 4 * 60_000).toISOString()];
    if (granted === 2) setImmediate(grantedAgain.resolve);
    return respond(
      200,
      `<AccessKeyId>ASIA-${name}</AccessKeyId><SecretAccessKey>SECRET-${name}</SecretAccessKey>` +
        `<SessionToken>TOKEN-${name}</SessionToken><Expiration>${ends}</Expiration>`,
    );
  };
  const sentTokens: string[] = [];
  const parts = partsWith(async ({ url, headers }: TransportRequest) => {
    if (url.hostname.startsWith("sts.")) return grant();
    const [, token = ""] = headers.find(([name]) => name === "x-amz-security-token") ?? [];
    // The second was signed with what is about to end, and is answered when the next is there.
    if (sentTokens.push(token) === 2) await grantedAgain.promise;
    return respond(400, `x-amz-security-token:${token} of ASIA-${token.slice(6)}`, [["x-echo", token]]);
  });
  // The second attempt begins in the last quarter of the four minutes.
  for (const laterMs of [0, 200_000]) {
    const sent = await send({ ...parts, now: () => Date.now() + laterMs }, s3, {
      type: "a.b",
      hops: 0,
      trace: null,
      body: new TextEncoder().encode("{}"),
      delivery,
    });
    expect(Buffer.from(sent?.responseBody ?? []).toString()).toBe("x-amz-security-token:*** of ***");
    expect(sent?.responseHeaders).toEqual([["x-echo", "***"]]);
  }
  expect([granted, sentTokens]).toEqual([2, ["TOKEN-GRANTED-1", "TOKEN-GRANTED-1"]]);
});

test("what an attempt waits for in our own turns is not taken from the destination's time", async () => {
  let clock = 0;
  const asked: TransportRequest[] = [];
  const schedule = (next: () => void) => {
    setImmediate(() => {
      clock += TURN_MS;
      next();
    });
  };
  const turns = new TurnQueue({ schedule, beginShare: () => ({ isOver: true }) });
  const parts = {
    turnsOf: () => turns,
    isTurnOver: () => false,
    ids: new IdCodec("00", new Uint8Array(16)),
    now: () => 1_700_000_000_000 + clock,
    dated: () => 1_700_000_000_000 + clock,
    monotonic: () => clock,
    untilMayGo: () => null,
    onBroken: (_endpoint: Endpoint, error: unknown) => {
      throw error;
    },
    signal: new AbortController().signal,
    transport: {
      send: (request: TransportRequest) => {
        asked.push(request);
        const body = new Uint8Array();
        return Promise.resolve({
          kind: "response" as const,
          status: 200,
          headers: [],
          body,
          truncated: false,
        });
      },
      stats: () => ({ open: 0, idle: 0, connects: 0, reused: 0 }),
      close() {},
    },
  };
  const body = new TextEncoder().encode(
    JSON.stringify({ type: "a.b", timestamp: "2026-01-01T00:00:00Z", data: { x: "y".repeat(100_000) } }),
  );
  const sent = await send(parts, endpoint, { type: "a.b", hops: 0, trace: null, body, delivery });
  expect(sent?.outcome).toBe("delivered");
  expect(clock).toBeGreaterThan(endpoint.timeoutSeconds * 1000 - TURN_MS);
  expect(asked.map(({ timeoutMs }) => timeoutMs)).toEqual([endpoint.timeoutSeconds * 1000]);
});

test("the transformations of a project's many deliveries hold up those of another no longer than one does", async () => {
  const schedule = (next: () => void) => void setImmediate(next);
  const turns = new TurnQueue({ schedule, beginShare: () => ({ isOver: true }) });
  const turnsOf = (projectId: number) => turns.of(`account:${projectId}`, null);
  const body = new TextEncoder().encode(JSON.stringify({ data: { z: 1 } }));
  const done: number[] = [];
  const shape = async (projectId: number) => {
    await reshape(
      { turnsOf },
      { ...endpoint, projectId },
      { type: "a.b", hops: 0, trace: null, body, delivery },
    );
    done.push(projectId);
  };
  await Promise.all([...Array.from({ length: 20 }, () => shape(1)), shape(2)]);
  expect(done.indexOf(2)).toBeLessThan(3);
});
