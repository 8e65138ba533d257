/**
 * Verifies deliveries by Standard Webhooks 1.0.0: `v1` (HMAC-SHA256) and `v1a` (ed25519) over
 * `id.timestamp.body`. It needs Web Crypto and nothing else, so it runs in Node, Bun, Deno, browsers and
 * workers. It imports nothing of the client.
 */

/**
 * Why a request is refused, in the words of `sealpost verify`. `no_header`: one of the three headers is
 * missing, the id has a dot, or the timestamp is no number of seconds. `wrong_signature`: no signature is
 * right. `too_old`, `too_new`: a signature is right, and the timestamp is further from the clock than is
 * allowed.
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
  /** How old a request may be, and how far in the future, in seconds: 0 or more. Default: 300. */
  toleranceSeconds?: number;
  /** The clock, in milliseconds since 1970. Default: `Date.now`. */
  now?: () => number;
}

/** The headers of a request: those of the Fetch API, or an object, whose names are in upper or lower case. */
export type RequestHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** A raw body: its text or its bytes. */
export type RequestBody = string | Uint8Array | ArrayBuffer | undefined;

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
  /** Of a signature, in bytes. */
  length: number;
  /** Whether one of the signatures is right. */
  isSigned: (content: Bytes, signatures: readonly Bytes[]) => Promise<boolean>;
}

const HEADERS = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const SECONDS = /^(?:0|[1-9][0-9]{0,11})$/;
const SECRET_BYTES = { min: 24, max: 64 };
const PUBLIC_KEY_BYTES = 32;
const HMAC_BYTES = 32;
const ED25519_BYTES = 64;
/** So many signatures of `v1a` are verified: each reads the whole body. A sender gives one or two. */
const ED25519_ENTRIES_MAX = 8;

export class Webhook {
  readonly #verifiers: readonly Verifier[];
  readonly #toleranceSeconds: number;
  readonly #now: () => number;

  /**
   * `secrets`: one or several of `whsec_…`, the secret of an endpoint, and `whpk_…`, its public key. With the
   * old and the new one a receiver takes what either has signed.
   *
   * Throws a TypeError where a text is no such secret, and where the tolerance is no number from 0 on.
   */
  constructor(secrets: string | readonly string[], settings: WebhookSettings = {}) {
    const all = typeof secrets === "string" ? [secrets] : secrets;
    if (all.length === 0) throw new TypeError("Give at least one secret");
    this.#verifiers = all.map(verifierOf);
    this.#toleranceSeconds = settings.toleranceSeconds ?? 300;
    if (!Number.isFinite(this.#toleranceSeconds) || this.#toleranceSeconds < 0)
      throw new TypeError("toleranceSeconds must be a number of seconds, 0 or more");
    this.#now = settings.now ?? Date.now;
  }

  /**
   * Answers the request if it is genuine. `body`: the raw body as it came, before anything has parsed it;
   * undefined, as frameworks have it, where there is none.
   *
   * Throws a WebhookError, whose `reason` says what is wrong, where it is not.
   */
  async verify(headers: RequestHeaders, body: RequestBody): Promise<Verified> {
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
      const signatures = signaturesOf(verifier, entries);
      if (signatures.length > 0 && (await verifier.isSigned(content, signatures))) return;
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

/** The signatures of the verifier's version. Workers throw at an ed25519 signature of another length. */
function signaturesOf({ version, length }: Verifier, entries: readonly string[]): Bytes[] {
  return entries
    .filter((entry) => entry.startsWith(`${version},`))
    .map((entry) => decodeBase64(entry.slice(version.length + 1)))
    .filter((signature) => signature?.length === length) as Bytes[];
}

function verifierOf(text: string): Verifier {
  const bytes = decodeBase64(text.slice(text.indexOf("_") + 1));
  if (text.startsWith("whsec_") && bytes !== null && isSecret(bytes)) return hmacVerifier(bytes);
  if (text.startsWith("whpk_") && bytes?.length === PUBLIC_KEY_BYTES) return ed25519Verifier(bytes);
  throw new TypeError("A secret must be whsec_ and 24 to 64 bytes, or whpk_ and 32, in base64");
}

/** The code is made once, however many entries a request has: it reads the whole body. */
function hmacVerifier(secret: Bytes): Verifier {
  const key = once(() => importKey(secret, { name: "HMAC", hash: "SHA-256" }, "sign"));
  return {
    version: "v1",
    length: HMAC_BYTES,
    async isSigned(content, signatures) {
      const code = new Uint8Array(await crypto.subtle.sign("HMAC", await key(), content));
      return signatures.some((signature) => isSame(signature, code));
    },
  };
}

function ed25519Verifier(publicKey: Bytes): Verifier {
  const key = once(() => importKey(publicKey, { name: "Ed25519" }, "verify"));
  return {
    version: "v1a",
    length: ED25519_BYTES,
    async isSigned(content, signatures) {
      for (const signature of signatures.slice(0, ED25519_ENTRIES_MAX))
        if (await crypto.subtle.verify("Ed25519", await key(), signature, content)) return true;
      return false;
    },
  };
}

/** Of two codes of one length, in a time that does not tell where they differ. */
function isSame(one: Bytes, other: Bytes): boolean {
  return one.reduce((differing, byte, at) => differing | (byte ^ (other[at] ?? 0)), 0) === 0;
}

function isSecret({ length }: Bytes): boolean {
  return length >= SECRET_BYTES.min && length <= SECRET_BYTES.max;
}

function importKey(bytes: Bytes, algorithm: { name: string; hash?: string }, use: "sign" | "verify") {
  return crypto.subtle.importKey("raw", bytes, algorithm, false, [use]);
}

function once<Made>(make: () => Promise<Made>): () => Promise<Made> {
  let made: Promise<Made> | undefined;
  return () => (made ??= make());
}

function readHeaders(headers: RequestHeaders): [id: string, time: string, signatures: string] {
  const [id = "", time = "", signatures = ""] = HEADERS.map((name) => headerOf(headers, name));
  const missing = HEADERS.filter((_, at) => [id, time, signatures][at] === "");
  if (missing.length > 0) throw new WebhookError("no_header", `It has no ${missing.join(" and no ")}`);
  // Else a forger moves the dot behind the timestamp, for a body that begins with digits and a dot.
  if (id.includes(".")) throw new WebhookError("no_header", "Its webhook-id has a dot, which no id has");
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

function bytesOf(body: RequestBody): Bytes {
  if (body === undefined || typeof body === "string") return utf8(body ?? "");
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
