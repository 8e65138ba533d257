/**
 * Compares what was printed with what the README shows, in which `…` stands for what varies or was left out.
 */
import type { Block } from "./blocks.ts";

const ANYTHING = "…";

/** Null where the output is what the block shows, else a sentence that says where they differ. */
export function findDifference(shown: Block, printed: string): string | null {
  if (shown.language === "text") return differenceOfText(shown.text, printed);
  try {
    return differenceOfJson("", JSON.parse(shown.text), JSON.parse(printed));
  } catch (error) {
    return `not JSON (${String(error)}): ${printed}`;
  }
}

/** `…` matches one character or more of its line; alone on a line, any number of lines. */
function differenceOfText(shown: string, printed: string): string | null {
  const lines = shown.split("\n").map((line) => (line === ANYTHING ? "(?:.*\n)*?" : `${patternOf(line)}\n`));
  const pattern = new RegExp(`^${lines.join("").trimEnd()}\n*$`);
  return pattern.test(printed.replaceAll("\r", "")) ? null : `not as shown: ${printed}`;
}

/** Of a text in which `…` stands for one character or more. */
function patternOf(text: string): string {
  return text
    .split(ANYTHING)
    .map((part) => RegExp.escape(part))
    .join(".+");
}

/**
 * A string `…` matches every value but null; a key `…` says that an object has more fields than are shown.
 */
function differenceOfJson(at: string, shown: unknown, printed: unknown): string | null {
  if (typeof shown === "string") return differenceOfString(at, shown, printed);
  if (typeof shown !== "object" || shown === null || typeof printed !== "object" || printed === null) {
    return shown === printed ? null : `${at}: ${JSON.stringify(printed)}, not ${JSON.stringify(shown)}`;
  }
  if (Array.isArray(shown) !== Array.isArray(printed)) return `${at}: a list is shown or printed, not both`;
  return differenceOfFields(at, shown as Fields, printed as Fields);
}

type Fields = Readonly<Record<string, unknown>>;

function differenceOfFields(at: string, shown: Fields, printed: Fields): string | null {
  const names = Object.keys(shown).filter((name) => name !== ANYTHING);
  const hidden = Object.keys(printed).filter((name) => !names.includes(name));
  if (hidden.length > 0 && !Object.hasOwn(shown, ANYTHING))
    return `${at}: prints ${hidden.join(", ")} as well`;
  const missing = names.find((name) => !Object.hasOwn(printed, name));
  if (missing !== undefined) return `${at}: does not print ${missing}`;
  return (
    names.map((name) => differenceOfJson(`${at}/${name}`, shown[name], printed[name])).find(Boolean) ?? null
  );
}

function differenceOfString(at: string, shown: string, printed: unknown): string | null {
  const isAny = shown === ANYTHING && printed !== null;
  const fits = typeof printed === "string" && new RegExp(`^${patternOf(shown)}$`).test(printed);
  return isAny || fits ? null : `${at}: ${JSON.stringify(printed)}, not ${JSON.stringify(shown)}`;
}
