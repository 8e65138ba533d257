import { afterAll, expect, test } from "bun:test";
import { Api, Refused } from "../../src/client/api.ts";
import { PatientApi } from "../../src/client/patient-api.ts";
import { CommandError } from "../../src/platform/command-line.ts";

let answers: Response[] = [];
const keys: (string | null)[] = [];
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch(request) {
    keys.push(request.headers.get("idempotency-key"));
    return answers.shift() ?? Response.json({ is: "well" });
  },
});
afterAll(() => server.stop(true));

const patient = (giveUpMs?: number) =>
  new PatientApi(new Api({ url: `http://127.0.0.1:${server.port}`, key: "k" }), giveUpMs);
const thrownBy = (asked: Promise<unknown>) => asked.catch((error: unknown) => error);

test("what passes is waited for, with the same key each time", async () => {
  answers = [
    new Response("", { status: 503 }),
    Response.json({ code: "idempotency_in_progress" }, { status: 409 }),
  ];
  keys.length = 0;
  expect(await patient().ask("/x", { method: "POST", body: "{}", idempotencyKey: "one" })).toEqual({
    is: "well",
  });
  expect(keys).toEqual(["one", "one", "one"]);
});

test("what does not pass is thrown at once", async () => {
  answers = [Response.json({ code: "conflict" }, { status: 409 })];
  expect(await thrownBy(patient().ask("/x"))).toBeInstanceOf(Refused);
});

test("what does not pass in time is given up", async () => {
  answers = Array.from({ length: 20 }, () => new Response("", { status: 503 }));
  const thrown = await thrownBy(patient(500).ask("/x"));
  expect(thrown).toBeInstanceOf(CommandError);
  expect(String(thrown)).toContain("/x gives no answer, and was asked for long enough.");
  answers = [];
});

test("the first question is not repeated", async () => {
  answers = [new Response("", { status: 503 })];
  expect(await thrownBy(patient().askOnce("/x"))).toBeInstanceOf(Refused);
});
