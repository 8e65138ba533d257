/**
 * Svix's API with one team's data. The answers are those of a real server, 1.100.0 of svix/svix-webhooks
 * (commit 4fc0cfb8b426) on 2026-11-30, with ids, addresses and secrets that tests need. What the service
 * alone has, groups of event types and transformations, are the examples of codegen/lib-openapi.json there.
 * The test reads it by Svix's own client too.
 */
import { Webhook } from "svix";
import { startReceiver } from "../../../kit/receiver.ts";
import { Recorded } from "./recorded.ts";

export const SVIX_TOKEN = "testsk_recorded.eu";
export const FIRST_SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const NOW = { createdAt: "2026-11-30T21:11:47.903264Z", updatedAt: "2026-11-30T21:11:47.903732Z" };

export interface SvixEndpoint {
  out: Record<string, unknown> & { id: string; url: string };
  secret: string;
  headers: { headers: Record<string, string>; sensitive: string[] };
  /** Null: the server has no transformations, or the endpoint none. */
  transformation: { code: string; enabled: boolean } | null;
}

export interface SvixApplication {
  out: Record<string, unknown> & { id: string };
  endpoints: SvixEndpoint[];
}

export interface SvixData {
  eventTypes: (Record<string, unknown> & { name: string })[];
  applications: SvixApplication[];
  /** The most that a page holds, where that is less than is asked for. */
  pageMax: number;
  /** The server keeps no order of headers and of an endpoint's event types: here they stand the other way. */
  isTurned: boolean;
}

/**
 * `more` are fields of the endpoint itself, or what stands beside it. Without a secret it is deleted once the
 * list was read.
 */
export function svixEndpoint(
  id: string,
  url: string,
  more: Partial<Omit<SvixEndpoint, "out">> & Record<string, unknown> = {},
): SvixEndpoint {
  const { secret = FIRST_SECRET, headers, transformation = null, ...fields } = more;
  return {
    ...{ secret, transformation, headers: headers ?? { headers: {}, sensitive: [] } },
    out: {
      ...{ description: "", rateLimit: null, throttleRate: null, uid: null, url, version: 1 },
      ...{ disabled: false, eventTypes: null, channels: null, ...NOW, id, metadata: {}, ...fields },
    },
  };
}

export function svixApplication(id: string, uid: string | null, endpoints: SvixEndpoint[]): SvixApplication {
  const named = uid === null ? {} : { uid };
  return {
    out: { ...named, name: "My first application", throttleRate: null, id, ...NOW, metadata: {} },
    endpoints,
  };
}

/** Two applications with an endpoint each, and two event types; the receivers stand at `receivers`. */
export function svixTeam(receivers: string): SvixData {
  const paid = {
    name: "invoice.paid",
    description: "An invoice was paid by a user",
    archived: false,
    deprecated: false,
    schemas: {
      "1": { type: "object" },
      "2": {
        title: "Invoice Paid Event",
        type: "object",
        properties: { invoiceId: { type: "string" }, userId: { type: "string" } },
        required: ["invoiceId"],
      },
    },
    groupName: "Billing",
    ...{ ...NOW, featureFlag: null },
  };
  const signup = {
    ...{ name: "user.signup", description: "A user has signed up", archived: false, deprecated: false },
    schemas: null,
    ...{ ...NOW, featureFlag: null },
  };
  const acme = svixEndpoint("ep_1srOrx2ZWZBpBUvZwXKQmoEYga2", `${receivers}/acme`, {
    ...{ eventTypes: ["invoice.paid"], uid: "unique-ep-identifier" },
    headers: { headers: { "X-Example": "123", "X-Foobar": "Bar" }, sensitive: [] },
  });
  const globex = svixEndpoint("ep_2xUwlm2ZWZBpBUvZwXKQmoEYgb3", `${receivers}/globex`, {
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  });
  return {
    eventTypes: [paid, signup],
    applications: [
      svixApplication("app_1srOrx2ZWZBpBUvZwXKQmoEYga2", "acme", [acme]),
      svixApplication("app_2xUwlm2ZWZBpBUvZwXKQmoEYgb3", null, [globex]),
    ],
    pageMax: 250,
    isTurned: false,
  };
}

/**
 * What a reader who moves from Svix has: a team there, whose receivers verify by Svix's own library, and what
 * the shell has to know of it.
 */
export function startTeamThatMoves(): AsyncDisposable & { lines: string } {
  const receiver = startReceiver();
  const data = svixTeam(receiver.url("hooks"));
  const hidden = svixEndpoint("ep_3initech", receiver.url("hooks/initech"), {
    headers: { headers: {}, sensitive: ["Authorization"] },
  });
  const off = svixEndpoint("ep_4off", receiver.url("hooks/off"), { disabled: true });
  data.applications.push(svixApplication("app_3initech", "initech", [hidden, off]));
  receiver.at("hooks/acme", ({ headers, body }) => {
    new Webhook(FIRST_SECRET).verify(body.toString(), headers);
    return new Response("thank you");
  });
  const svix = recordedSvix(data);
  return {
    lines: `export SVIX_AUTH_TOKEN=${SVIX_TOKEN} SVIX_URL=${svix.url}\n`,
    async [Symbol.asyncDispose]() {
      await svix[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
    },
  };
}

export function recordedSvix(data: SvixData): Recorded {
  const refused = { code: "authentication_failed", detail: "Invalid token" };
  const mixed = <Row>(rows: readonly Row[]): Row[] => (data.isTurned ? rows.toReversed() : [...rows]);
  const shown = ({ out }: SvixEndpoint) => {
    const types = out["eventTypes"];
    return Array.isArray(types) ? { ...out, eventTypes: mixed(types), filterTypes: mixed(types) } : out;
  };
  return new Recorded(SVIX_TOKEN, refused, ({ path, query }) => {
    const page = <Row>(rows: readonly Row[], keyOf: (row: Row) => string) =>
      pageOf(rows, keyOf, query, data.pageMax);
    if (path === "/api/v1/event-type") return page(data.eventTypes, ({ name }) => name);
    if (path === "/api/v1/app") {
      const outs = data.applications.map(({ out }) => out);
      return page(outs, ({ id }) => id);
    }
    const [, , , , appId = "", kind, endpointId, part] = path.split("/");
    const application = data.applications.find(({ out }) => out.id === appId || out["uid"] === appId);
    if (application === undefined || kind !== "endpoint") return notFound();
    if (endpointId === undefined) {
      const outs = application.endpoints.map(shown);
      return page(outs, ({ id }) => id);
    }
    const endpoint = application.endpoints.find(({ out }) => out.id === endpointId);
    if (endpoint === undefined) return notFound();
    if (part === "secret") return endpoint.secret === "" ? notFound() : { key: endpoint.secret };
    const { headers, sensitive } = endpoint.headers;
    if (part === "headers")
      return { headers: Object.fromEntries(mixed(Object.entries(headers))), sensitive: mixed(sensitive) };
    const { transformation } = endpoint;
    return part === "transformation" && transformation ? transformation : new Response(null, { status: 404 });
  });
}

function pageOf<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  query: URLSearchParams,
  max: number,
): unknown {
  const limit = Number(query.get("limit") ?? 50);
  if (limit > 250) {
    const detail = [
      { loc: ["query", "limit", "limit"], msg: "Given limit must not exceed 250", type: "value_error" },
    ];
    return Response.json({ detail }, { status: 422 });
  }
  const iterator = query.get("iterator");
  const from = iterator === null ? 0 : rows.findIndex((row) => keyOf(row) === iterator) + 1;
  const data = rows.slice(from, from + Math.min(limit, max));
  const [first, last] = [data[0], data.at(-1)];
  return {
    data,
    iterator: last === undefined ? null : keyOf(last),
    prevIterator: first === undefined ? null : `-${keyOf(first)}`,
    done: from + data.length >= rows.length,
  };
}

function notFound(): Response {
  return Response.json({ code: "not_found", detail: "Entity not found" }, { status: 404 });
}
