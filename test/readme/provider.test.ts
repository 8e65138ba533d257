/**
 * The contributing page's part on providers: which file a new one belongs to, and its example, one row with
 * which the service verifies it, offers it and has its page.
 */
import { createHmac } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Service, startService } from "../kit/service.ts";
import { findOnly, readBlocks, readPage } from "./blocks.ts";

const repository = join(import.meta.dir, "../..");
const FILE = "src/inbound/providers/timestamped-hmac.ts";

const copy = mkdtempSync(join(tmpdir(), "sealpost-readme-provider-"));
let service: Service;
let withRow = "";

/** The sources with the README's row in the file that it names. */
async function copySources(): Promise<void> {
  for (const name of ["src", "drizzle", "package.json", "tsconfig.json"]) {
    cpSync(join(repository, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(repository, "node_modules"), join(copy, "node_modules"));
  const readme = await readPage("CONTRIBUTING.md");
  expect(readme).toContain(`here at the end of the list in \`${FILE}\``);
  const row = findOnly(readBlocks(readme), "ts").text;
  const path = join(copy, FILE);
  withRow = readFileSync(path, "utf8").replace(/\n\];\n/, `\n${row}];\n`);
  writeFileSync(path, withRow);
}

beforeAll(async () => {
  await copySources();
  service = await startService({ command: [process.execPath, join(copy, "src/main.ts")] });
});

afterAll(async () => {
  await service.close();
  rmSync(copy, { recursive: true, force: true });
});

test("the table of what proves a request names every file of providers, and rows that stand in them", async () => {
  const page = await readPage("CONTRIBUTING.md");
  const folder = join(repository, "src/inbound/providers");
  const lines = page.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  const table = lines.filter(([, , cell = ""]) => /^`[a-z0-9-]+\.ts`/.test(cell));
  const named = table.map(([, , files = "", rows = ""]) => ({
    files: [...files.matchAll(/`([^`]+)`/g)].map(([, file = ""]) => file),
    rows: [...rows.matchAll(/`([^`]+)`/g)].map(([, key = ""]) => key),
  }));
  const all = [...new Bun.Glob("*.ts").scanSync(folder)];
  expect(named.flatMap(({ files }) => files).toSorted()).toEqual(all.toSorted());
  for (const { files, rows } of named) {
    const placeOf = (key: string) =>
      files.filter((file) => readFileSync(join(folder, file), "utf8").includes(`key: "${key}"`));
    const places = rows.map(placeOf);
    expect([rows, places.filter((place) => place.length !== 1)]).toEqual([rows, []]);
    expect(new Set(places.flat())).toEqual(new Set(files));
  }
});

test("the row is as `run format` leaves it: pasted, it passes `run check`", async () => {
  const biome = join(repository, "node_modules/.bin/biome");
  const options = { cwd: repository, stdin: new Blob([withRow]) };
  const formatted = Bun.spawn([biome, "format", `--stdin-file-path=${FILE}`], { ...options, stdout: "pipe" });
  expect(await formatted.stdout.text()).toBe(withRow);
});

async function call(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${service.keys.test}`, "content-type": "application/json" };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const reply = await fetch(`${service.url}${path}`, { method, headers, ...sent });
  expect(reply.status).toBeLessThan(300);
  return (await reply.json()) as Record<string, unknown>;
}

test("the row alone makes a provider", async () => {
  expect(await call("GET", "/v1/providers/acme")).toMatchObject({
    name: "Acme",
    headers: ["acme-signature"],
  });
  const page = await fetch(`${service.url}/docs/providers/acme`);
  expect([page.status, await page.text()]).toEqual([
    200,
    expect.stringContaining("Acme: Settings, Webhooks"),
  ]);
  const secret = "acme-secret";
  const source = await call("POST", "/v1/sources", { provider: "acme", name: "a", signing_secret: secret });
  const body = '{"id":"1","type":"invoice.paid"}';
  const at = Math.floor(Date.now() / 1000);
  const mac = createHmac("sha256", secret).update(`${at}.${body}`).digest("hex");
  const knock = (text: string) =>
    fetch(`${service.url}${String(source["ingest_path"])}`, {
      method: "POST",
      headers: { "acme-signature": `t=${at},v1=${mac}` },
      body: text,
    });
  expect((await knock(body)).status).toBe(200);
  expect((await knock(`${body} `)).status).toBe(401);
  expect(await call("GET", "/v1/events")).toMatchObject({ data: [{ type: "acme.invoice.paid" }] });
});
