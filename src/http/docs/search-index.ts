import { sectionsOf } from "./markdown.ts";
import { findPage, listPaths } from "./pages.ts";

/** What search reads of a page: its path below /docs, its title, and of each section id, heading and text. */
export type IndexedPage = [
  path: string,
  title: string,
  sections: [id: string, heading: string, text: string][],
];

/**
 * All pages for the search in the reader's browser (src/docs/search.js). What several pages say to the letter
 * is found on the first of them.
 */
export function searchIndex(): IndexedPage[] {
  const said = new Set<string>();
  return listPaths().map((path) => {
    const sections = sectionsOf(findPage(path)?.text ?? "");
    const fresh = sections.filter(({ text }) => !said.has(text) && said.add(text));
    return [
      path,
      sections[0]?.heading ?? path,
      fresh.map(({ id, heading, text }) => [id, heading, text] as [string, string, string]),
    ];
  });
}
