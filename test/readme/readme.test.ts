/**
 * The README and the pages that go on from it are true: everything that a reader types is typed here, in its
 * order, into one shell, against the real service and the README's own receiver; what is said to be printed
 * is printed; what is named is there.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import manifest from "../../package.json";
import { DEAD_REASONS, DELIVERY_STATUS } from "../../src/core/model.ts";
import { type Service, startService } from "../kit/service.ts";
import { requireTool } from "../kit/tools.ts";
import { type Block, GUIDE, readGuide, readPage, readSteps, terminalOf } from "./blocks.ts";
import { findDifference } from "./expected.ts";
import { type Ran, Shell } from "./shell.ts";
import { fillTable, PAGE_OF } from "./tables.ts";

const repository = join(import.meta.dir, "../..");
const blocks = await readGuide();
const steps = readSteps(blocks);
const architecture = await readPage("src/docs/architecture.md");
const behaviour = await readPage("src/docs/behaviour.md");
const EVERY_PAGE = [
  ...GUIDE,
  "CONTRIBUTING.md",
  ...[
    "architecture",
    "cells",
    "limits",
    "measurements",
    "monitoring",
    "operating",
    "orchestrators",
    "pair",
    "planning",
    "promises",
    "receivers",
  ].map((name) => `src/docs/${name}.md`),
];
const hasTools = ["curl", "openssl"]
  .map((name) => requireTool(name, `apt-get install ${name}`))
  .every(Boolean);

const startCommand = `SEALPOST_ALLOW_PRIVATE_DESTINATIONS=127.0.0.0/8 npx -y ${manifest.packageManager} run start`;
const operatorStartCommand = `SEALPOST_OPERATOR_TOKEN=an-operator-token SEALPOST_PORT=8081 SEALPOST_DATA_DIR=./data/operated npx -y ${manifest.packageManager} run start`;
const lookDeadlineMs = 5000;
const lookAgainMs = 20;

test("every block is one that is run, compared with what is printed, or a drawing", () => {
  const checked = ["bash", "json", "text", "ts"];
  const isDrawing = ({ language, text }: Block) => language === "" && text.includes("──▶");
  expect(blocks.filter((block) => !checked.includes(block.language) && !isDrawing(block))).toEqual([]);
  expect(steps.length).toBeGreaterThan(30);
});

describe.skipIf(!hasTools)("the commands, in one terminal from the first to the last", () => {
  let service: Service;
  let operated: Service;
  let shell: Shell;

  beforeAll(async () => {
    // Whoever stops Sealpost may start it again where the tour was typed: nothing that it sets there may be
    // in the way.
    const env = terminalOf(steps.map(({ command }) => command.text).join(""));
    expect(Object.keys(env)).toContain("TEST_KEY");
    service = await startService({ env });
    operated = await startService({ env: { ...env, SEALPOST_OPERATOR_TOKEN: "an-operator-token" } });
    shell = new Shell();
  });

  afterAll(async () => {
    await shell[Symbol.asyncDispose]();
    await service.close();
    await operated.close();
  });

  const receiverPort = String(findFreePort());

  /**
   * THE place where the README's words become this machine's: the ports, the Bun that runs the tests, the
   * printed key.
   */
  function translate(block: Block): Block {
    const text = block.text
      .replaceAll("8080", new URL(service.url).port)
      .replaceAll("8081", new URL(operated.url).port)
      .replaceAll("9000", receiverPort)
      .replaceAll(`npx -y ${manifest.packageManager}`, process.execPath)
      .replaceAll("sp_test_…", service.keys.test);
    return { ...block, text };
  }

  for (const { command, output } of steps) {
    const [firstLine = ""] = command.text.split("\n");
    test(`${command.page} ${command.line}: ${firstLine.slice(0, 70)}`, async () => {
      if (firstLine === startCommand) expectStart(service, output);
      else if (firstLine === operatorStartCommand) expect(operated.keys).toEqual({ live: "", test: "" });
      else await expectStep(shell, translate(command), output && translate(output));
    });
  }
});

/**
 * The service of this test runs from the sources, by `src/main.ts` as the start script does; its keys are
 * printed alike.
 */
function expectStart(service: Service, output: Block | null): void {
  expect(manifest.scripts.start).toEndWith("exec bun src/main.ts");
  const isLog = (line: string) => line.startsWith("{") || line === "";
  const printed = service
    .output()
    .split("\n")
    .filter((line) => !isLog(line));
  expect(output && findDifference(output, printed.join("\n"))).toBeNull();
  expect(output).not.toBeNull();
}

/** A reader who looks before it has happened looks again; whatever changes something is typed once. */
async function expectStep(shell: Shell, command: Block, output: Block | null): Promise<void> {
  const deadline = performance.now() + lookDeadlineMs;
  let problem = problemOf(await shell.run(command.text), output);
  while (problem !== null && isLook(command) && performance.now() < deadline) {
    await Bun.sleep(lookAgainMs);
    problem = problemOf(await shell.run(command.text), output);
  }
  expect(problem).toBeNull();
}

function isLook({ text }: Block): boolean {
  return /^((api GET |cat |tail |[A-Z]+=\$\(pick ).*\n)+$/.test(text) && !text.includes("<<");
}

function problemOf({ exitCode, stdout, stderr }: Ran, output: Block | null): string | null {
  if (exitCode !== 0 || stderr !== "") return `exit code ${exitCode}: ${stderr}`;
  return output && findDifference(output, stdout);
}

function findFreePort(): number {
  const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  probe.stop(true);
  return probe.port;
}

describe("what the pages say about the source", () => {
  test("settings, limits, providers, schedule and plan are those of the source: else run `npx -y bun@1.4.5 test/readme/tables.ts`", async () => {
    for (const [name, path] of Object.entries(PAGE_OF)) {
      const page = await readPage(path);
      expect(fillTable(name, page)).toBe(page);
    }
  });

  test("the README is short", async () => {
    expect((await readPage("README.md")).split("\n").length).toBeLessThanOrEqual(251);
  });

  test.each(EVERY_PAGE)("every file and folder that %s names is there", async (path) => {
    const page = await readPage(path);
    const named = [...page.matchAll(/`(?:bun )?((?:\.?\/)?(?:src|test|drizzle|\.ci)\/[\w./-]*)`/g)];
    expect(
      named.filter(([, file = ""]) => !existsSync(join(repository, file))).map(([name]) => name),
    ).toEqual([]);
    const links = [...page.matchAll(/\]\(([\w./-]+)(?:#[\w-]*)?\)/g)].map(([, link = ""]) => link);
    expect(links.filter((link) => !existsSync(join(repository, dirname(path), link)))).toEqual([]);
  });

  test("every name on the architecture page stands in the file beside it", async () => {
    // Beside two files stand names of either; beside the file of a form stand words.
    const tables = architecture.replaceAll(/^\| `[A-Z]\w+` \|.*$/gm, "");
    const rows = [...tables.matchAll(/\| (`src\/[^|]+`) \| ([^|]*`.*?`.*?) \|/g)];
    expect(rows.length).toBeGreaterThan(80);
    for (const [, files = "", names = ""] of rows) {
      const paths = [...files.matchAll(/`(src\/[\w./-]+\.tsx?)`/g)];
      const texts = await Promise.all(paths.map(([, path = ""]) => readPage(path)));
      const [text, path] = [texts.join("\n"), files];
      for (const [, name = ""] of names.matchAll(/`([#\w]+)`/g)) {
        const isThere = new RegExp(`(?<![\\w#])${name}\\b`).test(text);
        expect({ path, name, isThere }).toEqual({ path, name, isThere: true });
      }
    }
  });

  test("every form on it is declared in the file beside it", async () => {
    const rows = [...architecture.matchAll(/^\| `([A-Z]\w+)` \| `(src\/[\w./-]+\.ts)` \|/gm)];
    expect(rows.length).toBe(6);
    for (const [, name = "", path = ""] of rows)
      expect(await readPage(path)).toMatch(new RegExp(`^export (interface|type) ${name}\\b`, "m"));
  });

  test("its table of folders leaves none out", () => {
    const folders = readdirSync(join(repository, "src"), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    expect(folders.filter(({ name }) => !architecture.includes(`| \`src/${name}/\``))).toEqual([]);
  });

  test("the actor's states, and every status and dead reason of a delivery, are named", async () => {
    const actor = await Bun.file(join(repository, "src/delivery/actor-state.ts")).text();
    const [, union = ""] = /^export type State =\n([^]*?);\n\n/m.exec(actor) ?? [];
    const states = [...union.matchAll(/"(\w+)"/g)].map(([, name]) => name);
    expect(states.length).toBe(9);
    expect(states.filter((state) => !architecture.includes(`\`${state}\``))).toEqual([]);
    expect(states.filter((state) => !new RegExp(`^ \\* \\| ${state} +\\|`, "m").test(actor))).toEqual([]);
    const words = [...DELIVERY_STATUS, ...DEAD_REASONS];
    expect(words.filter((word) => !behaviour.includes(`\`${word}\``))).toEqual([]);
  });
});
