import { isObject } from "../core/json/value.ts";
import { CommandError } from "../platform/command-line.ts";
import { type Api, Refused } from "./api.ts";
import type { Env } from "./profiles.ts";
import { claimSession, type Machine, newSession, readMachine, secretFor, type Session } from "./session.ts";

/** What is listened to. */
export interface Wanted {
  /** Types of events, as an endpoint names them; null: all. */
  types: readonly string[] | null;
  /** The id of a source, from which alone an event has to come; null: from anywhere. */
  sourceId: string | null;
}

/** The temporary endpoint of a run of `sealpost listen`. */
export interface ListenEndpoint {
  id: string;
  secret: string;
  /** True where a run before this one crashed, and left it with what waits there. */
  isTakenUp: boolean;
  session: Session;
}

/** What its metadata hold: by it the next run knows whose it was. */
const MARK = "sealpost_listen";

interface Mark {
  machine: string;
  session: string;
  source_id: string | null;
}

interface EndpointAnswer {
  id: string;
  status: string;
  event_types: string[] | null;
  metadata: Record<string, unknown>;
}

/**
 * The endpoint to listen at: one that a crashed run on this machine left for the same types and source, else
 * a new one. What else such runs left is removed.
 */
export async function openListenEndpoint(api: Api, env: Env, wanted: Wanted): Promise<ListenEndpoint> {
  const machine = readMachine(env);
  const { id: projectId } = await api.ask<{ id: string }>("/v1/project");
  const secret = secretFor(machine, api.url, projectId);
  let found: ListenEndpoint | null = null;
  for (const { endpoint, mark } of await findLeft(api, machine)) {
    const session = await claimSession(env, mark.session);
    if (session === null) continue;
    if (found === null && isWanted(endpoint, mark, wanted)) {
      found = { id: endpoint.id, secret: await secretOf(api, endpoint.id), isTakenUp: true, session };
    } else {
      await removeEndpoint(api, endpoint.id);
      session[Symbol.dispose]();
    }
  }
  return found ?? (await createEndpoint(api, env, { wanted, machine, secret }));
}

/** Ends it: what waits there is cancelled. That it is gone already is no error. */
export async function closeListenEndpoint(api: Api, { id, session }: ListenEndpoint): Promise<void> {
  await removeEndpoint(api, id);
  // Only now: where it could not be removed, its session is one that has crashed.
  session[Symbol.dispose]();
}

async function createEndpoint(
  api: Api,
  env: Env,
  { wanted, machine, secret }: { wanted: Wanted; machine: Machine; secret: string },
): Promise<ListenEndpoint> {
  const session = await newSession(env);
  if (session === null) throw new CommandError("No socket can be made in the folder of settings");
  const mark: Mark = { machine: machine.id, session: session.name, source_id: wanted.sourceId };
  const body = {
    kind: "poll",
    config: {},
    description: describe(machine),
    event_types: wanted.types,
    metadata: { [MARK]: mark },
    secret,
  };
  const { id } = await api.ask<{ id: string }>("/v1/endpoints", {
    method: "POST",
    body: JSON.stringify(body),
  });
  return { id, secret, isTakenUp: false, session };
}

/** By this text its runs are looked for, and whoever finds the endpoint in the portal knows what it is. */
function describe({ id }: Machine): string {
  return `sealpost listen: ${id}`.slice(0, 200);
}

async function findLeft(api: Api, machine: Machine): Promise<{ endpoint: EndpointAnswer; mark: Mark }[]> {
  const query = { kind: "poll", limit: "100", q: machine.id.split("@")[0] ?? "" };
  const left: { endpoint: EndpointAnswer; mark: Mark }[] = [];
  for await (const { data } of api.pages<EndpointAnswer>("/v1/endpoints", () => query)) {
    for (const endpoint of data) {
      const mark = endpoint.metadata[MARK];
      if (isMark(mark) && mark.machine === machine.id) left.push({ endpoint, mark });
    }
  }
  return left;
}

/** Whoever may write to the project writes metadata: a name of a session becomes part of a path. */
function isMark(value: unknown): value is Mark {
  const session = isObject(value) ? value["session"] : null;
  return typeof session === "string" && /^[0-9a-f]{16}$/.test(session);
}

function isWanted({ status, event_types: types }: EndpointAnswer, mark: Mark, wanted: Wanted): boolean {
  const sorted = (names: readonly string[] | null) => names?.toSorted().join() ?? null;
  return status === "active" && sorted(types) === sorted(wanted.types) && mark.source_id === wanted.sourceId;
}

async function secretOf(api: Api, id: string): Promise<string> {
  return (await api.ask<{ secret: string }>(`/v1/endpoints/${id}/secret`)).secret;
}

async function removeEndpoint(api: Api, id: string): Promise<void> {
  try {
    await api.askText(`/v1/endpoints/${id}`, { method: "DELETE" });
  } catch (error) {
    if (!(error instanceof Refused && error.status === 404)) throw error;
  }
}
