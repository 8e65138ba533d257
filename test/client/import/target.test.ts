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

test.each<Partial<EndpointRecord>>([
  { url: "https://b.example" },
  { headers: { authorization: "b" } },
  { metadata: {} },
  { secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" },
  { consumer_id: "cust_7" },
])("another %p makes another digest", (more) => {
  expect(digestOf({ ...record, ...more })).not.toBe(digestOf(record));
});
