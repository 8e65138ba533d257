import type { Window } from "../window.ts";
import type { InboundRequest, KeyReader, RefusalReason, SourceMaterial } from "../provider.ts";

/** One request to verify. */
export interface Attempt {
  readonly request: InboundRequest;
  readonly material: SourceMaterial;
  readonly nowMs: number;
  readonly keys: KeyReader;
}

/** `claims`: those of a signed token. `unavailable`: the keys could not be had. */
export type Verdict =
  | { readonly kind: "verified"; readonly claims?: Readonly<Record<string, unknown>> }
  | { readonly kind: "refused"; readonly reason: RefusalReason }
  | { readonly kind: "unavailable"; readonly reason: string };

/** One way to verify, over the raw bytes. */
export interface Scheme {
  readonly name: string;
  /** The headers it reads. */
  readonly headers: readonly string[];
  /** True where what is signed holds the address of the source. */
  readonly needsPublicUrl: boolean;
  /** How far a signed timestamp may lie from now, narrowed by `config.tolerance_seconds`; null where it checks none. */
  readonly window: Window | null;
  /** What it proves, in words, for the docs page. */
  readonly checks: string;
  /** What the customer must enter as the secret, one that could be, and what is wrong with one; null when it can be used. */
  readonly secretHelp: string;
  readonly secretExample: string;
  checkSecret(secret: string): string | null;
  verify(attempt: Attempt): Verdict | Promise<Verdict>;
}

export const VERIFIED: Verdict = { kind: "verified" };

export function refused(reason: RefusalReason): Verdict {
  return { kind: "refused", reason };
}

/** Where a document of keys could not be had: an outage is not the sender's fault, a document that does not exist is. */
export function withoutKeys(kind: "unknown" | "unavailable", whose: string): Verdict {
  if (kind === "unknown") return refused("wrong_key_id");
  return { kind: "unavailable", reason: `The keys of ${whose} could not be had.` };
}

export function headerOf(request: InboundRequest, name: string): string {
  return request.headers.get(name) ?? "";
}

/** Genuine where either scheme says so: for a secret that can be read in two ways. */
export function eitherScheme(first: Scheme, second: Scheme): Scheme {
  return {
    ...first,
    async verify(attempt) {
      const [one, other] = [await first.verify(attempt), await second.verify(attempt)];
      return one.kind === "verified" ? one : other;
    },
  };
}
