import { expect, test } from "bun:test";
import { keepNumber, RoundedNumber, roundedIn } from "../../../src/client/import/numbers.ts";

const parsed = (text: string): unknown => JSON.parse(text, keepNumber);

test.each([
  ...["0", "-0", "0.0", "7", "-1.50", "100", "1e2", "1E-7", "0.1", "0.30000000000000004", "9007199254740991"],
  ...["1e21", "1.7976931348623157e308", "123456789012345680000"],
])("%s is held as it is written", (text) => {
  expect(parsed(text)).toBe(Number(text));
});

test.each([
  ...["9007199254740993", "-9007199254740993", "0.1000000000000000055511151231257827", "1e999", "1e-999"],
  "123456789012345678901",
])("%s would be rounded: it is found, and written again as it was", (text) => {
  const value = parsed(`{"a":[{"b":${text}}]}`);
  expect(roundedIn(value)).toBe(text);
  expect(JSON.stringify(value)).toBe(`{"a":[{"b":${text}}]}`);
});

test("where nothing would be rounded nothing is found", () => {
  expect(roundedIn(parsed('{"a":[1,"9007199254740993",null,{"b":true}]}'))).toBeNull();
  expect(roundedIn(new RoundedNumber("1e999"))).toBe("1e999");
});
