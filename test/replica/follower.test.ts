/** A copy that follows the replica, where none can be made: with a Litestream of our own making. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Follower } from "../../src/replica/follower.ts";

let home = "";
let follower: Follower;
const urls: string[] = [];
const lines: string[] = [];

const litestream = {
  endOf: async () => 1,
  restore: async () => {
    throw new Error("no space left");
  },
  follow(url: string) {
    urls.push(url);
    const command = ["sh", "-c", "echo no space left >&2; exit 1"];
    return Bun.spawn(command, { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  },
};

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "sealpost-follower-"));
  urls.length = lines.length = 0;
  const log = (level: string, msg: string, fields = {}) =>
    lines.push(`${level} ${msg} ${JSON.stringify(fields)}`);
  follower = new Follower(litestream, home, log);
});

afterEach(async () => {
  await follower.end();
  rmSync(home, { recursive: true });
});

async function followFor(ms: number, url: string): Promise<void> {
  for (const until = performance.now() + ms; performance.now() < until; await Bun.sleep(20))
    await follower.follow(url);
}

test("a copy that cannot be made is tried less and less often, and the log says why, once", async () => {
  // At once, after half a second, after one and a half; then after three and a half.
  await followFor(2800, "first");
  expect(urls).toEqual(["first", "first", "first"]);
  expect(follower.position).toBe(0);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toStartWith("warn the replica cannot be copied");
  expect(lines[0]).toContain("no space left");
}, 20_000);

test("another replica is copied at once", async () => {
  await followFor(300, "first");
  await followFor(200, "second");
  expect(urls).toEqual(["first", "second"]);
  expect(lines).toEqual([]);
}, 20_000);
