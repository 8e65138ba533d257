import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Service, startService } from "../kit/service.ts";
import { Person } from "./kit.ts";

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

describe("login", () => {
  test("keeps the key for its owner alone, and the other commands use it", async () => {
    using person = new Person();
    const told = await person.types(["login", "--url", `${service.url}/`], `${service.keys.test}\n`);
    expect(told).toEqual({
      exitCode: 0,
      stdout: expect.stringMatching(/^default: .* \(test\) at /),
      stderr: "",
    });
    expect([person.kept("profiles.json").mode(), person.kept(".").mode()]).toEqual([0o600, 0o700]);
    expect((await person.types(["trigger", "a.b"])).exitCode).toBe(0);
  });

  test("keeps several by their names, of which a command takes the one it is told", async () => {
    using person = new Person();
    for (const mode of ["live", "test"] as const)
      expect(
        await person.types(["login", "--url", service.url, "--profile", mode], service.keys[mode]),
      ).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`(${mode})`) });
    const { stdout } = await person.types(["login", "--list"]);
    expect(stdout.split("\n").map((line) => line.split(/ +/)[0])).toEqual(["profile", "live", "test", ""]);
    expect(stdout).not.toContain(service.keys.live);
    expect((await person.types(["trigger", "a.b"])).stderr).toContain("no profile default, only live, test");
    expect((await person.types(["trigger", "a.b", "--profile", "test"])).exitCode).toBe(0);
    expect((await person.types(["logout", "--profile", "test"])).exitCode).toBe(0);
    expect((await person.types(["trigger", "a.b", "--profile", "test"])).exitCode).toBe(2);
  });

  test("keeps no key that the installation does not take", async () => {
    using person = new Person();
    const { exitCode, stderr } = await person.types(["login", "--url", service.url], "sp_test_wrong");
    expect([exitCode, stderr.includes("401"), stderr.includes("sp_test_wrong")]).toEqual([1, true, false]);
    expect(person.kept("profiles.json").text).toThrow("ENOENT");
  });

  test.each([
    ["--url", "ftp://x", "http or https"],
    ["--profile", "a b", "The name of a profile"],
    ["--profile", "__proto__", "The name of a profile"],
  ])("refuses %s %s", async (option, value, reason) => {
    using person = new Person();
    const { exitCode, stderr } = await person.types(["login", option, value], "sp_test_x");
    expect([exitCode, stderr.includes(reason)]).toEqual([2, true]);
  });

  test("takes a key that may only publish", async () => {
    const headers = { authorization: `Bearer ${service.keys.test}`, "content-type": "application/json" };
    const body = JSON.stringify({ scopes: ["publish"], name: "publisher" });
    const made = await fetch(`${service.url}/v1/api-keys`, { method: "POST", headers, body });
    const { key } = (await made.json()) as { key: string };
    expect([made.status, typeof key]).toEqual([201, "string"]);
    using person = new Person();
    const told = await person.types(["login", "--url", service.url], key);
    expect(told).toMatchObject({ exitCode: 0, stdout: `default: a key that publishes at ${service.url}\n` });
  });
});
