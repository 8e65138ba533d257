import type { TSchema } from "@sinclair/typebox";

/** A part of a JSON document. */
export type Json = { [name: string]: unknown };

/** Keywords whose value is a map of schemas, a list of them, or one; every other value is data. */
const MAPS = new Set(["properties", "patternProperties"]);
const LISTS = new Set(["anyOf", "allOf", "oneOf"]);
const SINGLE = new Set(["items", "additionalProperties", "not", "contains", "propertyNames"]);

/**
 * Turns TypeBox schemas into the schemas of one OpenAPI document: a schema with an `$id` becomes a component
 * once and a `$ref` everywhere, a union of strings an `enum`, and `shown` (shapes.ts) stands for the schema
 * that carries it; our own keyword `expected` (validate.ts) stays out.
 */
export class SchemaComponents {
  readonly schemas: Record<string, Json> = {};
  private readonly sources = new Map<string, TSchema>();

  /** Throws where two different schemas share an `$id`. */
  describe({ shown, ...checked }: TSchema): Json {
    const schema: TSchema = shown === undefined ? checked : { ...(shown as TSchema) };
    const $id = schema.$id ?? checked.$id;
    if ($id === undefined) return this.describeInline(schema);
    const known = this.sources.get($id);
    if (known === undefined) {
      this.sources.set($id, schema);
      this.schemas[$id] = this.describeInline(schema);
    } else if (JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`Two schemas are called ${$id}.`);
    }
    return { $ref: `#/components/schemas/${$id}` };
  }

  private describeInline({ $id: _id, expected: _expected, ...schema }: TSchema): Json {
    const { anyOf, ...rest } = schema;
    if (Array.isArray(anyOf) && anyOf.every((variant) => typeof variant.const === "string")) {
      return { ...rest, type: "string", enum: anyOf.map((variant) => variant.const) };
    }
    return Object.fromEntries(
      Object.entries(schema).map(([keyword, value]) => [keyword, this.describeKeyword(keyword, value)]),
    );
  }

  private describeKeyword(keyword: string, value: unknown): unknown {
    if (keyword === "$ref") return `#/components/schemas/${String(value)}`;
    if (typeof value !== "object" || value === null) return value;
    if (SINGLE.has(keyword)) return this.describe(value as TSchema);
    if (LISTS.has(keyword)) return (value as TSchema[]).map((entry) => this.describe(entry));
    if (!MAPS.has(keyword)) return value;
    const entries = Object.entries(value as Record<string, TSchema>);
    return Object.fromEntries(entries.map(([name, entry]) => [name, this.describe(entry)]));
  }
}
