/** A socket that could not be made is not a receiver that refuses: Bun says the same of both. */
import { expect, test } from "bun:test";
import { join } from "node:path";

test("with no file left nothing is tried, and is tried once there are some again", async () => {
  const child = Bun.spawn(
    ["bash", "-c", `ulimit -n 120 && exec "$0" "$1"`, process.execPath, join(import.meta.dir, "starving.ts")],
    { stdout: "pipe", stderr: "inherit" },
  );
  const lines = (await child.stdout.text()).trim().split("\n");
  expect(lines).toEqual([
    "refused: unreachable connection_refused",
    "no file, a receiver: aborted",
    "no file, by name: aborted",
    "no file, https: aborted",
    "told: 1",
    "files again: response",
    "files again, refused: unreachable connection_refused",
  ]);
});
