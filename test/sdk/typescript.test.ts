/** What is written for an operation in TypeScript, of a document with one of each sort. */
import { expect, test } from "bun:test";
import { writeIndex } from "../../sdk/build/typescript.ts";
import { ORDERS } from "./orders.ts";

const written = writeIndex(ORDERS);

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

test("an answer without a body is void, and a poller's page no list", () => {
  expect(methodOf("delete")).toContain("): Promise<void> {");
  expect(methodOf("poll")).toContain("): Promise<types.PollOrdersResponse> {");
});

test("a call says what makes it safe to repeat", () => {
  expect(methodOf("erase")).toContain('repeats: "never"');
});

test("an open operation goes without the key, and bytes go as they are", () => {
  expect(methodOf("knock")).toContain("body?: string | Uint8Array | Blob");
  expect(methodOf("knock")).toContain("body, isRaw: true, isOpen: true, options");
});

test("a description cannot end its comment", () => {
  expect(written).toContain('   * All *\\/ of """it"\\".');
  expect(written.match(/\*\//g)?.length).toBe(11);
});
