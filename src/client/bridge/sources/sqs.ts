import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  type Message as SqsMessage,
  ReceiveMessageCommand,
  SQSClient,
  type SQSClientConfig,
  SQSServiceException,
} from "@aws-sdk/client-sqs";
import { messageOf } from "../../../core/errors.ts";
import { type Call, CommandError, UsageError } from "../../../platform/command-line.ts";
import { type Message, runBridge, type Source, SourceAway } from "../bridge.ts";
import { eventOf, type QueueOptions } from "../messages.ts";
import type { Verdict } from "../publisher.ts";

/** A queue of Amazon SQS. */

/** As many as SQS hands out, deletes or hides at once. */
const MESSAGES_MAX = 10;
/** The longest wait of SQS: an empty queue costs three requests a minute. */
const WAIT_SECONDS = 20;
const ANSWER_MS_MAX = 30_000;
const CONNECT_MS_MAX = 5000;
/**
 * What is held stays hidden from others for so long, whatever the queue's own time is: for a publish, a
 * pause, and what SQS takes to hide it again.
 */
const HIDDEN_SECONDS = 45;

/** `sealpost bridge sqs`: publishes the messages of a queue. */
export function runBridgeSqs(call: Call<QueueOptions>): Promise<number> {
  const [url = ""] = call.words;
  return runBridge(call, () => new SqsQueue(readUrl(url), call.options));
}

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol) && nameOf(url) !== "") return url;
  throw new UsageError(
    "The queue must be its URL, such as https://sqs.eu-central-1.amazonaws.com/123/orders",
  );
}

function nameOf({ pathname }: URL): string {
  return pathname.split("/").at(-1) ?? "";
}

/** Of a URL of Amazon's own; elsewhere the environment or a profile says it. */
function regionOf({ hostname }: URL): { region?: string } {
  const region = /^sqs\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?$/.exec(hostname)?.[1];
  return region === undefined ? {} : { region };
}

class SqsQueue implements Source {
  readonly name: string;
  readonly refused = "left to the queue's redrive policy";
  readonly #url: string;
  readonly #queue: string;
  readonly #options: QueueOptions;
  readonly #parts: SQSClientConfig;
  #client: SQSClient | null = null;
  /** Received and not settled, in their order. */
  #held: SqsMessage[] = [];

  constructor(url: URL, options: QueueOptions) {
    this.#url = url.href;
    this.#queue = nameOf(url);
    this.#options = options;
    this.name = `what comes to ${this.#queue}`;
    const requestHandler = { requestTimeout: ANSWER_MS_MAX, connectionTimeout: CONNECT_MS_MAX };
    // The loop asks again by itself, and says so.
    this.#parts = { ...regionOf(url), endpoint: url.origin, requestHandler, maxAttempts: 1 };
  }

  async take(max: number, signal: AbortSignal): Promise<Message[]> {
    await this.#ask(() => (this.#held.length === 0 ? this.#receive(signal) : this.#hide(HIDDEN_SECONDS)));
    return this.#held.slice(0, max).map((message) => this.#read(message));
  }

  /** What is refused is not deleted: after so many times the redrive policy takes it away. */
  async settle(verdicts: readonly Verdict[]): Promise<void> {
    const settled = this.#held.splice(0, verdicts.length);
    const done = settled.filter((_, at) => verdicts[at] === null);
    if (done.length === 0) return;
    // One that is not deleted comes again, and is known then.
    await this.#ask(() =>
      this.#open().send(new DeleteMessageBatchCommand({ QueueUrl: this.#url, Entries: entriesOf(done) })),
    );
  }

  /** What is held is there for others at once. */
  async close(): Promise<void> {
    if (this.#held.length > 0) await this.#hide(0).catch(() => {});
    this.#held = [];
    this.#client?.destroy();
    this.#client = null;
  }

  #open(): SQSClient {
    return (this.#client ??= new SQSClient(this.#parts));
  }

  #read({ MessageId: id = "", Body: body = "", MessageAttributes: attributes }: SqsMessage): Message {
    const type = attributes?.["type"]?.StringValue ?? null;
    const received = { id: `${this.#queue}:${id}`, type, body: Buffer.from(body) };
    return { name: `message ${id}`, event: eventOf(received, this.#options) };
  }

  async #receive(signal: AbortSignal): Promise<void> {
    const question = new ReceiveMessageCommand({
      QueueUrl: this.#url,
      MaxNumberOfMessages: MESSAGES_MAX,
      WaitTimeSeconds: WAIT_SECONDS,
      VisibilityTimeout: HIDDEN_SECONDS,
      MessageAttributeNames: ["type"],
    });
    try {
      const { Messages: messages = [] } = await this.#open().send(question, { abortSignal: signal });
      this.#held = messages;
    } catch (error) {
      // The wait was given up: what the answer would have brought is there again later.
      if (!signal.aborted) throw error;
    }
  }

  /** Of what is held, what others have had meanwhile is let go. */
  async #hide(seconds: number): Promise<void> {
    const Entries = entriesOf(this.#held).map((entry) => ({ ...entry, VisibilityTimeout: seconds }));
    const question = new ChangeMessageVisibilityBatchCommand({ QueueUrl: this.#url, Entries });
    const { Failed: failed = [] } = await this.#open().send(question);
    this.#held = this.#held.filter((_, at) => failed.every(({ Id }) => Id !== String(at)));
  }

  async #ask(question: () => Promise<unknown>): Promise<void> {
    try {
      await question();
    } catch (error) {
      throw toldOf(error);
    }
  }
}

function entriesOf(messages: readonly SqsMessage[]): { Id: string; ReceiptHandle: string }[] {
  return messages.map(({ ReceiptHandle = "" }, at) => ({ Id: String(at), ReceiptHandle }));
}

/** A refusal of SQS does not pass by itself, unless it asks for a slower pace; nor do missing settings. */
function toldOf(error: unknown): Error {
  const reason = `SQS: ${messageOf(error)}`;
  const isRefusal = error instanceof SQSServiceException && error.$fault === "client";
  const isSlowDown = isRefusal && /throttl/i.test(error.name);
  const isUnset = error instanceof Error && error.name === "CredentialsProviderError";
  const isFinal = (isRefusal && !isSlowDown) || isUnset || reason.startsWith("SQS: Region ");
  return isFinal ? new CommandError(reason) : new SourceAway(reason);
}
