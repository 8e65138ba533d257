import { describe, expect, test } from "bun:test";
import { openApi } from "./app.ts";
import { Conformance } from "./conformance.ts";

const conformance = new Conformance(await openApi());
const PROBLEM = { type: "t", title: "t", status: 409, code: "conflict", detail: "d", request_id: "r" };

/** Of a delivery that is cancelled. */
function faultOf(status: number, body: unknown, type = "application/problem+json"): string | null {
  const received = { status, headers: new Headers({ "content-type": type }), text: JSON.stringify(body) };
  return conformance.faultOf("POST", "/v1/deliveries/msg_1/cancel?x=1", received);
}

describe("an answer", () => {
  test("that is documented has no fault", () => {
    expect(faultOf(409, PROBLEM)).toBeNull();
  });

  test.each([
    ["with a status", 402, PROBLEM, "not documented"],
    ["with a code", 409, { ...PROBLEM, code: "not_found" }, "conflict or idempotency_in_progress"],
    ["of a shape", 409, { ...PROBLEM, request_id: 7 }, "request_id must be string"],
    ["without a field", 200, { id: "msg_1" }, "required property"],
  ])("%s that is not documented is at fault", (_name, status, body, said) => {
    expect(faultOf(status, body, status === 200 ? "application/json" : undefined)).toContain(said);
  });

  test("of another type than is documented is at fault", () => {
    expect(faultOf(409, PROBLEM, "application/json")).toContain("should not be application/json");
  });

  test("of a path that the document does not have is nobody's fault", () => {
    const received = { status: 418, headers: new Headers(), text: "" };
    expect(conformance.faultOf("GET", "/teapot", received)).toBeNull();
  });
});
