/** What the build reads of the service's OpenAPI document. */

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  description?: string;
}

export interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
}

export interface Answer {
  $ref?: string;
  content?: Record<string, { schema?: Schema }>;
}

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  security: Record<string, string[]>[];
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: { required?: boolean; content: Record<string, object> };
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
    const shared = components.parameters[nameOf(parameter.$ref)];
    if (shared === undefined) throw new Error(`There is no ${parameter.$ref}`);
    return shared;
  });
}

/** The media types of its successes, each with its schema. */
export function successesOf({ components }: Document, { responses }: Operation): [string, Schema][] {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith("2"))
    .flatMap(([, { content = {} }]) => Object.entries(content))
    .map(([type, { schema = {} }]) => {
      const shared = schema.$ref === undefined ? undefined : components.schemas[nameOf(schema.$ref)];
      return [type, shared ?? schema];
    });
}

function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}
