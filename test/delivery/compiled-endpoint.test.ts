import { expect, test } from "bun:test";
import type { Endpoint } from "../../src/core/model.ts";
import { makeSecret } from "../../src/core/signing.ts";
import { compiledOf, credentialsOf, headOf, keysOf } from "../../src/delivery/compiled-endpoint.ts";
import { http } from "../../src/destinations/kinds/http.ts";
import { readRequestHead, varyingHeaders } from "../../src/destinations/request-head.ts";
import { atOnce, messageAt } from "../destinations/kinds/case.ts";
import { plainEndpoint } from "../kit/endpoint.ts";

const NOW = 1000;
const base: Endpoint = { ...plainEndpoint, id: 1, previous: null };

test("signs by the previous secret too, the newest first, until that has expired", () => {
  const previous = { secret: makeSecret(), privateKey: null, expiresAt: NOW };
  const rotated: Endpoint = { ...base, previous };
  const [current, old] = keysOf(rotated, NOW - 1);
  expect(keysOf(rotated, NOW - 1)).toHaveLength(2);
  expect(keysOf(rotated, NOW)).toEqual(current ? [current] : []);
  expect(keysOf({ ...base, secret: previous.secret }, NOW)).toEqual(old ? [old] : []);
});

test("a header to which the kind's protocol gives a meaning is not sent, however it came to be stored", () => {
  const sqs: Endpoint = {
    ...base,
    kind: "aws_sqs",
    headers: [
      ["Authorization", "x"],
      ["x-own", "1"],
    ],
  };
  expect(compiledOf(sqs).headers).toEqual([["x-own", "1"]]);
});

test("no connection serves two consumers, and none a consumer and its project", () => {
  const owners = [null, "a", "b"].map((consumerId) => compiledOf({ ...base, consumerId }).owner);
  expect(new Set(owners).size).toBe(3);
});

test("hides what is stored as a credential, and what its own headers carry", () => {
  const endpoint: Endpoint = {
    ...base,
    credentials: { token: "stored-token" },
    headers: [["authorization", "Bearer in-a-header"]],
  };
  expect(credentialsOf(endpoint)).toEqual(["stored-token", "in-a-header"]);
});

test("an endpoint that cannot be read throws: its secret, its filter", () => {
  expect(() => compiledOf({ ...base, secret: "none" })).toThrow("secret");
  expect(() => compiledOf({ ...base, filter: { $above: 1 } })).toThrow("filter");
});

test("an endpoint's own header is shown as it was sent, also by a name whose values stand in the row", async () => {
  // The last was stored before its name was refused.
  const own = { "x-ms-date": "mine", "x-amz-date": "mine", traceparent: "mine" };
  const config = { url: "https://a.example/x" };
  const endpoint: Endpoint = { ...base, config, headers: Object.entries(own) };
  const { headers } = compiledOf(endpoint);
  const shownOf = async (traceparent: string | null) => {
    const message = messageAt(NOW, { headers, traceparent });
    const request = await http.request(config, message, NOW, () => Promise.reject(new Error("none")), atOnce);
    const head = headOf(endpoint, request);
    const { id, timestampSeconds, signature } = message;
    return readRequestHead(head, varyingHeaders(id, timestampSeconds, signature, traceparent ?? "")).headers;
  };
  expect(await shownOf(null)).toMatchObject(own);
  // Of an event that is traced, the kind's takes its place.
  expect(await shownOf("00-1-2-01")).toMatchObject({ ...own, traceparent: "00-1-2-01" });
  expect(await shownOf("00-1-3-01")).toMatchObject({ ...own, traceparent: "00-1-3-01" });
  expect(await shownOf(null)).toMatchObject(own);
});

test("the head of requests that differ in nothing that it shows is one text", () => {
  const request = {
    method: "POST",
    url: new URL("https://a.example/x"),
    headers: [],
    body: new Uint8Array(),
  };
  const first = headOf(base, request);
  expect(headOf(base, { ...request })).toBe(first);
  expect(headOf(base, { ...request, method: "PUT" })).not.toBe(first);
});
