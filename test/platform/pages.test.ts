import { expect, test } from "bun:test";
import { type Page, pagesOf } from "../../src/platform/pages.ts";

test("each page is asked for by the cursor of the one before, with the query of that moment", async () => {
  const pages: Page<number>[] = [
    { data: [1, 2], next_cursor: "a b&c" },
    { data: [3], next_cursor: null },
  ];
  const asked: string[] = [];
  const got: number[] = [];
  const read = async (path: string) => {
    asked.push(path);
    return pages[asked.length - 1] ?? { data: [], next_cursor: null };
  };
  for await (const { data } of pagesOf("/v1/things", () => ({ limit: String(5 - got.length) }), read))
    got.push(...data);
  expect(got).toEqual([1, 2, 3]);
  expect(asked).toEqual(["/v1/things?limit=5", "/v1/things?limit=3&cursor=a+b%26c"]);
});

test("whoever leaves asks for no more", async () => {
  let asked = 0;
  const read = async () => ({ data: [++asked], next_cursor: "next" });
  for await (const { data } of pagesOf("/v1/things", () => ({}), read)) if (data[0] === 2) break;
  expect(asked).toBe(2);
});

test.each([1, 3])("a list whose pages come again after %d has no end: that is told", async (count) => {
  let asked = 0;
  const read = async () => ({ data: [++asked], next_cursor: `at ${asked % count}` });
  await expect(Array.fromAsync(pagesOf("/v1/things", () => ({}), read))).rejects.toThrow("has no end");
  expect(asked).toBe(count + 1);
});
