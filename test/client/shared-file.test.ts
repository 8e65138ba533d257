import { expect, test } from "bun:test";
import { join } from "node:path";
import { changeShared, readIfThere } from "../../src/client/shared-file.ts";
import { Person } from "./kit.ts";

const MODULE = join(import.meta.dir, "../../src/client/shared-file.ts");

test("what processes change at the same time all stands in the file", async () => {
  using person = new Person();
  const path = join(person.folder, "lines");
  const script = `
    const { changeShared } = await import(${JSON.stringify(MODULE)});
    for (let at = 0; at < 20; at++) changeShared(${JSON.stringify(path)}, (text) => (text ?? "") + "a line\\n");`;
  const children = Array.from({ length: 4 }, () =>
    Bun.spawn([process.execPath, "-e", script], { stderr: "inherit" }),
  );
  expect(await Promise.all(children.map(({ exited }) => exited))).toEqual([0, 0, 0, 0]);
  expect(readIfThere(path)).toBe("a line\n".repeat(80));
});

test("a change that is none or fails leaves the file, and lets the next one in", () => {
  using person = new Person();
  const path = join(person.folder, "file");
  changeShared(path, () => null);
  expect(readIfThere(path)).toBeNull();
  const fail = () => {
    throw new Error("no change");
  };
  expect(() => changeShared(path, fail)).toThrow("no change");
  changeShared(path, (text) => `${text} is written`);
  expect(readIfThere(path)).toBe("null is written");
});

test("what a crash has left locked does not stay so, and what is held is told after a while", async () => {
  using person = new Person();
  const path = join(person.folder, "file");
  const script = `
    const { changeShared } = await import(${JSON.stringify(MODULE)});
    changeShared(${JSON.stringify(path)}, () => { console.log("held"); Bun.sleepSync(60_000); return null; });`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
  await child.stdout.getReader().read();
  expect(() => changeShared(path, () => "written")).toThrow("another process changes it");
  child.kill("SIGKILL");
  await child.exited;
  changeShared(path, () => "written");
  expect(readIfThere(path)).toBe("written");
});

test("a folder that cannot be written is told at once", () => {
  expect(() => changeShared("/nowhere/file", () => "text")).toThrow("unable to open");
});
