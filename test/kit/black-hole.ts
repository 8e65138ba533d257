/**
 * A port of the loopback that drops SYNs, as a firewall does: its listener is stopped, and its queue full.
 */
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";

const LISTENER = `Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } })`;
/** What Bun's listeners ask for. */
const BACKLOG = 512;

export interface BlackHole extends AsyncDisposable {
  readonly port: number;
  /** From now on it refuses: the kernel lets go of who waits when it repeats their SYNs. */
  close(): Promise<void>;
}

export async function openBlackHole(): Promise<BlackHole> {
  const child = Bun.spawn([process.execPath, "-e", `console.log(${LISTENER}.port)`], { stdout: "pipe" });
  const first = await child.stdout.getReader().read();
  const port = Number(new TextDecoder().decode(first.value));
  child.kill("SIGSTOP");
  while (!/^State:\s+T/m.test(readFileSync(`/proc/${child.pid}/status`, "utf8"))) await Bun.sleep(1);
  const most = Number(readFileSync("/proc/sys/net/core/somaxconn", "utf8"));
  // The kernel lets one more in than its queue is long.
  const filling = Array.from({ length: Math.min(BACKLOG, most) + 1 }, () => fill(port));
  const sockets = await Promise.all(filling);
  async function close(): Promise<void> {
    for (const socket of sockets) socket.destroy();
    child.kill("SIGKILL");
    await child.exited;
  }
  return { port, close, [Symbol.asyncDispose]: close };
}

function fill(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port }, () => resolve(socket));
    // The listener's end resets it.
    socket.on("error", reject);
  });
}
