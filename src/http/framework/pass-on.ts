import { messageOf, type Problem, unavailable } from "../../core/errors.ts";
import { RecentMap } from "../../core/structures/recent-map.ts";
import type { MovedTo } from "../../core/model.ts";

/**
 * What still comes here for an account that has moved: passed on to its cell as it came, and the answer is
 * that cell's.
 */

/** Which cells have passed a request on: one that comes back would go round for ever. */
export const PASSED_ON_HEADER = "sealpost-passed-on";
const LOOK_MS = 1000;
/** A machine that was ready is not asked again for so long. */
const READY_MS = 1000;
/** As long as the router waits for an answer to begin (src/cells/ways.ts). */
const ANSWER_MS = 75_000;
/** For so long nothing may come on the connection of whoever is answered by another cell. */
export const PASSED_ON_IDLE_SECONDS = 90;
const RETRY_SECONDS = 2;
const PLACES_MAX = 100;

/** Of one connection alone. Source: RFC 9110, 7.6.1. */
const OF_THE_CONNECTION = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/** The machine of a cell that was ready, and until when it counts as that. */
const ready = new RecentMap<string, { machine: string; until: number }>(PLACES_MAX);

/**
 * `body`: what was read of it; null where nothing was, and it is handed on as it comes. Never rejects: a
 * Problem where the cell cannot be reached.
 */
export async function passOn(
  request: Request,
  body: Uint8Array<ArrayBuffer> | null,
  { to, cell }: { to: MovedTo; cell: string },
): Promise<Response | Problem> {
  const passed = request.headers.get(PASSED_ON_HEADER)?.split(",") ?? [];
  if (passed.includes(cell)) return unreachable(to, "it passes requests for this account back");
  const machine = await findReady(to.machines);
  if (machine === null) return unreachable(to, "none of its machines is ready");
  const headers = withoutConnection(request.headers);
  headers.delete("host");
  headers.set(PASSED_ON_HEADER, [...passed, cell].join(","));
  const begins = new AbortController();
  const timer = setTimeout(() => begins.abort(), ANSWER_MS);
  try {
    const { pathname, search } = new URL(request.url);
    const answer = await fetch(`http://${machine}${pathname}${search}`, {
      method: request.method,
      headers,
      body: body ?? request.body,
      redirect: "manual",
      decompress: false,
      proxy: false,
      signal: AbortSignal.any([request.signal, begins.signal]),
    });
    return new Response(answer.body, { status: answer.status, headers: withoutConnection(answer.headers) });
  } catch (error) {
    ready.delete(to.machines.join());
    return unreachable(to, messageOf(error));
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

/** The one that is no standby, and takes requests. */
async function findReady(machines: readonly string[]): Promise<string | null> {
  const place = machines.join();
  const known = ready.get(place);
  if (known !== undefined && performance.now() < known.until) return known.machine;
  const answers = machines.map(async (machine) => {
    const signal = AbortSignal.timeout(LOOK_MS);
    const answer = await fetch(`http://${machine}/readyz`, { signal, proxy: false, redirect: "error" });
    if (!answer.ok) throw new Error("not ready");
    return machine;
  });
  const machine = await Promise.any(answers).catch(() => null);
  if (machine !== null) ready.set(place, { machine, until: performance.now() + READY_MS });
  return machine;
}

function withoutConnection(headers: Headers): Headers {
  const kept = new Headers(headers);
  for (const name of OF_THE_CONNECTION) kept.delete(name);
  return kept;
}
