import { expect, test } from "bun:test";
import type { EndpointRecord } from "../../../src/client/import/records.ts";
import { digestOf } from "../../../src/client/import/target.ts";

const record: EndpointRecord = {
  ...{
    record: "endpoint",
    id: "1",
    url: "https://a.example",
    secret: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
  },
  ...{ headers: { authorization: "a" }, metadata: { team: "a" } },
};

test("a digest is the same for the same record, whatever its source says of it beside", () => {
  expect(digestOf({ ...record, without: ["something"] })).toBe(digestOf(record));
});

test("a digest is the same in whatever order the names of an object stand", () => {
  const [one, other] = [
    { headers: { a: "1", b: "2" }, metadata: { deep: { x: 1, y: [1, 2] } } },
    { headers: { b: "2", a: "1" }, metadata: { deep: { y: [1, 2], x: 1 } } },
  ];
  expect(digestOf({ ...record, ...other })).toBe(digestOf({ ...record, ...one }));
  const lists = { ...one, metadata: { deep: { x: 1, y: [2, 1] } } };
  expect(digestOf({ ...record, ...lists })).not.toBe(digestOf({ ...record, ...one }));
});

test.each<Partial<EndpointRecord>>([
  { url: "https://b.example" },
  { headers: { authorization: "b" } },
  { metadata: {} },
  { secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" },
  { consumer_id: "cust_7" },
])("another %p makes another digest", (more) => {
  expect(digestOf({ ...record, ...more })).not.toBe(digestOf(record));
});
