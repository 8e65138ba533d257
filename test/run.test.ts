import { describe, expect, test } from "bun:test";
import { describeCounts, readCounts } from "./run.ts";

const summary = (lines: string[], ran: number) =>
  `test/a.test.ts:\n(pass) a\n\n${lines.map((line) => ` ${line}\n`).join("")}Ran ${ran} tests across 2 files. [8.00ms]\n`;

const cases: { name: string; output: string; exitCode: number; line: string }[] = [
  {
    name: "a clean run counts what passed",
    output: summary(["3 pass", "0 fail", "7 expect() calls"], 3),
    exitCode: 0,
    line: "3 passed, 0 failed",
  },
  {
    name: "skipped and to-do tests count as skipped",
    output: summary(["1 pass", "2 skip", "1 todo", "0 fail"], 4),
    exitCode: 0,
    line: "1 passed, 0 failed, 3 skipped",
  },
  {
    name: "failures are counted",
    output: summary(["1 pass", "2 fail", "1 error"], 3),
    exitCode: 1,
    line: "1 passed, 2 failed",
  },
  {
    name: "a run of one test has its summary too",
    output: " 1 pass\n 0 fail\nRan 1 test across 1 file. [1.00ms]\n",
    exitCode: 0,
    line: "1 passed, 0 failed",
  },
  {
    name: "a run that executed nothing has failed",
    output: " 0 pass\n 0 fail\nRan 0 tests across 1 file. [8.00ms]\n",
    exitCode: 0,
    line: "0 passed, 1 failed",
  },
  {
    name: "a run in which every test was skipped by name has not failed",
    output: summary(["0 pass", "2 skip", "0 fail"], 2),
    exitCode: 0,
    line: "0 passed, 0 failed, 2 skipped",
  },
  {
    name: "a run without its summary has failed, whatever its exit code",
    output: "test/a.test.ts:\n(pass) a\n",
    exitCode: 0,
    line: "0 passed, 1 failed",
  },
  {
    name: "an exit code other than 0 is a failure even where every test passed",
    output: summary(["3 pass", "0 fail"], 3),
    exitCode: 137,
    line: "3 passed, 1 failed",
  },
  {
    name: "numbers that a test prints before the summary do not count",
    output: ` 99 pass\nRan out of patience\n${summary(["1 pass", "0 fail"], 1)}`,
    exitCode: 0,
    line: "1 passed, 0 failed",
  },
];

describe("the closing line of a test run", () => {
  for (const { name, output, exitCode, line } of cases) {
    test(name, () => expect(describeCounts(readCounts(output, exitCode))).toBe(line));
  }
});
