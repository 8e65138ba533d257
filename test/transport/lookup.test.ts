import { expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createGuard } from "../../src/transport/guard.ts";
import { Lookup } from "../../src/transport/lookup.ts";

/** A lookup whose name is answered when the test says so, and what its owner hears. */
function ask() {
  const question = Promise.withResolvers<string[]>();
  const heard: unknown[] = [];
  const guard = createGuard({ allow: ["127.0.0.1/32"], resolver: { resolve: () => question.promise } });
  const owner = { onVerdict: (verdict: unknown) => void heard.push(verdict) };
  const lookup = new Lookup(guard, new URL("http://a.test/"), owner);
  let isGone = false;
  void lookup.gone.then(() => (isGone = true));
  return { question, heard, lookup, isGone: () => isGone };
}

test("its owner hears the verdict once the name was answered", async () => {
  const { question, heard, lookup, isGone } = ask();
  await nextTurn();
  expect([heard, isGone()]).toEqual([[], false]);
  question.resolve(["127.0.0.1"]);
  await lookup.gone;
  expect(heard).toEqual([{ kind: "pinned", address: "127.0.0.1", others: [] }]);
});

test("one that was given up is gone only with the answer, and its owner hears nothing", async () => {
  const { question, heard, lookup, isGone } = ask();
  lookup.giveUp();
  await nextTurn();
  expect(isGone()).toBe(false);
  question.reject(Object.assign(new Error("no answer"), { code: "DNS_ETIMEOUT" }));
  await lookup.gone;
  expect(heard).toEqual([]);
});
