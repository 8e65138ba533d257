import { expect, test } from "bun:test";
import { ConnectionError } from "../../sdk/typescript/src/errors.ts";
import { List } from "../../sdk/typescript/src/list.ts";

/** Three pages, the second of which is empty; and the cursors that were asked for. */
function threePages() {
  const asked: (string | undefined)[] = [];
  const pages = new Map([
    [undefined, { data: [1, 2], next_cursor: "b" }],
    ["b", { data: [], next_cursor: "c" }],
    ["c", { data: [3], next_cursor: null }],
  ]);
  const list = new List<number>(async (cursor) => {
    asked.push(cursor);
    const page = pages.get(cursor);
    if (page === undefined) throw new Error(`no page ${cursor}`);
    return page;
  });
  return { list, asked };
}

test("gives one entry after the other, over a page that is empty", async () => {
  const { list, asked } = threePages();
  expect(asked).toEqual([]);
  expect(await Array.fromAsync(list)).toEqual([1, 2, 3]);
  expect(asked).toEqual([undefined, "b", "c"]);
});

test("fetches no page that nobody comes to", async () => {
  const { list, asked } = threePages();
  for await (const entry of list) if (entry === 2) break;
  expect(asked).toEqual([undefined]);
});

test("gives page by page, and the first alone", async () => {
  const { list, asked } = threePages();
  expect(await list.page()).toEqual({ data: [1, 2], next_cursor: "b" });
  const pages = await Array.fromAsync(list.pages());
  expect(pages.map(({ data }) => data.length)).toEqual([2, 0, 1]);
  expect(asked).toEqual([undefined, undefined, "b", "c"]);
});

test.each<[string[]]>([[["a"]], [["a", "b"]]])(
  "ends in an error where a cursor comes twice, as of %j",
  async (cycle) => {
    let asked = 0;
    const list = new List<number>(async () => ({
      data: [asked],
      next_cursor: cycle[asked++ % cycle.length] ?? null,
    }));
    const got: number[] = [];
    const reading = (async () => {
      for await (const entry of list) if (got.push(entry) > 10) break;
    })();
    const error = await reading.catch(Object);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.message).toBe("the list has no end: its cursor a came twice");
    expect(got.length).toBe(cycle.length + 1);
  },
);
