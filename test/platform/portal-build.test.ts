/**
 * The portal's files: typed for a browser, small, kept by browsers for good, and the same ones in the page
 * and the server.
 */
import { beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { buildPortal } from "../../src/platform/portal-build.ts";
import { appForFile } from "../kit/for-file.ts";
import { expectProblem } from "../http/kit.ts";

const repository = join(import.meta.dir, "../..");
/** Page, style and scripts that stand in it. */
const FIRST_VIEW_BYTES_MAX = 100 * 1024;

const app = appForFile();
let address: string;

beforeAll(async () => {
  const { json } = await app.live.get("/v1/project");
  address = `${app.url}/portal/${String(json["id"])}`;
});

test("the sources have no fault of types, checked as what a browser runs", async () => {
  const tsc = join(repository, "node_modules/.bin/tsc");
  const child = Bun.spawn([tsc, "--noEmit", "-p", join(repository, "src/portal")], { stdout: "pipe" });
  expect([await child.stdout.text(), await child.exited]).toEqual(["", 0]);
}, 60_000);

/** Addresses of the files that the page asks for at once. */
async function firstFiles(): Promise<string[]> {
  const page = await (await fetch(address)).text();
  return [...page.matchAll(/(?:href|src)="(\/portal\/assets\/[^"]+)"/g)].map(
    ([, path = ""]) => app.url + path,
  );
}

test("the first view is one script and one style sheet, less than 100 KB compressed", async () => {
  const files = await firstFiles();
  expect(files.map((file) => file.replace(/.*\./, ""))).toEqual(["css", "js"]);
  const init = { headers: { "accept-encoding": "gzip" }, decompress: false } as RequestInit;
  const sizes = await Promise.all(
    [address, ...files].map(async (url) => (await (await fetch(url, init)).bytes()).length),
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(FIRST_VIEW_BYTES_MAX);
});

test("each later view is one script more: it shares with the first one alone", async () => {
  const { page, files } = await buildPortal();
  const scripts = files.filter(({ name }) => name.endsWith(".js"));
  const first = scripts.find(({ name }) => page.includes(name))?.name;
  for (const { name, gzip } of scripts) {
    const text = new TextDecoder().decode(Bun.gunzipSync(Buffer.from(gzip, "base64")));
    const asked = [...text.matchAll(/from"\.\/([\w-]+\.js)"/g)].map(([, one]) => one);
    expect([name, asked.filter((one) => one !== first)]).toEqual([name, []]);
  }
}, 60_000);

test("a file may be kept for ever, as its name changes with it, and comes in what the browser takes", async () => {
  const encodings = {
    "gzip, deflate, br, zstd": "br",
    "GZIP;q=1.0, br;q=0": "gzip",
    identity: null,
    "": null,
  };
  for (const url of await firstFiles()) {
    const texts = new Set<string>();
    for (const [taken, given] of Object.entries(encodings)) {
      const response = await fetch(url, { headers: { "accept-encoding": taken } });
      expect(response.headers.get("cache-control")).toContain("immutable");
      expect(response.headers.get("vary")).toBe("accept-encoding");
      expect([taken, response.headers.get("content-encoding")]).toEqual([taken, given]);
      expect(response.headers.get("content-type")).toMatch(/^text\/(javascript|css); charset=utf-8$/);
      texts.add(await response.text());
    }
    expect(texts.size).toBe(1);
    expect([...texts][0]?.length).toBeGreaterThan(100);
  }
});

test("the look that its address asks for holds before any script runs, and nothing else of the address does", async () => {
  const look = async (query: string) =>
    (await (await fetch(address + query)).text()).match(/<html[^>]*>/)?.[0];
  expect(await look("?theme=dark&dir=rtl")).toBe('<html data-theme="dark" dir="rtl" lang="en">');
  expect(await look('?theme="><script>&dir=left')).toBe('<html lang="en">');
});

test("the page holds nothing of the project, sets no cookie, and may load from its own origin only", async () => {
  const response = await fetch(address);
  const policy = response.headers.get("content-security-policy") ?? "";
  expect(policy).toStartWith("default-src 'self'; ");
  expect(policy).not.toContain("unsafe");
  expect(policy).toEndWith("frame-ancestors *");
  expect(response.headers.get("set-cookie")).toBeNull();
  expect(response.headers.get("referrer-policy")).toBe("no-referrer");
  const page = await response.text();
  expect(page).not.toMatch(/<style|<script(?![^>]* src=)| style=| on\w+=/);
});

test("portal_origins are who may frame it", async () => {
  const origins = ["https://app.acme.example", "http://localhost:3000"];
  await app.live.patch("/v1/project", { portal_origins: origins });
  const policy = (await fetch(address)).headers.get("content-security-policy");
  expect(policy).toEndWith(`frame-ancestors ${origins.join(" ")}`);
});

test("the page for those who have a key is the same, names no project, and is framed by nobody", async () => {
  const response = await fetch(`${app.url}/portal`);
  expect(response.headers.get("content-security-policy")).toEndWith("frame-ancestors 'none'");
  expect(await response.text()).toBe(await (await fetch(address)).text());
});

test("what is no project and no file is 404", async () => {
  for (const path of [
    "/portal/proj_x",
    "/portal/assets",
    "/portal/assets/none.js",
    "/portal/assets/..%2fmain.tsx",
  ]) {
    expectProblem(await app.with(null).get(path), 404, "not_found");
  }
});
