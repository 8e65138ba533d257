import { expect, test } from "bun:test";
import fc from "fast-check";
import { readHeaders, readRequest } from "../../src/client/captured.ts";

const HEADERS = [
  ["webhook-id", "msg_1"],
  ["webhook-signature", "v1,a= v1a,b="],
];

test.each([
  ["lines", "Webhook-Id: msg_1\r\nWEBHOOK-SIGNATURE:v1,a= v1a,b=\r\n"],
  ["a header that comes twice", "webhook-id: msg_1\nwebhook-signature: v1,a=\nwebhook-signature: v1a,b="],
  ["what curl prints", "> POST / HTTP/1.1\n> webhook-id: msg_1\n> webhook-signature: v1,a= v1a,b=\n>\n* end"],
  ["JSON", '{"webhook-id":"msg_1","Webhook-Signature":"v1,a= v1a,b="}'],
])("headers are read from %s", (_what, text) => {
  expect([...readHeaders(text)]).toEqual(HEADERS as [string, string][]);
});

test("a whole request is cut at its first empty line, and its body keeps every byte", () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.constantFrom("\r\n", "\n"), (body, end) => {
      const head = Buffer.from(["POST /hook HTTP/1.1", "webhook-id: msg_1", "", ""].join(end));
      const read = readRequest(Buffer.concat([head, body]));
      expect([...read.headers]).toEqual([["webhook-id", "msg_1"]]);
      expect(Buffer.from(read.body).equals(Buffer.from(body))).toBe(true);
    }),
  );
});

test("no bytes make it throw", () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.string(), (bytes, text) => {
      expect(readRequest(bytes).body.length).toBeLessThanOrEqual(bytes.length);
      expect(readHeaders(text).size + readHeaders(`{${text}`).size).toBeGreaterThanOrEqual(0);
    }),
  );
});
