import { hmac, isAnySame } from "../digest.ts";
import type { RefusalReason } from "../provider.ts";
import { type SecretForm, textSecret } from "../secrets.ts";
import type { Window } from "../window.ts";
import {
  type Arrival,
  type Coverage,
  refused,
  type Scheme,
  type SignedHeaders,
  type Verdict,
} from "./scheme.ts";

/** For providers whose signed content no template says: they compute what they expect themselves. */

/**
 * What the request carries, and what a secret would have made of it. Any of one equal to any of the other
 * is genuine.
 */
export interface Comparison {
  readonly signedHeaders?: SignedHeaders;
  /** See `Verdict`. */
  readonly needsJson?: boolean;
  /** See `Verdict`. */
  readonly proven?: string;
  readonly given: readonly string[];
  expected(secret: string): readonly string[];
}

export interface ComparedRule {
  /** The class of scheme; default `hmac`. */
  readonly name?: string;
  readonly headers: readonly string[];
  readonly needsPublicUrl?: boolean;
  /** What is compared, in words, for the docs page. */
  readonly checks: string;
  readonly covers: Coverage;
  readonly window?: Window;
  readonly secret?: SecretForm;
  /** A reason where the request cannot be compared at all. */
  compare(arrival: Arrival): Comparison | RefusalReason;
}

/** Tries every secret, in constant time. */
function judge(comparison: Comparison, secrets: readonly string[]): Verdict {
  const isGenuine = isAnySame(
    secrets.flatMap((secret) => comparison.expected(secret)),
    comparison.given,
  );
  if (secrets.length === 0) return refused("awaiting_secret");
  if (!isGenuine) return refused("bad_signature");
  const { signedHeaders, needsJson, proven } = comparison;
  return { kind: "verified", signedHeaders, needsJson, proven };
}

function verifyCompared(rule: ComparedRule, form: SecretForm, arrival: Arrival): Verdict {
  const compared = rule.compare(arrival);
  const { request, material } = arrival;
  if (typeof compared !== "string") {
    const usable = material.secrets.filter((secret) => form.decode(secret) !== null);
    return judge(compared, usable);
  }
  // The work that a comparison would have cost, so that the answer comes no sooner.
  hmac("sha256", "nothing to compare", [request.body], "hex");
  return refused(compared);
}

export function comparedScheme(rule: ComparedRule): Scheme {
  const form = rule.secret ?? textSecret;
  return {
    name: rule.name ?? "hmac",
    headers: rule.headers,
    needsPublicUrl: rule.needsPublicUrl ?? false,
    window: rule.window ?? null,
    checks: rule.checks,
    covers: rule.covers,
    secretHelp: form.help,
    secretExample: form.example,
    checkSecret: (text) =>
      form.decode(text) === null ? `This is not the secret's form. ${form.help}` : null,
    verify: (arrival) => verifyCompared(rule, form, arrival),
  };
}
