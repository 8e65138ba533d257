/**
 * What the process says at its start and at its edges: arguments, signals, folders that it cannot use,
 * migrations, keys.
 */
import { describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SETTINGS } from "../src/config.ts";
import { runService, type Service, startService } from "./kit/service.ts";

const main = join(import.meta.dir, "../src/main.ts");

async function run(args: string[], env: Record<string, string> = {}) {
  const child = Bun.spawn([process.execPath, main, ...args], { env, stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { exitCode: await child.exited, stdout, stderr };
}

describe("arguments", () => {
  test("--help ends with 0 and lists every setting with its default and an example", async () => {
    const { exitCode, stdout } = await run(["--help"]);
    expect(exitCode).toBe(0);
    for (const { name, about, defaultText, example } of Object.values(SETTINGS)) {
      expect(stdout).toContain(`${name}\n      ${about}\n`);
      expect(stdout).toContain(`Default: ${defaultText}. Example: ${name}=${example}`);
    }
  });

  test("--version ends with 0, and what is not known with 2", async () => {
    expect((await run(["--version"])).exitCode).toBe(0);
    const { exitCode, stderr } = await run(["--hlep"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("--help");
  });

  for (const host of ["0.0.0.0", "127.0.0.1", "127.0.0.2", "::1", "::", "localhost"]) {
    test(`--check-health finds a service that listens on ${host}, also where a proxy is set`, async () => {
      const listener = Bun.serve({ hostname: host, port: 0, fetch: () => new Response() });
      const env = { SEALPOST_HOST: host, SEALPOST_PORT: String(listener.port) };
      expect((await run(["--check-health"], { ...env, HTTP_PROXY: "http://127.0.0.1:9" })).exitCode).toBe(0);
      await listener.stop(true);
      expect((await run(["--check-health"], env)).exitCode).toBe(1);
    });
  }
});

describe("signals", () => {
  test("SIGHUP is told and ignored", async () => {
    await using service = await startService();
    process.kill(service.pid, "SIGHUP");
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    expect(await service.stop()).toBe(0);
    expect(service.output()).toContain("SIGHUP is ignored");
  });
});

describe("the heap", () => {
  const variable = (pid: number, name: string) =>
    readFileSync(`/proc/${pid}/environ`, "latin1")
      .split("\0")
      .find((line) => line.startsWith(`${name}=`));

  test("grows by no more than what is left after a collection, in the process that was started", async () => {
    await using service = await startService();
    expect(variable(service.pid, "BUN_JSC_heapGrowthMaxIncrease")).toBe("BUN_JSC_heapGrowthMaxIncrease=1");
    expect(await service.stop()).toBe(0);
  });

  test("grows as an operator says", async () => {
    await using service = await startService({ env: { BUN_JSC_heapGrowthMaxIncrease: "1.5" } });
    expect(variable(service.pid, "BUN_JSC_heapGrowthMaxIncrease")).toBe("BUN_JSC_heapGrowthMaxIncrease=1.5");
  });
});

describe("standard output that cannot be written", () => {
  /** Bash, as it leads the output elsewhere and becomes the service: the test has its process then. */
  const bash = (script: string) => ["bash", "-c", script, process.execPath, main];

  async function expectWork({ url, keys }: Service) {
    const headers = { authorization: `Bearer ${keys.test}`, "content-type": "application/json" };
    const publish = { method: "POST", headers, body: '{"type":"a.b","data":{}}' };
    // The line of each request is written before the next one is asked.
    for (let n = 0; n < 3; n++) {
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      expect((await fetch(`${url}/v1/events`, publish)).status).toBe(202);
      await Bun.sleep(60);
    }
  }

  test("as its disk is full: the service goes on, and a signal ends it", async () => {
    const command = bash('if [ "$FULL" ]; then exec >/dev/full; fi; exec "$0" "$1"');
    await using service = await startService({ command, env: { SEALPOST_LOG_LEVEL: "warn" } });
    expect(await service.stop()).toBe(0);
    await service.restart({ FULL: "1", SEALPOST_LOG_LEVEL: "info" });
    await expectWork(service);
    expect(await service.stop()).toBe(0);
  }, 60_000);

  test("as its reader has left: the service goes on, and a signal ends it", async () => {
    const reader = `sed -u '/"msg":"listening"/q' >&2`;
    await using service = await startService({ command: bash(`exec "$0" "$1" > >(${reader})`) });
    await expectWork(service);
    expect(await service.stop()).toBe(0);
  }, 60_000);
});

describe("a folder that cannot be used", () => {
  // Not even root writes into these.
  for (const [dir, cause] of [
    ["/proc", "may not write there"],
    ["/dev/null/x", "ENOTDIR"],
    ["/proc/self/task", "may not write there"],
  ] as const) {
    test(`${dir} is named with its cause, without a stack`, async () => {
      const { exitCode, output } = await runService({ env: { SEALPOST_DATA_DIR: dir } });
      expect(exitCode).toBe(1);
      expect(output).toContain(dir);
      expect(output).toContain(cause);
      expect(output).not.toContain("stack");
      expect(output).not.toContain("Another process");
    });
  }

  test("a database that cannot be read is not called damaged", async () => {
    const dir = mkdtempSync(join(tmpdir(), "sealpost-start-"));
    const { exitCode } = Bun.spawnSync(["mkdir", join(dir, "sealpost.db")]);
    expect(exitCode).toBe(0);
    const key = Buffer.alloc(32).toString("base64");
    const { output } = await runService({ env: { SEALPOST_DATA_DIR: dir, SEALPOST_SECRET_KEY: key } });
    expect(output).toContain(join(dir, "sealpost.db"));
    expect(output).not.toContain("damaged");
    expect(output).not.toContain("stack");
    rmSync(dir, { recursive: true });
  });
});

describe("migrations", () => {
  test("are told with the version before and after, and only where there were any", async () => {
    await using service = await startService();
    expect(service.output()).toContain('"msg":"the database was made","schema_before":0');
    await service.stop();
    const before = service.output().length;
    await service.restart();
    await service.stop();
    expect(service.output().slice(before)).not.toContain("schema_before");
    const sqlite = new Database(join(service.dataDir, "sealpost.db"), { readonly: true });
    const { user_version: version = 0 } =
      sqlite.query<{ user_version: number }, []>("PRAGMA user_version").get() ?? {};
    sqlite.close();
    expect(service.output()).toContain(`"schema":${version}`);
  });
});

describe("a rotation of SEALPOST_SECRET_KEY", () => {
  test("encrypts anew through kill -9, and says when the old key may go: the service starts without it", async () => {
    const [older, newer] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString("base64"));
    const keys = (text = "") => ({ SEALPOST_SECRET_KEY: text });
    await using service = await startService({ env: keys(older) });
    const headers = { authorization: `Bearer ${service.keys.test}`, "content-type": "application/json" };
    const body = JSON.stringify({ url: "http://127.0.0.1:9/" });
    for (let count = 0; count < 60; count++) {
      const made = await fetch(`${service.url}/v1/endpoints`, { method: "POST", headers, body });
      expect(made.status).toBe(201);
    }
    await service.kill9();
    await service.restart(keys(`${newer},${older}`));
    await service.kill9();
    await service.restart(keys(`${newer},${older}`));
    await service.printed("the other keys may go");
    await service.kill9();
    await service.restart(keys(newer));
    const listed = await fetch(`${service.url}/v1/endpoints?limit=100`, { headers });
    expect(((await listed.json()) as { data: unknown[] }).data.length).toBe(60);
  }, 60_000);
});
