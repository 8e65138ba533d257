// time budget: 180 s
/** The one executable: built as `bun run build` builds it, then started as an operator would start it. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startService } from "../kit/service.ts";

const folder = mkdtempSync(join(tmpdir(), "sealpost-executable-"));
const executable = join(folder, "sealpost");

beforeAll(async () => {
  const build = Bun.spawn(
    [process.execPath, join(import.meta.dir, "../../src/platform/build.ts"), executable],
    {
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit",
    },
  );
  expect(await build.exited).toBe(0);
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the executable starts on an empty data directory, prints its keys, answers, and ends with exit code 0", async () => {
  await using service = await startService({ command: [executable] });
  expect(service.keys.live).toMatch(/^sp_live_/);
  expect(service.keys.test).toMatch(/^sp_test_/);
  for (const path of ["/healthz", "/readyz", "/docs", "/openapi.json"]) {
    expect((await fetch(service.url + path)).status).toBe(200);
  }
  expect(readFileSync(`/proc/${service.pid}/environ`, "latin1")).toContain("BUN_JSC_heapGrowthMaxIncrease=1");
  expect(await service.stop()).toBe(0);
});

test("the executable carries the portal: its page, and every file that the page asks for", async () => {
  await using service = await startService({ command: [executable] });
  const headers = { authorization: `Bearer ${service.keys.live}` };
  const { id } = (await (await fetch(`${service.url}/v1/project`, { headers })).json()) as { id: string };
  const page = await (await fetch(`${service.url}/portal/${id}`)).text();
  const files = [...page.matchAll(/"(\/portal\/assets\/[^"]+)"/g)].map(([, path = ""]) => service.url + path);
  expect(files.length).toBeGreaterThan(1);
  for (const file of files) expect((await fetch(file)).status).toBe(200);
});

test("the executable starts again on what it wrote, also after kill -9", async () => {
  await using service = await startService({ command: [executable] });
  await service.kill9();
  await service.restart();
  const authorization = `Bearer ${service.keys.live}`;
  const events = await fetch(`${service.url}/v1/events`, { headers: { authorization } });
  expect(events.status).toBe(200);
});

test("the executable runs nothing that lies in the folder it is started from", async () => {
  const trap = join(folder, "trap");
  const ran = join(trap, "ran");
  await Bun.write(join(trap, "bunfig.toml"), 'preload = ["./preload.ts"]\n');
  await Bun.write(join(trap, "preload.ts"), `await Bun.write(${JSON.stringify(ran)}, "");`);
  await Bun.write(join(trap, ".env"), "SEALPOST_UNKNOWN=would stop the start\n");
  await using service = await startService({ command: ["env", `--chdir=${trap}`, executable] });
  expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
  expect(await Bun.file(ran).exists()).toBe(false);
});

test("the image's health check is content while the service runs, and not once it has stopped", async () => {
  const dockerfile = await Bun.file(join(import.meta.dir, "../../Dockerfile")).text();
  const [, command = "[]"] = dockerfile.match(/^HEALTHCHECK [^[]*(\[(?:.|\\\n)*?\])$/m) ?? [];
  const words: string[] = JSON.parse(command.replace("\\\n", ""));
  await using service = await startService({ command: [executable] });
  const check = async () => {
    const env = { PATH: `${folder}:${process.env["PATH"]}`, SEALPOST_PORT: new URL(service.url).port };
    return await Bun.spawn(words, { env, stdout: "ignore", stderr: "ignore" }).exited;
  };
  expect(await check()).toBe(0);
  await service.stop();
  expect(await check()).not.toBe(0);
});
