/** The question for a name that a request saves holds a slot of the account until the resolver answers. */
import { afterAll, beforeAll, expect, spyOn, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { LIMITS } from "../../../src/core/limits.ts";
import { checkSavedAddress } from "../../../src/http/shared/saved-address.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { createGuard } from "../../../src/transport/guard.ts";
import { makeActors } from "../../kit/actors.ts";
import { steadyOver } from "../../kit/clock.ts";
import { startApi } from "../log-kit.ts";

const patience = LIMITS.nameOfSavedMs as { value: number };
const usual = patience.value;
beforeAll(() => void (patience.value = 1));
afterAll(() => void (patience.value = usual));

const SLOTS = 8;
/** What questions of one account may have of them. */
const OWN = 4;

/** The API over few slots, and a resolver that answers when the test says so. */
async function startSilent() {
  const api = await startApi();
  const questions: ((addresses: string[]) => void)[] = [];
  const resolve = () => new Promise<string[]>((answer) => questions.push(answer));
  const { actors } = makeActors(api.data, {
    clock: steadyOver(systemClock),
    send: () => Promise.resolve(null),
    attemptsMax: SLOTS,
  });
  const guard = createGuard({ allow: ["127.0.0.0/8"], resolver: { resolve } });
  Object.assign(api.services, { guard, actors });
  const account = await api.data.tenants.createAccount({ name: "other", plan: "unlimited" });
  const other = await api.data.tenants.createProject(account.id, "other", "live");
  return { api, questions, otherId: other.id };
}

const urlOf = (at: number) => `https://silent${at}.example.com/`;

test("saves ask for no more names at once than their account has slots for; others are accepted unasked", async () => {
  const { api, questions, otherId } = await startSilent();
  await using _ = api;
  const create = (url: string) => api.call("POST", "/v1/endpoints", { url });
  const made = [];
  for (let at = 0; at < OWN + 3; at++) made.push(await create(urlOf(at)));
  expect(made.map(({ status }) => status)).toEqual(Array<number>(OWN + 3).fill(201));
  expect(questions).toHaveLength(OWN);

  const path = `/v1/endpoints/${String(made[0]?.json["id"])}`;
  const change = (url: string) => api.call("PATCH", path, { url });
  // What leads nowhere good by itself is refused without a question.
  expect((await change("http://10.0.0.1/")).status).toBe(422);
  expect(questions).toHaveLength(OWN);

  expect(await checkSavedAddress(api.services, otherId, urlOf(0))).toMatchObject({ ok: true });
  expect(questions).toHaveLength(OWN + 1);

  for (const answer of questions) answer(["10.0.0.1"]);
  await nextTurn();
  await change(urlOf(1));
  expect(questions).toHaveLength(OWN + 2);
});

test("a name that is answered gives its slot back with the answer", async () => {
  const { api, otherId } = await startSilent();
  await using _ = api;
  const guard = createGuard({ allow: [], resolver: { resolve: () => Promise.resolve(["10.0.0.1"]) } });
  const parts = { guard, actors: api.services.actors };
  for (let at = 0; at < 2 * SLOTS; at++)
    expect(await checkSavedAddress(parts, otherId, urlOf(at))).toMatchObject({ ok: false });
});

test("the fetch of a logo is not begun without a slot", async () => {
  const { api, questions } = await startSilent();
  await using _ = api;
  const projectId = api.callers.get("full")?.projectId ?? 0;
  const silent = new Promise<null>(() => {});
  for (let at = 0; at < SLOTS; at++) void api.services.actors.inSlot(projectId, () => silent);
  using sent = spyOn(api.services.transport, "send");
  const change = { branding: { logo_url: urlOf(0) } };
  expect((await api.call("PATCH", "/v1/project", change)).status).toBe(503);
  expect([questions.length, sent.mock.calls.length]).toEqual([0, 0]);
});
