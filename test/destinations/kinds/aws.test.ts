/** What the AWS kinds make of a message, where the walk over the table sees one config only. */
import { describe, expect, test } from "bun:test";
import {
  type Ask,
  type DestinationKind,
  type Message,
  Unprepared,
} from "../../../src/destinations/destination.ts";
import { awsEventbridge } from "../../../src/destinations/kinds/aws-eventbridge.ts";
import { awsKinesis } from "../../../src/destinations/kinds/aws-kinesis.ts";
import { awsSns } from "../../../src/destinations/kinds/aws-sns.ts";
import { awsSqs } from "../../../src/destinations/kinds/aws-sqs.ts";
import { s3 } from "../../../src/destinations/kinds/s3.ts";
import { requestHeadOf } from "../../../src/destinations/request-head.ts";
import { atOnce, messageAt, textOf } from "./case.ts";

const NOW = Date.UTC(2026, 10, 22, 8);
const MIB = 1_048_576;
const KEYS = { region: "eu-central-1", access_key_id: "AKIAEXAMPLE", secret_access_key: "secret-of-a-test" };
const QUEUE = "https://sqs.eu-central-1.amazonaws.com/123456789012/orders";
const TOPIC = "arn:aws:sns:eu-central-1:123456789012:orders";

const nobody: Ask = () => Promise.reject(new Unprepared({ kind: "unreachable", code: "dns_not_found" }));

async function make(kind: DestinationKind, config: object, over: Partial<Message> = {}, now = NOW) {
  return await kind.request({ ...KEYS, ...config }, messageAt(now, over), now, nobody, atOnce);
}

const jsonOf = async (...args: Parameters<typeof make>) =>
  JSON.parse(textOf(await make(...args))) as Record<string, unknown>;
const bodyOf = (bytes: number) => ({ body: new Uint8Array(bytes).fill(0x61) });

test("no query is signed, which costs the square of its names, though an endpoint was stored with one", async () => {
  const endpoint = "https://compatible.example.com/base?0&1&2#3";
  for (const kind of [awsSqs, awsSns, awsKinesis, awsEventbridge, s3]) {
    const config = { endpoint, queue_url: QUEUE, topic_arn: TOPIC, bucket: "orders" };
    const { href } = (await make(kind, config)).url;
    expect(href).toStartWith("https://compatible.example.com/base");
    expect(href).not.toMatch(/[?#]/);
  }
});

describe("aws_sqs", () => {
  test("calls the server of the queue's URL, or `endpoint`, which then names nothing", async () => {
    expect((await make(awsSqs, { queue_url: QUEUE })).url.href).toBe(
      "https://sqs.eu-central-1.amazonaws.com/",
    );
    const local = {
      queue_url: "http://queues.internal/000000000000/orders?x=1",
      endpoint: "http://127.0.0.1:9324/sqs",
    };
    expect((await make(awsSqs, local)).url.href).toBe("http://127.0.0.1:9324/sqs");
    expect(await jsonOf(awsSqs, local)).toMatchObject({ QueueUrl: local.queue_url });
  });

  test("a FIFO queue has a group and a deduplication id; a standard one has a group where it is asked for", async () => {
    const { endpointId, id } = messageAt(NOW);
    const fifo = await jsonOf(awsSqs, { queue_url: `${QUEUE}.fifo` });
    expect(fifo).toMatchObject({ MessageGroupId: endpointId, MessageDeduplicationId: id });
    const grouped = await jsonOf(awsSqs, { queue_url: `${QUEUE}.fifo`, group_id: "all" });
    expect(grouped).toMatchObject({ MessageGroupId: "all", MessageDeduplicationId: id });
    const standard = await jsonOf(awsSqs, { queue_url: QUEUE });
    expect(standard).not.toContainAnyKeys(["MessageGroupId", "MessageDeduplicationId"]);
    const fair = await jsonOf(awsSqs, { queue_url: QUEUE, group_id: "tenant-1" });
    expect(fair).toMatchObject({ MessageGroupId: "tenant-1" });
    expect(fair).not.toContainKey("MessageDeduplicationId");
  });

  test("body and attributes fit into 1 MiB together, or nothing is sent", async () => {
    const attributes =
      ["webhook-id", "webhook-timestamp", "webhook-signature", "type"].join("").length + 4 * "String".length;
    const { id, timestampSeconds, signature, type } = messageAt(NOW);
    const rest = attributes + [id, timestampSeconds, signature, type].join("").length;
    await make(awsSqs, { queue_url: QUEUE }, bodyOf(MIB - rest));
    const tooLarge = make(awsSqs, { queue_url: QUEUE }, bodyOf(MIB - rest + 1));
    await expect(tooLarge).rejects.toThrow(
      "Body and attributes have 1048577 bytes; at most 1048576 are taken.",
    );
    await expect(make(awsSns, { topic_arn: TOPIC }, bodyOf(MIB - rest + 1))).rejects.toThrow("1048577 bytes");
  });

  test("the two characters that it refuses are told at once", async () => {
    const body = new TextEncoder().encode('{"a":"\uffff"}');
    await expect(make(awsSqs, { queue_url: QUEUE }, { body })).rejects.toThrow("U+FFFE and U+FFFF");
  });
});

test("an endpoint's own headers go along, and are signed", async () => {
  const headers = [["x-amz-storage-class", "STANDARD_IA"]] as const;
  const request = await make(s3, { bucket: "orders" }, { headers });
  const sent = request.headers.map(([name, value]) => [name.toLowerCase(), value]);
  expect(sent).toContainEqual(["x-amz-storage-class", "STANDARD_IA"]);
  const names = sent.map(([name]) => name);
  expect(names.length).toBe(new Set(names).size);
  expect(Object.fromEntries(sent)["authorization"]).toContain("x-amz-storage-class");
});

test("the kept head is the same from one message to the next, so that it is stored once", async () => {
  const config = { ...KEYS, queue_url: QUEUE };
  const heads = [0, 5000].map(async (later) => {
    const now = NOW + later;
    const request = await awsSqs.request(config, messageAt(now, { id: `msg_${now}` }), now, nobody, atOnce);
    return { head: requestHeadOf(request, []), url: request.url };
  });
  const [first, second] = await Promise.all(heads);
  expect(second?.head).toBe(first?.head ?? "");
  expect(second?.url).toBe(first?.url as URL);
});

test.each([
  [awsSns, { topic_arn: TOPIC }, "https://sns.eu-central-1.amazonaws.com/"],
  [awsEventbridge, { event_bus_name: "default" }, "https://events.eu-central-1.amazonaws.com/"],
  [awsKinesis, { stream_name: "orders" }, "https://kinesis.eu-central-1.amazonaws.com/"],
  [
    awsKinesis,
    { stream_name: "orders", region: "cn-north-1" },
    "https://kinesis.cn-north-1.amazonaws.com.cn/",
  ],
  [
    awsKinesis,
    { stream_name: "orders", region: "eusc-de-east-1" },
    "https://kinesis.eusc-de-east-1.amazonaws.eu/",
  ],
  [awsSns, { topic_arn: TOPIC, endpoint: "http://127.0.0.1:5566" }, "http://127.0.0.1:5566/"],
])("%# the service's own address, or `endpoint`", async (kind, config, url) => {
  expect((await make(kind, config)).url.href).toBe(url);
});

describe("aws_eventbridge", () => {
  test("an entry says whence, what and when, the same on every attempt", async () => {
    const { createdAt, body } = messageAt(NOW);
    const entry = {
      EventBusName: "default",
      Source: "sealpost",
      DetailType: "invoice.paid",
      Detail: new TextDecoder().decode(body),
      Time: Math.floor(createdAt / 1000),
    };
    const first = await jsonOf(awsEventbridge, { event_bus_name: "default" });
    expect(first).toEqual({ Entries: [entry] });
    expect(await jsonOf(awsEventbridge, { event_bus_name: "default" }, {}, NOW + 86_400_000)).toEqual(first);
    const own = { event_bus_name: "default", source: "com.example", detail_type: "Shop event" };
    expect(await jsonOf(awsEventbridge, own)).toMatchObject({
      Entries: [{ Source: "com.example", DetailType: "Shop event" }],
    });
  });

  test("an entry above 1 MiB is told at once", async () => {
    const config = { event_bus_name: "default" };
    await expect(make(awsEventbridge, config, bodyOf(MIB - 20))).rejects.toThrow(
      "EventBridge takes at most 1048576",
    );
  });
});

test("aws_kinesis: the partition key is the webhook-id unless there is one for all", async () => {
  expect(await jsonOf(awsKinesis, { stream_name: "orders" })).toMatchObject({
    PartitionKey: messageAt(NOW).id,
  });
  const config = { stream_name: "orders", partition_key: "one" };
  expect(await jsonOf(awsKinesis, config)).toMatchObject({ PartitionKey: "one" });
});

describe("s3", () => {
  const id = messageAt(NOW).id;
  // The delivery was made a millisecond before midnight: the key stays in that hour, whenever it is
  // tried again.
  const key = `2026-11-21/23/${id}.json`;

  test.each([
    ["AWS", { bucket: "orders" }, `https://orders.s3.eu-central-1.amazonaws.com/${key}`],
    ["AWS, dots in the name", { bucket: "or.ders" }, `https://s3.eu-central-1.amazonaws.com/or.ders/${key}`],
    [
      "China",
      { bucket: "orders", region: "cn-north-1" },
      `https://orders.s3.cn-north-1.amazonaws.com.cn/${key}`,
    ],
    [
      "a compatible store",
      { bucket: "orders", endpoint: "https://minio.example.com:9000/" },
      `https://minio.example.com:9000/orders/${key}`,
    ],
    [
      "a store below a path",
      { bucket: "orders", endpoint: "https://example.com/store/" },
      `https://example.com/store/orders/${key}`,
    ],
    [
      "a store that has the bucket in its host",
      { bucket: "orders", endpoint: "https://orders.oss.example.com" },
      `https://orders.oss.example.com/${key}`,
    ],
    [
      "a bucket called like a number",
      { bucket: "127", endpoint: "http://127.0.0.1:9000" },
      `http://127.0.0.1:9000/127/${key}`,
    ],
    [
      "a prefix",
      { bucket: "orders", prefix: "/a/b/" },
      `https://orders.s3.eu-central-1.amazonaws.com/a/b/${key}`,
    ],
    [
      "a template",
      { bucket: "orders", key_template: "/{type}/{endpoint_id}/{id}{id} ü+.json" },
      `https://orders.s3.eu-central-1.amazonaws.com/invoice.paid/ep_01KAHM8ZZZ00K1M2N3P4Q5R6S7/${id}${id}%20%C3%BC%2B.json`,
    ],
  ])("%s", async (_name, config, url) => {
    const request = await make(s3, config);
    expect([request.method, request.url.href]).toEqual(["PUT", url]);
    expect((await make(s3, config, {}, NOW + 3 * 86_400_000)).url.href).toBe(url);
  });

  test("a key that grows too long is told at once", async () => {
    const config = { bucket: "orders", key_template: "{type}".repeat(10) + "{id}" };
    await expect(make(s3, config, { type: "x".repeat(128) })).rejects.toThrow(
      "The key has 1310 bytes; at most 1024 are taken.",
    );
  });
});
