import { createPrivateKey } from "node:crypto";
import { SignJWT } from "jose";
import { limit } from "../core/limits.ts";
import { isObject } from "../core/json/value.ts";
import { errorNamed, readObject } from "./answers.ts";
import {
  type Ask,
  type DestinationAddress,
  type DestinationConfig,
  type DestinationField,
  type InPool,
  isSuccess,
  type OutgoingRequest,
  Unprepared,
} from "./destination.ts";
import { endNow, Grants, type Lifetime, lifetimeOf, readGranted } from "./grants.ts";
import { perConfig, textOf } from "./requests.ts";
import { USER_AGENT } from "../transport/user-agent.ts";

/**
 * Access tokens of Google service accounts (developers.google.com/identity/protocols/oauth2/service-account):
 * a JWT signed with the account's key is exchanged at its `token_uri`. A token serves all attempts of an
 * endpoint until shortly before its end; however many want one at a time, one request is made. The JWT is
 * kept as tokens are: a server that refuses, or grants what has ended, costs requests and no signatures.
 */

const TOKEN_URI = "https://oauth2.googleapis.com/token";
const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/** The longest that Google takes. */
const ASSERTION_SECONDS = 3600;
/** How long one is used again: ten minutes are left of it then, whatever the server's clock says. */
const ASSERTION_KEPT_MS = 3_000_000;
/** RFC 7518, 3.3: RS256 takes no smaller key. */
const KEY_BITS_MIN = 2048;
/** A token that ends sooner is not sent any more: it might end on its way. */
const USABLE_MS = 10_000;

const encoder = new TextEncoder();

export interface ServiceAccount {
  email: string;
  privateKey: string;
  keyBits: number;
  privateKeyId: string | null;
  tokenUri: string;
}

/** Reads a key file. Throws the sentence that says what is wrong, and never repeats what it read. */
export function readServiceAccount(text: string): ServiceAccount {
  const file = readObject(encoder.encode(text));
  const {
    client_email: email,
    private_key: privateKey,
    private_key_id: keyId,
    token_uri: tokenUri = TOKEN_URI,
  } = file;
  if (typeof email !== "string" || typeof privateKey !== "string") {
    throw new Error("Expected the JSON key file of a service account, as Google Cloud made it.");
  }
  const keyBits = keyBitsOf(privateKey);
  if (keyBits === null) throw new Error("The key file's private_key is none.");
  if (typeof tokenUri !== "string" || !URL.canParse(tokenUri)) {
    throw new Error("The key file's token_uri is no URL.");
  }
  return { email, privateKey, keyBits, privateKeyId: typeof keyId === "string" ? keyId : null, tokenUri };
}

/** null where it is no RSA key. */
function keyBitsOf(pem: string): number | null {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem);
    return asymmetricKeyType === "rsa" ? (asymmetricKeyDetails?.modulusLength ?? null) : null;
  } catch {
    return null;
  }
}

/** Throws where signatures by the key take too long, or are none. One may be stored from before the bound. */
function requireKeySize({ keyBits }: ServiceAccount): void {
  const max = limit("serviceAccountKeyBitsMax");
  if (keyBits >= KEY_BITS_MIN && keyBits <= max) return;
  throw new Error(`The key file's private_key has ${keyBits} bits; expected ${KEY_BITS_MIN} to ${max}.`);
}

/**
 * Throws where a text that is kept beside the key, and signed, is not like Google's. One may be stored from
 * before the bound.
 */
function requireShortTexts({ email, privateKeyId, tokenUri }: ServiceAccount): void {
  const max = limit("serviceAccountTextLengthMax");
  const texts = { client_email: email, private_key_id: privateKeyId ?? "", token_uri: tokenUri };
  for (const [name, text] of Object.entries(texts)) {
    if (text.length <= max && /^[\x20-\x7e]*$/.test(text)) continue;
    throw new Error(
      `The key file's ${name} is too long or not of ASCII; expected at most ${max} characters.`,
    );
  }
}

/** The field of every Google kind that is written with a service account. */
export function serviceAccountField(role: string): DestinationField {
  return {
    name: "service_account_json",
    label: "Service account key",
    help: `The whole JSON key file of a service account with the role ${role}.`,
    required: true,
    secret: true,
    address: false,
    check(text) {
      try {
        const account = readServiceAccount(text);
        requireKeySize(account);
        requireShortTexts(account);
        return null;
      } catch (error) {
        return error instanceof Error ? error.message : "This cannot be read.";
      }
    },
  };
}

/** Where the key file says that tokens are to be had. */
export function tokenAddressesOf(config: DestinationConfig): DestinationAddress[] {
  return [{ field: "service_account_json", url: accountOf(config).tokenUri }];
}

const accountOf = perConfig((config) => readServiceAccount(textOf(config, "service_account_json") ?? ""));

interface Token extends Lifetime {
  /** Its text alone. */
  granted: [string];
}

/** The last token of each, also after it was refused: a server may repeat it. */
const tokens = new Grants<Token>();

/** How far an endpoint is with its next token. */
interface Asking {
  pending: Promise<Token> | null;
  signing: Promise<string> | null;
}

const askingOf = perConfig((): Asking => ({ pending: null, signing: null }));

interface Assertion {
  /** Its text alone: it is kept as what is granted. */
  granted: [string];
  signedAt: number;
}

/** The last of each that was to be changed for a token. */
const assertions = new Grants<Assertion>();

/** `authorization` for a request at `now`. Rejects with `Unprepared` where no token can be had. */
export async function bearerOf(
  config: DestinationConfig,
  scope: string,
  now: number,
  ask: Ask,
  inPool: InPool,
): Promise<string> {
  const asking = askingOf(config);
  const token = tokens.lookUp(config);
  if (token && now < token.renewsAt) return `Bearer ${token.granted[0]}`;
  try {
    const account = accountOf(config);
    // Whoever comes later waits for the same signature, and then for the same answer.
    const assertion = asking.pending === null ? await assertionOf(config, account, scope, now, inPool) : "";
    asking.pending ??= fetchToken(assertion, account, now, ask).finally(() => (asking.pending = null));
    const fresh = await asking.pending;
    tokens.set(config, fresh);
    return `Bearer ${fresh.granted[0]}`;
  } catch (error) {
    if (!token || now >= token.endsAt - USABLE_MS) throw error;
    return `Bearer ${token.granted[0]}`;
  }
}

/** What must not be shown beside the account's key: a server may repeat it. */
export function tokenSecrets(config: DestinationConfig): readonly string[] {
  return [tokens, assertions].flatMap((kept) => kept.lookUp(config)?.granted ?? []);
}

/** The token was refused: the next attempt asks for another one. */
export function forgetToken(config: DestinationConfig): void {
  endNow(tokens.lookUp(config));
}

/** One that serves again, or is being signed, or is signed now. */
async function assertionOf(
  config: DestinationConfig,
  account: ServiceAccount,
  scope: string,
  now: number,
  inPool: InPool,
): Promise<string> {
  const asking = askingOf(config);
  const kept = assertions.lookUp(config);
  const age = now - (kept?.signedAt ?? 0);
  // A negative age: the clock was set back.
  if (kept && age >= 0 && age < ASSERTION_KEPT_MS) return kept.granted[0];
  if (asking.signing !== null) return inPool(asking.signing);
  const sign = () => signAssertion(account, scope, Math.floor(now / 1000));
  asking.signing = inPool(sign).finally(() => (asking.signing = null));
  const assertion = await asking.signing;
  assertions.set(config, { granted: [assertion], signedAt: now });
  return assertion;
}

async function fetchToken(assertion: string, account: ServiceAccount, now: number, ask: Ask): Promise<Token> {
  const body = new URLSearchParams({ grant_type: GRANT_TYPE, assertion }).toString();
  const request: OutgoingRequest = {
    method: "POST",
    url: new URL(account.tokenUri),
    headers: [
      ["user-agent", USER_AGENT],
      ["content-type", "application/x-www-form-urlencoded"],
      ["accept", "application/json"],
    ],
    body: encoder.encode(body),
    secrets: [assertion],
  };
  const answer = await ask(request);
  const { access_token: text, expires_in: seconds, error } = readObject(answer.body);
  const token = readGranted(text);
  if (isSuccess(answer.status) && token !== null && typeof seconds === "number") {
    return { granted: [token], ...lifetimeOf(now, now + seconds * 1000) };
  }
  throw new Unprepared(
    { kind: "response", truncated: false, ...answer },
    { error: errorNamed("token_unavailable", nameOf(error)), throttled: false, asked: request },
  );
}

/** OAuth has a text here, other interfaces of Google an object. */
function nameOf(error: unknown): string {
  if (typeof error === "string") return error;
  const status = isObject(error) ? error["status"] : null;
  return typeof status === "string" ? status : "The answer holds no token that can be used.";
}

/** Takes a thread of the pool: 1 ms by a key of 2048 bits, 8 by one of 4096, 50 by one of 8192. */
export async function signAssertion(
  account: ServiceAccount,
  scope: string,
  nowSeconds: number,
): Promise<string> {
  requireKeySize(account);
  const header = {
    alg: "RS256",
    typ: "JWT",
    ...(account.privateKeyId !== null && { kid: account.privateKeyId }),
  };
  return new SignJWT({ scope })
    .setProtectedHeader(header)
    .setIssuer(account.email)
    .setAudience(account.tokenUri)
    .setIssuedAt(nowSeconds)
    .setExpirationTime(nowSeconds + ASSERTION_SECONDS)
    .sign(createPrivateKey(account.privateKey));
}

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Service account key": "Schlüssel des Dienstkontos",
};
