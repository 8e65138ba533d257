import { messageOf, type Problem, unavailable } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import { RecentMap } from "../../core/structures/recent-map.ts";
import type { MovedTo } from "../../core/model.ts";
import { askMachine } from "../../transport/machines.ts";
import { CONNECTION_HEADERS } from "../../transport/request.ts";

/**
 * What still comes here for an account that has moved: passed on to its cell as it came, and the answer is
 * that cell's.
 */

/** Which cells have passed a request on: one that comes back would go round for ever. */
export const PASSED_ON_HEADER = "sealpost-passed-on";
const READYZ_MS = 1000;
/** A machine that was ready, or a cell that was not, is not asked again for so long. */
const READY_KEPT_MS = 1000;
const NOT_READY_KEPT_MS = 200;
/** As long as the router waits for an answer to begin (src/cells/ways.ts). */
const ANSWER_MS = 75_000;
/** For so long nothing may come on the connection of whoever is answered by another cell. */
export const PASSED_ON_IDLE_SECONDS = 90;
const RETRY_SECONDS = 2;
const PLACES_MAX = 100;

/** A look at a cell's machines. */
interface Look {
  /** The one that is ready; null: none is. */
  machine: Promise<string | null>;
  /** Until then nobody looks again: not while it is under way. */
  until: number;
}

/** Answers for accounts that live in other cells. */
export class PassOn {
  /** By the machines of a cell: the last look. */
  readonly #looks = new RecentMap<string, Look>(PLACES_MAX);
  /** Requests that are passed on at the moment, by the machines of their cell. */
  readonly #open = new Map<string, number>();
  #openInAll = 0;

  /** `cell`: this one. */
  constructor(private readonly cell: string) {}

  /**
   * `body`: what was read of it; null where nothing was, and it is handed on as it comes. Never rejects: a
   * Problem where the cell cannot be reached.
   */
  async send(
    request: Request,
    body: Uint8Array<ArrayBuffer> | null,
    to: MovedTo,
  ): Promise<Response | Problem> {
    const passed = request.headers.get(PASSED_ON_HEADER)?.split(",") ?? [];
    if (passed.includes(this.cell)) return unreachable(to, "it passes requests for this account back");
    const place = to.machines.join();
    const open = this.#open.get(place) ?? 0;
    if (open >= limit("passedOnOfCellMax") || this.#openInAll >= limit("passedOnMax"))
      return unreachable(to, "too many requests are passed on to it at once");
    const giveBack = this.#take(place);
    // Nobody reads what is for a client that has left.
    request.signal.addEventListener("abort", giveBack, { once: true });
    const machine = await this.#findReady(to.machines);
    if (machine === null) {
      giveBack();
      return unreachable(to, "none of its machines is ready");
    }
    const headers = withoutConnection(request.headers);
    headers.delete("host");
    headers.set(PASSED_ON_HEADER, [...passed, this.cell].join(","));
    try {
      const answer = await ask(machine, request, { headers, body });
      const { status } = answer;
      const own = withoutConnection(answer.headers);
      const content = request.method === "HEAD" ? null : answer.body;
      if (content === null) giveBack();
      return new Response(content && untilOver(content, giveBack), { status, headers: own });
    } catch (error) {
      giveBack();
      this.#looks.delete(place);
      return unreachable(to, messageOf(error));
    }
  }

  #take(place: string): () => void {
    this.#count(place, 1);
    let isOpen = true;
    return () => {
      if (isOpen) this.#count(place, -1);
      isOpen = false;
    };
  }

  #count(place: string, more: number): void {
    const open = (this.#open.get(place) ?? 0) + more;
    if (open === 0) this.#open.delete(place);
    else this.#open.set(place, open);
    this.#openInAll += more;
  }

  /** The one that is no standby, and takes requests. All who ask meanwhile share a look. */
  #findReady(machines: readonly string[]): Promise<string | null> {
    const place = machines.join();
    const known = this.#looks.get(place);
    if (known !== undefined && performance.now() < known.until) return known.machine;
    const look = { machine: findReady(machines), until: Number.POSITIVE_INFINITY };
    this.#looks.set(place, look);
    void look.machine.then((machine) => {
      look.until = performance.now() + (machine === null ? NOT_READY_KEPT_MS : READY_KEPT_MS);
    });
    return look.machine;
  }
}

/** Never rejects. */
function findReady(machines: readonly string[]): Promise<string | null> {
  const answers = machines.map(async (machine) => {
    const answer = await askMachine(machine, "/readyz", { timeoutMs: READYZ_MS });
    if (!answer.ok) throw new Error("not ready");
    return machine;
  });
  return Promise.any(answers).catch(() => null);
}

/** The same bytes, as they are read; `over` is called once no more of them come. */
function untilOver(body: ReadableStream<Uint8Array>, over: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        over();
        controller.close();
      } catch (error) {
        over();
        controller.error(error);
      }
    },
    cancel(reason) {
      over();
      return reader.cancel(reason);
    },
  });
}

/** Throws where no answer begins in time. */
async function ask(
  machine: string,
  request: Request,
  { headers, body }: { headers: Headers; body: Uint8Array<ArrayBuffer> | null },
): Promise<Response> {
  const begins = new AbortController();
  const timer = setTimeout(() => begins.abort(), ANSWER_MS);
  try {
    const { pathname, search } = new URL(request.url);
    return await fetch(`http://${machine}${pathname}${search}`, {
      method: request.method,
      headers,
      body: body ?? request.body,
      redirect: "manual",
      decompress: false,
      proxy: false,
      signal: AbortSignal.any([request.signal, begins.signal]),
    });
  } finally {
    clearTimeout(timer);
  }
}

function unreachable({ cell }: MovedTo, why: string): Problem {
  return unavailable(
    `This account lives in cell ${cell}, which cannot be reached now: ${why}.`,
    RETRY_SECONDS,
  );
}

function withoutConnection(headers: Headers): Headers {
  const kept = new Headers(headers);
  for (const name of CONNECTION_HEADERS) kept.delete(name);
  return kept;
}
