import { expect, test } from "bun:test";
import { Person } from "../../kit.ts";
import { onService } from "../../listening.ts";
import { startBridge } from "../trial.ts";

// With a queue: test/slow/bridge.slow.ts.

let person: Person;
onService((at) => ({ person } = at));

test.each([
  [[], "missing required argument 'url'"],
  [["orders"], "The queue must be its URL"],
  [["https://sqs.eu-central-1.amazonaws.com/"], "The queue must be its URL"],
  [
    ["http://127.0.0.1:1/1/orders", "--envelope", "--type", "a.b"],
    "cannot be used with option '--type <type>'",
  ],
])("%j is a wrong call", async (words, told) => {
  const { exitCode, stderr } = await person.types(["bridge", "sqs", ...words]);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(told)]);
});

test("a queue that is not reached is waited for, and an end does not wait", async () => {
  const keys = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b", AWS_REGION: "eu-central-1" };
  using somebody = new Person({ ...person.env, ...keys });
  const bridge = await startBridge(somebody, ["sqs", "http://127.0.0.1:1/1/orders"]);
  await bridge.tells("(trying until it is there again)");
  expect([await bridge.end("SIGTERM"), bridge.stderr]).toEqual([0, expect.stringContaining("Published 0.")]);
});
