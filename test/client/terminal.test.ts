import { expect, test } from "bun:test";
import { MAIN } from "../cli/kit.ts";
import { hasTmux, Terminal } from "../kit/terminal.ts";
import { startService } from "../kit/service.ts";
import { Person } from "./kit.ts";

const sealpost = `${process.execPath} ${MAIN}`;

test.skipIf(!hasTmux)("a key that is typed at a terminal is not shown, and is kept", async () => {
  await using service = await startService();
  using person = new Person();
  await using terminal = await Terminal.open(person.env);
  await terminal.type(`clear; ${sealpost} login --url ${service.url}`);
  await terminal.shows(`Key for ${service.url}:`);
  await terminal.press("x", "BSpace");
  await terminal.type(service.keys.test);
  const screen = await terminal.shows("default: ");
  expect(screen).not.toContain("sp_test_");
  expect(JSON.parse(person.kept("profiles.json").text())).toEqual({
    profiles: { default: { url: service.url, key: service.keys.test } },
  });
});

test.skipIf(!hasTmux)(
  "Ctrl-C at the question ends it, and the terminal shows again what is typed",
  async () => {
    using person = new Person();
    await using terminal = await Terminal.open(person.env);
    await terminal.type(`clear; ${sealpost} login`);
    await terminal.shows("Key for ");
    await terminal.press("a", "BSpace", "C-c");
    await terminal.prompts();
    await terminal.type("echo ended with $?");
    expect(await terminal.shows("ended with 1")).toContain("echo ended with");
  },
);
