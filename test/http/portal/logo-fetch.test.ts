/** A project's logo: fetched once, when its address is saved, and served from our own origin. */
import { expect, test } from "bun:test";
import { appForFile, receiverForFile } from "../../kit/for-file.ts";
import { expectProblem, type Reply } from "../kit.ts";
import { GIF, JPEG, PNG, WEBP } from "../pictures.ts";

const app = appForFile();
const receiver = receiverForFile();

const save = (logoUrl: string | null) => app.live.patch("/v1/project", { branding: { logo_url: logoUrl } });

/** The path of the logo as the portal shows it; null where there is none. */
async function logoPath(): Promise<string | null> {
  const { json } = await app.live.get("/v1/portal");
  const { logo_url: url } = json["branding"] as { logo_url: string | null };
  return url === null ? null : url.replace("https://hooks.example.com", "");
}

test.each([
  ["PNG", "image/png", PNG],
  ["JPEG", "image/jpeg", JPEG],
  ["GIF", "image/gif", GIF],
  ["WebP", "image/webp", WEBP],
])(
  "a %s is kept as it was and served by us as %s, whatever its server called it",
  async (_name, type, bytes) => {
    const url = receiver.at(
      "picture",
      () => new Response(bytes, { headers: { "content-type": "text/html" } }),
    );
    expect((await save(url)).status).toBe(200);
    receiver.at("picture", () => new Response(null, { status: 404 }));
    const path = await logoPath();
    const response = await fetch(app.url + path);
    expect(response.headers.get("content-type")).toBe(type);
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(await response.bytes()).toEqual(bytes);
  },
);

test("its address changes with the picture, and null takes it away", async () => {
  await save(receiver.at("one", () => new Response(PNG)));
  const first = await logoPath();
  await save(receiver.at("two", () => new Response(GIF)));
  expect(await logoPath()).not.toBe(first);
  await save(null);
  expect(await logoPath()).toBeNull();
  expect((await app.with(null).get(String(first))).status).toBe(404);
  await save(receiver.url("one"));
  await app.live.patch("/v1/project", { branding: null });
  expect(await logoPath()).toBeNull();
});

test("another change of the project fetches nothing and keeps it", async () => {
  await save(receiver.at("kept", () => new Response(PNG)));
  await app.live.patch("/v1/project", { name: "Shop", branding: { color: "#123456" } });
  expect(receiver.requests("kept")).toHaveLength(1);
  expect(await logoPath()).not.toBeNull();
});

const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
const large = new Uint8Array(256 * 1024 + 1);
large.set(PNG);

test.each<[string, () => Response]>([
  ["an SVG", () => new Response(SVG, { headers: { "content-type": "image/png" } })],
  ["a page", () => new Response("<!doctype html>")],
  ["nothing", () => new Response(null, { status: 204 })],
  ["more than 256 KiB", () => new Response(large)],
  ["a failure", () => new Response(PNG, { status: 500 })],
  ["a redirect", () => new Response(null, { status: 302, headers: { location: "/one" } })],
])("%s is no logo: 422, and what was there stays", async (_name, answer) => {
  await save(receiver.at("good", () => new Response(PNG)));
  const before = await logoPath();
  const reply = await save(receiver.at("bad", answer));
  expectLogoProblem(reply, "invalid_request");
  expect(await logoPath()).toBe(before);
});

test("a picture of exactly 256 KiB is taken", async () => {
  const full = large.slice(0, 256 * 1024);
  expect((await save(receiver.at("full", () => new Response(full)))).status).toBe(200);
});

test("a server that does not answer, and an address that is not allowed, are refused", async () => {
  expectLogoProblem(await save("http://127.0.0.1:9/logo.png"), "invalid_request");
  expectLogoProblem(await save("http://10.0.0.1/logo.png"), "unsafe_destination");
  expectLogoProblem(await save("http://localhost/logo.png"), "unsafe_destination");
  expectLogoProblem(await save("file:///etc/passwd"), "unsafe_destination");
});

test("a project fetches two at once, whoever asks; another project is not held up", async () => {
  const gate = Promise.withResolvers<void>();
  const held = receiver.at("held", () => gate.promise.then(() => new Response(PNG)));
  const { json } = await app.live.post("/v1/api-keys", { name: "other" });
  const other = app.with(String(json["key"]));
  const asked = [save(held), other.patch("/v1/project", { branding: { logo_url: held } })];
  await receiver.arrived("held", 2);
  expectProblem(await save(held), 429, "rate_limited");
  expect((await app.live.patch("/v1/project", { name: "Shop" })).status).toBe(200);
  const ofTest = app.test.patch("/v1/project", { branding: { logo_url: held } });
  await receiver.arrived("held", 3);
  gate.resolve();
  expect((await Promise.all([...asked, ofTest])).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect((await save(receiver.at("one", () => new Response(PNG)))).status).toBe(200);
  await app.test.patch("/v1/project", { branding: null });
});

test("a project without a logo, and what is no project, have none", async () => {
  const { json } = await app.test.get("/v1/project");
  expect((await app.with(null).get(`/portal/${String(json["id"])}/logo`)).status).toBe(404);
  expect((await app.with(null).get("/portal/proj_x/logo")).status).toBe(404);
});

function expectLogoProblem(reply: Reply, code: string): void {
  expectProblem(reply, 422, code);
  expect(reply.json.errors?.map(({ pointer }) => pointer)).toEqual(["/branding/logo_url"]);
}
