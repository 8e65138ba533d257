import { afterEach, beforeEach, expect, test } from "bun:test";
import { cpSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { placeOf, writerOf } from "../../src/replica/writer.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "sealpost-writer-"));
});
afterEach(() => rmSync(home, { recursive: true }));

test("a copy of a directory is the same writer at another place", () => {
  const first = mkdtempSync(join(home, "data-"));
  const [writer, place] = [writerOf(first), placeOf(first)];
  const copy = join(home, "copy");
  cpSync(first, copy, { recursive: true });
  expect(writerOf(copy)).toBe(writer);
  expect(placeOf(copy)).not.toBe(place);
  expect([writerOf(first), placeOf(first)]).toEqual([writer, place]);
});

test("a directory that is renamed is where it was, and another one is another writer", () => {
  const first = mkdtempSync(join(home, "data-"));
  const [writer, place] = [writerOf(first), placeOf(first)];
  const renamed = join(home, "renamed");
  renameSync(first, renamed);
  expect([writerOf(renamed), placeOf(renamed)]).toEqual([writer, place]);
  const other = mkdtempSync(join(home, "data-"));
  expect(writerOf(other)).not.toBe(writer);
  expect(placeOf(other)).not.toBe(place);
});
