import { expect, test } from "bun:test";
import {
  type Document,
  operationsOf,
  parametersOf,
  referredBy,
  sharedOf,
  successesOf,
} from "../../sdk/build/document.ts";

const operation = {
  operationId: "getA",
  tags: ["A"],
  summary: "Read A",
  security: [],
  parameters: [{ name: "id", in: "path" as const }, { $ref: "#/components/parameters/Shared" }],
  responses: {
    200: { content: { "application/json": { schema: { $ref: "#/components/schemas/A" } } } },
    204: {},
    404: { content: { "application/problem+json": { schema: {} } } },
  },
};
const document: Document = {
  tags: [],
  paths: { "/a/{id}": { get: operation } },
  components: {
    parameters: { Shared: { name: "shared", in: "query" } },
    schemas: { A: { properties: { id: {} } } },
  },
};

test("each operation is told with its method and path", () => {
  expect(operationsOf(document)).toEqual([{ method: "GET", path: "/a/{id}", operation }]);
});

test("parameters and schemas that are shared are looked up", () => {
  expect(parametersOf(document, operation).map(({ name }) => name)).toEqual(["id", "shared"]);
  const [found, none] = successesOf(operation);
  expect([found, none]).toEqual([{ $ref: "#/components/schemas/A" }, null]);
  expect(sharedOf(document, found ?? {})).toEqual({ properties: { id: {} } });
  expect(sharedOf(document, { type: "string" })).toEqual({ type: "string" });
  expect(referredBy("#/components/schemas/A")).toBe("A");
});

test("one that is not there is an error", () => {
  const lost = { ...operation, parameters: [{ $ref: "#/components/parameters/Lost" }] };
  expect(() => parametersOf(document, lost)).toThrow("There is no #/components/parameters/Lost");
});
