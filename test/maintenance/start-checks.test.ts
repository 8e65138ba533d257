import { expect, test } from "bun:test";
import { requirePlans, warnOfForbidden, warnOfNoReplica } from "../../src/maintenance/start-checks.ts";
import { createGuard } from "../../src/transport/guard.ts";
import { openTestData } from "../kit/data.ts";

test("every plan that is gone is a sentence, with how many accounts are on it", () => {
  requirePlans({ missingPlans: new Map() });
  const missingPlans = new Map([
    ["gold", 1],
    ["tin", 2],
  ]);
  expect(() => requirePlans({ missingPlans })).toThrow(
    expect.objectContaining({
      problems: [
        expect.stringContaining('lacks the plan "gold", which 1 account is on'),
        expect.stringContaining('lacks the plan "tin", which 2 accounts are on'),
      ],
    }),
  );
});

test("endpoints whose address is not allowed any more are counted in one line, and none makes none", async () => {
  await using it = await openTestData();
  for (const url of ["http://127.0.0.1:9/", "https://127.0.0.2/a", "https://example.com/"])
    await it.endpoint({ config: { url } });
  const lines: unknown[] = [];
  const logger = { log: (...line: unknown[]) => void lines.push(line) };
  await warnOfForbidden(it.data, createGuard({ allow: ["127.0.0.0/8"] }), logger);
  expect(lines).toEqual([]);
  await warnOfForbidden(it.data, createGuard({ allow: [] }), logger);
  expect(lines).toEqual([["warn", expect.stringContaining("not allowed any more"), { endpoints: 2 }]]);
});

test("whoever is to be answered after a replica that is not there is one line, by the setting or a source", () => {
  const lines: unknown[] = [];
  const logger = { log: (...line: unknown[]) => void lines.push(line) };
  const ask = (durability: "disk" | "replica", ...sources: ("disk" | "replica" | null)[]) => {
    const all = () => sources.map((one) => ({ durability: one }));
    warnOfNoReplica({ durability }, { sources: { all } }, logger);
    return lines.splice(0).length;
  };
  expect([ask("disk"), ask("disk", null, "disk"), ask("disk", null, "replica"), ask("replica")]).toEqual([
    0, 0, 1, 1,
  ]);
});
