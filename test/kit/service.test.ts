import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runService, startService } from "./service.ts";

/** Behaves as the service does at its edges: settings, keys printed once, `/readyz`, SIGTERM. */
const standIn = `
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
const { SEALPOST_PORT, SEALPOST_HOST, SEALPOST_DATA_DIR, SEALPOST_CELL } = process.env;
if (SEALPOST_CELL === "wrong") { console.error("SEALPOST_CELL is wrong"); process.exit(2); }
if (!existsSync(SEALPOST_DATA_DIR)) { mkdirSync(SEALPOST_DATA_DIR); console.log("sp_live_00abc sp_test_00def"); }
writeFileSync(SEALPOST_DATA_DIR + "/starts", String(process.pid));
process.on("SIGTERM", () => { console.log("drained"); process.exit(3); });
Bun.serve({ port: Number(SEALPOST_PORT), hostname: SEALPOST_HOST, fetch: () => Response.json({ cwd: process.cwd(), env: process.env }) });
console.log('{"msg":"listening"}');
`;

let folder = "";
let command: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sealpost-stand-in-"));
  command = [process.execPath, join(folder, "main.ts")];
  await Bun.write(join(folder, "main.ts"), standIn);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a service is ready with the keys that it printed, and sees only the environment given", async () => {
  await using service = await startService({ command, env: { SEALPOST_CELL: "7q" } });
  expect(service.keys).toEqual({ live: "sp_live_00abc", test: "sp_test_00def" });
  const { cwd, env } = (await (await fetch(service.url)).json()) as {
    cwd: string;
    env: Record<string, string>;
  };
  expect(cwd).not.toBe(process.cwd());
  expect(env["SEALPOST_CELL"]).toBe("7q");
  const unexpected = Object.keys(env).filter((name) => !/^(SEALPOST_\w+|PATH|HOME|PWD)$/.test(name));
  expect(unexpected).toEqual([]);
});

test("stopping drains and gives the exit code; the keys outlive a start that prints none", async () => {
  await using service = await startService({ command });
  expect(await service.stop()).toBe(3);
  const { url, pid } = service;
  await service.restart({ SEALPOST_CELL: "7q" });
  expect(service.url).toBe(url);
  expect(service.pid).not.toBe(pid);
  expect(service.keys.live).toBe("sp_live_00abc");
  expect(service.output()).toContain("drained");
});

test("kill -9 leaves the data directory, closing removes it and ends the process", async () => {
  const service = await startService({ command });
  await service.kill9();
  expect(service.output()).not.toContain("drained");
  expect(existsSync(join(service.dataDir, "starts"))).toBe(true);
  await service.restart();
  await service.close();
  expect(existsSync(service.dataDir)).toBe(false);
  await expect(fetch(service.url)).rejects.toThrow();
});

test("a start that fails is rejected with what the service said", async () => {
  const failing = startService({ command, env: { SEALPOST_CELL: "wrong" } });
  await expect(failing).rejects.toThrow("SEALPOST_CELL is wrong");
});

test("running to the end gives exit code and output", async () => {
  const exit = await runService({ command, env: { SEALPOST_CELL: "wrong" } });
  expect(exit).toEqual({ exitCode: 2, output: "SEALPOST_CELL is wrong\n" });
});
