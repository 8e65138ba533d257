import { expect, test } from "bun:test";
import { chmodSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { claimSession, newSession, readMachine, secretFor } from "../../src/client/session.ts";
import { CommandError } from "../../src/platform/command-line.ts";
import { readSecret } from "../../src/core/signing.ts";
import { Person } from "./kit.ts";

test("a machine is the same at each look, and nobody else reads what its secrets are made of", () => {
  using person = new Person();
  expect(readMachine(person.env)).toEqual(readMachine(person.env));
  expect(person.kept("machine.json").mode()).toBe(0o600);
});

test("a machine that is known needs no folder that can be written", async () => {
  using person = new Person();
  const machine = readMachine(person.env);
  const folder = join(person.folder, ".config/sealpost");
  for (const name of readdirSync(folder)) if (name !== "machine.json") rmSync(join(folder, name));
  chmodSync(folder, 0o500);
  expect(readMachine(person.env)).toEqual(machine);
  expect(readdirSync(folder)).toEqual(["machine.json"]);
  chmodSync(folder, 0o700);
});

test("a folder that cannot be written is told", () => {
  expect(() => readMachine({ XDG_CONFIG_HOME: "/dev/null" })).toThrow(CommandError);
});

test("a secret is the same for one project of one installation, and another one elsewhere", () => {
  using person = new Person();
  const machine = readMachine(person.env);
  const secrets = ["a", "b"].flatMap((url) => ["p", "q"].map((project) => secretFor(machine, url, project)));
  expect(new Set(secrets).size).toBe(4);
  expect(secretFor(machine, "a", "p")).toBe(secrets[0] ?? "");
  for (const secret of secrets) expect(readSecret(secret)?.length).toBe(32);
});

test("a session that runs is nobody else's; one that has ended or crashed can be taken up", async () => {
  using person = new Person();
  const script = `
    const { newSession } = await import("${import.meta.dir}/../../src/client/session.ts");
    console.log((await newSession(process.env)).name);
    setInterval(() => {}, 1000);`;
  const env = { ...person.env, PATH: process.env["PATH"] ?? "" };
  const child = Bun.spawn([process.execPath, "-e", script], { env, stdout: "pipe" });
  let name = "";
  for await (const chunk of child.stdout) {
    name = Buffer.from(chunk).toString().trim();
    break;
  }
  expect(await claimSession(person.env, name)).toBeNull();
  child.kill("SIGKILL");
  await child.exited;
  const claimed = await claimSession(person.env, name);
  expect(claimed?.name).toBe(name);
  expect(await claimSession(person.env, name)).toBeNull();
  claimed?.[Symbol.dispose]();
  using again = await claimSession(person.env, name);
  expect(again?.name).toBe(name);
});

test("two new sessions stand side by side", async () => {
  using person = new Person();
  using one = await newSession(person.env);
  using other = await newSession(person.env);
  expect(one?.name).not.toBe(other?.name ?? "");
});
