/** Pages, cursors and waiting, over the whole service. */
import { describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { startApp, type TestApp } from "../../kit/app.ts";
import { appForFile } from "../../kit/for-file.ts";
import { RunningClock } from "../../kit/running-clock.ts";
import { createTenant, operatorOf, startOperated } from "../../kit/operator.ts";
import { expectFault } from "./kit.ts";
import { expectProblem } from "../kit.ts";
import { numbersOf, openOutlet, type Page } from "./poll-kit.ts";

const app = appForFile();

const outlet = (fields?: object) => openOutlet(app, fields);

/** Polls that are held now, as the operator's metrics tell. */
async function waiting(own: TestApp): Promise<number> {
  const { text } = await operatorOf(own).get("/metrics");
  return Number(/^sealpost_pollers_waiting (\d+)/m.exec(text)?.[1]);
}

describe("a page", () => {
  test("holds what waits, oldest first, each with the exact body and a signature that verifies", async () => {
    const it = await outlet({ signature_versions: ["v1", "v1a"] });
    await it.publish(1, 2, 3);
    const page = await it.page();
    expect(numbersOf(page)).toEqual([1, 2, 3]);
    expect(page.done).toBe(true);
    for (const { headers, body } of page.data) {
      expect(Object.keys(headers)).toEqual(["webhook-id", "webhook-timestamp", "webhook-signature"]);
      expect(new Webhook(it.secret).verify(body, headers)).toMatchObject({ type: it.type });
      expect(headers["webhook-signature"]).toContain("v1a,");
    }
  });

  test("is empty, with a cursor that goes on, where nothing waits", async () => {
    const it = await outlet();
    const empty = await it.page();
    expect(empty).toEqual({ data: [], next_cursor: expect.any(String), done: true });
    await it.publish(1);
    expect(numbersOf(await it.page(`?cursor=${empty.next_cursor}`))).toEqual([1]);
  });

  test("holds at most `limit` messages, and says that more wait", async () => {
    const it = await outlet();
    await it.publish(1, 2, 3);
    const first = await it.page("?limit=2");
    expect([numbersOf(first), first.done]).toEqual([[1, 2], false]);
    const second = await it.page(`?limit=2&cursor=${first.next_cursor}`);
    expect([numbersOf(second), second.done]).toEqual([[3], true]);
  });

  test("holds bodies of some megabytes, and one that is larger alone", async () => {
    const it = await outlet();
    const big = "x".repeat(1_000_000);
    for (let n = 1; n <= 6; n++) await app.live.post("/v1/events", { type: it.type, data: { n, big } });
    const first = await it.page();
    expect([numbersOf(first), first.done]).toEqual([[1, 2, 3, 4], false]);
    const rest = await it.page(`?cursor=${first.next_cursor}`);
    expect([numbersOf(rest), rest.done]).toEqual([[5, 6], true]);
  });

  test("is filtered and reshaped like any delivery; what is malformed is dead and holds up nothing", async () => {
    const filter = { data: { n: { $gte: 2 } } };
    const it = await outlet({ filter, transformations: [{ op: "unwrap", path: "data.inner" }] });
    await it.publish(1, 2);
    await app.live.post("/v1/events", { type: it.type, data: { n: 3, inner: { kept: true } } });
    const page = await it.page("?limit=1");
    expect(page.data.map(({ body }) => body)).toEqual(['{"kept":true}']);
    expect(new Webhook(it.secret).verify(page.data[0]?.body ?? "", page.data[0]?.headers ?? {})).toEqual({
      kept: true,
    });
    const [kept, malformed] = await it.deliveries();
    expect(kept?.status).toBe("pending");
    expect(malformed).toMatchObject({ status: "dead", dead_reason: "malformed", attempt_count: 1 });
  });

  test("keeps the order of acceptance with fifo too", async () => {
    const it = await outlet({ ordering: "fifo" });
    await it.publish(1, 2, 3, 4);
    const first = await it.page("?limit=3");
    await it.publish(5);
    expect(numbersOf(first)).toEqual([1, 2, 3]);
    expect(numbersOf(await it.page(`?cursor=${first.next_cursor}`))).toEqual([4, 5]);
  });
});

describe("a cursor", () => {
  test("acknowledges everything before it; without one the last acknowledged is gone on from", async () => {
    const it = await outlet();
    await it.publish(1, 2, 3);
    const first = await it.page("?limit=2");
    expect(numbersOf(await it.page("?limit=2"))).toEqual([1, 2]);
    expect((await it.deliveries()).map(({ status }) => status)).toEqual(["pending", "pending", "pending"]);
    expect(numbersOf(await it.page(`?cursor=${first.next_cursor}`))).toEqual([3]);
    expect((await it.deliveries()).map(({ status }) => status)).toEqual([
      "pending",
      "delivered",
      "delivered",
    ]);
    expect(numbersOf(await it.page())).toEqual([3]);
  });

  test("that comes again, or late, acknowledges nothing else", async () => {
    const it = await outlet();
    await it.publish(1, 2, 3, 4);
    const slow = await it.page("?limit=1");
    const fast = await it.page("?limit=3");
    expect(numbersOf(await it.page(`?cursor=${fast.next_cursor}`))).toEqual([4]);
    expect(numbersOf(await it.page(`?cursor=${slow.next_cursor}`))).toEqual([4]);
    expect(numbersOf(await it.page(`?cursor=${fast.next_cursor}`))).toEqual([4]);
    expect((await it.deliveries())[0]?.status).toBe("pending");
  });

  test("acknowledges nothing that was never handed out", async () => {
    const it = await outlet();
    await it.publish(1);
    const page = await it.page();
    await it.publish(2);
    const other = await it.page();
    expect(numbersOf(other)).toEqual([1, 2]);
    await it.publish(3);
    expect(numbersOf(await it.page(`?cursor=${page.next_cursor}`))).toEqual([2, 3]);
  });

  test("of another endpoint, or that is none, is refused", async () => {
    const [it, other] = [await outlet(), await outlet()];
    await other.publish(1);
    const foreign = (await other.page()).next_cursor;
    for (const cursor of [foreign, "", "abc", "null", `${foreign}A`]) {
      expectFault(await it.ask(`?cursor=${cursor}`), "cursor");
    }
    expect((await other.deliveries())[0]?.status).toBe("pending");
  });

  test("holds over a restart, and so does what nobody acknowledged", async () => {
    await using own = await startApp();
    const made = await own.live.create("/v1/endpoints", { kind: "poll", config: {} });
    const poll = async (query = "") =>
      (await own.with(String(made["secret"])).get(`/poll/${made["id"]}${query}`)).json as unknown as Page;
    for (const n of [1, 2, 3]) await own.live.post("/v1/events", { type: "a", data: { n } });
    const first = await poll("?limit=2");
    await own.stop();
    await own.start();
    expect(numbersOf(await poll())).toEqual([1, 2, 3]);
    expect(numbersOf(await poll(`?cursor=${first.next_cursor}`))).toEqual([3]);
    await own.stop();
    await own.start();
    await own.live.post("/v1/events", { type: "a", data: { n: 4 } });
    expect(numbersOf(await poll())).toEqual([3, 4]);
  });
});

describe("waiting", () => {
  test("ends as soon as something comes, for all that wait", async () => {
    const it = await outlet();
    const polls = [it.page("?wait=30"), it.page("?wait=30")];
    await it.publish(1);
    for (const page of await Promise.all(polls)) expect(numbersOf(page)).toEqual([1]);
    const [delivery] = await it.deliveries();
    expect((await it.attempts(String(delivery?.id))).length).toBe(1);
  });

  test("ends with an empty page when the time is over", async () => {
    const clock = new RunningClock();
    await using own = await startOperated({}, clock);
    const { live } = await createTenant(own);
    const made = await live.create("/v1/endpoints", { kind: "poll", config: {} });
    let isAnswered = false;
    const poll = own.with(String(made["secret"])).get(`/poll/${made["id"]}?wait=30`);
    void poll.then(() => (isAnswered = true));
    await own.until(async () => (await waiting(own)) === 1);
    clock.set(clock.now() + 20_000);
    await live.get("/v1/deliveries");
    expect([isAnswered, await waiting(own)]).toEqual([false, 1]);
    clock.set(clock.now() + 10_000);
    expect((await poll).json).toMatchObject({ data: [], done: true });
  });

  test("goes on while the endpoint is paused, and ends when it is resumed", async () => {
    const it = await outlet();
    await app.live.post(`/v1/endpoints/${it.id}/pause`);
    await it.publish(1);
    expect(await it.page()).toMatchObject({ data: [], done: true });
    expect((await it.deliveries())[0]).toMatchObject({ status: "pending", waiting_for: "paused" });
    const poll = it.page("?wait=30");
    await app.live.post(`/v1/endpoints/${it.id}/resume`);
    expect(numbersOf(await poll)).toEqual([1]);
  });

  test("ends with 401 when the secret is rotated without an overlap, or the endpoint is deleted", async () => {
    const it = await outlet();
    const rotated = it.ask("?wait=30");
    const { json } = await app.live.post(`/v1/endpoints/${it.id}/rotate-secret`, { expiry_hours: 0 });
    expectProblem(await rotated, 401, "unauthenticated");
    it.secret = String(json["secret"]);
    const deleted = it.ask("?wait=30");
    await app.live.delete(`/v1/endpoints/${it.id}`);
    expectProblem(await deleted, 401, "unauthenticated");
  });

  test("ends at once when the service stops", async () => {
    await using own = await startOperated();
    const { live } = await createTenant(own);
    const made = await live.create("/v1/endpoints", { kind: "poll", config: {} });
    const poll = own.with(String(made["secret"])).get(`/poll/${made["id"]}?wait=30`);
    await own.until(async () => (await waiting(own)) === 1);
    const stopped = own.stop();
    const reply = await poll;
    await stopped;
    expectProblem(reply, 503, "unavailable");
    expect(reply.headers.get("retry-after")).not.toBeNull();
  });

  test("a client that leaves is handed nothing", async () => {
    await using own = await startOperated();
    const { live } = await createTenant(own);
    const made = await live.create("/v1/endpoints", { kind: "poll", config: {} });
    const leaving = new AbortController();
    const gone = fetch(`${own.url}/poll/${made["id"]}?wait=30`, {
      headers: { authorization: `Bearer ${made["secret"]}` },
      signal: leaving.signal,
    });
    await own.until(async () => (await waiting(own)) === 1);
    leaving.abort();
    expect(gone).rejects.toThrow();
    await own.until(async () => (await waiting(own)) === 0);
    await live.post("/v1/events", { type: "a", data: {} });
    const { json } = await live.get("/v1/deliveries");
    expect(json["data"]).toMatchObject([{ status: "pending", attempt_count: 0 }]);
  });
});
