import type { Bytes } from "./digest.ts";

/** What a signature covers, written as `v0:{timestamp}:{body}`. */

const NAMES = ["body", "timestamp", "id", "url", "method", "secret"] as const;
export type Name = (typeof NAMES)[number];

/** Literal text, or the name of a value. */
type Piece = { readonly literal: string } | { readonly name: Name };
export type Template = readonly Piece[];

function isName(text: string): text is Name {
  return NAMES.some((name) => name === text);
}

/** The template's pieces; null where it names something unknown. */
export function parseTemplate(text: string): Template | null {
  const pieces: Piece[] = [];
  for (const part of text.split(/(\{[^{}]*\})/)) {
    const name = part.startsWith("{") && part.endsWith("}") ? part.slice(1, -1) : null;
    if (name !== null && !isName(name)) return null;
    if (name !== null) pieces.push({ name });
    else if (part !== "") pieces.push({ literal: part });
  }
  return pieces;
}

export function names(template: Template, name: Name): boolean {
  return template.some((piece) => "name" in piece && piece.name === name);
}

/** `valueOf` is asked for the values that the template names, and for no other. */
export function render(template: Template, valueOf: (name: Name) => Bytes): Bytes[] {
  return template.map((piece) => ("literal" in piece ? piece.literal : valueOf(piece.name)));
}

/**
 * False where the signed text could be cut elsewhere, and the id be another one: an id that holds the
 * beginning of what follows it, or of JSON.
 */
export function isIdBounded(template: Template, id: string, url: string): boolean {
  const beside = neighboursOf(template, "id");
  if (beside.some((piece) => "name" in piece && piece.name === "url") && hasOpenEnd(url)) return false;
  const bounds = beside.map((piece) => ("literal" in piece ? piece.literal : ""));
  return !/[\s"{}[\]]/.test(id) && !bounds.some((bound) => bound !== "" && id.includes(bound));
}

/**
 * False where the beginning or the end of the body could be read as that of the value beside it: an id, or a
 * query, which may hold anything, also a time and what follows it. JSON that is cut is none.
 */
export function isBodyBounded(template: Template, url: string): boolean {
  const at = template.findIndex((piece) => "name" in piece && piece.name === "body");
  const isOpen = (outwards: Template) => isOpenTowards(outwards, url);
  return !isOpen(template.slice(0, at).toReversed()) && !isOpen(template.slice(at + 1));
}

/** `outwards`: the pieces on one side of the body, the nearest first. */
function isOpenTowards(outwards: Template, url: string): boolean {
  const end = outwards.findIndex((piece) => "name" in piece && piece.name !== "timestamp");
  const between = outwards.slice(0, Math.max(0, end));
  const last = between.at(-1);
  const beyond = outwards[end];
  if (beyond === undefined || !("name" in beyond)) return false;
  // What is beside an id never stands in it, and white space never in a query.
  if (beyond.name === "id") return last === undefined || "name" in last;
  if (beyond.name !== "url" || !hasOpenEnd(url)) return false;
  return !between.some((piece) => "literal" in piece && /\s/.test(piece.literal));
}

function neighboursOf(template: Template, name: Name): Piece[] {
  const at = template.findIndex((piece) => "name" in piece && piece.name === name);
  return [template[at - 1], template[at + 1]].filter((piece) => piece !== undefined);
}

/** True where a query is signed: whoever sends the request chooses it. */
export function hasOpenEnd(url: string): boolean {
  return url.includes("?");
}
