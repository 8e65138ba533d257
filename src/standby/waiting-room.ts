import { COMMON_HEADERS, problemAnswer, unavailable } from "../core/errors.ts";

/** How far whoever waits is behind. */
export interface Behind {
  transactions: number;
  /** Since the copy was last as far as the primary said; null where there is no copy yet. */
  seconds: number | null;
}

/** What a machine is that waits. */
export interface Who {
  sentence: string;
  members: Readonly<Record<string, string>>;
}

const STANDBY: Who = { sentence: "This machine is a standby.", members: {} };
const RETRY_SECONDS = 2;

/**
 * Answers for a machine that waits to take over: it runs, it is not ready, and whoever wants more goes to
 * another one. `who`: a sentence, and members that tell the same to programs. Returns what frees the port.
 */
export function openWaitingRoom(
  { host, port }: { host: string; port: number },
  behind: () => Behind,
  who: Who = STANDBY,
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
      const { transactions, seconds } = behind();
      const copy =
        seconds === null
          ? "It has no copy yet"
          : `Its copy is ${transactions} transactions and ${seconds} s behind`;
      const members = {
        behind_transactions: transactions,
        behind_seconds: seconds,
        ...who.members,
        request_id: requestId,
      };
      const problem = unavailable(`${who.sentence} ${copy}.`, RETRY_SECONDS);
      const { body, status, headers } = problemAnswer(problem, members);
      return new Response(body, { status, headers: { ...common, ...headers } });
    },
  });
  return async () => {
    await server.stop(true);
  };
}
