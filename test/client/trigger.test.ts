import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Service } from "../kit/service.ts";
import type { Person } from "./kit.ts";
import { onService } from "./listening.ts";

let service: Service;
let person: Person;
onService((at) => ({ service, person } = at));

/** The text of the event's answer: what JSON.parse would lose is in it. */
async function storedText(told: string): Promise<string> {
  const [id = ""] = /evt_\w+/.exec(told) ?? [];
  const headers = { authorization: `Bearer ${service.keys.test}` };
  return (await fetch(`${service.url}/v1/events/${id}`, { headers })).text();
}

test("publishes an event without data, and says how many deliveries it has", async () => {
  const { exitCode, stdout, stderr } = await person.types(["trigger", "order.paid"]);
  expect([exitCode, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^evt_\w{26} {2}order\.paid {2}0 deliveries\n$/);
});

test("data comes from the word, a file or standard input, and keeps every digit", async () => {
  const data = '{"n":12345678901234567890.10, "text":"ü"}';
  writeFileSync(join(person.folder, "data.json"), `${data}\n`);
  for (const [given, stdin] of [
    [data, ""],
    [`@${join(person.folder, "data.json")}`, ""],
    ["@-", data],
  ] as const) {
    const { stdout } = await person.types(["trigger", "a.b", "--data", given], stdin);
    expect(await storedText(stdout)).toContain("12345678901234567890.10");
  }
});

test("an external id is taken once; --json prints the answer", async () => {
  const words = ["trigger", "a.b", "--external-id", "x-1", "--consumer", "cust_7"];
  expect((await person.types(words)).stdout).not.toContain("was there before");
  expect((await person.types(words)).stdout).toContain("was there before");
  const { stdout } = await person.types([...words, "--json"]);
  expect(JSON.parse(stdout)).toMatchObject({ duplicate: true, consumer_id: "cust_7", external_id: "x-1" });
});

test.each<[string[], number, string]>([
  [[], 2, "usage: sealpost trigger TYPE"],
  [["a.b", "--data", "{a}"], 2, "--data is not JSON"],
  [["a.b", "--data", '{}, "type": "c.d"'], 2, "--data is not JSON"],
  [["a.b", "--data", "@nothing.json"], 1, "cannot be read"],
  [["a b"], 1, "/type"],
  [["a.b", "--data", "[]"], 1, "/data"],
])("trigger %p ends with %d", async (words, code, reason) => {
  const { exitCode, stdout, stderr } = await person.types(["trigger", ...words]);
  expect([exitCode, stdout, stderr.includes(reason) ? reason : stderr]).toEqual([code, "", reason]);
});

test("a service that is not there is told", async () => {
  const { exitCode, stderr } = await person.types(["trigger", "a.b"], "", {
    SEALPOST_URL: "http://127.0.0.1:9",
  });
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining("http://127.0.0.1:9 cannot be reached")]);
});
