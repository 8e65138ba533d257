/** The README's test can fail: what reads, runs and compares its blocks notices what is wrong. */
import { describe, expect, test } from "bun:test";
import { type Block, readBlocks, readPage, readSteps } from "./blocks.ts";
import { findDifference } from "./expected.ts";
import { readReceivers } from "./receivers.ts";
import { Shell } from "./shell.ts";
import { fillTable, writeTables } from "./tables.ts";

const block = (language: string, text: string): Block => ({ language, info: "", text, line: 1 });

describe("the reader of blocks", () => {
  test("pairs a command with the output right after it", () => {
    const steps = readSteps(readBlocks("a\n```bash\nls\n```\nprints\n```text\nx\n```\n```bash\ncd\n```\n"));
    expect(steps.map(({ command, output }) => [command.text, command.line, output?.text])).toEqual([
      ["ls\n", 2, "x\n"],
      ["cd\n", 9, undefined],
    ]);
  });

  test("refuses an output without a command, and a block without an end", () => {
    expect(() => readSteps(readBlocks("```json\n{}\n```\n"))).toThrow("line 1");
    expect(() => readSteps([block("bash", ""), block("json", ""), block("json", "")])).toThrow();
    expect(() => readBlocks("```bash\nls\n")).toThrow("never closed");
  });
});

describe("the reader of receivers", () => {
  const shell = (info: string) => `\`\`\`sh ${info}\nls\n\`\`\`\n`;

  test("has each block as a step of its framework", () => {
    const file = "```js app/a.mjs\nb\n```\n";
    const [receiver] = readReceivers(`a\n\n## Next.js\n\nb\n${file}${shell("in the same folder")}`);
    expect(receiver).toMatchObject({
      name: "Next.js",
      steps: [
        { kind: "file", path: "app/a.mjs", text: "b\n" },
        { kind: "start", command: "ls\n" },
      ],
    });
  });

  test("refuses a block that nobody runs", () => {
    expect(() => readReceivers(`${shell("in an empty folder")}\n## Go\n`)).toThrow("no receiver");
    for (const fence of ["sh", "sh in a dream", "js", "js the receiver"])
      expect(() => readReceivers(`# A\n\n## Go\n\`\`\`${fence}\nls\n\`\`\`\n`)).toThrow("neither");
  });
});

describe("the comparison", () => {
  const json = (shown: unknown, printed: unknown) =>
    findDifference(block("json", JSON.stringify(shown)), JSON.stringify(printed));

  test.each([
    [
      { a: 1, b: [null, "x"] },
      { b: [null, "x"], a: 1 },
    ],
    [
      { a: "evt_…", "…": "…" },
      { a: "evt_1", b: 2 },
    ],
    [{ a: "…" }, { a: 17 }],
  ])("%j fits %j", (shown, printed) => {
    expect(json(shown, printed)).toBeNull();
  });

  test.each([
    [{ a: 1 }, { a: 2 }],
    [{ a: 1 }, { a: 1, b: 2 }],
    [{ a: 1, "…": "…" }, { b: 2 }],
    [{ a: "…" }, { a: null }],
    [{ a: "v1,… v1,…" }, { a: "v1,abc" }],
    [{ a: "e.t" }, { a: "evt" }],
    [[1], [1, 2]],
    [{}, []],
    [{ a: {} }, { a: null }],
    [1, "1"],
  ])("%j does not fit %j", (shown, printed) => {
    expect(json(shown, printed)).toBeString();
  });

  test("takes output that is no JSON for a difference", () => {
    expect(findDifference(block("json", "{}"), "curl: (7) refused")).toBeString();
  });

  test("reads … in a text as a part of a line, and alone as any lines", () => {
    const text = (shown: string, printed: string) => findDifference(block("text", `${shown}\n`), printed);
    expect(text("a …\n…\nz", "a b\r\nc\nd\nz\n")).toBeNull();
    expect(text("a …\n…\nz", "a b\nz")).toBeNull();
    expect(text("a …", "a b\nc")).toBeString();
    expect(text("a …\nz", "a b\nc\nz")).toBeString();
    expect(text("401", "200")).toBeString();
    expect(text("401", "x 401")).toBeString();
  });
});

describe("the shell", () => {
  test("keeps variables, functions and the folder from block to block", async () => {
    await using shell = new Shell();
    await shell.run('cd "$(mktemp -d)"\nname=value\ntell() { echo "$1 in $PWD"; }\n');
    const { stdout, stderr, exitCode } = await shell.run('tell "$name"\n');
    expect(stdout).toMatch(/^value in .*sealpost-readme-.*\n$/);
    expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
  });

  test("names a command that failed, also where the block goes on after it", async () => {
    await using shell = new Shell();
    expect((await shell.run("false | cat\necho on\n")).stderr).toContain("exit code 1");
    expect((await shell.run("x=$(grep nothing /dev/null)\necho on\n")).stderr).toContain("exit code 1");
    expect((await shell.run("(exit 3)\n")).exitCode).toBe(3);
  });

  test("does not mind a job that has ended", async () => {
    await using shell = new Shell();
    await shell.run("true &\n");
    expect(await shell.run("wait\n")).toEqual({ exitCode: 0, stdout: "", stderr: "" });
  });

  test("ends what a block started in the background", async () => {
    const shell = new Shell();
    const { stdout } = await shell.run("sleep 600 &\necho $!\n");
    await shell[Symbol.asyncDispose]();
    expect(() => process.kill(Number(stdout), 0)).toThrow();
  });

  test("notices a block that ends the shell", async () => {
    await using shell = new Shell();
    await expect(shell.run("exit 0\n")).rejects.toThrow("ends the shell");
  });
});

test("the pages whose tables differ are written, and named once each", async () => {
  const pages = new Map<string, string>();
  const read = async (path: string) => pages.get(path) ?? (await readPage(path));
  const write = async (path: string, page: string) => pages.set(path, page);
  expect(await writeTables(read, write)).toEqual([]);
  for (const path of ["src/docs/limits.md", "src/docs/sources.md"])
    pages.set(path, (await readPage(path)).replaceAll(/\n\| `?[A-Z].*(?=\n)/g, ""));
  expect(await writeTables(read, write)).toEqual(["src/docs/limits.md", "src/docs/sources.md"]);
  expect(pages.get("src/docs/sources.md")).toBe(await readPage("src/docs/sources.md"));
  expect([...pages.keys()]).toEqual(["src/docs/limits.md", "src/docs/sources.md"]);
});

test("tables are refused where their place is missing", () => {
  expect(() => fillTable("limits", "<!-- settings --><!-- /settings -->")).toThrow("limits");
});
