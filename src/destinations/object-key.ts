import type { DestinationConfig, DestinationField, Message } from "./destination.ts";
import { textOf } from "./requests.ts";

/**
 * The names of objects in buckets: a template that holds the `webhook-id`, so that a repeat
 * overwrites itself.
 */

const KEY_TEMPLATE = "{date}/{hour}/{id}.json";
/** What S3 and Cloud Storage take. */
const KEY_BYTES_MAX = 1024;
const PLACEHOLDERS = ["date", "hour", "type", "endpoint_id", "id"];

const optional = { required: false, secret: false, address: false };

/** The two fields of every kind that writes objects. */
export const OBJECT_KEY_FIELDS: readonly DestinationField[] = [
  {
    name: "prefix",
    label: "Prefix",
    help: "Stands before every key, with a slash between, as in webhooks/.",
    ...optional,
    check: checkKeyPart,
  },
  {
    name: "key_template",
    label: "Key template",
    help: `What follows the prefix; ${KEY_TEMPLATE} unless given. Knows {date}, {hour}, {type}, {endpoint_id} and {id}, and must hold {id}.`,
    ...optional,
    check: checkTemplate,
  },
];

function checkTemplate(text: string): string | null {
  const unknown = [...text.matchAll(/\{([^{}]*)\}/g)]
    .map(([, name = ""]) => name)
    .find((name) => !PLACEHOLDERS.includes(name));
  if (unknown !== undefined)
    return `{${unknown}} is unknown; there are ${PLACEHOLDERS.map((name) => `{${name}}`).join(", ")}.`;
  if (!text.includes("{id}")) return "It must hold {id}, or deliveries overwrite one another.";
  return checkKeyPart(text);
}

/** Keys are any text, but a URL folds `.` and `..` away, and an empty segment is left out by some stores. */
function checkKeyPart(text: string): string | null {
  if (/[\p{Cc}\uD800-\uDFFF\uFFFE\uFFFF]/u.test(text)) return "Expected text without control characters.";
  if (Buffer.byteLength(text) > KEY_BYTES_MAX / 2) return `Expected at most ${KEY_BYTES_MAX / 2} bytes.`;
  const segments = text.replace(/^\/|\/$/g, "").split("/");
  return segments.some((segment) => ["", ".", ".."].includes(segment))
    ? "Expected names between slashes, none of them empty, . or .."
    : null;
}

/** The prefix with the slash after it; empty where there is none. */
export function prefixOf(config: DestinationConfig): string {
  const prefix = (textOf(config, "prefix") ?? "").replace(/^\/+|(?<!\/)\/+$/g, "");
  return prefix === "" ? "" : `${prefix}/`;
}

/** `routesByType` of a kind that writes objects. */
export function namesByType(config: DestinationConfig): boolean {
  return (textOf(config, "key_template") ?? KEY_TEMPLATE).includes("{type}");
}

/** The same on every attempt of a delivery. Throws where it would be too long. */
export function objectKeyOf(config: DestinationConfig, message: Message): string {
  const at = new Date(message.createdAt).toISOString();
  const values = new Map([
    ["date", at.slice(0, 10)],
    ["hour", at.slice(11, 13)],
    ["type", message.type],
    ["endpoint_id", message.endpointId],
    ["id", message.id],
  ]);
  const template = (textOf(config, "key_template") ?? KEY_TEMPLATE).replace(/^\/+/, "");
  const key =
    prefixOf(config) + template.replaceAll(/\{(\w+)\}/g, (whole, name: string) => values.get(name) ?? whole);
  const bytes = Buffer.byteLength(key);
  if (bytes > KEY_BYTES_MAX)
    throw new Error(`The key has ${bytes} bytes; at most ${KEY_BYTES_MAX} are taken.`);
  return key;
}

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Stands before every key, with a slash between, as in webhooks/.":
    "Steht vor jedem Schlüssel, mit einem Schrägstrich dazwischen, wie webhooks/.",
  "Key template": "Muster des Schlüssels",
  "What follows the prefix; {date}/{hour}/{id}.json unless given. Knows {date}, {hour}, {type}, {endpoint_id} and {id}, and must hold {id}.":
    "Was auf das Präfix folgt; ohne Angabe {date}/{hour}/{id}.json. Kennt {date}, {hour}, {type}, {endpoint_id} und {id}; {id} muss vorkommen.",
};
