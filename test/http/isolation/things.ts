/** What an owner has and a stranger tries: each answers what requests may name of it. */
import { expect } from "bun:test";
import type { Ids, Party } from "./kit.ts";

export type Make = (party: Party) => Promise<Ids>;

const own = ({ consumer }: Party) => (consumer === null ? {} : { consumer_id: consumer });

export async function endpoint(party: Party, fields: object = {}): Promise<Ids> {
  const type = party.fresh();
  const body = { url: party.bench.receiver.url(type), event_types: [type], description: type, ...own(party) };
  return { endpoint: await party.make("/v1/endpoints", { ...body, ...fields }), type };
}

/** An event with a delivery, whose attempt waits for ever (`paused`) or has succeeded. */
async function routed(party: Party, isPaused: boolean): Promise<Ids> {
  const made = await endpoint(party);
  if (isPaused) await party.take("POST", `/v1/endpoints/${made["endpoint"]}/pause`, {});
  const ids = { ...made, ...(await published(party, made["type"] ?? "")) };
  if (!isPaused) await delivered(party, ids.delivery);
  return ids;
}

/** An event of a type that one endpoint takes, and its delivery. */
export async function published(party: Party, type: string) {
  const external = party.fresh();
  const text = party.fresh();
  const event = await party.make("/v1/events", {
    type,
    data: { text },
    external_id: external,
    ...own(party),
  });
  const { data } = await party.take<{ data: { id: string }[] }>("GET", `/v1/deliveries?event_id=${event}`);
  const delivery = data[0]?.id ?? "";
  return { event, delivery, external, text, ...(party.consumer && { consumer: party.consumer }) };
}

async function delivered(party: Party, delivery: string): Promise<void> {
  await party.bench.app.until(async () => {
    const { status } = await party.take("GET", `/v1/deliveries/${delivery}`);
    return status === "delivered";
  });
  await party.take("GET", `/v1/deliveries/${delivery}/attempts`);
}

export const sent: Make = (party) => routed(party, false);
export const waiting: Make = (party) => routed(party, true);

/** A bulk replay that runs on: asked for by the consumer, where it is one's. */
export async function replay(party: Party): Promise<Ids> {
  const made = await waiting(party);
  const { endpoint: id, type } = made;
  const event = { type, data: {}, ...own(party) };
  await party.take("POST", "/v1/events/batch", { events: Array.from({ length: 60 }, () => event) });
  const asks = { endpoint_id: id, status: ["pending"], rate_per_second: 1 };
  if (party.consumer === null) return { replay: await party.make("/v1/replays", asks) };
  const portal = await party.bench.opened(party.client, party.consumer, ["manage"]);
  const { status, json } = await portal.post("/v1/replays", asks);
  expect(status).toBe(202);
  party.traces.add(String(json["id"]));
  return { replay: String(json["id"]) };
}

export async function source(party: Party): Promise<Ids> {
  const name = party.fresh();
  const id = await party.make("/v1/sources", { provider: "service", name, ...own(party) });
  return { source: id };
}

/** A source with an event that came in by it. */
export async function received(party: Party): Promise<Ids> {
  const made = await source(party);
  const headers = { "x-service-token": party.secrets.get(made["source"] ?? "") ?? "" };
  const reply = await party.bench.app
    .with(null)
    .send("POST", `/ingest/${made["source"]}`, { json: { type: "came", text: party.fresh() }, headers });
  expect(reply.status).toBe(200);
  const event = String(reply.json["id"]);
  party.traces.add(event);
  return { ...made, event };
}

/** A source that answers Meta's handshake with its own token. */
export async function challenged(party: Party): Promise<Ids> {
  const token = party.fresh();
  const body = {
    provider: "meta",
    name: token,
    signing_secret: "app-secret",
    credentials: { verify_token: token },
  };
  const id = await party.make("/v1/sources", body);
  party.secrets.set(id, token);
  return { source: id };
}

/** A source that allows a sender of CloudEvents. */
export async function allowing(party: Party): Promise<Ids> {
  const body = {
    provider: "azure_event_grid",
    name: party.fresh(),
    credentials: { header_name: "x-ours" },
  };
  return { source: await party.make("/v1/sources", body) };
}

export async function outlet(party: Party): Promise<Ids> {
  const made = await endpoint(party, { kind: "poll", config: {}, url: undefined });
  const { endpoint: id = "", type = "" } = made;
  await party.make("/v1/events", { type, data: {}, ...own(party) });
  await party.make("/v1/events", { type, data: {}, ...own(party) });
  const { json } = await party.bench.app.with(party.secrets.get(id) ?? "").get(`/poll/${id}?limit=1`);
  return { endpoint: id, cursor: String(json["next_cursor"]) };
}

/** Of a consumer that nothing else belongs to. */
export function guest(party: Party): Promise<Ids> {
  const consumer = party.fresh();
  return endpoint(party, { consumer_id: consumer }).then((made) => ({ ...made, consumer }));
}

/** An erasure of a consumer. */
export async function erasure(party: Party): Promise<Ids> {
  const { consumer } = await guest(party);
  const { id } = await party.take<{ id: string }>("DELETE", `/v1/consumers/${consumer}`);
  party.traces.add(id);
  return { erasure: id };
}

/** Named after the project, as its portal tokens may read it; `free` is a name that is not taken. */
export async function eventType(party: Party): Promise<Ids> {
  const [name, free] = [1, 2].map(() => `quagga.${party.fresh().slice(party.word.length + 1)}`) as [
    string,
    string,
  ];
  await party.take("POST", "/v1/event-types", { name });
  party.types.add(name);
  return { name, free };
}

/** A type of which there are events. */
export async function seenType(party: Party): Promise<Ids> {
  const made = await eventType(party);
  await party.make("/v1/events", { type: made["name"], data: { a: 1 } });
  return made;
}

export const apiKey: Make = async (party) => ({
  key: await party.make("/v1/api-keys", { name: party.fresh() }),
});

export const portalLink: Make = async (party) => ({
  link: await party.make("/v1/portal-links", { consumer_id: party.fresh() }),
});

export async function project(party: Party): Promise<Ids> {
  await sent(party);
  return { project: String((await party.client.get("/v1/project")).json["id"]) };
}

export async function account(party: Party): Promise<Ids> {
  return { account: await party.make("/v1/operator/accounts", { name: party.fresh() }) };
}

/** A project of an account that the operator made. */
export async function operated(party: Party): Promise<Ids> {
  const body = { name: party.fresh() };
  const made = await party.take<{ projects: { id: string }[] }>("POST", "/v1/operator/accounts", body);
  return { project: String(made.projects[0]?.id) };
}

/** Where the list goes on below the newest of two. */
export function cursorOf(path: string, make: Make): Make {
  return async (party) => {
    await make(party);
    await make(party);
    const { next_cursor: cursor } = await party.take(
      "GET",
      `${path}${path.includes("?") ? "&" : "?"}limit=1`,
    );
    expect(cursor).toBeString();
    return { cursor: String(cursor) };
  };
}

export const nothing: Make = async () => ({});

/** Of an account, to another cell. */
export const moveOf = (ids: Ids) => ({
  accounts: [ids["account"]],
  cell: "2B",
  machines: ["127.0.0.1:9"],
});
