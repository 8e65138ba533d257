import { expect, test } from "bun:test";
import { limit } from "../../../src/core/limits.ts";
import { eventOf, type QueueOptions } from "../../../src/client/bridge/messages.ts";

const read = (
  body: string | Uint8Array,
  options: QueueOptions = {},
  id: string | null = "q:1",
  type: string | null = "a.b",
) => eventOf({ id, type, body: Buffer.from(body) }, options);
const NO_OBJECT = { fault: "Its body is no JSON object in UTF-8." };
const NO_ID = { fault: "It has no id by which it would be known when it comes again." };

test("the body is the data, as it is written", () => {
  const body = ' {"n": 1.00000000000000000000001}\n';
  expect(read(body)).toEqual({ text: `{"type":"a.b","external_id":"q:1","data":${body}}` });
  expect(read("{}", { type: "c.d" })).toEqual({ text: '{"type":"c.d","external_id":"q:1","data":{}}' });
  expect(read("{}", {}, "q:1", null)).toEqual({ fault: "It names no type, and neither does --type." });
});

test("what is no object in UTF-8 is no data", () => {
  const texts = ["", "[]", "1", "null", '{"a":1}}', '{},"type":"x"', "\ufeff{}"];
  for (const body of [...texts, Buffer.from([0x7b, 0xff, 0x7d])])
    expect([body, read(body)]).toEqual([body, NO_OBJECT]);
});

test("an envelope is the request itself, with the message's id where it has none of its own", () => {
  const options = { envelope: true };
  const own = '{"type":"c.d","data":{},"external_id":"own"}';
  expect(read(own, options)).toEqual({ text: own });
  expect(read(own, options, null)).toEqual({ text: own });
  expect(read(' {"type":"c.d","data":{}}', options)).toEqual({
    text: '{"external_id":"q:1","type":"c.d","data":{}}',
  });
  expect(read("{ }", options)).toEqual({ text: '{"external_id":"q:1"}' });
});

test("an id of null is none, and the other fields of its envelope stay as they are written", () => {
  const body = '{"external_id": null, "data": {"n": 1.00000000000000000000001}, "type": "c.d"}';
  const rest = '"data":{"n": 1.00000000000000000000001},"type":"c.d"}';
  const options = { envelope: true };
  expect(read(body, options)).toEqual({ text: `{"external_id":"q:1",${rest}` });
  expect(read(body, options, null)).toEqual(NO_ID);
  expect(read(body, { ...options, withoutIds: true }, null)).toEqual({ text: `{${rest}` });
});

test("a body that is larger than an event may be is not read", () => {
  const body = new Uint8Array(limit("eventBodyBytesMax") + 1);
  expect(read(body)).toEqual({
    fault: `It has more than ${body.length - 1} bytes, which no event may have.`,
  });
});

test("without an id it is none, unless that is said", () => {
  expect(read("{}", {}, null)).toEqual(NO_ID);
  expect(read('{"type":"c.d"}', { envelope: true }, null)).toEqual(NO_ID);
  expect(read("{}", { withoutIds: true }, null)).toEqual({ text: '{"type":"a.b","data":{}}' });
  const bare = '{"type":"c.d","data":{}}';
  expect(read(bare, { withoutIds: true, envelope: true }, null)).toEqual({ text: bare });
});
