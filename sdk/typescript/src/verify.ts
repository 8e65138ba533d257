/**
 * Verifies deliveries by Standard Webhooks 1.0.0: `v1` (HMAC-SHA256) and `v1a` (ed25519) over
 * `id.timestamp.body`. It needs Web Crypto and nothing else, so it runs in Node, Bun, Deno, browsers and
 * workers. It imports nothing of the client.
 */

/**
 * Why a request is refused, in the words of `sealpost verify`. `no_header`: one of the three headers is
 * missing, or the timestamp is no number of seconds. `wrong_signature`: no signature is right. `too_old`,
 * `too_new`: a signature is right, and the timestamp is further from the clock than is allowed.
 */
export type Reason = "no_header" | "wrong_signature" | "too_old" | "too_new";

/** A request that is not to be trusted. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";

  constructor(
    readonly reason: Reason,
    message: string,
  ) {
    super(message);
  }
}

export interface WebhookSettings {
  /** How old a request may be, and how far in the future, in seconds. Default: 300. */
  toleranceSeconds?: number;
  /** The clock, in milliseconds since 1970. Default: `Date.now`. */
  now?: () => number;
}

/** The headers of a request: those of the Fetch API, or an object, whose names are in upper or lower case. */
export type RequestHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request that is genuine, and what it says. */
export interface Verified {
  /** `webhook-id`: the same on every attempt of a delivery. Drop what you have already by it. */
  id: string;
  /** When it was sent. */
  sentAt: Date;
  /** The very text that was signed. */
  text: string;
  /**
   * The text as a value, by `JSON.parse`. That rounds numbers beyond 2^53 and beyond 17 digits; where yours
   * are such, give `text` to another parser.
   */
  json(): unknown;
}

type Bytes = Uint8Array<ArrayBuffer>;

/** What one secret verifies: the entries of its version. */
interface Verifier {
  version: "v1" | "v1a";
  algorithm: "HMAC" | "Ed25519";
  /** Of a signature. */
  length: number;
  key: () => Promise<CryptoKey>;
}

const HEADERS = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const SECONDS = /^(?:0|[1-9][0-9]{0,11})$/;
const SECRET_BYTES = { min: 24, max: 64 };
const PUBLIC_KEY_BYTES = 32;
const HMAC_BYTES = 32;
const ED25519_BYTES = 64;

export class Webhook {
  readonly #verifiers: readonly Verifier[];
  readonly #toleranceSeconds: number;
  readonly #now: () => number;

  /**
   * `secrets`: one or several of `whsec_…`, the secret of an endpoint, and `whpk_…`, its public key. With the
   * old and the new one a receiver takes what either has signed.
   *
   * Throws a TypeError where a text is no such secret.
   */
  constructor(secrets: string | readonly string[], settings: WebhookSettings = {}) {
    const all = typeof secrets === "string" ? [secrets] : secrets;
    if (all.length === 0) throw new TypeError("Give at least one secret");
    this.#verifiers = all.map(verifierOf);
    this.#toleranceSeconds = settings.toleranceSeconds ?? 300;
    this.#now = settings.now ?? Date.now;
  }

  /**
   * Answers the request if it is genuine. `body`: the raw body as it came, before anything has parsed it.
   *
   * Throws a WebhookError, whose `reason` says what is wrong, where it is not.
   */
  async verify(headers: RequestHeaders, body: string | Uint8Array | ArrayBuffer): Promise<Verified> {
    const bytes = bytesOf(body);
    const [id, time, signatures] = readHeaders(headers);
    const content = joined(utf8(`${id}.${time}.`), bytes);
    await this.#expectSigned(signatures.split(/,?\s+/), content);
    this.#expectFresh(Number(time));
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    return { id, sentAt: new Date(Number(time) * 1000), text, json: () => JSON.parse(text) };
  }

  async #expectSigned(entries: readonly string[], content: Bytes): Promise<void> {
    for (const verifier of this.#verifiers) {
      for (const entry of entries) if (await isRight(verifier, entry, content)) return;
    }
    const versions = [...new Set(this.#verifiers.map(({ version }) => version))];
    const isGiven = entries.some((entry) => versions.some((version) => entry.startsWith(`${version},`)));
    const problem = isGiven
      ? "No signature is right: the secret is another one, or the body or a header was changed"
      : `Its webhook-signature has no ${versions.join(" and no ")}, which the secret verifies`;
    throw new WebhookError("wrong_signature", problem);
  }

  #expectFresh(seconds: number): void {
    const age = Math.round(this.#now() / 1000 - seconds);
    const most = this.#toleranceSeconds;
    if (age > most) throw new WebhookError("too_old", `It is ${age} s old, and ${most} s are allowed`);
    if (-age > most)
      throw new WebhookError("too_new", `It is ${-age} s in the future, and ${most} s are allowed`);
  }
}

/**
 * Web Crypto compares the codes in constant time. Workers throw at an ed25519 signature of another length, so
 * that is asked before.
 */
async function isRight({ version, algorithm, length, key }: Verifier, entry: string, content: Bytes) {
  if (!entry.startsWith(`${version},`)) return false;
  const signature = decodeBase64(entry.slice(version.length + 1));
  if (signature?.length !== length) return false;
  return crypto.subtle.verify(algorithm, await key(), signature, content);
}

function verifierOf(text: string): Verifier {
  const bytes = decodeBase64(text.slice(text.indexOf("_") + 1));
  if (text.startsWith("whsec_") && bytes !== null && isSecret(bytes)) {
    const key = once(() => importKey(bytes, { name: "HMAC", hash: "SHA-256" }));
    return { version: "v1", algorithm: "HMAC", length: HMAC_BYTES, key };
  }
  if (text.startsWith("whpk_") && bytes?.length === PUBLIC_KEY_BYTES) {
    const key = once(() => importKey(bytes, { name: "Ed25519" }));
    return { version: "v1a", algorithm: "Ed25519", length: ED25519_BYTES, key };
  }
  throw new TypeError("A secret must be whsec_ and 24 to 64 bytes, or whpk_ and 32, in base64");
}

function isSecret({ length }: Bytes): boolean {
  return length >= SECRET_BYTES.min && length <= SECRET_BYTES.max;
}

function importKey(bytes: Bytes, algorithm: { name: string; hash?: string }): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", bytes, algorithm, false, ["verify"]);
}

function once<Made>(make: () => Promise<Made>): () => Promise<Made> {
  let made: Promise<Made> | undefined;
  return () => (made ??= make());
}

function readHeaders(headers: RequestHeaders): [id: string, time: string, signatures: string] {
  const [id = "", time = "", signatures = ""] = HEADERS.map((name) => headerOf(headers, name));
  const missing = HEADERS.filter((_, at) => [id, time, signatures][at] === "");
  if (missing.length > 0) throw new WebhookError("no_header", `It has no ${missing.join(" and no ")}`);
  if (!SECONDS.test(time))
    throw new WebhookError("no_header", "Its webhook-timestamp is no number of seconds");
  return [id, time, signatures];
}

function headerOf(headers: RequestHeaders, name: string): string {
  if (isFetchHeaders(headers)) return headers.get(name) ?? "";
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1] ?? "";
  return typeof found === "string" ? found : found.join(" ");
}

function isFetchHeaders(headers: RequestHeaders): headers is { get(name: string): string | null } {
  return typeof headers["get"] === "function";
}

function bytesOf(body: string | Uint8Array | ArrayBuffer): Bytes {
  if (typeof body === "string") return utf8(body);
  if (body instanceof ArrayBuffer || body instanceof Uint8Array) return new Uint8Array(body);
  throw new TypeError("Give the raw body: its text or its bytes, not what a parser made of it");
}

function utf8(text: string): Bytes {
  return new Uint8Array(new TextEncoder().encode(text));
}

function joined(head: Bytes, tail: Bytes): Bytes {
  const all = new Uint8Array(head.length + tail.length);
  all.set(head);
  all.set(tail, head.length);
  return all;
}

/** Null where the text is no base64, or not the one text that its bytes are written as. */
function decodeBase64(text: string): Bytes | null {
  if (text === "" || !BASE64.test(text)) return null;
  const binary = atob(text);
  return btoa(binary) === text ? Uint8Array.from(binary, (one) => one.charCodeAt(0)) : null;
}
