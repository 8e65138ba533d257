import { createHmac } from "node:crypto";
import type { Transport, TransportRequest, TransportResult } from "../../src/transport/types.ts";
import type { Tally } from "./tally.ts";
import type { Rng, World } from "./world.ts";

/** What may strike in a run, each kind switched on or off by its seed. */
export interface Faults {
  slow: boolean;
  hang: boolean;
  lostBefore: boolean;
  lostAfter: boolean;
  serverErrors: boolean;
  throttling: boolean;
  gone: boolean;
  blocked: boolean;
  outages: boolean;
  crashes: boolean;
  clockJumps: boolean;
  fullDisk: boolean;
  slowDisk: boolean;
  slowTurns: boolean;
  shortOfFiles: boolean;
  erasures: boolean;
}

export const FAULT_NAMES = [
  "slow",
  "hang",
  "lostBefore",
  "lostAfter",
  "serverErrors",
  "throttling",
  "gone",
  "blocked",
  "outages",
  "crashes",
  "clockJumps",
  "fullDisk",
  "slowDisk",
  "slowTurns",
  "shortOfFiles",
  "erasures",
] as const satisfies (keyof Faults)[];

/** One request as a receiver saw it. */
export interface Seen {
  id: string;
  at: number;
  answer: number;
  /** The how manieth request it was when it was sent: what a dying process sent may arrive late. */
  sent: number;
}

const LATE_MS = 200;

/**
 * Receivers behind a transport: they answer by chance, check every signature, and remember what they took.
 */
export class Receivers implements Transport {
  /** By path of the endpoint, in the order of arrival. */
  readonly seen = new Map<string, Seen[]>();
  /** The secrets that were valid when the attempt under way began, by delivery. */
  readonly secrets = new Map<string, string[]>();
  readonly violations: string[] = [];
  #inFlight = new Map<string, number>();
  #downUntil = new Map<string, number>();
  #sent = 0;
  readonly #hanging = new Set<string>();
  readonly #short = new Set<string>();
  readonly #late = new Set<string>();
  readonly #gone = new Map<string, () => void>();
  /** Paths that something was sent to. */
  readonly asked = new Set<string>();
  calm = false;

  constructor(
    private readonly world: World,
    private readonly rng: Rng,
    private readonly faults: Faults,
    private readonly tally: Tally,
  ) {}

  send(request: TransportRequest): Promise<TransportResult> {
    const id = request.headers.find(([name]) => name === "webhook-id")?.[1] ?? "";
    this.#begin(id);
    this.#checkSignature(request);
    const { process } = this.world;
    return new Promise((resolve) => {
      const done = (ms: number, result: TransportResult) => {
        // The answer of a receiver reaches nobody where the sender died meanwhile.
        if (process !== this.world.process) return;
        this.world.after(ms, () => {
          this.#inFlight.delete(id);
          resolve(result);
        });
      };
      request.signal?.addEventListener("abort", () => done(0, { kind: "aborted" }), { once: true });
      this.#answer(request, id, done);
    });
  }

  /** Nobody answers the next request with this id. */
  hangNext(id: string): void {
    if (!this.calm && this.faults.hang) this.#hanging.add(id);
  }

  /** No file is left for the next request with this id. */
  shortNext(id: string): void {
    if (!this.calm && this.faults.shortOfFiles) this.#short.add(id);
  }

  /** Whoever is behind this path answers the next request late, and wants to be left alone for a while. */
  throttleNext(path: string): void {
    if (!this.calm && this.faults.throttling) this.#late.add(path);
  }

  /** Whoever is behind this path is gone at the next request; `beside` happens as that is heard. */
  goneNext(path: string, beside: () => void): void {
    if (!this.calm && this.faults.gone) this.#gone.set(path, beside);
  }

  stats() {
    return { open: 0, idle: 0, connects: 0, reused: 0 };
  }

  close(): void {}

  /** Never two attempts of one delivery at once within one process. */
  #begin(id: string): void {
    if (this.#inFlight.get(id) === this.world.process) this.violations.push(`two attempts of ${id} at once`);
    this.#inFlight.set(id, this.world.process);
  }

  #strikes(fault: keyof Faults, share: number): boolean {
    if (this.calm || !this.faults[fault] || !this.rng.chance(share)) return false;
    this.tally[fault]++;
    return true;
  }

  #answer(request: TransportRequest, id: string, done: (ms: number, result: TransportResult) => void): void {
    const path = request.url.pathname;
    const sent = this.#sent++;
    this.asked.add(path);
    const isLate = this.#late.delete(path);
    const usual = isLate ? LATE_MS : 1 + this.rng.below(60);
    const latency = this.#strikes("slow", 0.1) ? 200 + this.rng.below(8000) : usual;
    if (this.#strikes("shortOfFiles", this.#short.delete(id) ? 1 : 0.02)) return done(0, { kind: "aborted" });
    if (this.#strikes("blocked", 0.01)) return done(1, { kind: "blocked", code: "address_not_allowed" });
    if (this.#isDown(path)) return done(latency, { kind: "unreachable", code: "connection_refused" });
    if (this.#strikes("hang", this.#hanging.delete(id) ? 1 : 0.05))
      return done(request.timeoutMs, { kind: "timeout", code: "timeout_response" });
    if (this.#strikes("lostBefore", 0.05))
      return done(latency, { kind: "unreachable", code: "connection_reset" });
    if (latency >= request.timeoutMs)
      return done(request.timeoutMs, { kind: "timeout", code: "timeout_response" });
    // What the receiver does outlives the sender.
    const halfway = Math.floor(latency / 2);
    this.world.outside(halfway, () => {
      const beside = this.#gone.get(path);
      done(latency - halfway, this.#receive(path, id, sent, isLate));
      if (beside) this.world.after(latency - halfway, beside);
    });
  }

  #receive(path: string, id: string, sent: number, isLate: boolean): TransportResult {
    const [status, headers] = this.#status(isLate, this.#gone.delete(path));
    const lost = status === 200 && this.#strikes("lostAfter", 0.03);
    this.#remember(path, { id, at: this.world.wall, answer: status, sent });
    if (lost) return { kind: "unreachable", code: "connection_reset" };
    return { kind: "response", status, headers, body: new Uint8Array(), truncated: false };
  }

  #status(isLate: boolean, isGone: boolean): [number, [string, string][]] {
    if (this.#strikes("gone", isGone ? 1 : 0)) return [410, []];
    if (!isLate && this.#strikes("serverErrors", 0.15)) return [this.rng.pick([500, 400, 404, 302, 501]), []];
    if (this.#strikes("throttling", isLate ? 1 : 0.05)) {
      const retryAfter: [string, string][] = this.rng.chance(isLate ? 1 : 0.5)
        ? [["retry-after", String(1 + this.rng.below(90))]]
        : [];
      return [this.rng.pick([429, 502, 503, 504]), retryAfter];
    }
    if (this.#strikes("gone", 0.01)) return [410, []];
    return [200, []];
  }

  #isDown(path: string): boolean {
    const until = this.#downUntil.get(path) ?? 0;
    if (this.calm) return false;
    if (this.world.monotonic < until) return true;
    if (!this.#strikes("outages", 0.01)) return false;
    this.#downUntil.set(path, this.world.monotonic + 60_000 + this.rng.below(3 * 3_600_000));
    return true;
  }

  /** True where what a poller was to get is lost on its way. */
  losesAnswer(): boolean {
    return this.#strikes("lostAfter", 0.15);
  }

  /** A poller has it. */
  take(path: string, id: string): void {
    this.#remember(path, { id, at: this.world.wall, answer: 200, sent: this.#sent++ });
  }

  #remember(path: string, seen: Seen): void {
    const all = this.seen.get(path);
    if (all) all.push(seen);
    else this.seen.set(path, [seen]);
  }

  /** One `v1` entry for each secret that is valid at that moment, and no other. */
  #checkSignature({ headers, body, url }: TransportRequest): void {
    const header = (name: string) => headers.find(([key]) => key === name)?.[1] ?? "";
    const signed = `${header("webhook-id")}.${header("webhook-timestamp")}.${new TextDecoder().decode(body)}`;
    const entryOf = (secret: string) => {
      const key = Buffer.from(secret.slice("whsec_".length), "base64");
      return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
    };
    const expected = (this.secrets.get(header("webhook-id")) ?? []).map(entryOf).join(" ");
    if (header("webhook-signature") !== expected)
      this.violations.push(`a delivery to ${url.pathname} is signed wrongly`);
  }
}
