import { expect, test } from "bun:test";
import { sealpost } from "./kit.ts";

/** Each gets as far as its first look at the settings or a file: its room was loaded, and got its words. */
test.each<[string[], number, string]>([
  [["standby", "--upgrade"], 2, "SEALPOST_PORT must be"],
  [["standby", "--sideways"], 2, "takes --upgrade alone"],
  [["restore", "--at", "yesterday"], 2, "--at must be a time of RFC 3339"],
  [["restore"], 2, "SEALPOST_PORT must be"],
  [["backup", "verify", "--within", "no"], 2, "--within must be a number of seconds above 0"],
  [["backup", "verify", "--without-database"], 2, "SEALPOST_PORT must be"],
  [["cells", "config", "haproxy", "none.json"], 2, "cannot be read"],
  [["cells", "usage", "none.json", "--month", "2026-11"], 2, "cannot be read"],
  [["cells", "take"], 2, "needs --from"],
  [["cells", "move", "acct_1", "--to", "2B", "none.json"], 2, "cannot be read"],
])("sealpost %p ends with %d", async (words, code, reason) => {
  const { exitCode, stderr } = await sealpost(words, { SEALPOST_PORT: "no" });
  expect([exitCode, stderr.includes(reason) ? reason : stderr]).toEqual([code, reason]);
});
