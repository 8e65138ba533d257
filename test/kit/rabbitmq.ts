/** A RabbitMQ of a test's own, with its management plugin. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePorts, makeFolder, RealServer, runCommand } from "./real-server.ts";
import { requireTool } from "./tools.ts";

const BIN = "/usr/lib/rabbitmq/bin";
const HINT = "apt-get install --no-install-recommends rabbitmq-server";

export const hasRabbitmq = requireTool(
  existsSync(BIN) ? join(BIN, "rabbitmq-server") : "rabbitmq-server",
  HINT,
);

interface Ports {
  amqp: number;
  management: number;
  distribution: number;
  /** A port mapper of its own, which Erlang leaves behind otherwise. */
  mapper: number;
}

const GUEST = { authorization: `Basic ${btoa("guest:guest")}` };

export class Rabbitmq implements AsyncDisposable {
  /** Of its protocol. */
  readonly amqpUrl: string;
  /** Of its management API. */
  readonly url: string;
  readonly #ports: Ports;
  readonly #folder = makeFolder("rabbitmq");
  readonly #server: RealServer;

  private constructor(ports: Ports) {
    this.#ports = ports;
    this.amqpUrl = `amqp://guest:guest@127.0.0.1:${ports.amqp}`;
    this.url = `http://127.0.0.1:${ports.management}`;
    this.#server = this.#makeServer();
  }

  static async start(): Promise<Rabbitmq> {
    const [amqp = 0, management = 0, distribution = 0, mapper = 0] = await freePorts(4);
    const rabbitmq = new Rabbitmq({ amqp, management, distribution, mapper });
    await rabbitmq.start();
    return rabbitmq;
  }

  /** Again, with all that was on its disk. */
  start(): Promise<void> {
    return this.#server.start();
  }

  async kill9(): Promise<void> {
    this.#server.signal("SIGKILL");
    await this.stop();
  }

  async stop(): Promise<void> {
    await this.#server.stop();
    await runCommand(["epmd", "-port", String(this.#ports.mapper), "-kill"]).catch(() => "");
  }

  /** The share of the machine's memory above which it takes nothing more: 0.4 where nothing is said. */
  async setMemory(share: string): Promise<void> {
    await runCommand([join(BIN, "rabbitmqctl"), "set_vm_memory_high_watermark", share], this.#env());
  }

  /** Makes something, by the management API. */
  async admin(path: string, body: unknown): Promise<void> {
    const headers = { ...GUEST, "content-type": "application/json" };
    const url = `${this.url}/api${path}`;
    const reply = await fetch(url, { method: "PUT", headers, body: JSON.stringify(body) });
    if (!reply.ok) throw new Error(`${url}: ${reply.status} ${await reply.text()}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.#folder.remove();
  }

  /** By which its programs find each other. */
  #env(): Record<string, string> {
    return {
      HOME: this.#folder.path,
      ERL_EPMD_ADDRESS: "127.0.0.1",
      ERL_EPMD_PORT: String(this.#ports.mapper),
      RABBITMQ_NODENAME: `sealpost${this.#ports.amqp}@localhost`,
    };
  }

  #makeServer(): RealServer {
    const { path } = this.#folder;
    const { amqp, management } = this.#ports;
    const settings = [
      `listeners.tcp.1 = 127.0.0.1:${amqp}`,
      "management.tcp.ip = 127.0.0.1",
      `management.tcp.port = ${management}`,
    ];
    writeFileSync(join(path, "plugins"), "[rabbitmq_management].");
    writeFileSync(join(path, "rabbitmq.conf"), `${settings.join("\n")}\n`);
    return new RealServer({
      name: "RabbitMQ",
      command: [join(BIN, "rabbitmq-server")],
      env: {
        ...this.#env(),
        RABBITMQ_DIST_PORT: String(this.#ports.distribution),
        RABBITMQ_CONFIG_FILE: join(path, "rabbitmq.conf"),
        RABBITMQ_ENABLED_PLUGINS_FILE: join(path, "plugins"),
        RABBITMQ_MNESIA_BASE: join(path, "data"),
        RABBITMQ_LOG_BASE: join(path, "log"),
        RABBITMQ_PID_FILE: join(path, "pid"),
      },
      isReady: async () => (await fetch(`${this.url}/api/overview`, { headers: GUEST })).ok,
    });
  }
}
