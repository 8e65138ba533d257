/**
 * Calls that change nothing leave little on the disk, whatever keys they carry: a link that only reads cannot
 * fill it.
 */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { LIMITS, limit } from "../../src/core/limits.ts";
import { type KeyOwner, nameOf } from "../../src/store/kept-answers.ts";
import { startApp, type TestApp } from "../kit/app.ts";
import { openTestData } from "../kit/data.ts";
import { startReceiver } from "../kit/receiver.ts";

/** The keys of answers on the disk. */
function keptIn(app: TestApp): string[] {
  const sqlite = new Database(join(app.dataDir, "sealpost.db"), { readonly: true });
  const rows = sqlite.query<{ key: string }, []>("SELECT key FROM idempotency").all();
  sqlite.close();
  return rows.map(({ key }) => key);
}

/** An endpoint whose answer has some 50 KB. */
async function createLarge({ live }: TestApp): Promise<string> {
  const transformations = [{ op: "set", path: "data.padding", value: "x".repeat(50_000) }];
  const endpoint = { url: "https://example.com/hook", transformations };
  return (await live.create<{ id: string }>("/v1/endpoints", endpoint)).id;
}

test("answers of calls that change nothing leave nothing on the disk, and come again within their bound", async () => {
  await using app = await startApp();
  const { live } = app;
  const link = await live.create<{ url: string }>("/v1/portal-links", { consumer_id: "acme" });
  const portal = app.with(new URL(link.url).hash.slice(1));
  const event = { type: "a.b", data: { padding: "x".repeat(200_000) } };
  const preview = (nth: number) =>
    portal.post("/v1/endpoints/preview", { event }, { "idempotency-key": `p${nth}` });
  for (let nth = 0; nth < 20; nth++) expect((await preview(nth)).status).toBe(200);
  expect((await live.post("/v1/replays", { dry_run: true }, { "idempotency-key": "dry" })).status).toBe(200);
  const id = await createLarge(app);
  for (const action of ["enable", "resume"])
    expect((await live.post(`/v1/endpoints/${id}/${action}`, {}, { "idempotency-key": action })).status).toBe(
      200,
    );
  expect((await live.post("/v1/api-keys", { name: "kept" }, { "idempotency-key": "change" })).status).toBe(
    201,
  );
  expect(keptIn(app)).toEqual(["change"]);
  let again = 0;
  for (let nth = 0; nth < 20; nth++)
    if ((await preview(nth)).headers.get("idempotency-replayed") === "true") again++;
  expect(again).toBe(Math.floor(limit("keptUnchangedBytesMax") / 200_100));
});

test("what is erased stands in no answer that is kept", async () => {
  await using receiver = startReceiver();
  await using app = await startApp();
  const { live } = app;
  const url = receiver.at("told", () => new Response("PERSONAL-2"));
  const endpoint = { url, consumer_id: "c" };
  const { id } = await live.create<{ id: string }>("/v1/endpoints", endpoint);
  const event = { type: "a.b", consumer_id: "c", data: { ssn: "PERSONAL-1" } };
  const { id: eventId } = (await live.post("/v1/events", event)).json as { id: string };
  const preview = () =>
    live.post(
      "/v1/endpoints/preview",
      { event_id: eventId, transformations: [] },
      { "idempotency-key": "k1" },
    );
  expect((await preview()).text).toContain("PERSONAL-1");
  const trial = () => live.post(`/v1/endpoints/${id}/test`, {}, { "idempotency-key": "k2" });
  expect((await trial()).text).toContain("PERSONAL-2");
  expect((await trial()).headers.get("idempotency-replayed")).toBe("true");
  expect((await live.delete(`/v1/events/${eventId}`)).status).toBe(204);
  expect((await preview()).status).toBe(404);
  expect((await trial()).headers.get("idempotency-replayed")).toBeNull();
});

test("changes whose answers have no room are refused, and do not happen; without a key they do", async () => {
  const { value } = LIMITS.keptChangedBytesMax;
  (LIMITS.keptChangedBytesMax as { value: number }).value = 120_000;
  try {
    await using app = await startApp();
    const id = await createLarge(app);
    const change = (action: string, nth: number) =>
      app.live.post(`/v1/endpoints/${id}/${action}`, {}, { "idempotency-key": `c${nth}` });
    expect((await change("pause", 1)).status).toBe(200);
    expect((await change("resume", 2)).status).toBe(200);
    const refused = await change("pause", 3);
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).not.toBeNull();
    expect((await app.live.get(`/v1/endpoints/${id}`)).json["status"]).toBe("active");
    // What was kept is still answered.
    expect((await change("resume", 2)).headers.get("idempotency-replayed")).toBe("true");
    expect((await app.live.post(`/v1/endpoints/${id}/pause`)).status).toBe(200);
  } finally {
    (LIMITS.keptChangedBytesMax as { value: number }).value = value;
  }
});

test("a retry or a test that is fetched is not made where its answer has no room, and is made once where it has", async () => {
  await using receiver = startReceiver();
  await using app = await startApp();
  const { live } = app;
  const { id } = await live.create<{ id: string }>("/v1/endpoints", { kind: "poll", config: {} });
  const hook = { url: receiver.url("retried"), event_types: ["a.b"] };
  const paused = await live.create<{ id: string }>("/v1/endpoints", hook);
  await live.post(`/v1/endpoints/${paused.id}/pause`);
  await live.post("/v1/events", { type: "a.b", data: {} });
  const deliveriesOf = async (of: string) =>
    (await live.get(`/v1/deliveries?endpoint_id=${of}`)).json["data"] as { id: string }[];
  const [waiting] = await deliveriesOf(paused.id);
  const trial = (key: string) => live.post(`/v1/endpoints/${id}/test`, {}, { "idempotency-key": key });
  const retry = (key: string) =>
    live.post(`/v1/deliveries/${waiting?.id}/retry`, {}, { "idempotency-key": key });
  const before = (await deliveriesOf(id)).length;
  const { value } = LIMITS.keptChangedBytesMax;
  try {
    (LIMITS.keptChangedBytesMax as { value: number }).value = 1000;
    expect([(await trial("t")).status, (await retry("r")).status]).toEqual([429, 429]);
    expect((await deliveriesOf(id)).length).toBe(before);
    expect((await live.get(`/v1/deliveries/${waiting?.id}/attempts`)).json["data"]).toEqual([]);
  } finally {
    (LIMITS.keptChangedBytesMax as { value: number }).value = value;
  }
  for (const again of [null, "true"]) {
    const replies = [await trial("t"), await retry("r")];
    expect(replies.map(({ status }) => status)).toEqual([202, 202]);
    expect(replies.map(({ headers }) => headers.get("idempotency-replayed"))).toEqual([again, again]);
  }
  expect((await deliveriesOf(id)).length).toBe(before + 1);
  expect(keptIn(app).toSorted()).toEqual(["r", "t"]);
});

test("a change that is refused after it took room gives that back", async () => {
  await using app = await startApp();
  const { live } = app;
  const { id } = await live.create<{ id: string }>("/v1/endpoints", { kind: "poll", config: {} });
  const trial = await live.post(`/v1/endpoints/${id}/test`);
  const deliveryId = String(trial.json["id"]);
  const retry = () => live.post(`/v1/deliveries/${deliveryId}/retry`, {}, { "idempotency-key": "r" });
  const { value } = LIMITS.keptChangedBytesMax;
  try {
    // Room for one answer.
    (LIMITS.keptChangedBytesMax as { value: number }).value = 2000;
    // A delivery that is polled for has no attempts: 409.
    for (let time = 0; time < 3; time++) expect((await retry()).status).toBe(409);
    const change = await live.post("/v1/event-types", { name: "a.b" }, { "idempotency-key": "t" });
    expect(change.status).toBe(201);
  } finally {
    (LIMITS.keptChangedBytesMax as { value: number }).value = value;
  }
});

const ACCOUNT: KeyOwner = { accountId: 1, projectId: 1, consumerId: null };
const OTHER_ACCOUNT: KeyOwner = { accountId: 2, projectId: 3, consumerId: null };
const linkOf = (consumerId: string): KeyOwner => ({ ...ACCOUNT, consumerId });

test("however many links of an account ask what changes nothing, keyed changes have their room", async () => {
  await using made = await openTestData();
  const { keptAnswers } = made.data;
  const kept = { fingerprint: "f", status: 200, body: "{}" };
  for (let nth = 0; nth < 10_050; nth++) keptAnswers.keepUnchanging(linkOf(`c${nth}`), "k", kept, 0);
  for (const owner of [ACCOUNT, linkOf("c1"), linkOf("new"), OTHER_ACCOUNT])
    expect([owner, keptAnswers.takeRoom(owner, "k", 1000)]).toEqual([owner, true]);
});

/** The size of an answer that takes all of so many bytes under the key `k`. */
const filling = (owner: KeyOwner, bytes: number) =>
  bytes - limit("keptAnswerBytes") - nameOf(owner, "k").length;

test("the room for changes is an account's own, and its links have another, of which a consumer has a part", async () => {
  await using made = await openTestData();
  const { keptAnswers } = made.data;
  const all = limit("keptChangedBytesMax");
  const part = limit("keptChangedOfConsumerBytesMax");
  const takes = (owner: KeyOwner, bytes: number) => keptAnswers.takeRoom(owner, "k", filling(owner, bytes));
  for (let nth = 0; nth < all / part; nth++)
    expect([takes(linkOf(`c${nth}`), part), takes(linkOf(`c${nth}`), 1)]).toEqual([true, false]);
  expect(takes(linkOf("late"), 1)).toBe(false);
  expect(takes({ ...ACCOUNT, projectId: 2 }, all)).toBe(true);
  expect(takes(ACCOUNT, 1)).toBe(false);
  expect(takes({ ...OTHER_ACCOUNT, consumerId: "c0" }, part)).toBe(true);
  expect(takes(OTHER_ACCOUNT, all)).toBe(true);
});

test("small answers with long names weigh what they do", async () => {
  await using made = await openTestData();
  const { keptAnswers } = made.data;
  const kept = { fingerprint: "f".repeat(64), status: 200, body: "{}" };
  const key = (nth: number) => `${nth}`.padEnd(limit("idempotencyKeyLengthMax"), "k");
  const link = linkOf("c".repeat(limit("consumerIdLengthMax")));
  let count = 0;
  for (keptAnswers.keepUnchanging(link, key(0), kept, 0); keptAnswers.find(link, key(count)); count++)
    keptAnswers.keepUnchanging(link, key(count + 1), kept, 0);
  const weight = limit("keptAnswerBytes") + nameOf(link, key(0)).length + kept.body.length;
  expect(count).toBe(Math.floor(limit("keptUnchangedBytesMax") / weight));
});

test("an erasure forgets what a project and its links were answered, nobody else's, and gives the room back", async () => {
  await using made = await openTestData();
  const { keptAnswers } = made.data;
  const kept = { fingerprint: "f", status: 200, body: "{}" };
  const projectLink: KeyOwner = { ...ACCOUNT, projectId: -ACCOUNT.projectId };
  const erased = [ACCOUNT, linkOf("c"), projectLink];
  const others = [OTHER_ACCOUNT, { ...OTHER_ACCOUNT, consumerId: "c" }, { ...ACCOUNT, projectId: 2 }];
  const keep = (owner: KeyOwner) =>
    keptAnswers.keepUnchanging(owner, "k", kept, keptAnswers.erasuresOf(owner));
  for (const owner of others) keep(owner);
  for (let time = 0; time < limit("keptUnchangedBytesMax") / limit("keptAnswerBytes"); time++) {
    for (const owner of erased) keep(owner);
    keptAnswers.forgetUnchanging(ACCOUNT.projectId);
  }
  expect(erased.map((owner) => keptAnswers.find(owner, "k"))).toEqual([null, null, null]);
  expect(others.map((owner) => keptAnswers.find(owner, "k"))).toEqual([kept, kept, kept]);
  for (const owner of erased) keep(owner);
  expect(erased.map((owner) => keptAnswers.find(owner, "k"))).toEqual([kept, kept, kept]);
});

test("the answer of a call that began before an erasure of its project, and ends after it, is not kept", async () => {
  await using made = await openTestData();
  const { keptAnswers } = made.data;
  const kept = { fingerprint: "f", status: 200, body: "{}" };
  const owners = [ACCOUNT, linkOf("c"), { ...ACCOUNT, projectId: -ACCOUNT.projectId }, OTHER_ACCOUNT];
  const begun = owners.map((owner) => ({ owner, asOf: keptAnswers.erasuresOf(owner) }));
  keptAnswers.forgetUnchanging(ACCOUNT.projectId);
  for (const { owner, asOf } of begun) keptAnswers.keepUnchanging(owner, "k", kept, asOf);
  expect(owners.map((owner) => keptAnswers.find(owner, "k"))).toEqual([null, null, null, kept]);
});

test("a call that runs while an event is erased is made anew under its key, as what it read may be gone", async () => {
  await using receiver = startReceiver();
  await using app = await startApp();
  const { live } = app;
  const gate = Promise.withResolvers<void>();
  const url = receiver.at("held", async () => {
    await gate.promise;
    return new Response("told");
  });
  const { id } = await live.create<{ id: string }>("/v1/endpoints", { url, event_types: ["none.such"] });
  const { id: eventId } = (await live.post("/v1/events", { type: "a.b", data: {} })).json;
  const trial = () => live.post(`/v1/endpoints/${id}/test`, {}, { "idempotency-key": "k" });
  const first = trial();
  await receiver.arrived("held");
  expect((await live.delete(`/v1/events/${String(eventId)}`)).status).toBe(204);
  gate.resolve();
  expect((await first).text).toContain("told");
  const replayed = async () => (await trial()).headers.get("idempotency-replayed");
  expect([await replayed(), await replayed()]).toEqual([null, "true"]);
  expect(receiver.requests("held")).toHaveLength(2);
});

test("the answer of a call that changed nothing is kept for 24 hours, over midnight too", async () => {
  let now = Date.UTC(2026, 10, 20, 23, 30);
  await using made = await openTestData({ now: () => now });
  const { keptAnswers } = made.data;
  const kept = { fingerprint: "f", status: 200, body: "{}" };
  keptAnswers.keepUnchanging(ACCOUNT, "k", kept, 0);
  now += 23 * 3_600_000;
  expect(keptAnswers.find(ACCOUNT, "k")).toEqual(kept);
  now += 2 * 3_600_000;
  expect(keptAnswers.find(ACCOUNT, "k")).toBeNull();
});

test("publishing what was there already takes room as any other call, and is answered without it", async () => {
  await using app = await startApp();
  const { live } = app;
  const usual = LIMITS.keptChangedBytesMax.value;
  (LIMITS.keptChangedBytesMax as { value: number }).value = 2000;
  try {
    const event = { type: "a.b", external_id: "1", data: {} };
    const publish = (key: string) => live.post("/v1/events", event, { "idempotency-key": key });
    expect((await publish("first")).status).toBe(202);
    for (let nth = 0; nth < 10; nth++) expect((await publish(`again${nth}`)).status).toBe(200);
    const kept = keptIn(app);
    expect([kept.includes("first"), kept.length > 1, kept.length < 6]).toEqual([true, true, true]);
  } finally {
    (LIMITS.keptChangedBytesMax as { value: number }).value = usual;
  }
});

test("answers past their day leave as many at once as weigh no more than a slice", async () => {
  await using it = await openTestData();
  const { keptAnswers, store } = it.data;
  const owner = { accountId: 1, projectId: 1, consumerId: null };
  const body = "x".repeat(200_000);
  await store.write(() => {
    for (let n = 0; n < 10; n++) keptAnswers.save(owner, String(n), { fingerprint: "f", status: 202, body });
  });
  store.sqlite.run("UPDATE idempotency SET created_at = 0");
  const slices: number[] = [];
  for (let some = -1; some !== 0; slices.push(some)) some = await keptAnswers.expire();
  // Of a hundred rows, as each has 48 pages beside its own.
  expect(slices).toEqual([3, 3, 3, 1, 0]);
});
