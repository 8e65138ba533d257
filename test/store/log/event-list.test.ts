/** What a page of the event log reads; what it answers: test/http/events/events.test.ts. */
import { expect, test } from "bun:test";
import { Cipher } from "../../../src/core/cipher.ts";
import { openData } from "../../../src/store/data.ts";
import { LABELS } from "../../../src/store/index/index.ts";
import { EventList } from "../../../src/store/log/event-list.ts";
import { migrate } from "../../../src/store/migrations.ts";
import { LISTS_MERGED_MAX } from "../../../src/store/page.ts";
import { CountingDatabase } from "../../kit/counting-database.ts";
import { storeParts } from "../../kit/store-parts.ts";

const PROJECT = 1;
const ANY = {
  projectId: PROJECT,
  consumerId: null,
  sourceId: null,
  endpointId: null,
  externalId: null,
  status: null,
  matched: null,
  since: null,
  until: null,
  q: null,
  visible: null,
};

test("a wildcard reads no more type names than lists are merged, however many the project has", async () => {
  const sqlite = new CountingDatabase(":memory:", { strict: true });
  migrate(sqlite);
  const data = openData(sqlite, storeParts({}), { cipher: new Cipher([new Uint8Array(32)]), cell: "00" });
  const { store, index } = data;
  const named = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`);
  const names = [...named("many.", 300), ...named("few.", 3), "few", "few-er", "fewer.1", "few.3.deep"];
  await store.write(() => names.map((name) => index.labels.intern(PROJECT, LABELS.type, name)));
  const list = new EventList(data);
  const read = async (type: string) => {
    sqlite.rows = 0;
    await list.page({ ...ANY, type }, Number.MAX_SAFE_INTEGER, 10, store.turns);
    return sqlite.rows;
  };
  expect([await read("few.*"), await read("none.*"), await read("many.*")]).toEqual([
    4,
    0,
    LISTS_MERGED_MAX + 1,
  ]);
});
