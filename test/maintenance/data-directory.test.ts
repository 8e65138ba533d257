import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownKeys, takeDirectory } from "../../src/maintenance/data-directory.ts";
import { createLogger } from "../../src/platform/log.ts";

let home = "";
let log = "";
const logger = createLogger("info", (text) => void (log += text), Date.now);
const monotonic = () => 0;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "sealpost-directory-"));
  log = "";
});

afterEach(() => rmSync(home, { recursive: true }));

test("the replica is held before the directory is locked, and claimed after it", async () => {
  const dir = join(home, "data");
  const steps: string[] = [];
  const replica = {
    hold: async () => void steps.push("hold"),
    claim: async ({ installation }: { installation: string | null }) =>
      void steps.push(`claim ${installation}`),
  };
  const directory = await takeDirectory(dir, { replica, logger, monotonic });
  const again = takeDirectory(dir, { replica, logger, monotonic }).catch(String);
  expect(await again).toContain("Another process");
  expect(steps).toEqual(["hold", "claim null", "hold"]);
  directory.release();
  (await takeDirectory(dir, { replica: null, logger, monotonic })).release();
});

test("a path that is no directory is told by its setting", async () => {
  const path = join(home, "file");
  writeFileSync(path, "");
  const refused = takeDirectory(path, { replica: null, logger, monotonic }).catch(String);
  expect(await refused).toContain("SEALPOST_DATA_DIR must be a directory");
});

test("a key of one's own is told when it is made, and at every start that the replica lacks it", () => {
  const replica = { hold: async () => {}, claim: async () => {} };
  const keys = ownKeys(home, { replica: null, logger });
  logger.flush();
  expect(log).toContain("a key was made");
  expect(log).not.toContain("replica");
  log = "";
  expect(ownKeys(home, { replica, logger })).toEqual(keys);
  logger.flush();
  expect(log).toContain("the replica does not hold the key");
  expect(log).not.toContain("a key was made");
});
