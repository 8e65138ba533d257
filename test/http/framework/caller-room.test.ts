/** What callers can make the audit log keep: changes above it are refused before they are made. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Caller } from "../../../src/core/caller.ts";
import { LIMITS, limit } from "../../../src/core/limits.ts";
import { expectProblem, OPERATOR_TOKEN, type Reply } from "../kit.ts";
import {
  api,
  call,
  closeAudit,
  endpoint,
  made,
  openAudit,
  ownAccount,
  parts,
  server,
} from "../tenants/audit-kit.ts";

const LARGE = 900;
/** Of the small rooms that this file gives to callers. */
const OF_CONSUMER = 20_000;
const OF_ACCOUNT = 60_000;
const limits = LIMITS as Record<keyof typeof LIMITS, { value: number }>;
const SMALL = {
  auditOfConsumerBytesMax: OF_CONSUMER,
  auditOfConsumerBytesPerHour: 3600 * 10,
  auditOfAccountBytesMax: OF_ACCOUNT,
  auditOfAccountBytesPerHour: 3600 * 100,
};
const usual = Object.keys(SMALL).map((name) => [name, limit(name as keyof typeof SMALL)] as const);

beforeAll(async () => {
  for (const [name, value] of Object.entries(SMALL)) limits[name as keyof typeof SMALL].value = value;
  await openAudit();
  const anna = api.callers.get("annaOwns") as Caller;
  api.callers.set("annaAgain", { ...anna, id: 78 });
  api.callers.set("benOwns", { ...anna, id: 79, consumerId: "ben" });
  api.callers.set("everyLink", { ...anna, id: 80, consumerId: null });
  api.callers.set("secondKey", { ...(api.callers.get("full") as Caller), id: 81 });
});
afterAll(async () => {
  await closeAudit();
  for (const [name, value] of usual) limits[name as keyof typeof SMALL].value = value;
});

let marks = 0;
const patch = (id: unknown, token: string): Promise<Reply> =>
  call("PATCH", `/v1/endpoints/${String(id)}`, { description: `${marks++}${"d".repeat(LARGE)}` }, token);

/** Changes of an endpoint, one after another, until one is refused: that one. */
async function useUp(id: unknown, token: string): Promise<Reply> {
  for (let tries = 0; tries < 100; tries++) {
    const reply = await patch(id, token);
    if (reply.status !== 200) return reply;
  }
  throw new Error("no change was refused");
}

/** Bytes of changes that an actor's entries show. */
function keptOf(token: string): number {
  const actor = api.callers.get(token)?.id ?? 0;
  const sum = "SELECT sum(octet_length(changes)) AS bytes FROM audit WHERE actor_id = ?";
  return api.data.store.sqlite.query<{ bytes: number }, [number]>(sum).get(actor)?.bytes ?? 0;
}

const waitFor = ({ headers }: Reply) => (parts.time += 1000 * Number(headers.get("retry-after")));
/** All rooms are full again. */
const waitLong = () => (parts.time += 24 * 3_600_000);

test("one more change of a consumer's links is refused before it is made, until its room comes back", async () => {
  const { id } = await endpoint({}, "annaOwns");
  const own = await endpoint({}, "benOwns");
  const refused = await useUp(id, "annaOwns");
  expectProblem(refused, 429, "rate_limited");
  const { updated_at: updated, description } = await made("GET", `/v1/endpoints/${String(id)}`);
  expectProblem(await patch(id, "annaAgain"), 429, "rate_limited");
  expectProblem(
    await call("DELETE", `/v1/endpoints/${String(id)}`, undefined, "annaOwns"),
    429,
    "rate_limited",
  );
  expect(await made("GET", `/v1/endpoints/${String(id)}`)).toMatchObject({
    updated_at: updated,
    description,
  });
  expect(keptOf("annaOwns")).toBeLessThanOrEqual(OF_CONSUMER);
  for (const [mine, token] of [
    [own["id"], "benOwns"],
    [id, "everyLink"],
    [id, "full"],
  ] as const)
    expect((await patch(mine, token)).status).toBe(200);
  waitFor(refused);
  expect((await patch(id, "annaOwns")).status).toBe(200);
  expectProblem(await patch(id, "annaOwns"), 429, "rate_limited");
  waitLong();
});

test("changes that come at once take no more room than those that come by turns", async () => {
  const { id } = await endpoint({}, "annaOwns");
  const before = keptOf("annaOwns");
  const replies = await Promise.all(Array.from({ length: 60 }, () => patch(id, "annaOwns")));
  expect(replies.map(({ status }) => status)).toContain(429);
  expect(keptOf("annaOwns") - before).toBeLessThanOrEqual(OF_CONSUMER + limit("auditEntryBytesMax"));
  waitLong();
});

test("the links of an account share a room, and its keys have another", async () => {
  const { id } = await endpoint({}, "annaOwns");
  for (let nth = 0; nth < 3; nth++) {
    const token = `consumer${nth}`;
    api.callers.set(token, { ...(api.callers.get("annaOwns") as Caller), id: 90 + nth, consumerId: token });
    await useUp((await endpoint({}, token))["id"], token);
  }
  expectProblem(await patch(id, "annaOwns"), 429, "rate_limited");
  expect((await patch(id, "full")).status).toBe(200);
  waitLong();
});

test("an account whose keys have used up their room can revoke keys and links, and the operator is free", async () => {
  const key = await made("POST", "/v1/api-keys", { name: "stolen" });
  const link = await made("POST", "/v1/portal-links", { consumer_id: "anna" });
  const { id } = await endpoint({}, "annaOwns");
  expectProblem(await useUp(id, "full"), 429, "rate_limited");
  expectProblem(await patch(id, "secondKey"), 429, "rate_limited");
  expect((await patch(id, "annaOwns")).status).toBe(200);
  await made("DELETE", `/v1/api-keys/${String(key["id"])}`);
  await made("DELETE", `/v1/portal-links/${String(link["id"])}`);
  for (const plan of ["pro", "unlimited"])
    await made("PATCH", `/v1/operator/accounts/${ownAccount()}`, { plan }, OPERATOR_TOKEN);
  waitLong();
});

test("a change that was made is answered again by its key, whatever room there is", async () => {
  const { id } = await endpoint({}, "annaOwns");
  const keyed = () =>
    server.send("POST", "/v1/event-types", {
      token: "full",
      json: { name: "kept.type" },
      headers: { "idempotency-key": "kept" },
    });
  expect((await keyed()).status).toBe(201);
  await useUp(id, "full");
  const again = await keyed();
  expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
  waitLong();
});
