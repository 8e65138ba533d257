/**
 * Every page is Markdown first: that text is served as it is, the page in HTML is made from it, and search is
 * told its headings.
 */

/** What Markdown would take for a mark of its own. */
const MARKS = /[\\`*[~]|_(?![a-z0-9])|(?<![a-z0-9])_|<(?=[a-z/!?])|&(?=#|\w+;)/gi;

/** A text of a row, one line, so that it reads as it stands there. */
export function plain(text: string): string {
  return text.replaceAll(MARKS, "\\$&");
}

/** A text as code within a line. */
export function code(text: string): string {
  return text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``;
}

/** Rows of cells in Markdown, below a head. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), `|${" --- |".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

/** Blocks with a blank line between them; an empty text is none. */
export function blocks(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}

/** Headings have ids, which links lead to. */
const WITH_IDS = { headings: { ids: true } };

/** The markup of a page; its links and pictures are as in the text. */
export function markup(text: string): string {
  return Bun.markdown.html(text, WITH_IDS);
}

/** The id of a heading with this text, where it is the first of its page. */
export function anchorOf(heading: string): string {
  return /id="([^"]*)"/.exec(markup(`## ${heading}`))?.[1] ?? "";
}

/** The title of a page, which its first line is. */
export function titleOf(page: string): string {
  return sectionsOf(page.slice(0, page.indexOf("\n")))[0]?.heading ?? "";
}

/** What stands below one heading, as plain text; the page's title has the id "". */
export interface Section {
  id: string;
  heading: string;
  text: string;
}

/** Parts sections, as no page holds it. */
const BREAK = "\u0000";

/** The sections of a page. The first is that of its title. */
export function sectionsOf(page: string): Section[] {
  const spaced = (children: string) => `${children} `;
  const text = Bun.markdown.render(
    page,
    {
      heading: (children, { level, id = "" }) => `${BREAK}${level === 1 ? "" : id}\n${children}\n`,
      paragraph: spaced,
      code: spaced,
      listItem: spaced,
      th: spaced,
      td: spaced,
      image: () => "",
      html: (tags) => tags.replaceAll(/<[^<>]*>/g, " "),
    },
    WITH_IDS,
  );
  return text
    .split(BREAK)
    .slice(1)
    .map((section) => {
      const [id = "", heading = "", ...rest] = section.split("\n");
      return { id, heading, text: rest.join(" ").replaceAll(/\s+/g, " ").trim() };
    });
}
