/**
 * Every pair of text and ground, line and ground, in both themes and with any customer's colour (WCAG
 * 2.2 AA).
 */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import {
  brandFor,
  contrast,
  fromHex,
  LINE_CONTRAST,
  type Oklch,
  TEXT_CONTRAST,
  toHex,
} from "../../../src/portal/display/color.ts";

const css = await Bun.file(join(import.meta.dir, "../../../src/portal/styles/tokens.css")).text();
const THEMES = ["light", "dark"] as const;
type Theme = (typeof THEMES)[number];

const NUMBERS = String.raw`oklch\(([\d.]+) ([\d.]+) ([\d.]+)\)`;
const LINE = new RegExp(String.raw`--([\w-]+): light-dark\(${NUMBERS}, ${NUMBERS}\)`, "g");

const tokens = new Map(
  [...css.matchAll(LINE)].map(([, name = "", ...numbers]) => {
    const [l = 0, c = 0, h = 0, dl = 0, dc = 0, dh = 0] = numbers.map(Number);
    return [name, { light: { l, c, h }, dark: { l: dl, c: dc, h: dh } }] as const;
  }),
);

function token(name: string, theme: Theme): Oklch {
  const found = tokens.get(name);
  if (!found) throw new Error(`tokens.css has no --${name}`);
  return found[theme];
}

const GROUNDS = ["page", "surface", "sunken", "raised"];
const STATES = ["good", "warn", "bad", "wait", "idle"];
const BARS = ["bar-delivered", "bar-failed", "bar-dead"];

test("every colour of the page is in the list that is computed here", () => {
  const known = [
    ...GROUNDS,
    "text",
    "muted",
    "line",
    "control",
    "brand",
    "on-brand",
    "brand-soft",
    ...STATES,
    ...STATES.map((state) => `${state}-soft`),
    ...BARS,
    "danger",
    "on-danger",
  ];
  expect([...tokens.keys()].sort()).toEqual(known.sort());
});

/** [text, ground]: read. */
const TEXTS: [string, string][] = [
  ...GROUNDS.flatMap((ground): [string, string][] =>
    ["text", "muted", "brand", ...STATES].map((name) => [name, ground]),
  ),
  ...STATES.map((state): [string, string] => [state, `${state}-soft`]),
  ["text", "brand-soft"],
  ["text", "line"],
  ["muted", "brand-soft"],
  ["brand", "brand-soft"],
  ["on-brand", "brand"],
  ["on-danger", "danger"],
];

/** [line, ground]: edges of controls, bars, focus. */
const LINES: [string, string][] = [
  ...GROUNDS.map((ground): [string, string] => ["control", ground]),
  ...BARS.map((bar): [string, string] => [bar, "surface"]),
  ["danger", "surface"],
  ["danger", "raised"],
];

describe.each(THEMES)("in the %s theme", (theme) => {
  test.each(TEXTS)("%s can be read on %s", (text, ground) => {
    expect(contrast(token(text, theme), token(ground, theme))).toBeGreaterThanOrEqual(TEXT_CONTRAST);
  });

  test.each(LINES)("%s can be told from %s", (line, ground) => {
    expect(contrast(token(line, theme), token(ground, theme))).toBeGreaterThanOrEqual(LINE_CONTRAST);
  });

  test("any customer's colour can be read on every ground, and what stands on it too", () => {
    const color = fc
      .integer({ min: 0, max: 0xffffff })
      .map((value) => `#${value.toString(16).padStart(6, "0")}`);
    fc.assert(
      fc.property(color, (hex) => {
        const { brand, onBrand, soft } = brandFor(hex, theme);
        for (const ground of GROUNDS) {
          expect(contrast(brand, token(ground, theme))).toBeGreaterThanOrEqual(TEXT_CONTRAST);
        }
        expect(contrast(onBrand, brand)).toBeGreaterThanOrEqual(TEXT_CONTRAST);
        for (const name of ["text", "muted"]) {
          expect(contrast(token(name, theme), soft)).toBeGreaterThanOrEqual(TEXT_CONTRAST);
        }
      }),
      {
        numRuns: 300,
        examples: [["#ffffff"], ["#000000"], ["#ffff00"], ["#0000ff"], ["#00ff00"], ["#808080"]],
      },
    );
  });
});

test("a colour that can be read already stays as it is", () => {
  expect(toHex(brandFor("#0043ce", "light").brand)).toBe("#0043ce");
});

test("black on white is 21:1, and a colour comes back from OKLCH as it went in", () => {
  expect(contrast(fromHex("#000000"), fromHex("#ffffff"))).toBeCloseTo(21, 5);
  for (const hex of ["#0f62fe", "#d9480f", "#123456", "#abcdef"]) expect(toHex(fromHex(hex))).toBe(hex);
});
