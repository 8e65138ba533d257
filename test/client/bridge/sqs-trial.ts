/** A queue of SQS, as moto plays it, behind a wire that can be cut: moto itself forgets what it had. */
import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { type PlayedAws, startMoto } from "../../kit/aws-servers.ts";
import { freePorts } from "../../kit/real-server.ts";
import type { Trial } from "./trial.ts";

const QUEUE = "orders";
const KEYS = { AWS_ACCESS_KEY_ID: "AKIATEST", AWS_SECRET_ACCESS_KEY: "secret", AWS_REGION: "eu-central-1" };
/** The queue's own time, which is less than a publish may take. */
const HIDDEN_SECONDS = 3;
const AT_ONCE = 10;

export interface SentToSqs {
  body: string;
  type?: string;
}

export class SqsTrial implements Trial {
  /** moto takes its time. */
  readonly load = 60;
  readonly words: readonly string[];
  readonly env = KEYS;
  readonly #moto: PlayedAws;
  readonly #wire: Wire;
  readonly #client: SQSClient;
  readonly #queueUrl: string;

  private constructor(moto: PlayedAws, wire: Wire, client: SQSClient, queueUrl: string) {
    this.#moto = moto;
    this.#wire = wire;
    this.#client = client;
    this.#queueUrl = queueUrl;
    this.words = ["sqs", `http://127.0.0.1:${wire.port}${new URL(queueUrl).pathname}`];
  }

  static async start(): Promise<SqsTrial> {
    const moto = await startMoto();
    const credentials = { accessKeyId: KEYS.AWS_ACCESS_KEY_ID, secretAccessKey: KEYS.AWS_SECRET_ACCESS_KEY };
    const client = new SQSClient({ region: KEYS.AWS_REGION, endpoint: moto.url, credentials });
    const Attributes = { VisibilityTimeout: String(HIDDEN_SECONDS) };
    const { QueueUrl: url = "" } = await client.send(
      new CreateQueueCommand({ QueueName: QUEUE, Attributes }),
    );
    const [port = 0] = await freePorts(1);
    const wire = new Wire(port, Number(new URL(moto.url).port));
    await wire.mend();
    return new SqsTrial(moto, wire, client, url);
  }

  write(count: number): Promise<string[]> {
    return this.send(Array.from({ length: count }, (_, n) => ({ type: "invoice.paid", body: `{"n":${n}}` })));
  }

  async send(messages: readonly SentToSqs[]): Promise<string[]> {
    const ids: string[] = [];
    for (let from = 0; from < messages.length; from += AT_ONCE) {
      const Entries = messages.slice(from, from + AT_ONCE).map(({ body, type }, at) => ({
        Id: String(at),
        MessageBody: body,
        MessageAttributes: type === undefined ? {} : { type: { DataType: "String", StringValue: type } },
      }));
      const sent = await this.#client.send(
        new SendMessageBatchCommand({ QueueUrl: this.#queueUrl, Entries }),
      );
      ids.push(...(sent.Successful ?? []).map(({ MessageId: id }) => `${QUEUE}:${id}`));
    }
    return ids;
  }

  async left(): Promise<number> {
    const names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"] as const;
    const asked = new GetQueueAttributesCommand({ QueueUrl: this.#queueUrl, AttributeNames: [...names] });
    const { Attributes: found = {} } = await this.#client.send(asked);
    return names.reduce((sum, name) => sum + Number(found[name]), 0);
  }

  /** Waits for longer than the queue hides what is received; the bodies that came. */
  async receive(): Promise<string[]> {
    const asked = new ReceiveMessageCommand({
      QueueUrl: this.#queueUrl,
      WaitTimeSeconds: HIDDEN_SECONDS + 2,
    });
    const { Messages: found = [] } = await this.#client.send(asked);
    return found.map(({ Body: body = "" }) => body);
  }

  async kill9(): Promise<void> {
    this.#wire.cut();
  }

  restart(): Promise<void> {
    return this.#wire.mend();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#wire.cut();
    this.#client.destroy();
    await this.#moto[Symbol.asyncDispose]();
  }
}

/** Passes on what comes to a port. */
class Wire {
  #server: Server | null = null;
  readonly #sockets = new Set<Socket>();

  constructor(
    readonly port: number,
    private readonly to: number,
  ) {}

  mend(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server = createServer((socket) => {
      const other = connect(this.to, "127.0.0.1");
      for (const [one, another] of [
        [socket, other],
        [other, socket],
      ] as const) {
        this.#sockets.add(one);
        one.on("error", () => another.destroy());
        one.on("close", () => this.#sockets.delete(one));
        one.pipe(another);
      }
    });
    this.#server.listen(this.port, "127.0.0.1", resolve);
    return promise;
  }

  cut(): void {
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
