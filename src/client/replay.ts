import { type Call, EXIT, printableJson, runCommandLine, UsageError } from "../platform/command-line.ts";
import { Api } from "./api.ts";
import { listOf } from "./input.ts";
import { findInstallation } from "./installation.ts";
import { SteadyApi } from "./steady-api.ts";
import { tellWeather } from "./terminal.ts";

export interface ReplayOptions {
  status?: string[];
  endpoint?: string;
  consumer?: string;
  types?: string[];
  since?: string;
  until?: string;
  missing?: boolean;
  rate?: string;
  dryRun?: boolean;
  newMessageId?: boolean;
  profile?: string;
  json?: boolean;
}

/** Options that say which deliveries a bulk replay takes. */
const CHOOSING = ["status", "endpoint", "consumer", "types", "since", "until", "missing"] as const;
/** Options that only a bulk replay has. */
const BULK = ["status", "consumer", "types", "since", "until", "missing", "rate", "dryRun"] as const;
/** Options that, beside ids, only those of events have. */
const OF_EVENTS = ["endpoint", "newMessageId"] as const;
const LOOK_MS = 500;

/** `sealpost replay`: sends events or deliveries again, by their ids or by what they have in common. */
export function runReplay({ words, options, usage }: Call<ReplayOptions>): Promise<number> {
  const replay = async () => {
    const api = new Api(findInstallation(options.profile, process.env));
    if (words.length === 0) return replayMany(api, options);
    // Before anything is sent: who corrects a word would send the others twice.
    for (const id of words) requireFitting(id, options);
    for (const id of words) await api.ask(pathOf(id));
    for (const id of words) await replayOne(api, id, options);
    return EXIT.good;
  };
  return runCommandLine(usage, replay);
}

/** Throws where a word is no id, or an option means nothing for it. */
function requireFitting(id: string, options: ReplayOptions): void {
  if (!isDelivery(id) && !id.startsWith("evt_"))
    throw new UsageError(`${id} is no id of an event (evt_…) or a delivery (msg_…)`);
  const inBulk = BULK.find((name) => options[name] !== undefined);
  if (inBulk !== undefined) throw new UsageError(`--${optionOf(inBulk)} is for a replay without ids`);
  const ofEvents = OF_EVENTS.find((name) => isDelivery(id) && options[name] !== undefined);
  if (ofEvents !== undefined) throw new UsageError(`--${optionOf(ofEvents)} is for ids of events`);
}

function optionOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function isDelivery(id: string): boolean {
  return id.startsWith("msg_");
}

function pathOf(id: string): string {
  return `/v1/${isDelivery(id) ? "deliveries" : "events"}/${encodeURIComponent(id)}`;
}

interface DeliveryAnswer {
  id: string;
  endpoint_id: string;
}

async function replayOne(api: Api, id: string, options: ReplayOptions): Promise<void> {
  const isJson = options.json === true;
  if (isDelivery(id)) {
    const retried = await api.ask<DeliveryAnswer>(`${pathOf(id)}/retry`, { method: "POST", body: "{}" });
    return tell(retried, isJson);
  }
  const body = JSON.stringify({
    endpoint_ids: options.endpoint === undefined ? undefined : [options.endpoint],
    new_message_id: options.newMessageId,
  });
  const { data } = await api.ask<{ data: DeliveryAnswer[] }>(`${pathOf(id)}/replay`, {
    method: "POST",
    body,
  });
  for (const delivery of data) tell(delivery, isJson);
  if (data.length === 0) console.error(`${id} has no delivery that could be sent again`);
}

function tell(delivery: DeliveryAnswer, isJson: boolean): void {
  console.log(isJson ? printableJson(delivery) : `${delivery.id}  is sent again to ${delivery.endpoint_id}`);
}

interface Progress {
  id: string;
  status: string;
  matched: number;
  replayed: number;
}

async function replayMany(api: Api, options: ReplayOptions): Promise<number> {
  if (CHOOSING.every((name) => options[name] === undefined))
    throw new UsageError("Name events or deliveries by their ids, or say which: --status dead, for example");
  if (options.newMessageId === true) throw new UsageError("--new-message-id is for ids of events");
  const begun = await api.ask<Progress>("/v1/replays", { method: "POST", body: bodyOf(options) });
  if (options.dryRun === true) {
    console.log(options.json === true ? printableJson(begun) : `${begun.matched} would be sent again`);
    return EXIT.good;
  }
  console.error(`${begun.id} sends ${begun.matched} again. It goes on where this command is ended.`);
  const now = await untilEnded(api, begun);
  const line = `${now.id}  ${now.status}  ${now.replayed} of ${now.matched}`;
  console.log(options.json === true ? printableJson(now) : line);
  return now.status === "completed" ? EXIT.good : EXIT.failed;
}

/** Through restarts of the service, over which the replay goes on. */
async function untilEnded(api: Api, begun: Progress): Promise<Progress> {
  const { signal } = new AbortController();
  const steady = new SteadyApi(api, { signal, onWeather: tellWeather });
  let now = begun;
  while (now.status === "running") {
    await Bun.sleep(LOOK_MS);
    now = (await steady.ask<Progress>(`/v1/replays/${begun.id}`)) ?? now;
  }
  return now;
}

function bodyOf({ status, endpoint, consumer, types, since, until, ...options }: ReplayOptions): string {
  const rate = options.rate === undefined ? undefined : Number(options.rate);
  if (Number.isNaN(rate)) throw new UsageError("--rate must be a number of deliveries a second");
  return JSON.stringify({
    status: listOf(status),
    endpoint_id: endpoint,
    consumer_id: consumer,
    event_types: listOf(types),
    since,
    until,
    missing: options.missing,
    rate_per_second: rate,
    dry_run: options.dryRun,
  });
}
