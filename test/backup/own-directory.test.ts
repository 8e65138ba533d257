import { expect, test } from "bun:test";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireOwnDirectory } from "../../src/backup/own-directory.ts";

const isRoot = process.getuid?.() === 0;

test("one's own directory is used, another user's is not", () => {
  const dir = mkdtempSync(join(tmpdir(), "sealpost-own-"));
  try {
    expect(() => requireOwnDirectory(dir)).not.toThrow();
    // Only root may give a directory away.
    if (!isRoot) return;
    chownSync(dir, 1234, 1234);
    expect(() => requireOwnDirectory(dir)).toThrow();
  } finally {
    rmSync(dir, { recursive: true });
  }
});
