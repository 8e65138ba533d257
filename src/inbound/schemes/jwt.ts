import {
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyOptions,
  jwtVerify,
} from "jose";
import type { KeyDocument, RefusalReason } from "../provider.ts";
import { textSecret } from "../secrets.ts";
import {
  type Arrival,
  type Coverage,
  orRenewed,
  refused,
  type Scheme,
  type Verdict,
  withoutKeys,
} from "./scheme.ts";

/** Signed tokens (RFC 7515, 7519) in a header, by the library `jose`. */

export interface JwtRule {
  readonly header: string;
  /** The one algorithm that is accepted: never what the token says of itself. */
  readonly algorithm: "HS256" | "RS256" | "ES256";
  readonly issuer?: string | string[];
  /** Claims that must be there. */
  readonly required: readonly string[];
  readonly needsPublicUrl?: boolean;
  /** What is checked, in words, for the docs page. */
  readonly checks: string;
  readonly covers: Coverage;
  /** What the claims must say of the request; a reason where they do not. */
  check(claims: JWTPayload, arrival: Arrival): RefusalReason | null;
}

type Decoded = { readonly claims: JWTPayload } | { readonly reason: RefusalReason };
type Key = Parameters<typeof jwtVerify>[1];

/** Clocks differ. */
const CLOCK_TOLERANCE_SECONDS = 60;

/** The token of the header, with or without `Bearer`. */
function tokenOf({ request }: Arrival, header: string): string {
  return (request.headers.get(header) ?? "").replace(/^Bearer /i, "");
}

const PARTS = 3;

/**
 * True for three parts to whose bytes no other text decodes, so that no changed character passes unseen, and
 * of which neither the head nor the signature is empty.
 */
export function isCanonical(token: string): boolean {
  const parts = token.split(".", PARTS + 1);
  const isExact = (part: string) => Buffer.from(part, "base64url").toString("base64url") === part;
  return parts.length === PARTS && parts[0] !== "" && parts[2] !== "" && parts.every(isExact);
}

/** The head of a token whose algorithm is this; null where it is another. */
export function headOf(token: string, algorithm: string): ReturnType<typeof decodeProtectedHeader> | null {
  try {
    const head = decodeProtectedHeader(token);
    return head.alg === algorithm && head.crit === undefined ? head : null;
  } catch {
    return null;
  }
}

/**
 * What is wrong with a token whatever its key is: nobody asks for keys by one that no key can save. null
 * where the key decides.
 */
function faultWithoutKey(rule: JwtRule, token: string, arrival: Arrival): RefusalReason | null {
  if (headOf(token, rule.algorithm) === null) return "malformed";
  try {
    const claims = decodeJwt(token);
    const isWhole = rule.required.every((name) => claims[name] !== undefined);
    return isWhole ? rule.check(claims, arrival) : "unknown_key";
  } catch {
    return "malformed";
  }
}

function reasonOf(error: unknown): RefusalReason {
  if (error instanceof errors.JWTExpired) return "stale_timestamp";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "bad_signature";
  if (error instanceof errors.JWKSNoMatchingKey) return "wrong_key_id";
  if (!(error instanceof errors.JWTClaimValidationFailed)) return "malformed";
  return error.claim === "nbf" ? "stale_timestamp" : "unknown_key";
}

async function verifyToken(rule: JwtRule, token: string, key: Key, arrival: Arrival): Promise<Decoded> {
  const options: JWTVerifyOptions = {
    algorithms: [rule.algorithm],
    requiredClaims: [...rule.required],
    currentDate: new Date(arrival.nowMs),
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    ...(rule.issuer === undefined ? {} : { issuer: rule.issuer }),
  };
  try {
    // jose takes a key, or a function that finds it; the two are overloads of one function.
    const verified =
      typeof key === "function" ? await jwtVerify(token, key, options) : await jwtVerify(token, key, options);
    return { claims: verified.payload };
  } catch (error) {
    return { reason: reasonOf(error) };
  }
}

function judge(rule: JwtRule, outcome: Decoded, arrival: Arrival): Verdict {
  if ("reason" in outcome) return refused(outcome.reason);
  const fault = rule.check(outcome.claims, arrival);
  return fault === null ? { kind: "verified", claims: outcome.claims } : refused(fault);
}

/** Each secret is tried; the last reason stands where none fits. */
async function verifyShared(rule: JwtRule, secrets: readonly string[], arrival: Arrival): Promise<Verdict> {
  const token = tokenOf(arrival, rule.header);
  if (token === "") return refused("missing_header");
  if (secrets.length === 0) return refused("awaiting_secret");
  if (!isCanonical(token)) return refused("malformed");
  let verdict: Verdict = refused("bad_signature");
  for (const secret of secrets) {
    verdict = judge(rule, await verifyToken(rule, token, new TextEncoder().encode(secret), arrival), arrival);
    if (verdict.kind === "verified") return verdict;
  }
  return verdict;
}

function schemeOf(rule: JwtRule, verify: Scheme["verify"]): Scheme {
  return {
    name: "jwt",
    headers: [rule.header],
    needsPublicUrl: rule.needsPublicUrl ?? false,
    window: null,
    checks: rule.checks,
    covers: rule.covers,
    secretHelp: textSecret.help,
    secretExample: textSecret.example,
    checkSecret: (text) => (text === "" ? "The secret is empty." : null),
    verify,
  };
}

/** A token signed with the source's secret; `moreSecrets` for providers that name a second one. */
export function sharedJwtScheme(
  rule: JwtRule,
  moreSecrets: (arrival: Arrival) => readonly string[] = () => [],
): Scheme {
  const secretsOf = (arrival: Arrival) => [...arrival.material.secrets, ...moreSecrets(arrival)];
  return schemeOf(rule, (arrival) => verifyShared(rule, secretsOf(arrival), arrival));
}

/** Where the keys of a token stand, and how they are read. */
export interface PublishedKeys {
  /** The document; or why it cannot be told. */
  documentFor(token: string, arrival: Arrival): KeyDocument | RefusalReason;
  /** The key set in the document's JSON; default: the document is one. */
  keySetIn?(value: unknown, arrival: Arrival): unknown;
}

/** A JSON Web Key Set; null where it is none. */
export function keySetOf(value: unknown): ReturnType<typeof createLocalJWKSet> | null {
  try {
    return createLocalJWKSet(value as JSONWebKeySet);
  } catch {
    return null;
  }
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A token signed with a key that the provider publishes. */
export function publishedJwtScheme(rule: JwtRule, published: PublishedKeys): Scheme {
  return schemeOf(rule, async (arrival) => {
    const token = tokenOf(arrival, rule.header);
    if (token === "") return refused("missing_header");
    if (!isCanonical(token)) return refused("malformed");
    const fault = faultWithoutKey(rule, token, arrival);
    if (fault !== null) return refused(fault);
    const document = published.documentFor(token, arrival);
    if (typeof document === "string") return refused(document);
    const verifyWith = async (isRenewal: boolean): Promise<Verdict> => {
      const answer = await arrival.keys.read(document, isRenewal);
      if (answer.kind !== "document") return withoutKeys(answer.kind, "the provider");
      const value = parseJson(answer.text);
      const keys = keySetOf(published.keySetIn ? published.keySetIn(value, arrival) : value);
      if (!keys) return withoutKeys("unavailable", "the provider");
      return judge(rule, await verifyToken(rule, token, keys, arrival), arrival);
    };
    return orRenewed(verifyWith);
  });
}
