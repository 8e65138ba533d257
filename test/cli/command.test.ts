import { describe, expect, test } from "bun:test";
import type { Command } from "commander";
import { Calls } from "../../src/cli/calls.ts";
import { makeProgram } from "../../src/cli/command.ts";
import { startService } from "../kit/service.ts";
import { MAIN, sealpost } from "./kit.ts";

const pathOf = (command: Command): string[] =>
  command.parent === null ? [] : [...pathOf(command.parent), command.name()];
const withAllBelow = (command: Command): Command[] => [command, ...command.commands.flatMap(withAllBelow)];
const commands = withAllBelow(makeProgram(new Calls()));

describe("help", () => {
  test.each(commands.map((command) => [pathOf(command).join(" "), command] as const))(
    "of sealpost %s says how it is called and lists its options, on standard output",
    async (path, command) => {
      const { exitCode, stdout, stderr } = await sealpost([...pathOf(command), "--help"]);
      expect([exitCode, stderr]).toEqual([0, ""]);
      expect(stdout).toStartWith(`usage: ${["sealpost", path].join(" ").trim()}`);
      for (const { long } of command.options) expect(stdout).toContain(long ?? "");
      for (const one of command.commands) expect(stdout).toContain(`  ${one.name()} `);
      expect(command.description().length).toBeGreaterThan(10);
    },
  );

  test("has no colours where it is no terminal", async () => {
    expect((await sealpost(["--help"])).stdout).not.toContain("\u001b");
  });
});

test.each([
  [["chek-config"], "unknown command", "check-config"],
  [["restore", "--jsn"], "unknown option", "--json"],
  [["serve", "now"], "too many arguments", "usage: sealpost serve"],
  [["backup"], "usage: sealpost backup", "verify"],
  [["--check-health", "now"], "unknown command", "usage: sealpost"],
])("%p ends with exit code 2, and says what may be meant", async (words, problem, hint) => {
  const { exitCode, stdout, stderr } = await sealpost(words);
  expect([exitCode, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(problem);
  expect(stderr).toContain(hint);
});

describe("check-config", () => {
  test("says that settings are right", async () => {
    const env = { SEALPOST_PORT: "9999" };
    expect(await sealpost(["check-config"], env)).toEqual({
      exitCode: 0,
      stdout: "The settings are right.\n",
      stderr: "",
    });
    expect((await sealpost(["check-config", "--json"], env)).stdout).toBe('{"problems":[]}\n');
  });

  test("names all that is wrong, as the start does, and no secret", async () => {
    const env = { SEALPOST_PROT: "1", SEALPOST_SECRET_KEY: "c2VjcmV0" };
    const { exitCode, stderr } = await sealpost(["check-config"], env);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("did you mean SEALPOST_PORT?");
    expect(stderr).toContain("SEALPOST_SECRET_KEY must be 32 bytes");
    expect(stderr).not.toContain("c2VjcmV0");
    const { exitCode: code, stdout } = await sealpost(["check-config", "--json"], env);
    expect([code, (JSON.parse(stdout) as { problems: string[] }).problems.length]).toEqual([2, 2]);
  });
});

test("serve runs the service", async () => {
  await using service = await startService({ command: [process.execPath, MAIN, "serve"] });
  expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
  expect(await service.stop()).toBe(0);
});
