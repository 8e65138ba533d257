/** Where a request's span begins and what it says; test/platform/tracing.test.ts has it from end to end. */
import { expect, spyOn, test } from "bun:test";
import { INTERNAL, Problem } from "../../../src/core/errors.ts";
import { traced } from "../../../src/http/shared/traced.ts";
import { Tracing } from "../../../src/platform/tracing.ts";
import { endpointOf, spansAt } from "../../kit/collector.ts";
import { startReceiver } from "../../kit/receiver.ts";

const headers = new Headers({ traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" });

test("where nothing is traced, what the caller says of a trace is not looked at", async () => {
  using looked = spyOn(headers, "get");
  const answer = await traced({ tracing: null }, "/x", headers, (span) => {
    expect(span).toBeNull();
    return Promise.resolve({ status: 202 });
  });
  expect(answer).toEqual({ status: 202 });
  expect(looked).not.toHaveBeenCalled();
});

test("what is thrown is told by the span and thrown on; only a fault of the service is an error", async () => {
  await using collector = startReceiver();
  const settings = { headers: {}, sampler: "parentbased_always_on", ratio: 1, resource: {} } as const;
  const tracing = new Tracing({ ...settings, endpoint: endpointOf(collector) }, () => {});
  const faults = [
    new Problem("invalid_request", "It is wrong."),
    new Problem("replica_unavailable", "It is away."),
    new Error("a fault"),
  ];
  for (const fault of faults)
    await expect(traced({ tracing }, "/x", headers, () => Promise.reject(fault))).rejects.toBe(fault);
  await tracing.stop();
  expect(spansAt(collector).map(({ status, attributes }) => [status, attributes])).toMatchObject([
    [0, { "http.response.status_code": 422 }],
    [2, { "http.response.status_code": 503, "error.type": "replica_unavailable" }],
    [2, { "http.response.status_code": 500, "error.type": INTERNAL.code }],
  ]);
});
