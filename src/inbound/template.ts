import { type Bytes, hash } from "./digest.ts";

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
  return template.some((piece) => isNamed(piece, name));
}

/** True where the template holds the value more than once. */
export function repeats(template: Template, name: Name): boolean {
  return template.filter((piece) => isNamed(piece, name)).length > 1;
}

/** `valueOf` is asked for the values that the template names, and for no other. */
export function render(template: Template, valueOf: (name: Name) => Bytes): Bytes[] {
  return template.map((piece) => ("literal" in piece ? piece.literal : valueOf(piece.name)));
}

/** False for an id that holds white space, or the text beside it: where it ends could not be told. */
export function isIdBounded(template: Template, id: string): boolean {
  const beside = template.flatMap((piece, at) =>
    isNamed(piece, "id") ? [template[at - 1], template[at + 1]] : [],
  );
  const bounds = beside.flatMap((piece) => (piece && "literal" in piece ? [piece.literal] : []));
  return !/\s/.test(id) && !bounds.some((bound) => id.includes(bound));
}

/** What may hold anything: of the address, whoever sends the request chooses the query. */
const OPEN = ["id", "url", "body"] as const;

/**
 * True where the end of one value could be read as the beginning of the next under the same signature. A time
 * between them parts nothing, as another may stand in either.
 */
export function isJoined(template: Template): boolean {
  const open = template.flatMap((piece, at) => (OPEN.some((name) => isNamed(piece, name)) ? [at] : []));
  return open.some((from, nth) => {
    const to = open[nth + 1];
    return to !== undefined && !isParted(template.slice(from, to + 1));
  });
}

/** `run`: two values, and what stands between. */
function isParted(run: Template): boolean {
  const between = run.slice(1, -1);
  // White space stands in no id and in no query, and what is beside an id never stands in it.
  if (between.some((piece) => "literal" in piece && /\s/.test(piece.literal))) return true;
  if (run.some((piece) => isNamed(piece, "url"))) return false;
  const ends = [run.slice(0, 2), run.slice(-2).toReversed()];
  return ends.some(([value, beside]) => value && beside && isNamed(value, "id") && "literal" in beside);
}

function isNamed(piece: Piece, name: Name): boolean {
  return "name" in piece && piece.name === name;
}

/** The length of what was rendered. */
export function bytesOf(parts: readonly Bytes[]): number {
  return parts.reduce((bytes, part) => bytes + Buffer.byteLength(part), 0);
}

/** A signed text, by its hash, and where it is cut into its values. */
export interface Reading {
  readonly text: string;
  readonly cut: string;
}

/** `parts`: what was rendered. */
export function readingOf(parts: readonly Bytes[]): Reading {
  return {
    text: hash("sha256", parts, "hex"),
    cut: parts.map((part) => Buffer.byteLength(part)).join(","),
  };
}
