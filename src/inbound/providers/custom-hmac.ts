import {
  choiceConfig,
  type ConfigRule,
  headerConfig,
  pathConfig,
  publicUrlConfig,
  textConfig,
  toleranceConfig,
} from "../config.ts";
import { checkedDocs } from "../define.ts";
import type { Encoding, HashName } from "../digest.ts";
import { derived, type Extractor, type Facts, firstOf, readPath } from "../facts.ts";
import type { Fault } from "../../core/errors.ts";
import type { ProviderRow } from "../row.ts";
import { type DigestRule, hmacScheme } from "../schemes/hmac.ts";
import { whole } from "../schemes/layouts.ts";
import type { Scheme } from "../schemes/scheme.ts";
import { textSecret } from "../secrets.ts";
import { names, parseTemplate, repeats, type Template } from "../template.ts";
import { within } from "../window.ts";
import { WHOLE_BODY } from "../schemes/scheme.ts";

/** `hmac`: a scheme that the customer describes in `config`. */

type Config = Readonly<Record<string, unknown>>;

const ALGORITHMS: readonly HashName[] = ["sha1", "sha256", "sha512"];
const ENCODINGS: readonly Encoding[] = ["hex", "base64", "base64url"];
const TOLERANCE_SECONDS = 300;
const VALUES = ["body", "url", "timestamp", "id"] as const;
type Value = (typeof VALUES)[number];

const SETTINGS: readonly ConfigRule[] = [
  headerConfig("header", "Signature header", "The header that carries the signature.", true),
  choiceConfig("algorithm", "Algorithm", "The hash of the HMAC.", ALGORITHMS, true),
  choiceConfig("encoding", "Encoding", "How the signature is written.", ENCODINGS, true),
  textConfig("prefix", "Prefix", "What stands before the signature, for example sha256=."),
  textConfig(
    "signed_content",
    "Signed content",
    "A template of {body}, {url}, {timestamp} and {id}, each once at most; default {body}.",
  ),
  headerConfig("timestamp_header", "Timestamp header", "The header of {timestamp}."),
  choiceConfig("timestamp_unit", "Timestamp unit", "Seconds or milliseconds; default s.", ["s", "ms"]),
  toleranceConfig,
  headerConfig("id_header", "Id header", "The header that identifies a delivery."),
  pathConfig("id_path", "Id path", "Where the body identifies a delivery."),
  headerConfig("type_header", "Type header", "The header that names the event's type."),
  pathConfig("type_path", "Type path", "Where the body names the event's type."),
  publicUrlConfig,
];

function textOf(config: Config, name: string): string | undefined {
  const value = config[name];
  return typeof value === "string" ? value : undefined;
}

/** The template of `{body}`, `{timestamp}`, `{id}`, `{url}`; null where it names anything else. */
function templateOf(config: Config): Template | null {
  const template = parseTemplate(textOf(config, "signed_content") ?? "{body}");
  return template && !names(template, "secret") && !names(template, "method") ? template : null;
}

/**
 * What is wrong between settings: a template must sign the body, and has each value once, as all of it is
 * work before anything is known to be genuine; id and time must come in a header.
 */
function checkTogether(config: Config): Fault[] {
  const pointer = "/config/signed_content";
  const template = templateOf(config);
  if (!template)
    return [{ pointer, detail: "Only {body}, {timestamp}, {id} and {url} may stand in braces." }];
  const isSigned = names(template, "body");
  return [
    ...(isSigned ? [] : [{ pointer, detail: "The template must hold {body}." }]),
    ...VALUES.flatMap((name) => faultsOfRepeated(template, name)),
    ...faultsOfUnnamed(config, template, "timestamp"),
    ...faultsOfUnnamed(config, template, "id"),
  ];
}

function faultsOfRepeated(template: Template, name: Value): Fault[] {
  const pointer = "/config/signed_content";
  return repeats(template, name) ? [{ pointer, detail: `{${name}} may stand in it only once.` }] : [];
}

/** What the template names must come in a header that is configured. */
function faultsOfUnnamed(config: Config, template: Template, name: "timestamp" | "id"): Fault[] {
  const setting = `${name}_header`;
  if (!names(template, name) || Object.hasOwn(config, setting)) return [];
  return [{ pointer: `/config/${setting}`, detail: `{${name}} needs this header.` }];
}

function ruleOf(config: Config): DigestRule {
  const timestampHeader = textOf(config, "timestamp_header")?.toLowerCase();
  const idHeader = textOf(config, "id_header")?.toLowerCase();
  const tolerance = config["tolerance_seconds"];
  const window = within(typeof tolerance === "number" ? tolerance : TOLERANCE_SECONDS);
  const unit = config["timestamp_unit"] === "ms" ? "ms" : "s";
  return {
    header: textOf(config, "header")?.toLowerCase() ?? "",
    algorithm: ALGORITHMS.find((name) => name === config["algorithm"]) ?? "sha256",
    encoding: ENCODINGS.find((name) => name === config["encoding"]) ?? "hex",
    layout: whole(textOf(config, "prefix")),
    content: textOf(config, "signed_content") ?? "{body}",
    ...(timestampHeader ? { timestamp: { header: timestampHeader, unit, window } } : {}),
    ...(idHeader ? { idHeader } : {}),
    takesAnyBody: true,
  };
}

/**
 * The rule is read from the source's config at each request; `checkConfig` has seen it before it was saved.
 */
const customScheme: Scheme = {
  name: "hmac",
  headers: ["config.header", "config.timestamp_header", "config.id_header"],
  needsPublicUrl: false,
  window: null,
  checks: "HMAC with config.algorithm in config.encoding over config.signed_content",
  covers: WHOLE_BODY,
  secretHelp: textSecret.help,
  secretExample: textSecret.example,
  checkSecret: (text) => (textSecret.decode(text) === null ? "The secret is empty." : null),
  verify: (arrival) => hmacScheme(ruleOf(arrival.material.config)).verify(arrival),
};

/** What `config.<kind>_header` points at where it is signed, else `config.<kind>_path`, else that header. */
function configured(kind: "id" | "type", unsigned: string): Extractor {
  const text = `header config.${kind}_header`;
  const nameOf = ({ arrival }: Facts) =>
    textOf(arrival.material.config, `${kind}_header`)?.toLowerCase() ?? "";
  const signed = derived(text, (facts) => facts.signedHeaders.get(nameOf(facts)) || null);
  const inBody = derived(`body config.${kind}_path`, ({ arrival, body }) => {
    const path = textOf(arrival.material.config, `${kind}_path`);
    return path ? readPath(body, path) : null;
  });
  const any = derived(text, (facts) => {
    const name = nameOf(facts);
    return (name && facts.arrival.request.headers.get(name)) || null;
  });
  return firstOf(signed, inBody, { ...any, unsigned: [`config.${kind}_header${unsigned}`] });
}

export const CUSTOM_HMAC: ProviderRow = {
  key: "hmac",
  name: "Any service, by HMAC",
  scheme: customScheme,
  secretFrom: "source",
  config: SETTINGS,
  checkConfig: checkTogether,
  typeExample: "invoice.paid",
  eventType: configured("type", ""),
  deliveryId: configured("id", " (where signed_content has no {id})"),
  verifiedWith: { kind: "documentation", page: "https://www.rfc-editor.org/rfc/rfc2104" },
  docs: checkedDocs(
    "In the sending service: its page for webhook addresses.",
    "Give it the source's secret, or enter the one that it shows; describe its scheme in config.",
    "https://www.rfc-editor.org/rfc/rfc2104",
    "Without id_header and id_path every request is an event of its own.",
    "Where {url} is signed, it is the source's address, or config.public_url.",
    "timestamp_header protects nothing unless signed_content holds {timestamp}: then whoever has seen a request can send it again with a new time.",
    "A header that is not signed gives type or identity only where the body's path gives none. Whoever has seen such a request can send it again as another event.",
    "Where nothing parts {id}, {url} and {body} in signed_content, a genuine request could be cut elsewhere, and be another event under the same signature. So such a signed text is taken for 30 days only as it was cut first: the provider may send it again; cut elsewhere it is refused (body_altered).",
    "When these 30 days are over, whoever has seen such a request can send it again, cut elsewhere too, unless {timestamp} is signed and no time in it is recent.",
    "White space in signed_content parts them all; anything else that stands directly beside {id} parts it from {body}. An id that holds white space, or what stands beside it, is refused (malformed).",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Signature header": "Header der Signatur",
  Algorithm: "Algorithmus",
  Encoding: "Kodierung",
  "Signed content": "Signierter Inhalt",
  "Timestamp header": "Header des Zeitstempels",
  "Timestamp unit": "Einheit des Zeitstempels",
  "Id header": "Header der Id",
  "Id path": "Pfad der Id",
  "Type header": "Header des Typs",
  "Type path": "Pfad des Typs",
  "Give it the source's secret, or enter the one that it shows; describe its scheme in config.":
    "Geben Sie ihm das Geheimnis der Quelle, oder tragen Sie seines ein; sein Verfahren beschreiben Sie in den Feldern.",
  "The header that carries the signature.": "Der Header, der die Signatur trägt.",
  "The hash of the HMAC.": "Das Hash-Verfahren des HMAC.",
  "How the signature is written.": "Wie die Signatur geschrieben ist.",
  "What stands before the signature, for example sha256=.": "Was vor der Signatur steht, etwa sha256=.",
  "A template of {body}, {url}, {timestamp} and {id}, each once at most; default {body}.":
    "Ein Muster aus {body}, {url}, {timestamp} und {id}, jedes höchstens einmal; ohne Angabe {body}.",
  "The header of {timestamp}.": "Der Header von {timestamp}.",
  "Seconds or milliseconds; default s.": "Sekunden oder Millisekunden; ohne Angabe s.",
  "The header that identifies a delivery.": "Der Header, der eine Zustellung kennzeichnet.",
  "Where the body identifies a delivery.": "Wo der Inhalt eine Zustellung kennzeichnet.",
  "The header that names the event's type.": "Der Header, der den Typ des Ereignisses nennt.",
  "Where the body names the event's type.": "Wo der Inhalt den Typ des Ereignisses nennt.",
};
