import { limit } from "../../core/limits.ts";
import type { Bytes } from "../digest.ts";
import type { InboundRequest } from "../provider.ts";
import {
  bytesOf,
  isIdBounded,
  isJoined,
  type Name,
  names,
  parseTemplate,
  readingOf,
  render,
  type Template,
} from "../template.ts";
import { type TimestampUnit, UNSTATED_WINDOW, type Window } from "../window.ts";
import { type Layout, whole } from "./layouts.ts";
import {
  type Arrival,
  faultOfTime,
  headerOf,
  refused,
  type Scheme,
  type Verdict,
  WHOLE_BODY,
} from "./scheme.ts";

/** Signatures in a header over the raw bytes: what HMAC, plain hash and public-key schemes have in common. */

/** Header names are lower-case. */
export interface SignedRule {
  /**
   * The header of the signature; of several the first that is present decides, so that a weaker one cannot.
   */
  readonly header: string | readonly string[];
  /** Every one of several headers may carry a signature (Box, DocuSign), instead of only the first. */
  readonly isEveryHeaderRead?: true;
  /** Default: the whole value is the signature. */
  readonly layout?: Layout;
  /** What is signed, a template; default `{body}`. */
  readonly content?: string;
  /**
   * `header`: where the timestamp stands, unless the signature's own header holds it. `window`: what the
   * provider states.
   */
  readonly timestamp?: { readonly header?: string; readonly unit: TimestampUnit; readonly window?: Window };
  /** The header of `{id}`. */
  readonly idHeader?: string;
  /**
   * The provider's bodies need not be JSON. Where the template joins values, a signed text may then be cut in
   * more than one way, and the first reading is taken. Default: bodies are JSON there, and no part of JSON is
   * JSON itself, so that there is one way only.
   */
  readonly takesAnyBody?: true;
  /**
   * The provider signs other texts with this key, which others than its receivers see. None is a JSON
   * object or array, so that nothing else is taken.
   */
  readonly signsOtherTexts?: true;
}

/** A template that was stored may hold the body twice. */
const BODIES_MAX = 2;

/** How signatures are checked against the secrets of a source. */
export interface Proof {
  readonly name: string;
  /** Of what, in words, before the content: `HMAC-SHA256 in hex`. */
  readonly checks: string;
  readonly secretHelp: string;
  readonly secretExample: string;
  /** False where the text has another form than the provider's secrets. */
  isSecret(text: string): boolean;
  /** True when any signature is one of any secret over its content. Does the same work whatever it finds. */
  holds(
    signatures: readonly string[],
    secrets: readonly string[],
    contentFor: (secret: string) => Bytes[],
  ): boolean;
}

/** What a request carries; empty texts stand for what is missing, so that the same work is done. */
interface Carried {
  readonly signatures: readonly string[];
  readonly timestamp: string;
  readonly id: string;
  readonly isComplete: boolean;
}

function headersOf(rule: SignedRule): readonly string[] {
  return typeof rule.header === "string" ? [rule.header] : rule.header;
}

function carriedBy(request: InboundRequest, rule: SignedRule, template: Template): Carried {
  const present = headersOf(rule).filter((header) => request.headers.has(header));
  const read = rule.isEveryHeaderRead ? present : present.slice(0, 1);
  const layout = rule.layout ?? whole();
  const parts = read.map((header) => layout(headerOf(request, header)));
  const signatures = parts.flatMap((part) => part.signatures);
  const timestamp = rule.timestamp?.header
    ? headerOf(request, rule.timestamp.header)
    : (parts[0]?.timestamp ?? "");
  const id = rule.idHeader ? headerOf(request, rule.idHeader) : "";
  const isMissing = (rule.timestamp?.header && timestamp === "") || (names(template, "id") && id === "");
  return { signatures, timestamp, id, isComplete: present.length > 0 && !isMissing };
}

function valueOf(name: Name, request: InboundRequest, carried: Carried, secret: string): Bytes {
  if (name === "secret") return secret;
  return name === "timestamp" || name === "id" ? carried[name] : request[name];
}

/** True for more than a template that has each value once makes of a request; older ones may repeat some. */
function isTooLong(content: readonly Bytes[], { body }: InboundRequest): boolean {
  const most = BODIES_MAX * body.length + limit("signedHeadBytesMax");
  return bytesOf(content) > Math.min(most, limit("signedBytesMax"));
}

/** All work is done before anything is decided: time tells nothing. */
function verifySigned(rule: SignedRule, template: Template, proof: Proof, arrival: Arrival): Verdict {
  const { request, material } = arrival;
  const carried = carriedBy(request, rule, template);
  const contentFor = (secret: string) => render(template, (name) => valueOf(name, request, carried, secret));
  const unkeyed = contentFor("");
  if (isTooLong(unkeyed, request)) return refused("too_large");
  const isGenuine = proof.holds(carried.signatures, material.secrets, contentFor);
  if (!carried.isComplete) return refused("missing_header");
  if (material.secrets.length === 0) return refused("awaiting_secret");
  if (carried.signatures.length === 0) return refused("malformed");
  const { unit = "s", window = UNSTATED_WINDOW } = rule.timestamp ?? {};
  const fault = rule.timestamp ? faultOfTime(carried.timestamp, unit, window, arrival) : null;
  if (fault !== null) return refused(fault);
  if (!isGenuine) return refused("bad_signature");
  const isIdSigned = rule.idHeader !== undefined && names(template, "id");
  if (isIdSigned && !isIdBounded(template, carried.id)) return refused("malformed");
  const signedHeaders = isIdSigned ? new Map([[rule.idHeader, carried.id]]) : undefined;
  if (!isJoined(template)) return { kind: "verified", signedHeaders, needsJson: rule.signsOtherTexts };
  if (!rule.takesAnyBody) return { kind: "verified", signedHeaders, needsJson: true };
  return { kind: "verified", signedHeaders, reading: readingOf(unkeyed) };
}

/** A scheme from the facts of a row. */
export function signedScheme(rule: SignedRule, proof: Proof): Scheme {
  const template = parseTemplate(rule.content ?? "{body}");
  if (!template) throw new Error(`The template ${rule.content} names an unknown value.`);
  const others = [rule.timestamp?.header, rule.idHeader].filter((name) => name !== undefined);
  return {
    name: proof.name,
    headers: [headersOf(rule), others].flat(),
    needsPublicUrl: names(template, "url"),
    window: rule.timestamp ? (rule.timestamp.window ?? UNSTATED_WINDOW) : null,
    checks: `${proof.checks} over ${rule.content ?? "{body}"}`,
    covers: WHOLE_BODY,
    secretHelp: proof.secretHelp,
    secretExample: proof.secretExample,
    checkSecret: (text) =>
      proof.isSecret(text) ? null : `This is not the secret's form. ${proof.secretHelp}`,
    verify: (arrival) => verifySigned(rule, template, proof, arrival),
  };
}
