import { expect, test } from "bun:test";
import {
  ApiError,
  ConflictError,
  ConnectionError,
  errorOf,
  InvalidRequestError,
  NotFoundError,
  RateLimitError,
  type RequestFault,
  SealpostError,
} from "../../sdk/typescript/src/errors.ts";

const problem = {
  status: 422,
  code: "invalid_request",
  detail: "The request is not valid.",
  request_id: "req-1",
  errors: [{ pointer: "/url", detail: "must be a URL" }],
};
const read = (status: number, text: string, headers: Record<string, string> = {}) =>
  errorOf(new Response(null, { status, headers }), text);

test("a problem is read whole, and its message names the places", () => {
  const error = read(422, JSON.stringify(problem), { "retry-after": "7" });
  expect<object>({ ...error }).toEqual({
    name: "InvalidRequestError",
    status: 422,
    code: "invalid_request",
    detail: problem.detail,
    errors: problem.errors,
    requestId: "req-1",
    retryAfter: 7,
  });
  expect(error.message).toBe("422 invalid_request: The request is not valid.; /url: must be a URL");
});

test.each([
  [404, NotFoundError],
  [409, ConflictError],
  [422, InvalidRequestError],
  [429, RateLimitError],
  [500, ApiError],
])("a %d is of a type that can be caught", (status, Kind) => {
  const error = read(status, JSON.stringify({ ...problem, status }));
  expect(error).toBeInstanceOf(Kind);
  expect(error).toBeInstanceOf(SealpostError);
  expect(error.name).toBe(Kind.name);
});

test.each([
  ["<html>Bad Gateway</html>", {}, "<html>Bad Gateway</html>"],
  ["", {}, "An answer of 502 without a body"],
  ["null", {}, "null"],
  ['{"error":"x"}', {}, '{"error":"x"}'],
  [
    "",
    { location: "https://b.example.com/" },
    "It leads to https://b.example.com/: give that address as url",
  ],
  ["x".repeat(5000), {}, "x".repeat(200)],
])("what is no problem of Sealpost's, as %j, is told as it is", (text, headers: object, detail) => {
  const error = read(502, text, headers as Record<string, string>);
  expect([error.code, error.detail, error.errors, error.requestId]).toEqual(["unknown", detail, [], null]);
});

const fault = { pointer: "/a", detail: "b" };

test.each<[unknown, RequestFault[]]>([
  [null, []],
  ["bad", []],
  [{ a: 1 }, []],
  [["bad", null, 7, [], {}, { pointer: 1, detail: "x" }], []],
  [[{ pointer: "/a" }, { detail: "b" }], []],
  [[null, fault, "bad"], [fault]],
])("of errors as %j, which a proxy may write, only faults are kept", (errors, expected) => {
  const error = read(502, JSON.stringify({ code: "c", detail: "d", request_id: [1], errors }));
  expect([error.errors, error.requestId]).toEqual([expected, null]);
  expect(error.message).toBe(expected.length === 0 ? "502 c: d" : "502 c: d; /a: b");
});

test("a body that is nested without end is told as it is", () => {
  const error = read(502, "[".repeat(1_000_000));
  expect([error.code, error.detail]).toEqual(["unknown", "[".repeat(200)]);
});

test("retry-after is read as seconds and as a date, and nothing else", () => {
  const inAMinute = new Date(Date.now() + 60_000).toUTCString();
  const [seconds, date, past, none] = [
    ...["120", inAMinute, new Date(0).toUTCString(), "soon"].map(
      (text) => read(503, "", { "retry-after": text }).retryAfter,
    ),
  ];
  expect([seconds, past, none]).toEqual([120, 0, null]);
  expect(date).toBeGreaterThan(50);
  expect(date).toBeLessThanOrEqual(60);
});

test("a connection's error keeps its cause", () => {
  const cause = new Error("refused");
  expect(new ConnectionError("no", { cause }).cause).toBe(cause);
});
