/** What is erased is overwritten in the file, list entries too, from the first time on. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { startApi } from "../../http/log-kit.ts";

const LIST = 7;
const keys = Array.from({ length: 60 }, (_, at) => 2 ** 50 + 3 + at * 2 ** 33);

test("keys that were dropped securely stand nowhere in the file", async () => {
  await using api = await startApi();
  const { index, removal, store } = api.data;
  await store.write(() => keys.forEach((key) => index.addBelowMark(key, [LIST])));
  const found = () => {
    store.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
    const bytes = readFileSync(store.sqlite.filename);
    return keys.filter((key) => {
      const spelled = Buffer.alloc(8);
      spelled.writeBigInt64BE(BigInt(key));
      return bytes.includes(spelled);
    }).length;
  };
  expect(found()).toBe(keys.length);
  await store.write(() =>
    removal.securely(() => {
      for (const key of keys) index.remove(LIST, key);
    }),
  );
  expect([index.isEmpty(LIST), found()]).toEqual([true, 0]);
}, 20_000);
