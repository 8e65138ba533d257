/** Sources over a real database. */
import { expect, test } from "bun:test";
import { openTestData } from "../../kit/data.ts";
import { plainSource } from "../../kit/source.ts";

test("whoever keeps something of a source hears that it is deleted, and of no other change", async () => {
  await using it = await openTestData();
  const { sources, store } = it.data;
  const gone: number[] = [];
  sources.onDelete((id) => gone.push(id));
  const own = { ...plainSource, projectId: it.project.id };
  const made = await store.write(() => sources.insert(own));
  sources.remember(made);
  const changes = [{ name: "t" }, { status: "paused" }, { status: "deleted" }] as const;
  for (const change of changes) {
    const changed = await store.write(() => sources.update(made.id, () => change));
    if (changed !== null) sources.remember(changed);
    expect(gone).toEqual("status" in change && change.status === "deleted" ? [made.id] : []);
  }
});
