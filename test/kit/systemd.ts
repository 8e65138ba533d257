/**
 * A machine whose first process is the real systemd, in namespaces of its own, for units that are run as on
 * an operator's machine. Needs root.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { mayMakeNamespaces } from "./namespaces.ts";
import { requireTool } from "./tools.ts";

const BOOT = join(import.meta.dir, "systemd-boot.sh");
const NAMESPACES = ["--mount", "--pid", "--fork", "--net", "--ipc", "--uts", "--cgroup"];
const LOOK_MS = 100;
const DEADLINE_MS = 20_000;

export interface Ran {
  exitCode: number;
  output: string;
}

/** Whether such a machine can be had here; says why not. */
export function canBootSystemd(): boolean {
  const hasTool = requireTool("systemd-analyze", "apt-get install systemd");
  return hasTool && mayMakeNamespaces(["unshare", ...NAMESPACES, "true"]);
}

export class SystemdMachine implements AsyncDisposable {
  readonly #child: Bun.Subprocess;

  private constructor(checkout: string) {
    // It ends with the test, also where that is killed.
    const [dies, isolated] = [
      ["setpriv", "--pdeathsig", "KILL"],
      ["unshare", ...NAMESPACES],
    ];
    this.#child = Bun.spawn([...dies, ...isolated, "--kill-child=KILL", "sh", BOOT, checkout], {
      stdin: "ignore",
      stdout: "ignore",
      stderr: "inherit",
    });
  }

  /** The folder `checkout` is at /run/checkout there, and nothing that happens there reaches this machine. */
  static async boot(checkout: string): Promise<SystemdMachine> {
    const machine = new SystemdMachine(checkout);
    const deadline = performance.now() + DEADLINE_MS;
    while ((await machine.run("systemctl show --property=Version")).exitCode !== 0) {
      if (performance.now() > deadline) throw new Error("systemd does not answer");
      await Bun.sleep(LOOK_MS);
    }
    return machine;
  }

  /** Types these lines there, as root in /run/checkout. */
  async run(script: string): Promise<Ran> {
    const { pid } = this.#child;
    const first = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    if (first === "") return { exitCode: 1, output: "" };
    const enter = ["nsenter", "--target", first, "--all"];
    const child = Bun.spawn(
      [...enter, "bash", "-euo", "pipefail", "-c", `exec 2>&1; cd /run/checkout\n${script}`],
      {
        env: {
          PATH: "/run/checkout/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
          SYSTEMD_UNIT_PATH: "/etc/systemd/system",
        },
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
      },
    );
    const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    return { exitCode: await child.exited, output: output + errors };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.exited;
  }
}
