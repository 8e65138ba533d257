import { expect, test } from "bun:test";
import { CLIENT_SETTINGS } from "../../src/config.ts";
import { sealpost } from "./kit.ts";

test("--help lists the settings of the commands, which the service leaves alone", async () => {
  const { stdout } = await sealpost(["--help"]);
  for (const { name, about } of Object.values(CLIENT_SETTINGS))
    expect(stdout).toContain(`${name}\n      ${about}\n`);
  const env = { SEALPOST_URL: "https://hooks.example.com", SEALPOST_API_KEY: "sp_test_1" };
  expect(await sealpost(["check-config"], env)).toMatchObject({ exitCode: 0, stderr: "" });
});

test("without a key, a command says how to get one", async () => {
  const { exitCode, stderr } = await sealpost(["trigger", "a.b"], { HOME: "/nonexistent" });
  expect([exitCode, stderr]).toEqual([2, "There is no key: run sealpost login, or set SEALPOST_API_KEY\n"]);
});
