import type { AttemptError, AttemptErrorCode } from "../core/attempt-error.ts";
import type { TransportResult } from "../transport/types.ts";
import type { UrlParts } from "../transport/url-parts.ts";

/**
 * Every push destination is one HTTP request. A kind is data and two pure functions: how a message becomes a
 * request, and how the answer is judged. Timeouts, retries, address guard and log exist once, outside.
 */

/**
 * The `pattern` of a field that is sent as the value of a header: ASCII without spaces. With any other
 * character the endpoint would be made, and no message for it ever could.
 */
export const HEADER_TEXT = "[\\x21-\\x7e]+";

/** One field of `config`; drives validation, masking, the portal's form and the docs. */
export interface DestinationField {
  name: string;
  label: string;
  help: string;
  required: boolean;
  /** Write-only, encrypted at rest, masked on reads. */
  secret: boolean;
  /**
   * The value is a URL, and the guard is asked for its host. Where an address is part of a field, this is
   * false and `addresses` says what is connected to.
   */
  address: boolean;
  /** Default: "string". A number is a string with a `pattern`. */
  type?: "string" | "boolean";
  /** Source of a regular expression over the whole value. */
  pattern?: string;
  /** What is wrong with a text that the pattern cannot tell, as one sentence; null where nothing is. */
  check?: (text: string) => string | null;
}

/** What is sent, signed at this moment. */
export interface Message {
  /** The delivery's public id, which is sent as `webhook-id`: the same on every attempt. */
  id: string;
  timestampSeconds: number;
  signature: string;
  type: string;
  /** Deliveries that led to the event, this one not counted. */
  hops: number;
  /** The attempt's place in the trace of its event (core/trace-context.ts); null where it has none. */
  traceparent: string | null;
  endpointId: string;
  /** When the delivery was made, in Unix milliseconds: the same on every attempt. */
  createdAt: number;
  /** The endpoint's custom headers. */
  headers: ReadonlyArray<readonly [string, string]>;
  /**
   * JSON text: `{"type", "timestamp", "data"}`, or what the endpoint's transformations made of it. What
   * arrives holds these very bytes, as the signature is over them.
   */
  body: Uint8Array;
}

export interface OutgoingRequest {
  method: string;
  /** The same object for the same URL where that is cheap: heads are compared by it (`hasSameHead`). */
  url: UrlParts;
  headers: ReadonlyArray<readonly [string, string]>;
  body: Uint8Array;
  /** The URL's query is a credential: attempts show it as `***`. */
  secretQuery?: boolean;
  /** What it was signed with beside `config`: credentials that were granted for a while. */
  secrets?: readonly string[];
}

/** What a server said. */
export interface Answer {
  status: number;
  /** Names in lower case. */
  headers: ReadonlyArray<readonly [string, string]>;
  /** Its beginning where it is long (`limit("responseKeptBytesMax")`). */
  body: Uint8Array;
}

/**
 * `error` says what is wrong where the status alone does not. `throttled` slows the endpoint down like a 429.
 */
export type Judgement = { delivered: true } | Refusal;

export interface Refusal {
  delivered: false;
  error: AttemptError | null;
  throttled: boolean;
}

export type DestinationConfig = Readonly<Record<string, unknown>>;

/** Something that a kind connects to, and the field of `config` that names it. */
export interface DestinationAddress {
  field: string;
  url: string;
}

/**
 * Asks another server for what a request needs, under the same guard and within the same time. Rejects with
 * `Unprepared`.
 */
export type Ask = (request: OutgoingRequest) => Promise<Answer>;

/**
 * For what takes a thread of the pool for milliseconds: see `Turns`. What another attempt has begun already
 * is only waited for. The wait is no part of the attempt's time.
 */
export type InPool = <Made>(work: (() => Promise<Made>) | Promise<Made>) => Promise<Made>;

type KindErrors = Readonly<Partial<Record<AttemptErrorCode, string>>>;

/** What the documentation says of a kind beside its fields, in Markdown. */
export interface DestinationAbout {
  /** The call that is made, and where body and the three headers stand in it. */
  sentAs: string;
  /** What the answer must be. */
  deliveredWhen: string;
  /** The server or recorder that the tests run against, with its version; or that none can be had. */
  testedAgainst: string;
  /** Permissions, set-up, peculiarities. */
  notes?: string;
  /**
   * Each `error_code` that the kind's judge gives → what is wrong there, and what to do; left out where it
   * gives none. One that no kind has given yet gets its row in core/destination-errors.ts.
   */
  errors?: KindErrors;
}

/** What a row of the table says of every kind. */
export interface KindRow {
  kind: string;
  name: string;
  about: DestinationAbout;
  fields: readonly DestinationField[];
  /** The largest body that the destination takes, in bytes; null where it sets no bound. */
  maxBytes: number | null;
  /** What is connected to beside the fields that are addresses: what stands inside others. */
  addresses?(config: DestinationConfig): readonly DestinationAddress[];
  /**
   * Headers that the destination's protocol gives a meaning to, in lower case; `x-amz-*` stands for all that
   * begin so. An endpoint may not set them: they would make another call of what its credentials allow. A
   * header in which a required credential is sent is one of them.
   */
  protocolHeaders?: readonly string[];
  /** Of those, the ones that only say how what was sent is kept: an endpoint may set them. */
  settableHeaders?: readonly string[];
  /** What the kind sends for this config alone, in lower case: an endpoint may not set these either. */
  configHeaders?(config: DestinationConfig): readonly string[];
  /**
   * True where the event's type decides where behind the destination its message goes. Whoever did not store
   * the credentials does not choose that type.
   */
  routesByType?: (config: DestinationConfig) => boolean;
}

/** True for a custom header that an endpoint of this kind may not have, as it is configured. */
export function isProtocolHeader(kind: KindRow, config: DestinationConfig, name: string): boolean {
  const { protocolHeaders = [], settableHeaders = [] } = kind;
  const lower = name.toLowerCase();
  if (settableHeaders.includes(lower)) return false;
  return [...protocolHeaders, ...(kind.configHeaders?.(config) ?? [])].some((own) =>
    own.endsWith("*") ? lower.startsWith(own.slice(0, -1)) : lower === own,
  );
}

/**
 * A kind whose messages wait, without attempts and timers, until the customer's own program fetches them;
 * what it never fetches expires.
 */
export interface PolledKind extends KindRow {
  isPolled: true;
}

/** A kind that is pushed to. */
export interface DestinationKind extends KindRow {
  /** What is held for these credentials (a token, another spelling) and must not be shown either. */
  secrets?(config: DestinationConfig): readonly string[];
  /**
   * `config` with its credentials: one object for each version of the endpoint. Throws where the message
   * cannot be rendered (the delivery is malformed then), and `Unprepared` where another try may succeed.
   */
  request(
    config: DestinationConfig,
    message: Message,
    now: number,
    ask: Ask,
    inPool: InPool,
  ): OutgoingRequest | Promise<OutgoingRequest>;
  judge(answer: Answer, config: DestinationConfig): Judgement;
}

/**
 * A server that had to be asked before the request could be made (for credentials, a token) gave nothing to
 * go on: the attempt ends as if the destination itself had answered so.
 */
export class Unprepared extends Error {
  /** null where the server did not answer: the transport's own. */
  readonly error: AttemptError | null;
  readonly throttled: boolean;
  /** What it was asked, which it may repeat: hidden for all attempts that wait for the same answer. */
  readonly asked: OutgoingRequest | null;

  constructor(result: Exclude<TransportResult, Answered>);
  constructor(result: Answered, refusal: { error: AttemptError; throttled: boolean; asked: OutgoingRequest });
  constructor(
    readonly result: TransportResult,
    refusal?: { error: AttemptError; throttled: boolean; asked: OutgoingRequest },
  ) {
    super("the request could not be prepared");
    this.error = refusal?.error ?? null;
    this.throttled = refusal?.throttled ?? false;
    this.asked = refusal?.asked ?? null;
  }
}

type Answered = Extract<TransportResult, { kind: "response" }>;

/**
 * All that the customer chose and that is, or comes to be, connected to: what the guard is asked for when an
 * endpoint is saved.
 */
export function addressesOf(kind: KindRow, config: DestinationConfig): readonly DestinationAddress[] {
  const given = kind.fields.flatMap(({ name, address }) => {
    const url = config[name];
    return address && typeof url === "string" ? [{ field: name, url }] : [];
  });
  return [...given, ...(kind.addresses?.(config) ?? [])];
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}
