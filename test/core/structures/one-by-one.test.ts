import { expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { OneByOne } from "../../../src/core/structures/one-by-one.ts";

test("works of one name go one after the other, whatever becomes of them, and those of another beside them", async () => {
  const works = new OneByOne<string>();
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  const run = (name: string, work: string) =>
    works.run(name, () => {
      begun.push(work);
      const end = Promise.withResolvers<string>();
      ends.set(work, end);
      return end.promise;
    });
  const all = [run("a", "a1"), run("a", "a2"), run("b", "b1"), run("a", "a3")];
  await nextTurn();
  expect(begun).toEqual(["a1", "b1"]);
  ends.get("a1")?.reject(new Error("it failed"));
  expect(await all[0]?.catch(String)).toBe("Error: it failed");
  await nextTurn();
  expect(begun).toEqual(["a1", "b1", "a2"]);
  ends.get("a2")?.resolve("done");
  expect(await all[1]).toBe("done");
  await nextTurn();
  ends.get("a3")?.resolve("");
  ends.get("b1")?.resolve("");
  await Promise.all(all.slice(2));
  expect(begun).toEqual(["a1", "b1", "a2", "a3"]);
  const later = run("a", "a4");
  await nextTurn();
  ends.get("a4")?.resolve("at once");
  expect(await later).toBe("at once");
});
