/**
 * What makes an operation answer as the document says: by the code of the problem, and of single operations
 * what is theirs alone.
 */
import { expect } from "bun:test";
import { Webhook } from "standardwebhooks";
import { limit } from "../../../src/core/limits.ts";
import type { Operation } from "../../kit/conformance.ts";
import type { Case } from "../isolation/cases.ts";
import type { Ids, Party } from "../isolation/kit.ts";
import * as things from "../isolation/things.ts";
import type { Reply } from "../kit.ts";
import type { Good, Spoiling, Walk } from "./kit.ts";

export type Cause = (walk: Walk, operation: Operation) => Promise<Reply>;

const TOO_LARGE = "x".repeat(limit("batchBodyBytesMax") + 1);

/** The operation's request with something wrong about it. */
function spoiled(spoiling: Spoiling): Cause {
  return async (walk, operation) => {
    const good = walk.good(operation);
    return walk.send(good, good.ask, spoiling);
  };
}

const asItIs = spoiled({});

/** By ids that nothing has. */
const unknown: Cause = async (walk, operation) => {
  const good = walk.good(operation);
  return walk.send(good, good.about(walk.bench.unknown(good.ids)));
};

/** By every key and token that the document does not name. */
const forbidden: Cause = async (walk, operation) => {
  const [needs = ""] = /Needs an API key .*/.exec(operation.description) ?? [];
  const refused = Object.entries(walk.weak).filter(([name]) => !needs.includes(name));
  const good = walk.good(operation);
  const replies = await Promise.all(refused.map(([, bearer]) => walk.send(good, good.ask, { bearer })));
  for (const { status } of replies) expect(status).toBe(403);
  return last(replies);
};

const overRate: Cause = async (walk, operation) => {
  const good = walk.good(operation);
  let reply = await walk.send(good, good.ask);
  // A source takes two seconds' worth at once.
  for (let more = 0; more < 2 && reply.status !== 429; more++) reply = await walk.send(good, good.ask);
  return reply;
};

/** A body with a space more is another request. */
const reusedKey: Cause = async (walk, operation) => {
  const good = await walk.another(operation);
  const headers = { "idempotency-key": good.party.fresh() };
  const body = JSON.stringify(good.ask.json ?? {});
  const first = await walk.send(good, good.ask, { body, headers });
  expect([first.status < 300, first.text]).toEqual([true, first.text]);
  return walk.send(good, good.ask, { body: `${body} `, headers });
};

const runningKey: Cause = async (walk, operation) => collide(walk, await walk.another(operation));

/** The same request twice at once, of which the first waits for the disk. */
function collide(walk: Walk, good: Good): Promise<Reply> {
  const headers = { "idempotency-key": good.party.fresh() };
  return walk.holdingWrites(async (release) => {
    const both = [walk.send(good, good.ask, { headers }), walk.send(good, good.ask, { headers })];
    const refused = await Promise.race(both);
    release();
    const statuses = (await Promise.all(both)).map(({ status }) => status);
    expect(statuses.filter((status) => status < 300)).toHaveLength(1);
    return refused;
  });
}

const overPlan: Cause = (walk, operation) =>
  tryCases(walk, operation, 402, walk.spender, (run) => walk.whileSpent(run));

/** New requests of the operation, until one is answered so. */
async function tryCases(
  walk: Walk,
  operation: Operation,
  status: number,
  party?: Party,
  under: (run: () => Promise<Reply>) => Promise<Reply> = (run) => run(),
): Promise<Reply> {
  const replies: Reply[] = [];
  for (const one of walk.cases(operation)) {
    const good = await walk.fresh(one, party);
    replies.push(await under(() => walk.send(good, good.ask)));
    if (replies.at(-1)?.status === status) break;
  }
  return last(replies);
}

export const CAUSES: Readonly<Record<string, Cause>> = {
  invalid_json: spoiled({ body: "{" }),
  unauthenticated: spoiled({ bearer: null }),
  plan_limit_reached: overPlan,
  forbidden,
  not_found: unknown,
  idempotency_in_progress: runningKey,
  payload_too_large: spoiled({ body: TOO_LARGE }),
  unsupported_media_type: spoiled({ body: "{}", headers: { "content-type": "text/plain" } }),
  invalid_request: spoiled({ parameter: "unknown=1" }),
  idempotency_key_reused: reusedKey,
  rate_limited: overRate,
  internal: (walk, operation) => walk.whileBroken(() => asItIs(walk, operation)),
  unavailable: asItIs,
  loop_detected: spoiled({ headers: { "sealpost-hops": "9" } }),
  // The service of this walk has no replica.
  replica_unavailable: spoiled({ headers: { "sealpost-durability": "replica" } }),
};

/** Of the requests that succeed, the one that is answered so. */
export const succeeding =
  (status: number): Cause =>
  (walk, operation) =>
    tryCases(walk, operation, status);

/** A request in a state of things that only this operation refuses, or answers otherwise. */
function asked(make: things.Make, ask: Case["ask"]): Cause {
  return async (walk) => {
    const good = await walk.fresh({ make, ask, status: 0 });
    return walk.send(good, good.ask);
  };
}

/** A request that is made again before it has changed what `make` made. */
function collided(make: things.Make, ask: Case["ask"]): Cause {
  return async (walk) => collide(walk, await walk.fresh({ make, ask, status: 0 }));
}

/** Of this kind, and paused. */
function paused(kind: "endpoint" | "source"): things.Make {
  return async (party) => {
    const made = await (kind === "endpoint" ? things.endpoint(party) : things.source(party));
    expect((await party.client.post(`/v1/${kind}s/${made[kind]}/pause`)).status).toBe(200);
    return made;
  };
}

const post =
  (path: (ids: Ids) => string, json: (ids: Ids) => object = () => ({})): Case["ask"] =>
  (ids) => ({ method: "POST", path: path(ids), json: json(ids) });

/** An endpoint that was disabled by what its receiver answered, with the delivery that died of it. */
async function disabled(party: Party): Promise<Ids> {
  const made = await things.endpoint(party);
  const { endpoint, type = "" } = made;
  party.bench.receiver.at(type, () => new Response(null, { status: 410 }));
  const ids = await things.published(party, type);
  await party.bench.app.until(
    async () => (await party.take("GET", `/v1/endpoints/${endpoint}`))["status"] === "disabled",
  );
  return { ...made, ...ids };
}

async function cancelled(party: Party): Promise<Ids> {
  const made = await things.replay(party);
  await party.take("POST", `/v1/replays/${made["replay"]}/cancel`, {});
  return made;
}

/** A type whose events need a field. */
async function described(party: Party): Promise<Ids> {
  const name = party.fresh();
  await party.take("POST", "/v1/event-types", { name, schema: { type: "object", required: ["total"] } });
  return { type: name };
}

/** An event from a provider that demands another answer than 200. */
function from(
  provider: string,
  fields: object,
  sent: (secret: string) => { json: object; headers?: Record<string, string> },
): Cause {
  const make: things.Make = async (party) => ({
    source: await party.make("/v1/sources", { provider, name: party.fresh(), ...fields }),
  });
  return asked(make, ({ source = "" }, _mine, { secrets }) => ({
    method: "POST",
    path: `/ingest/${source}`,
    ...sent(secrets.get(source) ?? ""),
  }));
}

const HOOK_SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

function signedHook() {
  const json = { user: "u-1" };
  const [id, at] = ["hook-1", new Date()];
  const signature = new Webhook(HOOK_SECRET).sign(id, at, JSON.stringify(json));
  const timestamp = String(Math.floor(at.getTime() / 1000));
  return {
    json,
    headers: { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature },
  };
}

/** A delivery for which the plan has no room. */
const beyondPlan: Cause = (walk) =>
  walk.whileSpent(async () => {
    const { spender: party } = walk;
    await things.endpoint(party, { event_types: ["service.came"] });
    const { event } = await things.received(party);
    const { data } = await party.take<{ data: { id: string }[] }>("GET", `/v1/deliveries?event_id=${event}`);
    return party.client.post(`/v1/deliveries/${data[0]?.id}/retry`);
  });

const INSIDE = "http://10.0.0.1/hook";
const ofEndpoint = (action: string) => post(({ endpoint }) => `/v1/endpoints/${endpoint}/${action}`);
const untyped = ({ type }: Ids) => ({ type, data: {} });

/** What is of one operation alone, by its name and the status or code. */
export const OWN: Readonly<Record<string, Cause>> = {
  "publishEvent schema_violation": asked(
    described,
    post(() => "/v1/events", untyped),
  ),
  "publishBatch schema_violation": asked(
    described,
    post(
      () => "/v1/events/batch",
      (ids) => ({ events: [untyped(ids)] }),
    ),
  ),
  "replayEvent conflict": asked(
    disabled,
    post(({ event }) => `/v1/events/${event}/replay`),
  ),
  "retryDelivery conflict": asked(
    disabled,
    post(({ delivery }) => `/v1/deliveries/${delivery}/retry`),
  ),
  "retryDelivery plan_limit_reached": beyondPlan,
  "cancelDelivery conflict": asked(
    things.sent,
    post(({ delivery }) => `/v1/deliveries/${delivery}/cancel`),
  ),
  "moveAccounts replica_unavailable": asItIs,
  "cancelReplay conflict": asked(
    cancelled,
    post(({ replay }) => `/v1/replays/${replay}/cancel`),
  ),
  "createEndpoint unsafe_destination": asked(
    things.nothing,
    post(
      () => "/v1/endpoints",
      () => ({ url: INSIDE }),
    ),
  ),
  "updateEndpoint conflict": asked(things.sent, ({ endpoint }) => ({
    method: "PATCH",
    path: `/v1/endpoints/${endpoint}`,
    json: { consumer_id: "another" },
  })),
  "updateEndpoint unsafe_destination": asked(things.endpoint, ({ endpoint }) => ({
    method: "PATCH",
    path: `/v1/endpoints/${endpoint}`,
    json: { url: INSIDE },
  })),
  "pauseEndpoint conflict": asked(disabled, ofEndpoint("pause")),
  "resumeEndpoint idempotency_in_progress": collided(paused("endpoint"), ofEndpoint("resume")),
  "enableEndpoint idempotency_in_progress": collided(disabled, ofEndpoint("enable")),
  "resumeSource idempotency_in_progress": collided(
    paused("source"),
    post(({ source }) => `/v1/sources/${source}/resume`),
  ),
  "resumeEndpoint conflict": asked(disabled, ofEndpoint("resume")),
  "testEndpoint conflict": asked(disabled, ofEndpoint("test")),
  "testEndpoint 202": asked(things.outlet, ofEndpoint("test")),
  "poll conflict": asked(things.endpoint, ({ endpoint = "" }, _mine, { secrets }) => ({
    method: "GET",
    path: `/poll/${endpoint}`,
    bearer: secrets.get(endpoint),
  })),
  "createEventType conflict": asked(
    things.eventType,
    post(
      () => "/v1/event-types",
      ({ name }) => ({ name }),
    ),
  ),
  "updateProject unsafe_destination": asked(things.nothing, () => ({
    method: "PATCH",
    path: "/v1/project",
    json: { branding: { logo_url: INSIDE } },
  })),
  "getProvider not_found": asked(things.nothing, () => ({ method: "GET", path: "/v1/providers/nobody" })),
  "ingest 202": from("microsoft_graph", {}, (clientState) => ({
    json: { value: [{ clientState, id: "n-1", changeType: "created" }] },
  })),
  "ingest 204": from("supabase", { signing_secret: HOOK_SECRET }, signedHook),
  "ingest 401": unknown,
  "ingest replica_unavailable": from("service", { durability: "replica" }, (token) => ({
    json: { type: "came" },
    headers: { "x-service-token": token },
  })),
  "answerHandshake 401": unknown,
  "allowSender 401": unknown,
};

function last(replies: readonly Reply[]): Reply {
  const reply = replies.at(-1);
  if (reply === undefined) throw new Error("nothing was asked");
  return reply;
}
