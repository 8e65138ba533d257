import { COMMON_HEADERS, Problem, problemAnswer } from "../core/errors.ts";

/** How a request says whose it is: what every router in front of cells goes by. */

/** What stands before the cell in a key of the API, or in a token of the portal. */
export const TOKEN_PREFIXES = ["sp_live_", "sp_test_", "spl_"] as const;

/** The paths that hold an id, whatever the request carries, and what such an id begins with. */
export const ID_PATHS = [
  { path: "/ingest/", prefix: "src_" },
  { path: "/poll/", prefix: "ep_" },
  { path: "/portal/", prefix: "proj_" },
] as const;

/** In an id the cell comes after its prefix and ten characters of time. */
export const TIME_CHARS = 10;

/** Everything else below it goes by the token. */
export const API_PATH = "/v1/";

/** Files of the portal's page, each named by what is in it. */
export const FILES_PATH = "/portal/assets/";

/**
 * Where a cell has no such file, as it runs another version than the one whose page names it, so many others
 * are asked. More would let a stranger's request become as many as there are machines.
 */
export const FILE_RETRIES = 4;

/** What a cell answers to its operator alone is asked of the cell itself. */
export const CLOSED_PATHS = ["/metrics"] as const;

/**
 * A path that a cell reads as another one: a step of one or two dots, or a backslash. Source: WHATWG URL,
 * 4.4 "URL parsing", path state.
 */
export const CROOKED_PATH = String.raw`(^|[/\\])(\.|%2[eE]){1,2}([/\\]|$)|\\`;

/** An answer of the router's own, in a cell's words. */
export interface Refusal {
  status: number;
  /** `requestId`: what the router writes for the id that it gives to each request. */
  write(requestId: string): { body: string; headers: Readonly<Record<string, string>> };
}

function refusal(problem: Problem): Refusal {
  return {
    status: problem.status,
    write(requestId) {
      const { body, headers } = problemAnswer(problem, { request_id: requestId });
      return { body, headers: { ...COMMON_HEADERS, ...headers, "x-request-id": requestId } };
    },
  };
}

const RETRY_AFTER_SECONDS = "2";

export const REFUSALS = {
  unknownKey: refusal(
    new Problem("unauthenticated", "This carries no key or token of a cell that is known here.", {
      headers: { "www-authenticate": "Bearer" },
    }),
  ),
  unknownId: refusal(new Problem("not_found", "No cell that is known here has an id like this one.")),
  closed: refusal(new Problem("not_found", "There is no such path.")),
  tooMany: refusal(
    new Problem("rate_limited", "Too many requests of this address are under way.", {
      headers: { "retry-after": "1" },
    }),
  ),
  noMachine: refusal(
    new Problem("unavailable", "The cell cannot be reached now.", {
      headers: { "retry-after": RETRY_AFTER_SECONDS },
    }),
  ),
} as const;

/** What the router waits for, in seconds. */
export const WAITS = {
  connect: 2,
  /** Until a machine of a pair is ready: twice as long as a take-over. */
  machine: 20,
  /** A head, as a whole. */
  head: 10,
  /** Longer than a poll is held. */
  answer: 75,
  /** Between two requests on a connection of a client's. */
  idle: 60,
  /** Shorter than a cell keeps a connection on which nothing comes. */
  idleAtCell: 5,
} as const;
