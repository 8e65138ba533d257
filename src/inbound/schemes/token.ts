import { hmac, isAnySame } from "../digest.ts";
import type { InboundRequest } from "../provider.ts";
import { basicSecret, headerSecret, type SecretForm } from "../secrets.ts";
import { type Arrival, refused, type Scheme, SECRET_ITSELF, VERIFIED, type Verdict } from "./scheme.ts";

/** A header that carries a token, after a prefix such as `Bearer ` (its letters in any case). */
export interface TokenHeader {
  readonly name: string;
  readonly prefix?: string;
}

function tokenIn(request: InboundRequest, { name, prefix = "" }: TokenHeader): string | null {
  const value = request.headers.get(name);
  if (value === undefined) return null;
  if (!value.toLowerCase().startsWith(prefix.toLowerCase())) return null;
  // Between a scheme and its credentials any number of spaces may stand (RFC 9110, 11.4).
  return prefix.endsWith(" ") ? value.slice(prefix.length).trimStart() : value.slice(prefix.length);
}

/** A shorter secret counts where it is all of a name or a value: within others it is a word. */
const CONTAINED_LENGTH_MIN = 8;
/** Of the sums below; odd, and known to nobody. */
const BASE = (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) | 1;

/** A plus sign that was not encoded reads as a space: the two are one letter here. */
function withPluses(text: string): string {
  return text.replaceAll(" ", "+");
}

/** What is looked for: the secret, and as HTTP Basic has it. */
function traitsOf(secret: string): Buffer[] {
  return [withPluses(secret), Buffer.from(secret).toString("base64")].map((text) => {
    const isWord = text.length < CONTAINED_LENGTH_MIN;
    return Buffer.from(isWord ? `\n${text}\n` : text);
  });
}

/**
 * Compares the sum of the part with that of as many bytes at every place (Rabin and Karp): the time tells of
 * the lengths only, but where a sum is the same.
 */
function isWithin(text: Buffer, part: Buffer): boolean {
  const { length } = part;
  if (text.length < length) return false;
  let [wanted, seen, power] = [0, 0, 1];
  for (let at = 0; at < length; at++) {
    wanted = (Math.imul(wanted, BASE) + (part[at] ?? 0)) | 0;
    seen = (Math.imul(seen, BASE) + (text[at] ?? 0)) | 0;
    power = Math.imul(power, BASE);
  }
  let found = Number(seen === wanted);
  for (let at = length; at < text.length; at++) {
    const left = Math.imul(power, text[at - length] ?? 0);
    seen = (Math.imul(seen, BASE) + (text[at] ?? 0) - left) | 0;
    found |= Number(seen === wanted);
  }
  return found === 1 && text.includes(part);
}

/**
 * True where the secret stands in the address, in whatever name or value, which every proxy on the way writes
 * down. A token is never accepted from there, nor beside one that is right: whoever sends it in both places
 * would go on leaking it.
 */
export function isSecretInQuery({ request, material }: Arrival): boolean {
  const pairs = [...request.query];
  if (pairs.length === 0) return false;
  const words = pairs.flat().join("\n");
  // The end of a token may read as `=` before a value.
  const joined = pairs.map((pair) => pair.join("=")).join("\n");
  // A secret that holds `&` is parted where it is read; the address has it whole.
  const raw = request.url.slice(request.url.indexOf("?") + 1);
  const text = Buffer.from(withPluses(`\n${words}\n${joined}\n${raw}\n`));
  return material.secrets.flatMap(traitsOf).filter((trait) => isWithin(text, trait)).length > 0;
}

/** What an HMAC source would compute for this request: a token source must not answer sooner. */
function spendHmac(arrival: Arrival): void {
  hmac("sha256", "the work of an HMAC source", [arrival.request.body], "hex");
}

/**
 * Compares the token of every header that may carry it with every valid secret, in constant time. `wanted`
 * turns a secret into what the header must hold.
 */
function verifyToken(
  headers: readonly TokenHeader[],
  wanted: (secret: string) => string,
  arrival: Arrival,
): Verdict {
  const given = headers.map((header) => tokenIn(arrival.request, header)).filter((token) => token !== null);
  spendHmac(arrival);
  const { secrets } = arrival.material;
  const expected = secrets.length > 0 ? secrets.map(wanted) : ["no secret was entered"];
  const isGenuine = isAnySame(expected, given.length > 0 ? given : [""]);
  // Of a request that is refused for something else it is asked where its reason is made.
  if (isGenuine && isSecretInQuery(arrival)) return refused("token_in_query");
  if (given.length === 0) return refused("missing_header");
  if (secrets.length === 0) return refused("awaiting_secret");
  return isGenuine ? VERIFIED : refused("bad_signature");
}

function scheme(
  name: string,
  headers: readonly TokenHeader[],
  form: SecretForm,
  wanted: (secret: string) => string,
): Scheme {
  return {
    name,
    headers: headers.map((header) => header.name),
    needsPublicUrl: false,
    window: null,
    checks: name === "token" ? "The secret itself, in a header" : "User and password, in a header",
    covers: SECRET_ITSELF,
    secretHelp: form.help,
    secretExample: form.example,
    checkSecret: (secret) =>
      form.decode(secret) === null ? `The secret has another form. ${form.help}` : null,
    verify: (arrival) => verifyToken(headers, wanted, arrival),
  };
}

/** The secret itself in a header. */
export function tokenScheme(headers: readonly TokenHeader[], form: SecretForm = headerSecret): Scheme {
  return scheme("token", headers, form, (secret) => secret);
}

/** HTTP Basic (RFC 7617) with `user:password` as the secret. */
export function basicScheme(): Scheme {
  const header = { name: "authorization", prefix: "Basic " };
  return scheme("basic_auth", [header], basicSecret, (secret) => Buffer.from(secret).toString("base64"));
}
