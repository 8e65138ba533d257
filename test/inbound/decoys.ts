import type { InboundRequest } from "../../src/inbound/provider.ts";
import { requestOf, textOf } from "./kit.ts";

/** Genuine requests with decoys: the fields of their proof once more, where another reader could look. */

type Members = Record<string, unknown>;

/** Stand for what JSON.stringify cannot write: a number that loses digits, a name with an escape. */
const INEXACT = "#inexact#";
const ESCAPED = "#escaped#";

const VALUES = [INEXACT, "", "decoy", 7, null, [], ["decoy"], {}];

function spelled(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll(JSON.stringify(INEXACT), "100000000000000000000")
    .replace(new RegExp(`${ESCAPED}(.)`, "g"), (_all, letter: string) => {
      return `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
    });
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Every value that `change` makes of one of the objects in `value`, the others as they are. */
function changedObjects(value: unknown, change: (object: Members) => unknown[]): unknown[] {
  if (Array.isArray(value))
    return value.flatMap((element, at) =>
      changedObjects(element, change).map((changed) => value.with(at, changed)),
    );
  if (!isMembers(value)) return [];
  const within = Object.entries(value).flatMap(([name, member]) =>
    changedObjects(member, change).map((changed) => ({ ...value, [name]: changed })),
  );
  return [...change(value), ...within];
}

/** Beside what is there, by the same name with an escape too: readers take the first, or the last. */
function added(object: Members, names: readonly string[]): Members[] {
  return names.flatMap((name) =>
    VALUES.flatMap((value) => {
      const escaped = { [ESCAPED + name]: value };
      const twice = [
        { ...object, ...escaped },
        { ...escaped, ...object },
      ];
      if (Object.hasOwn(object, name)) return twice;
      return [...twice, { ...object, [name]: value }, { [name]: value, ...object }];
    }),
  );
}

function only(object: Members, names: readonly string[]): Members {
  return Object.fromEntries(Object.entries(object).filter(([name]) => names.includes(name)));
}

function decoysFor(names: readonly string[], value: unknown): Members {
  return Object.fromEntries(names.map((name) => [name, value]));
}

/** What proves goes up out of a member, one field or all, and decoys take its place there. */
function lifted(object: Members, names: readonly string[]): Members[] {
  return Object.entries(object).flatMap(([holder, held]) => {
    if (!isMembers(held)) return [];
    const genuine = only(held, names);
    const free = Object.keys(genuine).filter((name) => !Object.hasOwn(object, name));
    const moves = [...free.map((name) => [name]), ...(free.length > 1 ? [free] : [])];
    return moves.flatMap((moved) =>
      VALUES.map((value) => ({
        ...object,
        ...only(genuine, free),
        [holder]: { ...held, ...decoysFor(moved, value) },
      })),
    );
  });
}

/** One field of the proof goes down into an object of its own name, with decoys of the others beside it. */
function lowered(object: Members, names: readonly string[]): Members[] {
  const present = names.filter((name) => Object.hasOwn(object, name) && !isMembers(object[name]));
  return present.flatMap((holder) =>
    names.flatMap((other) =>
      VALUES.map((value) => ({ ...object, [holder]: { [other]: value, [holder]: object[holder] } })),
    ),
  );
}

function decoyedJson(text: string, names: readonly string[]): string[] {
  const change = (object: Members) =>
    [added, lifted, lowered].flatMap((make) => make(object, names) as unknown[]);
  return changedObjects(JSON.parse(text), change).map(spelled);
}

interface Field {
  readonly name: string;
  readonly text: string;
  readonly isFile?: true;
}

function inForm(fields: readonly Field[], type: string): InboundRequest {
  const pairs = fields.map(({ name, text }): [string, string] => [name, text]);
  const body = new URLSearchParams(pairs).toString();
  return requestOf({ body, headers: { "content-type": type } });
}

function inParts(fields: readonly Field[]): InboundRequest {
  const parts = fields.map(({ name, text, isFile }) => {
    const file = isFile ? '; filename="f"' : "";
    return `--b0\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${text}\r\n`;
  });
  const headers = { "content-type": "multipart/form-data; boundary=b0" };
  return requestOf({ body: `${parts.join("")}--b0--\r\n`, headers });
}

function decoyedFields(fields: readonly Field[], names: readonly string[]): Field[][] {
  const decoys = names.flatMap((name) =>
    [name, `${name}[]`, `signature.${name}`, `signature[${name}]`].flatMap((each): Field[] => [
      { name: each, text: "" },
      { name: each, text: "decoy" },
      { name: each, text: "100000000000000000000" },
      { name: each, text: "decoy", isFile: true },
      { name: each, text: "", isFile: true },
    ]),
  );
  const beside = decoys.flatMap((decoy) => [
    [decoy, ...fields],
    [...fields, decoy],
  ]);
  const asFile = fields.map((field, at): Field[] => fields.with(at, { ...field, isFile: true }));
  const within = fields.flatMap((field, at) => {
    if (!/^[{[]/.test(field.text)) return [];
    return decoyedJson(field.text, names).map((text) => fields.with(at, { ...field, text }));
  });
  return [...beside, ...asFile, ...within];
}

/** The request with one decoy each; a form also in parts, where a field may be a file. */
export async function decoyed(request: InboundRequest, names: readonly string[]): Promise<InboundRequest[]> {
  const type = request.headers.get("content-type") ?? "";
  const withHeaders = (other: InboundRequest) => ({
    ...request,
    body: other.body,
    headers: new Map([
      ...(request.headers as Map<string, string>),
      ...(other.headers as Map<string, string>),
    ]),
  });
  if (/json/.test(type) || /^[{[]/.test(textOf(request)))
    return decoyedJson(textOf(request), names).map((body) =>
      withHeaders(requestOf({ body, headers: { "content-type": type } })),
    );
  const sent = await new Response(request.body.slice(), { headers: { "content-type": type } }).formData();
  const fields = [...sent].map(([name, value]) => ({ name, text: typeof value === "string" ? value : "" }));
  const all = decoyedFields(fields, names);
  const isInParts = type.startsWith("multipart/");
  const forms = isInParts ? [] : all.filter((each) => !each.some(({ isFile }) => isFile));
  return [...forms.map((each) => inForm(each, type)), ...all.map(inParts)].map(withHeaders);
}
