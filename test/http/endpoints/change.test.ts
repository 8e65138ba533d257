/** Changing endpoints over the whole service: PATCH, pause, resume, enable, delete. */
import { Webhook as Svix } from "svix";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { EndpointAnswer } from "../../../src/http/endpoints/shape.ts";
import { startApp } from "../../kit/app.ts";
import { isSignedByKey, verifyDelivery } from "../../kit/receiver.ts";
import { type CreatedEndpoint, type EndpointBench, expectFault, startBench } from "./kit.ts";
import { expectProblem, type Reply } from "../kit.ts";

let bench: EndpointBench;

beforeAll(async () => {
  bench = await startBench();
});

afterAll(() => bench[Symbol.asyncDispose]());

describe("changing", () => {
  test("is a merge patch: what is not named stays, null resets", async () => {
    const { id, updated_at } = await bench.create({
      url: bench.fresh().url,
      description: "old",
      event_types: ["a"],
      timeout_seconds: 3,
      metadata: { keep: 1, drop: 2 },
    });
    const patch = {
      description: "new",
      event_types: null,
      timeout_seconds: null,
      metadata: { drop: null, add: { x: 1 } },
    };
    const { status, json } = await bench.app.live.patch(`/v1/endpoints/${id}`, patch);
    expect(status).toBe(200);
    expect(json).toMatchObject({ description: "new", event_types: null, timeout_seconds: 15 });
    expect(json["metadata"]).toEqual({ keep: 1, add: { x: 1 } });
    expect(Date.parse(String(json["updated_at"]))).toBeGreaterThanOrEqual(Date.parse(updated_at));
    expect(await bench.read(id)).toEqual(json as unknown as EndpointAnswer);
  });

  test("headers are replaced whole; `***` keeps a credential, and the receiver still gets it", async () => {
    const { name, url, type } = bench.fresh();
    const headers = { Authorization: "Bearer t0ps3cret", "x-one": "1", "x-api-key": "k1" };
    const { id } = await bench.create({ url, event_types: [type], headers });
    expect((await bench.read(id)).headers).toEqual({
      Authorization: "***",
      "x-one": "1",
      "x-api-key": "***",
    });
    const change = { headers: { authorization: "***", "x-two": "***" } };
    const { json } = await bench.app.live.patch(`/v1/endpoints/${id}`, change);
    expect(json["headers"]).toEqual({ authorization: "***", "x-two": "***" });
    await bench.publish(type);
    const [request] = await bench.receiver.arrived(name);
    expect(request?.headers).toMatchObject({ authorization: "Bearer t0ps3cret", "x-two": "***" });
    expect(request?.headers).not.toHaveProperty("x-one");
    expect(request?.headers).not.toHaveProperty("x-api-key");
  });

  test("a mask with a space is a value like any other: it keeps no credential", async () => {
    const { name, url, type } = bench.fresh();
    const { id } = await bench.create({ url, event_types: [type], headers: { "x-api-key": "t0ps3cret" } });
    await bench.app.live.patch(`/v1/endpoints/${id}`, { headers: { "x-api-key": " ***" } });
    await bench.publish(type);
    const [request] = await bench.receiver.arrived(name);
    expect(request?.headers["x-api-key"]).toBe("***");
  });

  test("its consumer only before its first delivery, so that nobody gets what was meant for another", async () => {
    const { name, url, type } = bench.fresh();
    const { id } = await bench.create({ url, event_types: [type] });
    const first = await bench.app.live.patch(`/v1/endpoints/${id}`, { consumer_id: "acme" });
    expect(first.json).toMatchObject({ consumer_id: "acme" });
    await bench.app.live.patch(`/v1/endpoints/${id}`, { consumer_id: null });
    await bench.publish(type);
    await bench.receiver.arrived(name);
    const late = await bench.app.live.patch(`/v1/endpoints/${id}`, { consumer_id: "acme" });
    expectProblem(late, 409, "conflict");
    expect((await bench.app.live.patch(`/v1/endpoints/${id}`, { consumer_id: null })).status).toBe(200);
  });

  test("a new address takes the next delivery", async () => {
    const { url, type } = bench.fresh();
    const moved = bench.fresh();
    const { id } = await bench.create({ url, event_types: [type] });
    const { json } = await bench.app.live.patch(`/v1/endpoints/${id}`, { url: moved.url });
    expect(json).toMatchObject({ url: moved.url, config: { url: moved.url } });
    await bench.publish(type);
    await bench.receiver.arrived(moved.name);
  });

  test("a new address alone leaves the second prefix as it is, by which a receiver of Svix's verifies", async () => {
    const { url, type } = bench.fresh();
    const moved = bench.fresh();
    const config = { url, header_prefix: "svix" };
    const { id, secret } = await bench.create({ config, event_types: [type] });
    const { json } = await bench.app.live.patch(`/v1/endpoints/${id}`, { url: moved.url });
    expect(json).toMatchObject({ url: moved.url, config: { url: moved.url, header_prefix: "svix" } });
    await bench.publish(type);
    const [request] = await bench.receiver.arrived(moved.name);
    const headers = Object.entries(request?.headers ?? {}).filter(([name]) => name.startsWith("svix-"));
    expect(headers).toHaveLength(3);
    // It throws where the signature is wrong.
    new Svix(secret).verify(String(request?.body), Object.fromEntries(headers));
    const gone = await bench.app.live.patch(`/v1/endpoints/${id}`, { config: { url } });
    expect(gone.json["config"]).toEqual({ url });
    const doubled = { config: { url, header_prefix: "webhook" } };
    expectFault(await bench.app.live.patch(`/v1/endpoints/${id}`, doubled), "/config/header_prefix");
  });

  test("a header of its own is none that the second prefix names, whichever of the two came first", async () => {
    const { url } = bench.fresh();
    const config = { url, header_prefix: "svix" };
    for (const name of ["svix-id", "Svix-Timestamp", "svix-signature"]) {
      const headers = { [name]: "own", "svix-tenant": "7" };
      expectFault(await bench.app.live.post("/v1/endpoints", { config, headers }), `/headers/${name}`);
      const { id } = await bench.create({ url, headers });
      expectFault(await bench.app.live.patch(`/v1/endpoints/${id}`, { config }), `/headers/${name}`);
      const both = { config, headers: { "svix-tenant": "7" } };
      expect((await bench.app.live.patch(`/v1/endpoints/${id}`, both)).status).toBe(200);
      expectFault(await bench.app.live.patch(`/v1/endpoints/${id}`, { headers }), `/headers/${name}`);
    }
  });

  test("adding v1a makes a key, answers its public half, and signs with it; taking it away ends that", async () => {
    const { name, url, type } = bench.fresh();
    const { id, secret } = await bench.create({ url, event_types: [type] });
    const added = (await bench.app.live.patch(`/v1/endpoints/${id}`, { signature_versions: ["v1a", "v1"] }))
      .json;
    expect(added["signature_versions"]).toEqual(["v1", "v1a"]);
    const publicKey = String(added["public_key"]);
    expect((await bench.read(id)).public_key).toBe(publicKey);
    await bench.publish(type);
    const [request] = await bench.receiver.arrived(name);
    if (!request) throw new Error("nothing arrived");
    expect(isSignedByKey(request, publicKey)).toBe(true);
    verifyDelivery(request, secret);
    expect((await bench.app.live.patch(`/v1/endpoints/${id}`, { description: "x" })).json["public_key"]).toBe(
      publicKey,
    );
    const removed = (await bench.app.live.patch(`/v1/endpoints/${id}`, { signature_versions: null })).json;
    expect(removed).not.toHaveProperty("public_key");
  });

  test("a private key that is brought along is used", async () => {
    const vector = {
      private_key:
        "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==",
      secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    };
    const made = await bench.create({ url: bench.fresh().url, signature_versions: ["v1", "v1a"], ...vector });
    expect(made.public_key).toBe("whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=");
    expect(made.secret).toBe(vector.secret);
  });

  test.each([
    ["a secret", { secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" }, "/secret"],
    ["a status", { status: "paused" }, "/status"],
    ["no address", { url: null }, "/url"],
    ["an empty config", { config: {} }, "/config/url"],
    ["an unknown kind", { kind: "smtp" }, "/kind"],
    ["a broken filter", { filter: { $up: 1 } }, "/filter/$up"],
    ["too much metadata", { metadata: { text: "x".repeat(16_384) } }, "/metadata"],
    ["too much metadata to take out", { metadata: { list: null, ["x".repeat(50_000)]: null } }, "/metadata"],
  ])("to %s is refused, and nothing changes", async (_name, patch, pointer) => {
    const { id, secret: _secret, ...before } = await bench.create({ url: bench.fresh().url });
    expectFault(
      await bench.app.live.patch(`/v1/endpoints/${id}`, { ...patch, description: "changed" }),
      pointer,
    );
    expect(await bench.read(id)).toEqual({ id, ...before });
  });

  test("to a url where the kind has none is refused for that alone", async () => {
    const config = { url: bench.fresh().url, topic: "orders" };
    const { id } = await bench.create({ kind: "kafka_rest", config });
    const reply = await bench.app.live.patch(`/v1/endpoints/${id}`, { url: bench.fresh().url });
    expectFault(reply, "/url");
    expect(reply.json.errors).toHaveLength(1);
  });

  test("an unsafe address is refused", async () => {
    const { id } = await bench.create({ url: bench.fresh().url });
    const reply = await bench.app.live.patch(`/v1/endpoints/${id}`, { url: "http://169.254.169.254/" });
    expectFault(reply, "/url", "unsafe_destination");
  });

  test("two changes at once both hold", async () => {
    const { id } = await bench.create({ url: bench.fresh().url });
    const patches = [
      { description: "one" },
      { metadata: { a: 1 } },
      { metadata: { b: 2 } },
      { max_concurrency: 3 },
    ];
    await Promise.all(patches.map((patch) => bench.app.live.patch(`/v1/endpoints/${id}`, patch)));
    expect(await bench.read(id)).toMatchObject({
      description: "one",
      metadata: { a: 1, b: 2 },
      max_concurrency: 3,
    });
  });
});

describe("ids", () => {
  const paths: [string, string][] = [
    ["GET", ""],
    ["PATCH", ""],
    ["DELETE", ""],
    ["POST", "/pause"],
    ["POST", "/resume"],
    ["POST", "/enable"],
    ["POST", "/rotate-secret"],
    ["GET", "/secret"],
    ["POST", "/test"],
    ["GET", "/stats"],
  ];
  const ask = (id: string, method: string, tail: string, client = bench.app.live) =>
    client.send(
      method,
      `/v1/endpoints/${id}${tail}`,
      method === "GET" || method === "DELETE" ? {} : { json: {} },
    );
  const withoutId = ({ json: { request_id: _id, ...rest } }: Reply) => rest;

  test.each(paths)(
    "%s …%s: foreign, malformed, of another kind and deleted ids are answered like unknown ones",
    async (method, tail) => {
      const { id } = await bench.create({ url: bench.fresh().url });
      const unknown = await ask("ep_01KAHM9Q7W00ZZZZZZZZZZZZZZ", method, tail);
      expectProblem(unknown, 404, "not_found");
      const gone = await bench.create({ url: bench.fresh().url });
      await bench.app.live.delete(`/v1/endpoints/${gone.id}`);
      const replies = [
        await ask(id, method, tail, bench.app.test),
        await ask("ep_x", method, tail),
        await ask(id.replace("ep_", "evt_"), method, tail),
        await ask(gone.id, method, tail),
      ];
      for (const reply of replies) expect(withoutId(reply)).toEqual(withoutId(unknown));
    },
  );
});

describe("pause, resume, enable, delete", () => {
  test("paused deliveries wait, resume sends them oldest first, and both answer 200 again and again", async () => {
    const { name, url, type } = bench.fresh();
    const { id } = await bench.create({ url, event_types: [type], ordering: "fifo" });
    for (const _ of [1, 2])
      expect((await bench.app.live.post(`/v1/endpoints/${id}/pause`)).json["status"]).toBe("paused");
    const events = [await bench.publish(type), await bench.publish(type), await bench.publish(type)];
    const { json } = await bench.app.live.get(`/v1/deliveries?endpoint_id=${id}`);
    expect(json["data"]).toHaveLength(3);
    expect(bench.receiver.requests(name)).toHaveLength(0);
    const waits = (json["data"] as Record<string, unknown>[]).map((delivery) => [
      delivery["status"],
      delivery["waiting_for"],
    ]);
    expect(waits).toEqual([1, 2, 3].map(() => ["pending", "paused"]));
    for (const _ of [1, 2])
      expect((await bench.app.live.post(`/v1/endpoints/${id}/resume`)).json["status"]).toBe("active");
    const arrived = await bench.receiver.arrived(name, 3);
    const replies = await Promise.all(
      events.map((event) => bench.app.live.get(`/v1/deliveries?event_id=${event}&endpoint_id=${id}`)),
    );
    const ids = replies.map(({ json: page }) => (page["data"] as { id: string }[])[0]?.id);
    expect(arrived.map(({ headers }) => headers["webhook-id"])).toEqual(ids.map(String));
  });

  test("a 410 disables; pause and resume are refused then, enable makes it well again", async () => {
    const { name, url, type } = bench.fresh();
    bench.receiver.at(name, () => new Response(null, { status: 410 }));
    const { id } = await bench.create({ url, event_types: [type] });
    await bench.publish(type);
    const disabled = await bench.app.until(async () => {
      const endpoint = await bench.read(id);
      return endpoint.status === "disabled" && endpoint;
    });
    expect(disabled.disabled_reason).toBe("gone");
    expect(disabled.failing_since).not.toBeNull();
    for (const action of ["pause", "resume", "test"]) {
      expectProblem(await bench.app.live.post(`/v1/endpoints/${id}/${action}`), 409, "conflict");
    }
    bench.receiver.at(name, () => new Response());
    const { json } = await bench.app.live.post(`/v1/endpoints/${id}/enable`);
    expect(json).toMatchObject({ status: "active", disabled_reason: null, failing_since: null });
    await bench.publish(type);
    await bench.receiver.arrived(name, 2);
    expect((await bench.read(id)).failing_since).toBeNull();
  });

  test("a resume after a pause forgets the failures of before it", async () => {
    const { name, url, type } = bench.fresh();
    bench.receiver.at(name, () => new Response(null, { status: 500 }));
    const { id } = await bench.create({ url, event_types: [type] });
    await bench.publish(type);
    await bench.app.until(async () => (await bench.read(id)).failing_since !== null);
    await bench.app.live.post(`/v1/endpoints/${id}/resume`);
    expect((await bench.read(id)).failing_since).not.toBeNull();
    await bench.app.live.post(`/v1/endpoints/${id}/pause`);
    const { json } = await bench.app.live.post(`/v1/endpoints/${id}/resume`);
    expect(json).toMatchObject({ status: "active", failing_since: null });
    expect((await bench.read(id)).failing_since).toBeNull();
  });

  test("enabling what is not disabled changes nothing", async () => {
    const { id } = await bench.create({ url: bench.fresh().url });
    await bench.app.live.post(`/v1/endpoints/${id}/pause`);
    const { status, json } = await bench.app.live.post(`/v1/endpoints/${id}/enable`);
    expect([status, json["status"]]).toEqual([200, "paused"]);
  });

  test("deleting answers 204 and cancels what is pending; its history stays", async () => {
    const { url, type } = bench.fresh();
    const { id } = await bench.create({ url, event_types: [type] });
    await bench.app.live.post(`/v1/endpoints/${id}/pause`);
    const event = await bench.publish(type);
    const { status, text } = await bench.app.live.delete(`/v1/endpoints/${id}`);
    expect([status, text]).toEqual([204, ""]);
    const delivery = await bench.app.until(async () => {
      const { json } = await bench.app.live.get(`/v1/events/${event}`);
      return (json["deliveries"] as { endpoint_id: string; status: string }[]).find(
        (each) => each.status === "cancelled",
      );
    });
    expect(delivery.endpoint_id).toBe(id);
    const { json } = await bench.app.live.get("/v1/endpoints?limit=250");
    expect((json["data"] as EndpointAnswer[]).map((each) => each.id)).not.toContain(id);
  });

  test("settings, the pause and secrets outlive a restart", async () => {
    await using other = await startApp();
    const made = await other.live.create<CreatedEndpoint>("/v1/endpoints", {
      url: bench.fresh().url,
      headers: { cookie: "a=b" },
      signature_versions: ["v1", "v1a"],
    });
    await other.live.post(`/v1/endpoints/${made.id}/pause`);
    const before = (await other.live.get(`/v1/endpoints/${made.id}`)).json;
    await other.stop();
    await other.start();
    expect((await other.live.get(`/v1/endpoints/${made.id}`)).json).toEqual(before);
    expect(before["status"]).toBe("paused");
    expect((await other.live.get(`/v1/endpoints/${made.id}/secret`)).json["secret"]).toBe(made.secret);
  });
});
