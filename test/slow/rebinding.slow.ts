// time budget: 180 s
/**
 * Names that change their mind and redirects into the host's own network, over real DNS in a network
 * namespace of its own.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { mayMakeNamespaces } from "../kit/namespaces.ts";
import { requireTool } from "../kit/tools.ts";

const canIsolate =
  requireTool("ip", "apt-get install iproute2") && mayMakeNamespaces(["unshare", "--net", "--mount", "true"]);

test.skipIf(!canIsolate)(
  "1,500 deliveries to names that flip, mix and redirect open no connection to a denied address",
  async () => {
    const lab = join(import.meta.dir, "../lab/rebinding.lab.ts");
    const inside = ["unshare", "--net", "--mount", process.execPath, "test", "--timeout", "60000", lab];
    const child = Bun.spawn(inside, { stdout: "pipe", stderr: "pipe" });
    const [output, report, exitCode] = await Promise.all([
      child.stdout.text(),
      child.stderr.text(),
      child.exited,
    ]);
    console.log(output.trim());
    expect({ exitCode, report: exitCode === 0 ? "" : report }).toEqual({ exitCode: 0, report: "" });
    expect(report).toContain("8 pass");
  },
  170_000,
);
