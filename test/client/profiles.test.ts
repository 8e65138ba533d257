import { expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { keepProfile, parseProfiles, readProfiles, settingsFolder } from "../../src/client/profiles.ts";
import { Person } from "./kit.ts";

const one = { url: "https://one.example.com", key: "sp_live_1" };

test("the folder is XDG_CONFIG_HOME's, where that is an absolute path", () => {
  expect(settingsFolder({ XDG_CONFIG_HOME: "/x", HOME: "/h" })).toBe("/x/sealpost");
  expect(settingsFolder({ XDG_CONFIG_HOME: "x", HOME: "/h" })).toBe("/h/.config/sealpost");
  expect(settingsFolder({ HOME: "/h" })).toBe("/h/.config/sealpost");
});

test("what is kept is read back, and forgotten alone", () => {
  using person = new Person();
  expect(readProfiles(person.env)).toEqual({});
  keepProfile(person.env, "one", one);
  keepProfile(person.env, "two", { ...one, key: "sp_live_2" });
  keepProfile(person.env, "one", null);
  expect(readProfiles(person.env)).toEqual({ two: { ...one, key: "sp_live_2" } });
});

test("a file that others could read is theirs no more after the next change", () => {
  using person = new Person();
  keepProfile(person.env, "one", one);
  chmodSync(join(person.folder, ".config/sealpost/profiles.json"), 0o644);
  keepProfile(person.env, "two", one);
  expect(person.kept("profiles.json").mode()).toBe(0o600);
});

test("no text makes the reader throw, and what it takes has an address and a key each", () => {
  const near = fc.string({ unit: fc.constantFrom(...'{}[]":,urlkeyprofiles0'), maxLength: 60 });
  fc.assert(
    fc.property(fc.oneof(near, fc.json()), (text) => {
      const profiles = parseProfiles(text);
      for (const { url, key } of Object.values(profiles ?? {}))
        expect([typeof url, typeof key]).toEqual(["string", "string"]);
    }),
  );
});
