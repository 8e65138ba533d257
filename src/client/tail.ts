import { isObject } from "../core/json/value.ts";
import { type Call, coloured, EXIT, printable, printableJson, tellErrors } from "../platform/command-line.ts";
import { type Page, pagesOf } from "../platform/pages.ts";
import { Api } from "./api.ts";
import { findInstallation } from "./installation.ts";
import { rest, SteadyApi } from "./steady-api.ts";
import { inColour } from "./tables.ts";
import { endBySignal, printLine, tellWeather, timeOfDay } from "./terminal.ts";

export interface TailOptions {
  profile?: string;
  json?: boolean;
}

type Row = Readonly<Record<string, unknown>>;

/** Something that happened: a line for people, and the same for programs. */
interface Happening {
  text: string[];
  json: object;
}

interface Stream {
  path: string;
  /** Whether all pages are looked at, or the newest alone. */
  allPages: boolean;
  /** What a row stands at: where it differs from the last look, something happened. */
  stateOf: (row: Row) => string;
  /** What happened to a row; `before` is its state at the last look, null where it was not there. */
  read: (row: Row, before: string | null) => Happening[];
}

const LOOK_MS = 1000;
const PAGE = 250;

const STREAMS = {
  events: {
    path: "/v1/events",
    allPages: false,
    stateOf: () => "",
    read: (row) => {
      const { id, type, consumer_id: consumer, delivery_count: count } = row;
      const deliveries = count === 1 ? "1 delivery" : `${textOf(count)} deliveries`;
      const text = ["event", textOf(id), textOf(type), deliveries];
      return [{ text: consumer === null ? text : [...text, textOf(consumer)], json: { event: row } }];
    },
  },
  deliveries: {
    path: "/v1/deliveries",
    allPages: false,
    stateOf: ({ status, attempt_count: attempts }) => `${textOf(status)} ${textOf(attempts)}`,
    read: (row) => {
      const { id, event_type: type, status, endpoint_id: endpoint, attempt_count: attempts } = row;
      const why = row["dead_reason"] ?? row["waiting_for"];
      const state = typeof why === "string" ? `${textOf(status)} (${why})` : textOf(status);
      const tried = attempts === 1 ? "1 attempt" : `${textOf(attempts)} attempts`;
      return [
        {
          text: ["delivery", textOf(id), textOf(type), inColour(state), tried, textOf(endpoint)],
          json: { delivery: row },
        },
      ];
    },
  },
  refusals: {
    path: "/v1/sources",
    allPages: true,
    stateOf: ({ counters }) => JSON.stringify(isObject(counters) ? counters["rejected"] : {}),
    read: (row, before) => {
      const was = countsOf(before);
      const now = countsOf(STREAMS.refusals.stateOf(row));
      return Object.entries(now).flatMap(([reason, count]) => {
        // Counts begin anew with each start of the service.
        const more = count < (was[reason] ?? 0) ? count : count - (was[reason] ?? 0);
        if (more === 0) return [];
        const text = [
          "refusal",
          textOf(row["id"]),
          textOf(row["name"]),
          coloured("red", reason),
          `${more} more`,
        ];
        return [{ text, json: { refusal: { source_id: row["id"], reason, count: more } } }];
      });
    },
  },
} as const satisfies Record<string, Stream>;

type StreamName = keyof typeof STREAMS;
const STREAM_NAMES = Object.keys(STREAMS) as StreamName[];

function textOf(value: unknown): string {
  return printable(typeof value === "string" ? value : JSON.stringify(value));
}

function countsOf(state: string | null): Record<string, number> {
  return state === null ? {} : (JSON.parse(state) as Record<string, number>);
}

/** `sealpost tail`: what happens at an installation from now on, until a signal. */
export function runTail({ words, options, usage }: Call<TailOptions>): Promise<number> {
  const tail = async () => {
    const api = new Api(findInstallation(options.profile, process.env));
    const { signal } = endBySignal();
    const steady = new SteadyApi(api, { signal, onWeather: tellWeather });
    const names = words.length === 0 ? STREAM_NAMES : [...new Set(words as StreamName[])];
    const watches = names.map((name) => new Watch(steady, name));
    for (const watch of watches) await watch.look();
    if (!signal.aborted)
      console.error(`Showing ${names.join(", ")} of ${api.url} from now on. Ctrl-C ends it.`);
    while (!signal.aborted) {
      await rest(LOOK_MS, signal);
      for (const watch of watches) for (const one of await watch.look()) show(one, options.json === true);
    }
    return EXIT.good;
  };
  return tellErrors(usage, tail);
}

function show({ text, json }: Happening, isJson: boolean): void {
  printLine(isJson ? printableJson(json) : [timeOfDay(), ...text].join("  "));
}

/** One stream: the rows of a list as they were at the last look. */
class Watch {
  readonly #api: SteadyApi;
  readonly #name: StreamName;
  /** By the id of its row; null before the first look. */
  #states: ReadonlyMap<string, string> | null = null;

  constructor(api: SteadyApi, name: StreamName) {
    this.#api = api;
    this.#name = name;
  }

  /** What has happened since the last look, in its order; nothing at the first. */
  async look(): Promise<Happening[]> {
    const stream: Stream = STREAMS[this.#name];
    const rows = await this.#read(stream);
    if (rows === null) return [];
    const before = this.#states;
    this.#states = new Map(rows.map((row) => [String(row["id"]), stream.stateOf(row)]));
    if (before === null) return [];
    const isKnown = (row: Row) => before.has(String(row["id"]));
    if (!stream.allPages && rows.length === PAGE && !rows.some(isKnown))
      console.error(`More ${this.#name} than the last ${PAGE} came since the look before`);
    // Where newer ones were erased, older ones have come into the page, behind all that was there.
    const lastKnown = rows.findLastIndex(isKnown);
    const seen = lastKnown === -1 || stream.allPages ? rows : rows.slice(0, lastKnown + 1);
    return seen.toReversed().flatMap((row) => {
      const was = before.get(String(row["id"])) ?? null;
      return was === stream.stateOf(row) ? [] : stream.read(row, was);
    });
  }

  /** Null once the signal came. */
  async #read({ path, allPages }: Stream): Promise<Row[] | null> {
    const rows: Row[] = [];
    let isCut = false;
    const ask = async (page: string): Promise<Page<Row>> => {
      const answer = await this.#api.ask<Page<Row>>(page);
      isCut = answer === null;
      return answer ?? { data: [], next_cursor: null };
    };
    for await (const { data } of pagesOf(path, () => ({ limit: String(PAGE) }), ask)) {
      rows.push(...data);
      if (!allPages) break;
    }
    return isCut ? null : rows;
  }
}
