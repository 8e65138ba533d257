import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addDirectoryKey, directoryKeys, secretKeyPath } from "../../src/platform/secret-key.ts";

let dir = "";
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "sealpost-key-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

test("a key is made in a new directory, and read again", () => {
  const { keys, made, path } = directoryKeys(dir, true);
  expect([made, path, keys.length, keys[0].length]).toEqual([true, secretKeyPath(dir), 1, 32]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(directoryKeys(dir, false)).toEqual({ keys, made: false, path });
});

test("a new key stands before the others, each on a line of its own", () => {
  const first = directoryKeys(dir, true).keys;
  const both = addDirectoryKey(dir);
  expect(both).toEqual([both[0], ...first]);
  expect(directoryKeys(dir, false).keys).toEqual(both);
  expect(readFileSync(secretKeyPath(dir), "utf8")).toMatch(/^[\w+/]{43}=\n[\w+/]{43}=\n$/);
});

test.each(["", "short", `${"A".repeat(43)}=\nshort`])("a file that holds %j is refused", (text) => {
  writeFileSync(secretKeyPath(dir), text);
  expect(() => directoryKeys(dir, false)).toThrow("does not hold 32 bytes");
});

test("a key that is gone from a directory in use is not made anew", () => {
  expect(() => directoryKeys(dir, false)).toThrow("put it back");
});
