// time budget: 180 s
/** The kind `rabbitmq` against RabbitMQ with its management plugin; messages are read back with `amqplib`. */
import { afterAll } from "bun:test";
import { connect } from "amqplib";
import { hasRabbitmq, Rabbitmq } from "../kit/rabbitmq.ts";
import { type Arrived, type LiveKind, testLive } from "../destinations/kinds/live.ts";

let rabbitmq: Rabbitmq | undefined;
afterAll(() => rabbitmq?.[Symbol.asyncDispose]());

async function prepare(): Promise<LiveKind> {
  const server = (rabbitmq = await Rabbitmq.start());
  const { url, amqpUrl } = server;
  const admin = (path: string, body: unknown) => server.admin(path, body);
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
    read: () => read(amqpUrl),
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
    stop: () => server.stop(),
  };
}

/** Takes the next message off the queue, with its headers and what says that it survives a restart. */
async function read(url: string): Promise<Arrived> {
  const connection = await connect(url);
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

testLive("RabbitMQ", prepare, !hasRabbitmq);
