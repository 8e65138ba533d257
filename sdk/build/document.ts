/** What the build reads of the service's OpenAPI document. */

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  description?: string;
  schema?: Schema;
}

export interface Schema {
  $ref?: string;
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  patternProperties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  const?: unknown;
  enum?: unknown[];
}

type Content = Record<string, { schema?: Schema }>;

export interface Answer {
  $ref?: string;
  content?: Content;
}

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  security: Record<string, string[]>[];
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, Answer>;
}

export interface Document {
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { parameters: Record<string, Parameter>; schemas: Record<string, Schema> };
}

/** An operation with where it is asked. */
export interface Asked {
  method: string;
  path: string;
  operation: Operation;
}

export function operationsOf({ paths }: Document): Asked[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

export function parametersOf({ components }: Document, { parameters = [] }: Operation): Parameter[] {
  return parameters.map((parameter) => {
    if (!("$ref" in parameter)) return parameter;
    const shared = components.parameters[referredBy(parameter.$ref)];
    if (shared === undefined) throw new Error(`There is no ${parameter.$ref}`);
    return shared;
  });
}

/** The bodies of its successes; null where one has none. */
export function successesOf({ responses }: Operation): (Schema | null)[] {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith("2"))
    .flatMap(([, { content = {} }]) => {
      const bodies = Object.values(content).map(({ schema = {} }) => schema);
      return bodies.length === 0 ? [null] : bodies;
    });
}

/** The schema that a reference leads to; any other as it is. */
export function sharedOf({ components }: Document, schema: Schema): Schema {
  return (schema.$ref === undefined ? undefined : components.schemas[referredBy(schema.$ref)]) ?? schema;
}

/** The name of what a `$ref` leads to. */
export function referredBy(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}
