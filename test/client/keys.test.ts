import { expect, test } from "bun:test";
import { OPERATOR_TOKEN } from "../kit/operator.ts";
import { type Service, startService } from "../kit/service.ts";
import { Person } from "./kit.ts";
import { call, onService } from "./listening.ts";

let service: Service;
let person: Person;
onService((at) => ({ service, person } = at));

interface KeyRow {
  id: string;
  name: string;
}

test("create prints the key alone; list shows where it begins; revoke ends it at once", async () => {
  const made = await person.types(["keys", "create", "CI", "--scopes", "publish"]);
  expect([made.exitCode, made.stderr]).toEqual([0, ""]);
  expect(made.stdout).toMatch(/^sp_test_\w+\n$/);
  const key = made.stdout.trim();
  const env = { SEALPOST_API_KEY: key };
  expect((await person.types(["trigger", "a.b"], "", env)).exitCode).toBe(0);
  const list = await person.types(["keys", "list"]);
  const row = list.stdout.split("\n").find((line) => / {2}CI {2}/.test(line));
  const [id = "", , prefix = "?", scopes] = row?.split(/ {2,}/) ?? [];
  expect([key.startsWith(prefix), scopes]).toEqual([true, "publish"]);
  expect(await person.types(["keys", "revoke", id])).toMatchObject({
    stdout: `${id}  revoked\n`,
    exitCode: 0,
  });
  const { exitCode, stderr } = await person.types(["trigger", "a.b"], "", env);
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining("is answered 401")]);
});

test("--json prints the answer, --expires-at when it ends", async () => {
  const words = ["keys", "create", "short", "--expires-at", "2099-01-01T00:00:00Z", "--json"];
  const { stdout } = await person.types(words);
  expect(JSON.parse(stdout)).toMatchObject({ scopes: ["full"], expires_at: "2099-01-01T00:00:00.000Z" });
  const { data } = await call<{ data: KeyRow[] }>(service, "GET", "/v1/api-keys");
  expect(data.map(({ name }) => name)).toContain("short");
});

test("an operator makes one for a project whose keys are lost", async () => {
  const operated = await startService({ env: { SEALPOST_OPERATOR_TOKEN: OPERATOR_TOKEN } });
  using operator = new Person({ SEALPOST_URL: operated.url, SEALPOST_API_KEY: OPERATOR_TOKEN });
  try {
    const made = await fetch(`${operated.url}/v1/operator/accounts`, {
      method: "POST",
      headers: { authorization: `Bearer ${OPERATOR_TOKEN}`, "content-type": "application/json" },
      body: '{"name":"Acme"}',
    });
    const { projects } = (await made.json()) as { projects: KeyRow[] };
    const project = projects[0]?.id ?? "";
    const { stdout } = await operator.types(["keys", "create", "rescue", "--project", project]);
    expect(stdout).toMatch(/^sp_live_\w+\n$/);
  } finally {
    await operated.close();
  }
});

test.each<[string[], number, string]>([
  [["create"], 2, "usage: sealpost keys create NAME"],
  [["create", "x", "--scopes", "everything"], 2, "Allowed choices are full, publish, read"],
  [["create", "x", "--expires-at", "tomorrow"], 1, "/expires_at"],
  [["revoke"], 2, "usage: sealpost keys revoke ID"],
  [["revoke", "key_1"], 1, "is answered 404"],
  [["lose"], 2, "unknown command 'lose'"],
])("keys %p ends with %d", async (words, code, reason) => {
  const { exitCode, stderr } = await person.types(["keys", ...words]);
  expect([exitCode, stderr.includes(reason) ? reason : stderr]).toEqual([code, reason]);
});
