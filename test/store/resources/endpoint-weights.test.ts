/** What the settings of an endpoint weigh, beside what the tests of the routes say of it. */
import { expect, test } from "bun:test";
import { weightOf } from "../../../src/core/json/weight.ts";
import { endpointWeight } from "../../../src/store/resources/endpoint-weights.ts";
import { plainEndpoint } from "../../kit/endpoint.ts";

const text = (letter: string) => "x".repeat(999) + letter;
const plain = endpointWeight(plainEndpoint);

test("credentials weigh what attempts keep of them, and those in other letters more", () => {
  const added = (letter: string) =>
    endpointWeight({ ...plainEndpoint, credentials: { password: text(letter) } }) - plain;
  const [ascii = 0, latin = 0, wide = 0] = ["x", "é", "ā"].map(added);
  expect(ascii).toBeWithin(4 * 1000, 5 * 1000);
  // At rest as many bytes as characters; 2,000 in UTF-8, with the white space around it and without.
  expect(latin / ascii).toBeWithin(2.4, 2.6);
  expect(wide / latin).toBeWithin(1.9, 2.1);
});

test("headers in other letters than ASCII weigh more too", () => {
  const added = (letter: string) =>
    endpointWeight({ ...plainEndpoint, headers: [["authorization", text(letter)]] }) - plain;
  expect(added("é") / added("x")).toBeCloseTo(3, 0);
});

test("all others weigh two bytes a character where one is above U+00FF", () => {
  const added = (letter: string) =>
    endpointWeight({ ...plainEndpoint, metadata: { note: text(letter) } }) - plain;
  expect(added("ā") - added("x")).toBe(JSON.stringify({ note: text("x") }).length);
  expect(added("x")).toBe(weightOf({ note: text("x") }) - weightOf({}));
});
