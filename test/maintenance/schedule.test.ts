/**
 * Whose turn it is at each scheduled job, and whether it rests. One that has owners goes account by account:
 * who has many projects holds up nobody else's. A job that is new joins one of the tables here.
 */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { limit, LIMITS } from "../../src/core/limits.ts";
import { HEALTHY } from "../../src/core/model.ts";
import { Elsewhere } from "../../src/maintenance/elsewhere.ts";
import type { Retention } from "../../src/maintenance/retention.ts";
import { scheduledJobs } from "../../src/maintenance/schedule.ts";
import type { Job } from "../../src/platform/jobs.ts";
import { owner } from "../http/kit.ts";
import type { Api } from "../http/log-kit.ts";
import type { SetClock } from "../kit/clock.ts";
import { jobControlOf } from "../kit/job-control.ts";
import { startRetention } from "../kit/retention.ts";

const DAY_MS = 86_400_000;
/** Rows of a slice, so that little makes many. */
const SLICE = 2;
const PROJECTS = 8;
const SLICES = 3;
const { value: usual } = LIMITS.sliceRows;
const setSlice = (value: number) => ((LIMITS.sliceRows as { value: number }).value = value);
let api: Api;
let clock: SetClock;
let retention: Retention;

beforeEach(async () => {
  setSlice(SLICE);
  ({ api, clock, retention } = await startRetention());
});

afterEach(async () => {
  setSlice(usual);
  await api[Symbol.asyncDispose]();
});

function jobs(): ReadonlyMap<string, Job> {
  const { data, services } = api;
  const table = scheduledJobs({
    data,
    actors: services.actors,
    checkpoints: { run: () => Promise.resolve() },
    elsewhere: new Elsewhere({ data, hasReached: () => Promise.resolve(true) }),
    eraser: services.eraser,
    retention,
    sourceStatusOf: ({ status }) => status,
    onDisabled: () => {},
    onSealed: () => {},
  });
  return new Map(table.map((job) => [job.name, job]));
}

async function publish(token: string, slices: number, fields: object = {}): Promise<void> {
  const events = Array.from({ length: slices * SLICE }, () => ({ type: "a.b", data: {}, ...fields }));
  expect((await api.call("POST", "/v1/events/batch", { events }, token)).status).toBe(202);
}

const count = (sql: string, projectId: number) =>
  api.data.store.sqlite.query<{ n: number }, [number]>(`SELECT count(*) AS n FROM ${sql} = ?`).get(projectId)
    ?.n ?? 0;
const projectOf = (token: string) => api.callers.get(token)?.projectId ?? 0;
const eventsOf = (token: string) => count("event WHERE project_id", projectOf(token));

/** An event that has left the log, with so many slices of what hung on it. */
async function removeWide(token: string, slices: number): Promise<void> {
  const { id } = await api.publish("a.b", {}, token);
  const eventId = api.data.ids.decode("evt", id) ?? 0;
  await api.data.store.write(() => {
    for (let n = 0; n < slices * SLICE + 1; n++) api.data.notes.add(eventId, eventId, "replayed");
  });
  expect((await api.call("DELETE", `/v1/events/${id}`, undefined, token)).status).toBe(204);
}
const restOf = (token: string) => Number(api.data.removal.hasRest(projectOf(token)));

interface Work {
  job: string;
  /** Makes something to do for the job, so many slices of it, in a caller's project. */
  prepare(token: string, slices: number): Promise<void>;
  /** How much of it is left there. */
  left(token: string): number;
}

/** Jobs that work for owners. */
const OWNED: Record<string, Work> = {
  "events that are old": {
    job: "retention",
    async prepare(token, slices) {
      await publish(token, slices);
    },
    left: eventsOf,
  },
  "what hangs on events that are gone, beside retention": {
    job: "retention",
    prepare: removeWide,
    left: restOf,
  },
  "what hangs on events that are gone": { job: "erasure", prepare: removeWide, left: restOf },
  "a consumer that is to be forgotten": {
    job: "erasure",
    async prepare(token, slices) {
      await publish(token, slices, { consumer_id: "ada" });
      expect((await api.call("DELETE", "/v1/consumers/ada", undefined, token)).status).toBe(202);
    },
    left: eventsOf,
  },
  "endpoints of an account that has moved": {
    job: "elsewhere",
    async prepare(token, slices) {
      const { tenants } = api.data;
      const url = api.receiver.url("gone");
      for (let n = 0; n < (slices - 1) * 50 + 1; n++) await api.endpoint({ url }, token);
      const movedTo = { cell: "2B", machines: [], isOnDisk: true, taker: null, hasArrived: true };
      const accountId = tenants.accountIdOf(projectOf(token));
      const left = await api.data.store.write(() => tenants.updateAccount(accountId, () => ({ movedTo })));
      tenants.rememberAccount(left.made);
    },
    left: (token) => api.data.endpoints.ofProject(projectOf(token)).size,
  },
};

/** A new account with so many projects; answers tokens of their callers. */
async function makeAccount(name: string, projects: number): Promise<string[]> {
  const { tenants } = api.data;
  const { id: accountId } = await tenants.createAccount({ name, plan: "unlimited" });
  const tokens: string[] = [];
  for (let n = 0; n < projects; n++) {
    const { id: projectId } = await tenants.createProject(accountId, name, "live");
    tokens.push(`${name}${n}`);
    api.callers.set(`${name}${n}`, { ...owner, projectId, accountId });
  }
  return tokens;
}

test.each(Object.keys(OWNED))("of %s, an account has no more turns for its many projects", async (name) => {
  const work = OWNED[name] as Work;
  const left = (token: string) => work.left(token);
  const many = await makeAccount("many", PROJECTS);
  const [few = ""] = await makeAccount("few", 1);
  for (const token of [...many, few]) await work.prepare(token, token === few ? 1 : SLICES);
  await api.data.index.writeDown();
  clock.advance(11 * DAY_MS);
  const leftAt: number[] = [];
  await jobs()
    .get(work.job)
    ?.run(jobControlOf({ rest: () => Promise.resolve(void leftAt.push(left(few))) }));
  expect([few, ...many].map(left)).toEqual(Array.from({ length: PROJECTS + 1 }, () => 0));
  // Before its slice at most two of the other account, and one for what its own ends with.
  expect(leftAt.indexOf(0)).toBeLessThan(4);
  expect(leftAt.length).toBeGreaterThanOrEqual(PROJECTS * SLICES + 1);
});

/** Jobs that work for all at once, oldest or first key first, and rest: what makes so many slices to do. */
const RESTING: Record<string, (slices: number) => Promise<void>> = {
  async idempotency(slices) {
    for (let n = 0; n < slices * SLICE; n++) {
      const headers = { "idempotency-key": `key ${n}` };
      await api.call("POST", "/v1/events", { type: "a.b", data: {} }, "full", headers);
    }
  },
  async dedup(slices) {
    const { dedup, store } = api.data;
    await store.write(() => {
      for (let n = 0; n < slices * SLICE; n++) dedup.save(1, `id ${n}`, 1, 60);
    });
  },
  async portal_links(slices) {
    for (let n = 0; n < slices * SLICE; n++)
      await api.call("POST", "/v1/portal-links", { consumer_id: "ada" });
  },
  async audit(slices) {
    const entry = {
      scope: projectOf("full"),
      actor: { kind: "operator", id: null },
      action: "project.updated",
      object: { kind: "project", id: "p" },
      changes: {},
      consumerId: null,
    } as const;
    await api.data.store.write(() => {
      for (let n = 0; n < slices * SLICE; n++) api.data.audit.add(entry);
    });
  },
  async secrets(slices) {
    const url = api.receiver.url("rotated");
    const previous = { secret: "whsec_previous", expiresAt: clock.now() + 1 };
    for (let n = 0; n < slices * 50; n++) await api.endpoint({ url, previous } as never);
  },
  async disabling(slices) {
    const { health, store } = api.data;
    for (let n = 0; n < slices * 50; n++) {
      const { id } = await api.endpoint({ url: api.receiver.url("fails") });
      await store.write(() =>
        health.set(id, { ...HEALTHY, failuresInRow: 1, failingSince: api.services.actors.clock.now() }),
      );
    }
  },
};

test.each(Object.keys(RESTING))("the job %s rests after each slice", async (name) => {
  await RESTING[name]?.(SLICES);
  clock.advance(limit("auditKeptMs") + DAY_MS);
  const { store } = api.data;
  const commits = [store.commits];
  await jobs()
    .get(name)
    ?.run(jobControlOf({ rest: () => Promise.resolve(void commits.push(store.commits)) }));
  const each = commits.slice(1).map((at, n) => at - (commits[n] ?? 0));
  expect([each.length >= SLICES, Math.max(...each), store.commits - (commits.at(-1) ?? 0)]).toEqual([
    true,
    1,
    0,
  ]);
});

/** The others, and why nobody's share of them is asked for. */
const COMMON: Record<string, string> = {
  index: "what the writes of all have gathered, sorted: memory waits for it, and so does a start",
  full_index: "the same",
  source_stats: "numbers of sources, one row each, however much came in",
  checkpoint: "the log of all, on a thread of its own",
  clock: "looks at the time",
  last_use: "one row for each key that was used",
  sealing: "every secret, by its key, once after the master key was rotated; rests",
  sweep: "rows that nothing leads to, by their keys; rests",
  vacuum: "pages of the file; rests",
};

test("every job stands in one of these tables", () => {
  const known = [...Object.values(OWNED).map(({ job }) => job), ...Object.keys({ ...RESTING, ...COMMON })];
  expect([...new Set(known)].toSorted()).toEqual([...jobs().keys()].toSorted());
});
