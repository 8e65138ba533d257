/** All forms of all secrets are found in one pass, of which each place that begins like one costs a try. */
import { expect, test } from "bun:test";
import { Needles } from "../../../src/delivery/redaction/needles.ts";
import { unescaped } from "../../../src/delivery/redaction/unescaped.ts";

const LONG = Array.from({ length: 500 }, (_, at) => String.fromCharCode(33 + ((at * 37) % 90))).join("");
const SECRETS = ["k9Qz/Rt+Wm4&Lp==77", "\u00ff\u00fe\u00fd\u00fc?>", "%25%41secret", LONG];
const written = (text: string) => ({ text, origin: null });
const plenty = () => ({ left: 100 });

/** Every form, spelled by other means than the code's. */
const SPELLED: ((bytes: Buffer) => string)[] = [
  (bytes) => bytes.toString("latin1"),
  (bytes) => bytes.toString("base64"),
  (bytes) => bytes.toString("hex"),
  (bytes) => bytes.toString("hex").toUpperCase(),
  (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(" "),
  (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0").toUpperCase()).join(" "),
];

test.each(SECRETS)("%p is found in each form at its place, as far as that goes", (secret) => {
  const needles = new Needles(SECRETS);
  for (const spell of SPELLED) {
    const spelled = spell(Buffer.from(secret, "latin1"));
    const places = needles.placesIn(written(`<<${spelled}>>`), false, plenty());
    expect(places).toContainEqual([2, 2 + spelled.length]);
    expect(needles.placesIn(written(`<<${spelled.slice(0, -1)}!>>`), false, plenty())).not.toContainEqual([
      2,
      2 + spelled.length,
    ]);
  }
});

test.each(SECRETS)(
  "%p is found in base64 of more, with the characters that have some of its bits",
  (secret) => {
    const needles = new Needles([secret]);
    for (const before of ["", "a", "ab"]) {
      for (const encoding of ["base64", "base64url"] as const) {
        const text = Buffer.from(`${before}${secret}abc`, "latin1").toString(encoding);
        const from = Math.floor((before.length * 4) / 3);
        const to = Math.ceil(((before.length + secret.length) * 4) / 3);
        expect(needles.placesIn(written(text), false, plenty())).toContainEqual([from, to]);
      }
    }
  },
);

test("where a text is cut off, the beginning of each form is found from four characters on", () => {
  const needles = new Needles(SECRETS);
  for (const secret of SECRETS) {
    for (const spell of SPELLED) {
      const spelled = spell(Buffer.from(secret, "latin1"));
      for (const length of [4, 5, spelled.length - 1]) {
        const view = written(`<${spelled.slice(0, length)}`);
        expect(needles.placesIn(view, true, plenty())).toContainEqual([1, Infinity]);
        expect(needles.placesIn(view, false, plenty())).not.toContainEqual([1, Infinity]);
      }
    }
  }
});

test("in a text whose escapes are resolved a secret with escapes is found, and base64 with a space for `+`", () => {
  const [, , secret = ""] = SECRETS;
  const { resolved } = new Needles([secret, "\u00fb\u00efabc"]);
  for (const text of [
    secret,
    encodeURIComponent(secret),
    Buffer.from("\u00fb\u00efabc", "latin1").toString("base64"),
  ])
    expect(resolved.placesIn(unescaped(`<${text}`), false, plenty())).toContainEqual([1, 1 + text.length]);
});

test("their number is that of the secrets in fourteen forms, made for resolved texts when one comes", () => {
  const needles = new Needles(SECRETS);
  expect(needles.count).toBe(SECRETS.length * 14);
  expect(needles.resolved).toBe(needles.resolved);
  expect(new Needles([]).placesIn(written("nothing"), true, plenty())).toEqual([]);
});

test("each place that begins like one costs a try; with none left the rest is a place", () => {
  const needles = new Needles(["abcdefgh-secret"]);
  const tries = { left: 3 };
  expect(needles.placesIn(written("abcd efgh abc"), false, tries)).toEqual([]);
  expect(tries.left).toBe(2);
  expect(needles.placesIn(written("abcd abcd . abcd"), false, tries)).toEqual([[12, Infinity]]);
});
