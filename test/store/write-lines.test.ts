import { expect, test } from "bun:test";
import { type Write, WriteLines } from "../../src/store/write-lines.ts";

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
