import type { SecretKeys } from "./core/cipher.ts";
import { HTTP_TOKEN } from "./core/http-token.ts";
import { CELL_FORM } from "./core/ids.ts";
import { isObject } from "./core/json/value.ts";
import { DURABILITIES, type Durability } from "./core/model.ts";
import { BUILT_IN_PLANS, findPlan, type Plan, type Plans } from "./core/plans.ts";
import { type SamplerName, SAMPLERS } from "./core/trace-context.ts";
import { LOG_LEVELS, type LogLevel } from "./platform/log.ts";
import { parseCidr } from "./transport/addresses.ts";

/** Settings are environment variables, read once and checked all together. */

export interface Config {
  port: number;
  host: string;
  dataDir: string;
  baseUrl: string;
  /** 32 bytes each; the first encrypts. Null: one is made in the data directory. */
  secretKeys: SecretKeys | null;
  operatorToken: string | null;
  metricsToken: string | null;
  allowPrivateDestinations: readonly string[];
  cell: string;
  publishRateLimit: number;
  managementRateLimit: number;
  ingestRateLimit: number;
  durability: Durability;
  plans: Plans;
  logLevel: LogLevel;
  /** Where spans are sent; null: nothing is traced. */
  tracesEndpoint: string | null;
  tracesHeaders: Readonly<Record<string, string>>;
  tracesServiceName: string;
  tracesSampler: SamplerName;
  tracesRatio: number;
}

/** Thrown by a row whose text is wrong: one sentence. */
class SettingError extends Error {}

/** What is said of a setting. */
export interface Described {
  name: string;
  about: string;
  /** As text, for the docs. */
  defaultText: string;
  example: string;
}

interface Setting<T> extends Described {
  read: (text: string | undefined) => T;
}

function integer(from: number, to: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= from && value <= to) return value;
    throw new SettingError(`must be a whole number from ${from} to ${to}`);
  };
}

function readKeys(text: string): SecretKeys {
  const keys = text.split(",").map((part) => {
    const bytes = Buffer.from(part.trim(), "base64");
    if (bytes.length !== 32 || bytes.toString("base64") !== part.trim()) {
      throw new SettingError("must be 32 bytes in base64, or several of them separated by commas");
    }
    return new Uint8Array(bytes);
  });
  const [first, ...others] = keys;
  if (!first) throw new SettingError("must not be empty");
  return [first, ...others];
}

function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new SettingError("must be an http or https URL without query, fragment and user");
  }
  return url.href.replace(/(?<!\/)\/+$/, "");
}

function readCidrs(text: string): string[] {
  const parts = text.split(",").map((part) => part.trim());
  for (const part of parts) {
    if (parseCidr(part) === null) throw new SettingError("must be CIDR ranges separated by commas");
  }
  return parts;
}

function readPlans(text: string): Plans {
  let rows: unknown;
  try {
    rows = JSON.parse(text);
  } catch {
    throw new SettingError("must be JSON");
  }
  if (!isObject(rows)) throw new SettingError("must be a JSON object of plans");
  const named = Object.entries(rows).map(([name, row]) => {
    return [name, readPlan(name, row, findPlan(BUILT_IN_PLANS, name))] as const;
  });
  return Object.fromEntries([...Object.entries(BUILT_IN_PLANS), ...named]);
}

function readPlan(name: string, row: unknown, builtIn: Plan | undefined): Plan {
  const fields = isObject(row) ? row : {};
  const {
    deliveries = builtIn?.deliveries ?? null,
    blocks = builtIn?.blocks ?? false,
    retention_days,
    body_retention_days,
    attempt_retention_days,
    ...others
  } = fields;
  const retentionDays = Number(retention_days ?? builtIn?.retentionDays ?? 30);
  const earlier = [body_retention_days, attempt_retention_days].filter((days) => days !== undefined);
  const isCount = deliveries === null || (Number.isInteger(deliveries) && Number(deliveries) >= 0);
  const isDays = (days: unknown) => Number.isInteger(days) && Number(days) >= 1;
  if (
    !isCount ||
    typeof blocks !== "boolean" ||
    !isDays(retention_days ?? retentionDays) ||
    !earlier.every((days) => isDays(days) && Number(days) <= retentionDays) ||
    Object.keys(others).length > 0 ||
    fields !== row
  ) {
    throw new SettingError(
      `plan ${JSON.stringify(name)} must be {"deliveries": number or null, "blocks": boolean, "retention_days": number}, ` +
        "and may have body_retention_days and attempt_retention_days of at most retention_days",
    );
  }
  return {
    deliveries: deliveries as number | null,
    blocks,
    retentionDays,
    ...(body_retention_days !== undefined && { bodyRetentionDays: Number(body_retention_days) }),
    ...(attempt_retention_days !== undefined && { attemptRetentionDays: Number(attempt_retention_days) }),
  };
}

/** As the specification of OTLP has them: like the header `baggage`, values percent-encoded. */
function readHeaders(text: string): Record<string, string> {
  const pairs = text.split(",").map((part): [string, string] => {
    const [name = "", value = ""] = part.split(/=(.*)/s).map((one) => one.trim());
    return [name.toLowerCase(), decode(value)];
  });
  if (pairs.every(([name, value]) => HTTP_TOKEN.test(name) && /^[\x20-\x7e]+$/.test(value)))
    return Object.fromEntries(pairs);
  throw new SettingError("must be NAME=VALUE pairs separated by commas, values percent-encoded");
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

function readRatio(text: string): number {
  if (/^(0|1|[01]?\.\d+)$/.test(text) && Number(text) <= 1) return Number(text);
  throw new SettingError("must be a number from 0 to 1");
}

function matching(pattern: RegExp, must: string): (value: string) => string {
  return (value) => {
    if (pattern.test(value)) return value;
    throw new SettingError(must);
  };
}

function oneOf<Word extends string>(words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const word = words.find((known) => known === text);
    if (word !== undefined) return word;
    throw new SettingError(`must be one of ${words.join(", ")}`);
  };
}

function setting<T>(row: Omit<Setting<T>, "read"> & { fallback: T; parse: (text: string) => T }): Setting<T> {
  const { fallback, parse, ...rest } = row;
  return { ...rest, read: (value) => (value === undefined || value === "" ? fallback : parse(value)) };
}

const RATE = integer(0, 1_000_000);

/** The one table of settings. */
export const SETTINGS = {
  port: setting({
    name: "SEALPOST_PORT",
    about: "Port to listen on; 0 takes a free one, and needs SEALPOST_BASE_URL for links that lead to it.",
    defaultText: "8080",
    example: "8080",
    fallback: 8080,
    parse: integer(0, 65_535),
  }),
  host: setting({
    name: "SEALPOST_HOST",
    about: "Address to listen on.",
    defaultText: "0.0.0.0",
    example: "127.0.0.1",
    fallback: "0.0.0.0",
    parse: matching(/^[A-Za-z0-9.:-]+$/, "must be an address or host name"),
  }),
  dataDir: setting({
    name: "SEALPOST_DATA_DIR",
    about: "Directory of the database sealpost.db; made where it is missing.",
    defaultText: "./data",
    example: "/data",
    fallback: "./data",
    parse: matching(/^[^\0]+$/, "must be a path"),
  }),
  baseUrl: setting<string | null>({
    name: "SEALPOST_BASE_URL",
    about:
      "Where this service is reached from outside: portal links, and ingest addresses that a provider signs, begin with it. Where it begins with https, answers tell browsers to stay there (HSTS).",
    defaultText: "http://localhost:<port>",
    example: "https://hooks.example.com",
    fallback: null,
    parse: readBaseUrl,
  }),
  secretKeys: setting<SecretKeys | null>({
    name: "SEALPOST_SECRET_KEY",
    about:
      "32 bytes in base64 that encrypt secrets and credentials at rest. Several, separated by commas, to rotate: the first encrypts, all of them decrypt. Unset: one is made in the data directory, which the replica does not hold: back it up.",
    defaultText: "made at the first start",
    example: "$(openssl rand -base64 32)",
    fallback: null,
    parse: readKeys,
  }),
  operatorToken: setting<string | null>({
    name: "SEALPOST_OPERATOR_TOKEN",
    about:
      "Bearer token of operator calls and /metrics, at least 16 characters. Unset: operator calls are off, and the first start makes an account and prints its keys.",
    defaultText: "none",
    example: "$(openssl rand -hex 32)",
    fallback: null,
    parse: matching(/^[\x21-\x7e]{16,}$/, "must be at least 16 visible ASCII characters"),
  }),
  metricsToken: setting<string | null>({
    name: "SEALPOST_METRICS_TOKEN",
    about:
      "Bearer token of /metrics alone, at least 16 characters, for a scraper that needs no more. Unset: only the operator's token reads them.",
    defaultText: "none",
    example: "$(openssl rand -hex 32)",
    fallback: null,
    parse: matching(/^[\x21-\x7e]{16,}$/, "must be at least 16 visible ASCII characters"),
  }),
  allowPrivateDestinations: setting<readonly string[]>({
    name: "SEALPOST_ALLOW_PRIVATE_DESTINATIONS",
    about:
      "CIDR ranges, separated by commas, that destinations may lie in although they are not public. Addresses only, never names.",
    defaultText: "none",
    example: "127.0.0.0/8,10.1.0.0/16",
    fallback: [],
    parse: readCidrs,
  }),
  cell: setting({
    name: "SEALPOST_CELL",
    about:
      "Two characters in every id, key and token that say which installation made it, for a router in front of several.",
    defaultText: "00",
    example: "7K",
    fallback: "00",
    parse: matching(CELL_FORM, "must be two characters of 0-9 A-Z without I, L, O, U"),
  }),
  publishRateLimit: setting({
    name: "SEALPOST_PUBLISH_RATE_LIMIT",
    about: "Events a second that a project may publish; 0: no limit.",
    defaultText: "1000",
    example: "5000",
    fallback: 1000,
    parse: RATE,
  }),
  managementRateLimit: setting({
    name: "SEALPOST_MANAGEMENT_RATE_LIMIT",
    about: "Management requests a second for each key; 0: no limit.",
    defaultText: "100",
    example: "200",
    fallback: 100,
    parse: RATE,
  }),
  ingestRateLimit: setting({
    name: "SEALPOST_INGEST_RATE_LIMIT",
    about: "Requests a second for each inbound source, unless the source says otherwise; 0: no limit.",
    defaultText: "100",
    example: "500",
    fallback: 100,
    parse: RATE,
  }),
  durability: setting<Durability>({
    name: "SEALPOST_DURABILITY",
    about:
      "What a publish or an ingest is answered after: `disk`, once the event is on this machine's disk, or `replica`, once Litestream has uploaded it too. A request says otherwise by its header `sealpost-durability`, a source by its `durability`.",
    defaultText: "disk",
    example: "replica",
    fallback: "disk",
    parse: oneOf(DURABILITIES),
  }),
  plans: setting<Plans>({
    name: "SEALPOST_PLANS",
    about: "Plans as JSON, over and beside the built-in free, pro and unlimited.",
    defaultText: "the built-in plans",
    example: '{"free": {"deliveries": 10000, "blocks": true, "retention_days": 7}}',
    fallback: BUILT_IN_PLANS,
    parse: readPlans,
  }),
  logLevel: setting<LogLevel>({
    name: "SEALPOST_LOG_LEVEL",
    about: `Least level of what is logged: ${LOG_LEVELS.join(", ")}.`,
    defaultText: "info",
    example: "warn",
    fallback: "info",
    parse: oneOf(LOG_LEVELS),
  }),
  tracesEndpoint: setting<string | null>({
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    about:
      "Base URL of a collector of OpenTelemetry, which gets the spans of events by OTLP over HTTP in JSON, at /v1/traces below it. Unset: nothing is traced.",
    defaultText: "none",
    example: "http://localhost:4318",
    fallback: null,
    parse: readBaseUrl,
  }),
  tracesHeaders: setting<Readonly<Record<string, string>>>({
    name: "OTEL_EXPORTER_OTLP_HEADERS",
    about: "Headers for the collector, such as its credentials: NAME=VALUE, separated by commas.",
    defaultText: "none",
    example: "api-key=abc",
    fallback: {},
    parse: readHeaders,
  }),
  tracesServiceName: setting({
    name: "OTEL_SERVICE_NAME",
    about: "The service that spans name.",
    defaultText: "sealpost",
    example: "webhooks-eu",
    fallback: "sealpost",
    parse: matching(/^.{1,255}$/, "must be at most 255 characters in one line"),
  }),
  tracesSampler: setting<SamplerName>({
    name: "OTEL_TRACES_SAMPLER",
    about: `Which traces are recorded: one of ${SAMPLERS.join(", ")}. Those with parentbased do as the publisher's traceparent says, where it sends one.`,
    defaultText: "parentbased_always_on",
    example: "parentbased_traceidratio",
    fallback: "parentbased_always_on",
    parse: oneOf(SAMPLERS),
  }),
  tracesRatio: setting({
    name: "OTEL_TRACES_SAMPLER_ARG",
    about: "Of the samplers by ratio: which part of the traces is recorded, from 0 to 1.",
    defaultText: "1",
    example: "0.05",
    fallback: 1,
    parse: readRatio,
  }),
} as const;

/** Read by the commands that talk to an installation (src/client/); the service leaves them alone. */
export const CLIENT_SETTINGS: Readonly<Record<"url" | "apiKey", Described>> = {
  url: {
    name: "SEALPOST_URL",
    about: "Where the installation is whose key SEALPOST_API_KEY is.",
    defaultText: "http://localhost:8080",
    example: "https://hooks.example.com",
  },
  apiKey: {
    name: "SEALPOST_API_KEY",
    about: "A key of a project, for commands that name no --profile.",
    defaultText: "that of the profile default, which `sealpost login` keeps",
    example: "sp_test_…",
  },
};

export type ConfigResult = { ok: true; config: Config } | { ok: false; problems: string[] };

/**
 * Reads and checks every setting; all that is wrong is said at once, each with an example. Never repeats
 * a secret.
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): ConfigResult {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [key, row] of Object.entries(SETTINGS)) {
    try {
      values[key] = row.read(env[row.name]);
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      problems.push(`${row.name} ${error.message}, for example ${row.name}=${row.example}`);
    }
  }
  const known = new Set(Object.values(SETTINGS).map((row) => row.name));
  const others = new Set(Object.values(CLIENT_SETTINGS).map((row) => row.name));
  for (const name of Object.keys(env)) {
    if (name.startsWith("SEALPOST_") && !known.has(name) && !others.has(name))
      problems.push(`${name} is no setting of Sealpost${hint(name, known)}`);
  }
  if (problems.length > 0) return { ok: false, problems };
  const config = values as unknown as Config & { baseUrl: string | null };
  return { ok: true, config: { ...config, baseUrl: config.baseUrl ?? `http://localhost:${config.port}` } };
}

/** The known name that an unknown one resembles most, for example SEALPOST_PORT for SEALPOST_PROT. */
function hint(name: string, known: ReadonlySet<string>): string {
  const letters = (text: string) => [...text].sort().join("");
  const near = [...known].find(
    (one) => letters(one) === letters(name) || one.startsWith(name) || name.startsWith(one),
  );
  return near ? `; did you mean ${near}?` : `; for example SEALPOST_PORT=8080 is one`;
}
