/** Sources over the whole service. What comes in at their addresses: ingest.test.ts. */
import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "bun:test";
import { sign } from "@octokit/webhooks-methods";
import type { SourceAnswer } from "../../../src/http/sources/shape.ts";
import { listProviders } from "../../../src/inbound/providers.ts";
import { appForFile } from "../../kit/for-file.ts";
import { expectProblem, type Reply } from "../kit.ts";
import { type CreatedSource, createSource } from "./kit.ts";

const app = appForFile();
const ED25519_KEY = generateKeyPairSync("ed25519")
  .publicKey.export({ format: "der", type: "spki" })
  .toString("base64");

const read = async (id: string) => (await app.live.get(`/v1/sources/${id}`)).json as unknown as SourceAnswer;
const patch = (id: string, body: unknown) => app.live.patch(`/v1/sources/${id}`, body);
/** The status of a request that carries this token. */
const knock = async ({ ingest_path: path }: SourceAnswer, token: string) =>
  (await app.with(token).post(path, { type: "knock" })).status;

function expectFault(reply: Reply, ...pointers: string[]): void {
  expectProblem(reply, 422, "invalid_request");
  expect(reply.json.errors?.map(({ pointer }) => pointer)).toEqual(pointers);
}

describe("creating", () => {
  test("provider and name are enough; the secret is shown once, and every field has its default", async () => {
    const { id, secret, created_at, updated_at, ...rest } = await createSource(app, "service");
    expect(id).toMatch(/^src_[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(Buffer.from(secret.slice(6), "base64")).toHaveLength(32);
    expect(rest).toMatchObject({
      provider: "service",
      name: "A source",
      status: "active",
      hint: null,
      ingest_path: `/ingest/${id}`,
      ingest_url: `https://hooks.example.com/ingest/${id}`,
      signing_secret: null,
      credentials: {},
      config: {},
      consumer_id: null,
      rate_limit_per_second: null,
      durability: null,
      previous_secret_expires_at: null,
      pending_verification_token: null,
      last_rejected: null,
    });
    expect(rest.counters).toMatchObject({ accepted: 0, duplicates: 0, rejected: { bad_signature: 0 } });
    expect(await read(id)).toEqual({ id, ...rest, created_at, updated_at });
    for (const path of [`/v1/sources/${id}`, "/v1/sources?limit=250"]) {
      expect((await app.live.get(path)).text).not.toContain(secret.slice(6));
    }
  });

  test("an alias is answered as the key", async () => {
    const [provider] = listProviders().filter(({ aliases }) => aliases.length > 0);
    const made = await createSource(app, provider?.aliases[0] ?? "");
    expect(made.provider).toBe(provider?.key ?? "");
  });

  test("a provider that issues the secret is awaited, and a hint says what to enter", async () => {
    const awaiting = await createSource(app, "stripe");
    expect(awaiting.status).toBe("awaiting_secret");
    expect(awaiting.hint).toContain("signing_secret");
    const ready = await createSource(app, "stripe", { signing_secret: "whsec_given" });
    expect(ready).toMatchObject({ status: "active", signing_secret: "***" });
    expect(JSON.stringify(await read(ready.id))).not.toContain("whsec_given");
  });

  test("the secret of a provider with a small alphabet keeps to it", async () => {
    const { secret } = await createSource(app, "telegram");
    expect(secret).toMatch(/^whsec_[A-Za-z0-9_-]{43}$/);
  });

  test("a provider that takes short secrets only gets one that fits", async () => {
    const { secret } = await createSource(app, "lemonsqueezy");
    expect(secret).toMatch(/^whsec_.{34}$/);
  });

  test.each(listProviders().map(({ key }) => key))(
    "a source can be made for %s, and resumed",
    async (key) => {
      const required = { hmac: { header: "x-signature", algorithm: "sha256", encoding: "hex" } };
      const config = key in required ? { config: required[key as keyof typeof required] } : {};
      const made = await createSource(app, key, { ...config });
      expect(["active", "awaiting_secret"]).toContain(made.status);
      expect((await app.live.post(`/v1/sources/${made.id}/pause`)).json["status"]).toBe("paused");
      expect((await app.live.post(`/v1/sources/${made.id}/resume`)).json["status"]).toBe(made.status);
    },
  );

  test("of an unknown provider is refused with the one that was most likely meant", async () => {
    const detailOf = async (provider: string) => {
      const { json } = await app.live.post("/v1/sources", { provider, name: "x" });
      return json["errors"];
    };
    const expected = "Expected the key of a provider that GET /v1/providers lists";
    expect(await detailOf("strip")).toEqual([
      { pointer: "/provider", detail: `${expected}, perhaps stripe.` },
    ]);
    expect(await detailOf("nobody")).toEqual([{ pointer: "/provider", detail: `${expected}.` }]);
  });

  test.each([
    ["no provider", { name: "x" }, ["/provider"]],
    ["no name", { provider: "service" }, ["/name"]],
    ["an empty name", { provider: "service", name: "" }, ["/name"]],
    ["an unknown provider", { provider: "nobody", name: "x" }, ["/provider"]],
    ["an unknown provider and no name", { provider: "strip" }, ["/name", "/provider"]],
    [
      "a secret for a provider that brings its own",
      { provider: "asana", name: "x", signing_secret: "s" },
      ["/signing_secret"],
    ],
    [
      "a secret of another form",
      { provider: "standard_webhooks", name: "x", signing_secret: "§§" },
      ["/signing_secret"],
    ],
    [
      "a public key of another kind",
      { provider: "sendgrid", name: "x", signing_secret: ED25519_KEY },
      ["/signing_secret"],
    ],
    [
      "an unknown credential",
      { provider: "service", name: "x", credentials: { a: "b" } },
      ["/credentials/a"],
    ],
    [
      "a credential that is no text",
      { provider: "braintree", name: "x", credentials: { public_key: 5 } },
      ["/credentials/public_key"],
    ],
    ["an unknown setting", { provider: "service", name: "x", config: { a: 1 } }, ["/config/a"]],
    [
      "a setting out of bounds",
      { provider: "stripe", name: "x", config: { tolerance_seconds: 0 } },
      ["/config/tolerance_seconds"],
    ],
    [
      "a mask that stands for nothing",
      { provider: "stripe", name: "x", signing_secret: "***" },
      ["/signing_secret"],
    ],
    [
      "a negative rate",
      { provider: "service", name: "x", rate_limit_per_second: -1 },
      ["/rate_limit_per_second"],
    ],
    ["an unknown field", { provider: "service", name: "x", secret: "whsec_mine" }, ["/secret"]],
  ])("%s is refused", async (_name, body, pointers) => {
    const reply = await app.live.post("/v1/sources", body);
    expectFault(reply, ...pointers);
    expect(reply.text).not.toContain("whsec_mine");
    expect(reply.text).not.toContain("§§");
  });

  test("thousands of unknown names in config are told as 50, and more credentials than a source can have as one", async () => {
    const unknown = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, "1"]));
    const create = async (part: object) =>
      (await app.live.post("/v1/sources", { provider: "github", name: "x", ...part })).json.errors;
    expect(await create({ config: unknown(5000) })).toHaveLength(50);
    expect(await create({ credentials: unknown(20) })).toHaveLength(20);
    expect(await create({ credentials: { ...unknown(5000), f5000: 1 } })).toEqual([
      { pointer: "/credentials", detail: "Expected an object of at most 20 fields." },
    ]);
  });

  test("required settings are asked for", async () => {
    const { json } = await app.live.post("/v1/sources", { provider: "hmac", name: "x" });
    expect(json.errors?.map(({ pointer }) => pointer)).toContain("/config/header");
  });
});

describe("lists", () => {
  test("are newest first and paged", async () => {
    const { id: older } = await createSource(app, "service");
    const { id: newer } = await createSource(app, "service");
    const first = await app.live.get("/v1/sources?limit=1");
    expect((first.json["data"] as CreatedSource[]).map(({ id }) => id)).toEqual([newer]);
    const second = await app.live.get(`/v1/sources?limit=1&cursor=${String(first.json["next_cursor"])}`);
    expect((second.json["data"] as CreatedSource[]).map(({ id }) => id)).toEqual([older]);
  });

  test("another project sees nothing of them", async () => {
    const { id } = await createSource(app, "service");
    expect((await app.test.get("/v1/sources")).json["data"]).toEqual([]);
    expectProblem(await app.test.get(`/v1/sources/${id}`), 404, "not_found");
  });
});

describe("ids", () => {
  const ask = (id: string, method: string, tail: string, client = app.live) =>
    client.send(
      method,
      `/v1/sources/${id}${tail}`,
      method === "GET" || method === "DELETE" ? {} : { json: {} },
    );
  const withoutId = ({ json: { request_id: _id, ...rest } }: Reply) => rest;

  test.each([
    ["GET", ""],
    ["PATCH", ""],
    ["DELETE", ""],
    ["POST", "/pause"],
    ["POST", "/resume"],
    ["POST", "/rotate-secret"],
  ])("%s …%s: foreign, malformed and deleted ids are answered like unknown ones", async (method, tail) => {
    const { id } = await createSource(app, "service");
    const gone = await createSource(app, "service");
    await app.live.delete(`/v1/sources/${gone.id}`);
    const unknown = await ask("src_01KAHM9Q7W00ZZZZZZZZZZZZZZ", method, tail);
    expectProblem(unknown, 404, "not_found");
    const replies = [
      await ask(id, method, tail, app.test),
      await ask("src_x", method, tail),
      await ask(gone.id, method, tail),
    ];
    for (const reply of replies) expect(withoutId(reply)).toEqual(withoutId(unknown));
  });
});

describe("changing", () => {
  test("is a merge patch: what is not named stays, null resets", async () => {
    const { id } = await createSource(app, "stripe", {
      consumer_id: "acme",
      config: { tolerance_seconds: 60 },
    });
    const { json } = await patch(id, {
      name: "Other",
      consumer_id: null,
      rate_limit_per_second: 5,
      durability: "replica",
    });
    expect(json).toMatchObject({
      name: "Other",
      consumer_id: null,
      rate_limit_per_second: 5,
      durability: "replica",
      config: { tolerance_seconds: 60 },
    });
    expect((await patch(id, { config: null })).json["config"]).toEqual({});
    expect(await read(id)).toMatchObject({ name: "Other", config: {}, status: "awaiting_secret" });
  });

  test("credentials are merged part by part, and never read", async () => {
    const keys = { public_key: "pub", private_key: "priv" };
    const { id, status } = await createSource(app, "braintree", { credentials: { public_key: "pub" } });
    expect(status).toBe("awaiting_secret");
    const reply = await patch(id, { credentials: { ...keys, public_key: "***" } });
    expect(reply.json).toMatchObject({
      status: "active",
      credentials: { public_key: "***", private_key: "***" },
    });
    expect(reply.text).not.toContain('priv"');
    expect((await patch(id, { credentials: { private_key: null } })).json).toMatchObject({
      status: "awaiting_secret",
      credentials: { public_key: "***" },
    });
    expectFault(await patch(id, { credentials: { private_key: "***" } }), "/credentials/private_key");
    expect((await patch(id, { credentials: null })).json["credentials"]).toEqual({});
  });

  test("a signing secret takes the place of the one before at once, of our own too", async () => {
    const source = await createSource(app, "service");
    expect((await patch(source.id, { signing_secret: "chosen-one" })).json["signing_secret"]).toBe("***");
    expect([await knock(source, source.secret), await knock(source, "chosen-one")]).toEqual([401, 200]);
    await patch(source.id, { signing_secret: "chosen-two" });
    expect([await knock(source, "chosen-one"), await knock(source, "chosen-two")]).toEqual([401, 200]);
    await patch(source.id, { signing_secret: "***", name: "kept" });
    expect(await knock(source, "chosen-two")).toBe(200);
    await patch(source.id, { signing_secret: null });
    expect([await knock(source, "chosen-two"), await knock(source, source.secret)]).toEqual([401, 200]);
  });

  test.each([{}, { signing_secret: "***" }, { signing_secret: "three" }])(
    "previous_signing_secret null beside %j ends the one before at once",
    async (body: { signing_secret?: string }) => {
      const source = await createSource(app, "service", { signing_secret: "one" });
      await patch(source.id, { signing_secret: "two", previous_signing_secret: "***" });
      const { json } = await patch(source.id, { ...body, previous_signing_secret: null });
      expect(json["previous_secret_expires_at"]).toBeNull();
      const current = body.signing_secret === "three" ? "three" : "two";
      expect([await knock(source, "one"), await knock(source, current)]).toEqual([401, 200]);
    },
  );

  test("previous_signing_secret beside it keeps the one before for a day", async () => {
    const source = await createSource(app, "service", { signing_secret: "one" });
    const { json } = await patch(source.id, { signing_secret: "two", previous_signing_secret: "***" });
    const expires = Date.parse(String(json["previous_secret_expires_at"]));
    expect(Math.abs(expires - Date.now() - 86_400_000)).toBeLessThan(60_000);
    expect([await knock(source, "one"), await knock(source, "two")]).toEqual([200, 200]);
    await patch(source.id, { signing_secret: "***", previous_signing_secret: "zero" });
    expect([await knock(source, "zero"), await knock(source, "one"), await knock(source, "two")]).toEqual([
      200, 401, 200,
    ]);
    expectFault(await patch(source.id, { previous_signing_secret: "x" }), "/previous_signing_secret");
  });

  test.each([
    [{ provider: "github" }, "/provider"],
    [{ name: null }, "/name"],
    [{ config: { colour: "red" } }, "/config/colour"],
  ])("%j is refused, and nothing changes", async (body, pointer) => {
    const { id, secret: _secret, ...before } = await createSource(app, "service");
    expectFault(await patch(id, { consumer_id: "changed", ...body }), pointer);
    expect(await read(id)).toEqual({ id, ...before });
  });
});

describe("rotating", () => {
  const rotate = (id: string, body?: unknown) => app.live.post(`/v1/sources/${id}/rotate-secret`, body);

  test("both secrets open until the overlap ends; a second rotation drops the oldest", async () => {
    const source = await createSource(app, "service");
    const first = await rotate(source.id, { expiry_hours: 1 });
    const expires = Date.parse(String(first.json["previous_secret_expires_at"]));
    expect(Math.abs(expires - Date.now() - 3_600_000)).toBeLessThan(60_000);
    const fresh = String(first.json["secret"]);
    expect([await knock(source, source.secret), await knock(source, fresh)]).toEqual([200, 200]);
    const newest = String((await rotate(source.id)).json["secret"]);
    const tokens = [source.secret, fresh, newest];
    expect(await Promise.all(tokens.map((token) => knock(source, token)))).toEqual([401, 200, 200]);
    const last = await rotate(source.id, { expiry_hours: 0 });
    expect(last.json["previous_secret_expires_at"]).toBeNull();
    expect([await knock(source, newest), await knock(source, String(last.json["secret"]))]).toEqual([
      401, 200,
    ]);
  });

  test("with the provider's new secret, its previous one holds for the window, and ours is not answered", async () => {
    const source = await createSource(app, "github", { signing_secret: "first" });
    const { json } = await rotate(source.id, { signing_secret: "second" });
    expect(json).not.toHaveProperty("secret");
    expect(json["previous_secret_expires_at"]).toBeString();
    const body = '{"action":"opened"}';
    const post = async (secret: string, id: string) => {
      const signature = await sign(secret, body);
      const headers = {
        "x-github-event": "issues",
        "x-github-delivery": id,
        "x-hub-signature-256": signature,
      };
      return (await app.with(null).send("POST", source.ingest_path, { body, headers })).status;
    };
    expect([await post("first", "1"), await post("second", "2"), await post("third", "3")]).toEqual([
      200, 200, 401,
    ]);
  });

  test("with the provider's own secret ends ours: it does not come back with that one", async () => {
    const source = await createSource(app, "github");
    await rotate(source.id, { signing_secret: "given", expiry_hours: 0 });
    expect((await patch(source.id, { signing_secret: null })).status).toBe(200);
    const body = '{"action":"opened"}';
    const headers = {
      "x-github-event": "issues",
      "x-github-delivery": "1",
      "x-hub-signature-256": await sign(source.secret, body),
    };
    expect((await app.with(null).send("POST", source.ingest_path, { body, headers })).status).toBe(401);
  });

  test("a provider that issues the secret needs the new one", async () => {
    const { id } = await createSource(app, "stripe", { signing_secret: "whsec_a" });
    expectFault(await rotate(id), "/signing_secret");
    expectFault(await rotate(id, { signing_secret: "***" }), "/signing_secret");
    expect((await rotate(id, { signing_secret: "whsec_b" })).status).toBe(200);
  });

  test("where nothing held before, nothing overlaps", async () => {
    const { id } = await createSource(app, "stripe");
    const { json } = await rotate(id, { signing_secret: "whsec_b" });
    expect(json as unknown).toEqual({ previous_secret_expires_at: null });
    expect((await read(id)).status).toBe("active");
  });

  test.each([-1, 169, 1.5, "24"])("expiry_hours %p is refused", async (hours) => {
    const { id } = await createSource(app, "service");
    expectFault(await rotate(id, { expiry_hours: hours }), "/expiry_hours");
  });
});
