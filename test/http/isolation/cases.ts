/**
 * Every operation of the OpenAPI document: what the owner makes, and where a request names it. The owner
 * succeeds with it; for anyone else the answer is that to something which is not there.
 */
import type { Ask, Ids, Party } from "./kit.ts";
import * as things from "./things.ts";
import type { Make } from "./things.ts";

export interface Case {
  /** What is tried, where that is not plain from the operation. */
  with?: string;
  make: Make;
  /** What the asking side has of its own. */
  mine?: Make;
  /** `ids`: what is tried; `mine`: of who asks. */
  ask(ids: Ids, mine: Ids, party: Party): Ask;
  /** What a stranger is answered who may call the operation at all. */
  status: number;
  /** Stands in the owner's answer. */
  shows?: (ids: Ids) => string;
  /** True: portal tokens of the project may see it too. */
  isShared?: boolean;
  /** True: it is about a consumer's name. */
  needsConsumer?: boolean;
  /** What the owner is answered here too, where nothing of the suite makes it succeed. */
  refused?: number;
  /** True: the operator is the owner. */
  isOperators?: boolean;
}

type Body = object | ((ids: Ids, mine: Ids) => unknown);

/** An operation on one thing, named in the path as `:thing`. */
function on(make: Make, method: string, path: string, json?: Body, more: Partial<Case> = {}): Case {
  const [, name = ""] = /:(\w+)/.exec(path) ?? [];
  return {
    make,
    ask: (ids, mine) => ({
      method,
      path: path.replace(`:${name}`, encodeURIComponent(ids[name] ?? "")),
      json: typeof json === "function" ? json(ids, mine) : json,
    }),
    status: 404,
    ...more,
  };
}

/** A list: whole, by every filter that names something, and from a cursor on. */
function list(path: string, make: Make, shown: string, filters: Record<string, string> = {}): Case[] {
  const shows = (ids: Ids) => ids[shown] ?? "";
  const sign = path.includes("?") ? "&" : "?";
  const whole: Case = {
    make,
    ask: () => ({ method: "GET", path: `${path}${sign}limit=250` }),
    status: 200,
    shows,
  };
  const filtered = Object.entries(filters).map(
    ([filter, name]): Case => ({
      ...whole,
      with: filter,
      needsConsumer: name === "consumer",
      ask: (ids) => ({
        method: "GET",
        path: `${path}${sign}${filter}=${encodeURIComponent(ids[name] ?? "")}`,
      }),
    }),
  );
  const from: Case = {
    make: things.cursorOf(path, make),
    with: "cursor",
    ask: ({ cursor = "" }) => ({ method: "GET", path: `${path}${sign}limit=250&cursor=${cursor}` }),
    status: 200,
  };
  return [whole, ...filtered, from];
}

/** A body that names things: a stranger is answered with this status. */
function naming(
  make: Make,
  path: string,
  status: number,
  json: (ids: Ids, mine: Ids) => unknown,
  more: Partial<Case> = {},
): Case {
  return on(make, "POST", path, json, { status, with: "body", ...more });
}

const { endpoint, sent, waiting, replay, source, received, eventType, seenType, apiKey, portalLink } = things;
const shared = { isShared: true };
const operators = { isOperators: true, status: 401 };
const asOperator = (one: Case): Case => ({ ...one, ...operators });

const changes = (path: string, json: Body = {}) =>
  on(endpoint, "POST", `/v1/endpoints/:endpoint/${path}`, json);
const onSource = (path: string, json: Body = {}) => on(source, "POST", `/v1/sources/:source/${path}`, json);
const plain = (method: string, path: string, status: number, shown: string, json?: unknown): Case => ({
  make: sent,
  ask: () => ({ method, path, json }),
  status,
  shows: () => shown,
});

const RECORD = { type: "isolated", data: {} };
const STATES = ["pending", "retrying", "delivered", "dead", "cancelled"];

/** The secret of what is tried, where it is one's own, else of one's own. */
const secretFor = (party: Party, tried = "", mine = "") =>
  party.secrets.get(tried) ?? party.secrets.get(mine) ?? "none";

export const CASES: Record<string, Case[]> = {
  publishEvent: [
    naming(sent, "/v1/events", 202, ({ external }) => ({ ...RECORD, external_id: external }), {
      with: "external_id",
      shows: () => '"duplicate":true',
    }),
    naming(
      things.guest,
      "/v1/events",
      202,
      ({ type, consumer }) => ({ ...RECORD, type, consumer_id: consumer }),
      { with: "a type and consumer that have a subscriber", shows: () => '"delivery_count":1' },
    ),
  ],
  publishBatch: [
    naming(
      sent,
      "/v1/events/batch",
      202,
      ({ external }) => ({
        events: [{ ...RECORD, external_id: external }],
      }),
      { with: "external_id", shows: () => '"duplicate":true' },
    ),
    naming(
      things.guest,
      "/v1/events/batch",
      202,
      ({ type, consumer }) => ({ events: [{ ...RECORD, type, consumer_id: consumer }] }),
      { with: "a type and consumer that have a subscriber", shows: () => '"delivery_count":1' },
    ),
  ],
  listEvents: [
    ...list("/v1/events", sent, "event", {
      endpoint_id: "endpoint",
      consumer_id: "consumer",
      external_id: "external",
      type: "type",
      q: "text",
    }),
    ...list("/v1/events", received, "event", { source_id: "source" }),
    ...list("/v1/events?matched=true", sent, "event"),
    ...list("/v1/events?status=delivered", sent, "event"),
  ],
  getEvent: [on(sent, "GET", "/v1/events/:event")],
  deleteEvent: [on(sent, "DELETE", "/v1/events/:event")],
  deleteConsumer: [on(things.guest, "DELETE", "/v1/consumers/:consumer")],
  listErasures: list("/v1/erasures", things.erasure, "erasure"),
  getErasure: [on(things.erasure, "GET", "/v1/erasures/:erasure")],
  getEventTimeline: [on(sent, "GET", "/v1/events/:event/timeline")],
  replayEvent: [
    on(sent, "POST", "/v1/events/:event/replay", {}),
    on(sent, "POST", "/v1/events/:event/replay", ({ endpoint: id }: Ids) => ({ endpoint_ids: [id] })),
    {
      with: "endpoint_ids",
      make: endpoint,
      mine: sent,
      ask: (ids, mine) => ({
        method: "POST",
        path: `/v1/events/${mine["event"]}/replay`,
        json: { endpoint_ids: [ids["endpoint"]] },
      }),
      status: 422,
    },
  ],
  listDeliveries: [
    ...list("/v1/deliveries", sent, "delivery", {
      endpoint_id: "endpoint",
      event_id: "event",
      event_type: "type",
      consumer_id: "consumer",
      q: "text",
    }),
    ...list("/v1/deliveries?status=delivered", sent, "delivery"),
    ...list("/v1/deliveries?status=pending", waiting, "delivery", { endpoint_id: "endpoint" }),
    ...list("/v1/deliveries?format=ndjson", sent, "delivery", { event_id: "event" }).slice(0, 2),
  ],
  getDelivery: [on(sent, "GET", "/v1/deliveries/:delivery")],
  listAttempts: [on(sent, "GET", "/v1/deliveries/:delivery/attempts")],
  retryDelivery: [on(waiting, "POST", "/v1/deliveries/:delivery/retry", {})],
  cancelDelivery: [on(waiting, "POST", "/v1/deliveries/:delivery/cancel", {})],
  createReplay: [
    naming(sent, "/v1/replays", 422, ({ endpoint: id }) => ({ endpoint_id: id, status: STATES }), {
      with: "endpoint_id",
    }),
    naming(sent, "/v1/replays", 422, ({ delivery }) => ({ delivery_ids: [delivery], dry_run: true }), {
      with: "delivery_ids",
      shows: () => '{"matched":1}',
    }),
    naming(
      endpoint,
      "/v1/replays",
      422,
      ({ endpoint: id }) => ({ endpoint_id: id, missing: true, dry_run: true }),
      {
        with: "missing",
        shows: () => '{"matched":0}',
      },
    ),
    naming(sent, "/v1/replays", 200, ({ type }) => ({ event_types: [type], status: STATES, dry_run: true }), {
      with: "event_types",
      shows: () => '{"matched":1}',
    }),
    naming(sent, "/v1/replays", 200, ({ text }) => ({ q: text, status: STATES, dry_run: true }), {
      with: "q",
      shows: () => '{"matched":1}',
    }),
    naming(
      sent,
      "/v1/replays",
      200,
      ({ consumer }) => ({ consumer_id: consumer, status: STATES, dry_run: true }),
      {
        with: "consumer_id",
        needsConsumer: true,
        shows: () => '{"matched":',
      },
    ),
  ],
  listReplays: list("/v1/replays", replay, "replay"),
  getReplay: [on(replay, "GET", "/v1/replays/:replay")],
  cancelReplay: [on(replay, "POST", "/v1/replays/:replay/cancel", {})],
  createEndpoint: [
    {
      with: "a consumer that has one",
      make: things.guest,
      ask: (ids, _mine, { bench }) => ({
        method: "POST",
        path: "/v1/endpoints",
        json: { url: bench.receiver.url("made"), consumer_id: ids["consumer"], event_types: ["never"] },
      }),
      status: 201,
    },
  ],
  listEndpoints: list("/v1/endpoints", endpoint, "endpoint", {
    endpoint_ids: "endpoint",
    q: "endpoint",
  }).concat(list("/v1/endpoints", sent, "endpoint", { consumer_id: "consumer" }).slice(1, 2)),
  getEndpoint: [on(endpoint, "GET", "/v1/endpoints/:endpoint")],
  updateEndpoint: [
    on(endpoint, "PATCH", "/v1/endpoints/:endpoint", { description: "changed" }),
    on(endpoint, "PATCH", "/v1/endpoints/:endpoint", {}),
  ],
  deleteEndpoint: [on(endpoint, "DELETE", "/v1/endpoints/:endpoint")],
  pauseEndpoint: [changes("pause")],
  resumeEndpoint: [changes("resume")],
  enableEndpoint: [changes("enable")],
  rotateEndpointSecret: [changes("rotate-secret")],
  getEndpointSecret: [on(endpoint, "GET", "/v1/endpoints/:endpoint/secret")],
  testEndpoint: [changes("test")],
  poll: [
    {
      with: "another endpoint's secret",
      make: things.outlet,
      mine: things.outlet,
      ask: ({ endpoint: id }, mine, party) => ({
        method: "GET",
        path: `/poll/${id}`,
        bearer: secretFor(party, id, mine["endpoint"]),
      }),
      status: 401,
      shows: () => '"webhook-id"',
    },
    {
      with: "another endpoint's cursor",
      make: things.outlet,
      mine: things.outlet,
      ask: ({ endpoint: id = "", cursor }, mine, party) => ({
        method: "GET",
        path: `/poll/${party.secrets.has(id) ? id : mine["endpoint"]}?cursor=${cursor}`,
        bearer: secretFor(party, id, mine["endpoint"]),
      }),
      status: 422,
    },
  ],
  previewEndpoint: [
    naming(sent, "/v1/endpoints/preview", 404, ({ event }) => ({ event_id: event }), { with: "event_id" }),
    naming(sent, "/v1/endpoints/preview", 404, ({ endpoint: id }) => ({ endpoint_id: id, last: 10 }), {
      with: "endpoint_id",
      shows: ({ event = "" }) => event,
    }),
    naming(sent, "/v1/endpoints/preview", 404, ({ endpoint: id }) => ({ endpoint_id: id, event: RECORD }), {
      with: "endpoint_id and an event",
    }),
    naming(sent, "/v1/endpoints/preview", 200, ({ type }) => ({ last: 1000, filter: { type } }), {
      with: "last",
      shows: ({ event = "" }) => event,
    }),
  ],
  getEndpointStats: [on(sent, "GET", "/v1/endpoints/:endpoint/stats")],
  getStats: [plain("GET", "/v1/stats", 200, '"delivered":')],
  getStatsByEndpoint: [
    on(sent, "GET", "/v1/stats/endpoints?endpoint_ids=:endpoint", undefined, {
      status: 200,
      shows: ({ delivery = "" }) => delivery,
    }),
  ],
  countDeliveries: [plain("GET", "/v1/stats/deliveries", 200, '"delivered":')],
  getSourceStats: [
    on(received, "GET", "/v1/sources/:source/stats", undefined, { shows: () => '"accepted":1' }),
  ],
  getStatsBySource: [
    on(received, "GET", "/v1/stats/sources?source_ids=:source", undefined, {
      status: 200,
      shows: ({ source: id = "" }) => id,
    }),
  ],
  createEventType: [
    {
      with: "a name that is taken",
      make: eventType,
      ask: ({ name = "", free }, _mine, { types }) => ({
        method: "POST",
        path: "/v1/event-types",
        json: { name: types.has(name) ? free : name },
      }),
      status: 201,
    },
  ],
  listEventTypes: list("/v1/event-types", eventType, "name").map((one) => ({ ...one, ...shared })),
  getEventType: [on(eventType, "GET", "/v1/event-types/:name", undefined, shared)],
  updateEventType: [on(eventType, "PATCH", "/v1/event-types/:name", { group: "g" })],
  deleteEventType: [on(eventType, "DELETE", "/v1/event-types/:name")],
  inferSchema: [on(seenType, "POST", "/v1/event-types/:name/infer-schema", {})],
  createSource: [
    naming(sent, "/v1/sources", 201, ({ text }) => ({ provider: "service", name: text }), { with: "a name" }),
  ],
  listSources: list("/v1/sources", source, "source"),
  getSource: [on(source, "GET", "/v1/sources/:source")],
  updateSource: [on(source, "PATCH", "/v1/sources/:source", { name: "changed" })],
  deleteSource: [on(source, "DELETE", "/v1/sources/:source")],
  rotateSourceSecret: [onSource("rotate-secret")],
  pauseSource: [onSource("pause")],
  resumeSource: [onSource("resume")],
  verifySample: [onSource("verify-sample", { headers: {}, body: "{}" })],
  ingest: [
    {
      with: "another source's secret",
      make: source,
      mine: source,
      ask: ({ source: id }, mine, party) => ({
        method: "POST",
        path: `/ingest/${id}`,
        json: { type: "came" },
        headers: { "x-service-token": secretFor(party, id, mine["source"]) },
      }),
      status: 401,
    },
  ],
  answerHandshake: [
    {
      with: "another source's token",
      make: things.challenged,
      mine: things.challenged,
      ask: ({ source: id }, mine, party) => ({
        method: "GET",
        path: `/ingest/${id}?hub.mode=subscribe&hub.challenge=4242&hub.verify_token=${secretFor(party, id, mine["source"])}`,
      }),
      status: 401,
      shows: () => "4242",
    },
  ],
  getProject: [plain("GET", "/v1/project", 200, "quagga")],
  updateProject: [plain("PATCH", "/v1/project", 200, "quagga", { portal_origins: ["https://a.example"] })],
  createApiKey: [plain("POST", "/v1/api-keys", 201, "key_", { name: "made" })],
  listApiKeys: list("/v1/api-keys", apiKey, "key"),
  deleteApiKey: [on(apiKey, "DELETE", "/v1/api-keys/:key")],
  createPortalLink: [
    naming(things.guest, "/v1/portal-links", 201, ({ consumer }) => ({ consumer_id: consumer }), {
      with: "consumer_id",
    }),
  ],
  listPortalLinks: list("/v1/portal-links", portalLink, "link"),
  deletePortalLink: [on(portalLink, "DELETE", "/v1/portal-links/:link")],
  getPortal: [{ ...plain("GET", "/v1/portal", 200, "quagga"), ...shared }],
  getUsage: [
    { ...plain("GET", "/v1/usage", 200, '"deliveries":') },
    on(things.project, "GET", "/v1/usage?by=day&project=:project", undefined, {
      status: 200,
      shows: () => '"deliveries":',
    }),
  ],
  listAudit: [
    ...list("/v1/audit", endpoint, "endpoint", { object_id: "endpoint" }),
    on(apiKey, "GET", "/v1/audit?actor_id=:key", undefined, { status: 200, with: "actor_id" }),
  ],
  exportUsage: [{ ...plain("GET", "/v1/operator/usage", 401, "acct_"), make: things.account, ...operators }],
  createAccount: [
    {
      ...plain("POST", "/v1/operator/accounts", 401, "acct_", { name: "more" }),
      make: things.account,
      ...operators,
    },
  ],
  listAccounts: list("/v1/operator/accounts", things.account, "account").map(asOperator),
  getAccount: [on(things.account, "GET", "/v1/operator/accounts/:account", undefined, operators)],
  updateAccount: [
    on(things.account, "PATCH", "/v1/operator/accounts/:account", { suspended: true }, operators),
  ],
  createProject: [
    on(
      things.account,
      "POST",
      "/v1/operator/accounts/:account/projects",
      { name: "p", mode: "live" },
      operators,
    ),
  ],
  createProjectApiKey: [
    on(things.operated, "POST", "/v1/operator/projects/:project/api-keys", { name: "k" }, operators),
  ],
  // The service of this suite has no replica: test/http/tenants/moves.test.ts moves accounts.
  moveAccounts: [
    on(things.account, "POST", "/v1/operator/moves", things.moveOf, { ...operators, refused: 503 }),
  ],
  getMetrics: [{ ...plain("GET", "/metrics", 401, "sealpost_"), make: things.account, ...operators }],
};
