/**
 * The document's schemas as types of Python: a TypedDict for each object, so that an answer is the dict that
 * its JSON is. datamodel-code-generator is not used for it: where an object has a property of a schema's
 * name, it calls that schema `EventType19`, and an open object it makes a TypedDict that has no key.
 */
import { type Document, referredBy, type Schema } from "./document.ts";
import { capitalized, singularOf } from "./names.ts";

const SCALARS: Readonly<Record<string, string>> = {
  string: "str",
  integer: "int",
  number: "float",
  boolean: "bool",
  null: "None",
};
const IDENTIFIER = /^[a-z_]\w*$/;
/** Those that the document has as a member's name. */
const KEYWORDS = new Set(["from"]);

/** The module of all types. */
export function writeTypes({ components }: Document): string {
  const declared = Object.entries(components.schemas).flatMap(([name, schema]) => declare(name, schema));
  return `"""The types of what the calls take and answer."""
from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

${declared.join("\n")}`;
}

/**
 * An expression of the schema's type. An object that has no name in the document is one of `inner`, under
 * `name`. Throws where the document says something that this does not know.
 */
export function typeOf(schema: Schema, name = "", inner: string[] = []): string {
  const { $ref, anyOf, oneOf, type, items } = schema;
  if ($ref !== undefined) return referredBy($ref);
  const forms = anyOf ?? oneOf;
  if (forms !== undefined) return unionOf(forms.map((form) => typeOf(form, name, inner)));
  if (schema.const !== undefined) return literalOf([schema.const]);
  if (schema.enum !== undefined) return literalOf(schema.enum);
  if (type === undefined) return "Any";
  if (type === "array") return `list[${typeOf(items ?? {}, singularOf(name), inner)}]`;
  if (type === "object") return typeOfObject(schema, name, inner);
  const scalar = SCALARS[type];
  if (scalar === undefined) throw new Error(`There is no type of Python for ${JSON.stringify(schema)}`);
  return scalar;
}

/** Of alternatives, each said once. */
export function unionOf(types: readonly string[]): string {
  return [...new Set(types)].join(" | ");
}

function literalOf(values: readonly unknown[]): string {
  const written = values.map((value) =>
    typeof value === "boolean" ? capitalized(String(value)) : JSON.stringify(value),
  );
  return `Literal[${written.join(", ")}]`;
}

function typeOfObject(schema: Schema, name: string, inner: string[]): string {
  if (hasMembers(schema)) {
    if (name === "") throw new Error(`There is no name for ${JSON.stringify(schema)}`);
    inner.push(...declare(name, schema));
    return name;
  }
  const { additionalProperties, patternProperties = {} } = schema;
  const [value = additionalProperties] = Object.values(patternProperties);
  return `dict[str, ${typeof value === "object" ? typeOf(value, name, inner) : "Any"}]`;
}

/** An object that takes nothing at all is a TypedDict too. */
function hasMembers({ properties = {}, additionalProperties }: Schema): boolean {
  return Object.keys(properties).length > 0 || additionalProperties === false;
}

/** The declaration of a type, behind those of the objects within it. */
function declare(name: string, schema: Schema): string[] {
  const inner: string[] = [];
  if (schema.type !== "object" || !hasMembers(schema)) {
    // As a text: it may name what is declared further down.
    const alias = `${name}: TypeAlias = ${JSON.stringify(typeOf(schema, name, inner))}\n`;
    return [...inner, alias];
  }
  const members = Object.entries(schema.properties ?? {}).map(([member, of]) => {
    const type = typeOf(of, name + pascalOf(member), inner);
    const isNeeded = schema.required?.includes(member) === true;
    return { member, type: isNeeded ? type : `NotRequired[${type}]`, about: of.description };
  });
  const isClass = members.every(({ member }) => IDENTIFIER.test(member) && !KEYWORDS.has(member));
  if (!isClass) {
    const pairs = members.map(({ member, type }) => `${JSON.stringify(member)}: ${JSON.stringify(type)}`);
    return [...inner, `${name} = TypedDict("${name}", {${pairs.join(", ")}})\n`];
  }
  const lines = members.flatMap(({ member, type, about }) => [
    `    ${member}: ${type}`,
    ...(about === undefined ? [] : [`    ${JSON.stringify(about)}`]),
  ]);
  const body = lines.length === 0 ? ["    pass"] : lines;
  return [...inner, `\nclass ${name}(TypedDict):\n${body.join("\n")}\n`];
}

/** `verified_with` → `VerifiedWith`. */
function pascalOf(member: string): string {
  return member.split(/\W|_/).map(capitalized).join("");
}
