/** The fenced blocks of the README and of the pages, as a reader meets them. */
import { join } from "node:path";

export interface Block {
  language: string;
  /** What else the fence says about the block. */
  info: string;
  text: string;
  /** Of the opening fence, from 1. */
  line: number;
  /** Path of its page, where it was read with others. */
  page?: string;
}

/**
 * A block that is typed into the terminal, with the output that the page says it has; null where it
 * says nothing.
 */
export interface Step {
  command: Block;
  output: Block | null;
}

/** What a newcomer reads and types, in its order: one terminal lasts from the first page to the last. */
export const GUIDE: readonly string[] = [
  "README.md",
  ...["tour", "portal", "sources", "behaviour", "verifying", "kinds", "tenants"].map(
    (name) => `src/docs/${name}.md`,
  ),
];

/** A page, by its path in the repository. */
export function readPage(path: string): Promise<string> {
  return Bun.file(join(import.meta.dir, "../..", path)).text();
}

/** Every block of the guide, in order. */
export async function readGuide(): Promise<Block[]> {
  const pages = await Promise.all(
    GUIDE.map(async (path) => readBlocks(await readPage(path)).map((block) => ({ ...block, page: path }))),
  );
  return pages.flat();
}

/** Every fenced block in order. Throws on a fence that is never closed. */
export function readBlocks(markdown: string): Block[] {
  const blocks: Block[] = [];
  let open: Block | null = null;
  for (const [at, line] of markdown.split("\n").entries()) {
    const fence = /^```(?<language>\S*) *(?<info>.*)$/.exec(line);
    if (!fence) {
      if (open) open.text += `${line}\n`;
    } else if (open) {
      blocks.push(open);
      open = null;
    } else {
      const { language = "", info = "" } = fence.groups ?? {};
      open = { language, info: info.trimEnd(), text: "", line: at + 1 };
    }
  }
  if (open) throw new Error(`the block that line ${open.line} opens is never closed`);
  return blocks;
}

/**
 * What is typed, each with its output: `json` and `text` blocks are outputs, and stand right after the `bash`
 * block that prints them. Throws where one stands alone.
 */
export function readSteps(blocks: readonly Block[]): Step[] {
  const steps: Step[] = [];
  for (const [at, block] of blocks.entries()) {
    if (block.language === "bash") steps.push({ command: block, output: null });
    if (block.language !== "json" && block.language !== "text") continue;
    const last = steps.at(-1);
    if (!last || last.command !== blocks[at - 1])
      throw new Error(`line ${block.line}: an output without a command before it`);
    last.output = block;
  }
  return steps;
}

/**
 * The variables that commands set for all that follows or read: a reader's terminal has them when a Sealpost
 * is started there.
 */
export function terminalOf(commands: string): Record<string, string> {
  const names = [...commands.matchAll(/\$\{?([A-Z]\w*)|^export (\w+)=/gm)].map(
    ([, read, set]) => read ?? set ?? "",
  );
  return Object.fromEntries(names.map((name) => [name, "of the terminal"]));
}

/** The one block in a language. Throws where there is none, or several. */
export function findOnly(blocks: readonly Block[], language: string): Block {
  const [block, ...others] = blocks.filter((one) => one.language === language);
  if (!block || others.length > 0) throw new Error(`the pages have not exactly one block of ${language}`);
  return block;
}
