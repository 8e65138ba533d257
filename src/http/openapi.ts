import { swagger } from "@elysiajs/swagger";
import type { TSchema } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { accessSentence, isOpenToPortal } from "./access.ts";
import { takesIdempotencyKey } from "./idempotency.ts";
import { type Json, SchemaComponents } from "./json-schema.ts";
import {
  errorStatuses,
  HEADERS,
  IDEMPOTENCY_KEY,
  INTRODUCTION,
  PROBLEM_SCHEMA,
  problemResponse,
  SECURITY_SCHEMES,
} from "./openapi-shared.ts";
import { type AnswerDoc, type AnyRoute, paramNames, takesBody } from "./route.ts";

/**
 * The OpenAPI document of a route table, as JSON text. The swagger plugin assembles it from each route's `detail`, on an
 * app of its own: so the table stays the one source, and the document is served like every other answer. Its page is not
 * used: it loads from a CDN, or needs inline scripts (see docs.ts).
 */
export async function openApiDocument(routes: readonly AnyRoute[], version: string): Promise<string> {
  const writer = new DocumentWriter();
  const app = new Elysia();
  const visible = routes.filter((route) => !route.hidden);
  const operations = visible.map((route) => [route, writer.operation(route)] as const);
  app.use(swagger({ excludeStaticFile: false, documentation: writer.frame(visible, version) }));
  for (const [route, detail] of operations) app.route(route.method, route.path, "", { detail });
  const response = await app.handle(new Request("http://localhost/swagger/json"));
  return response.text();
}

class DocumentWriter {
  private readonly components = new SchemaComponents();

  /** Everything but the paths. To be asked for after the operations, as those collect the schemas. */
  frame(routes: readonly AnyRoute[], version: string): Json {
    return {
      openapi: "3.1.1",
      info: {
        title: "Sealpost",
        version,
        description: INTRODUCTION,
        license: { name: "MIT", identifier: "MIT" },
      },
      servers: [{ url: "/", description: "This installation" }],
      tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({ name })),
      components: {
        schemas: { ...this.components.schemas, Problem: PROBLEM_SCHEMA },
        responses: Object.fromEntries(
          errorStatuses().map((status) => [`Problem${status}`, problemResponse(status)]),
        ),
        headers: HEADERS,
        parameters: { IdempotencyKey: IDEMPOTENCY_KEY },
        securitySchemes: SECURITY_SCHEMES,
      },
    };
  }

  operation(route: AnyRoute): Json {
    const { audit } = route;
    const audited = typeof audit === "object" && `The audit log has it as \`${audit.action}\`.`;
    const sentences = [route.description, accessSentence(route.access, route.method), audited];
    return {
      operationId: route.operationId,
      tags: [route.tag],
      summary: route.summary,
      description: sentences.filter(Boolean).join("\n\n"),
      security: securityOf(route),
      parameters: this.parameters(route),
      ...(route.body && { requestBody: this.requestBody(route, route.body) }),
      responses: this.responses(route),
    };
  }

  private parameters(route: AnyRoute): Json[] {
    const path = paramNames(route.path).map((name) => ({
      name,
      in: "path",
      required: true,
      schema: { type: "string" },
    }));
    const required = new Set(route.query?.required);
    const query = Object.entries(route.query?.properties ?? {}).map(([name, property]) => {
      const { description, ...schema } = this.components.describe(property);
      return {
        name,
        in: "query",
        required: required.has(name),
        ...(description ? { description } : {}),
        schema,
      };
    });
    const key = takesIdempotencyKey(route) ? [{ $ref: "#/components/parameters/IdempotencyKey" }] : [];
    return [...path, ...query, ...key];
  }

  private requestBody(route: AnyRoute, body: TSchema): Json {
    const type = route.bodyMode === "opaque" ? "*/*" : "application/json";
    const example = route.bodyExample === undefined ? {} : { example: route.bodyExample };
    return {
      required: Array.isArray(body.required) && body.required.length > 0,
      content: { [type]: { schema: this.components.describe(body), ...example } },
    };
  }

  private responses(route: AnyRoute): Json {
    const responses: Json = {};
    for (const status of frameworkErrors(route)) {
      responses[status] = { $ref: `#/components/responses/Problem${status}` };
    }
    for (const [status, doc] of Object.entries(route.answers)) {
      responses[status] = this.response(route, Number(status), doc);
    }
    return responses;
  }

  private response(route: AnyRoute, status: number, doc: AnswerDoc | string): Json {
    if (typeof doc === "string" && status >= 400) return problemResponse(status, doc);
    const {
      description,
      schema,
      example,
      contentType = "application/json",
      otherwise,
    } = typeof doc === "string" ? { description: doc } : doc;
    const content = schema && {
      content: {
        [contentType]: {
          schema: this.components.describe(schema),
          ...(example !== undefined && { example }),
        },
        ...(otherwise && {
          [otherwise.contentType]: {
            schema: this.components.describe(otherwise.schema),
            example: otherwise.example,
          },
        }),
      },
    };
    return { description, headers: headersOf(route, status), ...content };
  }
}

/** The errors that the framework itself may answer, by what the route takes. 405 belongs to no operation. */
function frameworkErrors(route: AnyRoute): number[] {
  const takesJson = takesBody(route) && route.bodyMode !== "opaque";
  const statuses = [500, ...(route.answersWhileDraining ? [] : [503])];
  if (route.access !== "none") statuses.push(401);
  if (!["none", "operator", "endpoint"].includes(route.access)) statuses.push(403);
  if (route.path.includes(":")) statuses.push(404);
  if (takesBody(route)) statuses.push(413);
  if (takesJson) statuses.push(400, 415);
  if (takesIdempotencyKey(route)) statuses.push(409);
  if (takesJson || !route.ignoresQuery) statuses.push(422);
  if (route.budget !== "none") statuses.push(429);
  return statuses;
}

function securityOf(route: AnyRoute): Json[] {
  if (route.access === "none") return [];
  if (route.access === "operator") return [{ operator_token: [] }];
  if (route.access === "endpoint") return [{ endpoint_secret: [] }];
  return [{ api_key: [] }, ...(isOpenToPortal(route.access) ? [{ portal_token: [] }] : [])];
}

function headersOf(route: AnyRoute, status: number): Json {
  const names = ["x-request-id"];
  if (route.budget !== "none") names.push("ratelimit", "ratelimit-policy");
  if (route.budget === "publish") names.push("sealpost-usage-remaining");
  if (takesIdempotencyKey(route) && status < 300) names.push("idempotency-replayed");
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
