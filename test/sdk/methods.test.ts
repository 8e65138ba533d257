/** What the methods are made of, of a document with one of each sort and of the real one. */
import { expect, test } from "bun:test";
import type { Document } from "../../sdk/build/document.ts";
import { commentOf, isRaw, methodsOf, optionOf } from "../../sdk/build/methods.ts";
import { DOC_PAGES } from "../../src/http/docs/pages.ts";
import { openApi } from "../kit/app.ts";
import { ORDERS } from "./orders.ts";

const methods = methodsOf(ORDERS).get("orders") ?? [];

function methodOf(name: string) {
  const found = methods.find((method) => method.name.method === name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
}

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
  expect<string>(methodOf(name).repeats).toBe(repeats);
});

test("the page names each call that is repeated after a 429 only", async () => {
  const all = [...methodsOf((await openApi()) as unknown as Document).values()].flat();
  const never = all.filter(({ repeats }) => repeats === "never");
  const [, named = ""] = /as that did nothing: (.*?) All that/.exec(DOC_PAGES.get("sdk") ?? "") ?? [];
  expect(never.map(({ name: { resource, method } }) => `${resource}.${method}`).toSorted()).toEqual(
    [...named.matchAll(/`(.*?)`/g)].map(([, name = ""]) => name).toSorted(),
  );
});

test("a page is a list of what it holds, but not a poller's", () => {
  expect([methodOf("list").entry, methodOf("poll").entry]).toEqual([
    { $ref: "#/components/schemas/Order" },
    undefined,
  ]);
});

test("the key and the form of the answer are no parameters", () => {
  const { query, headers, isKeyed, hasFormat } = methodOf("list");
  expect([query.map(({ name }) => name), headers, isKeyed, hasFormat]).toEqual([["cursor"], [], false, true]);
  const create = methodOf("create");
  expect([create.isKeyed, create.headers.map(({ name }) => optionOf(name))]).toEqual([true, ["durability"]]);
});

test("bytes go as they are, and without the key where the operation is open", () => {
  expect([isRaw(methodOf("knock")), methodOf("knock").isOpen]).toEqual([true, true]);
  expect([isRaw(methodOf("create")), methodOf("create").isOpen]).toEqual([false, false]);
});

test("a comment has the document's words, and how it is asked", () => {
  expect(commentOf(methodOf("create"))).toEqual([
    "Do it.",
    "",
    'All */ of """it"\\".',
    "",
    "POST /v1/orders",
  ]);
});
