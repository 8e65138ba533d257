/** What the whole service writes on standard output: one JSON object a line, each field once. */
import { expect, spyOn, test } from "bun:test";
import { DEAD_REASONS } from "../../src/core/model.ts";
import { beginAtZero } from "../../src/maintenance/reports.ts";
import { createMetrics } from "../../src/platform/metrics.ts";
import { AccountAttempts } from "../../src/platform/account-attempts.ts";
import { startApp } from "../kit/app.ts";
import { operatorOf, startOperated } from "../kit/operator.ts";
import { RunningClock } from "../kit/running-clock.ts";
import { startReceiver } from "../kit/receiver.ts";

test("every line is JSON, names no field twice, and holds no key, secret or body", async () => {
  await using app = await startApp();
  await using receiver = startReceiver();
  receiver.at("down", () => new Response(null, { status: 503 }));
  const url = receiver.url("down");
  const { json: endpoint } = await app.test.post("/v1/endpoints", {
    url,
    headers: { authorization: "Bearer hidden-1" },
  });
  await app.test.post("/v1/events", { type: "a.b", data: { note: "hidden-2" } });
  await receiver.arrived("down", 1);
  await app.test.get("/v1/events?q=hidden-3");
  await app.test.post("/v1/events", { type: "a.b", data: 5 });
  await app.stop();
  const lines = app.log().trimEnd().split("\n");
  expect(lines.length).toBeGreaterThan(5);
  for (const line of lines) expect(JSON.stringify(JSON.parse(line))).toBe(line);
  expect(app.log()).not.toMatch(/hidden-\d|sp_(live|test)_[0-9A-Za-z]{20}/);
  expect(app.log()).not.toContain(String(endpoint["secret"]));
});

test("ids that are ahead of the clock, as that was wrong before a start, are told and counted", async () => {
  const clock = new RunningClock();
  clock.step(24 * 3_600_000);
  await using app = await startOperated({}, clock);
  const ahead = async () => {
    const { text } = await operatorOf(app).get("/metrics");
    return Number(/^sealpost_keys_ahead_seconds (\d+)/m.exec(text)?.[1]);
  };
  await operatorOf(app).create("/v1/operator/accounts", { name: "Acme" });
  expect(await ahead()).toBe(0);
  await app.stop();
  clock.step(-24 * 3_600_000);
  await app.start();
  expect(await ahead()).toBeGreaterThan(23 * 3600);
  await app.stop();
  expect(app.log().match(/"level":"error","msg":"ids are ahead of the clock/g)).toHaveLength(1);
});

test("what alerts count begins at zero, so that the first increase is seen", async () => {
  const metrics = createMetrics(() => Promise.reject(new Error("nobody reads")), String, {});
  beginAtZero(metrics, [{ name: "audit" }]);
  expect(metrics.jobFailures.lines()).toEqual(['sealpost_job_failures_total{name="audit"} 0']);
  const ended = (labels: string) => `sealpost_deliveries_ended_total{${labels}} 0`;
  const none = ["delivered", "cancelled"].map((status) => ended(`status="${status}",reason="none"`));
  const dead = DEAD_REASONS.map((reason) => ended(`status="dead",reason="${reason}"`));
  expect(metrics.deliveriesEnded.lines()).toEqual([...none, ...dead]);
  await using app = await startOperated();
  const { text } = await operatorOf(app).get("/metrics");
  for (const line of [...none, ...dead]) expect(text).toContain(`${line}\n`);
  for (const api of ["publish", "ingest"])
    expect(text).toContain(`sealpost_http_requests_total{api="${api}",status="500"} 0\n`);
  expect(text).toContain('sealpost_job_failures_total{name="vacuum"} 0\n');
});

test("which accounts are busy is looked for every ten minutes, until the service stops", async () => {
  const begun = spyOn(globalThis, "setInterval");
  const ended = spyOn(globalThis, "clearInterval");
  const periods = spyOn(AccountAttempts.prototype, "endPeriod");
  const app = await startApp();
  const at = begun.mock.calls.findIndex(([, ms]) => ms === 600_000);
  const [look] = begun.mock.calls[at] ?? [];
  if (typeof look === "function") look();
  expect(periods).toHaveBeenCalledTimes(1);
  await app.stop();
  expect(ended).toHaveBeenCalledWith(begun.mock.results[at]?.value);
  for (const spy of [begun, ended, periods]) spy.mockRestore();
  await app[Symbol.asyncDispose]();
});
