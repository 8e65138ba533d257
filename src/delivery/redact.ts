import { isCredentialHeader, MASK } from "../destinations/credential-headers.ts";

/**
 * Hides credentials in what a server said. Some repeat what they were sent: S3 answers a wrong signature with
 * the whole canonical request, session token included, once as text and once as bytes in hexadecimal.
 */

/** Shorter ones are words, which a server says for reasons of its own. */
const LENGTH_MIN = 4;
/** A header may be called like a credential and hold none, such as `x-key-format: json`. */
const HEADER_LENGTH_MIN = 8;

type Headers = readonly (readonly [string, string])[];

/**
 * What the headers of an endpoint carry that nobody may read: their values, without the word for the scheme;
 * of `Basic` (RFC 7617) also what it encodes, and the password in it.
 */
export function headerSecrets(headers: Headers): string[] {
  return headers.filter(([name]) => isCredentialHeader(name)).flatMap(([, value]) => secretsIn(value));
}

function secretsIn(value: string): string[] {
  const [, scheme = "", credential = value] = /^([A-Za-z]+) +(\S+)$/.exec(value) ?? [];
  const basic = scheme.toLowerCase() === "basic" ? Buffer.from(credential, "base64").toString() : "";
  const colon = basic.indexOf(":");
  const decoded = colon < 0 ? [] : [basic, basic.slice(colon + 1)];
  return [...[credential].filter((secret) => secret.length >= HEADER_LENGTH_MIN), ...decoded];
}

/** `isCut`: more was said, so the end may be the beginning of a secret. */
export function hideSecrets(text: string, secrets: readonly string[], isCut = false): string {
  const spellings = secrets.flatMap(spellingsOf);
  const whole = spellings.reduce((shown, spelling) => shown.replaceAll(spelling, MASK), text);
  return isCut ? hideBegun(whole, spellings) : whole;
}

/** The same list where nothing had to be hidden. */
export function hideSecretHeaders(headers: Headers, secrets: readonly string[]): Headers {
  const latin1 = secrets.flatMap(asLatin1);
  const text = headers.map(([, value]) => value).join("\n");
  if (hideSecrets(text, latin1) === text) return headers;
  return headers.map(([name, value]) => [name, hideSecrets(value, latin1)]);
}

/** The same bytes where nothing had to be hidden; `isCut` as for `hideSecrets`. */
export function hideSecretBytes(body: Uint8Array, secrets: readonly string[], isCut = false): Uint8Array {
  if (body.length === 0 || secrets.length === 0) return body;
  // Latin-1 keeps every byte, whatever the body is.
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString("latin1");
  const shown = hideSecrets(text, secrets.flatMap(asLatin1), isCut);
  return shown === text ? body : Buffer.from(shown, "latin1");
}

/** Hides the beginning of a secret, as it is spelled, at the end of a text. */
function hideBegun(text: string, spellings: readonly string[]): string {
  const begun = spellings.map((spelling) => {
    let length = Math.min(spelling.length - 1, text.length);
    while (length >= LENGTH_MIN && !text.endsWith(spelling.slice(0, length))) length--;
    return length;
  });
  const longest = Math.max(0, ...begun);
  return longest < LENGTH_MIN ? text : text.slice(0, -longest) + MASK;
}

/** Its bytes in UTF-8 as Latin-1 shows them and, as headers are sent in Latin-1, itself. */
function asLatin1(secret: string): string[] {
  return [...new Set([Buffer.from(secret).toString("latin1"), secret])];
}

/** As text, in JSON, in XML, in a URL, in base64, and in hexadecimal digits, with spaces or without. */
function spellingsOf(secret: string): string[] {
  if (secret.length < LENGTH_MIN) return [];
  const encoded = Buffer.from(secret, "latin1");
  const base64 = encoded.toString("base64");
  const base64s = [base64, base64.replace(/=+$/, ""), encoded.toString("base64url")];
  const hex = encoded.toString("hex");
  const bytes = hex.match(/../g)?.join(" ") ?? hex;
  const xml = secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const json = JSON.stringify(secret).slice(1, -1);
  const hexes = [hex, hex.toUpperCase(), bytes, bytes.toUpperCase()];
  return [secret, json, xml, encodeURIComponent(secret), ...base64s, ...hexes];
}
