import { limit } from "../core/limits.ts";
import { isOfRouter } from "../core/router.ts";
import type { Replication } from "../replica/replication.ts";
import type { Data } from "../store/data.ts";

/**
 * Where the process is between its start and its end. The router is the one that `sealpost cells config`
 * writes for: `/readyz` tells it where to send.
 *
 * | phase    | requests       | the router's | `/readyz` to it | besides                                     |
 * |----------|----------------|--------------|-----------------|---------------------------------------------|
 * | starting | cannot connect | the same     | no answer       |                                             |
 * | resuming | 503            | 503          | 503             | what was left open before is taken up       |
 * | open     | answered       | answered     | 200             |                                             |
 * | leaving  | 503            | answered     | 200             | attempts in flight come to their end        |
 * | parting  | 503            | answered     | 503             | the router sees that, and sends nothing     |
 * | stopping | 503            | 503          | 503             | what is in flight ends, or is handed back   |
 *
 * From open it goes to leaving at the primary of a pair behind such a router, and else to stopping.
 */
type Phase =
  | { is: "starting"; port: null }
  | { is: "resuming" | "open" | "leaving" | "parting" | "stopping"; port: number };

/** It asks once a second; a machine that is busy hears of it late. */
const ROUTER_GONE_MS = 10_000;
const NOT_OPEN = { ready: false, reason: "starting or stopping" };

export class Phases {
  #now: Phase = { is: "starting", port: null };
  /** When the router asked last. */
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly monotonic: () => number) {}

  enter(next: Phase): void {
    this.#now = next;
  }

  get port(): number | null {
    return this.#now.port;
  }

  isAnswered(request: Request): boolean {
    const { is } = this.#now;
    return is === "open" || ((is === "leaving" || is === "parting") && isOfRouter(request));
  }

  /** True where the router asks this machine, as it does the whole time. */
  get isRouted(): boolean {
    return this.monotonic() - this.#askedAt < ROUTER_GONE_MS;
  }

  /** What `/readyz` says; `reason`: what is missing. */
  readiness(
    request: Request,
    store: Pick<Data["store"], "writable" | "silentMs">,
    replication: Pick<Replication, "problem">,
  ): { ready: boolean; reason?: string } {
    if (isOfRouter(request)) this.#askedAt = this.monotonic();
    if (this.#now.is === "parting" || !this.isAnswered(request)) return NOT_OPEN;
    if (!store.writable) return { ready: false, reason: "the disk is full" };
    if (store.silentMs > limit("diskSilenceMs")) return { ready: false, reason: "the disk does not answer" };
    const reason = replication.problem();
    return reason === null ? { ready: true } : { ready: false, reason };
  }
}
