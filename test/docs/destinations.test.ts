/** The page of the kinds of destinations is made from their table, and says what its rows say. */
import { beforeAll, expect, test } from "bun:test";
import { type KindRow } from "../../src/destinations/destination.ts";
import { listKinds } from "../../src/destinations/destinations.ts";
import { anchorOf } from "../../src/http/docs/markdown.ts";
import { expectPlain, textOf } from "../kit/doc-page.ts";
import { appForFile } from "../kit/for-file.ts";

const app = appForFile();
let page = "";

beforeAll(async () => {
  const reply = await app.with(null).get("/docs/destinations");
  expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  page = reply.text;
});

/** Markdown without its marks and the targets of its links. */
function plain(text: string): string {
  return text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/[`*]/g, "");
}

function sectionOf({ name }: KindRow): string {
  const [, section = ""] = page.split(`<h2 id="${anchorOf(name)}">`);
  return textOf(section.split("<h2 ")[0] ?? "");
}

test.each(listKinds().map((row) => [row.kind, row] as const))(
  "%s has a section that says all",
  (_kind, row) => {
    const { name, about, fields } = row;
    const { sentAs, deliveredWhen, testedAgainst, notes = "", errors = {} } = about;
    const said = [
      name,
      ...[sentAs, deliveredWhen, testedAgainst, notes].map(plain),
      ...fields.flatMap((field) => [field.name, field.label, field.help]),
      ...Object.entries(errors).flat(),
    ];
    const section = sectionOf(row);
    const shown = section.replaceAll("*", "");
    expect(said.filter((part) => !shown.includes(part.replaceAll("*", "")))).toEqual([]);
    expect(page).toContain(`href="#${anchorOf(name)}"><code>${row.kind}</code>`);
  },
);

test("where headers cannot travel, the section says so", () => {
  for (const kind of ["aws_eventbridge", "aws_kinesis"]) {
    const row = listKinds().find((each) => each.kind === kind);
    expect(row && sectionOf(row)).toMatch(/no place for headers|signature does not travel/);
  }
});

test("nothing runs on it, and nothing is left open", () => {
  expectPlain(page);
  expect(page).not.toMatch(/undefined|\[object/);
});

test("its command can be typed into any shell, and leaves no setting behind", () => {
  const [, command = ""] = /<code class="language-bash">([^]*?)<\/code>/.exec(page) ?? [];
  expect(textOf(command)).toContain('"http://localhost:8080/v1/endpoints?verify=true"');
  expect(page).not.toContain("$SEALPOST_");
});

test("the API's own page leads to it", async () => {
  expect((await app.with(null).get("/openapi.json")).text).toContain("(/docs/destinations)");
});
