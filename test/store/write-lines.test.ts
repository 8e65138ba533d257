import { expect, test } from "bun:test";
import { type Write, WriteLines } from "../../src/store/write-lines.ts";
import { openTestData } from "../kit/data.ts";

const nothing = () => {};

function write(owner: number | null, name: string): Write {
  return { run: () => name, resolve: nothing, reject: nothing, kept: false, owner, value: name, error: null };
}

function drain(lines: WriteLines): unknown[] {
  const names: unknown[] = [];
  for (let next = lines.shift(); next; next = lines.shift()) names.push(next.value);
  return names;
}

test("owners take turns, each with its writes in their order, the service itself among them", () => {
  const lines = new WriteLines([
    write(1, "a1"),
    write(1, "a2"),
    write(1, "a3"),
    write(null, "s1"),
    write(2, "b1"),
  ]);
  expect(lines.size).toBe(5);
  expect(lines.shift()?.value).toBe("a1");
  lines.push(write(2, "b2"));
  expect(drain(lines)).toEqual(["s1", "b1", "a2", "b2", "a3"]);
  expect(lines.size).toBe(0);
});

test("what is put back goes before the others of its owner", () => {
  const lines = new WriteLines([write(1, "a1"), write(2, "b1"), write(1, "a2"), write(1, "a3")]);
  const taken = [lines.shift(), lines.shift(), lines.shift()].flatMap((one) => one ?? []);
  expect(taken.map(({ value }) => value)).toEqual(["a1", "b1", "a2"]);
  lines.unshift(taken);
  expect(lines.size).toBe(4);
  expect(drain(lines)).toEqual(["a1", "b1", "a2", "a3"]);
});

test("a long line loses nothing and keeps its order", () => {
  const names = Array.from({ length: 3500 }, (_, at) => `a${at}`);
  const lines = new WriteLines(names.map((name) => write(1, name)));
  lines.push(write(2, "b"));
  expect(lines.shift()?.value).toBe("a0");
  expect(lines.shift()?.value).toBe("b");
  expect(drain(lines)).toEqual(names.slice(1));
});

test("all that waits can be taken at once", () => {
  const lines = new WriteLines([write(1, "a1"), write(2, "b1"), write(1, "a2")]);
  lines.shift();
  expect(lines.takeAll().map(({ value }) => value)).toEqual(["b1", "a2"]);
  expect([lines.size, lines.shift()]).toEqual([0, undefined]);
});

test("who had a long write comes after the light ones of others, and at last where nobody else waits", () => {
  const names = Array.from({ length: 8 }, (_, at) => `b${at}`);
  const lines = new WriteLines([write(1, "a1"), write(1, "a2"), ...names.map((name) => write(2, name))]);
  expect(lines.shift()?.value).toBe("a1");
  lines.charge(1, 7);
  expect(drain(lines)).toEqual([...names, "a2"]);
});

test("who owes time has a turn again once others have had theirs, however many they have", () => {
  const names = Array.from({ length: 50 }, (_, at) => `b${at}`);
  const lines = new WriteLines([write(1, "a1"), write(1, "a2"), ...names.map((name) => write(2, name))]);
  expect(lines.shift()?.value).toBe("a1");
  lines.charge(1, 7);
  const at = drain(lines).indexOf("a2");
  expect(at).toBeGreaterThan(20);
  expect(at).toBeLessThan(35);
});

test("light writes share their transaction beside the long ones of another owner", async () => {
  let ms = 0;
  const beginShare = () => {
    const end = ms + 2;
    return {
      get isOver() {
        return ms >= end;
      },
    };
  };
  await using it = await openTestData({ monotonic: () => ms, beginShare });
  const { store } = it.data;
  const before = store.commits;
  const takes = (length: number) => () => (ms += length);
  const long = Array.from({ length: 20 }, () => store.writeFor(it.project.id, takes(7)));
  await Promise.all(Array.from({ length: 20 }, () => store.write(takes(0.05))));
  // By the number of writes alone, each long one would end a transaction that holds one light one.
  expect(store.commits - before).toBeLessThanOrEqual(3);
  await Promise.all(long);
});
