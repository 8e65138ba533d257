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
export function isIdBounded(template: Template, id: string): boolean {
  const at = template.findIndex((piece) => "name" in piece && piece.name === "id");
  const beside = [template[at - 1], template[at + 1]].filter((piece) => piece !== undefined);
  const bounds = beside.map((piece) => ("literal" in piece ? piece.literal : ""));
  return !/[\s"{}[\]]/.test(id) && !bounds.some((bound) => bound !== "" && id.includes(bound));
}
