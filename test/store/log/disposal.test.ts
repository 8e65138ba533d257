import { expect, test } from "bun:test";
import { limit } from "../../../src/core/limits.ts";
import { dispose } from "../../../src/store/log/disposal.ts";
import { openTestData, type TestData } from "../../kit/data.ts";

/** An endpoint of a project that is disabled, with so many deliveries. */
async function closed(it: TestData, projectId: number, count: number) {
  const endpoint = await it.endpoint({ projectId, status: "disabled", disabledReason: "failing" });
  const fields = { projectId };
  const insert = () => it.insertDelivery(it.insertEvent(0, fields), endpoint.id);
  const ids = await it.data.store.write(() => Array.from({ length: count }, insert));
  return { endpoint, ids };
}

test("what ends in very many slices stands in the line of its project, and others have their turn", async () => {
  // Each transaction has time for one job, and no job takes longer than another.
  await using it = await openTestData({ beginShare: () => ({ isOver: true }), monotonic: () => 0 });
  const { store } = it.data;
  const { endpoint, ids } = await closed(it, it.project.id, 20);
  const ended: string[] = [];
  const slices = ids.map((id) => dispose(it.data, endpoint, () => [id]).then(() => ended.push("slice")));
  const other = store.write(() => {}).then(() => ended.push("another"));
  await Promise.all([...slices, other]);
  expect(ended.indexOf("another")).toBeLessThan(3);
  expect(ids.map((id) => it.data.deliveries.get(id)?.status)).toEqual(ids.map(() => "dead"));
});

test("accounts take turns at it, however many projects one has, and it rests after each slice", async () => {
  const rests: number[] = [];
  const later = (ms: number, next: () => void) => {
    rests.push(ms);
    setImmediate(next);
  };
  await using it = await openTestData({ later, monotonic: () => 0 });
  const { tenants } = it.data;
  const of = async (name: string, projects: number) => {
    const { id } = await tenants.createAccount({ name, plan: "unlimited" });
    const made = Array.from({ length: projects }, () => tenants.createProject(id, name, "live"));
    return Promise.all((await Promise.all(made)).map((project) => closed(it, project.id, 2)));
  };
  const [many, few] = [await of("many", 20), await of("few", 1)];
  const ended: string[] = [];
  const slices = [...many.map((one) => ["many", one] as const), ...few.map((one) => ["few", one] as const)];
  rests.length = 0;
  const all = slices.flatMap(([name, { endpoint, ids }]) =>
    ids.map((id) => dispose(it.data, endpoint, () => [id]).then(() => ended.push(name))),
  );
  await Promise.all(all);
  expect(ended.slice(0, 4)).toEqual(["many", "many", "few", "many"]);
  expect(ended.lastIndexOf("few")).toBe(4);
  expect(rests.length).toBeGreaterThanOrEqual(all.length - 1);
  expect(new Set(rests)).toEqual(new Set([limit("sliceRestMsMin")]));
});
