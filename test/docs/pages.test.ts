/**
 * The pages below /docs are true: every example in them is run, every limit is the source's, and nothing
 * else loads.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { compileFilter } from "../../src/core/filter/filter.ts";
import type { Json } from "../../src/core/json/value.ts";
import { LIMITS } from "../../src/core/limits.ts";
import { compileSchema } from "../../src/core/schema/schema.ts";
import { compileTransformations } from "../../src/core/transform/transform.ts";
import { DOC_PAGES } from "../../src/http/docs/pages.ts";
import { startTeamThatMoves } from "../client/import/sources/recorded-svix.ts";
import { expectPlain } from "../kit/doc-page.ts";
import { hasPostgres, Postgres } from "../kit/postgres.ts";
import { startApp, type TestApp } from "../kit/app.ts";
import { type Service, startService } from "../kit/service.ts";
import { requireTool } from "../kit/tools.ts";
import { type Block, GUIDE, readBlocks, terminalOf } from "../readme/blocks.ts";
import { findDifference } from "../readme/expected.ts";
import { readReceivers } from "../readme/receivers.ts";
import { Shell } from "../readme/shell.ts";
import { tell } from "../readme/tables.ts";

type Faults = { pointer: string; detail: string }[];
type Compiled = { ok: true } | { ok: false; faults: Faults };

const MAIN = join(import.meta.dir, "../../src/main.ts");
const hasCurl = requireTool("curl", "apt-get install curl");
const everyPage = [...DOC_PAGES].map(([name, text]) => ({ name, text, blocks: readBlocks(text) }));
/** Without those that are typed together with the README (test/readme). */
const pages = everyPage.filter(({ name }) => !GUIDE.includes(`src/docs/${name}.md`));

/** What test/slow/receivers.slow.ts runs; it throws where a block would be left over. */
const receiverInfos = readReceivers(DOC_PAGES.get("receivers") ?? "").flatMap(({ infos }) => infos);

function blocksOf(name: string): Block[] {
  return pages.find((page) => page.name === name)?.blocks ?? [];
}

function jsonOf(block: Block | undefined): Json {
  return JSON.parse(block?.text ?? "") as Json;
}

/** Blocks with this word on their fence, each with the block after it. */
function examples(name: string, info: string): [line: number, block: Block, next: Block | undefined][] {
  const blocks = blocksOf(name);
  return blocks
    .flatMap((block, at) => (block.info === info ? [[block.line, block, blocks[at + 1]] as const] : []))
    .map(([line, block, next]) => [line, block, next]);
}

function outputAfter(next: Block | undefined): string | null {
  return next?.language === "text" && next.info === "" ? next.text.trim() : null;
}

/** Lines `pointer: detail`, in which `…` stands for what is left out, or pointers alone. */
function expectFaults(compiled: Compiled, shown: string): void {
  const faults = compiled.ok ? [] : compiled.faults;
  const told = faults.map(({ pointer, detail }) =>
    shown.includes(": ") ? `${pointer}: ${detail}` : pointer,
  );
  const block = { language: "text", info: "", text: `${shown}\n`, line: 0 };
  expect(findDifference(block, `${told.join(", ")}\n`)).toBeNull();
}

test("every block is an example that a test runs: of this file, or of slow suites", () => {
  const words: Record<string, string[]> = {
    filters: ["event", "matches", "says no", "refused"],
    transformations: ["event", "transformations", "becomes", "malformed", "refused"],
    schemas: ["schema", "satisfies", "violates", "refused"],
    operating: ["in a terminal"],
    monitoring: ["prometheus.yml"],
    pair: ["in a terminal"],
    cells: ["in a terminal", "in a terminal, with Litestream"],
    orchestrators: ["in a terminal", "as root"],
    receivers: receiverInfos,
    sdk: [
      ...["in a terminal", "in a project", "first steps", "a receiver"],
      ...["in a Python project", "first steps in Python", "a receiver in Python"],
    ],
  };
  for (const { name, blocks } of pages) {
    for (const [at, { language, info, line, text }] of blocks.entries()) {
      const before = blocks[at - 1];
      const isOutput =
        before?.language === "bash" ||
        ["says no", "violates", "refused", "first steps", "first steps in Python"].includes(
          before?.info ?? "",
        );
      const isDrawing = language === "" && text.includes("──▶");
      const isKnown =
        language === "bash" || isDrawing || (info === "" ? isOutput : words[name]?.includes(info));
      expect([name, line, isKnown]).toEqual([name, line, true]);
    }
    // The page of promises has commands in its table: test/docs/promises.test.ts.
    const few: Record<string, number> = {
      operating: 2,
      monitoring: 1,
      pair: 4,
      cells: 3,
      planning: 0,
      sdk: 20,
      orchestrators: 6,
      promises: 0,
      limits: 0,
      measurements: 0,
      architecture: 0,
    };
    const least = few[name] ?? (words[name] ? 15 : 5);
    expect([name, blocks.length >= least]).toEqual([name, true]);
  }
});

describe("filters.md", () => {
  const event = jsonOf(examples("filters", "event")[0]?.[1]);

  test.each(examples("filters", "matches"))("line %d matches the event", (_line, block) => {
    const compiled = compileFilter(jsonOf(block));
    expect(compiled.ok && compiled.filter.explain(event)).toEqual({ matched: true });
  });

  test.each(examples("filters", "says no"))("line %d does not match it, as is said", (_line, block, next) => {
    const compiled = compileFilter(jsonOf(block));
    const verdict = compiled.ok ? compiled.filter.explain(event) : null;
    expect(verdict).toMatchObject({ matched: false, explanation: outputAfter(next) ?? expect.any(String) });
  });

  test.each(examples("filters", "refused"))("line %d is refused, as is said", (_line, block, next) => {
    expectFaults(compileFilter(jsonOf(block)), outputAfter(next) ?? "");
  });
});

describe("transformations.md", () => {
  const event = jsonOf(examples("transformations", "event")[0]?.[1]);

  test.each(examples("transformations", "transformations"))(
    "line %d makes what follows",
    (_line, block, next) => {
      const compiled = compileTransformations(jsonOf(block));
      const result = compiled.ok && compiled.transformation.apply(event);
      if (next?.info === "malformed") expect(result).toEqual({ ok: false, reason: next.text.trim() });
      else expect(result).toEqual({ ok: true, body: jsonOf(next) });
    },
  );

  test.each(examples("transformations", "refused"))(
    "line %d is refused, as is said",
    (_line, block, next) => {
      expectFaults(compileTransformations(jsonOf(block)), outputAfter(next) ?? "");
    },
  );
});

describe("schemas.md", () => {
  /** The last schema above a line. */
  function schemaAbove(line: number) {
    const source = jsonOf(examples("schemas", "schema").findLast(([at]) => at < line)?.[1]);
    const compiled = compileSchema(source);
    if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
    return compiled.schema;
  }

  test.each(examples("schemas", "satisfies"))("line %d satisfies the schema above it", (line, block) => {
    expect(schemaAbove(line).validate(jsonOf(block))).toEqual([]);
  });

  test.each(examples("schemas", "violates"))("line %d violates it, where is said", (line, block, next) => {
    expectFaults({ ok: false, faults: schemaAbove(line).validate(jsonOf(block)) }, outputAfter(next) ?? "");
  });

  test.each(examples("schemas", "refused"))("line %d is refused, as is said", (_line, block, next) => {
    expectFaults(compileSchema(jsonOf(block)), outputAfter(next) ?? "");
  });
});

/** What readers of a page have beside a Sealpost, and the lines that tell their shell. */
type Surroundings = AsyncDisposable & { lines: string };
const SURROUNDINGS: Record<string, () => Surroundings | Promise<Surroundings>> = {
  migrating: startTeamThatMoves,
  bridge: startDatabase,
};

async function startDatabase(): Promise<Surroundings> {
  const postgres = await Postgres.start();
  return {
    lines: `export DATABASE_URL=${postgres.url}\n`,
    [Symbol.asyncDispose]: () => postgres[Symbol.asyncDispose](),
  };
}

const typed = pages.filter(({ name }) => name !== "bridge" || hasPostgres);

describe.skipIf(!hasCurl).each(typed)(
  "the commands of $name.md, typed one after the other",
  ({ name, blocks }) => {
    let service: Service;
    let shell: Shell;
    let surroundings: Surroundings | undefined;

    beforeAll(async () => {
      service = await startService({ env: terminalOf(commands.map(([, { text }]) => text).join("")) });
      shell = new Shell();
      for (const total of [50, 990]) {
        const reply = await fetch(`${service.url}/v1/events`, {
          method: "POST",
          headers: { authorization: `Bearer ${service.keys.test}`, "content-type": "application/json" },
          body: JSON.stringify({ type: "invoice.paid", data: { total } }),
        });
        expect(reply.status).toBe(202);
      }
      await shell.run(`TEST_KEY=${service.keys.test}\n`);
      // The executable, as it lies on a reader's PATH, and a folder of settings that is not the reader's own.
      const script = `#!/bin/sh\\nexec '${process.execPath}' '${MAIN}' "$@"\\n`;
      await shell.run(
        `mkdir bin && printf '%b' '${script.replaceAll("'", "'\\''")}' > bin/sealpost && chmod +x bin/sealpost\n`,
      );
      await shell.run("export PATH=$TMPDIR/bin:$PATH XDG_CONFIG_HOME=$TMPDIR\n");
      surroundings = await SURROUNDINGS[name]?.();
      await shell.run(surroundings?.lines ?? "");
    });

    afterAll(async () => {
      await shell[Symbol.asyncDispose]();
      await service.close();
      await surroundings?.[Symbol.asyncDispose]();
    });

    const commands = blocks.flatMap((block, at): [number, Block, Block | undefined][] => {
      const output = blocks.slice(at + 1, at + 2).find(({ language }) => language !== "bash");
      return block.language === "bash" ? [[block.line, block, output]] : [];
    });

    test.each(commands)("line %d", async (_line, { text }, output) => {
      const ran = await shell.run(text.replaceAll("http://localhost:8080", service.url));
      expect([ran.exitCode, ran.stderr]).toEqual([0, ""]);
      expect(output ? findDifference(output, ran.stdout) : null).toBeNull();
    });
  },
);

describe("limits", () => {
  // The page of all limits is made from the source (test/readme/tables.ts).
  const bounded = pages.filter(({ name, text }) => name !== "limits" && /^\| `\w+(?:Max|Ms)`/m.test(text));

  test.each(bounded)("of $name are those of the source", ({ text }) => {
    const rows = [...text.matchAll(/^\| `(\w+(?:Max|Ms))` +\| (.*?) +\|$/gm)];
    expect(rows.length).toBeGreaterThan(3);
    for (const [, name, value] of rows) {
      const limit = LIMITS[name as keyof typeof LIMITS];
      expect([name, value]).toEqual([name, tell(limit.value, limit.unit)]);
    }
  });

  test("of the three languages are all on their page", () => {
    const prefixes = /^(filter|transform|schema|pattern|path)/;
    const all = Object.keys(LIMITS).filter((name) => prefixes.test(name));
    const texts = pages.map(({ text }) => text).join();
    expect(all.filter((name) => !texts.includes(`\`${name}\``))).toEqual([]);
  });
});

describe("as they are served", () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await startApp();
  });

  afterAll(() => app[Symbol.asyncDispose]());

  test.each(everyPage)(
    "/docs/$name is a page under a strict policy, and all that it links to is there",
    async ({ name }) => {
      const { status, headers, text } = await app.with(null).get(`/docs/${name}`);
      expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
      expect(headers.get("content-security-policy")).toStartWith("default-src 'none'; style-src 'self';");
      expectPlain(text);
      if (["filters", "transformations", "schemas"].includes(name))
        expect(text).toMatch(/<em>(matches|becomes|satisfies):<\/em>/);
      const links = [...text.matchAll(/(?:href|src)="(?!data:|#)([^"]*)"/g)].map(([, link = ""]) => link);
      expect(links.length).toBeGreaterThan(4);
      for (const link of links) expect([link, (await app.with(null).get(link)).status]).toEqual([link, 200]);
    },
  );

  test("the API's document leads to them, and there is no other page", async () => {
    const { text } = await app.with(null).get("/openapi.json");
    const missing = everyPage.map(({ name }) => name).filter((name) => !text.includes(`(/docs/${name})`));
    expect(missing).toEqual([]);
    const { status, json } = await app.with(null).get("/docs/nothing");
    expect([status, json["code"]]).toEqual([404, "not_found"]);
  });
});
