/** Who a mark lets write. */
import { describe, expect, test } from "bun:test";
import { judge, type Mark, type Own, readMark } from "../../src/replica/mark.ts";

describe("a mark", () => {
  const own: Own = { installation: "db", writer: "here", place: "p", start: 3, beat: 30 };
  const there: Mark = {
    installation: "db",
    writer: "there",
    host: "h",
    start: 3,
    beat: 30,
    ended: false,
    at: "t",
  };
  const cases: [what: string, mark: Mark | null, own: Own, may: string][] = [
    ["none", null, own, "write"],
    ["one's own, however it ended", { ...there, writer: "here", place: "p" }, own, "write"],
    ["one's own of an older version", { ...there, writer: "here" }, own, "write"],
    ["that of what this directory is a copy of", { ...there, writer: "here", place: "q" }, own, "wait"],
    ["another directory's that has ended", { ...there, ended: true }, own, "write"],
    ["another directory's that may live", there, own, "wait"],
    ["another database's", { ...there, installation: "other" }, own, "not"],
    ["another database's that has ended", { ...there, installation: "other", ended: true }, own, "not"],
    ["of a later start", { ...there, start: 4 }, own, "not"],
    ["of a later start that has ended", { ...there, start: 4, ended: true }, own, "not"],
    ["of a later beat", { ...there, beat: 31 }, own, "not"],
    ["of a later beat of this directory", { ...there, writer: "here", beat: 31 }, own, "not"],
    ["where there is no database", there, { ...own, installation: null, start: 0, beat: 0 }, "not"],
  ];
  for (const [what, given, self, may] of cases)
    test(`${what}: ${may}`, () => {
      expect(judge(given, self).may).toBe(may as "write");
    });

  test("that is no mark is none", () => {
    for (const text of ["", "null", "{}", "[]", '{"installation": 1}', "{"])
      expect(readMark(text)).toBeNull();
  });
});
