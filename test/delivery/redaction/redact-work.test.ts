/** Hiding credentials costs little: how many are looked for, how often they are read, and where. */
import { expect, test } from "bun:test";
import { limit } from "../../../src/core/limits.ts";
import {
  headerSecrets,
  hideInFacts,
  hideSecretHeaders,
  hideSecrets,
} from "../../../src/delivery/redaction/redact.ts";

const KEY = "k9Qz/Rt+Wm4&Lp==77";
const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

test("the limit of parts is of all headers together: each gives parts in turn, and none its whole value up", () => {
  const max = limit("headerPartsMax");
  const headers = Array.from({ length: 20 }, (_, at): [string, string] => {
    const parts = Array.from({ length: 200 }, (__, part) => `a=${at + 10}-part-${1000 + part}`);
    return [`x-auth-${at}`, parts.join(";")];
  });
  headers.push(["cookie", "session=last-of-all-headers"]);
  const secrets = headerSecrets(headers);
  expect(secrets).toHaveLength(headers.length + max);
  expect(secrets.slice(0, headers.length)).toEqual(headers.map(([, value]) => value));
  const firsts = headers.slice(0, 20).map((_, at) => `${at + 10}-part-1000`);
  expect(secrets).toEqual(expect.arrayContaining([...firsts, "last-of-all-headers"]));
});

test("an answer that says nothing asks for no secrets, and one that does asks once", () => {
  let asked = 0;
  const secretsOf = () => {
    asked++;
    return { kept: [KEY], made: ["made-of-them"] };
  };
  const nothing = { error: null, responseBody: null, responseHeaders: [], truncated: false };
  const headers: [string, string][] = [["content-length", "0"]];
  const empty = { ...nothing, responseBody: encode(""), responseHeaders: headers };
  const unsent = { ...nothing, error: { code: "timeout_connect", detail: null } as const };
  for (const facts of [nothing, empty, unsent]) expect(hideInFacts(facts, secretsOf)).toBe(facts);
  expect(asked).toBe(0);
  const said = {
    ...nothing,
    responseHeaders: [...headers, ["x-echo", `<${KEY}>`] satisfies [string, string]],
  };
  const shown = hideInFacts({ ...said, responseBody: encode(`${KEY}, made-of-them`) }, secretsOf);
  expect(shown.responseHeaders).toEqual([
    ["content-length", "0"],
    ["x-echo", "<***>"],
  ]);
  expect([decode(shown.responseBody), asked]).toEqual(["***, ***", 1]);
});

test("of a kept list needles are made once, whatever was made for an attempt", () => {
  let reads = 0;
  class Kept extends Array<string> {
    override flatMap: string[]["flatMap"] = (...given: Parameters<string[]["map"]>) => {
      reads++;
      return super.flatMap(...given) as never;
    };
  }
  const kept = Kept.from([KEY]);
  for (const made of ["first-made", "second-made"])
    expect(hideSecrets(`${KEY}, ${made}`, { kept, made: [made] })).toBe("***, ***");
  expect(reads).toBe(1);
});

test("headers stay apart where what stands in one after the other is hidden", () => {
  const headers = [
    ["a", KEY],
    ["b", ""],
    ["c", KEY],
    ["d", "kept"],
    ["e", `x${Buffer.from(`y${KEY}`).toString("base64")}`],
  ] as const;
  const shown = hideSecretHeaders(headers, [KEY]).map(([name, value]) => `${name}: ${value}`);
  expect(shown).toEqual(["a: ***", "b: ", "c: ***", "d: kept", "e: xe***=="]);
});

test("a text that begins like secrets at very many places is shown, and searched to its end", () => {
  const secrets = Array.from({ length: 60 }, (_, at) => `abcdefgh-${at}-secret`);
  const many = "abcdefgh ".repeat(limit("secretRepeatsMax"));
  expect(hideSecrets(many, secrets)).toBe(many);
  expect(hideSecrets(`${many}abcdefgh-7-secret.`, secrets)).toBe(`${many}***.`);
});

test("a text that repeats secrets at very many places is hidden from there on", () => {
  const [text, shown] = ["abcdefgh-secret ", "*** "].map((one) => one.repeat(limit("secretRepeatsMax")));
  expect(hideSecrets(`${text}.`, ["abcdefgh-secret"])).toBe(`${shown}.`);
  expect(hideSecrets(`${text}abcdefgh-secret and more`, ["abcdefgh-secret"])).toBe(`${shown}***`);
});
