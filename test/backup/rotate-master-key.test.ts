/** `sealpost rotate-master-key` on the data directory of a real service, whole and in pieces. */
import { afterEach, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MAIN, sealpost } from "../cli/kit.ts";
import { readOnly } from "../../src/store/database.ts";
import { Cipher } from "../../src/core/cipher.ts";
import { type Service, startService } from "../kit/service.ts";

const KEY = Buffer.alloc(32, 1).toString("base64");
const NEXT = Buffer.alloc(32, 2).toString("base64");
const ENDPOINTS = 60;
const UNHURRIED = { SEALPOST_MANAGEMENT_RATE_LIMIT: "0" };
let service: Service;

afterEach(() => service.close());

async function ask(path: string, body?: object): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${service.keys.test}`, "content-type": "application/json" };
  const given = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  return (await (await fetch(`${service.url}${path}`, { headers, ...given })).json()) as Record<
    string,
    unknown
  >;
}

/** Endpoints with secrets; answers the secret of each. */
async function fill(): Promise<Map<string, unknown>> {
  const secrets = new Map<string, unknown>();
  for (let at = 0; at < ENDPOINTS; at++) {
    const { id } = await ask("/v1/endpoints", { url: "https://hooks.example.com/x" });
    secrets.set(String(id), (await ask(`/v1/endpoints/${String(id)}/secret`))["secret"]);
  }
  return secrets;
}

async function expectSecrets(secrets: Map<string, unknown>): Promise<void> {
  for (const [id, secret] of secrets)
    expect((await ask(`/v1/endpoints/${id}/secret`))["secret"]).toBe(secret as string);
}

const rotate = (env: Record<string, string> = {}) =>
  sealpost(["rotate-master-key", "--json"], { SEALPOST_DATA_DIR: service.dataDir, ...env });

/** How many secrets each key encrypts, by its id. */
function keyIds(): Record<string, number> {
  const rows = readOnly(join(service.dataDir, "sealpost.db"), (sqlite) =>
    sqlite.query<{ sealed: Uint8Array }, []>("SELECT sealed FROM endpoint").all(),
  );
  const counts: Record<string, number> = {};
  for (const { sealed } of rows) {
    const id = Cipher.keyId(sealed);
    counts[id] = (counts[id] ?? 0) + 1;
  }
  return counts;
}
const keyFile = () => join(service.dataDir, "secret.key");

test("the key that the first start made gives way to a new one, however often", async () => {
  service = await startService({ env: UNHURRIED });
  const secrets = await fill();
  const running = await rotate();
  expect([running.exitCode, running.stderr]).toEqual([1, expect.stringContaining("Another process uses")]);
  await service.stop();
  const first = readFileSync(keyFile(), "utf8");
  for (const round of [2, 3]) {
    const { exitCode, stdout } = await rotate();
    expect([exitCode, JSON.parse(stdout)]).toMatchObject([
      0,
      { encrypted: ENDPOINTS, left: 0, problems: [] },
    ]);
    const lines = readFileSync(keyFile(), "utf8").trimEnd().split("\n");
    expect([lines.length, lines.at(-1)]).toEqual([round, first.trimEnd()]);
    expect(Object.keys(keyIds()).length).toBe(1);
  }
  await service.restart();
  await expectSecrets(secrets);
  await service.stop();
  // The newest one alone is enough.
  writeFileSync(keyFile(), readFileSync(keyFile(), "utf8").split("\n")[0] ?? "");
  await service.restart();
  await expectSecrets(secrets);
}, 60_000);

test("killed on its way it goes on with the key that it had made, and a service starts in between", async () => {
  service = await startService({ env: UNHURRIED });
  const secrets = await fill();
  await service.stop();
  const kills = [0, 1, 2, 3, 4, 5];
  for (const at of kills) {
    const child = Bun.spawn([process.execPath, MAIN, "rotate-master-key"], {
      env: { SEALPOST_DATA_DIR: service.dataDir },
      stdout: "ignore",
      stderr: "ignore",
    });
    // From before its first step to behind its last one, by the file that it changes first.
    while (at > 0 && readFileSync(keyFile(), "utf8").trimEnd().split("\n").length < 2) await Bun.sleep(1);
    await Bun.sleep(at * 2);
    child.kill("SIGKILL");
    await child.exited;
  }
  await service.restart();
  await expectSecrets(secrets);
  await service.stop();
  expect((await rotate()).exitCode).toBe(0);
  expect(Object.values(keyIds())).toEqual([ENDPOINTS]);
  await service.restart();
  await expectSecrets(secrets);
}, 60_000);

test("by SEALPOST_SECRET_KEY: from the second key to the first; what cannot be is told", async () => {
  service = await startService({ env: { ...UNHURRIED, SEALPOST_SECRET_KEY: KEY } });
  const secrets = await fill();
  await service.stop();
  expect(await rotate({ SEALPOST_SECRET_KEY: KEY })).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("put a new one before it") as string,
  });
  const alone = await rotate({ SEALPOST_SECRET_KEY: NEXT });
  expect([alone.exitCode, JSON.parse(alone.stdout)]).toMatchObject([1, { encrypted: 0, left: ENDPOINTS }]);
  const both = await rotate({ SEALPOST_SECRET_KEY: `${NEXT},${KEY}` });
  expect([both.exitCode, JSON.parse(both.stdout)]).toMatchObject([0, { encrypted: ENDPOINTS, left: 0 }]);
  await service.restart({ SEALPOST_SECRET_KEY: NEXT });
  await expectSecrets(secrets);
}, 60_000);

test("a directory without a database is refused", async () => {
  service = await startService();
  const { exitCode, stderr } = await rotate({ SEALPOST_DATA_DIR: "/nonexistent" });
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining("holds no database")]);
});
