/** What is written for an operation in Python, of a document with one of each sort. */
import { expect, test } from "bun:test";
import { writeMethods } from "../../sdk/build/python.ts";
import type { Document, Operation } from "../../sdk/build/document.ts";
import { ORDERS } from "./orders.ts";

const written = writeMethods(ORDERS);

/** The lines of a method, without its comment. */
function methodOf(name: string): string[] {
  const code = written.replaceAll(/ {8}"""[^]*?\n {8}"""\n/g, "");
  const block = code.split("\n\n").find((one) => one.includes(`def ${name}(`)) ?? "";
  const lines = block.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "" && !line.startsWith("class "));
}

test("a list gives entries, and has no parameter that asks for another form", () => {
  expect(methodOf("list")).toEqual([
    "def list(self, *, cursor: str | None = None) -> List[Order, OrderPage]:",
    'return self._calls.list(Call("GET", "/v1/orders", "idempotent", query={"cursor": cursor}))',
  ]);
});

test("members of a body are given by name, in each of its forms, beside the query, headers and the key", () => {
  const start =
    'def create(self, *, verify: str | None = None, durability: Literal["disk", "replica"] | None = None, ' +
    "idempotency_key: str | None = None, **body: ";
  expect(methodOf("create")).toEqual([
    ...["@overload", `${start}Unpack[Order]) -> Any: ...`],
    ...["@overload", `${start}Unpack[PaidOrder]) -> Any: ...`],
    `${start}Any) -> Any:`,
    'return self._calls.ask(Call("POST", "/v1/orders", "key", query={"verify": verify}, headers={"sealpost-durability": durability, "idempotency-key": idempotency_key}, body={**body}))',
  ]);
});

test("a body of one form needs no other", () => {
  expect(methodOf("update")).toEqual([
    "def update(self, id: str, /, **body: Unpack[PaidOrder]) -> Any:",
    'return self._calls.ask(Call("PATCH", "/v1/orders/{id}", "idempotent", ids=(id,), body={**body}))',
  ]);
});

test("a body that has no members is not sent", () => {
  expect(methodOf("retry")).toEqual([
    "def retry(self, id: str, /, *, idempotency_key: str | None = None) -> Order | None:",
    'return self._calls.ask(Call("POST", "/v1/orders/{id}/retry", "key", ids=(id,), headers={"idempotency-key": idempotency_key}))',
  ]);
});

test("a query that is needed must be given", () => {
  expect(methodOf("get")[0]).toBe("def get(self, id: str, /, *, by: str) -> Any:");
});

test("an answer without a body is None, and a poller's page no list", () => {
  expect(methodOf("delete")[0]).toBe("def delete(self, id: str, /) -> None:");
  expect(methodOf("poll")[0]).toBe("def poll(self, id: str, /, *, cursor: str | None = None) -> OrderPage:");
});

test("an open operation goes without the key, and bytes go as they are", () => {
  expect(methodOf("knock")).toEqual([
    'def knock(self, id: str, body: str | bytes = b"", /) -> Any:',
    'return self._calls.ask(Call("POST", "/door/{id}", "never", ids=(id,), body=body, is_open=True))',
  ]);
});

test("a description cannot end its comment", () => {
  expect(written).toContain('        All */ of \\"\\"\\"it"\\\\".');
});

/** The document with this operation alone, but for what is changed in it. */
function withPost(changes: Partial<Operation>): Document {
  const post = ORDERS.paths["/v1/orders"]?.["post"] as Operation;
  return { ...ORDERS, paths: { "/v1/orders": { post: { ...post, ...changes } } } };
}

test("resources and methods are in snake case", () => {
  const more = writeMethods(withPost({ operationId: "createOrderTypeOfAll", tags: ["Order types"] }));
  expect(more).toContain("def order_types(self) -> OrderTypesCalls:");
  expect(more).toContain("def create_of_all(self, ");
});

test("a body that has members and no name is an error", () => {
  const schema = { type: "object", properties: { a: { type: "string" } } };
  const inline = withPost({ requestBody: { content: { "application/json": { schema } } } });
  expect(() => writeMethods(inline)).toThrow("A body has no name");
});
