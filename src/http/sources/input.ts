import { addUnknownField, type Fault, invalidAll } from "../../core/errors.ts";
import { childPointer } from "../../core/json/value.ts";
import type { Source } from "../../core/model.ts";
import type { Provider } from "../../inbound/provider.ts";
import { findProvider } from "../../inbound/providers.ts";
import { MASK } from "../../destinations/credential-headers.ts";
import type { NewSource } from "../../store/resources/sources.ts";
import { overlapEnd } from "../shared/overlap.ts";
import { makeSourceSecret, NO_PREVIOUS, retire, settledStatus } from "./material.ts";
import type { NewSourceBody, SourceChangeBody, SourceRotationBody } from "./shape.ts";

type SourceChange = Partial<NewSource>;

const NOTHING_STORED = `Nothing is stored yet that ${MASK} could stand for.`;

/** The source that a body asks for. Throws 422 with every fault; what is refused is never repeated. */
export function readNewSource(body: NewSourceBody, projectId: number, now: number): NewSource {
  const provider = findProvider(body.provider);
  if (provider === undefined) throw new Error("the body's schema lets known providers pass only");
  const blank: NewSource = {
    ...NO_PREVIOUS,
    projectId,
    consumerId: null,
    provider: provider.key,
    name: body.name,
    config: {},
    rateLimitPerSecond: null,
    durability: null,
    status: "active",
    updatedAt: now,
    secret: makeSourceSecret(provider),
    signingSecret: null,
    credentials: {},
    pendingVerificationToken: null,
  };
  const { provider: _key, ...fields } = body;
  const change = readChange({ ...fields, config: body.config ?? {} }, provider, blank, now);
  const made = { ...blank, ...change };
  return { ...made, status: settledStatus(provider, made, now) };
}

/** What a merge patch changes of a source as it stands. Throws 422 with every fault, as above. */
export function readSourceChange(
  body: SourceChangeBody,
  provider: Provider,
  before: Source,
  now: number,
): SourceChange {
  const change = readChange(body, provider, before, now);
  return { ...change, status: settledStatus(provider, { ...before, ...change }, now) };
}

function readChange(
  body: SourceChangeBody,
  provider: Provider,
  before: NewSource,
  now: number,
): SourceChange {
  const faults: Fault[] = [];
  const change: SourceChange = readSigningSecret(body, provider, before, now, faults);
  if (body.name !== undefined) change.name = body.name;
  if (body.consumer_id !== undefined) change.consumerId = body.consumer_id;
  if (body.rate_limit_per_second !== undefined) change.rateLimitPerSecond = body.rate_limit_per_second;
  if (body.durability !== undefined) change.durability = body.durability;
  if (body.credentials !== undefined) {
    change.credentials = readCredentials(body.credentials, provider, before.credentials, faults);
  }
  if (body.config !== undefined) {
    change.config = body.config ?? {};
    faults.push(...provider.checkConfig(change.config));
  }
  if (faults.length > 0) throw invalidAll(faults);
  return change;
}

/** A merge patch of the parts; null removes one, or all of them. */
function readCredentials(
  patch: Readonly<Record<string, string | null>> | null,
  provider: Provider,
  before: NewSource["credentials"],
  faults: Fault[],
): NewSource["credentials"] {
  if (patch === null) return {};
  const known = new Set(provider.fields.map(({ name }) => name).filter((name) => name !== "signing_secret"));
  const merged = new Map(Object.entries(before));
  for (const [name, value] of Object.entries(patch)) {
    if (!known.has(name))
      addUnknownField(faults, "/credentials", name, "This provider has no such credential.");
    else if (value === MASK && !merged.has(name))
      faults.push({ pointer: childPointer("/credentials", name), detail: NOTHING_STORED });
    else if (value === null) merged.delete(name);
    else if (value !== MASK) merged.set(name, value);
  }
  return Object.fromEntries(merged);
}

/**
 * `signing_secret` replaces the one before at once. Where `previous_signing_secret` is sent beside it, that
 * one holds for a while, and null ends it at once.
 */
function readSigningSecret(
  { signing_secret: given, previous_signing_secret: previous }: SourceChangeBody,
  provider: Provider,
  before: NewSource,
  now: number,
  faults: Fault[],
): SourceChange {
  if (given === undefined && typeof previous === "string") {
    faults.push({ pointer: "/previous_signing_secret", detail: "Send the new signing_secret beside it." });
  }
  if (given === MASK && before.signingSecret === null) {
    faults.push({ pointer: "/signing_secret", detail: NOTHING_STORED });
  }
  const isKept = given === undefined || (given === MASK && typeof previous !== "string");
  if (isKept) return previous === null ? NO_PREVIOUS : {};
  const signingSecret = given === MASK ? before.signingSecret : given;
  // The token shows a secret that a handshake brought: once that is replaced, it is nobody's.
  const set = given === MASK ? {} : { signingSecret, pendingVerificationToken: null };
  addSecretFault("/signing_secret", signingSecret, provider, faults);
  const expiresAt = overlapEnd(now);
  if (typeof previous !== "string") return { ...set, ...NO_PREVIOUS };
  if (previous === MASK) return { ...set, ...retire(provider, before, expiresAt) };
  addSecretFault("/previous_signing_secret", previous, provider, faults);
  return { ...set, ...NO_PREVIOUS, previousSigningSecret: previous, previousExpiresAt: expiresAt };
}

function addSecretFault(pointer: string, secret: string | null, provider: Provider, faults: Fault[]): void {
  if (secret === null) return;
  const isTaken = provider.fields.some(({ name }) => name === "signing_secret");
  const detail = isTaken ? faultOfSecret(secret, provider) : `${provider.name} takes no signing_secret.`;
  if (detail !== null) faults.push({ pointer, detail });
}

/** The mask is no secret: whoever asks has put in its place what it stands for. */
function faultOfSecret(secret: string, provider: Provider): string | null {
  return secret === MASK ? `${MASK} stands for the secret that is stored.` : provider.checkSecret(secret);
}

/** What a rotation changes. Throws 422 where the provider issues the secret and none is given. */
export function readRotation(
  { signing_secret: given, expiry_hours: hours }: SourceRotationBody,
  provider: Provider,
  before: Source,
  now: number,
): SourceChange {
  const faults: Fault[] = [];
  if (given === undefined && provider.secretFrom !== "source") {
    faults.push({ pointer: "/signing_secret", detail: "This provider issues the secret: send the new one." });
  }
  addSecretFault("/signing_secret", given ?? null, provider, faults);
  if (faults.length > 0) throw invalidAll(faults);
  const retired = retire(provider, before, overlapEnd(now, hours));
  // Also where another takes its place: a later change does not bring back our own that was rotated away.
  const made: Pick<Source, "secret" | "signingSecret"> = {
    secret: makeSourceSecret(provider),
    signingSecret: given ?? null,
  };
  return { ...retired, ...made, status: settledStatus(provider, { ...before, ...retired, ...made }, now) };
}
