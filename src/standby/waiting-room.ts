import { problemAnswer, unavailable } from "../core/errors.ts";

/** How far whoever waits is behind. */
export interface Behind {
  /** Who writes, as people read it. */
  primary: string;
  transactions: number;
  /** Since the copy was last as far as the primary said; null where there is no copy yet. */
  seconds: number | null;
}

const RETRY_SECONDS = 2;

/**
 * Answers for a standby: it runs, it is not ready, and whoever wants more goes to the primary. Returns what
 * frees the port.
 */
export function openWaitingRoom(
  { host, port }: { host: string; port: number },
  behind: () => Behind,
): () => Promise<void> {
  const server = Bun.serve({
    hostname: host,
    port,
    fetch(request) {
      if (new URL(request.url).pathname === "/healthz") return Response.json({ status: "ok" });
      const { primary, transactions, seconds } = behind();
      const copy =
        seconds === null
          ? "It has no copy yet"
          : `Its copy is ${transactions} transactions and ${seconds} s behind`;
      const detail = `This is a standby: the primary is ${primary}. ${copy}.`;
      const members = { behind_transactions: transactions, behind_seconds: seconds };
      const { body, ...answer } = problemAnswer(unavailable(detail, RETRY_SECONDS), members);
      return new Response(body, answer);
    },
  });
  return async () => {
    await server.stop(true);
  };
}
