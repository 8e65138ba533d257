import { afterEach, expect, test } from "bun:test";
import { LIMITS } from "../../../src/core/limits.ts";
import type { DeliveryAnswer } from "../../../src/http/deliveries/shape.ts";
import { type Page, startApi } from "../log-kit.ts";

interface ReplayAnswer {
  id: string;
  status: string;
  matched: number;
}

const SMALL_WRITES = ["eventRowsMax", "sliceRows"] as const;
const usual = SMALL_WRITES.map((name) => LIMITS[name].value);
const setLimit = (name: (typeof SMALL_WRITES)[number], value: number) => {
  (LIMITS[name] as { value: number }).value = value;
};

afterEach(() => SMALL_WRITES.forEach((name, at) => setLimit(name, usual[at] ?? 0)));

test.each([true, false])(
  "a replay to very many is one thing with the answer that its key keeps, new_message_id %p",
  async (isNew) => {
    await using wide = await startApi();
    const made = [];
    for (let n = 0; n < 5; n++) made.push(await wide.endpoint({ url: wide.receiver.url(`wide-${n}`) }));
    const { id } = await wide.publish("e.key");
    const first = await wide.settled(id, ["delivered"]);
    const { sqlite } = wide.data.store;
    const count = (sql: string) =>
      sqlite.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${sql}`).get()?.n;
    const broken: string[] = [];
    for (const name of SMALL_WRITES) setLimit(name, 1);
    // A crash may come after any commit.
    wide.data.store.onTimed((what) => {
      const isBegun = count("note WHERE kind = 0") !== 0;
      if (what === "commit" && isBegun && count("idempotency") === 0) broken.push("begun without its answer");
    });
    const ask = () =>
      wide.call("POST", `/v1/events/${id}/replay`, { new_message_id: isNew }, "full", {
        "idempotency-key": "wide",
      });
    const [one, two] = [await ask(), await ask()];
    expect([one.status, two.text, broken]).toEqual([202, one.text, []]);
    expect(two.headers.get("idempotency-replayed")).toBe("true");
    const [replay] = (await wide.get<Page<ReplayAnswer>>("/v1/replays")).data;
    await wide.until(
      async () => (await wide.get<ReplayAnswer>(`/v1/replays/${replay?.id}`)).status === "completed",
    );
    const ids = (one.json as unknown as Page<DeliveryAnswer>).data.map((row) => row.id);
    const old = first.map((row) => row.id);
    expect(ids.toSorted()).toEqual(
      isNew ? ids.filter((msg) => !old.includes(msg)).toSorted() : old.toSorted(),
    );
    for (const n of made.keys()) {
      const requests = await wide.receiver.arrived(`wide-${n}`, 2);
      expect(ids).toContain(String(requests[1]?.headers["webhook-id"]));
    }
    const all = await wide.settled(id, ["delivered"]);
    expect([all.length, replay?.matched]).toEqual([isNew ? 10 : 5, 5]);
    expect((await wide.get<{ delivery_count: number }>(`/v1/events/${id}`)).delivery_count).toBe(all.length);
  },
);
