/** The table of destination kinds, and destinations that are tried before they are stored. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { listKinds } from "../../../src/destinations/destinations.ts";
import { hang, verifyDelivery } from "../../kit/receiver.ts";
import { CASES } from "../../destinations/kinds/cases.ts";
import { type EndpointBench, expectFault, startBench } from "./kit.ts";

interface Kind {
  kind: string;
  name: string;
  fields: { name: string; label: string; help: string; required: boolean; secret: boolean }[];
  max_bytes: number | null;
}

let bench: EndpointBench;

beforeAll(async () => {
  bench = await startBench();
});

afterAll(() => bench[Symbol.asyncDispose]());

describe("the kinds", () => {
  const read = async () => {
    const reply = await bench.app.live.get("/v1/destination-kinds");
    expect(reply.status).toBe(200);
    return reply.json["data"] as Kind[];
  };

  test("are the rows of the table, each with what a form needs", async () => {
    const kinds = await read();
    expect(kinds.map(({ kind }) => kind)).toEqual(listKinds().map(({ kind }) => kind));
    expect(kinds.find(({ kind }) => kind === "http")).toMatchObject({
      name: "HTTP URL",
      fields: [
        { name: "url", label: "URL", required: true, secret: false, address: true, type: "string" },
        { name: "header_prefix", required: false, secret: false, address: false, type: "string" },
      ],
      max_bytes: null,
    });
    for (const { fields } of kinds) {
      for (const { label, help } of fields) expect([label, help]).not.toContain("");
    }
  });

  test("name no query, and are shown to nobody without a key", async () => {
    expectFault(await bench.app.live.get("/v1/destination-kinds?kind=http"), "kind");
    expect((await bench.app.with(null).get("/v1/destination-kinds")).status).toBe(401);
  });

  test("each refuse a config without its required fields, each at its pointer", async () => {
    for (const { kind, fields } of await read()) {
      const required = fields.filter((field) => field.required).map(({ name }) => `/config/${name}`);
      if (required.length === 0) continue;
      const reply = await bench.app.live.post("/v1/endpoints", { kind, config: {} });
      expect([kind, reply.status]).toEqual([kind, 422]);
      expect(reply.json.errors?.map(({ pointer }) => pointer)).toEqual(required);
    }
  });

  test("each refuse a field that they do not have", async () => {
    for (const { kind } of await read()) {
      const reply = await bench.app.live.post("/v1/endpoints", { kind, config: { no_such_field: "x" } });
      expectFault(reply, "/config/no_such_field");
    }
  });
});

describe("verify=true", () => {
  const create = (fields: object) => bench.app.live.post("/v1/endpoints?verify=true", fields);

  const count = async () => {
    const reply = await bench.app.live.get("/v1/endpoints?limit=250");
    return (reply.json["data"] as unknown[]).length;
  };

  test("sends one signed test message, and then the endpoint is made", async () => {
    const { name, url } = bench.fresh();
    const reply = await create({ url, transformations: [{ op: "unwrap", path: "data.customer" }] });
    expect(reply.status).toBe(201);
    const [message, ...others] = bench.receiver.requests(name);
    expect(others).toEqual([]);
    if (message === undefined) throw new Error("nothing was sent");
    expect(verifyDelivery(message, String(reply.json["secret"]))).toMatchObject({ type: "test.event" });
    expect(message.headers["webhook-id"]).toMatch(/^msg_[0-9A-HJKMNP-TV-Z]{26}$/);
    expect((await bench.app.live.get("/v1/events?type=test.event")).json["data"]).toEqual([]);
  });

  test("refuses what the destination refuses, with the reason, and stores nothing", async () => {
    const before = await count();
    const name = bench.fresh().name;
    const url = bench.receiver.at(name, () => new Response("no such queue\n", { status: 403 }));
    const reply = await create({ kind: "http", config: { url } });
    expectFault(reply, "/config");
    expect(reply.json["detail"]).toBe(
      "The destination refused the test message with status 403. It said: no such queue",
    );
    expect(bench.receiver.requests(name)).toHaveLength(1);
    expect(await count()).toBe(before);
  });

  test("refuses what cannot be reached, or is silent, and says so", async () => {
    const gone = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
    const url = `http://127.0.0.1:${gone.port}/`;
    await gone.stop(true);
    const refused = await create({ url });
    expectFault(refused, "/config");
    expect(refused.json["detail"]).toContain("could not be reached (connection_refused)");
    const silent = bench.receiver.at(bench.fresh().name, hang);
    const late = await create({ url: silent, timeout_seconds: 1 });
    expectFault(late, "/config");
    expect(late.json["detail"]).toContain("within 1 s (timeout_response)");
  });

  test.each(CASES.map((proof) => [proof.kind, proof] as const))(
    "tries a destination of the kind %s, which nobody answers, and stores nothing",
    async (kind, proof) => {
      const before = await count();
      const reply = await create({ kind, config: proof.config, timeout_seconds: 1 });
      expectFault(reply, "/config");
      expect(reply.json["detail"]).toStartWith("The destination could not be reached (connection_refused).");
      expect(await count()).toBe(before);
    },
  );

  test("says what the kind knows of an error inside a success", async () => {
    const path = "api/exchanges/shop/events/publish";
    const url = new URL(bench.receiver.at(path, () => Response.json({ routed: false }))).origin;
    const config = { url, vhost: "shop", exchange: "events", username: "u", password: "p" };
    const reply = await create({ kind: "rabbitmq", config });
    expectFault(reply, "/config");
    expect(reply.json["detail"]).toBe(
      "The destination refused the test message with status 200 (unroutable). No queue is bound that takes this routing key; " +
        'bind one. It said: {"routed":false}',
    );
  });

  test("asks the destination nothing where a field is wrong or the address forbidden", async () => {
    expectFault(await create({ url: "http://10.0.0.1/" }), "/url", "unsafe_destination");
    const { name, url } = bench.fresh();
    expectFault(await create({ url, timeout_seconds: 0 }), "/timeout_seconds");
    expect(bench.receiver.requests(name)).toEqual([]);
    expectFault(await bench.app.live.post("/v1/endpoints?verify=yes", { url }), "verify");
  });

  test("an answer that is no text, or long, is not quoted as a whole", async () => {
    const binary = bench.receiver.at(
      bench.fresh().name,
      () => new Response(new Uint8Array([255, 0, 1]), { status: 500 }),
    );
    expect((await create({ url: binary })).json["detail"]).toBe(
      "The destination refused the test message with status 500.",
    );
    const long = bench.receiver.at(bench.fresh().name, () => new Response("x".repeat(999), { status: 500 }));
    expect((await create({ url: long })).json["detail"]).toEndWith(`${"x".repeat(300)}…`);
  });
});
