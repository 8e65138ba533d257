import { expect, test } from "bun:test";
import { type CpuProfile, readShares } from "./cpu-profile.ts";

const node = (id: number, functionName: string, url: string, ...children: number[]) => ({
  id,
  callFrame: { functionName, url },
  children,
});

/** One sample each millisecond. */
const profile: CpuProfile = {
  nodes: [
    node(1, "(root)", "", 2, 7, 8),
    node(2, "publish", "file:///here/src/http/events/publish.ts", 3, 4),
    node(3, "stringify", ""),
    node(4, "write", "file:///here/src/store/store.ts", 5),
    node(5, "run", "bun:sqlite"),
    node(6, "start", "file:///here/src/app.ts"),
    node(7, "fsyncCb", "node:fs"),
    node(8, "", ""),
  ],
  startTime: 5000,
  samples: [6, 3, 5, 5, 7, 8],
  timeDeltas: [0, 1000, 1000, 1000, 1000, 1000],
};

test("a sample belongs to the room that called last, and to Bun where none has", () => {
  const { samples, rooms } = readShares(profile);
  expect(samples).toBe(5);
  expect([...rooms]).toEqual([
    ["store", 0.4],
    ["app", 0.2],
    ["http", 0.2],
    ["Bun", 0.2],
  ]);
});

test("what ran before and after a span is not counted", () => {
  const { functions } = readShares(profile, 5500, 7500);
  expect([...functions]).toEqual([
    ["http: stringify", 0.5],
    ["store: run", 0.5],
  ]);
});
