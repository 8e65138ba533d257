import type { Fault } from "../core/errors.ts";
import type { RefusalReason } from "../core/model.ts";
import type { Turns } from "../core/structures/turn-queue.ts";
import type { Window } from "./window.ts";

export type { RefusalReason } from "../core/model.ts";

/**
 * The words of the inbound side. A provider is one sending service; a source is one address
 * that a customer opened for it. Nothing here knows the server, the database, the clock or the network.
 */

/** Headers by their names in lower case. */
export interface HeaderReader {
  get(name: string): string | undefined;
  has(name: string): boolean;
}

/** A request as it came to the door. */
export interface InboundRequest {
  readonly method: string;
  /** The address the provider was given, with the query that the request came with. */
  readonly url: string;
  readonly headers: HeaderReader;
  readonly query: URLSearchParams;
  readonly body: Uint8Array;
}

/**
 * What the source holds to verify with. `secrets`: every one that is valid now, newest first; empty while
 * none was entered.
 */
export interface SourceMaterial {
  readonly secrets: readonly string[];
  readonly credentials: Readonly<Record<string, string>>;
  readonly config: Readonly<Record<string, unknown>>;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A handshake or a ping: answered at the door, never an event. */
export interface HandshakeAnswer extends HttpAnswer {
  readonly kind: "answer";
  /** A token that the owner must copy back to the provider (Notion). */
  readonly pendingVerificationToken?: string;
  /** The secret that the provider brought with this request (Asana); to be kept before answering. */
  readonly learnedSecret?: string;
  /**
   * An address of the provider to GET through the address guard before answering (SNS); if that fails, answer
   * 503.
   */
  readonly visitUrl?: string;
}

export interface VerifiedEvent {
  readonly kind: "event";
  /** `<provider_key>.<type>`, normalised. */
  readonly type: string;
  /**
   * JSON text of an object. A JSON object of the body stands here exactly as it came, so that numbers keep
   * their spelling.
   */
  readonly data: string;
  /** Identity of the delivery within its source; null: every request is an event of its own. */
  readonly deliveryId: string | null;
  /** How long that identity is remembered. */
  readonly dedupSeconds: number;
  /**
   * What proved it, where that covers too little to make another event; null where it may. With `cut` it may,
   * but only of a text that is cut as it was at first. Kept for longer than the identity, it makes once more
   * only what is equal. `content`: the hash of the body that it came with.
   */
  readonly proof: {
    readonly id: string;
    readonly cut?: string;
    readonly content?: string;
    readonly keptSeconds: number;
  } | null;
  readonly answer: (eventId: string, duplicate: boolean) => HttpAnswer;
}

/** The verdict on one request. */
export type Reception =
  | { readonly kind: "refused"; readonly reason: RefusalReason }
  | HandshakeAnswer
  | { readonly kind: "unavailable"; readonly reason: string }
  /** Genuine, but no JSON, and too long as the text that it becomes. */
  | { readonly kind: "too_large" }
  | VerifiedEvent;

/** A document that holds public keys, at one of the provider's own addresses. */
export interface KeyDocument {
  readonly url: string;
  /** With it the document is asked for by POST (Plaid); it is then part of the identity in the cache. */
  readonly post?: string;
  /**
   * The request that came says which document it is: where the provider knows none (4xx), that request
   * is forged.
   */
  readonly isNamedBySender?: true;
}

/**
 * `unknown`: the provider says that there is no such document. `unavailable`: it could not be had now, so the
 * request is answered 503 and comes again.
 */
export type KeyAnswer =
  | { readonly kind: "document"; readonly text: string }
  | { readonly kind: "unknown" | "unavailable" };

/** Reads key documents, cached. */
export interface KeyReader {
  /**
   * `isRenewal`: the copy that was read lacks a key; a newer one is fetched where the cached is not brand
   * new.
   */
  read(document: KeyDocument, isRenewal?: boolean): Promise<KeyAnswer>;
}

/** What a large body needs: turns of its own, in which it is read, and room for what it unpacks to. */
export interface ReadingMeans extends Pick<Turns, "giveWay"> {
  /** Counts so many bytes beside those that came, until the answer. Throws 503 where there is no room. */
  takeRoom(bytes: number): void;
}

/** One value that the customer enters, for the API, its masking and the docs page. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly help: string;
  readonly required: boolean;
  readonly secret: boolean;
  /** What is entered is a number; default: a text. */
  readonly type?: "integer";
  /** The only values that it takes; default: any. */
  readonly choices?: readonly string[];
}

export interface SourceExample {
  readonly signing_secret?: string;
  readonly credentials?: Readonly<Record<string, unknown>>;
  readonly config?: Readonly<Record<string, unknown>>;
}

/**
 * How the row is proven: by the provider's own code, a published library, a published vector, or
 * its documentation.
 */
export type VerifiedWith =
  | { readonly kind: "official_sdk" | "library"; readonly package: string; readonly version: string }
  | { readonly kind: "vector" | "documentation"; readonly page: string };

/**
 * Who brings the secret.
 *
 * - `source`: we make it, and the customer enters it at the provider; also where any may be chosen there.
 * - `customer`: the provider makes it, and the customer enters it here. Until then the source waits for it.
 * - `provider`: the provider's requests bring, or lead to, what verifies them.
 * - `none`: nothing is verified by a secret.
 */
export type SecretFrom = "source" | "customer" | "provider" | "none";

/** What the docs page of a provider says beyond the row. */
export interface ProviderDocs {
  /** The provider's own click path to where the address is entered. */
  readonly addressAt: string;
  /** Where the secret is found, or entered. */
  readonly secretAt: string;
  readonly pitfalls: readonly string[];
  readonly page: string;
  /** The click paths were found in the provider's own words, not only written down from elsewhere. */
  readonly isChecked: boolean;
}

export interface Provider {
  readonly key: string;
  readonly aliases: readonly string[];
  readonly name: string;
  /** The class of scheme, for example `hmac` or `jwt`. */
  readonly scheme: string;
  /** What is verified, in words. */
  readonly checks: string;
  /** What of the body its proof covers; what else it leaves open stands among the pitfalls. */
  readonly covers: "whole" | "part" | "nothing";
  /** Headers that no proof covers, though the event is read by them. */
  readonly unsignedHeaders: readonly string[];
  /** How far a signed timestamp may lie from now; null where none is checked. */
  readonly window: Window | null;
  /** The headers that verification reads. */
  readonly headers: readonly string[];
  readonly secretFrom: SecretFrom;
  /** Our own secrets are made of this alphabet after their prefix (Telegram admits no `+` and `/`). */
  readonly secretAlphabet: "base64" | "base64url";
  /** How long a secret may be at the provider; null where no bound is known that ours could meet. */
  readonly secretLengthMax: number | null;
  /** `signing_secret` and the parts of `credentials`. */
  readonly fields: readonly Field[];
  readonly configFields: readonly Field[];
  /** What is entered beside `provider` and `name`, by examples that can be used. */
  readonly example: SourceExample;
  readonly needsPublicUrl: boolean;
  readonly form: "never" | "sometimes" | "always";
  readonly handshakes: readonly string[];
  readonly eventType: string;
  /** A type of its events, with the key. */
  readonly typeExample: string;
  readonly deliveryId: string;
  readonly verifiedWith: VerifiedWith;
  readonly docs: ProviderDocs;
  /**
   * True while something is missing without which nothing can be verified: the source's status is then
   * `awaiting_secret`.
   */
  isAwaiting(material: SourceMaterial): boolean;
  /** What is wrong with a secret in the form the customer entered it; null when it can be used. */
  readonly checkSecret: (secret: string) => string | null;
  /** What is wrong with the source's config; pointers begin with `/config`. */
  readonly checkConfig: (config: Readonly<Record<string, unknown>>) => readonly Fault[];
  /** The same for its credentials; one that is missing is no fault, the source awaits it. */
  readonly checkCredentials: (credentials: Readonly<Record<string, unknown>>) => readonly Fault[];
  receive(
    request: InboundRequest,
    material: SourceMaterial,
    nowMs: number,
    keys?: KeyReader,
    means?: ReadingMeans,
  ): Promise<Reception>;
}

/** True where whoever knows the source's address may send: the provider signs nothing, and sends no token. */
export function isByAddressAlone({ scheme }: Provider): boolean {
  return scheme === "address";
}
