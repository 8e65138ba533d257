/** What is written for an operation, of a document with one of each sort. */
import { expect, test } from "bun:test";
import type { Document, Operation } from "../../sdk/typescript/build/document.ts";
import { writeIndex } from "../../sdk/typescript/build/methods.ts";
import { DOC_PAGES } from "../../src/http/docs/pages.ts";
import { openApi } from "../kit/app.ts";

const page = { properties: { data: {}, next_cursor: {} } };
const json = (schema: object) => ({ content: { "application/json": { schema } } });
const query = (name: string, required = false) => ({ name, in: "query" as const, required });
const ID = { name: "id", in: "path" as const, required: true };
const KEY = { $ref: "#/components/parameters/IdempotencyKey" };

function operation(operationId: string, of: Partial<Operation>): Operation {
  return {
    operationId,
    tags: ["Orders"],
    summary: "Do it",
    security: [{ api_key: [] }],
    responses: { 200: json({}) },
    ...of,
  };
}

const document: Document = {
  tags: [{ name: "Orders", description: "" }],
  components: {
    schemas: { OrderPage: page },
    parameters: {
      IdempotencyKey: { name: "Idempotency-Key", in: "header" },
      Durability: { name: "sealpost-durability", in: "header" },
    },
  },
  paths: {
    "/v1/orders": {
      get: operation("listOrders", {
        parameters: [query("cursor"), query("format")],
        responses: { 200: json({ $ref: "#/components/schemas/OrderPage" }) },
      }),
      post: operation("createOrder", {
        description: "All */ of it.",
        parameters: [KEY, { $ref: "#/components/parameters/Durability" }, query("verify")],
        requestBody: { required: true, content: { "application/json": {} } },
      }),
    },
    "/v1/orders/{id}": {
      get: operation("getOrder", { parameters: [ID, query("by", true)] }),
      delete: operation("deleteOrder", { parameters: [ID], responses: { 204: {} } }),
      patch: operation("updateOrder", {
        parameters: [ID],
        requestBody: { content: { "application/json": {} } },
      }),
    },
    "/v1/orders/{id}/erase": {
      delete: operation("eraseOrder", { parameters: [ID], responses: { 202: json({}) } }),
    },
    "/v1/orders/by/{name}": {
      delete: operation("unnameOrder", {
        parameters: [{ name: "name", in: "path" as const, required: true }],
        responses: { 204: {} },
      }),
    },
    "/poll/{id}": {
      get: operation("pollOrders", {
        parameters: [ID, query("cursor")],
        responses: { 200: json(page) },
      }),
    },
    "/door/{id}": {
      post: operation("knockOrders", {
        parameters: [ID],
        security: [],
        requestBody: { content: { "application/octet-stream": {} } },
      }),
    },
  },
};
const written = writeIndex(document);

/** The line that begins a method, and the one within it. */
function methodOf(name: string): string {
  const lines = written.split("\n");
  const at = lines.findIndex((line) => line.startsWith(`  ${name}(`));
  return lines.slice(at, at + 2).join("\n");
}

test("a list gives entries, and has no parameter that asks for another form", () => {
  expect(methodOf("list")).toBe(
    `  list(query?: Omit<NonNullable<types.ListOrdersData["query"]>, "format">, options?: CallOptions): List<types.ListOrdersResponse["data"][number], types.ListOrdersResponse> {
    return this.#calls.list<types.ListOrdersResponse["data"][number], types.ListOrdersResponse>({ method: "GET", path: "/v1/orders", ids: [], repeats: "idempotent", query, options });`,
  );
});

test("what stands in the query or in headers beside a body is an option, the key is made by the client", () => {
  expect(methodOf("create")).toBe(
    `  create(body: NonNullable<types.CreateOrderData["body"]>, options?: KeyedOptions & { durability?: NonNullable<types.CreateOrderData["headers"]>["sealpost-durability"]; verify?: NonNullable<types.CreateOrderData["query"]>["verify"] }): Promise<types.CreateOrderResponse> {
    return this.#calls.ask<types.CreateOrderResponse>({ method: "POST", path: "/v1/orders", ids: [], repeats: "key", body, query: { verify: options?.verify }, headers: { "sealpost-durability": options?.durability }, options });`,
  );
});

test("a query that is needed must be given", () => {
  expect(methodOf("get")).toStartWith(
    '  get(id: string, query: NonNullable<types.GetOrderData["query"]>, options?: CallOptions): Promise',
  );
});

test.each([
  ["list", "idempotent"],
  ["create", "key"],
  ["update", "idempotent"],
  ["delete", "idempotent"],
  ["erase", "never"],
  ["unname", "never"],
  ["poll", "idempotent"],
  ["knock", "never"],
])("%s is repeated by %s", (name, repeats) => {
  expect(methodOf(name)).toContain(`repeats: "${repeats}"`);
});

test("the page names each call that is repeated after a 429 only", async () => {
  const all = writeIndex((await openApi()) as unknown as Document).split("\n");
  const never = all.flatMap((line, at) => {
    if (!line.includes('repeats: "never"')) return [];
    const [, method] = /^  (\w+)\(/.exec(all[at - 1] ?? "") ?? [];
    const begun = all.slice(0, at).findLast((one) => one.includes("class ")) ?? "";
    const [, resource = ""] = /class (\w+)Calls/.exec(begun) ?? [];
    return [`${resource.charAt(0).toLowerCase()}${resource.slice(1)}.${method}`];
  });
  const [, named = ""] = /as that did nothing: (.*?) All that/.exec(DOC_PAGES.get("sdk") ?? "") ?? [];
  expect(never.toSorted()).toEqual([...named.matchAll(/`(.*?)`/g)].map(([, name = ""]) => name).toSorted());
});

test("an answer without a body is void, and a poller's page no list", () => {
  expect(methodOf("delete")).toContain("): Promise<void> {");
  expect(methodOf("poll")).toContain("): Promise<types.PollOrdersResponse> {");
});

test("an open operation goes without the key, and bytes go as they are", () => {
  expect(methodOf("knock")).toContain("body?: string | Uint8Array | Blob");
  expect(methodOf("knock")).toContain("body, isRaw: true, isOpen: true, options");
});

test("a description cannot end its comment", () => {
  expect(written).toContain("   * All *\\/ of it.");
  expect(written.match(/\*\//g)?.length).toBe(10);
});
