import { type Channel, type ChannelModel, type ConfirmChannel, connect, type ConsumeMessage } from "amqplib";
import { messageOf } from "../../../core/errors.ts";
import { isObject } from "../../../core/json/value.ts";
import { type Call, CommandError, UsageError } from "../../../platform/command-line.ts";
import { rest } from "../../steady-api.ts";
import { type Message, requireEnv, runBridge, type Source, SourceAway } from "../bridge.ts";
import { eventOf, type QueueOptions } from "../messages.ts";
import { SIZE_MAX, type Verdict } from "../publisher.ts";

/** A queue of RabbitMQ. */

const URL_NAME = "AMQP_URL";
const CONNECT_MS_MAX = 10_000;
const CONFIRM_MS_MAX = 10_000;
const CLOSE_MS_MAX = 5000;
/** An empty queue is waited at for so long; then once more. */
const WAIT_MS = 60_000;
/** A connection that is cut without a word is noticed after two of these. */
const HEARTBEAT_SECONDS = 15;
/** A header of a message: all headers together have 64 KiB. */
const REASON_CHARACTERS_MAX = 2000;

export interface RabbitmqOptions extends QueueOptions {
  refused?: string;
}

/** `sealpost bridge rabbitmq`: publishes the messages of a queue. */
export function runBridgeRabbitmq(call: Call<RabbitmqOptions>): Promise<number> {
  const [queue = ""] = call.words;
  return runBridge(call, () => new Queue(readUrl(), queue, call.options));
}

function readUrl(): string {
  const text = requireEnv(URL_NAME, "the address of the server, as amqps://user:password@host/vhost");
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^amqps?:$/.test(url.protocol))
    throw new UsageError(`${URL_NAME} must be an address such as amqps://user:password@host/vhost`);
  if (!url.searchParams.has("heartbeat")) url.searchParams.set("heartbeat", String(HEARTBEAT_SECONDS));
  return url.href;
}

/** A connection, and what it has brought. */
interface Link {
  connection: ChannelModel;
  channel: Channel;
  /** In their order; those that were taken last come first. */
  held: ConsumeMessage[];
  /** Why nothing more comes. */
  fault: Error | null;
  /** Ends a wait for a message. */
  wake: AbortController;
}

/**
 * Where refused messages go. A server that is short of memory or disk reads nothing more from a connection
 * that publishes, so that one acknowledges nothing.
 */
interface Outlet {
  connection: ChannelModel;
  channel: ConfirmChannel;
  /** A message found no queue. */
  isReturned: boolean;
}

class Queue implements Source {
  readonly name: string;
  readonly refused: string;
  readonly #url: string;
  readonly #queue: string;
  readonly #options: RabbitmqOptions;
  readonly #refusedQueue: string;
  #link: Link | null = null;
  #outlet: Outlet | null = null;

  constructor(url: string, queue: string, options: RabbitmqOptions) {
    this.#url = url;
    this.#queue = queue;
    this.#options = options;
    this.#refusedQueue = options.refused ?? `${queue}.refused`;
    if (this.#refusedQueue === queue) throw new UsageError("--refused must be another queue");
    this.name = `what comes to ${queue}`;
    this.refused = `put into ${this.#refusedQueue}`;
  }

  async take(max: number, signal: AbortSignal): Promise<Message[]> {
    return this.#with(async (link) => {
      if (link.held.length === 0 && link.fault === null) await waitFor(link, signal);
      if (link.fault !== null) throw link.fault;
      return signal.aborted ? [] : link.held.slice(0, max).map((message) => this.#read(message));
    });
  }

  async settle(verdicts: readonly Verdict[]): Promise<void> {
    if (verdicts.length === 0) return;
    await this.#with(async (link) => {
      for (const [at, message] of link.held.slice(0, verdicts.length).entries()) {
        const verdict = verdicts[at] ?? null;
        if (verdict !== null) await this.#putAway(message, verdict);
        link.held.shift();
        link.channel.ack(message);
      }
    });
  }

  async close(): Promise<void> {
    const link = this.#link;
    this.#link = null;
    // What was acknowledged is read by the server before this; the rest comes to another consumer.
    await Promise.all([closed(link), this.#closeOutlet()]);
  }

  #closeOutlet(): Promise<void> {
    const outlet = this.#outlet;
    this.#outlet = null;
    return closed(outlet);
  }

  #read(message: ConsumeMessage): Message {
    const { messageId, type } = message.properties as { messageId?: string; type?: string };
    const { routingKey } = message.fields;
    const name = messageId ? `message ${messageId}` : `a message of ${routingKey}`;
    const id = messageId ? `${this.#queue}:${messageId}` : null;
    const received = { id, type: type || routingKey || null, body: message.content };
    return { name, event: eventOf(received, this.#options) };
  }

  /** Resolves once the queue of refused messages has it. Where it fails, what is held stays held. */
  async #putAway(message: ConsumeMessage, reason: string): Promise<void> {
    try {
      this.#outlet ??= await this.#open((connection) => this.#pour(connection));
      await within(CONFIRM_MS_MAX, this.#send(this.#outlet, message, reason));
    } catch (error) {
      await this.#closeOutlet();
      throw toldOf(new Error(`${this.#refusedQueue} does not take it: ${messageOf(error)}`));
    }
  }

  async #send(
    outlet: Outlet,
    { content, properties, fields }: ConsumeMessage,
    reason: string,
  ): Promise<void> {
    const { contentType, contentEncoding, messageId, type, timestamp, correlationId, appId } = properties;
    // By a CC it would go to further queues.
    const { CC: _, ...headers } = (properties.headers ?? {}) as Record<string, unknown>;
    const kept = { contentType, contentEncoding, messageId, type, timestamp, correlationId, appId };
    const told = {
      "x-sealpost-error": reason.slice(0, REASON_CHARACTERS_MAX),
      "x-sealpost-routing-key": fields.routingKey,
    };
    const options = { ...kept, headers: { ...headers, ...told }, persistent: true, mandatory: true };
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    outlet.channel.sendToQueue(this.#refusedQueue, content, options, (error: unknown) =>
      error ? reject(new Error(messageOf(error))) : resolve(),
    );
    await promise;
    if (outlet.isReturned) throw new Error("it is gone");
  }

  async #pour(connection: ChannelModel): Promise<Outlet> {
    const channel = await connection.createConfirmChannel();
    const outlet: Outlet = { connection, channel, isReturned: false };
    channel.on("error", () => {});
    channel.on("return", () => (outlet.isReturned = true));
    // It may have gone since the bridge began.
    await makeQueue(connection, this.#refusedQueue);
    return outlet;
  }

  /** Works with a connection; after a failure it is a new one. */
  async #with<T>(work: (link: Link) => Promise<T>): Promise<T> {
    try {
      this.#link ??= await this.#open((connection) => this.#listen(connection));
      return await work(this.#link);
    } catch (error) {
      if (error instanceof SourceAway) throw error;
      await this.close();
      throw toldOf(error);
    }
  }

  async #open<T>(make: (connection: ChannelModel) => Promise<T>): Promise<T> {
    const connection = await connect(this.#url, { timeout: CONNECT_MS_MAX });
    // What is wrong rejects what was asked for, or ends the channel.
    connection.on("error", () => {});
    try {
      return await within(CONNECT_MS_MAX, make(connection));
    } catch (error) {
      await within(CLOSE_MS_MAX, connection.close()).catch(() => {});
      throw error;
    }
  }

  async #listen(connection: ChannelModel): Promise<Link> {
    const channel = await connection.createChannel();
    const wake = new AbortController();
    const link: Link = { connection, channel, held: [], fault: null, wake };
    const end = (error?: unknown) => {
      link.fault ??= error instanceof Error ? error : new Error("the connection is closed");
      link.wake.abort();
    };
    connection.on("error", end);
    channel.on("error", end);
    channel.on("close", end);
    await channel.checkQueue(this.#queue);
    await makeQueue(connection, this.#refusedQueue);
    await channel.prefetch(SIZE_MAX);
    await channel.consume(this.#queue, (message) => {
      if (message === null) return end(new Error(`the queue ${this.#queue} is gone`));
      link.held.push(message);
      link.wake.abort();
    });
    return link;
  }
}

/** A connection that is gone has nothing to close; one that is cut does not answer. */
async function closed(link: { connection: ChannelModel; channel: Channel } | null): Promise<void> {
  if (link === null) return;
  const closing = async () => {
    await link.channel.close();
    await link.connection.close();
  };
  await within(CLOSE_MS_MAX, closing()).catch(() => {});
}

/** The library says nothing of some questions whose connection is lost before the answer. */
async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer in ${ms / 1000} seconds`)), ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for a message, a fault or the signal. */
async function waitFor(link: Link, signal: AbortSignal): Promise<void> {
  link.wake = new AbortController();
  await rest(WAIT_MS, AbortSignal.any([link.wake.signal, signal]));
}

/** A queue that is there stays as it is; one that is not is made, and outlives the server. */
async function makeQueue(connection: ChannelModel, name: string): Promise<void> {
  const asking = await connection.createChannel();
  asking.on("error", () => {});
  try {
    await asking.checkQueue(name);
    await asking.close();
  } catch (error) {
    if (codeOf(error) !== 404) throw error;
    const making = await connection.createChannel();
    making.on("error", () => {});
    await making.assertQueue(name, { durable: true });
    await making.close();
  }
}

/** Of the protocol; null where it is the network that failed. */
function codeOf(error: unknown): number | null {
  const code: unknown = isObject(error) ? error["code"] : null;
  if (typeof code === "number") return code;
  // A handshake has its code in words alone.
  return /\b403 \(ACCESS-REFUSED\)/.test(messageOf(error)) ? 403 : null;
}

function toldOf(error: unknown): Error {
  const reason = `RabbitMQ: ${messageOf(error)}`;
  const code = codeOf(error);
  // A node that comes back says so of the queues that it has not opened yet.
  const isFinal = code === 403 || (code === 404 && !/down or inaccessible/.test(reason));
  return isFinal ? new CommandError(reason) : new SourceAway(reason);
}
