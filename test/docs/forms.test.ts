/**
 * Every page below /docs is Markdown and a page for people, whose links lead on in the same form; programs
 * find all of them by /llms.txt, and readers by the index of the search.
 */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { markup, plain, sectionsOf, table } from "../../src/http/docs/markdown.ts";
import { DOC_PAGES, listPaths, PAGE_GROUPS } from "../../src/http/docs/pages.ts";
import { type IndexedPage, searchIndex } from "../../src/http/docs/search-index.ts";
import { listProviders } from "../../src/inbound/providers.ts";
import type { Reply } from "../http/kit.ts";
import { appForFile } from "../kit/for-file.ts";
import { findTag, textOf } from "../kit/doc-page.ts";

const INDEX_BYTES_MAX = 800_000;
const PACKED_BYTES_MAX = 200_000;
const paths = listPaths();
const app = appForFile();

function get(path: string, headers: Record<string, string> = {}): Promise<Reply> {
  return app.with(null).send("GET", path, { headers });
}

function typeOf({ status, headers }: Reply): [number, string | null] {
  return [status, headers.get("content-type")];
}

const MARKDOWN: [number, string] = [200, "text/markdown; charset=utf-8"];

describe("in Markdown", () => {
  test("every page is there, by its address or by what is asked for", async () => {
    expect(paths.length).toBe(DOC_PAGES.size + 2 + listProviders().length);
    for (const path of paths) {
      const one = await get(`/docs/${path}.md`);
      expect([path, ...typeOf(one)]).toEqual([path, ...MARKDOWN]);
      expect(one.text).toStartWith("# ");
      const asked = await get(`/docs/${path}`, { accept: "text/markdown, text/html;q=0.9, */*" });
      expect([asked.text, ...typeOf(asked), asked.headers.get("vary")]).toEqual([
        one.text,
        ...MARKDOWN,
        "accept",
      ]);
      const page = await get(`/docs/${path}`);
      expect(typeOf(page)).toEqual([200, "text/html; charset=utf-8"]);
      expect(page.headers.get("vary")).toBe("accept");
      expect(page.text).toContain(`<link rel="alternate" type="text/markdown" href="/docs/${path}.md">`);
    }
  });

  test("its links lead to Markdown, and their fragments to headings; its pictures are there", async () => {
    let seen = 0;
    for (const path of paths) {
      const { text } = await get(`/docs/${path}.md`);
      const links = [...text.matchAll(/\]\(([^)\s]*)\)/g)].map(([, link = ""]) => link);
      for (const link of links.filter((one) => !one.startsWith("http"))) {
        const { pathname, hash } = new URL(link, `http://a/docs/${path}.md`);
        const reply = await get(pathname);
        const isPicture = /\.(png|svg)$/.test(pathname);
        expect([path, link, reply.status]).toEqual([path, link, 200]);
        expect([path, link, typeOf(reply)[1] === MARKDOWN[1]]).toEqual([path, link, !isPicture]);
        const ids = sectionsOf(reply.text).map(({ id }) => `#${id}`);
        expect([path, link, hash === "" || ids.includes(hash)]).toEqual([path, link, true]);
        seen += 1;
      }
    }
    expect(seen).toBeGreaterThan(200);
  });

  test("what is not there is not there in Markdown, and nothing is changed by any method", async () => {
    for (const path of ["nothing.md", ".md", "tour.md.md", "providers/nobody.md", "assets/tour.md"]) {
      expect([path, (await get(`/docs/${path}`)).status]).toEqual([path, 404]);
    }
    for (const path of ["/docs/tour.md", "/docs/providers/stripe.md", "/llms.txt"]) {
      const put = await app.with(null).send("PUT", path);
      expect([path, put.status, put.headers.get("allow")]).toEqual([path, 405, "GET, HEAD"]);
      const head = await app.with(null).send("HEAD", path);
      expect([path, ...typeOf(head), head.text]).toEqual([path, ...MARKDOWN, ""]);
      expect(head.headers.get("cache-control")).toBe("no-cache");
    }
  });

  test("a text of a row reads as it stands, in a line and in a table", () => {
    const piece = fc.constantFrom(
      ..."\\`*_[]()<>|~&#;!ab 1.",
      "&amp;",
      "<b>",
      "](x)",
      "__a__",
      "https://a.b",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = `a${pieces.join("").replaceAll(/ +/g, " ")}.`;
        expect(textOf(markup(plain(text))).trim()).toBe(text);
        expect(textOf(findTag("td", markup(table(["head"], [[plain(text)]]))))).toBe(text);
      }),
      { numRuns: 2000 },
    );
  });
});

test("/llms.txt has the form of llmstxt.org, and names every page that the list of pages has", async () => {
  const reply = await get("/llms.txt");
  expect(typeOf(reply)).toEqual(MARKDOWN);
  const [opening = "", ...groups] = reply.text.split("\n## ");
  expect(opening).toMatch(/^# Sealpost\n\n> [^\n]+\n\n[^#]+\n$/);
  expect(groups.map((group) => group.split("\n")[0])).toEqual(PAGE_GROUPS.map(([title]) => title));
  const links = groups.flatMap((group) => group.trim().split("\n").slice(2));
  const named = links.map((line) => /^- \[[^\]]+\]\(\/docs\/([\w-]+)\.md\): [A-Z].{20,}$/.exec(line)?.[1]);
  expect(named).toEqual(paths.filter((path) => !path.startsWith("providers/")));
});

describe("the index of the search", () => {
  const index = searchIndex();
  const textsOf = ([, title, sections]: IndexedPage) => [title, ...sections.flatMap((one) => one)].join(" ");

  test("has every page, and leads to headings that it has", async () => {
    expect(index.map(([path]) => path)).toEqual(paths);
    for (const [path, title, sections] of index) {
      const { text } = await get(`/docs/${path}`);
      expect(textOf(findTag("h1", text))).toBe(title);
      const missing = sections.filter(([id]) => id !== "" && !text.includes(` id="${id}">`));
      expect([path, missing]).toEqual([path, []]);
      const ids = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
      expect([path, new Set(ids).size]).toEqual([path, ids.length]);
    }
  });

  test("has every word of every page", async () => {
    const known = new Set(index.flatMap((page) => textsOf(page).split(/\s+/)));
    let seen = 0;
    for (const path of paths) {
      const content = findTag("main", (await get(`/docs/${path}`)).text);
      // The words before a block that stand on its fence in Markdown, and the link to that form.
      const own = content.replaceAll(/<p><em>[^<]*:<\/em><\/p>|<p class="form">.*/g, "");
      const words = textOf(own.replaceAll(/<\/(?:p|li|t[hd]|h\d|pre)>/g, " "))
        .trim()
        .split(/\s+/);
      expect([path, words.filter((word) => !known.has(word))]).toEqual([path, []]);
      seen += words.length;
    }
    expect(seen).toBeGreaterThan(60_000);
  });

  test("says once what many pages say, and stays small", async () => {
    const refused = index.filter(([, , sections]) =>
      sections.some(([, heading]) => heading === "When it is refused"),
    );
    expect(refused.map(([path]) => path).length).toBe(1);
    const { status, text, headers } = await get("/docs/assets/search.json", { "accept-encoding": "gzip" });
    expect([status, headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(JSON.parse(text)).toEqual(index);
    expect(Buffer.byteLength(text)).toBeLessThan(INDEX_BYTES_MAX);
    expect(Bun.gzipSync(text, { level: 9 }).length).toBeLessThan(PACKED_BYTES_MAX);
  });
});
