/** All forms of all secrets are found in one pass, and nothing that is less than a whole form. */
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
    const places = needles.placesIn(written(`<<${spelled}>>`), plenty());
    expect(places).toContainEqual([2, 2 + spelled.length]);
    expect(needles.placesIn(written(`<<${spelled.slice(0, -1)}!>>`), plenty())).not.toContainEqual([
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
        expect(needles.placesIn(written(text), plenty())).toContainEqual([from, to]);
      }
    }
  },
);

test("a beginning of a form, however long, is no place, and the longest form is known", () => {
  const needles = new Needles(SECRETS);
  const spelled = SECRETS.flatMap((secret) => SPELLED.map((spell) => spell(Buffer.from(secret, "latin1"))));
  expect(needles.longest).toBe(Math.max(...spelled.map(({ length }) => length)));
  for (const secret of SECRETS) {
    for (const spell of SPELLED) {
      for (let length = 1; length < secret.length; length++) {
        const begun = spell(Buffer.from(secret.slice(0, length), "latin1"));
        expect([begun, needles.placesIn(written(`<${begun}`), plenty())]).toEqual([begun, []]);
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
    expect(resolved.placesIn(unescaped(`<${text}`), plenty())).toContainEqual([1, 1 + text.length]);
});

test("their number is that of the secrets in fourteen forms, made for resolved texts when one comes", () => {
  const needles = new Needles(SECRETS);
  expect(needles.count).toBe(SECRETS.length * 14);
  expect(needles.resolved).toBe(needles.resolved);
  expect(new Needles([]).placesIn(written("nothing"), plenty())).toEqual([]);
});

test("each place of a whole form counts, and no other; with none left the rest is a place", () => {
  const needles = new Needles(["abcdefgh-secret"]);
  const repeats = { left: 1 };
  expect(needles.placesIn(written("abcd efgh abcdefgh-secre ".repeat(100)), repeats)).toEqual([]);
  expect(repeats.left).toBe(1);
  expect(needles.placesIn(written("abcdefgh-secret abcdefgh-secret."), repeats)).toEqual([
    [0, 15],
    [16, Infinity],
  ]);
});
