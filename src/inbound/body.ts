import { depthOf } from "../core/json/json.ts";
import { skim, type Wanted } from "../core/json/skim.ts";
import { limit } from "../core/limits.ts";
import { byName, Escaped, type Fields, readFormFields } from "./form.ts";
import { type FormPart, readParts } from "./parts.ts";
import type { InboundRequest } from "./provider.ts";
import { decodeUtf8, readableText } from "./utf8.ts";

/** The body of a verified request, as it becomes `data` of an event. */
export interface Body {
  /** What its bytes are: JSON, a form, a form in parts (multipart), or any other text. */
  readonly kind: "json" | "form" | "parts" | "text";
  /** Of a form in parts. */
  readonly parts?: readonly FormPart[];
  /** What paths of a row are read from: the JSON value, the form's fields, or undefined. */
  readonly value: unknown;
  /** Text of the JSON whose value this is (of the whole body, or of the object of a form's fields). */
  readonly text: string;
  /** `data` of the event: the text of a JSON object. */
  readonly data: string;
}

/** True for a JSON object or array: no part of one is another. */
export function isJsonContainer({ kind, text }: Body): boolean {
  return kind === "json" && /^[{[]/.test(text);
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
  const data = JSON.stringify({ raw: readableText(bytes) });
  return { kind: "text", value: undefined, text: "", data };
}

/** `readBody` for what is JSON, where nothing else is taken; null where it is none. */
export function readJson(bytes: Uint8Array): Body | null {
  const text = decodeUtf8(bytes)?.trim();
  const parsed = text === undefined ? null : tryJson(text);
  return parsed && text !== undefined
    ? { kind: "json", value: parsed.value, text, data: dataOf(parsed.value, text) }
    : null;
}

/**
 * What a body says of itself, of which so much is read as proves it (`skim` says how): all else is read only
 * once it is genuine, as a stranger's may have a hundred thousand members.
 */
export function readUnproven(bytes: Uint8Array, wanted: Wanted, elementsMax: number): unknown {
  const text = decodeUtf8(bytes)?.trim();
  return text === undefined ? undefined : skim(text, wanted, elementsMax);
}

/** A value with its JSON text where that was sent; null: the text is made of the value. */
interface Spelled {
  readonly value: unknown;
  readonly text: string | null;
}

/** One field: as it is where it holds JSON by custom, else a string; of what is no text, its bytes. */
function spelledField(name: string, value: string | Escaped): Spelled {
  if (value instanceof Escaped) return { value: { base64: value.bytes().toString("base64") }, text: null };
  const parsed = JSON_FIELDS.has(name) ? tryJson(value) : null;
  return parsed ? { value: parsed.value, text: value.trim() } : { value, text: null };
}

function joinedValue(all: readonly Spelled[]): unknown {
  return all.length === 1 ? all[0]?.value : all.map(({ value }) => value);
}

function joinedText(all: readonly Spelled[]): string {
  const texts = all.map(({ value, text }) => text ?? JSON.stringify(value));
  return texts.length === 1 ? texts.join("") : `[${texts.join(",")}]`;
}

function textOf(fields: Fields<Spelled>): string {
  return `{${[...fields].map(([name, all]) => `${JSON.stringify(name)}:${joinedText(all)}`).join(",")}}`;
}

/**
 * An object of fields, each of which was parsed; a name that came again is an array. Its text, most of the
 * work, is made when it is asked for: where the proof stands in the body, only of what is genuine.
 */
function formBody(fields: Fields<Spelled>, parts?: readonly FormPart[]): Body {
  let made: string | null = null;
  const text = () => (made ??= textOf(fields));
  return {
    kind: parts ? "parts" : "form",
    ...(parts && { parts }),
    value: Object.fromEntries([...fields].map(([name, all]) => [name, joinedValue(all)])),
    get text() {
      return text();
    },
    get data() {
      return text();
    },
  };
}

function readFields(request: Pick<InboundRequest, "body">): Body | null {
  const fields = readFormFields(request);
  if (fields === null || fields.size === 0) return null;
  const spelled = new Map<string, Spelled[]>();
  for (const [name, values] of fields)
    spelled.set(
      name,
      values.map((value) => spelledField(name, value)),
    );
  return formBody(spelled);
}

/** The field of a part: its text, or the part itself where that is a file, no text, or more than one. */
function fieldOf(part: FormPart): string | FormPart {
  const isField = part.filename === null && part.head === null;
  return (isField ? decodeUtf8(part.content) : null) ?? part;
}

/**
 * A form's fields, of either kind of form, none of which is parsed; null where it is none. Files are among
 * them, as they are in `readBody`: a name that comes as a text and as a file came twice.
 */
export function readUnparsedFields(
  request: Pick<InboundRequest, "body">,
): Fields<string | Escaped | FormPart> | null {
  const form = readFormFields(request);
  if (form) return form;
  const parts = readParts(request.body);
  return parts && byName(parts.map((part) => [part.name, fieldOf(part)]));
}

function readPartsBody(bytes: Uint8Array): Body | null {
  const parts = readParts(bytes);
  if (!parts) return null;
  const fields = parts.map((part) => {
    const field = fieldOf(part);
    return [
      part.name,
      typeof field === "string" ? spelledField(part.name, field) : spelledFile(field),
    ] as const;
  });
  return formBody(byName(fields), parts);
}

function spelledFile({ filename, contentType, head, content }: FormPart): Spelled {
  const base64 = Buffer.from(content).toString("base64");
  const file = { filename, content_type: contentType, base64 };
  return { value: head === null ? file : { ...file, head }, text: null };
}

/**
 * Reads a body by its bytes alone: nobody signs the content type, so another one makes no other event of a
 * request. What is neither JSON of the permitted depth in valid UTF-8 nor a form becomes `{"raw": …}`.
 */
export function readBody(request: Pick<InboundRequest, "body">): Body {
  const { body } = request;
  return readJson(body) ?? readFields(request) ?? readPartsBody(body) ?? rawBody(body);
}
