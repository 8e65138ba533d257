import { type ConfigRule, faultsOf, publicUrlConfig, toleranceConfig } from "./config.ts";
import type {
  Field,
  Provider,
  ProviderDocs,
  SourceExample,
  SourceMaterial,
  VerifiedWith,
} from "./provider.ts";
import { NO_KEYS, PLENTY, receiveBy } from "./receive.ts";
import type { ProviderRow } from "./row.ts";
import { UNSTATED_WINDOW } from "./window.ts";

function secretField(row: ProviderRow): Field[] {
  const isEntered = row.secretFrom === "source" || row.secretFrom === "customer";
  if (!isEntered || row.hasSigningSecret === false) return [];
  return [
    {
      name: "signing_secret",
      label: row.secretLabel ?? "Signing secret",
      help: `${row.docs.secretAt} ${row.scheme.secretHelp}`.trim(),
      required: row.secretFrom === "customer" && !row.isSecretOptional,
      secret: !row.isSecretPublic,
    },
  ];
}

function isAwaiting(row: ProviderRow, fields: readonly Field[], material: SourceMaterial): boolean {
  if (row.isAwaiting) return row.isAwaiting(material);
  const { secrets, credentials } = material;
  if (row.isSecretLearned && secrets.length === 0) return true;
  const missing = fields.filter(({ name, required }) => required && !Object.hasOwn(credentials, name));
  return missing.some(({ name }) => name !== "signing_secret" || secrets.length === 0);
}

/** Without what is no data. */
function asField({ name, label, help, required, secret, type, choices }: Field): Field {
  return { name, label, help, required, secret, ...(type && { type }), ...(choices && { choices }) };
}

/** The examples of what must be entered, or had better be. */
function examplesOf(rules: readonly ConfigRule[]): Record<string, unknown> | undefined {
  const wanted = rules.filter(({ required, isAdvised }) => required || isAdvised);
  return wanted.length === 0
    ? undefined
    : Object.fromEntries(wanted.map(({ name, example }) => [name, example]));
}

function exampleOf(row: ProviderRow): SourceExample {
  const [secret] = row.secretFrom === "customer" ? secretField(row) : [];
  const credentials = examplesOf(row.credentials ?? []);
  const config = examplesOf(row.config ?? []);
  return {
    ...(secret && { signing_secret: row.scheme.secretExample }),
    ...(credentials && { credentials }),
    ...(config && { config }),
  };
}

/** What no proof covers, in sentences. */
function uncoveredOf(row: ProviderRow): string[] {
  const { scheme, proofs } = row;
  const headers = unsignedHeadersOf(row);
  return [
    ...(scheme.covers.body === "whole" ? [] : [scheme.covers.but]),
    ...(proofs ? ["What proves a request stands in its body: it is masked as *** in data."] : []),
    ...(scheme.covers.body === "nothing" || headers.length === 0
      ? []
      : [`Not signed, though type or identity may come from it: ${headers.join(", ")}.`]),
  ];
}

/** Each once. */
function unsignedHeadersOf({ eventType, deliveryId }: ProviderRow): string[] {
  const { unsigned: ofType = [] } = eventType;
  const { unsigned: ofIdentity = [] } = deliveryId;
  const names = [...ofType, ...ofIdentity];
  return [...new Map(names.map((name) => [name.toLowerCase(), name])).values()];
}

/** A provider from its row: everything that the API, the docs page and the form say derives from it. */
export function defineProvider(row: ProviderRow): Provider {
  const { scheme } = row;
  const bodyWindow = row.bodyTimestamp ? (row.bodyTimestamp.window ?? UNSTATED_WINDOW) : null;
  const window = scheme.window ?? bodyWindow;
  const config = [
    ...(row.config ?? []),
    ...(scheme.needsPublicUrl ? [publicUrlConfig] : []),
    ...(window ? [toleranceConfig] : []),
  ];
  const fields = [...secretField(row), ...(row.credentials ?? [])];
  return {
    key: row.key,
    aliases: row.aliases ?? [],
    name: row.name,
    scheme: scheme.name,
    checks: scheme.checks,
    covers: scheme.covers.body,
    unsignedHeaders: unsignedHeadersOf(row),
    window,
    headers: scheme.headers,
    secretFrom: row.secretFrom,
    secretAlphabet: row.secretAlphabet ?? "base64",
    secretLengthMax: row.secretLengthMax ?? null,
    fields: fields.map(asField),
    configFields: config.map(asField),
    example: exampleOf(row),
    needsPublicUrl: scheme.needsPublicUrl,
    form: row.form ?? "never",
    handshakes: [...(row.unsignedHandshakes ?? []), ...(row.signedHandshakes ?? [])].map(
      (handshake) => handshake.text,
    ),
    eventType: row.eventType.text,
    typeExample: `${row.key}.${row.typeExample}`,
    deliveryId: row.deliveryId.text,
    verifiedWith: row.verifiedWith,
    docs: { ...row.docs, pitfalls: [...uncoveredOf(row), ...row.docs.pitfalls] },
    isAwaiting: (material) => isAwaiting(row, fields, material),
    checkSecret: (secret) => scheme.checkSecret(secret),
    checkConfig: (values) => [...faultsOf("config", config, values), ...(row.checkConfig?.(values) ?? [])],
    checkCredentials: (values) => faultsOf("credentials", row.credentials ?? [], values),
    receive: (request, material, nowMs, keys = NO_KEYS, means = PLENTY) =>
      receiveBy(row, { request, material, nowMs, keys }, means),
  };
}

/** One line of a row's `docs`, so that rows stay short. */
export function docs(
  addressAt: string,
  secretAt: string,
  page: string,
  ...pitfalls: readonly string[]
): ProviderDocs {
  return { addressAt, secretAt, page, pitfalls, isChecked: false };
}

/** The same, where both click paths were found in the provider's own words. */
export function checkedDocs(...texts: Parameters<typeof docs>): ProviderDocs {
  return { ...docs(...texts), isChecked: true };
}

/** The provider's own package signs or verifies the requests of the suite. */
export function officialSdk(name: string, version: string): VerifiedWith {
  return { kind: "official_sdk", package: name, version };
}

/** A published library that the provider's page prescribes. */
export function library(name: string, version: string): VerifiedWith {
  return { kind: "library", package: name, version };
}

/** A signed request that the provider published. */
export function vector(page: string): VerifiedWith {
  return { kind: "vector", page };
}

/** Neither code nor vector is to be had: computed a second time, independently, from this page. */
export function documentation(page: string): VerifiedWith {
  return { kind: "documentation", page };
}
