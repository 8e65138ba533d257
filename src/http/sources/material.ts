import { makeSecret } from "../../core/signing.ts";
import type { Source } from "../../core/model.ts";
import type { Provider, SourceMaterial } from "../../inbound/provider.ts";
import type { NewSource } from "../../store/resources/sources.ts";

/** What a source verifies with, and how that changes over time. */

type Secrets = Pick<
  NewSource,
  "secret" | "signingSecret" | "previousSecret" | "previousSigningSecret" | "previousExpiresAt"
>;
type Retired = Pick<NewSource, "previousSecret" | "previousSigningSecret" | "previousExpiresAt">;

/** Only the current secret holds. */
export const NO_PREVIOUS: Retired = {
  previousSecret: null,
  previousSigningSecret: null,
  previousExpiresAt: null,
};

/** Our own secret, in the alphabet and the length that the provider admits. */
export function makeSourceSecret({ secretAlphabet, secretLengthMax }: Provider): string {
  const whole = makeSecret();
  const secret = secretLengthMax === null ? whole : whole.slice(0, secretLengthMax);
  if (secretAlphabet === "base64") return secret;
  return secret.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * The secret that holds now: what was entered or brought, or our own where the provider takes one of ours.
 */
function currentSecret({ secretFrom }: Provider, { signingSecret, secret }: Secrets): string | null {
  return signingSecret ?? (secretFrom === "source" ? secret : null);
}

/** All secrets that are valid at `now`, newest first, with the rest that the provider's check reads. */
export function materialOf(provider: Provider, source: NewSource, now: number): SourceMaterial {
  const { previousExpiresAt, previousSigningSecret, previousSecret, credentials, config } = source;
  const isOverlapping = previousExpiresAt !== null && previousExpiresAt > now;
  const previous = isOverlapping ? [previousSigningSecret, previousSecret] : [];
  const secrets = [currentSecret(provider, source), ...previous].filter((secret) => secret !== null);
  return { secrets, credentials, config };
}

/**
 * What becomes of the secret that holds now when another takes its place: valid until `expiresAt`, or not
 * at all.
 */
export function retire(provider: Provider, source: Secrets, expiresAt: number | null): Retired {
  if (expiresAt === null || currentSecret(provider, source) === null) return NO_PREVIOUS;
  const { secret, signingSecret } = source;
  return {
    previousSecret: signingSecret === null ? secret : null,
    previousSigningSecret: signingSecret,
    previousExpiresAt: expiresAt,
  };
}

/** `active` or `awaiting_secret`, by what the provider needs and the source has; a pause stays. */
export function settledStatus(provider: Provider, source: NewSource, now: number): Source["status"] {
  if (source.status === "paused") return "paused";
  return provider.isAwaiting(materialOf(provider, source, now)) ? "awaiting_secret" : "active";
}
