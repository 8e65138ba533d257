/**
 * An export ends complete, or by an error that its reader sees; test/slow/export.slow.ts has it over a
 * socket, with pauses.
 */
import { expect, spyOn, test } from "bun:test";
import { limit, LIMITS } from "../../../src/core/limits.ts";
import { LongWorks } from "../../../src/http/framework/long-works.ts";
import { type Api, startApi } from "../log-kit.ts";

/** A project with so many deliveries to export. */
async function startWith(deliveries: number): Promise<Api> {
  const api = await startApi();
  await api.endpoint({ url: api.receiver.url("x"), eventTypes: ["x.export"], status: "disabled" });
  const events = Array.from({ length: deliveries }, () => ({ type: "x.export", data: { word: "sought" } }));
  await api.call("POST", "/v1/events/batch", { events });
  return api;
}

test("a reader that takes nothing for long is cut off by an error, and never sees an end", async () => {
  await using api = await startWith(300);
  const usual = limit("exportStallMs");
  (LIMITS.exportStallMs as { value: number }).value = 20;
  try {
    const { body } = await api.handle("GET", "/v1/deliveries?format=ndjson");
    const reader = body?.getReader();
    expect(await reader?.closed.catch(String)).toContain("takes nothing");
    expect(await reader?.read().catch(String)).toContain("takes nothing");
  } finally {
    (LIMITS.exportStallMs as { value: number }).value = usual;
  }
});

test("one caller has ten under way at most, however they end", async () => {
  await using api = await startApi();
  await api.endpoint({ url: api.receiver.url("x"), eventTypes: ["x.export"], status: "disabled" });
  const events = Array.from({ length: 500 }, () => ({ type: "x.export", data: {} }));
  for (let n = 0; n < 2; n++) await api.call("POST", "/v1/events/batch", { events });
  const path = "/v1/deliveries?format=ndjson";
  const begin = () => api.handle("GET", path);
  const open = [];
  for (let n = 0; n < limit("exportsAtOnceMax"); n++) open.push(await begin());
  const refused = await api.call("GET", path);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "5"]);
  expect((await api.handle("GET", path, undefined, "read")).status).toBe(200);
  await open[0]?.body?.cancel();
  expect((await open[1]?.text())?.trimEnd().split("\n")).toHaveLength(1000);
  const more = [await begin(), await begin()];
  expect(more.map(({ status }) => status)).toEqual([200, 200]);
  expect((await begin()).status).toBe(429);
  for (const { body } of [...open.slice(2), ...more]) await body?.cancel();
});

test("each page of a search has the permit of a long work, and none while its reader takes it", async () => {
  await using api = await startWith(500);
  using begun = spyOn(LongWorks.prototype, "begin");
  const usual = limit("longWorksAtOnceMax");
  (LIMITS.longWorksAtOnceMax as { value: number }).value = 1;
  try {
    const { body } = await api.handle("GET", "/v1/deliveries?format=ndjson&q=sought");
    const reader = body?.getReader();
    expect((await reader?.read())?.done).toBe(false);
    const search = await api.call("GET", "/v1/deliveries?q=sought&limit=1");
    expect([search.status, search.json["data"]]).toMatchObject([200, [{ event_type: "x.export" }]]);
    await reader?.cancel();
    begun.mockClear();
    const whole = await (await api.handle("GET", "/v1/deliveries?format=ndjson&q=sought")).text();
    expect(whole.split("\n")).toHaveLength(501);
    expect(begun.mock.calls.length).toBeGreaterThanOrEqual(3);
  } finally {
    (LIMITS.longWorksAtOnceMax as { value: number }).value = usual;
  }
});

test("ends by an error once its caller may not read any more", async () => {
  await using api = await startApi();
  await api.endpoint({ url: api.receiver.url("x"), eventTypes: ["x.export"], status: "disabled" });
  const events = Array.from({ length: 500 }, () => ({ type: "x.export", data: {} }));
  for (let n = 0; n < 2; n++) await api.call("POST", "/v1/events/batch", { events });
  const { body } = await api.handle("GET", "/v1/deliveries?format=ndjson");
  const reader = body?.getReader();
  expect((await reader?.read())?.done).toBe(false);
  api.callers.delete("full");
  const rest = async () => {
    while (!(await reader?.read())?.done) continue;
    return "complete";
  };
  expect(await rest().catch(String)).not.toBe("complete");
});

test("the pages that nobody takes are counted: above the share of their account there is no other export", async () => {
  await using api = await startWith(500);
  const usual = limit("accountAnswersBytesMax");
  const setShare = (value: number) => ((LIMITS.accountAnswersBytesMax as { value: number }).value = value);
  const open: (ReadableStreamDefaultReader<Uint8Array> | undefined)[] = [];
  const begin = async (token = "full") => {
    const { status, headers, body } = await api.handle("GET", path, undefined, token);
    const reader = body?.getReader() as (typeof open)[number];
    // Once the first page is taken, the second one is made.
    if (status === 200) await reader?.read().catch(String);
    open.push(reader);
    return [status, headers.get("retry-after")];
  };
  const path = "/v1/deliveries?format=ndjson";
  try {
    const whole = await (await api.handle("GET", path)).arrayBuffer();
    // Of 500 deliveries an export holds both pages: three of them fit, and fill it.
    setShare(3.1 * whole.byteLength);
    const answers = [await begin(), await begin(), await begin()];
    expect(answers).toEqual(answers.map(() => [200, null]));
    let next = await begin();
    while (next[0] === 200) next = await begin();
    expect(next).toEqual([503, "1"]);
    for (const reader of open) await reader?.cancel().catch(String);
    expect(await begin()).toEqual([200, null]);
  } finally {
    setShare(usual);
    for (const reader of open) await reader?.cancel().catch(String);
  }
});
