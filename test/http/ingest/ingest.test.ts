/** The door for providers, over the whole service; GitHub and Stripe sign by their own packages. */
import { Database } from "bun:sqlite";
import { createHmac } from "node:crypto";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, spyOn, test } from "bun:test";
import examples from "@octokit/webhooks-examples";
import { sign } from "@octokit/webhooks-methods";
import Stripe from "stripe";
import { LIMITS, limit } from "../../../src/core/limits.ts";
import { TurnQueue } from "../../../src/core/structures/turn-queue.ts";
import { startApp } from "../../kit/app.ts";
import { appForFile, receiverForFile } from "../../kit/for-file.ts";
import { verifyDelivery } from "../../kit/receiver.ts";
import { expectProblem, type Reply } from "../kit.ts";
import { createSource, eventsOf, knock, readSource, sendToken } from "../sources/kit.ts";

const app = appForFile();
const receiver = receiverForFile();

describe("a verified request", () => {
  test("of a heavy body goes on in another turn, among those of its source's project", async () => {
    const source = await createSource(app, "service");
    using giveWay = spyOn(TurnQueue.prototype, "giveWay");
    // The event has less: white space between tokens is left out.
    const body = `{ "id": 1, "text": "${"x".repeat(100_000)}" }`;
    const turnsWith = async (token: string, status: number) => {
      giveWay.mockClear();
      const reply = await knock(app, source.ingest_path, body, { "x-service-token": token });
      expect(reply.status).toBe(status);
      return giveWay.mock.calls
        .filter(([bytes]) => bytes === body.length)
        .map(([, owner]) => owner?.names[1]);
    };
    expect(await turnsWith(source.secret, 200)).toEqual([expect.stringMatching(/^project:\d+$/)]);
    expect(await turnsWith("another", 401)).toEqual([]);
  });

  test("of a compressed body takes room for what it unpacks to, and a forged one takes none", async () => {
    const source = await createSource(app, "stream", { signing_secret: "s" });
    const send = (length: number, secret = "s") => {
      const body = JSON.stringify({ type: "x", words: Array.from({ length }, (_, at) => at * 7919) });
      const signature = createHmac("sha256", secret).update(body).digest("hex");
      return knock(app, source.ingest_path, new Uint8Array(gzipSync(body)), {
        "content-encoding": "gzip",
        "x-signature": signature,
      });
    };
    const room = LIMITS.guestBodiesBytesMax as { value: number };
    const usual = room.value;
    // One source has half of it.
    room.value = 400_000;
    try {
      expectProblem(await send(50_000), 503, "unavailable");
      expect((await send(50_000, "forged")).status).toBe(401);
      // All of it is given back.
      expect((await send(10_000)).status).toBe(200);
      expect((await send(10_001)).status).toBe(200);
    } finally {
      room.value = usual;
    }
  });

  test("becomes an event of the provider's namespace, and goes out signed", async () => {
    const source = await createSource(app, "service", { consumer_id: "acme" });
    const endpoint = await app.live.create<{ secret: string }>("/v1/endpoints", {
      url: receiver.url("in"),
      event_types: ["service.order.*"],
      consumer_id: "acme",
    });
    const reply = await sendToken(app, source, { id: "o-1", type: "order.paid", total: 5 });
    expect([reply.status, Object.keys(reply.json)]).toEqual([200, ["id"]]);
    const [request] = await receiver.arrived("in");
    if (!request) throw new Error("nothing arrived");
    expect(verifyDelivery(request, endpoint.secret)).toMatchObject({
      type: "service.order.paid",
      data: { id: "o-1", type: "order.paid", total: 5 },
    });
    const event = await app.live.get(`/v1/events/${String(reply.json["id"])}`);
    expect(event.json).toMatchObject({
      consumer_id: "acme",
      source_id: source.id,
      type: "service.order.paid",
    });
    expect((await readSource(app, source)).counters).toMatchObject({ accepted: 1, duplicates: 0 });
  });

  test("keeps the spelling of its numbers, and loses white space only", async () => {
    const source = await createSource(app, "service");
    const text = '{ "n" : 12345678901234567890, "m": [1.0,\n 2e5], "t": "a  b" }';
    const { json } = await knock(app, source.ingest_path, text, { "x-service-token": source.secret });
    const { text: shown } = await app.live.get(`/v1/events/${String(json["id"])}`);
    expect(shown).toContain('"data":{"n":12345678901234567890,"m":[1.0,2e5],"t":"a  b"}');
  });

  test("may carry the token as Bearer, and any body", async () => {
    const source = await createSource(app, "service");
    const bearer = { authorization: `Bearer ${source.secret}` };
    expect(
      (await knock(app, source.ingest_path, "not json", { ...bearer, "content-type": "text/plain" })).status,
    ).toBe(200);
    expect((await knock(app, source.ingest_path, new Uint8Array([0, 255]), bearer)).status).toBe(200);
    const [binary, text] = await Promise.all(
      (await eventsOf(app, source)).map(
        async ({ id }) => (await app.live.get(`/v1/events/${id}`)).json["data"],
      ),
    );
    expect(text).toEqual({ raw: "not json" });
    expect(binary).toHaveProperty("raw");
  });

  test("of GitHub: a real payload, signed by its own package; its ping makes no event", async () => {
    const source = await createSource(app, "github");
    const payloads = examples.find(({ name }) => name === "issues")?.examples ?? [];
    const opened = payloads.find((payload) => "action" in payload && payload.action === "opened");
    const body = JSON.stringify(opened);
    const headersOf = async (event: string, id: string, text: string) => ({
      "content-type": "application/json",
      "x-github-event": event,
      "x-github-delivery": id,
      "x-hub-signature-256": await sign(source.secret, text),
    });
    const ping = '{"zen":"Keep it logically awesome."}';
    const pong = await knock(app, source.ingest_path, ping, await headersOf("ping", "p-1", ping));
    expect([pong.status, pong.text]).toEqual([200, ""]);
    const headers = await headersOf("issues", "d-1", body);
    expect((await knock(app, source.ingest_path, body, headers)).status).toBe(200);
    expect((await knock(app, source.ingest_path, `${body} `, headers)).status).toBe(401);
    const events = await eventsOf(app, source);
    expect(events.map(({ type }) => type)).toEqual(["github.issues.opened"]);
  });

  test("of Stripe: signed by its own package, once its secret is entered", async () => {
    const source = await createSource(app, "stripe");
    const secret = "whsec_stripes_own";
    const payload = JSON.stringify({
      id: "evt_1",
      object: "event",
      type: "invoice.paid",
      data: { object: {} },
    });
    const stripe = new Stripe("sk_test_unused");
    const send = async () => {
      const signature = await stripe.webhooks.generateTestHeaderStringAsync({ payload, secret });
      return knock(app, source.ingest_path, payload, { "stripe-signature": signature });
    };
    expect((await send()).status).toBe(401);
    expect(await readSource(app, source)).toMatchObject({
      status: "awaiting_secret",
      last_rejected: { reason: "awaiting_secret" },
    });
    await app.live.patch(`/v1/sources/${source.id}`, { signing_secret: secret });
    expect((await send()).status).toBe(200);
    expect((await send()).json["duplicate"]).toBe(true);
    expect((await eventsOf(app, source)).map(({ type }) => type)).toEqual(["stripe.invoice.paid"]);
  });
});

describe("the same delivery again", () => {
  test("is the same event: not stored, not delivered, and counted apart", async () => {
    const source = await createSource(app, "service");
    await app.live.post("/v1/endpoints", { url: receiver.url("again"), event_types: ["service.again"] });
    const first = await sendToken(app, source, { id: "1", type: "again" });
    const second = await sendToken(app, source, { id: "1", type: "again", other: true });
    expect(second.json as unknown).toEqual({ id: first.json["id"], duplicate: true });
    expect(await eventsOf(app, source)).toHaveLength(1);
    await sendToken(app, source, { id: "2", type: "again" });
    expect(await receiver.arrived("again", 2)).toHaveLength(2);
    expect((await readSource(app, source)).counters).toMatchObject({ accepted: 2, duplicates: 1 });
  });

  test("a hundred copies at once make one event", async () => {
    const source = await createSource(app, "service");
    const replies = await Promise.all(
      Array.from({ length: 100 }, () => sendToken(app, source, { event_id: "x", type: "t" })),
    );
    expect(replies.every(({ status }) => status === 200)).toBe(true);
    expect(new Set(replies.map(({ json }) => json["id"])).size).toBe(1);
    expect(replies.filter(({ json }) => json["duplicate"] === true)).toHaveLength(99);
    expect(await eventsOf(app, source)).toHaveLength(1);
  });

  test("is known after a restart", async () => {
    await using other = await startApp();
    const source = await createSource(other, "service");
    const first = await sendToken(other, source, { id: "kept" });
    await other.stop();
    await other.start();
    const second = await sendToken(other, source, { id: "kept" });
    expect(second.json as unknown).toEqual({ id: first.json["id"], duplicate: true });
  });

  test("an id belongs to its source, and without one every request is an event", async () => {
    const [one, two] = [await createSource(app, "service"), await createSource(app, "service")];
    const replies = [
      await sendToken(app, one, { id: "1" }),
      await sendToken(app, two, { id: "1" }),
      await sendToken(app, one, {}),
      await sendToken(app, one, {}),
    ];
    expect(new Set(replies.map(({ json }) => json["id"])).size).toBe(4);
  });
});

describe("what is refused", () => {
  const shown = ({ status, text, headers }: Reply) => {
    const names = Object.fromEntries(headers);
    delete names["x-request-id"];
    delete names["date"];
    return { status, text, headers: names };
  };

  test("gets the same empty 401 for every reason, an unknown source included", async () => {
    const source = await createSource(app, "service");
    const other = await createSource(app, "service");
    const slack = await createSource(app, "slack", { signing_secret: "s" });
    const awaiting = await createSource(app, "stripe");
    const token = encodeURIComponent(source.secret);
    const gone = await createSource(app, "service");
    await app.live.delete(`/v1/sources/${gone.id}`);
    const body = '{"id":"bad","type":"refused"}';
    const replies = [
      await knock(app, "/ingest/src_01KAHM9Q7W00ZZZZZZZZZZZZZZ", body, { "x-service-token": source.secret }),
      await knock(app, "/ingest/nothing-like-an-id", body),
      await knock(app, gone.ingest_path, body, { "x-service-token": gone.secret }),
      await knock(app, source.ingest_path, body),
      await knock(app, source.ingest_path, body, { "x-service-token": "" }),
      await knock(app, source.ingest_path, body, { "x-service-token": other.secret }),
      await knock(app, source.ingest_path, body, { authorization: `Bearer ${app.keys.live}` }),
      await knock(app, `${source.ingest_path}?token=${token}`, body),
      await knock(app, `${source.ingest_path}?x-service-token=${token}`, body),
      await knock(app, `${source.ingest_path}?token=${token}`, body, { "x-service-token": source.secret }),
      await knock(app, slack.ingest_path, body, {
        "x-slack-signature": "v0=00",
        "x-slack-request-timestamp": "1",
      }),
      await knock(app, awaiting.ingest_path, body, { "stripe-signature": "t=1,v1=00" }),
      await app.with(null).send("GET", source.ingest_path, { headers: { "x-service-token": source.secret } }),
      await app.with(null).send("GET", "/ingest/src_01KAHM9Q7W00ZZZZZZZZZZZZZZ"),
    ];
    const [first] = replies.map(shown);
    expect(first).toMatchObject({ status: 401, text: "" });
    for (const reply of replies) expect(shown(reply)).toEqual(first ?? { status: 0, text: "", headers: {} });
    for (const reply of replies) expect(reply.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    expect(await eventsOf(app, source)).toEqual([]);
    expect((await sendToken(app, source, { id: "bad", type: "refused" })).json).not.toHaveProperty(
      "duplicate",
    );
  });

  test("may name headers that cannot be among those it says it signed", async () => {
    const contentful = await createSource(app, "contentful", { signing_secret: "s".repeat(64) });
    const coinbase = await createSource(app, "coinbase_cdp", { signing_secret: "s" });
    const seconds = Math.floor(Date.now() / 1000);
    for (const name of ["no@header", ":x", "x(y)", ""]) {
      const refused = [
        await knock(app, contentful.ingest_path, "{}", {
          "x-contentful-signature": "00",
          "x-contentful-timestamp": String(Date.now()),
          "x-contentful-signed-headers": `x-contentful-timestamp,x-contentful-signed-headers,${name}`,
        }),
        await knock(app, coinbase.ingest_path, "{}", {
          "x-hook0-signature": `t=${seconds},h=${name} ${name},v1=00`,
        }),
      ];
      expect(refused.map(({ status }) => status)).toEqual([401, 401]);
    }
    for (const source of [contentful, coinbase]) {
      expect((await readSource(app, source)).counters.rejected).toMatchObject({ bad_signature: 4 });
    }
  });

  test("is counted by its reason, and the last one stands on the source", async () => {
    const source = await createSource(app, "service");
    await knock(app, source.ingest_path, "{}");
    await knock(app, source.ingest_path, "{}", { "x-service-token": "wrong" });
    await knock(app, source.ingest_path, "{}", { "x-service-token": "wrong" });
    await knock(app, `${source.ingest_path}?a=${encodeURIComponent(source.secret)}`, "{}");
    const { counters, last_rejected: last } = await readSource(app, source);
    expect(counters.rejected).toMatchObject({ missing_header: 1, bad_signature: 2, token_in_query: 1 });
    expect(last?.reason).toBe("token_in_query");
    expect(Math.abs(Date.parse(last?.at ?? "") - Date.now())).toBeLessThan(60_000);
  });

  test("for a query that is too long looks the same whether there is a source or not", async () => {
    const source = await createSource(app, "service");
    const unknown = source.ingest_path.replace(/.{4}$/, "0000");
    const headers = { "x-service-token": source.secret };
    for (const query of ["a&".repeat(limit("queryPartsMax")), "x".repeat(limit("queryLengthMax") + 1)]) {
      for (const path of [source.ingest_path, unknown]) {
        const reply = await knock(app, `${path}?${query}`, "{}", headers);
        expect([reply.status, reply.text]).toEqual([401, ""]);
      }
    }
    expect((await readSource(app, source)).counters).toMatchObject({
      accepted: 0,
      rejected: { malformed: 2 },
    });
  });

  test("is logged with its reason; neither token, path nor body ever is", async () => {
    await using other = await startApp();
    const source = await createSource(other, "service");
    const token = encodeURIComponent(source.secret);
    await knock(other, `${source.ingest_path}?token=${token}`, '{"note":"very-private"}', {});
    await knock(other, `${source.ingest_path}?other-private`, '{"note":"very-private"}', {
      "x-service-token": source.secret,
    });
    await other.stop();
    const lines = other
      .log()
      .split("\n")
      .filter((line) => line.includes("ingest refused"));
    expect(lines.map((line) => JSON.parse(line) as Record<string, unknown>)).toMatchObject([
      { level: "warn", source_id: source.id, reason: "token_in_query" },
    ]);
    const requests = other
      .log()
      .split("\n")
      .filter((line) => line.includes('"route":"/ingest/:id"'));
    expect(requests.map((line) => (JSON.parse(line) as { status: number }).status)).toEqual([200]);
    for (const secret of [
      source.secret.slice(6),
      token.slice(6),
      "very-private",
      "other-private",
      source.ingest_path,
    ]) {
      expect(other.log()).not.toContain(secret);
    }
  });

  test("a body above 1 MiB is 413, whatever the source", async () => {
    const source = await createSource(app, "service");
    const body = new Uint8Array(1024 * 1024 + 1).fill(0x61);
    const headers = { "x-service-token": source.secret };
    expectProblem(await knock(app, source.ingest_path, body, headers), 413, "payload_too_large");
    expectProblem(
      await knock(app, "/ingest/src_01KAHM9Q7W00ZZZZZZZZZZZZZZ", body, headers),
      413,
      "payload_too_large",
    );
    expect((await knock(app, source.ingest_path, body.slice(1), headers)).status).toBe(200);
    const { counters, last_rejected: last } = await readSource(app, source);
    expect([
      counters.accepted,
      (counters.rejected as Record<string, number>)["too_large"],
      last?.reason,
    ]).toEqual([1, 1, "too_large"]);
  });

  test("a verified body is 413 where it is no JSON and above 2 MiB as the JSON that it becomes", async () => {
    const source = await createSource(app, "service");
    const max = limit("rewrittenBodyBytesMax");
    const send = (body: string, token = source.secret) =>
      knock(app, source.ingest_path, body, { "x-service-token": token });
    const written = max - '{"raw":""}'.length;
    const longest = "\u0001".repeat(Math.floor(written / 6)) + "x".repeat(written % 6);
    expect((await send(longest)).status).toBe(200);
    expectProblem(await send(`${longest}x`), 413, "payload_too_large");
    expectProblem(await send(`a=${"\u0001".repeat(max / 6)}`), 413, "payload_too_large");
    expect((await send(`${longest}x`, "forged")).status).toBe(401);
    const { counters } = await readSource(app, source);
    expect([counters.accepted, (counters.rejected as Record<string, number>)["too_large"]]).toEqual([1, 2]);
  });
});

describe("rates", () => {
  test("of a source are its own, counted after verification: 429 with retry-after", async () => {
    const source = await createSource(app, "service", { rate_limit_per_second: 1 });
    const other = await createSource(app, "service", { rate_limit_per_second: 0 });
    const forged = Array.from({ length: 40 }, () =>
      knock(app, source.ingest_path, "{}", { "x-service-token": "no" }),
    );
    expect((await Promise.all(forged)).every(({ status }) => status === 401)).toBe(true);
    expect((await sendToken(app, source, {})).status).toBe(200);
    const replies = await Promise.all(Array.from({ length: 40 }, () => sendToken(app, source, {})));
    const limited = replies.find(({ status }) => status === 429);
    if (!limited) throw new Error("nothing was limited");
    expectProblem(limited, 429, "rate_limited");
    expect(Number(limited.headers.get("retry-after"))).toBeGreaterThan(0);
    const passed = replies.find(({ status }) => status === 200) ?? limited;
    for (const { headers } of [limited, passed]) {
      expect(headers.get("ratelimit-policy")).toBe('"ingest";q=1;w=1');
      expect(headers.get("ratelimit")).toMatch(/^"ingest";r=\d+;t=\d+$/);
    }
    const unlimited = await Promise.all(Array.from({ length: 40 }, () => sendToken(app, other, {})));
    expect(unlimited.every(({ status }) => status === 200)).toBe(true);
  });

  test("the setting holds for sources without one", async () => {
    await using other = await startApp({ env: { SEALPOST_INGEST_RATE_LIMIT: "1" } });
    const source = await createSource(other, "service");
    const replies = await Promise.all(Array.from({ length: 40 }, () => sendToken(other, source, {})));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 429]));
  });
});

test("a suspended account's sources answer 503 with retry-after", async () => {
  await using other = await startApp();
  const source = await createSource(other, "service");
  await other.stop();
  using database = new Database(join(other.dataDir, "sealpost.db"));
  database.run("UPDATE account SET suspended = 1");
  database.close();
  await other.start();
  const reply = await sendToken(other, source, {});
  expectProblem(reply, 503, "unavailable");
  expect(Number(reply.headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await knock(other, "/ingest/src_01KAHM9Q7W00ZZZZZZZZZZZZZZ", "{}", {})).status).toBe(401);
});
