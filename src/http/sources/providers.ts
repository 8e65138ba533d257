import { Type } from "@sinclair/typebox";
import { invalid, notFound } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import type { Field, Provider } from "../../inbound/provider.ts";
import { findProvider, listProviders } from "../../inbound/providers.ts";
import { listShape, pagingQuery } from "../shared/paging.ts";
import { type AnyRoute, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { oneOf } from "../shared/shapes.ts";

/** The table of providers as the API answers it. */
export function providerRoutes({ baseUrl }: Needs<"baseUrl">): AnyRoute[] {
  return [listRoute(baseUrl), readRoute(baseUrl)];
}

const fieldShape = Type.Object(
  {
    name: Type.String({ description: "`signing_secret`, or the name of one of `credentials`." }),
    label: Type.String(),
    help: Type.String(),
    required: Type.Boolean(),
    secret: Type.Boolean(),
    type: oneOf(["string", "integer"]),
    choices: Type.Optional(Type.Array(Type.String(), { description: "The only values that it takes." })),
  },
  { $id: "ProviderField" },
);

const setupShape = Type.Object(
  {
    address_at: Type.String({ description: "The provider's own way to where the address is entered." }),
    secret_at: Type.String({ description: "Where the secret is found there, or entered." }),
    pitfalls: Type.Array(Type.String()),
    page: Type.String({ description: "The provider's own documentation; where there is none, what it is." }),
    is_checked: Type.Boolean({
      description:
        "The two ways were found in the provider's own words; else its menus may be called otherwise.",
    }),
  },
  { description: "How it is set up at the provider." },
);

const providerShape = Type.Object(
  {
    key: Type.String(),
    aliases: Type.Array(Type.String()),
    name: Type.String(),
    scheme: Type.String({ description: "The class of the check, such as `hmac`." }),
    headers: Type.Array(Type.String(), { description: "What the check reads." }),
    secret_from: oneOf(["source", "customer", "provider", "none"], {
      description:
        "`source`: the source's own secret is entered at the provider. `customer`: the provider issues it and you enter it here. " +
        "`provider`: it comes by a handshake or key set. `none`: nothing to enter.",
    }),
    fields: Type.Array(fieldShape),
    config_fields: Type.Array(fieldShape, { description: "What `config` may hold." }),
    needs_public_url: Type.Boolean({ description: "The address is signed: it must be known exactly." }),
    handshakes: Type.Array(Type.String()),
    event_type: Type.String({ description: "Where the type of the event is taken from." }),
    delivery_id: Type.String({
      description: "What tells a repeated delivery; a request without it is an event of its own.",
    }),
    verified_with: Type.Object({
      kind: oneOf(["official_sdk", "library", "vector", "documentation"]),
      package: Type.Optional(Type.String()),
      version: Type.Optional(Type.String()),
      page: Type.Optional(Type.String()),
    }),
    setup: setupShape,
    docs_url: Type.String({ description: "Its page: how it is set up, and what is verified." }),
  },
  { $id: "Provider" },
);

const providerExample = {
  key: "github",
  aliases: [],
  name: "GitHub",
  scheme: "hmac",
  headers: ["x-hub-signature-256"],
  secret_from: "source",
  fields: [
    {
      name: "signing_secret",
      label: "Webhook secret",
      help: "Paste it exactly as it is shown.",
      required: false,
      secret: true,
      type: "string" as const,
    },
  ],
  config_fields: [],
  needs_public_url: false,
  handshakes: ["event ping, on creation"],
  event_type: "header X-GitHub-Event",
  delivery_id: "header X-GitHub-Delivery",
  verified_with: { kind: "official_sdk", package: "@octokit/webhooks-methods", version: "6.0.0" },
  setup: {
    address_at: "Repository, organisation or app: Settings, Webhooks, Add webhook, Payload URL.",
    secret_at: "The same page, field Secret.",
    pitfalls: ["The older header X-Hub-Signature (SHA-1) is not read."],
    page: "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
    is_checked: true,
  },
  docs_url: "https://hooks.example.com/docs/providers/github",
};

const listRoute = (baseUrl: string) =>
  route({
    method: "GET",
    path: "/v1/providers",
    operationId: "listProviders",
    tag: "Providers",
    summary: "List the providers that sources can be made for",
    description: "By key. All of them stand on one page unless `limit` asks for less.",
    access: "owner_read",
    budget: "management",
    query: Type.Object(
      { ...pagingQuery, limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limit("listLimitMax") })) },
      { additionalProperties: false },
    ),
    answers: { 200: { description: "A page of providers.", ...listShape(providerShape, providerExample) } },
    async handle({ query, turns }) {
      // All of them take a millisecond to write.
      if (turns.isOver) await turns.next();
      const rest = providersAfter(query.cursor);
      const page = rest.slice(0, query.limit ?? limit("listLimitMax"));
      const next = rest.length > page.length ? (page.at(-1)?.key ?? null) : null;
      return {
        status: 200,
        json: { data: page.map((provider) => providerOf(provider, baseUrl)), next_cursor: next },
      };
    },
  });

/** Providers after the one that the cursor names, by key. */
function providersAfter(cursor: string | undefined): Provider[] {
  const all = [...listProviders()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
  if (cursor === undefined) return all;
  const at = all.findIndex(({ key }) => key === cursor);
  if (at < 0) throw invalid("cursor", "Expected the `next_cursor` of the page before.");
  return all.slice(at + 1);
}

const readRoute = (baseUrl: string) =>
  route({
    method: "GET",
    path: "/v1/providers/:key",
    operationId: "getProvider",
    tag: "Providers",
    summary: "Read a provider",
    description: "By its key or an alias.",
    access: "owner_read",
    budget: "management",
    answers: { 200: { description: "The provider.", schema: providerShape, example: providerExample } },
    handle({ params }) {
      const provider = findProvider(params.key);
      if (provider === undefined) throw notFound("provider");
      return { status: 200, json: providerOf(provider, baseUrl) };
    },
  });

function providerOf(provider: Provider, baseUrl: string) {
  const { key, aliases, name, scheme, headers, fields, handshakes, docs } = provider;
  return {
    key,
    aliases,
    name,
    scheme,
    headers,
    secret_from: provider.secretFrom,
    fields: fields.map(fieldOf),
    config_fields: provider.configFields.map(fieldOf),
    needs_public_url: provider.needsPublicUrl,
    handshakes,
    event_type: provider.eventType,
    delivery_id: provider.deliveryId,
    verified_with: provider.verifiedWith,
    setup: {
      address_at: docs.addressAt,
      secret_at: docs.secretAt,
      pitfalls: docs.pitfalls,
      page: docs.page,
      is_checked: docs.isChecked,
    },
    docs_url: `${baseUrl}/docs/providers/${key}`,
  };
}

function fieldOf(field: Field) {
  return { ...field, type: field.type ?? "string" };
}
