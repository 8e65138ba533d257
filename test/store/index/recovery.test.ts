/** What a start gathers again from the rows: as much as the process before it had counted. */
import { Database } from "bun:sqlite";
import { expect, spyOn, test } from "bun:test";
import { LIMITS } from "../../../src/core/limits.ts";
import { Cipher } from "../../../src/core/cipher.ts";
import { openData } from "../../../src/store/data.ts";
import { recoverIndex } from "../../../src/store/index/recovery.ts";
import { type Api, type Page, startApi } from "../../http/log-kit.ts";
import { storeParts } from "../../kit/store-parts.ts";

const NUMBERS = "SELECT sum(failed) AS failed, sum(dead) AS dead FROM stat";
const ARRIVED = `SELECT (SELECT sum(delivered) FROM stat) AS ofEndpoints, (SELECT sum(delivered) FROM project_stat) AS ofProjects,
  (SELECT count(*) FROM stat) AS endpoints`;

/**
 * The hourly numbers as the next process has them after a crash of this one; or as the one after that has
 * them, where the next one crashes after so many writes of its start.
 */
async function afterCrash(api: Api, numbers = NUMBERS, writes: number | null = null) {
  const sqlite = await started(api.data.store.sqlite.serialize(), writes ?? Number.POSITIVE_INFINITY);
  const last = writes === null ? sqlite : await started(sqlite.serialize(), Number.POSITIVE_INFINITY);
  return last.query(numbers).get();
}

/** A database as a start leaves it that ends after so many writes. */
async function started(file: Buffer, writes: number): Promise<Database> {
  // A database in memory has no WAL: https://sqlite.org/fileformat.html#the_database_header
  file.set([1, 1], 18);
  const sqlite = Database.deserialize(file, { strict: true });
  const data = openData(sqlite, storeParts(), {
    cipher: new Cipher([new Uint8Array(32).fill(1)]),
    cell: "00",
  });
  const write = data.store.write.bind(data.store);
  let left = writes;
  using _ = spyOn(data.store, "write").mockImplementation((...asked) =>
    left-- > 0 ? write(...asked) : Promise.reject(new Error("cut off")),
  );
  const isCut = await recoverIndex(data).then(
    () => false,
    () => true,
  );
  expect(isCut).toBe(left < 0);
  return sqlite;
}

/** An endpoint without retries, and an event to it whose attempt is under way until `answer` is called. */
async function deliverHeld(api: Api, type: string) {
  const gate = Promise.withResolvers<void>();
  const url = api.receiver.at(type, () => gate.promise.then(() => new Response("no", { status: 500 })));
  const endpoint = await api.endpoint({ url, eventTypes: [type], retry: { schedule: [] } });
  const { id } = await api.publish(type);
  await api.receiver.arrived(type, 1);
  const { data } = await api.get<Page<{ id: string }>>(`/v1/deliveries?event_id=${id}`);
  const deliveryId = data[0]?.id ?? "";
  const answer = async () => {
    gate.resolve();
    await api.until(async () => (await attemptsOf(api, deliveryId)).length === 1);
  };
  return { endpoint, eventId: id, deliveryId, answer };
}

const attemptsOf = async (api: Api, id: string) =>
  (await api.get<Page<object>>(`/v1/deliveries/${id}/attempts`)).data;

test("a delivery that died is counted as dead, also where it was replayed since", async () => {
  await using api = await startApi();
  const { endpoint, eventId, answer } = await deliverHeld(api, "dies");
  await answer();
  expect(await afterCrash(api)).toEqual({ failed: 1, dead: 1 });
  await api.change(endpoint, { status: "paused" });
  expect((await api.call("POST", `/v1/events/${eventId}/replay`)).status).toBe(202);
  expect(await afterCrash(api)).toEqual({ failed: 1, dead: 1 });
});

test("a delivery that was cancelled while its last attempt ran is not", async () => {
  await using api = await startApi();
  const { deliveryId, answer } = await deliverHeld(api, "cancelled");
  expect((await api.call("POST", `/v1/deliveries/${deliveryId}/cancel`)).status).toBe(200);
  await answer();
  expect(await afterCrash(api)).toEqual({ failed: 1, dead: 0 });
});

test("a delivery that died with its endpoint while its last attempt ran is counted once", async () => {
  await using api = await startApi();
  const { endpoint, answer } = await deliverHeld(api, "disabled");
  await api.change(endpoint, { status: "disabled" });
  await api.until(async () => api.data.store.sqlite.query(NUMBERS).get() !== null);
  await answer();
  expect(await afterCrash(api)).toEqual({ failed: 1, dead: 1 });
});

test.each([1, 2, 3])(
  "numbers of which %i of 4 slices were written before a crash count once",
  async (slices) => {
    await using api = await startApi();
    const usual = LIMITS.hourSliceRows.value;
    (LIMITS.hourSliceRows as { value: number }).value = 1;
    try {
      const url = api.receiver.at("many", () => new Response());
      for (let n = 0; n < 4; n++) await api.endpoint({ url });
      const publish = async () => api.settled((await api.publish("a.b")).id, ["delivered"]);
      await publish();
      const { store, index } = api.data;
      const write = store.write.bind(store);
      // One write has the entries.
      let left = 1 + slices;
      using cut = spyOn(store, "write").mockImplementation((...asked) =>
        left-- > 0 ? write(...asked) : Promise.reject(new Error("cut off")),
      );
      expect(await index.writeDown().catch(String)).toBe("Error: cut off");
      cut.mockRestore();
      expect(index.cutOff).not.toBeNull();
      expect(await afterCrash(api, ARRIVED)).toEqual({ ofEndpoints: 4, ofProjects: 4, endpoints: 4 });
      await publish();
      expect(await afterCrash(api, ARRIVED)).toEqual({ ofEndpoints: 8, ofProjects: 8, endpoints: 4 });
      for (const writes of [2, 3, 4, 5, 6, 7, 8])
        expect(await afterCrash(api, ARRIVED, writes)).toEqual({
          ofEndpoints: 8,
          ofProjects: 8,
          endpoints: 4,
        });
      await index.settle();
      expect(store.sqlite.query(ARRIVED).get()).toEqual({ ofEndpoints: 8, ofProjects: 8, endpoints: 4 });
    } finally {
      (LIMITS.hourSliceRows as { value: number }).value = usual;
    }
  },
);
