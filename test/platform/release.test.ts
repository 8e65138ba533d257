/** The names of what a release consists of. `test/slow/executable.slow.ts` builds it. */
import { expect, test } from "bun:test";
import { fileNameOf, PARTS_FILE, SUMS_FILE, TARGETS } from "../../src/platform/release.ts";
import operating from "../../src/docs/operating.md" with { type: "text" };

const files = [...TARGETS.map(fileNameOf), PARTS_FILE, SUMS_FILE];

test("an executable is named after system, processor and C library", () => {
  expect(fileNameOf("bun-linux-arm64-musl")).toBe("sealpost-linux-arm64-musl");
  expect(fileNameOf("bun-windows-x64")).toBe("sealpost-windows-x64.exe");
});

test("the page of operating has a row for each file, and for no other", () => {
  const rows = operating.match(/^\| `(sealpost-|sealpost\.|SHA256SUMS).*$/gm) ?? [];
  const named = rows.flatMap((row) =>
    [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? ""),
  );
  expect(named.toSorted()).toEqual(files.toSorted());
});
