/** What the pages of all lists have in common: others have turns between the rows of one. */
import { expect, spyOn, test } from "bun:test";
import { limit } from "../../../src/core/limits.ts";
import { unavailable } from "../../../src/core/errors.ts";
import type { AnyRoute } from "../../../src/http/framework/route.ts";
import { pageOf, writePage } from "../../../src/http/shared/paging.ts";
import { allRoutes } from "../../../src/http/routes.ts";
import { CountingDatabase } from "../../kit/counting-database.ts";
import { CountingTurns } from "../../kit/counting-turns.ts";
import { TurnCounter } from "../../kit/turn-counter.ts";
import { apiForFile } from "../log-kit.ts";

const SHARE = 20;
const ROWS = Array.from({ length: 60 }, (_, nth) => ({ id: 1000 - nth }));
const reachAnswer = () => {};

const api = apiForFile();

const sizeOf = (answer: { body?: unknown }) =>
  (JSON.parse(String(answer.body)) as { data: unknown[]; next_cursor: string | null }).data.length;

test("however many pages are asked for at once, a turn shows as many rows as it has time for", async () => {
  const counter = new TurnCounter(SHARE);
  const context = { turns: counter.turns.of("account", null), reachAnswer, query: { limit: 50 } };
  const show = () => {
    counter.work();
    return {};
  };
  const page = (_: unknown, nth: number) =>
    nth % 2 === 0
      ? pageOf(api.services, "typ", context, { rows: () => ROWS, show })
      : writePage(api.services, "aud", context, { rows: ROWS.slice(0, 50), next: null, show });
  const pages = await Promise.all(Array.from({ length: 40 }, page));
  expect(new Set(pages.map(sizeOf))).toEqual(new Set([50]));
  expect(counter.all).toBe(40 * 50);
  expect(counter.most).toBe(SHARE);
});

test("of an account's pages one is complete before the next is begun, its callers take turns, and others go on", async () => {
  const counter = new TurnCounter(SHARE);
  const order: string[] = [];
  const page = (account: string, member: string, name: string) => {
    const show = () => {
      counter.work();
      if (order.at(-1) !== name) order.push(name);
    };
    const context = { turns: counter.turns.of(account, null, member), reachAnswer };
    return writePage(api.services, "aud", context, { rows: ROWS, next: null, show });
  };
  const all = ["first", "second", "third"].map((name) => page("a", "one key", name));
  await Promise.all([...all, page("a", "another key", "another"), page("b", "", "stranger")]);
  const ofStranger = order.indexOf("stranger");
  expect(ofStranger).toBeWithin(0, order.lastIndexOf("first"));
  const own = order.filter((name) => name !== "stranger");
  expect(own.filter((name, at) => name !== own[at - 1])).toEqual(["first", "second", "another", "third"]);
});

test("rows in hand take room while their page waits for its turn, and none where it does not", async () => {
  const rows = Array.from({ length: 250 }, (_, nth) => ({ id: 1000 - nth }));
  for (const share of [SHARE, rows.length + 1]) {
    const counter = new TurnCounter(share);
    let most = 0;
    const context = { turns: counter.turns, reachAnswer: (bytes: number) => (most = Math.max(most, bytes)) };
    await writePage(api.services, "aud", context, { rows, next: null, show: () => counter.work() });
    expect([share, most > limit("smallAnswerBytesMax")]).toEqual([share, share === SHARE]);
  }
});

test("a page that fails, and one whose reader has left, let the account's next one be written", async () => {
  const counter = new TurnCounter(SHARE);
  const page = (signal: AbortSignal | null, show: () => unknown) => {
    const context = { turns: counter.turns.of("account", signal), reachAnswer };
    return writePage(api.services, "aud", context, { rows: ROWS, next: null, show });
  };
  const show = () => counter.work();
  const broken = () => {
    if (counter.all === SHARE + 1) throw new Error("broken");
    counter.work();
  };
  const leaving = AbortSignal.abort(new Error("left"));
  const all = [page(null, broken), page(leaving, show), page(null, show)];
  const [failed, left, last] = await Promise.allSettled(all);
  expect([failed, left]).toEqual(
    ["broken", "left"].map((why) => ({ status: "rejected", reason: new Error(why) })),
  );
  expect(last?.status).toBe("fulfilled");
});

test("a table is read for what a page shows, no more than a page of the usual size at once", async () => {
  const sqlite = new CountingDatabase(":memory:");
  sqlite.run("CREATE TABLE list (id INTEGER PRIMARY KEY)");
  for (let id = 1; id <= 300; id++) sqlite.run("INSERT INTO list VALUES (?)", [id]);
  const select = sqlite.prepare("SELECT id FROM list WHERE id < ? ORDER BY id DESC LIMIT ?") as {
    all(before: number, count: number): { id: number }[];
  };
  const rows = (before: number, count: number) => select.all(before, count);
  for (const [size, read] of [
    [1, 2],
    [50, 51],
    [250, 255],
  ] as const) {
    const turns = new CountingTurns(sqlite);
    Object.defineProperty(turns, "isOver", { value: true });
    const context = { turns, reachAnswer, query: { limit: size } };
    const answer = await pageOf(api.services, "rpl", context, { rows, show: ({ id }) => id });
    expect([sizeOf(answer), turns.read]).toEqual([size, read]);
    expect(turns.most).toBeLessThanOrEqual(limit("listLimitDefault") + 1);
  }
});

test("what is written of a page takes room row by row, and a page without room ends", async () => {
  const taken: number[] = [];
  const { turns } = new TurnCounter(SHARE);
  const reach = (bytes: number) => {
    taken.push(bytes);
    if (bytes > 60) throw unavailable("no room", 1);
  };
  const show = () => "eighteen characters!";
  const found = { rows: ROWS, next: null, show };
  const page = writePage(api.services, "typ", { turns, reachAnswer: reach }, found);
  await expect(page).rejects.toThrow("no room");
  expect(taken).toEqual([31, 54, 77]);
});

test("every list gives way before its first row, by GET and HEAD", async () => {
  const isList = ({ method, path, answers, access }: AnyRoute) => {
    const answer = answers[200];
    const hasPages = typeof answer === "object" && answer.schema?.["properties"]?.next_cursor !== undefined;
    return method === "GET" && hasPages && !path.includes(":") && access.endsWith("read");
  };
  const paths = allRoutes(api.services)
    .filter(isList)
    .map(({ path }) => path);
  expect(paths.length).toBeGreaterThan(8);
  const { turns } = api.data.store;
  Object.defineProperty(turns, "isOver", { value: true, configurable: true });
  using next = spyOn(turns, "next");
  try {
    for (const path of paths) {
      for (const method of ["GET", "HEAD"]) {
        next.mockClear();
        const { status } = await api.handle(method, path);
        expect([method, path, status, next.mock.calls.length > 0]).toEqual([method, path, 200, true]);
      }
    }
  } finally {
    delete (turns as { isOver?: boolean }).isOver;
  }
});
