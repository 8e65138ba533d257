/** The receiver of test/durability as a child process, and what it recorded. */
import { join } from "node:path";

/** One request to the receiver. */
export interface Receipt {
  path: string;
  /** `webhook-id`. */
  id: string;
  /** `data.token` of the body: which event of the publishers it is. */
  token: string;
  /** SHA-256 of the body. */
  digest: string;
  /** Whether the Standard Webhooks library verifies it. */
  isSigned: boolean;
  /** Unix milliseconds, when the body was there. */
  at: number;
  /** Null where it was never answered, or the connection was cut first. */
  answeredAt: number | null;
  status: number | null;
}

export interface PathCounts {
  received: number;
  /** Not answered yet. */
  open: number;
  openMax: number;
}

/** What every endpoint of these suites signs with. */
export const ENDPOINT_SECRET = `whsec_${Buffer.alloc(32, "sealpost").toString("base64")}`;

export class Recorder implements AsyncDisposable {
  constructor(
    private readonly child: Bun.Subprocess,
    private readonly port: number,
  ) {}

  /** The address of a path such as `/slow?delay_ms=400`; see test/durability/receiver.ts. */
  url(path: string): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  /** Everything that came, in order. */
  async receipts(): Promise<Receipt[]> {
    const response = await fetch(this.url("/-/receipts"));
    return (await response.json()) as Receipt[];
  }

  async counts(path: string): Promise<PathCounts> {
    const response = await fetch(this.url("/-/counts"));
    const counts = (await response.json()) as Record<string, PathCounts>;
    return counts[path] ?? { received: 0, open: 0, openMax: 0 };
  }

  /** Resolves when a path has had so many requests; rejects after the deadline. */
  async received(path: string, count: number, deadlineMs = 10_000): Promise<void> {
    const asked = new URLSearchParams({ path, count: String(count), within_ms: String(deadlineMs) });
    const response = await fetch(this.url(`/-/received?${asked.toString()}`));
    const { received } = (await response.json()) as Pick<PathCounts, "received">;
    if (received < count) throw new Error(`${path} got ${received} of ${count} requests in ${deadlineMs} ms`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }
}

/** Starts a receiver: `await using recorder = await startRecorder()`. */
export async function startRecorder(): Promise<Recorder> {
  const { promise, resolve, reject } = Promise.withResolvers<{ port: number }>();
  const program = join(import.meta.dir, "../durability/receiver.ts");
  const child = Bun.spawn([process.execPath, program, ENDPOINT_SECRET], {
    stdio: ["ignore", "inherit", "inherit"],
    ipc: (message) => resolve(message as { port: number }),
    onExit: (_, exitCode) => reject(new Error(`the receiver ended with exit code ${exitCode}`)),
  });
  return new Recorder(child, (await promise).port);
}
