/** A queue of RabbitMQ. */
import { type ConfirmChannel, connect, type GetMessage, type Options } from "amqplib";
import { Rabbitmq } from "../../kit/rabbitmq.ts";
import type { Trial } from "./trial.ts";

export const QUEUE = "orders";

export interface Sent extends Options.Publish {
  body: string | Buffer;
}

export class RabbitmqTrial implements Trial {
  readonly load = 350;
  readonly words = ["rabbitmq", QUEUE];
  readonly env: Record<string, string>;
  readonly rabbitmq: Rabbitmq;

  private constructor(rabbitmq: Rabbitmq) {
    this.rabbitmq = rabbitmq;
    this.env = { AMQP_URL: rabbitmq.amqpUrl };
  }

  static async start(): Promise<RabbitmqTrial> {
    const rabbitmq = await Rabbitmq.start();
    await rabbitmq.admin(`/queues/%2F/${QUEUE}`, { durable: true });
    return new RabbitmqTrial(rabbitmq);
  }

  async write(count: number): Promise<string[]> {
    const ids = Array.from({ length: count }, () => Bun.randomUUIDv7());
    await this.send(
      ids.map((messageId, n) => ({ messageId, type: "invoice.paid", body: JSON.stringify({ n }) })),
    );
    return ids.map((id) => `${QUEUE}:${id}`);
  }

  /** Resolves once the server has them on its disk. */
  send(messages: readonly Sent[], queue = QUEUE): Promise<void> {
    return this.#with(async (channel) => {
      for (const { body, ...properties } of messages)
        channel.sendToQueue(queue, Buffer.from(body), { persistent: true, ...properties });
      await channel.waitForConfirms();
    });
  }

  left(queue = QUEUE): Promise<number> {
    return this.#with(async (channel) => (await channel.checkQueue(queue)).messageCount);
  }

  /** Takes all out of a queue. */
  takeAll(queue: string): Promise<GetMessage[]> {
    return this.#with(async (channel) => {
      const messages: GetMessage[] = [];
      for (;;) {
        const message = await channel.get(queue, { noAck: true });
        if (message === false) return messages;
        messages.push(message);
      }
    });
  }

  kill9(): Promise<void> {
    return this.rabbitmq.kill9();
  }

  restart(): Promise<void> {
    return this.rabbitmq.start();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.rabbitmq[Symbol.asyncDispose]();
  }

  async #with<T>(work: (channel: ConfirmChannel) => Promise<T>): Promise<T> {
    const connection = await connect(this.rabbitmq.amqpUrl);
    try {
      return await work(await connection.createConfirmChannel());
    } finally {
      await connection.close();
    }
  }
}
