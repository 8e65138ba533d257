/** The caller's own project over the whole service. */
import { expect, test } from "bun:test";
import { startApp } from "../../kit/app.ts";
import { appForFile } from "../../kit/for-file.ts";
import { startReceiver } from "../../kit/receiver.ts";
import { expectProblem } from "../kit.ts";
import { PNG } from "../pictures.ts";

const app = appForFile();

const NO_BRANDING = { name: null, logo_url: null, color: null };

test("a key reads its own project, with every field", async () => {
  const { json } = await app.live.get("/v1/project");
  const { id, name, created_at, ...rest } = json;
  expect(id).toMatch(/^proj_[0-9A-HJKMNP-TV-Z]{26}$/);
  expect([name, created_at]).toEqual([expect.any(String), expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/)]);
  expect(rest as unknown).toEqual({
    mode: "live",
    branding: NO_BRANDING,
    portal_origins: [],
    unknown_event_types: "allow",
  });
  const other = await app.test.get("/v1/project");
  expect([other.json["mode"], other.json["id"] === id]).toEqual(["test", false]);
});

test("changes are merged, also inside branding, and null resets", async () => {
  await using other = await startApp();
  await using receiver = startReceiver();
  const logo = receiver.at("logo.png", () => new Response(PNG));
  const patch = (body: unknown) => other.live.patch("/v1/project", body);
  await patch({
    name: "Shop",
    branding: { name: "Acme", color: "#0F62FE" },
    portal_origins: ["https://a.example:8443"],
  });
  const { json } = await patch({
    branding: { color: null, logo_url: logo },
    unknown_event_types: "reject",
  });
  expect(json).toMatchObject({
    name: "Shop",
    branding: { name: "Acme", color: null, logo_url: logo },
    portal_origins: ["https://a.example:8443"],
    unknown_event_types: "reject",
  });
  await other.stop();
  await other.start();
  expect((await other.live.get("/v1/project")).json).toEqual(json);
  const reset = await patch({ branding: null, portal_origins: null, unknown_event_types: null });
  expect(reset.json).toMatchObject({
    branding: NO_BRANDING,
    portal_origins: [],
    unknown_event_types: "allow",
    name: "Shop",
  });
});

test("two changes at once both hold", async () => {
  const patches = [{ name: "Both" }, { branding: { name: "Acme" } }, { branding: { color: "#000000" } }];
  await Promise.all(patches.map((body) => app.test.patch("/v1/project", body)));
  const { json } = await app.test.get("/v1/project");
  expect(json).toMatchObject({ name: "Both", branding: { name: "Acme", color: "#000000" } });
});

test.each([
  ["an empty name", { name: "" }, "/name"],
  ["no name", { name: null }, "/name"],
  ["a mode", { mode: "test" }, "/mode"],
  ["a colour that is none", { branding: { color: "red" } }, "/branding/color"],
  ["a branding of unknown fields", { branding: { font: "x" } }, "/branding/font"],
  [
    "an origin with a path",
    { portal_origins: ["https://a.example", "https://a.example/x"] },
    "/portal_origins/1",
  ],
  [
    "an origin that is longer than a name can be",
    { portal_origins: [`https://${"a".repeat(300)}`] },
    "/portal_origins/0",
  ],
  ["an origin of another scheme", { portal_origins: ["ftp://a.example"] }, "/portal_origins/0"],
  ["an origin with a wildcard", { portal_origins: ["*"] }, "/portal_origins/0"],
  ["a wildcard for a part of the host", { portal_origins: ["https://*.a.example"] }, "/portal_origins/0"],
  ["a rule behind the host", { portal_origins: ["https://a.example;sandbox"] }, "/portal_origins/0"],
  ["a second policy behind the host", { portal_origins: ["https://a.example,x"] }, "/portal_origins/0"],
  ["a keyword as host", { portal_origins: ["https://'none'"] }, "/portal_origins/0"],
  [
    "21 origins",
    { portal_origins: Array.from({ length: 21 }, (_, at) => `https://a${at}.example`) },
    "/portal_origins",
  ],
  ["an unknown policy", { unknown_event_types: "maybe" }, "/unknown_event_types"],
])("%s is refused, and nothing changes", async (_name, body, pointer) => {
  const before = (await app.live.get("/v1/project")).text;
  const reply = await app.live.patch("/v1/project", body);
  expectProblem(reply, 422, "invalid_request");
  expect(reply.json.errors?.map((fault) => fault.pointer)).toEqual([pointer]);
  expect((await app.live.get("/v1/project")).text).toBe(before);
});

test("a logo at a private address is refused", async () => {
  const reply = await app.live.patch("/v1/project", { branding: { logo_url: "http://10.0.0.1/logo.png" } });
  expectProblem(reply, 422, "unsafe_destination");
  expect(reply.json.errors?.map((fault) => fault.pointer)).toEqual(["/branding/logo_url"]);
});
