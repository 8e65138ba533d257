/**
 * Numbers that JSON spells and no double holds: refused where a body is read, and never written as null where
 * it is too late.
 */
import { describe, expect, test } from "bun:test";
import { appForFile, receiverForFile } from "../../kit/for-file.ts";
import { expectProblem } from "../kit.ts";
import { createSource, knock } from "../sources/kit.ts";

const app = appForFile();
const receiver = receiverForFile();

const EVENT = '{"type":"range.new","data":{"n":1e400}}';

describe("a number that no double holds is refused", () => {
  const refused: [string, method: string, path: string, body: string, pointer: string][] = [
    ["in an event", "POST", "/v1/events", EVENT, "/data/n"],
    [
      "in a batch",
      "POST",
      "/v1/events/batch",
      `{"events":[{"type":"a","data":{}},${EVENT}]}`,
      "/events/1/data/n",
    ],
    [
      "in an example",
      "POST",
      "/v1/event-types",
      '{"name":"range.type","example":{"n":[1e400]}}',
      "/example/n/0",
    ],
    [
      "in a schema",
      "POST",
      "/v1/event-types",
      '{"name":"range.type","schema":{"maximum":1e400}}',
      "/schema/maximum",
    ],
    [
      "in a filter",
      "POST",
      "/v1/endpoints",
      '{"filter":{"data":{"n":{"$lt":-1e400}}}}',
      "/filter/data/n/$lt",
    ],
    [
      "in what is set",
      "POST",
      "/v1/endpoints",
      '{"transformations":[{"op":"set","path":"data.n","value":{"x":1e400}}]}',
      "/transformations/0/value/x",
    ],
    ["in metadata", "POST", "/v1/endpoints", '{"metadata":{"n":1e400}}', "/metadata/n"],
    ["in an event to preview", "POST", "/v1/endpoints/preview", `{"event":${EVENT}}`, "/event/data/n"],
    ["in a setting", "PATCH", "/v1/project", '{"name":1e400}', "/name"],
  ];

  test.each(refused)("%s", async (_name, method, path, body, pointer) => {
    const reply = await app.live.send(method, path, {
      body,
      headers: { "content-type": "application/json" },
    });
    expectProblem(reply, 422, "invalid_request");
    expect(reply.json.errors?.map((fault) => fault.pointer)).toEqual([pointer]);
  });
});

describe("a number that no double holds, in an inbound body", () => {
  const TEXT = '{"id":"r-1","n":1e400,"kept":1.0}';

  /** Its event, and what became of its one delivery. */
  async function receive(transformations: object[] | null, body = TEXT) {
    const source = await createSource(app, "service");
    const name = source.id;
    const url = receiver.url(name);
    const { id: endpoint } = await app.live.create("/v1/endpoints", { url, transformations });
    const { json } = await knock(app, source.ingest_path, body, { "x-service-token": source.secret });
    const delivery = await app.until(async () => {
      const list = await app.live.get(
        `/v1/deliveries?event_id=${String(json["id"])}&endpoint_id=${endpoint}`,
      );
      const [first] = list.json["data"] as { id: string; status: string; dead_reason: string | null }[];
      return first !== undefined && first.status !== "pending" && first;
    });
    await app.live.delete(`/v1/endpoints/${endpoint}`);
    return { event: String(json["id"]), name, delivery };
  }

  test("is delivered as it is spelled where nothing rewrites the body", async () => {
    const { event, name, delivery } = await receive(null);
    expect(delivery.status).toBe("delivered");
    const [request] = await receiver.arrived(name);
    expect(request?.body.toString()).toContain(`"data":${TEXT}`);
    expect((await app.live.get(`/v1/events/${event}`)).text).toContain(`"data":${TEXT}`);
  });

  test("is malformed where the body is rewritten with it, and the preview says the same", async () => {
    const transformations = [{ op: "omit", paths: ["data.kept"] }];
    const { event, name, delivery } = await receive(transformations);
    expect([delivery.status, delivery.dead_reason]).toEqual(["dead", "malformed"]);
    expect(receiver.requests(name)).toEqual([]);
    const { json } = await app.live.post("/v1/endpoints/preview", { event_id: event, transformations });
    expect(json["body"]).toBeNull();
    expect(String(json["explanation"])).toContain("/data/n");
    const large = await receive(transformations, TEXT.replace("1.0", `"${"x".repeat(200_000)}"`));
    expect(large.delivery.dead_reason).toBe("malformed");
  });

  test("is in nobody's way where it is left out", async () => {
    const { name, delivery } = await receive([{ op: "omit", paths: ["data.n"] }]);
    expect(delivery.status).toBe("delivered");
    const [request] = await receiver.arrived(name);
    expect(request?.body.toString()).toContain('"data":{"id":"r-1","kept":1}');
  });

  test("is no obstacle to a search for text, a filter or a proposal of a schema", async () => {
    const { event } = await receive(null);
    const found = await app.live.get("/v1/events?q=r-1");
    expect((found.json["data"] as { id: string }[]).map(({ id }) => id)).toContain(event);
    const filter = { data: { n: { $gt: 5 } } };
    const { json } = await app.live.post("/v1/endpoints/preview", { event_id: event, filter });
    expect(json).toMatchObject({ matched: true });
    const { name } = await app.live.create("/v1/event-types", { name: "service.unknown" });
    const inferred = await app.live.post(`/v1/event-types/${name}/infer-schema`, {});
    expect(inferred.status).toBe(200);
    expect(inferred.text).not.toContain(":null");
  });
});
