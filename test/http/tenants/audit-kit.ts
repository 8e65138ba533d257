/** The audit log over the real store, and every change that stands in it. */
import { expect } from "bun:test";
import type { Caller } from "../../../src/core/caller.ts";
import type { AuditRule } from "../../../src/http/framework/audit-rule.ts";
import type { AnyRoute } from "../../../src/http/framework/route.ts";
import { allRoutes } from "../../../src/http/routes.ts";
import { OPERATOR_TOKEN, type Reply, startServer, TestParts, type TestServer } from "../kit.ts";
import { type Api, startApi } from "../log-kit.ts";

export interface Entry {
  id: string;
  at: string;
  actor: { kind: string; id: string | null };
  action: string;
  object: { kind: string; id: string };
  changes: Record<string, { from: unknown; to: unknown }>;
}

export let api: Api;
export let routes: AnyRoute[];
export let server: TestServer;
export let parts: TestParts;
let isLost = false;

/** Parts over the real store, with the callers of the kit; `isLost` loses the next transaction. */
class StoreParts extends TestParts {
  override readonly audit = api.data.audit;
  override readonly keptAnswers = api.data.keptAnswers;

  override authenticate(token: string): Caller | null {
    return api.callers.get(token) ?? null;
  }

  override writeFor<T>(projectId: number | null, run: () => T): Promise<T> {
    return api.data.store.writeFor(projectId, () => {
      const made = run();
      if (isLost) throw new Error("the transaction is lost");
      return made;
    });
  }
}

export async function openAudit(): Promise<void> {
  api = await startApi();
  const anna = api.callers.get("anna") as Caller;
  api.callers.set("annaOwns", { ...anna, id: 77, manage: true, create: true });
  routes = allRoutes(api.services);
  parts = new StoreParts();
  server = startServer(routes, parts);
}

export async function closeAudit(): Promise<void> {
  await server[Symbol.asyncDispose]();
  await api[Symbol.asyncDispose]();
}

/** Until `false` every transaction is lost before its commit. */
export function loseWrites(isSo: boolean): void {
  isLost = isSo;
}

export const call = (method: string, path: string, json?: unknown, token = "full"): Promise<Reply> =>
  server.send(method, path, json === undefined ? { token } : { token, json });

/** A call that has to succeed: its answer. */
export async function made(
  method: string,
  path: string,
  json?: unknown,
  token?: string,
): Promise<Reply["json"]> {
  const reply = await call(method, path, json, token);
  expect([path, Math.floor(reply.status / 100), reply.json.errors]).toEqual([path, 2, undefined]);
  return reply.json;
}

export async function entries(query = "", token?: string): Promise<Entry[]> {
  return (await made("GET", `/v1/audit?limit=250${query}`, undefined, token))["data"] as Entry[];
}

/** What the log holds of an object, newest first. */
export const of = (id: unknown, token?: string) => entries(`&object_id=${String(id)}`, token);

export const endpoint = (fields: object = {}, token?: string) =>
  made("POST", "/v1/endpoints", { url: api.receiver.url("audit"), ...fields }, token);

/** By the name of each action: how it comes about. Answers the id of what was changed. */
export const CHANGES: Record<string, () => Promise<unknown>> = {
  "api_key.created": async () => (await made("POST", "/v1/api-keys", { name: "made" }))["id"],
  "api_key.revoked": async () => {
    const { id } = await made("POST", "/v1/api-keys", { name: "gone" });
    await made("DELETE", `/v1/api-keys/${String(id)}`);
    return id;
  },
  "project.updated": async () => (await made("PATCH", "/v1/project", { name: "shop" }))["id"],
  "endpoint.created": async () => (await endpoint())["id"],
  ...onEndpoint("endpoint.updated", (id) => made("PATCH", `/v1/endpoints/${id}`, { description: "new" })),
  ...onEndpoint("endpoint.deleted", (id) => made("DELETE", `/v1/endpoints/${id}`)),
  ...onEndpoint("endpoint.paused", (id) => made("POST", `/v1/endpoints/${id}/pause`)),
  ...onEndpoint("endpoint.resumed", async (id) => {
    await made("POST", `/v1/endpoints/${id}/pause`);
    await made("POST", `/v1/endpoints/${id}/resume`);
  }),
  ...onEndpoint("endpoint.enabled", async (id) => {
    const key = api.services.ids.decode("ep", id) ?? 0;
    await api.data.endpoints.change(key, () => ({ status: "disabled", disabledReason: "gone" }));
    await made("POST", `/v1/endpoints/${id}/enable`);
  }),
  ...onEndpoint("endpoint.secret_rotated", (id) => made("POST", `/v1/endpoints/${id}/rotate-secret`)),
  ...onEndpoint("endpoint.secret_read", (id) => made("GET", `/v1/endpoints/${id}/secret`)),
  "source.created": async () => (await source())["id"],
  ...onSource("source.updated", (id) => made("PATCH", `/v1/sources/${id}`, { name: "new" })),
  ...onSource("source.deleted", (id) => made("DELETE", `/v1/sources/${id}`)),
  ...onSource("source.paused", (id) => made("POST", `/v1/sources/${id}/pause`)),
  ...onSource("source.resumed", async (id) => {
    await made("POST", `/v1/sources/${id}/pause`);
    await made("POST", `/v1/sources/${id}/resume`);
  }),
  ...onSource("source.secret_rotated", (id) => made("POST", `/v1/sources/${id}/rotate-secret`)),
  "event_type.created": async () => (await made("POST", "/v1/event-types", { name: "made.type" }))["name"],
  "event_type.updated": async () => {
    await made("POST", "/v1/event-types", { name: "changed.type" });
    return (await made("PATCH", "/v1/event-types/changed.type", { group: "g" }))["name"];
  },
  "event_type.deleted": async () => {
    await made("POST", "/v1/event-types", { name: "deleted.type" });
    await made("DELETE", "/v1/event-types/deleted.type");
    return "deleted.type";
  },
  "event.replayed": async () => {
    const { id } = await made("POST", "/v1/events", { type: "a.b", data: {} });
    await made("POST", `/v1/events/${String(id)}/replay`, {});
    return id;
  },
  "event.deleted": async () => {
    const { id } = await made("POST", "/v1/events", { type: "a.b", data: {} });
    await made("DELETE", `/v1/events/${String(id)}`);
    return id;
  },
  "consumer.erased": async () => {
    await made("POST", "/v1/events", { type: "a.b", data: {}, consumer_id: "erased" });
    await made("DELETE", "/v1/consumers/erased");
    return "erased";
  },
  "replay.started": async () => (await made("POST", "/v1/replays", { status: ["cancelled"] }))["id"],
  "replay.cancelled": async () => {
    // A job that nobody runs, so that it is still running when it is cancelled.
    const { projectId } = api.callers.get("full") as Caller;
    const filter = {
      status: [],
      endpointId: null,
      consumerId: null,
      eventTypes: null,
      since: null,
      until: null,
    };
    const { id: key } = await api.data.store.write(() =>
      api.data.replays.insert({
        projectId,
        consumerId: null,
        filter: { ...filter, missing: false, ratePerSecond: null },
        matched: 0,
        position: 0,
        last: 0,
      }),
    );
    const id = api.services.ids.encode("rpl", key);
    await made("POST", `/v1/replays/${id}/cancel`, {});
    return id;
  },
  "portal_link.created": async () => (await portalLink())["id"],
  ...onMade("portal_link.revoked", portalLink, (id) => made("DELETE", `/v1/portal-links/${id}`)),
  "account.created": async () => {
    const { id, projects } = await made("POST", "/v1/operator/accounts", { name: "Globex" }, OPERATOR_TOKEN);
    const { ids } = api.services;
    const [project] = projects as { id: string }[];
    const [accountId, projectId] = [
      ids.decode("acct", String(id)) ?? 0,
      ids.decode("proj", project?.id ?? "") ?? 0,
    ];
    api.callers.set("globex", { ...(api.callers.get("full") as Caller), accountId, projectId });
    return id;
  },
  "account.updated": async () => {
    await made("PATCH", `/v1/operator/accounts/${ownAccount()}`, { plan: "pro" }, OPERATOR_TOKEN);
    return ownAccount();
  },
  "project.created": async () => {
    const body = { name: "third", mode: "live" };
    return (await made("POST", `/v1/operator/accounts/${ownAccount()}/projects`, body, OPERATOR_TOKEN))["id"];
  },
  "delivery.cancelled": async () => {
    const { id } = await endpoint({ event_types: ["cancel.me"] });
    await made("POST", `/v1/endpoints/${String(id)}/pause`);
    await made("POST", "/v1/events", { type: "cancel.me", data: {} });
    const page = await made("GET", `/v1/deliveries?endpoint_id=${String(id)}`);
    const [delivery] = page["data"] as { id: string }[];
    await made("POST", `/v1/deliveries/${delivery?.id}/cancel`, {});
    return delivery?.id;
  },
};

function onEndpoint(action: string, change: (id: string) => Promise<unknown>) {
  return onMade(action, endpoint, change);
}

function onSource(action: string, change: (id: string) => Promise<unknown>) {
  return onMade(action, source, change);
}

function onMade(
  action: string,
  make: () => Promise<Reply["json"]>,
  change: (id: string) => Promise<unknown>,
) {
  return {
    [action]: async () => {
      const { id } = await make();
      await change(String(id));
      return id;
    },
  };
}

export function ownAccount(): string {
  return api.services.ids.encode("acct", api.callers.get("full")?.accountId ?? 0);
}

function portalLink() {
  return made("POST", "/v1/portal-links", { consumer_id: "anna", manage: true });
}

function source() {
  return made("POST", "/v1/sources", { provider: "service", name: "audited" });
}

export const OPERATOR_ACTIONS = new Set(["account.created", "account.updated", "project.created"]);

export function rules(): AuditRule[] {
  return routes.flatMap(({ audit }) => (typeof audit === "object" ? [audit] : []));
}
