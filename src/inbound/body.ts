import { depthOf } from "../core/json/json.ts";
import { limit } from "../core/limits.ts";
import { byName, type Fields, isForm, readForm } from "./form.ts";
import { decodeUtf8 } from "./utf8.ts";

/** The body of a verified request, as it becomes `data` of an event. */
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

/** An object of fields from texts of JSON; a name that came again is an array. */
function formBody(fields: Fields<string>): Body {
  const members = [...fields].map(([name, texts]) => {
    const text = texts.length === 1 ? texts[0] : `[${texts.join(",")}]`;
    return `${JSON.stringify(name)}:${text}`;
  });
  const text = `{${members.join(",")}}`;
  return { value: JSON.parse(text), text, data: text };
}

/** Each part of a multipart form names its field with it. */
const PART = /^content-disposition:/gim;

/**
 * True where a form has more parts than are worked through; counted before they are taken apart, which
 * costs most.
 */
function hasTooManyParts(bytes: Uint8Array): boolean {
  const parts = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1").matchAll(PART);
  const max = limit("formFieldsMax");
  return [...parts.take(max + 1)].length > max;
}

async function readMultipart(bytes: Uint8Array, contentType: string): Promise<Body> {
  const misnamed = readMisnamedJson(bytes);
  if (misnamed || hasTooManyParts(bytes)) return misnamed ?? rawBody(bytes);
  const response = new Response(bytes.slice(), { headers: { "content-type": contentType } });
  const form = await response.formData().catch(() => null);
  if (!form) return rawBody(bytes);
  const fields = [...form].map(async ([name, value]) => {
    const text = typeof value === "string" ? fieldText(name, value) : await fileText(value);
    return [name, text] as const;
  });
  return formBody(byName(await Promise.all(fields)));
}

async function fileText(file: File): Promise<string> {
  const base64 = Buffer.from(await file.arrayBuffer()).toString("base64");
  return JSON.stringify({ filename: file.name, content_type: file.type, base64 });
}

const SPACE = 0x20;
/** `{` and `[`. */
const OPENING = [0x7b, 0x5b];

/** No form looks like it: what a sender calls a form by mistake (`curl -d` does) is the JSON that it is. */
function readMisnamedJson(bytes: Uint8Array): Body | null {
  const first = bytes.find((byte) => byte > SPACE);
  const body = first !== undefined && OPENING.includes(first) ? readJson(bytes) : null;
  return body?.value === undefined ? null : body;
}

function readFields(bytes: Uint8Array): Body {
  const fields = readForm(bytes);
  if (fields === null) return rawBody(bytes);
  const texts = [...fields].map(
    ([name, values]) => [name, values.map((value) => fieldText(name, value))] as const,
  );
  return readMisnamedJson(bytes) ?? formBody(new Map(texts));
}

/**
 * Reads a body by its content type. JSON is tried whatever the type says (SNS sends it as text/plain). What
 * is neither a form nor JSON of the permitted depth in valid UTF-8 becomes `{"raw": …}`.
 */
export async function readBody(bytes: Uint8Array, contentType: string): Promise<Body> {
  if (isForm(contentType)) return readFields(bytes);
  const isMultipart = contentType.toLowerCase().startsWith("multipart/form-data");
  return isMultipart ? readMultipart(bytes, contentType) : readJson(bytes);
}
