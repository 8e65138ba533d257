/** Words that a shell completes: what is asked for by a line, and the real shells in a terminal. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Calls } from "../../src/cli/calls.ts";
import { makeProgram } from "../../src/cli/command.ts";
import { completionsOf, SCRIPTS } from "../../src/cli/completion.ts";
import { hasTmux, Terminal } from "../kit/terminal.ts";
import { requireTool } from "../kit/tools.ts";
import { MAIN, sealpost } from "./kit.ts";

const shells = {
  bash: hasTmux,
  zsh: requireTool("zsh", "apt-get install zsh") && hasTmux,
  fish: requireTool("fish", "apt-get install fish") && hasTmux,
};

let home = "";
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "sealpost-completion-"));
  mkdirSync(join(home, "sealpost"));
  const profiles = { default: { url: "http://a", key: "k" }, production: { url: "http://b", key: "k" } };
  writeFileSync(join(home, "sealpost/profiles.json"), JSON.stringify({ profiles }));
  mkdirSync(join(home, "bin"));
  const command = join(home, "bin/sealpost");
  writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
  chmodSync(command, 0o700);
});
afterAll(() => rmSync(home, { recursive: true }));

function complete(line: string, point?: number): string[] {
  const env = {
    COMP_LINE: line,
    XDG_CONFIG_HOME: home,
    ...(point !== undefined && { COMP_POINT: `${point}` }),
  };
  return completionsOf(makeProgram(new Calls()), env);
}

test.each<[string, string[]]>([
  ["sealpost re", ["restore", "replay"]],
  ["sealpost cells co", ["config"]],
  ["sealpost keys ", ["create", "list", "revoke"]],
  ["sealpost backup verify --with", ["--within", "--without-database"]],
  ["sealpost events --json --st", ["--status"]],
  ["sealpost deliveries --status d", ["delivered", "dead"]],
  ["sealpost replay --status dead c", ["cancelled"]],
  ["sealpost replay --status dead --e", ["--endpoint"]],
  ["sealpost trigger a.b --profile ", ["default", "production"]],
  ["sealpost tail events ", ["deliveries", "refusals"]],
  ["sealpost completion ", ["bash", "zsh", "fish"]],
  ["sealpost listen --forward ", []],
  ["sealpost verify ", []],
  ["sealpost nothing ", []],
  ["sealpost trigger a.b --data $(touch made)", []],
])("%j is completed by %p", (line, words) => {
  expect(complete(line)).toEqual(words);
});

test("only what stands before the cursor counts", () => {
  expect(complete("sealpost tr --json", "sealpost tr".length)).toEqual(["trigger"]);
});

test("every command is completed", () => {
  expect(complete("sealpost ")).toEqual(makeProgram(new Calls()).commands.map((command) => command.name()));
});

test("what the shell adds is no option of the command that completes", async () => {
  const env = { COMP_LINE: "sealpost --vers", XDG_CONFIG_HOME: home };
  const { exitCode, stdout } = await sealpost(["complete", "sealpost", "--version", "sealpost"], env);
  expect([exitCode, stdout]).toEqual([0, "--version\n"]);
});

test.each(Object.keys(SCRIPTS) as (keyof typeof SCRIPTS)[])("%s completes what is typed", async (shell) => {
  if (!shells[shell]) return;
  const path = `${join(home, "bin")}:${process.env["PATH"]}`;
  await using terminal = await Terminal.open({ PATH: path, HOME: home, XDG_CONFIG_HOME: home });
  const start = { bash: "bash --norc", zsh: "zsh -f", fish: "fish --no-config" }[shell];
  await terminal.type(start);
  await terminal.shows(/[$%#>] *\n*$/);
  if (shell === "zsh") await terminal.type("autoload -Uz compinit && compinit -u");
  const load =
    shell === "fish" ? "sealpost completion fish | source" : `eval "$(sealpost completion ${shell})"`;
  await terminal.type(load);
  await terminal.type("clear");
  await terminal.press(..."sealpost".split(""), "Space", ..."deli".split(""), "Tab");
  await terminal.shows("sealpost deliveries");
  await terminal.press(..."--sta".split(""), "Tab");
  await terminal.shows("deliveries --status");
  await terminal.press(..."canc".split(""), "Tab");
  await terminal.shows("--status cancelled");
});

test("a broken file of profiles says nothing in the middle of a line", () => {
  const env = {
    COMP_LINE: "sealpost trigger a.b --profile ",
    XDG_CONFIG_HOME: join(home, "sealpost/profiles.json"),
  };
  expect(completionsOf(makeProgram(new Calls()), env)).toEqual([]);
});

test("a shell that is not known is refused", async () => {
  const { exitCode, stderr } = await sealpost(["completion", "tcsh"]);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining("Allowed choices are bash, zsh, fish")]);
});
