import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Service } from "../../../kit/service.ts";
import type { Person } from "../../kit.ts";
import { call, onService } from "../../listening.ts";
import { endpoint, lines } from "../lines.ts";

let service: Service;
let person: Person;
onService((at) => ({ service, person } = at));

const endpoints = async () =>
  (await call<{ data: { id: string; url: string; metadata: object }[] }>(service, "GET", "/v1/endpoints"))
    .data;

test("a file comes in whole: credentials too, and again without a change", async () => {
  const path = join(person.folder, "all.ndjson");
  const records = [
    { record: "event_type", name: "invoice.paid", schema: { type: "object" }, example: { id: 1 } },
    { record: "consumer", id: "cust_7", name: "Acme" },
    endpoint("1", { headers: { authorization: "Bearer x" }, metadata: { team: "a" }, max_concurrency: 3 }),
    { record: "endpoint", id: "queue", kind: "poll", config: {} },
  ];
  writeFileSync(path, `${lines(...records)}\n`);
  expect(await person.types(["import", "ndjson", path, "--apply"])).toMatchObject({
    exitCode: 0,
    stderr: "",
  });
  const [queue, one] = await endpoints();
  expect(queue).toMatchObject({ kind: "poll" });
  expect(one).toMatchObject({
    headers: { authorization: "***" },
    metadata: { team: "a" },
    max_concurrency: 3,
  });
  const again = await person.types(["import", "ndjson", path, "--json", "--apply"]);
  const sum = { make: 0, change: 0, leave_out: 0 };
  expect(JSON.parse(again.stdout.trim().split("\n").at(-1) ?? "")).toEqual({
    sum: { event_types: { ...sum, keep: 1 }, endpoints: { ...sum, keep: 2 }, consumers: 1 },
    applied: true,
  });
});

test("a credential that changes in the file comes along", async () => {
  const changed = lines(endpoint("1", { headers: { authorization: "Bearer y" } }));
  const { exitCode, stdout } = await person.types(["import", "ndjson", "--apply"], changed);
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining("changed    endpoint 1 of cust_7")]);
});

test("wrong lines are all told, and nothing is written", async () => {
  const before = await endpoints();
  const text = `${lines(endpoint("20"))}{\n\n${lines({ record: "endpoint" })}`;
  const { exitCode, stdout, stderr } = await person.types(["import", "ndjson", "--apply"], text);
  expect([exitCode, stdout, stderr]).toEqual([1, "", "line 2: this is not JSON\nline 4: id is missing\n"]);
  const many = await person.types(["import", "ndjson"], "{\n".repeat(30));
  expect(many.stderr).toEndWith("line 20: this is not JSON\nand 10 more\n");
  expect(await endpoints()).toEqual(before);
});

test("a key that may not write ends it, and says how it goes on", async () => {
  const { key } = await call<{ key: string }>(service, "POST", "/v1/api-keys", {
    name: "r",
    scopes: ["read"],
  });
  const env = { SEALPOST_API_KEY: key };
  const { exitCode, stderr } = await person.types(
    ["import", "ndjson", "--apply"],
    lines(endpoint("40")),
    env,
  );
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining("is answered 403")]);
  expect(stderr).toStartWith("Run it again: what is made is kept");
});

test("a file that is not there is told", async () => {
  const { exitCode, stderr } = await person.types(["import", "ndjson", "/nowhere.ndjson"]);
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining("/nowhere.ndjson cannot be read")]);
});

test("a mark of the byte order at the start is no part of the first line", async () => {
  const text = `\uFEFF${lines({ record: "event_type", name: "bom" })}`;
  const { exitCode, stdout } = await person.types(["import", "ndjson"], text);
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining("make       event type bom")]);
});

test("no name of a field steers the terminal", async () => {
  const text = lines({ record: "endpoint", id: "x", "\u001b]0;pwned\u0007\u001b[2J": 1 });
  const { exitCode, stderr } = await person.types(["import", "ndjson"], text);
  expect([exitCode, stderr]).toEqual([1, "line 1: ?]0;pwned??[2J is no field of endpoint\n"]);
});
