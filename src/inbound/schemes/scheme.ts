import { isWithin, narrowed, readTimestamp, type TimestampUnit, type Window } from "../window.ts";
import type { InboundRequest, KeyReader, RefusalReason, SourceMaterial } from "../provider.ts";
import type { Reading } from "../template.ts";

/** A request that came, with what verifies it. */
export interface Arrival {
  readonly request: InboundRequest;
  readonly material: SourceMaterial;
  readonly nowMs: number;
  readonly keys: KeyReader;
}

/** The headers that a proof covers, by their names in lower case. */
export type SignedHeaders = ReadonlyMap<string, string>;

/** `claims`: those of a signed token. `unavailable`: the keys could not be had. */
export type Verdict =
  | {
      readonly kind: "verified";
      readonly claims?: Readonly<Record<string, unknown>>;
      readonly signedHeaders?: SignedHeaders | undefined;
      /** What the proof was computed over, or what of it happens once: `proofTakenOnce` reads this alone. */
      readonly proven?: string | undefined;
      /** What was signed, or read of it, could be another where the body is no JSON object or array. */
      readonly needsJson?: boolean | undefined;
      /** Where it could be cut elsewhere: how it was read, and the only way in which it is read again. */
      readonly reading?: Reading | undefined;
    }
  | { readonly kind: "refused"; readonly reason: RefusalReason }
  | { readonly kind: "unavailable"; readonly reason: string };

/**
 * What of the body nobody can change while the proof holds: all of it; a part; nothing, where every request
 * has the same proof. `but` says it to the owner.
 */
export type Coverage =
  | { readonly body: "whole" }
  | { readonly body: "part" | "nothing"; readonly but: string };

export const WHOLE_BODY: Coverage = { body: "whole" };
export const SECRET_ITSELF: Coverage = {
  body: "nothing",
  but: "The body is not signed: whoever has the secret can send anything.",
};

/** Fields of a form that are signed without anything between them. */
export const JOINED_FIELDS: Coverage = {
  body: "part",
  but:
    "The form's names and values are signed as one text: where one ends and the next begins is not. " +
    "Such a text makes one event; cut elsewhere it is refused.",
};

/** One way to verify, over the raw bytes. */
export interface Scheme {
  readonly name: string;
  /** The headers it reads. */
  readonly headers: readonly string[];
  /** True where what is signed holds the address of the source. */
  readonly needsPublicUrl: boolean;
  /**
   * How far a signed timestamp may lie from now, narrowed by `config.tolerance_seconds`; null where it
   * checks none.
   */
  readonly window: Window | null;
  /** What the scheme proves, in words, for the docs page. */
  readonly checks: string;
  readonly covers: Coverage;
  /**
   * What the customer must enter as the secret, one that could be, and what is wrong with one; null when it
   * can be used.
   */
  readonly secretHelp: string;
  readonly secretExample: string;
  checkSecret(secret: string): string | null;
  verify(arrival: Arrival): Verdict | Promise<Verdict>;
}

export const VERIFIED: Verdict = { kind: "verified" };

export function refused(reason: RefusalReason): Verdict {
  return { kind: "refused", reason };
}

/**
 * What is wrong with a timestamp as it was sent; null where it lies within the window, which the source's
 * config may narrow.
 */
export function faultOfTime(
  text: string | null,
  unit: TimestampUnit,
  window: Window,
  { material, nowMs }: Arrival,
): RefusalReason | null {
  const atMs = text === null ? null : readTimestamp(text, unit);
  if (atMs === null) return "malformed";
  return isWithin(narrowed(window, material.config), atMs, nowMs) ? null : "stale_timestamp";
}

/**
 * Where a document of keys could not be had: an outage is not the sender's fault, a document that does not
 * exist is.
 */
export function withoutKeys(kind: "unknown" | "unavailable", whose: string): Verdict {
  if (kind === "unknown") return refused("wrong_key_id");
  return { kind: "unavailable", reason: `The keys of ${whose} could not be had.` };
}

export function headerOf(request: InboundRequest, name: string): string {
  return request.headers.get(name) ?? "";
}

/** A key id that is not there asks once for a newer document. */
export async function orRenewed(verifyWith: (isRenewal: boolean) => Promise<Verdict>): Promise<Verdict> {
  const verdict = await verifyWith(false);
  const isKeyNew = verdict.kind === "refused" && verdict.reason === "wrong_key_id";
  return isKeyNew ? verifyWith(true) : verdict;
}

type KeylessRule = Pick<Scheme, "name" | "headers" | "window" | "checks" | "covers" | "verify"> & {
  /** What is entered in place of a secret. */
  readonly instead?: string;
};

/** For providers who have no secret to enter: they publish their keys, or sign nothing. */
export function keylessScheme({ instead, ...rule }: KeylessRule): Scheme {
  const refusal = instead === undefined ? "This provider has no secret." : `Enter ${instead} as credentials.`;
  return { ...rule, needsPublicUrl: false, secretHelp: "", secretExample: "", checkSecret: () => refusal };
}

/** Genuine where either scheme says so: for a secret that can be read in two ways. */
export function eitherScheme(first: Scheme, second: Scheme): Scheme {
  return {
    ...first,
    async verify(arrival) {
      const [one, other] = [await first.verify(arrival), await second.verify(arrival)];
      return one.kind === "verified" ? one : other;
    },
  };
}
