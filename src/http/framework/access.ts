import { createHash, timingSafeEqual } from "node:crypto";
import type { Caller, Scope } from "../../core/caller.ts";
import { Problem } from "../../core/errors.ts";
import { goneFrom } from "./moved.ts";
import type { HttpParts } from "./parts.ts";

interface AccessRule {
  /** Scopes of an API key that suffice. */
  scopes: readonly Scope[];
  /** The grant that a portal token needs; null: no portal token may. */
  portal: "read" | "manage" | "create" | null;
}

/** Who may call a route with a key or portal token. */
const RULES = {
  publish: { scopes: ["full", "publish"], portal: null },
  read: { scopes: ["full", "read"], portal: "read" },
  manage: { scopes: ["full"], portal: "manage" },
  create: { scopes: ["full"], portal: "create" },
  owner_read: { scopes: ["full", "read"], portal: null },
  owner: { scopes: ["full"], portal: null },
} as const satisfies Record<string, AccessRule>;

/**
 * Who may call a route: `none` everyone, `operator` the operator's token, `metrics` that or the token of
 * /metrics, `endpoint` the secret of the endpoint in the path (the handler looks at it), otherwise a row of
 * the table above. A key with scope `read` is held to GET whatever the row says.
 */
export type Access = keyof typeof RULES | "none" | "operator" | "metrics" | "endpoint";

export const CHALLENGE = { headers: { "www-authenticate": "Bearer" } };

const BEARER = "Bearer ";

/** What is sent as the bearer, in the words of the refusal. */
const KEY = "your key as `authorization: Bearer <API_KEY>`";
const OPERATOR_TOKEN = "the operator's token as `authorization: Bearer <OPERATOR_TOKEN>`";
const METRICS_TOKEN = "the token of /metrics, or the operator's, as `authorization: Bearer <METRICS_TOKEN>`";
const ENDPOINT_SECRET = "the endpoint's secret as `authorization: Bearer <ENDPOINT_SECRET>`";

/** As nearly everybody writes it, or as RFC 6750 lets it be written. */
function bearerToken(request: Request, expected: string): string {
  const header = request.headers.get("authorization");
  if (header !== null && header.startsWith(BEARER) && header.lastIndexOf(" ") === BEARER.length - 1) {
    if (header.length > BEARER.length) return header.slice(BEARER.length);
  }
  const token = header && /^bearer +(\S+)$/i.exec(header)?.[1];
  if (token) return token;
  throw new Problem("unauthenticated", `Send ${expected}.`, CHALLENGE);
}

/** The secret of an endpoint that a request carries. Throws 401 where it carries none. */
export function endpointSecret(request: Request): string {
  return bearerToken(request, ENDPOINT_SECRET);
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function requireOperator(request: Request, operatorToken: string | null): void {
  const token = bearerToken(request, OPERATOR_TOKEN);
  if (isToken(token, operatorToken)) return;
  const detail =
    operatorToken === null
      ? "Operator calls are off: SEALPOST_OPERATOR_TOKEN is not set."
      : "This is not the operator's token.";
  throw new Problem("unauthenticated", detail, CHALLENGE);
}

function requireMetricsReader(request: Request, { metricsToken, operatorToken }: HttpParts): void {
  const token = bearerToken(request, METRICS_TOKEN);
  if (isToken(token, metricsToken) || isToken(token, operatorToken)) return;
  const isOff = metricsToken === null && operatorToken === null;
  const detail = isOff
    ? "Metrics are off: neither SEALPOST_METRICS_TOKEN nor SEALPOST_OPERATOR_TOKEN is set."
    : "This is not the token of /metrics.";
  throw new Problem("unauthenticated", detail, CHALLENGE);
}

function isToken(token: string, expected: string | null): boolean {
  return expected !== null && timingSafeEqual(sha256(token), sha256(expected));
}

function authenticate(request: Request, parts: HttpParts, isInWrite: boolean): Caller {
  const caller = parts.authenticate(bearerToken(request, KEY), isInWrite);
  if (caller !== null && "residence" in caller) throw goneFrom(caller.residence);
  if (caller !== null && !("refused" in caller)) return caller;
  const detail = caller === null ? "This key is not known, has expired or was revoked." : caller.refused;
  throw new Problem("unauthenticated", detail, CHALLENGE);
}

function holdsGrant(caller: Caller, grant: AccessRule["portal"]): boolean {
  if (grant === null) return false;
  return grant === "read" || caller[grant];
}

function mayCall(caller: Caller, rule: AccessRule, method: string): boolean {
  if (caller.kind === "portal") return holdsGrant(caller, rule.portal);
  return caller.scopes.some((scope) => rule.scopes.includes(scope) && (scope !== "read" || method === "GET"));
}

/**
 * The caller of a request, or null where the route asks for none or for the operator.
 * Throws 401 `unauthenticated` or 403 `forbidden`. `isInWrite` as in `HttpParts.authenticate`.
 */
export function admit(
  access: Access,
  method: string,
  request: Request,
  parts: HttpParts,
  isInWrite = false,
): Caller | null {
  if (access === "none") return null;
  if (access === "operator") {
    requireOperator(request, parts.operatorToken);
    return null;
  }
  if (access === "metrics") {
    requireMetricsReader(request, parts);
    return null;
  }
  if (access === "endpoint") {
    endpointSecret(request);
    return null;
  }
  const caller = authenticate(request, parts, isInWrite);
  if (mayCall(caller, RULES[access], method)) return caller;
  throw new Problem("forbidden", accessSentence(access, method));
}

/** True where a portal token with the right grant may call. */
export function isOpenToPortal(access: Access): boolean {
  return access in RULES && RULES[access as keyof typeof RULES].portal !== null;
}

/** One sentence that says who may call, for the 403 and for the document. */
export function accessSentence(access: Access, method: string): string {
  if (access === "none") return "Needs no key.";
  if (access === "operator") return "Needs the operator's token.";
  if (access === "metrics") return "Needs the token of /metrics, or the operator's.";
  if (access === "endpoint") return "Needs the endpoint's secret, in an overlap the new or the previous one.";
  const { scopes, portal }: AccessRule = RULES[access];
  const enough = scopes
    .filter((scope) => scope !== "read" || method === "GET")
    .map((scope) => `\`${scope}\``);
  const link = portal === "read" ? ", or a portal token" : `, or a portal token with the grant \`${portal}\``;
  return `Needs an API key with scope ${enough.join(" or ")}${portal === null ? "" : link}.`;
}
