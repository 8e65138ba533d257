import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listOf, readInput } from "../../src/client/input.ts";

test("a file is read as the bytes that it has, and one that is not there is named", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sealpost-input-"));
  const path = join(folder, "body");
  writeFileSync(path, new Uint8Array([0xff, 0x0d, 0x0a]));
  expect([...(await readInput(path))]).toEqual([0xff, 0x0d, 0x0a]);
  rmSync(folder, { recursive: true });
  await expect(readInput(path)).rejects.toThrow(`${path} cannot be read: `);
});

test("words stand apart, or with commas between them", () => {
  expect(listOf(["order.*, invoice.paid", "a.b"])).toEqual(["order.*", "invoice.paid", "a.b"]);
  expect(listOf(undefined)).toBeUndefined();
});
