/** Routes for the tests of the framework: each shows one thing that a resource may do. */
import { Type } from "@sinclair/typebox";
import { Problem } from "../../src/core/errors.ts";
import type { Access } from "../../src/http/framework/access.ts";
import { type Answer, type AnyRoute, type RequestContext, route } from "../../src/http/framework/route.ts";

/** What handlers fail with; it must never leave. */
export const MARKER = "MARKER-at-/srv/sealpost.db";

export const conflict = new Problem("conflict", "The thing is busy.", { headers: { "x-reason": "busy" } });

const closed = { additionalProperties: false };
const mode = Type.Union([Type.Literal("live"), Type.Literal("test")]);
const shared = { tag: "Things", access: "manage", budget: "management" } as const;
const done = { 200: "Done." };

const Checked = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 20 }),
    count: Type.Optional(Type.Integer({ minimum: 1, maximum: 250 })),
    on: Type.Optional(Type.Boolean()),
    mode: Type.Optional(mode),
    color: Type.Optional(Type.String({ pattern: "^#[0-9a-f]{6}$", expected: "a colour such as #aabbcc" })),
    code: Type.Optional(Type.String({ pattern: "^[0-9]+$" })),
    tags: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { maxItems: 2, uniqueItems: true })),
    retry: Type.Optional(
      Type.Union([
        Type.Object({ schedule: Type.Array(Type.Integer({ minimum: 1 }), { maxItems: 10_000 }) }, closed),
        Type.Null(),
      ]),
    ),
    target: Type.Optional(
      Type.Union([
        Type.Object({ kind: Type.Literal("a") }, closed),
        Type.Object({ kind: Type.Literal("b"), size: Type.Number() }, closed),
      ]),
    ),
    labels: Type.Optional(Type.Record(Type.String(), Type.String(), { ...closed, maxProperties: 3 })),
  },
  closed,
);

const Query = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 250 })),
    on: Type.Optional(Type.Boolean()),
    mode: Type.Optional(mode),
    text: Type.Optional(Type.String()),
  },
  closed,
);

const things: AnyRoute[] = [
  route({
    ...shared,
    method: "GET",
    path: "/v1/things/:id",
    operationId: "getThing",
    summary: "Read",
    answers: done,
    handle: ({ params }) => ({ status: 200, json: { id: params.id } }),
  }),
  route({
    ...shared,
    method: "POST",
    path: "/v1/things/:id",
    operationId: "createThing",
    summary: "Create",
    body: Type.Object({ name: Type.String() }, closed),
    answers: { 201: "Created." },
    handle: ({ body }) => ({ status: 201, json: { name: body.name } }),
  }),
  route({
    ...shared,
    method: "PATCH",
    path: "/v1/things/:id",
    operationId: "changeThing",
    summary: "Change",
    answers: done,
    handle: () => ({ status: 200 }),
  }),
  route({
    ...shared,
    method: "DELETE",
    path: "/v1/things/:id",
    operationId: "deleteThing",
    summary: "Delete",
    answers: { 204: "Gone." },
    handle: () => ({ status: 204, headers: { "x-own": "yes" } }),
  }),
];

const allThings = route({
  ...shared,
  method: "GET",
  path: "/v1/things/all",
  operationId: "getThings",
  summary: "Beside the path of one",
  answers: done,
  handle: () => ({ status: 200, json: { all: true } }),
});

const bodies: AnyRoute[] = [
  route({
    ...shared,
    method: "POST",
    path: "/v1/checked",
    operationId: "check",
    summary: "Every kind of field",
    body: Checked,
    answers: done,
    handle: ({ body }) => ({ status: 200, json: { body } }),
  }),
  route({
    ...shared,
    method: "POST",
    path: "/v1/optional",
    operationId: "optional",
    summary: "Nothing required",
    body: Type.Object({ name: Type.Optional(Type.String()) }, closed),
    answers: done,
    handle: ({ body }) => ({ status: 200, json: { body } }),
  }),
  route({
    ...shared,
    method: "POST",
    path: "/v1/deep",
    operationId: "deep",
    summary: "Anything inside",
    body: Type.Object({ deep: Type.Unknown() }, closed),
    answers: done,
    handle: () => ({ status: 200, json: {} }),
  }),
  route({
    ...shared,
    method: "POST",
    path: "/v1/empty",
    operationId: "empty",
    summary: "No body",
    answers: done,
    handle: () => ({ status: 200, json: {} }),
  }),
  route({
    ...shared,
    method: "POST",
    path: "/v1/small",
    operationId: "small",
    summary: "At most 1,000 bytes",
    body: Type.Object({ name: Type.String() }, closed),
    bodyMaxBytes: 1000,
    answers: done,
    handle: ({ bytes }) => ({ status: 200, json: { size: bytes.length } }),
  }),
  route({
    ...shared,
    method: "POST",
    path: "/v1/raw",
    operationId: "raw",
    summary: "Parses by itself",
    body: Type.Object({ a: Type.Number() }),
    bodyMode: "raw",
    bodyMaxBytes: 1000,
    answers: done,
    handle: ({ bytes }) => ({ status: 200, json: { text: Buffer.from(bytes).toString() } }),
  }),
  route({
    method: "POST",
    path: "/opaque/:id",
    operationId: "opaque",
    tag: "Things",
    summary: "Any bytes",
    access: "none",
    budget: "none",
    ignoresQuery: true,
    bodyMode: "opaque",
    bodyMaxBytes: 1000,
    answers: done,
    handle: ({ bytes }) => ({ status: 200, json: { bytes: [...bytes] } }),
  }),
];

const queries: AnyRoute[] = [
  route({
    ...shared,
    method: "GET",
    path: "/v1/query",
    operationId: "query",
    summary: "Every kind of parameter",
    query: Query,
    answers: done,
    handle: ({ query }) => ({ status: 200, json: { query } }),
  }),
  route({
    ...shared,
    method: "GET",
    path: "/v1/required",
    operationId: "required",
    summary: "A required parameter",
    query: Type.Object({ day: Type.String() }, closed),
    answers: done,
    handle: ({ query }) => ({ status: 200, json: { day: query.day } }),
  }),
];

const failures: Record<string, (context: RequestContext) => Answer | Promise<Answer>> = {
  throws: () => {
    throw new TypeError(MARKER);
  },
  rejects: () => Promise.reject(new Error(MARKER)),
  rejectsWithText: () => Promise.reject(MARKER),
  rejectsWithNothing: () => Promise.reject(null),
  badJson: () => ({ status: 200, json: { big: 1n, MARKER } }),
  badHeader: () => ({ status: 200, json: {}, headers: { "x-bad": `${MARKER}\nx: y` } }),
  inCommit: (context) =>
    context.commit(() => {
      throw new Error(MARKER);
    }),
};

const refusing: AnyRoute[] = [
  route({
    ...shared,
    method: "GET",
    path: "/v1/refuses",
    operationId: "refuse",
    summary: "Refuses",
    answers: done,
    handle() {
      throw conflict;
    },
  }),
  route({
    ...shared,
    method: "GET",
    path: "/v1/fails/:way",
    operationId: "fail",
    summary: "Fails",
    answers: done,
    handle: (context) => failures[context.params.way]?.(context) ?? { status: 200 },
  }),
];

function accessRoute(access: Access, method: "GET" | "POST"): AnyRoute {
  return route({
    method,
    path: `/v1/access/${access}`,
    operationId: `${method}-${access}`,
    tag: "Access",
    summary: access,
    access,
    budget: "none",
    answers: done,
    handle: () => ({ status: 200, json: {} }),
  });
}

const ACCESS: readonly Access[] = [
  "none",
  "operator",
  "publish",
  "read",
  "manage",
  "create",
  "owner_read",
  "owner",
];

export const testRoutes: readonly AnyRoute[] = [
  ...things,
  allThings,
  ...bodies,
  ...queries,
  ...refusing,
  ...ACCESS.flatMap((access) => [accessRoute(access, "GET"), accessRoute(access, "POST")]),
];
