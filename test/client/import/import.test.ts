import { expect, test } from "bun:test";
import { listIn, readEach, secretOf, transformationsFor } from "../../../src/client/import/import.ts";
import { readSecret } from "../../../src/core/signing.ts";
import { CommandError } from "../../../src/platform/command-line.ts";

test("parts are read some at a time, and come in their order", async () => {
  let [atOnce, most] = [0, 0];
  const read = async (number: number) => {
    most = Math.max(most, ++atOnce);
    await Bun.sleep(number % 2 === 0 ? 5 : 1);
    atOnce--;
    return [number, number];
  };
  const items = Array.from({ length: 9 }, (_, at) => at);
  expect(await Array.fromAsync(readEach(items, read))).toEqual(items.flatMap((at) => [at, at]));
  expect(most).toBe(4);
});

test("a secret stays the text that it is, or becomes one of the same key", () => {
  const standard = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  expect(secretOf(standard)).toBe(standard);
  const text = "whsec_not-base64-but-long-enough";
  expect(Buffer.from(readSecret(secretOf(text)) ?? []).toString()).toBe(text);
});

test("a list that is not there is told", () => {
  expect(listIn<number>({ data: [1] }, "data", "Svix")).toEqual([1]);
  expect(listIn<number>([1], null, "Svix")).toEqual([1]);
  for (const answer of [null, "x", { data: {} }])
    expect(() => listIn(answer, "data", "Svix")).toThrow(CommandError);
});

test("receivers get the data alone, unless the envelope is asked for", () => {
  expect(transformationsFor(undefined)).toEqual([{ op: "unwrap", path: "data" }]);
  expect(transformationsFor("envelope")).toBeNull();
});
