// time budget: 300 s
/**
 * What a release consists of, built as `bun run release` builds it; its executable for this machine started
 * as an operator would start it, and that for arm64 by an emulator.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import manifest from "../../package.json";
import { Client } from "../kit/app.ts";
import { readFormat } from "../kit/executable-format.ts";
import { validateParts } from "../kit/parts-schema.ts";
import { runCommand } from "../kit/real-server.ts";
import { startService } from "../kit/service.ts";
import { requireTool } from "../kit/tools.ts";

const folder = mkdtempSync(join(tmpdir(), "sealpost-executable-"));
const release = join(folder, "release");
/** On the PATH of the health check under the name that the image gives it. */
const executable = join(folder, "sealpost");

const LIBRARIES = "/usr/aarch64-linux-gnu";
const hasEmulator = [
  requireTool("qemu-aarch64-static", "apt-get install qemu-user-static"),
  existsSync(LIBRARIES) || requireTool(LIBRARIES, "apt-get install libc6-arm64-cross"),
].every(Boolean);

beforeAll(async () => {
  const build = Bun.spawn(
    [process.execPath, join(import.meta.dir, "../../src/platform/release.ts"), release],
    {
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit",
    },
  );
  expect(await build.exited).toBe(0);
  symlinkSync(join(release, `sealpost-linux-${process.arch}`), executable);
}, 240_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a release has an executable for each system, the list of their parts, and the sums of all", async () => {
  const formats = readdirSync(release).map((name) => [name, readFormat(join(release, name))]);
  expect(Object.fromEntries(formats)).toEqual({
    "sealpost-linux-x64": "ELF x64 ld-linux",
    "sealpost-linux-arm64": "ELF arm64 ld-linux",
    "sealpost-linux-x64-musl": "ELF x64 ld-musl",
    "sealpost-linux-arm64-musl": "ELF arm64 ld-musl",
    "sealpost-darwin-x64": "Mach-O x64",
    "sealpost-darwin-arm64": "Mach-O arm64",
    "sealpost-windows-x64.exe": "PE x64",
    "sealpost-windows-arm64.exe": "PE arm64",
    "sealpost.cdx.json": null,
    SHA256SUMS: null,
  });
  const checked = await runCommand(["sha256sum", "--check", "--strict", "SHA256SUMS"], {}, release);
  const others = readdirSync(release).filter((name) => name !== "SHA256SUMS");
  expect(checked.trim().split("\n").toSorted()).toEqual(others.map((name) => `${name}: OK`).toSorted());
  expect(await validateParts(await Bun.file(join(release, "sealpost.cdx.json")).json())).toBeNull();
});

test.skipIf(!hasEmulator)(
  "the executable for arm64 starts, keeps an event, and ends with exit code 0",
  async () => {
    const command = ["qemu-aarch64-static", join(release, "sealpost-linux-arm64")];
    const env = { QEMU_LD_PREFIX: LIBRARIES };
    expect((await runCommand([...command, "--version"], env)).trim()).toBe(manifest.version);
    await using service = await startService({ command, env });
    const client = new Client(service, service.keys.test);
    expect((await client.post("/v1/events", { type: "invoice.paid", data: {} })).status).toBe(202);
    expect(await service.stop()).toBe(0);
  },
  60_000,
);

test("the executable starts on an empty data directory, prints its keys, answers, and ends with exit code 0", async () => {
  const began = performance.now();
  await using service = await startService({ command: [executable] });
  console.error(`the executable is ready after ${Math.round(performance.now() - began)} ms`);
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
