/**
 * A network namespace of its own, reached by cables: a pair of virtual network cards each, one of which is
 * inside. Only root may make them (`ip netns`, Debian's package iproute2).
 */
import { mayMakeNamespaces } from "../kit/namespaces.ts";
import { requireTool } from "../kit/tools.ts";

/** RFC 2544: for tests of networks, so nothing else has it. */
const NET = `198.18.${process.pid % 256}`;

function ip(...args: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(["ip", ...args]);
  if (exitCode !== 0) throw new Error(`ip ${args.join(" ")}: ${stderr.toString()}`);
}

export function canLay(): boolean {
  const probe = `sealpost-probe-${process.pid}`;
  const make = ["sh", "-c", `ip netns add ${probe} && ip netns del ${probe}`];
  return requireTool("ip", "apt-get install iproute2") && mayMakeNamespaces(make);
}

/** One way into an island: while it is cut nothing arrives in either direction, and nobody is told. */
export class Cable {
  readonly #inside: string;

  constructor(
    private readonly island: string,
    nth: number,
  ) {
    const outside = `spo${process.pid % 10_000}n${nth}`;
    this.#inside = `spi${nth}`;
    this.address = `${NET}.${4 * nth + 2}`;
    ip("link", "add", outside, "type", "veth", "peer", "name", this.#inside, "netns", island);
    ip("addr", "add", `${NET}.${4 * nth + 1}/30`, "dev", outside);
    ip("link", "set", outside, "up");
    ip("-n", island, "addr", "add", `${this.address}/30`, "dev", this.#inside);
    this.mend();
  }

  /** At which what runs inside is reached by it. */
  readonly address: string;

  cut(): void {
    ip("-n", this.island, "link", "set", this.#inside, "down");
  }

  mend(): void {
    ip("-n", this.island, "link", "set", this.#inside, "up");
  }
}

export class Island implements Disposable {
  readonly #name = `sealpost-${process.pid}`;
  #cables = 0;

  constructor() {
    ip("netns", "add", this.#name);
  }

  /** In front of a command that runs inside. */
  get enter(): readonly string[] {
    return ["ip", "netns", "exec", this.#name];
  }

  lay(): Cable {
    return new Cable(this.#name, this.#cables++);
  }

  /** Its cables go with it. */
  [Symbol.dispose](): void {
    ip("netns", "del", this.#name);
  }
}
