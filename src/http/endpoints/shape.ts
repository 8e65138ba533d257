import { type Static, Type } from "@sinclair/typebox";
import { HTTP_TOKEN } from "../../core/http-token.ts";
import { keyTime } from "../../core/ids.ts";
import { limit } from "../../core/limits.ts";
import { type Endpoint, SIGNATURE_VERSIONS } from "../../core/model.ts";
import { publicKeyOf, readPrivateKey } from "../../core/signing.ts";
import { findKind } from "../../destinations/destinations.ts";
import { isCredentialHeader, MASK } from "../../destinations/credential-headers.ts";
import { configShape, kindShape, newEndpointVariants } from "./destination-shape.ts";
import { warningFields } from "./filter-warnings.ts";
import type { Needs } from "../framework/services.ts";
import {
  consumerText,
  nullable,
  oneOf,
  shownAs,
  shownOnce,
  timeShape,
  timeText,
  typePatternText,
} from "../shared/shapes.ts";
import { transformationsShape } from "./transformation-shape.ts";

const retryShape = Type.Object(
  {
    schedule: Type.Array(Type.Integer({ minimum: 1, maximum: limit("retryWaitSecondsMax") }), {
      maxItems: limit("retryEntriesMax"),
      description: "Seconds from each failed attempt to the next.",
    }),
  },
  { additionalProperties: false, $id: "RetrySchedule" },
);

export const filterShape = Type.Object(
  {},
  { additionalProperties: true, $id: "Filter", description: "See /docs/filters." },
);
const headersShape = shownAs(
  Type.Object(
    {},
    {
      additionalProperties: Type.String({ maxLength: limit("customHeaderValueMax") }),
      maxProperties: limit("customHeadersMax"),
    },
  ),
  Type.Object(
    {},
    {
      additionalProperties: Type.String({
        maxLength: limit("customHeaderValueMax"),
        pattern: "^[\\u0020-\\u007e\\u00a0-\\u00ff]*$",
      }),
      propertyNames: {
        pattern: HTTP_TOKEN.source,
        maxLength: limit("customHeaderNameMax"),
      },
      maxProperties: limit("customHeadersMax"),
      $id: "CustomHeaders",
    },
  ),
);
const metadataShape = Type.Object(
  {},
  { additionalProperties: true, $id: "Metadata", description: "A JSON object of yours." },
);
const versionShape = oneOf(SIGNATURE_VERSIONS, { $id: "SignatureVersion" });
const givenVersions = Type.Array(versionShape, {
  minItems: 1,
  maxItems: SIGNATURE_VERSIONS.length,
  uniqueItems: true,
});
const orderingShape = oneOf(["none", "fifo"], { $id: "EndpointOrdering" });

const TEXTS = {
  kind: "The destination kind; `http` unless said otherwise.",
  config: "The kind's fields. Credentials read `***`; sending `***` back keeps what is stored.",
  url: "Of the kind `http`: the same as `config.url`.",
  eventTypes: "Names, `invoice.*` (any depth below) or `*`; one that is given twice counts once. null: all.",
  filter: "Conditions over `{type, timestamp, data}`; null: every event.",
  transformations: "Operations that reshape the body, in order; null: none.",
  consumer: "The customer's own user that this endpoint belongs to; null: the project itself.",
  headers:
    "Sent with every request, without the spaces around a value. Values of [credential headers](/docs/retention) read `***`; sending `***` back keeps them.",
  versions: '`["v1"]` or `["v1", "v1a"]`.',
  retry: "null: the default schedule.",
  rate: "Attempts a second; null: no limit.",
  concurrency:
    "Attempts at the same time. Default 10; with `ordering: fifo` it is one, whatever stands here.",
  ordering:
    "`fifo`: in order of acceptance, and one at a time, whatever `max_concurrency` says. Default `none`.",
  metadata: "Anything of yours: a JSON object of any depth, at most 16 KiB.",
} as const;

/** Fields that endpoints of every kind have; null stands for the default. */
const commonFields = {
  description: Type.Optional(nullable(Type.String({ maxLength: limit("descriptionLengthMax") }))),
  event_types: Type.Optional(
    nullable(
      Type.Array(typePatternText({ maxLength: limit("eventTypeLengthMax") + 2 }), {
        minItems: 1,
        maxItems: limit("eventTypesPerEndpointMax"),
      }),
      TEXTS.eventTypes,
    ),
  ),
  filter: Type.Optional(nullable(filterShape, TEXTS.filter)),
  transformations: Type.Optional(nullable(transformationsShape, TEXTS.transformations)),
  consumer_id: Type.Optional(nullable(consumerText(), TEXTS.consumer)),
  headers: Type.Optional(nullable(headersShape, TEXTS.headers)),
  signature_versions: Type.Optional(
    nullable(shownAs(givenVersions, { ...givenVersions, contains: { const: "v1" } }), TEXTS.versions),
  ),
  retry: Type.Optional(nullable(retryShape, TEXTS.retry)),
  timeout_seconds: Type.Optional(
    nullable(Type.Integer({ minimum: 1, maximum: limit("attemptTimeoutSecondsMax") }), "Default 15."),
  ),
  rate_limit_per_second: Type.Optional(
    nullable(Type.Integer({ minimum: 1, maximum: 1_000_000 }), TEXTS.rate),
  ),
  max_concurrency: Type.Optional(
    nullable(Type.Integer({ minimum: 1, maximum: limit("concurrencyMax") }), TEXTS.concurrency),
  ),
  ordering: Type.Optional(nullable(orderingShape, TEXTS.ordering)),
  metadata: Type.Optional(nullable(metadataShape, TEXTS.metadata)),
};

const shownUrl = Type.String({
  minLength: 1,
  maxLength: limit("urlLengthMax"),
  format: "uri",
  description: TEXTS.url,
});
const urlShape = shownAs(Type.String({ maxLength: limit("urlLengthMax"), description: TEXTS.url }), shownUrl);

/** Fields that may be set on creation and by PATCH. */
const settableFields = {
  kind: Type.Optional(shownAs(Type.String({ description: TEXTS.kind }), kindShape)),
  config: Type.Optional(configShape(TEXTS.config)),
  url: Type.Optional(urlShape),
  ...commonFields,
};

const BASE64 = "[A-Za-z0-9+/]";

/** Keys that are brought along. */
const givenSecrets = {
  secret: Type.Optional(
    shownAs(
      Type.String({ expected: "a string" }),
      Type.String({
        description: "`whsec_` and 24 to 64 bytes in base64; made where none is given.",
        pattern: `^whsec_(${BASE64}{4}){8,20}(${BASE64}{4}(${BASE64}{2}==)?|${BASE64}{2}==|${BASE64}{3}=)?$`,
      }),
    ),
  ),
  private_key: Type.Optional(
    shownAs(
      Type.String({ expected: "a string" }),
      Type.String({
        description: "With `v1a`: `whsk_` and the 32-byte seed, or seed and public key, in base64.",
        pattern: `^whsk_(${BASE64}{43}=|${BASE64}{86}==)$`,
      }),
    ),
  ),
};

/** The body of POST /v1/endpoints. */
export const newEndpointShape = shownAs(
  Type.Object({ ...settableFields, ...givenSecrets }, { additionalProperties: false }),
  newEndpointVariants(shownUrl, { ...commonFields, ...givenSecrets }),
);

/** The body of PATCH /v1/endpoints/:id: a merge patch. */
export const endpointChangeShape = Type.Object(settableFields, { additionalProperties: false });

export type NewEndpointBody = Static<typeof newEndpointShape>;
export type EndpointChangeBody = Static<typeof endpointChangeShape>;

const answeredFields = {
  id: Type.String(),
  kind: shownAs(Type.String(), kindShape),
  config: Type.Object({}, { additionalProperties: true, description: TEXTS.config }),
  url: nullable(Type.String(), "Null where the kind has none."),
  description: nullable(Type.String()),
  event_types: nullable(Type.Array(Type.String()), TEXTS.eventTypes),
  filter: nullable(filterShape, TEXTS.filter),
  transformations: nullable(transformationsShape, TEXTS.transformations),
  consumer_id: nullable(Type.String(), TEXTS.consumer),
  headers: headersShape,
  signature_versions: Type.Array(versionShape, { description: TEXTS.versions }),
  public_key: Type.Optional(
    Type.String({ description: "Where `v1a` signs too: `whpk_` and the public key in base64." }),
  ),
  retry: nullable(retryShape, TEXTS.retry),
  timeout_seconds: Type.Integer(),
  rate_limit_per_second: nullable(Type.Integer(), TEXTS.rate),
  max_concurrency: Type.Integer(),
  ordering: orderingShape,
  metadata: metadataShape,
  status: oneOf(["active", "paused", "disabled"], { $id: "EndpointStatus" }),
  disabled_reason: nullable(
    oneOf(["gone", "failing"], { $id: "DisabledReason" }),
    "`gone`: a 410. `failing`: five days without a success, though it could be sent to.",
  ),
  failing_since: nullable(timeShape, "Of the first failure since the last success."),
  created_at: timeShape,
  updated_at: timeShape,
};

export const endpointShape = Type.Object(answeredFields, { $id: "Endpoint" });

/** The answer of the creation, to whoever may create; given again by its key, it has no `secret`. */
export const createdEndpointShape = Type.Object(
  {
    ...answeredFields,
    ...warningFields,
    secret: shownOnce("Signs deliveries."),
  },
  { $id: "CreatedEndpoint" },
);

/** The answer of a change. */
export const changedEndpointShape = Type.Object(
  { ...answeredFields, ...warningFields },
  { $id: "ChangedEndpoint" },
);

export type EndpointAnswer = Static<typeof endpointShape>;

export const endpointExample: EndpointAnswer = {
  id: "ep_01KAHM8ZZZ00K1M2N3P4Q5R6S7",
  kind: "http",
  config: { url: "https://hooks.example.com/sealpost" },
  url: "https://hooks.example.com/sealpost",
  description: "Invoices to the ledger",
  event_types: ["invoice.*"],
  filter: { data: { total: { $gte: 100 } } },
  transformations: [{ op: "omit", paths: ["data.internal_note"] }],
  consumer_id: null,
  headers: { authorization: MASK, "x-tenant": "acme" },
  signature_versions: ["v1"],
  retry: null,
  timeout_seconds: 15,
  rate_limit_per_second: null,
  max_concurrency: 10,
  ordering: "none",
  metadata: { team: "billing" },
  status: "active",
  disabled_reason: null,
  failing_since: null,
  created_at: "2026-11-20T09:00:00.000Z",
  updated_at: "2026-11-20T09:00:00.000Z",
};

/** An endpoint as the API answers it: nothing of it is secret. */
export function endpointOf(services: Needs<"ids" | "actors">, endpoint: Endpoint): EndpointAnswer {
  const { ids, actors } = services;
  const { url } = endpoint.config;
  return {
    id: ids.encode("ep", endpoint.id),
    kind: endpoint.kind,
    config: shownConfig(endpoint),
    url: endpoint.kind === "http" && typeof url === "string" ? url : null,
    description: endpoint.description,
    event_types: endpoint.eventTypes && [...endpoint.eventTypes],
    filter: endpoint.filter as EndpointAnswer["filter"],
    transformations: endpoint.transformations as EndpointAnswer["transformations"],
    consumer_id: endpoint.consumerId,
    headers: Object.fromEntries(endpoint.headers.map(shownHeader)),
    signature_versions: [...endpoint.signatureVersions],
    ...publicKeyPart(endpoint),
    retry: endpoint.retry && { schedule: [...endpoint.retry.schedule] },
    timeout_seconds: endpoint.timeoutSeconds,
    rate_limit_per_second: endpoint.rateLimitPerSecond,
    max_concurrency: endpoint.maxConcurrency,
    ordering: endpoint.ordering,
    metadata: endpoint.metadata,
    status: endpoint.status as EndpointAnswer["status"],
    disabled_reason: endpoint.disabledReason,
    failing_since: timeText(actors.failingSince(endpoint.id)),
    created_at: timeText(keyTime(endpoint.id)),
    updated_at: timeText(endpoint.updatedAt),
  };
}

/** `public_key` where the endpoint signs with `v1a` too, else nothing. */
export function publicKeyPart({ privateKey }: Endpoint): { public_key?: string } {
  const key = privateKey === null ? null : readPrivateKey(privateKey);
  return key === null ? {} : { public_key: publicKeyOf(key) };
}

/** The fields in the order of the kind's table, credentials masked. */
function shownConfig({ kind, config, credentials }: Endpoint): Record<string, unknown> {
  const fields = findKind(kind)?.fields ?? [];
  const shown = fields.flatMap(({ name, secret }): [string, unknown][] => {
    if (secret) return Object.hasOwn(credentials, name) ? [[name, MASK]] : [];
    return Object.hasOwn(config, name) ? [[name, config[name]]] : [];
  });
  return Object.fromEntries(shown);
}

function shownHeader([name, value]: readonly [string, string]): [string, string] {
  return [name, isCredentialHeader(name) ? MASK : value];
}
