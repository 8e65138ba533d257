/** What is written by hand in Python, by the tests of `test/sdk/python`, beside what is generated. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Document } from "../../sdk/build/document.ts";
import { writeMethods } from "../../sdk/build/python.ts";
import { writeTypes } from "../../sdk/build/python-types.ts";
import { openApi } from "../kit/app.ts";
import { requirePythonOfSdk } from "../kit/python.ts";
import { runCommand } from "../kit/real-server.ts";

const hasPython = requirePythonOfSdk();
const source = join(import.meta.dir, "../../sdk/python/src/sealpost");
const modules = readdirSync(source).flatMap((name) => /^([a-z]+)\.py$/.exec(name)?.[1] ?? []);
const folder = mkdtempSync(join(tmpdir(), "sealpost-python-"));
const written = join(folder, "sealpost");

beforeAll(async () => {
  const document = (await openApi()) as unknown as Document;
  cpSync(source, written, { recursive: true });
  await Bun.write(join(written, "methods.py"), writeMethods(document));
  await Bun.write(join(written, "types.py"), writeTypes(document));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A warning is an error, as of what the next Python takes no more. */
function python(...args: string[]): Promise<string> {
  const env = { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1" };
  return runCommand(["python3", "-X", "dev", "-W", "error", ...args], env, join(import.meta.dir, "python"));
}

test("it has modules", () => {
  expect(modules.length).toBeGreaterThan(5);
});

test.skipIf(!hasPython).each(modules)("%s.py", async (name) => {
  await python("-m", "unittest", `test_${name}`);
});

test.skipIf(!hasPython)(
  "the types are loaded only where they are asked for, and then are there",
  async () => {
    const told = await python(
      "-c",
      'import sys, sealpost; print("sealpost.types" in sys.modules); from sealpost.types import NewEvent; print(NewEvent.__name__)',
    );
    expect(told).toBe("False\nNewEvent\n");
  },
);
