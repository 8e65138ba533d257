/**
 * Whoever chooses what a receiver repeats learns nothing of a credential from what is hidden: short of a
 * whole form of it the shown text is the same function of the text, whatever the credential is.
 */
import { expect, test } from "bun:test";
import { limit } from "../../../src/core/limits.ts";
import {
  hideInFacts,
  hideSecretBytes,
  hideSecretHeaders,
  hideSecrets,
} from "../../../src/delivery/redaction/redact.ts";
import { startApp } from "../../kit/app.ts";
import { startReceiver } from "../../kit/receiver.ts";

/** Repeats: a seed gives one sequence. */
function chanceOf(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const hexOf = (text: string, between: string) => {
  const bytes = [...text].map((letter) => letter.charCodeAt(0).toString(16).padStart(2, "0"));
  return bytes.join(between);
};

/** As somebody may write a guess: plain, in the forms that are looked for, and escaped. */
const SPELLINGS: readonly ((text: string) => string)[] = [
  (text) => text,
  ...["", " ", ":"].flatMap((between) => [
    (text: string) => hexOf(text, between),
    (text: string) => hexOf(text, between).toUpperCase(),
  ]),
  ...["", "x", "xy"].flatMap((before) => [
    (text: string) => Buffer.from(before + text, "latin1").toString("base64"),
    (text: string) => Buffer.from(before + text, "latin1").toString("base64url"),
  ]),
  (text) => encodeURIComponent(text),
  (text) => text.replaceAll(/[^a-z]/gi, (letter) => `%${hexOf(letter, "")}`),
  (text) => [...text].map((letter) => `\\u00${hexOf(letter, "")}`).join(""),
  (text) => [...text].map((letter) => `&#x${hexOf(letter, "")};`).join(""),
  (text) => JSON.stringify(JSON.stringify(text)).slice(3, -3),
];

const LETTERS = "abcXYZ019 +/=&%\\\"'<>;#-_.";

function guesses(seed: number) {
  const chance = chanceOf(seed);
  const pick = <T>(list: readonly T[] | string): T => list[chance(list.length)] as T;
  const letters = (length: number) => Array.from({ length }, () => pick<string>(LETTERS)).join("");
  /** No white space at its ends, which would be left out. */
  const secret = (length: number) => `k${letters(length - 2)}z`;
  /** What begins, ends, or stands within the secret, and is less than it. */
  const part = (of: string) => {
    const length = 1 + chance(of.length - 1);
    const from = pick([0, 0, 0, of.length - length, chance(of.length - length + 1)]);
    return of.slice(from, from + length);
  };
  const text = (of: string) =>
    Array.from({ length: 1 + chance(60) }, () => pick(SPELLINGS)(part(of))).join("~~");
  return { chance, secret, text };
}

test("of parts of a credential, however they are spelled, nothing is hidden in a text that is whole", () => {
  const { chance, secret, text } = guesses(3);
  for (let round = 0; round < 1500; round++) {
    const right = secret(9 + chance(30));
    const said = text(right);
    expect([right, hideSecrets(said, [right])]).toEqual([right, said]);
    const headers = [["x-echo", said]] as const;
    expect(hideSecretHeaders(headers, [right])).toBe(headers);
  }
});

test("a text that is cut off anywhere is shown as one of any other credential of that length", () => {
  const { chance, secret, text } = guesses(5);
  let shownAtAll = 0;
  for (let round = 0; round < 1500; round++) {
    const length = 9 + chance(30);
    const [right, other] = [secret(length), secret(length)];
    const whole = "P".repeat(chance(600)) + text(right);
    const said = whole.slice(0, 1 + chance(whole.length));
    const shown = hideSecrets(said, [right], true);
    expect([right, other, shown]).toEqual([right, other, hideSecrets(said, [other], true)]);
    expect([right, said.startsWith(shown.slice(0, -3)), shown.slice(-3)]).toEqual([right, true, "***"]);
    const bytes = Buffer.from(said, "latin1");
    expect(Buffer.from(hideSecretBytes(bytes, [right], true)).toString("latin1")).toBe(shown);
    if (shown.length > 3) shownAtAll++;
  }
  expect(shownAtAll).toBeGreaterThan(500);
});

test("the length of a credential does not show in a text that is cut off", () => {
  const said = "P".repeat(2000);
  const shown = [8, 20, 40, 78].map((length) => hideSecrets(said, ["s".repeat(length)], true).length);
  expect(new Set(shown)).toEqual(new Set([2000 - 256 + 3]));
});

test("a guess that is repeated very often is shown like any other", () => {
  for (const guess of ["sk_l", "736b", "c2tf", "sk_live_Q7x"]) {
    const said = `${guess} `.repeat(Math.floor(16_384 / (guess.length + 1)));
    expect(hideSecrets(said, ["sk_live_Q7x9", "sk_live_Q7y9-more"])).toBe(said);
  }
});

test("an error's detail that was cut, and the few bytes of a body, are hidden whatever they are", () => {
  const secretsOf = () => ["sk_live_Q7x9"];
  const shownOf = (detail: string, body: string) => {
    const facts = {
      error: { code: "refused", detail } as const,
      responseHeaders: [],
      responseBody: Buffer.from(body),
      truncated: true,
    };
    const { error, responseBody } = hideInFacts(facts, secretsOf);
    return [error.detail, responseBody.toString()];
  };
  const filled = (guess: string) => guess.padStart(limit("errorDetailLengthMax"), "P");
  const shown = shownOf(filled("sk_live"), "sk_");
  expect(shown).toEqual([expect.stringMatching(/^P{700,}\*\*\*$/), "***"]);
  expect(shownOf(filled("sk_lixe"), "sx_")).toEqual(shown);
});

test("who sets a transformation of an endpoint cannot read in the answers what its header holds", async () => {
  await using app = await startApp();
  await using receiver = startReceiver();
  const url = receiver.at("echo", ({ body }) => new Response(Buffer.from(body), { status: 400 }));
  const headers = { authorization: "Bearer sk_live_Q7x9" };
  const { id } = await app.live.create("/v1/endpoints", { url, headers });
  const kept = limit("responseKeptBytesMax");
  const ask = async (v: string) => {
    const transformations = [{ op: "set", path: "data", value: { v } }];
    await app.live.patch(`/v1/endpoints/${id}`, { transformations });
    const { json } = await app.live.post(`/v1/endpoints/${id}/test`, { type: "a.a" });
    expect(json["response_truncated"]).toBe(true);
    return String(json["response_body"]);
  };
  const head = (await ask("P".repeat(2 * kept))).indexOf("PPPP");
  const guess = (text: string) => ask(`${text.padStart(kept - head, "P")}${"Z".repeat(1000)}`);
  const shown = (await guess("sk_lix")).slice(head);
  expect(shown).toMatch(/^P{16000,}\*\*\*$/);
  for (const text of ["sk_liv", "sk_live_Q7x", "736b5f", "c2tfbGl2"])
    expect([text, (await guess(text)).slice(head)]).toEqual([text, shown]);
  const escaped = async (text: string) => (await guess(text)).slice(head);
  expect(await escaped("%73k_li")).toBe(await escaped("%74k_li"));
});
