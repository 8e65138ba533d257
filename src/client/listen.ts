import { isObject } from "../core/json/value.ts";
import { type Call, CommandError, EXIT, tellErrors, UsageError } from "../platform/command-line.ts";
import { Api, Refused } from "./api.ts";
import { forward, signedAnew } from "./forward.ts";
import { findInstallation } from "./installation.ts";
import { listOf } from "./input.ts";
import {
  closeListenEndpoint,
  type ListenEndpoint,
  openListenEndpoint,
  type Wanted,
} from "./listen-endpoint.ts";
import { ListenScreen } from "./listen-screen.ts";
import { POLL_ANSWER_MS_MAX, type PolledMessage, polledMessages } from "./poll-loop.ts";
import { findSource } from "./sources.ts";
import { SteadyApi } from "./steady-api.ts";
import { endBySignal, onKeys, tellWeather } from "./terminal.ts";

export interface ListenOptions {
  forward?: string;
  types?: string[];
  source?: string;
  body?: boolean;
  profile?: string;
  json?: boolean;
}

/** `sealpost listen`: forwards what happens at an installation to a receiver on this machine. */
export function runListen({ options, usage }: Call<ListenOptions>): Promise<number> {
  const listen = async () => {
    const url = readForward(options.forward);
    const api = new Api(findInstallation(options.profile, process.env));
    return await listenAt(api, url, { options, wanted: await readWanted(api, options) });
  };
  return tellErrors(usage, listen);
}

function readForward(given: string | undefined): string {
  if (given === undefined) throw new UsageError("--forward must say where deliveries go");
  // As people write it: a port alone, or an address without its scheme.
  const text = /^\d+$/.test(given) ? `http://localhost:${given}/` : given;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError("--forward must be an http or https URL, or a port of this machine");
  return url.href;
}

async function readWanted(api: Api, { types, source }: ListenOptions): Promise<Wanted> {
  const named = listOf(types) ?? null;
  if (source === undefined) return { types: named, sourceId: null };
  const { id, provider } = await findSource(api, source);
  // What a source brings begins with its provider: less is handed out in vain.
  return { types: named ?? [`${provider}.*`], sourceId: id };
}

async function listenAt(
  api: Api,
  url: string,
  { options, wanted }: { options: ListenOptions; wanted: Wanted },
): Promise<number> {
  const screen = new ListenScreen({ isJson: options.json === true, withBodies: options.body === true });
  const { signal, end } = endBySignal();
  const endpoint = await openListenEndpoint(api, process.env, wanted);
  screen.begin({ at: api.url, url, secret: endpoint.secret, isTakenUp: endpoint.isTakenUp });
  const listener = new Listener(api, { url, endpoint, wanted, screen, signal });
  const release = onKeys((key) => {
    if (key === "r") void listener.sendAgain();
    else if (key === "b") screen.showLast();
    else if (key === "q" || key === "\u0003") end();
  });
  try {
    await listener.run();
  } finally {
    release();
    await close(api, endpoint);
  }
  return EXIT.good;
}

async function close(api: Api, endpoint: ListenEndpoint): Promise<void> {
  try {
    await closeListenEndpoint(api, endpoint);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(
      `The endpoint ${endpoint.id} stays until the next sealpost listen here: ${reason}`,
    );
  }
}

interface ListenerParts {
  url: string;
  endpoint: ListenEndpoint;
  wanted: Wanted;
  screen: ListenScreen;
  signal: AbortSignal;
}

/** Takes each message to the receiver, one after the other. */
class Listener {
  readonly #api: SteadyApi;
  readonly #parts: ListenerParts;
  #last: PolledMessage | null = null;

  constructor(api: Api, parts: ListenerParts) {
    const { signal } = parts;
    this.#parts = parts;
    this.#api = new SteadyApi(api, { signal, answerMsMax: POLL_ANSWER_MS_MAX, onWeather: tellWeather });
  }

  /** Until the signal. Throws where the endpoint is not there any more. */
  async run(): Promise<void> {
    try {
      for await (const message of polledMessages(this.#api, this.#parts)) await this.#take(message);
    } catch (error) {
      if (!(error instanceof Refused && error.status === 401)) throw error;
      throw new CommandError("Somebody has removed the endpoint that this listened at");
    }
  }

  async #take(message: PolledMessage): Promise<void> {
    if (this.#parts.signal.aborted || !(await this.#isWanted(message))) return;
    this.#last = message;
    await this.#send(message, false);
  }

  /** The last one once more; nothing where none came yet. */
  async sendAgain(): Promise<void> {
    if (this.#last === null) return;
    await this.#send(signedAnew(this.#last, this.#parts.endpoint.secret, Date.now()), true);
  }

  async #send(message: PolledMessage, isAgain: boolean): Promise<void> {
    this.#parts.screen.show(message, await forward(this.#parts.url, message), isAgain);
  }

  /** Of the source, where one is named: the message does not say, but its event does. */
  async #isWanted({ headers }: PolledMessage): Promise<boolean> {
    const { sourceId } = this.#parts.wanted;
    if (sourceId === null) return true;
    try {
      const delivery = await this.#api.ask(`/v1/deliveries/${headers["webhook-id"]}`);
      const eventId = isObject(delivery) ? String(delivery["event_id"]) : "";
      const event = await this.#api.ask(`/v1/events/${eventId}`);
      return isObject(event) && event["source_id"] === sourceId;
    } catch (error) {
      // Erased meanwhile: it is nobody's.
      if (error instanceof Refused && error.status === 404) return false;
      throw error;
    }
  }
}
