/** The portal's files: typed for a browser, small, kept by browsers for good, and the same ones in the page and the server. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { startApp, type TestApp } from "../kit/app.ts";
import { expectProblem } from "../http/kit.ts";

const repository = join(import.meta.dir, "../..");
/** Page, style and scripts that stand in it. */
const FIRST_VIEW_BYTES_MAX = 100 * 1024;

let app: TestApp;
let address: string;

beforeAll(async () => {
  app = await startApp();
  const { json } = await app.live.get("/v1/project");
  address = `${app.url}/portal/${String(json["id"])}`;
});

afterAll(() => app[Symbol.asyncDispose]());

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

/** As many connections as a browser opens to one host. */
const FILES_AT_ONCE_MAX = 6;

test("the first view is less than 100 KB, compressed, and its files are asked for all at once", async () => {
  const files = await firstFiles();
  expect(files.length).toBeWithin(2, FILES_AT_ONCE_MAX + 1);
  const init = { headers: { "accept-encoding": "gzip" }, decompress: false } as RequestInit;
  const sizes = await Promise.all(
    [address, ...files].map(async (url) => (await (await fetch(url, init)).bytes()).length),
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(FIRST_VIEW_BYTES_MAX);
});

test("a file may be kept for ever, as its name changes with it, and comes plain to who takes no gzip", async () => {
  for (const url of await firstFiles()) {
    const response = await fetch(url, { headers: { "accept-encoding": "identity" } });
    expect(response.headers.get("cache-control")).toContain("immutable");
    expect(response.headers.get("content-encoding")).toBeNull();
    expect(response.headers.get("content-type")).toMatch(/^text\/(javascript|css); charset=utf-8$/);
    expect((await response.text()).length).toBeGreaterThan(100);
  }
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
