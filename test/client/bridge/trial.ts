/** A source of a bridge on a real server, for tests that write to it, kill what takes part, and count. */
import { type Page, pagesOf } from "../../../src/platform/pages.ts";
import type { Service } from "../../kit/service.ts";
import { call, Running } from "../listening.ts";
import type { Person } from "../kit.ts";

/** A table or a queue on a real server. */
export interface Trial extends AsyncDisposable {
  /** Of the command, behind `bridge`. */
  words: readonly string[];
  env: Record<string, string>;
  /** How many are enough work to be killed in the midst of it. */
  load: number;
  /** Writes so many messages; their external ids. */
  write(count: number): Promise<string[]>;
  /** How many are there that are not published yet; those that a bridge has taken need not count. */
  left(): Promise<number>;
  kill9(): Promise<void>;
  restart(): Promise<void>;
}

export interface Event {
  id: string;
  type: string;
  external_id: string | null;
  consumer_id: string | null;
  timestamp: string;
}

/** All events of the test project, newest first. */
export async function eventsOf(service: Service): Promise<Event[]> {
  const ask = (path: string) => call<Page<Event>>(service, "GET", path);
  const events: Event[] = [];
  for await (const { data } of pagesOf("/v1/events", () => ({ limit: "250" }), ask)) events.push(...data);
  return events;
}

/** Starts a bridge; resolves once its key is known to be good. */
export async function startBridge(person: Person, words: readonly string[]): Promise<Running> {
  const running = new Running(person, ["bridge", ...words]);
  await running.tells("Ctrl-C ends it.");
  return running;
}
