import type { Caller } from "../../core/caller.ts";
import { type Static, Type } from "@sinclair/typebox";
import { keyTime } from "../../core/ids.ts";
import { limit } from "../../core/limits.ts";
import { DURABILITIES, REFUSAL_REASONS, type RefusalReason, type Source } from "../../core/model.ts";
import { nearName } from "../../core/near-name.ts";
import type { Provider, SecretFrom } from "../../inbound/provider.ts";
import { findProvider, providerNames } from "../../inbound/providers.ts";
import { MASK } from "../../destinations/credential-headers.ts";
import { overlapShape } from "../shared/overlap.ts";
import type { Needs } from "../framework/services.ts";
import { consumerText, nameText, nullable, oneOf, shownOnce, timeShape, timeText } from "../shared/shapes.ts";
import type { SourceMonitor } from "./monitor.ts";

/** Enough for every certificate and key that a provider shows. */
const SECRET_LENGTH_MAX = 8192;

export const lastRefusalShape = Type.Object(
  { at: timeShape, reason: oneOf(REFUSAL_REASONS, { $id: "RefusalReason" }) },
  { $id: "LastRefusal" },
);

const TEXTS = {
  signingSecret:
    "What the provider issues, or what you chose there, in the form in which it is shown. Reads `***`; sending `***` back " +
    "keeps it, null removes it.",
  credentials: "The parts that a provider needs beyond that (`fields` of the provider). Each reads `***`.",
  config: "The provider's settings. Replaced whole.",
  consumer: "The consumer that the events are published for; null: none.",
  rate: "Requests a second; null: the service's default, 0: no limit.",
  durability:
    "What the provider is answered after: `disk`, once the event is on this machine's disk, or `replica`, once it is in the replica too; " +
    "null: as the service is set (`SEALPOST_DURABILITY`).",
} as const;

const secretText = Type.String({ minLength: 1, maxLength: SECRET_LENGTH_MAX, expected: "a text" });
const nameShape = nameText(limit("nameLengthMax"));
const consumerShape = consumerText();
const durabilityShape = oneOf(DURABILITIES, { $id: "AcknowledgedAfter" });
const configShape = Type.Object(
  {},
  { additionalProperties: true, $id: "SourceConfig", description: TEXTS.config },
);

/** Fields that may be set on creation and by PATCH; null stands for the default. */
const settableFields = {
  signing_secret: Type.Optional(nullable(secretText, TEXTS.signingSecret)),
  credentials: Type.Optional(
    nullable(
      Type.Unsafe<Record<string, string | null>>(
        Type.Object(
          {},
          {
            additionalProperties: nullable(secretText),
            maxProperties: limit("givenCredentialsMax"),
            $id: "GivenCredentials",
          },
        ),
      ),
      TEXTS.credentials,
    ),
  ),
  config: Type.Optional(nullable(configShape)),
  consumer_id: Type.Optional(nullable(consumerShape, TEXTS.consumer)),
  rate_limit_per_second: Type.Optional(
    nullable(Type.Integer({ minimum: 0, maximum: 1_000_000 }), TEXTS.rate),
  ),
  durability: Type.Optional(nullable(durabilityShape, TEXTS.durability)),
};

function expectedProvider(given: unknown): string {
  const near = typeof given === "string" ? nearName(given, providerNames()) : null;
  return `the key of a provider that GET /v1/providers lists${near === null ? "" : `, perhaps ${near}`}`;
}

/** The body of POST /v1/sources. */
export const newSourceShape = Type.Object(
  {
    provider: oneOf(providerNames(), {
      description: "The key or an alias of a provider: see GET /v1/providers.",
      expected: expectedProvider,
    }),
    name: nameShape,
    ...settableFields,
  },
  { additionalProperties: false },
);

/** The body of PATCH /v1/sources/:id: a merge patch. */
export const sourceChangeShape = Type.Object(
  {
    name: Type.Optional(nameShape),
    ...settableFields,
    previous_signing_secret: Type.Optional(
      nullable(
        secretText,
        "Beside `signing_secret`: this one is taken too for 24 hours. `***` stands for the one that is stored; another one may be given " +
          "that Sealpost never had, such as that of a service you come from. null: the previous secret ends at once.",
      ),
    ),
  },
  { additionalProperties: false },
);

/** The body of POST /v1/sources/:id/rotate-secret. */
export const sourceRotationShape = Type.Object(
  { expiry_hours: overlapShape, signing_secret: Type.Optional(secretText) },
  { additionalProperties: false },
);

export type SourceRotationBody = Static<typeof sourceRotationShape>;
export type NewSourceBody = Static<typeof newSourceShape>;
export type SourceChangeBody = Static<typeof sourceChangeShape>;

const countersShape = Type.Object(
  {
    accepted: Type.Integer({ description: "Without the duplicates." }),
    duplicates: Type.Integer(),
    rejected: Type.Record(oneOf(REFUSAL_REASONS), Type.Integer()),
  },
  { description: "Since the service started." },
);

const answeredFields = {
  id: Type.String(),
  provider: Type.String(),
  provider_name: Type.String({ description: "As people call it." }),
  name: Type.String(),
  status: oneOf(["active", "awaiting_secret", "paused"], {
    description:
      "`awaiting_secret`: it refuses everything but the handshake that brings the secret. `paused`: verified requests get 503.",
  }),
  hint: nullable(Type.String(), "What to enter, where the source's own secret cannot serve."),
  ingest_path: Type.String({ description: "Below the base URL." }),
  ingest_url: Type.String({ description: "What is entered at the provider." }),
  signing_secret: nullable(Type.String(), TEXTS.signingSecret),
  credentials: Type.Object({}, { additionalProperties: Type.String(), description: TEXTS.credentials }),
  config: configShape,
  consumer_id: nullable(Type.String(), TEXTS.consumer),
  rate_limit_per_second: nullable(Type.Integer(), TEXTS.rate),
  durability: nullable(durabilityShape, TEXTS.durability),
  previous_secret_expires_at: nullable(timeShape, "Until when the secret before the present one holds."),
  pending_verification_token: nullable(
    Type.String(),
    "What a handshake brought and you must copy to the provider; until the first verified request. As the provider signs with it, only " +
      "`GET` by a key with scope `full` shows it; elsewhere it reads `***`.",
  ),
  counters: countersShape,
  last_rejected: nullable(
    lastRefusalShape,
    "Of this run of the service; nothing of the request itself is kept.",
  ),
  created_at: timeShape,
  updated_at: timeShape,
};

export const sourceShape = Type.Object(answeredFields, { $id: "Source" });
/** The answer of the creation, the only one with the secret. */
export const createdSourceShape = Type.Object(
  { ...answeredFields, secret: shownOnce("The source's own secret.") },
  { $id: "CreatedSource" },
);

export type SourceAnswer = Static<typeof sourceShape>;

export const sourceExample: SourceAnswer = {
  id: "src_01KAHM8ZZZ00K1M2N3P4Q5R6S7",
  provider: "stripe",
  provider_name: "Stripe",
  name: "Stripe, live",
  status: "active",
  hint: "Stripe issues the secret: enter it as signing_secret. Stripe Dashboard: Developers, Webhooks, the endpoint, Signing secret.",
  ingest_path: "/ingest/src_01KAHM8ZZZ00K1M2N3P4Q5R6S7",
  ingest_url: "https://hooks.example.com/ingest/src_01KAHM8ZZZ00K1M2N3P4Q5R6S7",
  signing_secret: MASK,
  credentials: {},
  config: {},
  consumer_id: null,
  rate_limit_per_second: null,
  durability: null,
  previous_secret_expires_at: null,
  pending_verification_token: null,
  counters: { accepted: 1204, duplicates: 3, rejected: rejections(new Map([["bad_signature", 1]])) },
  last_rejected: { at: "2026-11-20T09:00:00.000Z", reason: "bad_signature" },
  created_at: "2026-11-20T08:00:00.000Z",
  updated_at: "2026-11-20T08:00:00.000Z",
};

/**
 * A source as `GET` answers it: what is to be copied to the provider stands in it, for a key with scope full.
 */
export function readableSource(
  services: Needs<"ids" | "baseUrl" | "wallNow">,
  monitor: SourceMonitor,
  source: Source,
  { scopes }: Caller,
): SourceAnswer {
  const shown = sourceOf(services, monitor, source);
  if (!scopes.includes("full")) return shown;
  return { ...shown, pending_verification_token: source.pendingVerificationToken };
}

/** A source as the API answers it: without its secrets. */
export function sourceOf(
  services: Needs<"ids" | "baseUrl" | "wallNow">,
  monitor: SourceMonitor,
  source: Source,
): SourceAnswer {
  const id = services.ids.encode("src", source.id);
  const provider = findProvider(source.provider);
  const { lastRejected, accepted, duplicates, rejected } = monitor.counters(source.id);
  const { previousExpiresAt } = source;
  const isOverlapping = previousExpiresAt !== null && previousExpiresAt > services.wallNow();
  return {
    id,
    provider: source.provider,
    provider_name: provider?.name ?? source.provider,
    name: source.name,
    status: source.status as SourceAnswer["status"],
    hint: provider ? HINTS[provider.secretFrom](provider) : null,
    ingest_path: `/ingest/${id}`,
    ingest_url: `${services.baseUrl}/ingest/${id}`,
    signing_secret: source.signingSecret === null ? null : MASK,
    credentials: Object.fromEntries(Object.keys(source.credentials).map((name) => [name, MASK])),
    config: source.config,
    consumer_id: source.consumerId,
    rate_limit_per_second: source.rateLimitPerSecond,
    durability: source.durability,
    previous_secret_expires_at: timeText(isOverlapping ? previousExpiresAt : null),
    pending_verification_token: source.pendingVerificationToken === null ? null : MASK,
    counters: { accepted, duplicates, rejected: rejections(rejected) },
    last_rejected: lastRejected && shownRefusal(lastRejected),
    created_at: timeText(keyTime(source.id)),
    updated_at: timeText(source.updatedAt),
  };
}

function rejections(counts: ReadonlyMap<RefusalReason, number>): SourceAnswer["counters"]["rejected"] {
  const entries = REFUSAL_REASONS.map((reason) => [reason, counts.get(reason) ?? 0]);
  return Object.fromEntries(entries) as SourceAnswer["counters"]["rejected"];
}

function shownRefusal({ at, reason }: { at: number; reason: RefusalReason }): SourceAnswer["last_rejected"] {
  const known = REFUSAL_REASONS.find((each) => each === reason);
  return known === undefined ? null : { at: timeText(at), reason: known };
}

/** What to enter where our own secret cannot serve; null where it can. */
const HINTS: Record<SecretFrom, (provider: Provider) => string | null> = {
  source: () => null,
  customer: ({ name, fields, docs }) =>
    `${name} issues the secret: enter it as ${namesOf(fields)}. ${docs.secretAt}`,
  provider: ({ name, docs }) => `${name} brings what verifies it by itself. ${docs.secretAt}`,
  none: ({ docs }) => `Nothing has to be entered here. ${docs.secretAt}`,
};

function namesOf(fields: Provider["fields"]): string {
  const names = fields.map(({ name }) => (name === "signing_secret" ? name : `credentials.${name}`));
  return names.join(", ");
}
