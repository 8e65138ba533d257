import { signal } from "@preact/signals";
import type { Fault } from "../core/errors.ts";
import { close, token } from "./session.ts";

export type { Fault } from "../core/errors.ts";

/**
 * Speaks to /v1. A problem document becomes an ApiError; no answer at all is tried again until there is one.
 */

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly requestId: string | null,
    readonly faults: readonly Fault[],
  ) {
    super(detail);
    this.name = "ApiError";
  }
}

/** True while nothing answers. */
export const isOffline = signal(false);

const RETRY_MS = [1000, 2000, 4000, 8000];
/** Answers after which the same request may be sent again. */
const PASSING = [429, 503];
const PASSING_TRIES = 3;

export function get<T>(path: string, until?: AbortSignal): Promise<T> {
  return call<T>("GET", path, undefined, until);
}

/** The answer as it came, for what is shown to the letter: numbers keep their spelling. */
export function getText(path: string): Promise<string> {
  return call("GET", path, undefined, undefined, (response) => response.text());
}

/** A POST carries an Idempotency-Key: sent again after a broken connection, it is done once. */
export function send<T>(method: "POST" | "PATCH" | "DELETE", path: string, body?: unknown): Promise<T> {
  return call<T>(method, path, body);
}

const readJson = async (response: Response) =>
  response.status === 204 ? undefined : ((await response.json()) as unknown);

async function call<T>(
  method: string,
  path: string,
  body: unknown,
  until?: AbortSignal,
  read: (response: Response) => Promise<unknown> = readJson,
): Promise<T> {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers["content-type"] = "application/json";
  if (method === "POST") headers["idempotency-key"] = crypto.randomUUID();
  const init: RequestInit = {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(until && { signal: until }),
  };
  for (let tries = 1; ; tries++) {
    const response = await reach(path, init);
    if (response.ok) return (await read(response)) as T;
    const error = await readProblem(response);
    if (response.status === 401) close("expired");
    if (!PASSING.includes(response.status) || tries === PASSING_TRIES) throw error;
    await pause(Number(response.headers.get("retry-after") ?? 1) * 1000, until);
  }
}

/** Waits out a broken network, for as long as the session lasts and nobody gives the request up. */
async function reach(path: string, init: RequestInit): Promise<Response> {
  for (let tries = 0; ; tries++) {
    const bearer = token.value;
    if (bearer === null) throw new ApiError(401, "unauthenticated", "", null, []);
    try {
      const headers = { ...(init.headers as Record<string, string>), authorization: `Bearer ${bearer}` };
      const response = await fetch(path, {
        ...init,
        headers,
        credentials: "omit",
        referrerPolicy: "no-referrer",
      });
      isOffline.value = false;
      return response;
    } catch (error) {
      if (init.signal?.aborted) throw error;
      isOffline.value = true;
      await pause(RETRY_MS[tries] ?? 8000, init.signal ?? undefined);
    }
  }
}

async function readProblem(response: Response): Promise<ApiError> {
  const requestId = response.headers.get("x-request-id");
  try {
    const problem = (await response.json()) as { code: string; detail: string; errors?: Fault[] };
    return new ApiError(response.status, problem.code, problem.detail, requestId, problem.errors ?? []);
  } catch {
    return new ApiError(response.status, "internal", "", requestId, []);
  }
}

/** Ends early when the network says that it is back. */
function pause(ms: number, until?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = () => {
      clearTimeout(timer);
      window.removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    window.addEventListener("online", done);
    until?.addEventListener("abort", () => reject(until.reason as Error), { once: true });
  });
}
