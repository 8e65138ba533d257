import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startReceiver } from "../kit/receiver.ts";
import { startService } from "../kit/service.ts";
import { Person } from "./kit.ts";
import { call, publish } from "./listening.ts";

/** A delivery of a real service, as files. */
let person: Person;
let secret = "";
let publicKey = "";
let whole = "";
const file = (name: string) => join(person.folder, name);

beforeAll(async () => {
  person = new Person();
  await using service = await startService();
  await using receiver = startReceiver();
  const versions = { signature_versions: ["v1", "v1a"] };
  const made = await call<{ secret: string; public_key: string }>(service, "POST", "/v1/endpoints", {
    url: receiver.url("hook"),
    ...versions,
  });
  [secret, publicKey] = [made.secret, made.public_key];
  await publish(service, "order.paid", { text: "ü" });
  const [request] = await receiver.arrived("hook");
  if (request === undefined) throw new Error("nothing came");
  const lines = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`);
  whole = ["POST /hook HTTP/1.1", ...lines, "", request.body.toString()].join("\r\n");
  writeFileSync(file("request"), whole);
  writeFileSync(file("headers"), lines.join("\n"));
  writeFileSync(file("headers.json"), JSON.stringify(request.headers));
  writeFileSync(file("body"), request.body);
  writeFileSync(file("secret"), `${secret}\n`);
});
afterAll(() => person[Symbol.dispose]());

test("a delivery is valid, however it was kept, and by either version", async () => {
  for (const key of [secret, publicKey, `@${file("secret")}`])
    for (const words of [
      [file("request")],
      ["--headers", file("headers"), "--body", file("body")],
      ["--headers", file("headers.json"), "--body", file("body")],
    ]) {
      const { exitCode, stdout } = await person.types(["verify", "--secret", key, ...words]);
      expect([exitCode, stdout]).toEqual([
        0,
        expect.stringMatching(/^valid: Its v1a? signature is right, and/),
      ]);
    }
});

test("it comes from standard input too, and the secret from the environment", async () => {
  const env = { WEBHOOK_SECRET: secret };
  expect((await person.types(["verify"], whole, env)).exitCode).toBe(0);
  const { stdout } = await person.types(["verify", "-", "--json"], `${whole} `, env);
  expect(JSON.parse(stdout)).toMatchObject({ verdict: "wrong_signature" });
});

test.each<[string, string[], number, string]>([
  ["too old", ["--at", "2099-01-01T00:00:00Z"], 1, "too old: Its v1 signature is right, but it is"],
  ["too new", ["--at", "2001-01-01T00:00:00Z"], 1, "too new: "],
  ["a malformed secret", ["--secret", "whsec_x"], 2, "malformed secret: "],
])("%s ends with its exit code", async (_what, words, code, said) => {
  const { exitCode, stdout } = await person.types(["verify", ...words], whole, { WEBHOOK_SECRET: secret });
  expect([exitCode, stdout.startsWith(said) ? said : stdout]).toEqual([code, said]);
});

test.each<[string[], number, string]>([
  [["--headers", "a"], 2, "Name one file with the whole request"],
  [["--headers", "-", "--body", "-"], 2, "Name one file"],
  [["--at", "now"], 2, "--at must be"],
  [["--tolerance", "x"], 2, "--tolerance must be"],
  [["nothing.http"], 1, "cannot be read"],
])("verify %p ends with %d", async (words, code, reason) => {
  const { exitCode, stderr } = await person.types(["verify", ...words], "", { WEBHOOK_SECRET: secret });
  expect([exitCode, stderr.includes(reason) ? reason : stderr]).toEqual([code, reason]);
});

test("without a secret it says where one is looked for", async () => {
  const { exitCode, stderr } = await person.types(["verify"], whole);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining("--secret, or WEBHOOK_SECRET")]);
});
