import { type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { limit } from "../../core/limits.ts";
import type { DestinationField, KindRow } from "../../destinations/destination.ts";
import { listKinds } from "../../destinations/destinations.ts";
import { nullable, oneOf, shownAs, taggedBy } from "../shared/shapes.ts";

/** What the document says of destinations, from the table of kinds; destination.ts is what checks. */

/** The schema of a field, by its type. */
const FIELD_SHAPES: Record<
  NonNullable<DestinationField["type"]>,
  (field: DestinationField, description: string) => TSchema
> = {
  boolean: (_field, description) => Type.Boolean({ description }),
  string({ pattern, address, secret }, description) {
    const shownPattern = secret ? `\\*\\*\\*|(?:${pattern})` : pattern;
    return Type.String({
      description,
      minLength: 1,
      maxLength: limit(address ? "urlLengthMax" : "configValueLengthMax"),
      ...(pattern !== undefined && { pattern: `^(?:${shownPattern})$` }),
      ...(address && pattern === undefined && !secret && { format: "uri" }),
    });
  },
};

export const kindShape = oneOf(
  listKinds().map(({ kind }) => kind),
  { $id: "EndpointKind", description: "What kind of destination it is." },
);

/** The schema of each kind's `config`. */
const configs: ReadonlyMap<string, TSchema> = new Map(
  listKinds().map((row) => [row.kind, configOf(row)] as const),
);

/** Of a body that need not name the kind. */
export function configShape(description: string) {
  const checked = Type.Object({}, { additionalProperties: true, description });
  const shown = Type.Unsafe({ anyOf: [...configs.values()], $id: "DestinationConfig", description });
  return shownAs(checked, shown);
}

/**
 * The body of a creation. `{url}` alone, and `config` without a kind, mean `http`; the others are told apart
 * by their kind.
 */
export function newEndpointVariants(url: TSchema, common: TProperties): TSchema {
  const kind = Type.Optional(Type.Literal("http"));
  const config = configs.get("http") ?? Type.Never();
  const byUrl = variantOf("NewHttpEndpoint", "It is called by HTTP.", {
    kind,
    url,
    config: Type.Optional(Type.Partial(config, { $id: "HttpConfigBesideUrl" })),
    ...common,
  });
  const byConfig = variantOf("NewHttpEndpointByConfig", "The same, as the other kinds are written.", {
    kind,
    config,
    ...common,
  });
  const others = listKinds()
    .filter((row) => row.kind !== "http")
    .map((row) => [row.kind, variantOfKind(row, common)] as const);
  const byKind = { ...taggedBy("kind", Object.fromEntries(others)), $id: "NewEndpointOfKind" };
  return Type.Unsafe({ anyOf: [byUrl, byConfig, byKind], $id: "NewEndpoint" });
}

function variantOfKind({ kind, name, fields }: KindRow, common: TProperties): TSchema {
  const config = configs.get(kind) ?? Type.Never();
  const isNeeded = fields.some(({ required }) => required);
  return variantOf(`New${typeName(kind)}Endpoint`, `It is of the kind ${name}.`, {
    kind: Type.Literal(kind),
    config: isNeeded ? config : Type.Optional(config),
    ...common,
  });
}

function variantOf($id: string, description: string, fields: TProperties): TSchema {
  return Type.Object(fields, { $id, description, additionalProperties: false });
}

function configOf({ kind, name, fields }: KindRow): TSchema {
  const properties = fields.map((field) => {
    const shape = fieldShape(field);
    return [field.name, field.required ? shape : Type.Optional(nullable(shape, shape.description))] as const;
  });
  return Type.Object(Object.fromEntries(properties), {
    $id: `${typeName(kind)}Config`,
    additionalProperties: false,
    description: `\`config\` of the kind \`${kind}\`: ${name}.`,
  });
}

function fieldShape(field: DestinationField): TSchema {
  return FIELD_SHAPES[field.type ?? "string"](field, `${field.label}. ${field.help}`);
}

/** aws_sqs: AwsSqs. */
function typeName(kind: string): string {
  return kind.replaceAll(/(?:^|_)(.)/g, (_whole, letter: string) => letter.toUpperCase());
}
