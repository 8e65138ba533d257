/** When the form asks for stored credentials again: it leads to another destination than they are for. */
import { expect, test } from "bun:test";
import type { FormField } from "../../../../src/portal/types.ts";
import { hasOtherHeaders, leadsElsewhere } from "../../../../src/portal/views/endpoint/elsewhere.ts";

const field = (name: string, traits: Partial<FormField> = {}): FormField => ({
  ...{ name, label: name, help: "", required: true, secret: false, address: false, type: "string" as const },
  ...traits,
});
const http = { kind: "http", fields: [field("url", { address: true })] };
const queue = {
  kind: "queue",
  fields: [field("url", { address: true }), field("name"), field("token", { secret: true })],
};
const STORED = { url: "https://queue.example.com", name: "orders", token: "***" };

test("a URL leads elsewhere by its host and its path, and what is no address yet leads nowhere", () => {
  const to = (url: string) => leadsElsewhere(http, { url: "https://a.example.com/one" }, { url });
  expect(["https://a.example.com/two", " https://A.example.com/one ", "https://a"].map(to)).toEqual([
    true,
    false,
    true,
  ]);
  expect(["https:/", "a.example"].map(to)).toEqual([false, false]);
  expect(["https://b.example.com/one", "http://a.example.com/one", ""].map(to)).toEqual([true, true, true]);
});

test("every other kind leads elsewhere by any of its fields, but for its credentials", () => {
  const { token: _kept, ...same } = STORED;
  expect(leadsElsewhere(queue, STORED, same)).toBe(false);
  expect(leadsElsewhere(queue, STORED, { ...same, token: "another" })).toBe(false);
  expect(leadsElsewhere(queue, STORED, { ...same, name: "invoices" })).toBe(true);
  expect(leadsElsewhere(queue, STORED, { ...same, name: "" })).toBe(true);
});

test("what is stored as a number or as true is the same as its text in the form", () => {
  for (const stored of [0, 7, true, false]) {
    const kind = { kind: "queue", fields: [field("size")] };
    expect(leadsElsewhere(kind, { size: stored }, { size: String(stored) })).toBe(false);
    expect(leadsElsewhere(kind, { size: stored }, { size: "" })).toBe(true);
  }
});

test("a header that is added, removed or changed is another, and one that stands elsewhere is not", () => {
  const stored = { authorization: "***", "x-a": "1" };
  const other = (...rows: [string, string][]) => hasOtherHeaders(stored, rows, "***");
  expect(other(["x-a", "1"], ["Authorization ", "***"], ["", ""])).toBe(false);
  expect(other(["x-a", "1"], ["authorization", "typed"])).toBe(false);
  expect(other(["authorization", "***"])).toBe(true);
  expect(other(["authorization", "***"], ["x-a", "2"])).toBe(true);
  expect(other(["authorization", "***"], ["x-a", "1"], ["range", "bytes=0-5"])).toBe(true);
});
