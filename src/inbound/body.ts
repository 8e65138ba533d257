import { depthOf } from "../core/json.ts";
import { limit } from "../core/limits.ts";
import { isTooLong } from "./form.ts";

/** The body of a verified request, as contract section 8 turns it into `data`. */
export interface Body {
  /** What paths of a row are read from: the JSON value, the form's fields, or undefined. */
  readonly value: unknown;
  /** Text of the JSON whose value this is (of the whole body, or of the object of a form's fields). */
  readonly text: string;
  /** `data` of the event: the text of a JSON object. */
  readonly data: string;
}

/** Form fields that hold JSON by custom: GitHub and Slack, Dropbox Sign, Mandrill. */
const JSON_FIELDS = new Set(["payload", "json", "mandrill_events"]);

function tryJson(text: string): { value: unknown } | null {
  if (depthOf(text) > limit("jsonDepthMax")) return null;
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
}

const STRICT_UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return STRICT_UTF8.decode(bytes);
  } catch {
    return null;
  }
}

function dataOf(value: unknown, text: string): string {
  if (Array.isArray(value)) return `{"items":${text}}`;
  return typeof value === "object" && value !== null ? text : `{"value":${text}}`;
}

function rawBody(bytes: Uint8Array): Body {
  return { value: undefined, text: "", data: JSON.stringify({ raw: new TextDecoder().decode(bytes) }) };
}

function readJson(bytes: Uint8Array): Body {
  const text = decodeUtf8(bytes)?.trim();
  const parsed = text === undefined ? null : tryJson(text);
  return parsed && text !== undefined
    ? { value: parsed.value, text, data: dataOf(parsed.value, text) }
    : rawBody(bytes);
}

/** The JSON text of one field: as it is where the field holds JSON by custom, else as a string. */
function fieldText(name: string, value: string): string {
  const holdsJson = JSON_FIELDS.has(name) && tryJson(value) !== null;
  return holdsJson ? value.trim() : JSON.stringify(value);
}

/** An object of fields from texts of JSON; a name that comes again becomes an array. */
function formBody(fields: readonly (readonly [string, string])[]): Body {
  const byName = new Map<string, string[]>();
  for (const [name, text] of fields) {
    const texts = byName.get(name);
    if (texts) texts.push(text);
    else byName.set(name, [text]);
  }
  const members = [...byName].map(([name, texts]) => {
    const text = texts.length === 1 ? texts[0] : `[${texts.join(",")}]`;
    return `${JSON.stringify(name)}:${text}`;
  });
  const text = `{${members.join(",")}}`;
  return { value: JSON.parse(text), text, data: text };
}

async function readMultipart(bytes: Uint8Array, contentType: string): Promise<Body> {
  const response = new Response(bytes.slice(), { headers: { "content-type": contentType } });
  const form = await response.formData().catch(() => null);
  if (!form) return rawBody(bytes);
  const fields = [...form].map(async ([name, value]) => {
    const text = typeof value === "string" ? fieldText(name, value) : await fileText(value);
    return [name, text] as const;
  });
  return formBody(await Promise.all(fields));
}

async function fileText(file: File): Promise<string> {
  const base64 = Buffer.from(await file.arrayBuffer()).toString("base64");
  return JSON.stringify({ filename: file.name, content_type: file.type, base64 });
}

/** No form looks like it: what a sender calls a form by mistake (`curl -d` does) is the JSON that it is. */
function readMisnamedJson(text: string): Body | null {
  const trimmed = text.trim();
  const parsed = /^[{[]/.test(trimmed) ? tryJson(trimmed) : null;
  return parsed && { value: parsed.value, text: trimmed, data: dataOf(parsed.value, trimmed) };
}

/**
 * Reads a body by its content type. JSON is tried whatever the type says (SNS sends it as text/plain). What is neither a form
 * nor JSON of the permitted depth in valid UTF-8 becomes `{"raw": …}`.
 */
export async function readBody(bytes: Uint8Array, contentType: string): Promise<Body> {
  const type = contentType.toLowerCase();
  if (type.startsWith("multipart/form-data")) return readMultipart(bytes, contentType);
  if (!type.startsWith("application/x-www-form-urlencoded")) return readJson(bytes);
  const text = decodeUtf8(bytes);
  if (text === null || isTooLong(text)) return rawBody(bytes);
  const fields = [...new URLSearchParams(text)].map(
    ([name, value]) => [name, fieldText(name, value)] as const,
  );
  return readMisnamedJson(text) ?? formBody(fields);
}
