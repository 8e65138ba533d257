// time budget: 180 s
/** The kind `rabbitmq` against RabbitMQ with its management plugin; messages are read back with `amqplib`. */
import { afterAll } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { connect } from "amqplib";
import { freePorts, makeFolder, RealServer, runCommand } from "../kit/real-server.ts";
import { requireTool } from "../kit/tools.ts";
import { type Arrived, type LiveKind, testLive } from "../destinations/kinds/live.ts";

const BIN = "/usr/lib/rabbitmq/bin";
const HINT = "apt-get install --no-install-recommends rabbitmq-server";
const hasServer = requireTool(existsSync(BIN) ? join(BIN, "rabbitmq-server") : "rabbitmq-server", HINT);

const folder = makeFolder("rabbitmq");
afterAll(() => folder.remove());

interface Ports {
  amqp: number;
  management: number;
  distribution: number;
  /** A port mapper of its own, which Erlang leaves behind otherwise. */
  mapper: number;
}

async function prepare(): Promise<LiveKind> {
  const [amqp = 0, management = 0, distribution = 0, mapper = 0] = await freePorts(4);
  const ports = { amqp, management, distribution, mapper };
  const url = `http://127.0.0.1:${management}`;
  const server = await makeServer(ports, url);
  await server.start();
  const admin = (path: string, body: unknown) => put(`${url}/api${path}`, body);
  await admin("/queues/%2F/orders", { durable: true });
  await admin("/queues/%2F/full", {
    durable: true,
    arguments: { "x-max-length": 0, "x-overflow": "reject-publish" },
  });
  await admin("/users/reader", { password: "reader-password", tags: "management" });
  await admin("/permissions/%2F/reader", { configure: "", write: "", read: ".*" });
  await admin("/users/plain", { password: "plain-password", tags: "" });
  await admin("/permissions/%2F/plain", { configure: "", write: ".*", read: ".*" });
  return {
    kind: "rabbitmq",
    config: {
      url,
      vhost: "/",
      exchange: "amq.default",
      routing_key: "orders",
      username: "guest",
      password: "guest",
    },
    read: () => read(amqp),
    refusals: [
      {
        name: "wrong password",
        config: { password: "wrong-password" },
        statusCode: 401,
        means: "credentials_refused",
      },
      {
        name: "missing exchange",
        config: { exchange: "nope" },
        statusCode: 400,
        means: "exchange_not_found",
      },
      { name: "missing vhost", config: { vhost: "nope" }, statusCode: 401, means: "vhost_refused" },
      { name: "unroutable", config: { routing_key: "nope" }, statusCode: 200, means: "unroutable" },
      { name: "a full queue", config: { routing_key: "full" }, statusCode: 400, means: "queue_full" },
      {
        name: "no write permission",
        config: { exchange: "amq.topic", username: "reader", password: "reader-password" },
        statusCode: 400,
        means: "write_permission_missing",
      },
      {
        name: "a user without the tag",
        config: { username: "plain", password: "plain-password" },
        statusCode: 401,
        means: "management_tag_missing",
      },
    ],
    start: () => server.start(),
    async stop() {
      await server.stop();
      await runCommand(["epmd", "-port", String(mapper), "-kill"]).catch(() => "");
    },
  };
}

async function makeServer(ports: Ports, url: string): Promise<RealServer> {
  const { path } = folder;
  await Bun.write(join(path, "plugins"), "[rabbitmq_management].");
  const settings = [
    `listeners.tcp.1 = 127.0.0.1:${ports.amqp}`,
    "management.tcp.ip = 127.0.0.1",
    `management.tcp.port = ${ports.management}`,
  ];
  await Bun.write(join(path, "rabbitmq.conf"), `${settings.join("\n")}\n`);
  return new RealServer({
    name: "RabbitMQ",
    command: [join(BIN, "rabbitmq-server")],
    env: {
      HOME: path,
      ERL_EPMD_ADDRESS: "127.0.0.1",
      ERL_EPMD_PORT: String(ports.mapper),
      RABBITMQ_NODENAME: `sealpost${ports.amqp}@localhost`,
      RABBITMQ_DIST_PORT: String(ports.distribution),
      RABBITMQ_CONFIG_FILE: join(path, "rabbitmq.conf"),
      RABBITMQ_ENABLED_PLUGINS_FILE: join(path, "plugins"),
      RABBITMQ_MNESIA_BASE: join(path, "data"),
      RABBITMQ_LOG_BASE: join(path, "log"),
      RABBITMQ_PID_FILE: join(path, "pid"),
    },
    isReady: async () => (await fetch(`${url}/api/overview`, { headers: GUEST })).ok,
  });
}

const GUEST = { authorization: `Basic ${btoa("guest:guest")}` };

async function put(url: string, body: unknown): Promise<void> {
  const headers = { ...GUEST, "content-type": "application/json" };
  const reply = await fetch(url, { method: "PUT", headers, body: JSON.stringify(body) });
  if (!reply.ok) throw new Error(`${url}: ${reply.status} ${await reply.text()}`);
}

/** Takes the next message off the queue, with its headers and what says that it survives a restart. */
async function read(port: number): Promise<Arrived> {
  const connection = await connect(`amqp://guest:guest@127.0.0.1:${port}`);
  try {
    const channel = await connection.createChannel();
    await channel.prefetch(1);
    return await new Promise<Arrived>((resolve, reject) => {
      const take = channel.consume("orders", (message) => {
        if (message === null) return reject(new Error("the queue is gone"));
        channel.ack(message);
        const { headers = {}, deliveryMode, messageId } = message.properties;
        if (deliveryMode !== 2 || messageId !== headers["webhook-id"])
          reject(new Error("not persistent, or no id"));
        // The channel's end makes sure that the acknowledgement went first.
        void channel.close().then(() => resolve({ body: message.content.toString(), headers }));
      });
      take.catch(reject);
    });
  } finally {
    await connection.close();
  }
}

testLive("RabbitMQ", prepare, !hasServer);
