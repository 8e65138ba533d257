import { expect, test } from "bun:test";
import { fittedEndpoint, fittedEventType } from "../../../src/client/import/fitness.ts";
import { keepNumber } from "../../../src/client/import/numbers.ts";
import type { EndpointRecord } from "../../../src/client/import/records.ts";
import { limit } from "../../../src/core/limits.ts";

const SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const fine: EndpointRecord = { record: "endpoint", id: "1", url: "https://a.example", secret: SECRET };

test("what fits stays as it is", () => {
  expect(fittedEndpoint(fine)).toEqual({ ...fine, cannot: [], without: [] });
  expect(fittedEventType({ record: "event_type", name: "a.b", schema: {} })).toMatchObject({
    cannot: [],
    without: [],
  });
});

test.each<[Partial<EndpointRecord>, string]>([
  [{ cannot: ["as its source says"] }, "as its source says"],
  [{ event_types: ["a..b"] }, "it wants a..b, which is no event type here"],
  [{ event_types: [] }, "it wants no event type at all"],
  [
    { event_types: Array.from({ length: 101 }, (_, at) => `t${at}`) },
    "it wants 101 event types, and 100 can be named",
  ],
  [{ headers: { "x-a": "1", authorization: null } }, "the value of its header authorization is not known"],
  [{ secret: "whsec_c2hvcnQ=" }, "its secret is not whsec_ and 24 to 64 bytes"],
])("an endpoint with %p cannot come along", (more, reason) => {
  expect(fittedEndpoint({ ...fine, ...more }).cannot).toEqual([expect.stringContaining(reason)]);
});

test("a receiver that verifies needs its secret; a queue has none", () => {
  const { secret: _, url: __, ...bare } = fine;
  expect(fittedEndpoint({ ...bare, url: "https://a.example" }).cannot).toEqual([
    expect.stringContaining("it has no secret"),
  ]);
  expect(fittedEndpoint({ ...bare, kind: "aws_sqs", config: {} }).cannot).toEqual([]);
});

test("an event type comes without a schema that is refused, and with as much of its description as is kept", () => {
  const description = "x".repeat(limit("descriptionLengthMax") + 1);
  const fitted = fittedEventType({ record: "event_type", name: "a", schema: { type: "thing" }, description });
  expect(fitted.schema).toBeUndefined();
  expect(fitted.description?.length).toBe(limit("descriptionLengthMax"));
  expect(fitted.without).toEqual([
    expect.stringContaining("its schema, which is refused: /type"),
    expect.stringContaining("the end of its description"),
  ]);
  expect(fittedEndpoint({ ...fine, description }).without).toHaveLength(1);
});

test("a name that is none here is left out", () => {
  expect(fittedEventType({ record: "event_type", name: ".a" }).cannot).toEqual([
    expect.stringContaining(".a is no name"),
  ]);
});

test("a description is not cut within a character", () => {
  const max = limit("descriptionLengthMax");
  const description = `${"x".repeat(max - 1)}😀 and more`;
  for (const fitted of [
    fittedEventType({ record: "event_type", name: "a", description }),
    fittedEndpoint({ ...fine, description }),
  ])
    expect(fitted.description).toBe("x".repeat(max - 1));
});

test("what would be rounded does not come along in silence", () => {
  const big = JSON.parse("[9007199254740993]", keepNumber) as unknown[];
  const type = fittedEventType({
    record: "event_type",
    name: "a",
    schema: { enum: big },
    example: { n: big },
  });
  expect([type.schema, type.example, type.without?.length]).toEqual([undefined, undefined, 2]);
  expect(type.without?.[0]).toContain("its schema, which holds the number 9007199254740993");
  for (const more of [{ filter: { data: { n: { $in: big } } } }, { metadata: { n: big } }])
    expect(fittedEndpoint({ ...fine, ...more }).cannot).toEqual([
      "it holds the number 9007199254740993, which would be rounded",
    ]);
});

test("a private key that is none is told before it is sent", () => {
  expect(fittedEndpoint({ ...fine, private_key: "whsk_short" }).cannot).toEqual([
    expect.stringContaining("its private_key is not whsk_"),
  ]);
});
