/** The receivers of src/docs/receivers.md: what a reader types and writes, section by section. */
import { type Block, readBlocks } from "./blocks.ts";

/** Said on the fences of what is typed: before the files are written, and after. */
const SET_UP = "in an empty folder";
const START = "in the same folder";
const DEPENDENCY = "a dependency in pom.xml";

export interface PageReceiver {
  /** The heading of its section: the framework. */
  name: string;
  /** Files and commands in their order; the command that starts it is the last, where it has one. */
  steps: readonly Step[];
  /** What the fence of each step says beside the language. */
  infos: readonly string[];
}

export type Step =
  | { kind: "file"; path: string; text: string }
  | { kind: "set-up" | "start"; command: string }
  /** An artifact of Maven, `GROUP:ARTIFACT:VERSION`. */
  | { kind: "dependency"; artifact: string };

/** Throws on a block that is no part of a receiver, so that none stands there that nobody runs. */
export function readReceivers(page: string): PageReceiver[] {
  const [intro = "", ...sections] = page.split(/^(?=## )/m);
  for (const { text } of readBlocks(intro)) throw new Error(`it belongs to no receiver:\n${text}`);
  return sections.map((section) => {
    const blocks = readBlocks(section);
    const name = section.slice("## ".length, section.indexOf("\n"));
    return { name, steps: blocks.map(stepOf), infos: blocks.map(({ info }) => info) };
  });
}

function stepOf({ language, info, text }: Block): Step {
  if (language === "sh" && info === SET_UP) return { kind: "set-up", command: text };
  if (language === "sh" && info === START) return { kind: "start", command: text };
  if (language === "xml" && info === DEPENDENCY) return { kind: "dependency", artifact: artifactOf(text) };
  if (language !== "sh" && /^[\w./-]+\.\w+$/.test(info)) return { kind: "file", path: info, text };
  throw new Error(`its fence says neither where it is typed nor which file it is:\n${text}`);
}

function artifactOf(xml: string): string {
  const fields = ["groupId", "artifactId", "version"];
  return fields.map((name) => new RegExp(`<${name}>([^<]+)</${name}>`).exec(xml)?.[1] ?? "").join(":");
}
