import { expect } from "bun:test";

/** The one script of a page below /docs. */
const SEARCH = '<script type="module" src="/docs/assets/search.js"></script>';

/** Nothing runs on a page below /docs but the search, nothing has a style of its own. */
export function expectPlain(page: string): void {
  expect(page).toContain(SEARCH);
  expect(page.replace(SEARCH, "")).not.toMatch(/<script|style=|\bon\w+=/);
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

/** The text of markup, as a browser shows it. */
export function textOf(markup: string): string {
  return markup
    .replace(/<[^>]*>/g, "")
    .replace(/&(amp|lt|gt|quot|#39);/g, (_entity, name: string) => ENTITIES[name] ?? "");
}

/** What stands in the first element of this name. */
export function findTag(name: string, markup: string): string {
  const [, rest = ""] = markup.split(new RegExp(`<${name}(?: [^>]*)?>`));
  return rest.split(`</${name}>`)[0] ?? "";
}
