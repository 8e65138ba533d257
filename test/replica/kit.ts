/** A Litestream of our own making, and a process that writes to its replica. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HolderParts } from "../../src/replica/lease.ts";
import type { ReplicaParts } from "../../src/replica/replica.ts";

/** What Litestream's control socket does, and what it was asked. */
export class FakeLitestream {
  readonly asked: string[] = [];
  failure: string | null = null;
  /** What an upload waits for. */
  upload: Promise<unknown> | null = null;
  /** How far the database came, and the replica. */
  txids = { txid: 1, replicated_txid: 1 };
  #onAsked: (() => void)[] = [];
  #isOpen = true;
  /** Nothing was asked of the database yet: its end uploads nothing. */
  #isFresh = true;
  #server: Bun.Server<undefined> | null = null;

  constructor(private readonly path: string) {}

  listen(database: string): void {
    this.#server = Bun.serve({
      unix: this.path,
      fetch: async (request) => {
        const pathname = await nameOf(request);
        this.asked.push(pathname);
        for (const tell of this.#onAsked.splice(0)) tell();
        if (pathname === "/stop") return this.#stop((await request.json()) as { timeout: number });
        if (pathname === "/start") this.#isOpen = true;
        if (pathname === "/sync" || pathname === "/copy") this.#isFresh = false;
        if (pathname === "/sync") await this.upload;
        if (this.failure !== null) return Response.json({ error: this.failure }, { status: 500 });
        return Response.json({ databases: [{ path: database, status: this.#status }], ...this.txids });
      },
    });
  }

  get #status(): string {
    return this.#isOpen ? "replicating" : "stopped";
  }

  /** As Litestream's own: it uploads first, within that time, and has stopped where that fails. */
  #stop({ timeout }: { timeout: number }): Response {
    const ends = this.#isOpen && !this.#isFresh;
    this.#isOpen = false;
    if (ends && timeout < 0)
      return Response.json({ error: "close database: deadline exceeded" }, { status: 500 });
    if (ends) this.asked.push("/sync");
    return Response.json({ status: "stopped" });
  }

  get uploads(): number {
    return this.#count("/sync");
  }

  get copies(): number {
    return this.#count("/copy");
  }

  #count(path: string): number {
    return this.asked.filter((one) => one === path).length;
  }

  /** Resolves once it was asked for this so often. */
  async heard(path: string, count: number): Promise<void> {
    while (this.#count(path) < count) await new Promise<void>((tell) => this.#onAsked.push(tell));
  }

  async die(): Promise<void> {
    this.#isOpen = this.#isFresh = true;
    await this.#server?.stop(true);
    rmSync(this.path, { force: true });
  }
}

/** What is asked for; a sync without an upload is a copy. */
async function nameOf(request: Request): Promise<string> {
  const { pathname } = new URL(request.url);
  if (pathname !== "/sync") return pathname;
  const { wait } = (await request.json()) as { wait: boolean };
  return wait ? "/sync" : "/copy";
}

/**
 * A process beside the replica: its clock, what it logged, and a database that is written to at every look.
 */
export class Writer {
  /** By the monotonic clock. */
  time = 0;
  wall = Date.UTC(2026, 10, 23);
  readonly lines: string[] = [];
  identity = { installation: "db", start: 0, beat: 0 };
  readonly parts: ReplicaParts = {
    now: () => this.wall,
    monotonic: () => this.time,
    log: (level, msg) => this.lines.push(`${level} ${msg}`),
    begin: async () => {
      this.identity = { ...this.identity, start: this.identity.start + 1, beat: this.identity.beat + 1 };
      return this.identity;
    },
    beat: async () => ++this.identity.beat,
    fail: (error) => this.lines.push(`failed ${error.message}`),
  };
  readonly holder: HolderParts = { ...this.parts, onLost: this.parts.fail };
}

/** A data directory, the environment that names a replica beside it, and the Litestream of the two. */
export class Home {
  readonly path = mkdtempSync(join(tmpdir(), "sealpost-replica-"));
  readonly dir = join(this.path, "data");
  readonly env: Record<string, string> = { LITESTREAM_REPLICA_URL: `file://${join(this.path, "replica")}` };
  readonly control = new FakeLitestream(join(this.dir, "litestream.sock"));

  constructor() {
    mkdirSync(this.dir);
  }

  async remove(): Promise<void> {
    await this.control.die();
    rmSync(this.path, { recursive: true });
  }
}
