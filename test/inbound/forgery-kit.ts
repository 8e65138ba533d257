import { valueEnd } from "../../src/core/json/json.ts";
import type { HandshakeAnswer, InboundRequest } from "../../src/inbound/provider.ts";
import { headersIn, requestOf, textOf, withBody, withHeader, withUrl } from "./kit.ts";

/** Requests as a forger would make them, from what is to be had without the secret. */

const FORM = "application/x-www-form-urlencoded";

export const CONTENT_TYPES = [
  FORM,
  "multipart/form-data; boundary=x",
  "application/json",
  "text/plain",
  "application/octet-stream",
];

/** Runs of what signatures are written in. */
const RUN = /[A-Za-z0-9+/_-]{16,}={0,2}/g;

/** The same body with something else in it, wherever JSON or a form has room for it. */
export function changedBodies(request: InboundRequest): InboundRequest[] {
  const text = textOf(request);
  const places = [text.indexOf("{"), text.lastIndexOf("{")].filter((at) => at >= 0);
  const inObjects = places.map((at) => `${text.slice(0, at + 1)}"forged":1,${text.slice(at + 1)}`);
  const closing = text.lastIndexOf("]");
  const inLists = closing < 0 ? [] : [`${text.slice(0, closing)},{"forged":1}${text.slice(closing)}`];
  const isForm = request.headers.get("content-type")?.startsWith(FORM);
  const inForms = isForm ? [`${text}&forged=1`, shifted(text)] : [];
  return [...inObjects, ...inLists, ...inForms, `${text} `].map((body) => withBody(request, body));
}

/**
 * The same signed text in other bodies: of a form another name for the same letters, another order, another
 * spelling, a value twice; of JSON its list with its first element again, and a number for a text of digits.
 */
export function recutBodies(request: InboundRequest): InboundRequest[] {
  const text = textOf(request);
  const isForm = request.headers.get("content-type")?.startsWith(FORM);
  const [first = "", ...rest] = text.split("&");
  const spelled = text.replace(
    /=([A-Za-z])/,
    (_all, letter: string) => `=%${letter.charCodeAt(0).toString(16)}`,
  );
  const joined = text.replace(/=([^&]*)&([^=&]*)=/, "=$1$2");
  const inForms = [shifted(text), [...rest, first].join("&"), spelled, joined, `${text}&${first}`];
  const inJson = [
    `[${text},${text}]`,
    `[${text},1]`,
    text.replace(/\[(\{.*\})\]/, "[$1,$1]"),
    text.replace(/"([1-9][0-9]*)"/, "$1"),
    text.replace(/"([1-9][0-9]*)"/, "$1.0"),
  ];
  return (isForm ? inForms : inJson).map((body) => withBody(request, body));
}

const REPLACEMENT = Buffer.from("\uFFFD").toString("latin1");

/**
 * The same text to a reader who is not strict: a mark of the byte order in front, and for each U+FFFD,
 * or of its escapes, a byte that is no UTF-8.
 */
export function respelledBytes(request: InboundRequest): InboundRequest[] {
  const bytes = Buffer.from(request.body).toString("latin1");
  const respelled = [
    Buffer.from("\uFEFF").toString("latin1") + bytes,
    bytes.replace(REPLACEMENT, "\xff"),
    bytes.replace(encodeURIComponent("\uFFFD"), "%FF"),
    bytes.replace(encodeURIComponent("\uFFFD"), "\xff"),
  ];
  return respelled
    .filter((other) => other !== bytes)
    .map((other) => withBody(request, Buffer.from(other, "latin1")));
}

/** A name as JSON may write it: as it is, and with an escape. */
const SPELLINGS = [
  (name: string) => name,
  (name: string) => `\\u${name.charCodeAt(0).toString(16).padStart(4, "0")}${name.slice(1)}`,
];

/** Each member of the JSON in a text has another of its name beside it, `place` of it. */
function doubledMembers(text: string, place: "before" | "after"): string[] {
  return [...text.matchAll(/"([^"\\]+)":/g)].flatMap(({ index, 0: { length }, 1: name = "" }) => {
    const at = place === "before" ? index : valueEnd(text, index + length);
    return SPELLINGS.map((spell) => {
      const other = `"${spell(name)}":"forged"`;
      return text.slice(0, at) + (place === "before" ? `${other},` : `,${other}`) + text.slice(at);
    });
  });
}

/** The same of a form's fields, and of the JSON in them. */
function doubledFields(form: string, place: "before" | "after"): string[] {
  const pairs = [...new URLSearchParams(form)];
  return pairs.flatMap(([name, value], at) => {
    const other: [string, string] = [name, "forged"];
    const beside = pairs.toSpliced(place === "before" ? at : at + 1, 0, other);
    const within = doubledMembers(value, place).map((text) => pairs.with(at, [name, text]));
    return [beside, ...within].map((fields) => new URLSearchParams(fields).toString());
  });
}

/** Each name of the body stands twice in it: once more with a value that was not signed. */
export function doubledNames(request: InboundRequest, place: "before" | "after"): InboundRequest[] {
  const text = textOf(request);
  const isForm = request.headers.get("content-type")?.startsWith(FORM);
  const doubled = isForm ? doubledFields(text, place) : doubledMembers(text, place);
  return doubled.map((body) => withBody(request, body));
}

/**
 * One to three characters of what stands beside the body go into it, or of the body into what stands beside
 * it: joined without a separator, the signed text is the same. Of the address it is the query, which goes
 * as a whole too.
 */
export function movedParts(request: InboundRequest): InboundRequest[] {
  const body = textOf(request);
  const places = [...headersIn(request)].map(([name, value]) => ({
    value,
    put: (of: InboundRequest, text: string) => withHeader(of, name, text),
  }));
  const isUrl = (text: string) => text.startsWith("http") && URL.canParse(text);
  if (request.url.includes("?"))
    places.push({ value: request.url, put: (of, text) => (isUrl(text) ? withUrl(of, text) : request) });
  const moved = (put: (of: InboundRequest, text: string) => InboundRequest, text: string, rest: string) =>
    put(withBody(request, rest), text);
  const all = [1, 2, 3].flatMap((count) =>
    places.flatMap(({ value, put }) => [
      moved(put, value.slice(0, -count), value.slice(-count) + body),
      moved(put, value.slice(count), body + value.slice(0, count)),
      moved(put, value + body.slice(0, count), body.slice(count)),
      moved(put, body.slice(-count) + value, body.slice(0, -count)),
    ]),
  );
  const [address = "", query] = request.url.split("?");
  if (query !== undefined) all.push(withBody(withUrl(request, address), `?${query}${body}`));
  return all.filter((each) => each !== request);
}

/** The same between any two headers, but those that are not signed. */
export function movedHeaders(request: InboundRequest, unsigned: readonly string[]): InboundRequest[] {
  const isSigned = (name: string) => !unsigned.some((one) => one.toLowerCase() === name.toLowerCase());
  const all = [...headersIn(request)].filter(([name]) => isSigned(name));
  return all.flatMap(([one, first]) =>
    all.flatMap(([other, second]) =>
      one === other
        ? []
        : [1, 2, 3].map((count) =>
            withHeader(withHeader(request, one, first.slice(0, -count)), other, first.slice(-count) + second),
          ),
    ),
  );
}

/** The first letter of a value goes to the end of its name: joined, both read alike. */
function shifted(form: string): string {
  return form.replace(/=(%[0-9A-F]{2}|[A-Za-z0-9])/, "$1=");
}

/** What could be a signature or a token in a text, each once. */
export function runsIn(text: string): string[] {
  return [...new Set(text.match(RUN) ?? [])];
}

/** `data` with the run wherever something was masked. */
export function unmasked(data: Record<string, unknown>, run: string): Record<string, unknown> {
  return JSON.parse(JSON.stringify(data), (_name, value: unknown) =>
    value === "***" ? run : value,
  ) as typeof data;
}

/** With the run in place of whatever could be a signature in its headers. */
export function resigned(request: InboundRequest, run: string): InboundRequest {
  const headers = [...headersIn(request)].map(([name, value]) => [name, value.replace(RUN, run)] as const);
  return { ...request, headers: new Map(headers) };
}

/** What is in `data`, sent anew in every form that a provider uses, without any header of its own. */
export function encodingsOf(data: Record<string, unknown>): InboundRequest[] {
  const json = (value: unknown) =>
    requestOf({ body: JSON.stringify(value), headers: { "content-type": "application/json" } });
  const pairs = Object.entries(data).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map(
      (each: unknown) => [name, typeof each === "string" ? each : JSON.stringify(each)] as [string, string],
    ),
  );
  const form = requestOf({
    body: new URLSearchParams(pairs).toString(),
    headers: { "content-type": FORM },
  });
  const parts = pairs.map(
    ([name, value]) => `--b0\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const multipart = requestOf({
    body: `${parts.join("")}--b0--\r\n`,
    headers: { "content-type": "multipart/form-data; boundary=b0" },
  });
  const lists = Array.isArray(data["items"]) ? [json(data["items"])] : [];
  return [json(data), form, multipart, ...lists];
}

/** The handshake with this text in place of each value that its sender may choose. */
export function withTexts(handshake: InboundRequest, text: string): InboundRequest[] {
  const url = new URL(handshake.url);
  const byQuery = [...url.searchParams.keys()].map((name) => {
    const changed = new URL(url);
    changed.searchParams.set(name, text);
    return withUrl(handshake, changed.toString());
  });
  const body = textOf(handshake);
  const byBody = [...body.matchAll(/:\s*"([^"\\]*)"/g)].map((match) => {
    const at = match.index + match[0].lastIndexOf(`"${match[1]}"`);
    const value = JSON.stringify(text);
    return withBody(handshake, body.slice(0, at) + value + body.slice(at + (match[1]?.length ?? 0) + 2));
  });
  const byHeader = [...headersIn(handshake).keys()].map((name) =>
    withHeader(handshake, name, text.replaceAll(/[^\x20-\x7e]/g, "")),
  );
  return [handshake, ...byQuery, ...byBody, ...byHeader];
}

/**
 * Deliveries of `text`, signed with whatever the answer holds, in every place where the delivery has a
 * signature; `isRefused`: the delivery as it is, which is refused, is tried so as well.
 */
export function harvest(
  answer: HandshakeAnswer,
  delivery: InboundRequest,
  text: string,
  isRefused: boolean,
): InboundRequest[] {
  const said = [answer.body, ...Object.values(answer.headers)].join("\n");
  const signatures = [...new Set([answer.body, ...runsIn(said)])].filter((value) => value !== "");
  return signatures.flatMap((signature) => [
    ...byHeaders(delivery, isRefused ? [text, textOf(delivery)] : [text], signature),
    ...byFields(delivery, text, signature),
  ]);
}

function byHeaders(delivery: InboundRequest, texts: readonly string[], signature: string): InboundRequest[] {
  const bodies = texts.map((text) => withBody(delivery, text));
  return [...headersIn(delivery)].flatMap(([name, value]) => {
    const values = [signature, value.replace(RUN, signature)].filter((each) => !/[\r\n]/.test(each));
    return bodies.flatMap((request) => values.map((each) => withHeader(request, name, each)));
  });
}

/** Of a form, one field is the signature, as it is and in place of the old one, and another the text. */
function byFields(delivery: InboundRequest, text: string, signature: string): InboundRequest[] {
  const form = new URLSearchParams(textOf(delivery));
  const names = [...form.keys()];
  if (!delivery.headers.get("content-type")?.startsWith(FORM)) return [];
  return names.flatMap((signed) =>
    names.flatMap((chosen) => {
      if (signed === chosen) return [];
      const values = [signature, (form.get(signed) ?? "").replace(RUN, signature)];
      return values.map((value) => {
        const forged = new URLSearchParams(form);
        forged.set(signed, value);
        forged.set(chosen, text);
        return withBody(delivery, forged.toString());
      });
    }),
  );
}
