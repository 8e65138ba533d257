import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findInstallation, readUrl } from "../../src/client/installation.ts";
import { keepProfile } from "../../src/client/profiles.ts";
import { Person } from "./kit.ts";

const first = { url: "https://first.example.com", key: "sp_live_1" };

test("a named profile comes before the environment, and that before the profile default", () => {
  using person = new Person({ SEALPOST_API_KEY: "sp_test_env" });
  keepProfile(person.env, "first", first);
  keepProfile(person.env, "default", { ...first, key: "sp_live_default" });
  expect(findInstallation("first", person.env)).toEqual(first);
  const local = { url: "http://localhost:8080", key: "sp_test_env" };
  expect(findInstallation(undefined, person.env)).toEqual(local);
  expect(findInstallation(undefined, { HOME: person.folder }).key).toBe("sp_live_default");
});

test("an address of the environment never gets the key of a profile", () => {
  using person = new Person({ SEALPOST_URL: "https://other.example.com" });
  keepProfile(person.env, "default", first);
  expect(() => findInstallation(undefined, person.env)).toThrow("SEALPOST_URL needs SEALPOST_API_KEY");
});

test("names of an object's own members are no profiles", () => {
  using person = new Person();
  keepProfile(person.env, "default", first);
  expect(() => findInstallation("constructor", person.env)).toThrow("no profile constructor");
});

test("a file that is none is told, not overwritten", () => {
  using person = new Person();
  mkdirSync(join(person.folder, ".config/sealpost"), { recursive: true });
  writeFileSync(join(person.folder, ".config/sealpost/profiles.json"), '{"profiles":{"a":1}}');
  expect(() => keepProfile(person.env, "default", first)).toThrow("is no file of profiles");
  expect(person.kept("profiles.json").text()).toBe('{"profiles":{"a":1}}');
});

test("an address is kept without the slash at its end, with its path", () => {
  expect(readUrl("https://example.com/hooks//")).toBe("https://example.com/hooks");
  expect(readUrl("http://localhost:8080/")).toBe("http://localhost:8080");
  for (const text of [
    "",
    "localhost:8080",
    "https://u:p@example.com",
    "https://example.com/?a",
    "http://x/#a",
  ])
    expect(() => readUrl(text)).toThrow("http or https URL");
});
