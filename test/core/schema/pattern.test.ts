import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { compileSchema } from "../../../src/core/schema/schema.ts";

/** The verdict on one text; a text that the budget does not suffice for is an error here. */
function finds(pattern: string, text: string): boolean {
  const compiled = compileSchema({ pattern });
  if (!compiled.ok) throw new Error(`${pattern}: ${compiled.faults[0]?.detail}`);
  const faults = compiled.schema.validate(text);
  if (faults[0]?.detail.includes("steps")) throw new Error(`${pattern}: ${faults[0].detail}`);
  return faults.length === 0;
}

function refusal(pattern: string): string {
  const compiled = compileSchema({ properties: { a: { pattern } } });
  if (compiled.ok) return "accepted";
  expect(compiled.faults.map((fault) => fault.pointer)).toEqual(["/properties/a/pattern"]);
  return compiled.faults[0]?.detail ?? "";
}

const a = (count: number) => "a".repeat(count);

/**
 * Patterns that take a backtracking engine exponential or high polynomial time, with texts and the
 * right verdicts.
 */
const REDOS: [pattern: string, matching: string[], others: string[]][] = [
  ["^(?:(?:a+)+$|.*ok$)", [`${a(28)}!ok`, a(28)], [`${a(60)}!`]],
  ["^(a+)+$", [a(60)], [`${a(60)}!`]],
  ["^((a+)+)+$", [a(60)], [`${a(60)}!`]],
  ["^(a|aa)+$", [a(61)], [`${a(61)}!`]],
  ["^(a|a)*$", [a(60), ""], [`${a(60)}b`]],
  ["^(a|a?)+$", [a(60)], [`${a(60)}!`]],
  ["(a*)*b", [`${a(60)}b`], [a(60)]],
  ["(a+a+)+b", [`${a(60)}b`], [a(60)]],
  ["(x+x+)+y", [`${"x".repeat(60)}y`], ["x".repeat(60)]],
  ["^(([a-z])+.)+[A-Z]([a-z])+$", [`${a(30)}.Ba`], [a(60)]],
  ["^(a?){50}a{50}$", [a(50), a(100)], [a(49), a(101)]],
  ["^(.*?,){11}P", [`${"1,".repeat(11)}P`, `${"1,".repeat(40)}P`], ["1,".repeat(40)]],
  ["^(\\w+\\s?)*$", ["word ".repeat(20)], [`${"word ".repeat(20)}!`]],
  ["^(\\d+)*-$", [`${"1".repeat(60)}-`], ["1".repeat(60)]],
  ["\\s+$", [" ".repeat(20_000)], [`${" ".repeat(20_000)}x`]],
  ["^\\s+|\\s+$", [" x"], [`x${" ".repeat(20_000)}y`]],
  ["(.*a){12}$", [a(40)], [`${a(40)}!`]],
  ["^(.+)+x$", [`${a(60)}x`], [a(60)]],
  ["([^\"']+)+[\"']", [`${a(60)}'`], [a(60)]],
  ['^"(?:[^"\\\\]|\\\\.)*"$', [`"${"\\\\".repeat(60)}"`], [`"${"\\\\".repeat(60)}`]],
  ["(\\S+)*@", [`${a(60)}@`], [a(60)]],
  ["^(0|1)*1(0|1){14}$", [`${"01".repeat(30)}1${"0".repeat(14)}`], [`${"10".repeat(30)}0${"1".repeat(14)}`]],
  ["[ab]*a[ab]{20}c", [`${"ab".repeat(30)}a${"b".repeat(20)}c`], ["ab".repeat(60)]],
  ["(?:a|b|ab)*c", [`${"ab".repeat(40)}c`], ["ab".repeat(40)]],
  ["^(([a-z]+)*)+\\.com$", [`${a(60)}.com`], [`${a(60)}.net`]],
  [
    "^([a-zA-Z0-9])(([.-]|_+)?([a-zA-Z0-9]+))*@[a-z0-9]+\\.([a-z]{2,3}|[a-z]{2,3}\\.[a-z]{2,3})$",
    [`${a(60)}@b.co.uk`],
    [`${a(60)}!`],
  ],
  ["^(\\p{L}+)*\\d$", [`${"ñ".repeat(60)}1`], ["ñ".repeat(60)]],
  ["^[\\s\\S]*(?:foo|bar)+[\\s\\S]*baz$", [`${"foo".repeat(30)}baz`], ["foo".repeat(30)]],
  ["(?:\\D+|<\\d+>)*[!?]", [`${"<1>".repeat(30)}!`], ["<1>".repeat(30)]],
  ["^(?:(?:a|b)*a(?:a|b){10})*z$", ["z"], ["ab".repeat(60)]],
  ["^(((a*)*)*)*$", [a(60)], [`${a(60)}b`]],
  ["(a{0,30}){0,30}b", [`${a(60)}b`], [a(60)]],
];

describe("patterns that stall or fool a backtracking engine get the right verdict", () => {
  for (const [pattern, matching, others] of REDOS) {
    test(pattern, () => {
      for (const text of matching) expect([text, finds(pattern, text)]).toEqual([text, true]);
      for (const text of others) expect([text, finds(pattern, text)]).toEqual([text, false]);
    });
  }

  test("there are at least 25 of them", () => expect(REDOS.length).toBeGreaterThanOrEqual(25));
});

describe("what ECMA-262 says under the flag u", () => {
  const rows: [pattern: string, matching: string[], others: string[]][] = [
    ["^.$", ["a", "😀", "\u0085"], ["\n", "\r", "\u2028", "\u2029", "ab"]],
    ["^\\d$", ["7"], ["٣", "a"]],
    ["^\\w$", ["_", "Z"], ["é", "-"]],
    ["^\\s$", [" ", "\v", "\u00a0", "\ufeff", "\u2003"], ["\u200b", "\u180e", "_"]],
    ["^[^\\S]$", [" "], ["x"]],
    ["^\\cA\\x41\\u00e9\\u{1F600}\\ud83d\\ude00\\t\\0$", ["\u0001Aé😀😀\t\0"], ["A"]],
    ["^[a-c\\-\\]\\b^]+$", ["abc-]\b^"], ["d"]],
    ["^[]$", [], ["", "a"]],
    ["^[^]$", ["a", "\n", "😀"], ["", "ab"]],
    ["^\\$\\.\\/\\(\\{\\}\\[\\]$", ["$./({}[]"], ["x"]],
    ["^\\p{Letter}\\P{L}\\p{Script=Greek}[\\p{Nd}_]$", ["é1α٣", "b-Ω_"], ["1aα1"]],
    ["\\bfoo\\b", ["a foo!", "foo"], ["foobar", "éfoo1"]],
    ["\\Boo", ["foo"], ["oo"]],
    ["^(?:a|b)(?<year>\\d{4})$", ["a2026"], ["c2026", "a202"]],
    ["^a{2}b{1,}c{0,2}d{0}$", ["aab", "aabbcc"], ["ab", "aabccc", "aabd"]],
    ["a*?b+?c??", ["b"], ["a"]],
    ["^$", [""], ["\n"]],
    ["a$", ["a"], ["a\n"]],
    ["", ["", "x"], []],
    ["a|", ["", "b"], []],
    ["^ab|cd$", ["abx", "xcd"], ["xab", "cdx"]],
    ['^\\-\\_\\@\\"\\ \\#$', ['-_@" #'], ["x"]],
    ["^.{3}$", ["a😀b"], ["😀b"]],
    ["^\\ud83d$", ["\ud83d"], ["😀"]],
  ];
  for (const [pattern, matching, others] of rows) {
    test(pattern, () => {
      for (const text of matching) expect([text, finds(pattern, text)]).toEqual([text, true]);
      for (const text of others) expect([text, finds(pattern, text)]).toEqual([text, false]);
    });
  }
});

describe("refused when saved", () => {
  const rows: [pattern: string, why: RegExp][] = [
    ["a(?=b)", /look-ahead and look-behind/],
    ["a(?!b)", /look-ahead and look-behind/],
    ["(?<=a)b", /look-ahead and look-behind/],
    ["(?<!a)b", /look-ahead and look-behind/],
    ["(a)\\1", /back-references/],
    ["(?<n>a)\\k<n>", /back-references/],
    ["(?i)a", /a group begins with/],
    ["(?i:a)", /a group begins with/],
    ["(?<1>a)", /a group begins with/],
    ["(a", /not closed/],
    ["a)", /no opening/],
    ["[a", /not closed/],
    ["[b-a]", /range/],
    ["[a-\\d]", /range/],
    ["*a", /nothing for/],
    ["a**", /nothing for/],
    ["a{2}{3}", /write \\\{/],
    ["^*", /anchor cannot be repeated/],
    ["a{2,1}", /out of order/],
    ["a{", /write \\\{/],
    ["a]", /write \\\]/],
    ["\\", /ends in a backslash/],
    ["\\A", /no escape/],
    ["\\z", /no escape/],
    ["\\Qa\\E", /no escape/],
    ["\\u12", /no escape/],
    ["\\x1", /no escape/],
    ["\\u{110000}", /exceeds/],
    ["\\p{Nonsense}", /property/],
    ["\\p{L", /no escape/],
    ["\\p{L}}", /write \\\}/],
    [`${"(".repeat(200)}a${")".repeat(200)}`, /nest too deeply/],
    ["((a{0,100}){0,100}){0,100}", /too large/],
    ["a{1000000000}", /too large/],
    ["(?:(?:(?:){1000}){1000}){1000}", /too large/],
    [`${"(?:".repeat(90)}a${"){0,9}".repeat(90)}`, /too large/],
  ];
  for (const [pattern, why] of rows) {
    test(pattern.slice(0, 60), () => expect(refusal(pattern)).toMatch(why));
  }

  test("patterns that are too large only together", () => {
    const all = (length: number) => ({ allOf: Array.from({ length }, () => ({ pattern: "^.{1,2000}$" })) });
    expect(compileSchema(all(2)).ok).toBe(true);
    expect(compileSchema(all(10)).ok).toBe(false);
  });

  test("the name of a patternProperties entry", () => {
    const compiled = compileSchema({ patternProperties: { "^a/(?=b)": true } });
    expect(compiled.ok ? [] : compiled.faults.map((fault) => fault.pointer)).toEqual([
      "/patternProperties/^a~1(?=b)",
    ]);
  });
});

/** Random patterns, and the built-in engine as judge: on texts this short it cannot run away. */
const literal = fc.constantFrom(
  "a",
  "b",
  "é",
  "😀",
  " ",
  "_",
  "1",
  "\\n",
  "\\u{1F600}",
  "\\ud83d\\ude00",
  "\\x61",
);
const member = fc.constantFrom(
  "a",
  "b",
  "a-c",
  "\\d",
  "\\w",
  "\\s",
  "\\D",
  "\\W",
  "\\S",
  "\\p{L}",
  "\\P{L}",
  "é",
  "😀",
  "\\-",
  "\\b",
  ".",
);
const characterClass = fc
  .tuple(fc.boolean(), fc.array(member, { maxLength: 3 }))
  .map(([negated, members]) => `[${negated ? "^" : ""}${members.join("")}]`);
const shorthand = fc.constantFrom(
  ".",
  "\\d",
  "\\w",
  "\\s",
  "\\D",
  "\\W",
  "\\S",
  "\\p{L}",
  "\\P{Lu}",
  "\\p{Script=Latin}",
);
const quantifier = fc.constantFrom(
  "",
  "",
  "",
  "*",
  "+",
  "?",
  "{2}",
  "{1,2}",
  "{0,2}",
  "{2,}",
  "*?",
  "{0}",
  "{1,3}?",
);
const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 4, depthSize: "medium" },
    fc.tuple(fc.oneof(literal, characterClass, shorthand), quantifier).map((parts) => parts.join("")),
    fc.constantFrom("^", "$", "\\b", "\\B"),
    fc.tuple(tie("pattern"), tie("pattern")).map((parts) => parts.join("")),
    fc.tuple(tie("pattern"), tie("pattern")).map((parts) => parts.join("|")),
    fc
      .tuple(fc.constantFrom("(", "(?:"), tie("pattern"), fc.constant(")"), quantifier)
      .map((parts) => parts.join("")),
  ),
}));
const text = fc
  .array(fc.constantFrom("a", "b", "c", "é", "😀", " ", "_", "1", "\n", "-", "\ud83d"), { maxLength: 7 })
  .map((parts) => parts.join(""));

test("random patterns say of random texts what the built-in engine says", () => {
  fc.assert(
    fc.property(pattern, text, (source, subject) => {
      expect(finds(source, subject)).toBe(new RegExp(source, "u").test(subject));
    }),
    { numRuns: 10_000 },
  );
});
