import { swagger } from "@elysiajs/swagger";
import type { TSchema } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { ERRORS, type ErrorCode } from "../../core/errors.ts";
import { accessSentence, isOpenToPortal } from "../framework/access.ts";
import { MERGE_PATCH_TYPE } from "../framework/request-body.ts";
import { takesIdempotencyKey } from "../framework/idempotency.ts";
import { type Json, SchemaComponents } from "../shared/json-schema.ts";
import {
  DURABILITY,
  TRACEPARENT,
  FAULT_SCHEMA,
  HEADERS,
  IDEMPOTENCY_KEY,
  INTRODUCTION,
  PROBLEM_SCHEMA,
  problemResponse,
  SECURITY_SCHEMES,
  TAGS,
} from "./shared.ts";
import { type AnswerDoc, type AnyRoute, paramNames, takesBody } from "../framework/route.ts";

/**
 * The OpenAPI document of a route table, as JSON text. The swagger plugin assembles it from each route's
 * `detail`, on an app of its own: so the table stays the one source, and the document is served like every
 * other answer. Its page is not used: it loads from a CDN, or needs inline scripts (see docs.ts).
 */
export async function openApiDocument(routes: readonly AnyRoute[], version: string): Promise<string> {
  const writer = new DocumentWriter();
  const app = new Elysia();
  const visible = routes.filter((route) => !route.hidden);
  const operations = visible.map((route) => [route, writer.operation(route)] as const);
  const documentation = writer.frame(visible, version);
  app.use(swagger({ excludeStaticFile: false, excludeMethods: [], documentation }));
  for (const [route, detail] of operations) app.route(route.method, route.path, "", { detail });
  const response = await app.handle(new Request("http://localhost/swagger/json"));
  return response.text();
}

class DocumentWriter {
  private readonly components = new SchemaComponents();
  private readonly problems: Json = {};

  /**
   * Everything but the paths. To be asked for after the operations, as those collect the schemas
   * and problems.
   */
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
      tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({ name, description: TAGS[name] })),
      components: {
        schemas: { ...this.components.schemas, Problem: PROBLEM_SCHEMA, Fault: FAULT_SCHEMA },
        responses: this.problems,
        headers: HEADERS,
        parameters: { IdempotencyKey: IDEMPOTENCY_KEY, Durability: DURABILITY, Traceparent: TRACEPARENT },
        securitySchemes: SECURITY_SCHEMES,
      },
    };
  }

  operation(route: AnyRoute): Json {
    const sentences = [route.description, accessSentence(route.access, route.method), auditSentence(route)];
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
    const names = route.budget === "publish" ? ["Durability", "Traceparent"] : [];
    const ofPublish = names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
    return [...path, ...query, ...key, ...ofPublish];
  }

  private requestBody(route: AnyRoute, body: TSchema): Json {
    if (route.bodyMode === "opaque") return { required: false, content: opaqueContent(body) };
    const types = ["application/json", ...(route.method === "PATCH" ? [MERGE_PATCH_TYPE] : [])];
    const example = route.bodyExample === undefined ? {} : { example: route.bodyExample };
    return {
      required: !mayBeEmpty((body.shown as TSchema | undefined) ?? body),
      content: Object.fromEntries(
        types.map((name) => [name, { schema: this.named(route, "Body", body), ...example }]),
      ),
    };
  }

  /** Generators make better names of names than of places. */
  private named({ operationId }: AnyRoute, role: string, schema: TSchema): Json {
    const isName = schema.type === "object" && schema.$id === undefined;
    const $id = `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}${role}`;
    return this.components.describe(isName ? { ...schema, $id } : schema);
  }

  private responses(route: AnyRoute): Json {
    const responses: Json = {};
    const { refuses = {} } = route;
    const codes = ERROR_CODES.filter((code) => code in refuses || mayRefuse(route, code));
    for (const [status, ofStatus] of Map.groupBy(codes, (code) => ERRORS[code].status)) {
      const isOwn = ofStatus.some((code) => code in refuses);
      responses[status] = isOwn ? problemResponse(ofStatus, refuses) : this.sharedProblem(ofStatus);
    }
    for (const [status, doc] of Object.entries(route.answers)) {
      responses[status] = this.response(route, Number(status), doc);
    }
    return responses;
  }

  private sharedProblem(codes: readonly ErrorCode[]): Json {
    const name = codes.join("_or_");
    this.problems[name] = problemResponse(codes);
    return { $ref: `#/components/responses/${name}` };
  }

  private response(route: AnyRoute, status: number, doc: AnswerDoc | string): Json {
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
          schema: this.named(route, "Answer", schema),
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

const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];

const takesJson = (route: AnyRoute) => takesBody(route) && route.bodyMode !== "opaque";

/** Which errors follow from what a route takes, whatever it does. 405 belongs to no operation. */
const FOLLOWING: Readonly<Partial<Record<ErrorCode, (route: AnyRoute) => boolean>>> = {
  invalid_json: takesJson,
  unauthenticated: ({ access }) => access !== "none",
  forbidden: ({ access }) => !["none", "operator", "metrics", "endpoint"].includes(access),
  not_found: ({ path, takesAnyPath }) => paramNames(path).length > 0 && !takesAnyPath,
  idempotency_in_progress: takesIdempotencyKey,
  payload_too_large: takesBody,
  unsupported_media_type: takesJson,
  invalid_request: (route) => takesJson(route) || !route.ignoresQuery,
  idempotency_key_reused: takesIdempotencyKey,
  rate_limited: ({ budget }) => budget !== "none",
  // What takes nothing at all stumbles over nothing.
  internal: (route) => paramNames(route.path).length > 0 || takesBody(route) || !route.ignoresQuery,
  unavailable: ({ answersWhileDraining }) => !answersWhileDraining,
};

function auditSentence({ access, audit }: AnyRoute): string | false {
  if (typeof audit !== "object") return false;
  const isBounded = access !== "operator" && !audit.isNeverRefused;
  const told = `The audit log has it as \`${audit.action}\``;
  return isBounded ? `${told}; 429 where the caller's changes have used up their room there.` : `${told}.`;
}

function mayRefuse(route: AnyRoute, code: ErrorCode): boolean {
  return FOLLOWING[code]?.(route) ?? false;
}

function securityOf(route: AnyRoute): Json[] {
  if (route.access === "none") return [];
  if (route.access === "operator") return [{ operator_token: [] }];
  if (route.access === "metrics") return [{ metrics_token: [] }, { operator_token: [] }];
  if (route.access === "endpoint") return [{ endpoint_secret: [] }];
  return [{ api_key: [] }, ...(isOpenToPortal(route.access) ? [{ portal_token: [] }] : [])];
}

/** True where `{}` is right, for which no body may stand too. */
function mayBeEmpty({ required = [], anyOf }: TSchema): boolean {
  return anyOf === undefined && required.length === 0;
}

/** Any bytes, of any content type. Of a wildcard generators make nothing, of bytes a call. */
function opaqueContent({ description }: TSchema): Json {
  return { "application/octet-stream": { schema: { type: "string", format: "binary", description } } };
}

function headersOf(route: AnyRoute, status: number): Json {
  const names = ["x-request-id"];
  if (route.budget !== "none") names.push("ratelimit", "ratelimit-policy");
  if (route.budget === "publish") names.push("sealpost-usage-remaining");
  if (route.budget === "publish" && status < 300) names.push("sealpost-durability");
  if (takesIdempotencyKey(route) && status < 300) names.push("idempotency-replayed");
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
