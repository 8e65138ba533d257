import { COMMON_HEADERS, problemAnswer, unavailable } from "../core/errors.ts";

/** What a machine that waits says of itself: a sentence, and members that tell the same to programs. */
export interface Waiting {
  sentence: string;
  members: Readonly<Record<string, string | number | boolean | null>>;
}

const RETRY_SECONDS = 2;

/**
 * Answers for a machine that waits to take over: it runs, it is not ready, and whoever wants more goes to
 * another one. Returns what frees the port.
 */
export function openWaitingRoom(
  { host, port }: { host: string; port: number },
  waiting: () => Waiting,
): () => Promise<void> {
  const server = Bun.serve({
    hostname: host,
    port,
    // Bun's own page of an error shows the source.
    development: false,
    fetch(request) {
      const requestId = crypto.randomUUID();
      const common = { ...COMMON_HEADERS, "x-request-id": requestId };
      // Of a malformed host nothing can be read.
      const path = URL.canParse(request.url) ? new URL(request.url).pathname : null;
      if (path === "/healthz") return Response.json({ status: "ok" }, { headers: common });
      const { sentence, members } = waiting();
      const problem = unavailable(sentence, RETRY_SECONDS);
      const { body, status, headers } = problemAnswer(problem, { ...members, request_id: requestId });
      return new Response(body, { status, headers: { ...common, ...headers } });
    },
  });
  return async () => {
    await server.stop(true);
  };
}
