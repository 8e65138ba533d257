/**
 * Nobody reaches, sees, counts or moves what is another's: every operation of the OpenAPI document, by
 * a key of another project, a key of another account, and portal tokens that have no part in it.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { limit } from "../../../src/core/limits.ts";
import type { Client } from "../../kit/app.ts";
import { type Case, CASES } from "./cases.ts";
import {
  essence,
  type Ids,
  type IsolationBench,
  type Party,
  startIsolation,
  type Stranger,
  wordsOf,
} from "./kit.ts";
import { OPEN } from "./open.ts";
import * as things from "./things.ts";
import { expectProblem } from "../kit.ts";
import { PNG } from "../pictures.ts";

const STRANGERS = [0, 1, 2, 3, 4, 5];

let bench: IsolationBench;
let operations: Map<string, Operation>;

interface Operation {
  operationId: string;
  description: string;
  security: Record<string, string[]>[];
}

beforeAll(async () => {
  bench = await startIsolation();
  const { json } = await bench.app.with(null).get("/openapi.json");
  const paths = Object.values(json["paths"] as Record<string, Record<string, Operation>>);
  const all = paths.flatMap((path) => Object.values(path));
  operations = new Map(all.map((operation) => [operation.operationId, operation]));
});

afterAll(() => bench[Symbol.asyncDispose]());

function strangerAt(at: number): Stranger {
  const stranger = bench.strangers[at];
  if (stranger === undefined) throw new Error(`there is no stranger ${at}`);
  return stranger;
}

/** What an operation answers to whoever may not call it at all; null: he may. */
function refusalOf(name: string, { grants }: Stranger): number | null {
  const { security = [], description = "" } = operations.get(name) ?? {};
  const schemes = security.flatMap(Object.keys);
  if (schemes.includes("operator_token")) return 401;
  if (grants === null || schemes.length === 0 || schemes.includes("endpoint_secret")) return null;
  const [, grant] = /portal token with the grant `(\w+)`/.exec(description) ?? [];
  const isAllowed = schemes.includes("portal_token") && (grant === undefined || grants.includes(grant));
  return isAllowed ? null : 403;
}

/**
 * What a stranger is answered by this case. A consumer that is not a portal token's own is refused where it
 * would be written.
 */
function statusOf(name: string, one: Case, stranger: Stranger): number {
  const refusal = refusalOf(name, stranger);
  if (refusal !== null) return refusal;
  return name === "createEndpoint" && stranger.grants !== null ? 422 : one.status;
}

function bannedFor({ victim, grants }: Stranger, owner: Party): string[] {
  const ofProject = grants === null ? [...bench.projectTraces] : [];
  return [...victim.traces, ...owner.traces, ...ofProject];
}

class Trial {
  constructor(
    private readonly name: string,
    private readonly one: Case,
    private readonly stranger: Stranger,
    private readonly owner: Party,
  ) {}

  async run(): Promise<void> {
    const { make, mine = things.nothing } = this.one;
    const { owner, stranger } = this;
    const ids = await make(owner);
    const [ofOwner, ofStranger] = [await mine(owner), await mine(stranger.home)];
    await this.fails(ids, ofStranger);
    await this.succeeds(ids, ofOwner);
  }

  private async succeeds(ids: Ids, mine: Ids): Promise<void> {
    const { one, owner } = this;
    const reply = await bench.ask(owner.client, one.ask(ids, mine, owner));
    if (one.refused !== undefined) return expect(reply.status).toBe(one.refused);
    expect([reply.status < 300, reply.text]).toEqual([true, reply.text]);
    expect(wordsOf(reply)).toContain(one.shows?.(ids) ?? "");
  }

  /** As with ids that nothing has. */
  private async fails(ids: Ids, mine: Ids): Promise<void> {
    const { one, stranger, owner } = this;
    const unknown = bench.unknown(ids);
    const foreign = await bench.ask(stranger.client, one.ask(ids, mine, stranger.home));
    const absent = await bench.ask(stranger.client, one.ask(unknown, mine, stranger.home));
    expect([foreign.status, foreign.text]).toEqual([statusOf(this.name, one, stranger), foreign.text]);
    expect(essence(foreign, ids)).toEqual(essence(absent, unknown));
    if (foreign.status === 201 || foreign.status === 202)
      for (const id of Object.values(ids)) stranger.home.said.add(id);
    const words = wordsOf(foreign, [...Object.values(ids), ...stranger.home.said]);
    expect(bannedFor(stranger, owner).filter((trace) => words.includes(trace))).toEqual([]);
  }
}

describe.each(STRANGERS)("stranger %#", (at) => {
  const cases = Object.entries(CASES).flatMap(([name, all]) =>
    all.map((one, nth): [string, string, Case] => [name, one.with ?? String(nth + 1), one]),
  );

  test.each(cases)("finds nothing by %s: %s", async (name, _with, one) => {
    const stranger = strangerAt(at);
    if (one.isShared && stranger.grants !== null) return;
    const owner = one.isOperators ? bench.operator : stranger.victim;
    if (one.needsConsumer && owner.consumer === null) return;
    await new Trial(name, one, stranger, owner).run();
  });

  test("is answered as the owner is by what tells nothing of anyone", async () => {
    const stranger = strangerAt(at);
    const { client, victim } = stranger;
    for (const [name, one] of Object.entries(OPEN)) {
      const asked = one.ask(await one.make(victim), {}, victim);
      const reply = await bench.ask(client, asked);
      const refusal = refusalOf(name, stranger);
      expect([name, reply.status]).toEqual([name, refusal ?? one.status]);
      if (refusal === null)
        expect(essence(reply, {})).toEqual(essence(await bench.ask(victim.client, asked), {}));
    }
  });

  test("has Idempotency-Keys of its own", async () => {
    const { client, victim } = strangerAt(at);
    const headers = { "idempotency-key": victim.fresh() };
    const previews = [{ type: "a" }, { type: "b" }].map((filter) => ({
      filter,
      event: { type: "a", data: {} },
    }));
    for (const [speaker, preview] of [
      [victim.client, previews[0]],
      [client, previews[1]],
    ] as const) {
      const reply = await speaker.post("/v1/endpoints/preview", preview, headers);
      expect([reply.status, reply.headers.get("idempotency-replayed")]).toEqual([200, null]);
      const again = await speaker.post("/v1/endpoints/preview", preview, headers);
      expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
      expect(again.text).toBe(reply.text);
    }
  });

  test("sees no number move by what others do", async () => {
    const { client, victim } = strangerAt(at);
    const [before, own] = [await numbersOf(client), await numbersOf(victim.client)];
    await things.sent(victim);
    await things.waiting(victim);
    await things.received(victim);
    expect(await numbersOf(client)).toEqual(before);
    expect(await numbersOf(victim.client)).not.toEqual(own);
  });
});

/** Everything that counts or lists, as this key or token is answered. */
async function numbersOf(client: Client): Promise<unknown[]> {
  const paths = [
    "/v1/stats",
    "/v1/stats?by=day",
    "/v1/stats/deliveries",
    "/v1/usage",
    "/v1/usage?by=day",
    "/v1/events",
    "/v1/deliveries",
  ];
  const lists = ["/v1/endpoints", "/v1/replays", "/v1/sources", "/v1/api-keys", "/v1/portal-links"];
  const replies = await Promise.all([...paths, ...lists].map((path) => client.get(path)));
  const bodies = [
    ["/v1/replays", { dry_run: true, status: ["pending", "retrying", "delivered", "dead", "cancelled"] }],
    ["/v1/endpoints/preview", { last: 1000 }],
  ] as const;
  for (const [path, body] of bodies) replies.push(await client.post(path, body));
  return replies.map((reply) => essence(reply, {}));
}

describe("every operation of the OpenAPI document", () => {
  test("is tried", () => {
    expect([...Object.keys(CASES), ...Object.keys(OPEN)].toSorted()).toEqual(
      [...operations.keys()].toSorted(),
    );
  });
});

describe("an answer about what is another's", () => {
  /** A number to read, no check: what is foreign is found in memory or by its row, and refused. */
  test("takes as long as one about what is not there, as far as can be told here", async () => {
    const { client, victim } = strangerAt(1);
    const ids = await things.sent(victim);
    const unknown = bench.unknown(ids);
    for (const [name, path] of [
      ["endpoint", "/v1/endpoints/"],
      ["event", "/v1/events/"],
      ["delivery", "/v1/deliveries/"],
    ] as const) {
      const spent: { foreign: number[]; absent: number[] } = { foreign: [], absent: [] };
      for (let round = 0; round < 300; round++) {
        spent.foreign.push(await timeOf(client, path + ids[name]));
        spent.absent.push(await timeOf(client, path + unknown[name]));
      }
      const medians = `foreign ${median(spent.foreign)} µs, not there ${median(spent.absent)} µs`;
      console.info(`median of 300 answers about ${name}s: ${medians}`);
    }
  });
});

async function timeOf(client: Client, path: string): Promise<number> {
  const begin = performance.now();
  const { status } = await client.get(path);
  const spent = performance.now() - begin;
  expect(status).toBe(404);
  return spent;
}

function median(values: readonly number[]): number {
  return Math.round((values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0) * 1000);
}

describe("where a page ends that looked at as much as a page may", () => {
  test("is told to those only who see the list", async () => {
    const { endpoint = "", type } = await things.waiting(strangerAt(0).victim);
    const { client: key, consumer } = strangerAt(0).victim;
    const events = Array.from({ length: 500 }, () => ({ type, data: {}, consumer_id: consumer }));
    for (let sent = 0; sent <= limit("listScanMax"); sent += events.length)
      expect((await key.post("/v1/events/batch", { events })).status).toBe(202);
    for (const path of ["/v1/deliveries", "/v1/events"]) {
      const query = `${path}?endpoint_id=${endpoint}&status=delivered`;
      expect((await key.get(query)).json["next_cursor"]).toBeString();
      for (const { name, client } of bench.strangers)
        expect([name, (await client.get(query)).json as unknown]).toEqual([
          name,
          { data: [], next_cursor: null },
        ]);
    }
  });
});

describe("what is of an endpoint that its consumer has deleted", () => {
  test("is read by its id as it is listed, and nothing of it is sent any more", async () => {
    const { victim } = strangerAt(0);
    const token = await bench.opened(victim.client, victim.consumer, ["manage", "create"]);
    const { endpoint, event, delivery } = await things.sent(victim);
    expect((await token.delete(`/v1/endpoints/${endpoint}`)).status).toBe(204);
    const { json } = await token.get(`/v1/deliveries?event_id=${event}`);
    expect(json["data"]).toEqual([expect.objectContaining({ id: delivery })]);
    for (const path of ["", "/attempts"])
      expect((await token.get(`/v1/deliveries/${delivery}${path}`)).status).toBe(200);
    expectProblem(await token.post(`/v1/deliveries/${delivery}/retry`), 409, "conflict");
  });
});

describe("what is of nobody's alone", () => {
  test("a consumer's event that only the project's own endpoint got shows nothing of that endpoint", async () => {
    const { client, victim } = strangerAt(5);
    const { endpoint = "", type = "", text } = await things.sent(victim);
    const published = await victim.client.post("/v1/events", { type, data: { text }, consumer_id: "bert" });
    expect(published.json).toMatchObject({ delivery_count: 1 });
    const event = String(published.json["id"]);
    const list = await victim.client.get(`/v1/deliveries?event_id=${event}`);
    const [{ id: delivery }] = list.json["data"] as [{ id: string }];
    await bench.app.until(
      async () => (await victim.client.get(`/v1/deliveries/${delivery}`)).json["status"] === "delivered",
    );
    const { json } = await client.get(`/v1/events/${event}`);
    expect(json).toMatchObject({ id: event, delivery_count: 0, deliveries: [] });
    const { json: timeline } = await client.get(`/v1/events/${event}/timeline`);
    expect((timeline["data"] as { kind: string }[]).map(({ kind }) => kind)).toEqual([
      "accepted",
      "unmatched",
    ]);
    for (const query of [`endpoint_id=${endpoint}`, "matched=true", "status=delivered"]) {
      expect((await client.get(`/v1/events?${query}`)).text).not.toContain(event);
    }
    expect((await client.get("/v1/events?matched=false")).json["data"]).toContainEqual(
      expect.objectContaining({ id: event, delivery_count: 0 }),
    );
    expect((await client.get(`/v1/deliveries?event_id=${event}`)).json as unknown).toEqual({
      data: [],
      next_cursor: null,
    });
    expectProblem(await client.get(`/v1/deliveries/${delivery}`), 404, "not_found");
    const replayed = await client.post(`/v1/events/${event}/replay`, {});
    expect([replayed.status, replayed.json["data"]]).toEqual([202, []]);
    const named = await client.post(`/v1/events/${event}/replay`, { endpoint_ids: [endpoint] });
    expectProblem(named, 422, "invalid_request");
  });

  test("a project's logo has no other project's address, and one without is like one that is not there", async () => {
    const [sister, other] = [strangerAt(0), strangerAt(1)];
    const logo = bench.receiver.at("logo.png", () => new Response(PNG));
    const saved = await sister.victim.client.patch("/v1/project", { branding: { logo_url: logo } });
    expect(saved.status).toBe(200);
    const pathOf = async (client: Client) =>
      `/portal/${String((await client.get("/v1/project")).json["id"])}/logo`;
    expect((await bench.app.with(null).get(await pathOf(sister.victim.client))).status).toBe(200);
    const ids = { project: "proj_01KAHM8ZZZ00K1M2N3P4Q5R6S7" };
    const unknown = await bench.app.with(null).get(`/portal/${ids.project}/logo`);
    for (const { client } of [sister, other]) {
      const reply = await bench.app.with(null).get(await pathOf(client));
      expectProblem(reply, 404, "not_found");
      expect(essence(reply, {})).toEqual(essence(unknown, {}));
    }
  });
});
