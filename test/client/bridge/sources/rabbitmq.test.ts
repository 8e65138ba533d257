import { expect, test } from "bun:test";
import { Person } from "../../kit.ts";
import { call, onService } from "../../listening.ts";
import type { Service } from "../../../kit/service.ts";
import { startBridge } from "../trial.ts";

// With a server: test/slow/bridge.slow.ts and test/slow/bridge-rabbitmq.slow.ts.

let service: Service;
let person: Person;
onService((at) => ({ service, person } = at));

const AMQP_URL = "amqp://127.0.0.1:1";

test.each([
  [[], {}, "missing required argument 'queue'"],
  [["orders"], {}, "AMQP_URL must hold the address of the server"],
  [["orders"], { AMQP_URL: "http://127.0.0.1" }, "AMQP_URL must be an address such as amqps://"],
  [["orders", "--envelope", "--type", "a.b"], { AMQP_URL }, "cannot be used with option '--type <type>'"],
  [["orders", "--refused", "orders"], { AMQP_URL }, "--refused must be another queue"],
])("%j with %j is a wrong call", async (words, env, told) => {
  const { exitCode, stderr } = await person.types(["bridge", "rabbitmq", ...words], "", env);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(told)]);
});

test("a key that may not publish ends it before it connects", async () => {
  const body = { name: "reads", scopes: ["read"] };
  const { key } = await call<{ key: string }>(service, "POST", "/v1/api-keys", body);
  const env = { AMQP_URL, SEALPOST_API_KEY: key };
  const { exitCode, stderr } = await person.types(["bridge", "rabbitmq", "orders"], "", env);
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining("is answered 403")]);
  expect(stderr).not.toContain("RabbitMQ");
});

test("a server that is not there is waited for, and an end does not wait", async () => {
  using somebody = new Person({ ...person.env, AMQP_URL });
  const bridge = await startBridge(somebody, ["rabbitmq", "orders"]);
  await bridge.tells("RabbitMQ: connect ECONNREFUSED 127.0.0.1:1 (trying until it is there again)");
  expect([await bridge.end("SIGTERM"), bridge.stderr]).toEqual([0, expect.stringContaining("Published 0.")]);
});
