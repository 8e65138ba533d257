import { hmac, isAnySame } from "../digest.ts";
import type { InboundRequest } from "../provider.ts";
import { basicSecret, type SecretForm, textSecret } from "../secrets.ts";
import { type Arrival, refused, type Scheme, SECRET_ITSELF, VERIFIED, type Verdict } from "./scheme.ts";

/** A header that carries a token, after a prefix such as `Bearer ` (its letters in any case). */
export interface TokenHeader {
  readonly name: string;
  readonly prefix?: string;
}

function tokenIn(request: InboundRequest, { name, prefix = "" }: TokenHeader): string | null {
  const value = request.headers.get(name);
  if (value === undefined) return null;
  return value.toLowerCase().startsWith(prefix.toLowerCase()) ? value.slice(prefix.length) : null;
}

/**
 * True where the secret stands in the address, which every proxy on the way writes down. A token is never
 * accepted from there, nor beside one that is right: whoever sends it in both places would go on leaking it.
 */
export function isSecretInQuery({ request, material }: Arrival): boolean {
  if (request.query.size === 0) return false;
  // A plus sign that was not encoded reads as a space: the token all the same.
  const values = [...request.query.values()];
  return isAnySame(material.secrets, [...values, ...values.map((value) => value.replaceAll(" ", "+"))]);
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
  if (isSecretInQuery(arrival)) return refused("token_in_query");
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
export function tokenScheme(headers: readonly TokenHeader[], form: SecretForm = textSecret): Scheme {
  return scheme("token", headers, form, (secret) => secret);
}

/** HTTP Basic (RFC 7617) with `user:password` as the secret. */
export function basicScheme(): Scheme {
  const header = { name: "authorization", prefix: "Basic " };
  return scheme("basic_auth", [header], basicSecret, (secret) => Buffer.from(secret).toString("base64"));
}
