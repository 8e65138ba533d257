import { expect, test } from "bun:test";
import { dispose } from "../../../src/store/log/disposal.ts";
import { openTestData } from "../../kit/data.ts";

test("what ends in very many slices stands in the line of its project, and others have their turn", async () => {
  // Each transaction has time for one job, and no job takes longer than another.
  await using it = await openTestData({ beginShare: () => ({ isOver: true }), monotonic: () => 0 });
  const { store } = it.data;
  const endpoint = await it.endpoint({ status: "disabled", disabledReason: "failing" });
  const ids = await store.write(() =>
    Array.from({ length: 20 }, () => it.insertDelivery(it.insertEvent(), endpoint.id)),
  );
  const ended: string[] = [];
  const slices = ids.map((id) => dispose(it.data, endpoint, [id]).then(() => ended.push("slice")));
  const other = store.write(() => {}).then(() => ended.push("another"));
  await Promise.all([...slices, other]);
  expect(ended.indexOf("another")).toBeLessThan(3);
  expect(ids.map((id) => it.data.deliveries.get(id)?.status)).toEqual(ids.map(() => "dead"));
});
