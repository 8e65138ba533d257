import { describe, expect, test } from "bun:test";
import {
  hasSameHead,
  readRequestHead,
  requestHeadOf,
  varyingHeaders,
} from "../../src/destinations/request-head.ts";
import type { OutgoingRequest } from "../../src/destinations/destination.ts";
import { urlParts } from "../../src/transport/url-parts.ts";

const url = urlParts(new URL("https://example.com/hook"));

function requestOf(id: string, others: Record<string, string>): OutgoingRequest {
  const signed = { "webhook-id": id, "webhook-timestamp": "1790000000", "webhook-signature": `v1,${id}` };
  return {
    method: "POST",
    url,
    headers: Object.entries({ "content-type": "application/json", ...signed, ...others }),
    body: new Uint8Array(),
  };
}

const shownOf = (request: OutgoingRequest, id: string) =>
  readRequestHead(requestHeadOf(request, []), varyingHeaders(id, 1_790_000_000, `v1,${id}`, "")).headers;

describe("headers of a second prefix", () => {
  const second = (id: string) => ({
    "svix-id": id,
    "svix-timestamp": "1790000000",
    "svix-signature": `v1,${id}`,
  });

  test("are no reason to keep another head, and are shown as they were sent", () => {
    const [one, other] = [requestOf("msg_1", second("msg_1")), requestOf("msg_2", second("msg_2"))];
    expect(hasSameHead(one, other, [])).toBe(true);
    expect(requestHeadOf(one, [])).toBe(requestHeadOf(other, []));
    expect(shownOf(other, "msg_2")).toEqual(Object.fromEntries(other.headers));
  });

  test("are told from a header of the customer's that has such a name", () => {
    const [one, other] = [requestOf("msg_1", { "x-id": "7" }), requestOf("msg_2", { "x-id": "7" })];
    expect(hasSameHead(one, other, [])).toBe(true);
    expect(shownOf(one, "msg_1")).toEqual(Object.fromEntries(one.headers));
    expect(hasSameHead(one, requestOf("msg_2", { "x-id": "8" }), [])).toBe(false);
    expect(hasSameHead(one, requestOf("msg_2", { "x-id": "msg_2" }), [])).toBe(false);
    expect(
      hasSameHead(requestOf("msg_1", { "x-id": "msg_1" }), requestOf("msg_2", { "x-id": "7" }), []),
    ).toBe(false);
  });
});
