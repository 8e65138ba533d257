import { afterAll, beforeAll, expect, test } from "bun:test";
import { startReceiver, type Receiver } from "../kit/receiver.ts";
import type { Service } from "../kit/service.ts";
import { lookAgain } from "../kit/until.ts";
import type { Person } from "./kit.ts";
import { call, onService, publish } from "./listening.ts";

let service: Service;
let person: Person;
let receiver: Receiver;
let endpoint = "";
let isBroken = true;
onService((at) => ({ service, person } = at));

interface DeliveryRow {
  id: string;
  status: string;
}

const deliveries = async () => (await call<{ data: DeliveryRow[] }>(service, "GET", "/v1/deliveries")).data;

beforeAll(async () => {
  receiver = startReceiver();
  receiver.at("hook", () => new Response(null, { status: isBroken ? 500 : 200 }));
  const body = { url: receiver.url("hook"), retry: { schedule: [] } };
  endpoint = (await call<{ id: string }>(service, "POST", "/v1/endpoints", body)).id;
});
afterAll(() => receiver[Symbol.asyncDispose]());

/** Publishes while the receiver is broken, until all are dead. */
async function die(count: number): Promise<string[]> {
  isBroken = true;
  const ids: string[] = [];
  for (let at = 0; at < count; at++) ids.push((await publish(service, "order.paid")).id);
  const areDead = async () => (await deliveries()).filter(({ status }) => status === "dead").length >= count;
  await lookAgain(areDead, () => undefined);
  isBroken = false;
  return ids;
}

test("dead deliveries are counted, and then all sent again", async () => {
  await die(3);
  const counted = await person.types(["replay", "--status", "dead", "--dry-run"]);
  expect(counted).toMatchObject({ exitCode: 0, stdout: "3 would be sent again\n" });
  const { exitCode, stdout, stderr } = await person.types(["replay", "--types", "order.*"]);
  expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^rpl_\w+ {2}completed {2}3 of 3\n$/)]);
  expect(stderr).toContain("It goes on where this command is ended");
  await lookAgain(
    async () => (await deliveries()).every(({ status }) => status === "delivered"),
    () => undefined,
  );
});

test("an event and a delivery are sent again by their ids", async () => {
  const [event = ""] = await die(1);
  const [delivery] = await deliveries();
  const id = delivery?.id ?? "";
  const before = receiver.requests("hook").length;
  expect((await person.types(["replay", event])).stdout).toBe(`${id}  is sent again to ${endpoint}\n`);
  await lookAgain(
    async () => receiver.requests("hook").length === before + 1,
    () => undefined,
  );
  const retried = await person.types(["replay", id, "--json"]);
  expect(JSON.parse(retried.stdout)).toMatchObject({ id, endpoint_id: endpoint });
  const anew = await person.types(["replay", event, "--new-message-id", "--endpoint", endpoint]);
  expect(anew.stdout).not.toContain(id);
  await lookAgain(
    async () => receiver.requests("hook").length === before + 3,
    () => undefined,
  );
});

test.each([
  ["is no id", "oops", 2],
  ["is an id of nothing", "evt_00000000000000000000000000", 1],
])("nothing is sent where one of the words %s", async (_, word, code) => {
  const before = receiver.requests("hook").length;
  const [delivery] = await deliveries();
  const { exitCode } = await person.types(["replay", delivery?.id ?? "", word]);
  expect([exitCode, receiver.requests("hook").length]).toEqual([code, before]);
});

test.each<[string[], number, string]>([
  [[], 2, "or say which"],
  [["--dry-run"], 2, "or say which"],
  [["ep_1"], 2, "is no id of an event (evt_…) or a delivery (msg_…)"],
  [["evt_1", "--since", "2026-01-01T00:00:00Z"], 2, "--since is for a replay without ids"],
  [["evt_1", "--dry-run"], 2, "--dry-run is for a replay without ids"],
  [["msg_1", "--endpoint", "ep_1"], 2, "--endpoint is for ids of events"],
  [["msg_1", "--new-message-id"], 2, "--new-message-id is for ids of events"],
  [["--status", "dead", "--new-message-id"], 2, "--new-message-id is for ids of events"],
  [["evt_1"], 1, "is answered 404"],
  [["msg_1"], 1, "is answered 404"],
  [["--status", "lost"], 2, "Allowed choices are"],
  [["--since", "yesterday"], 1, "/since"],
  [["--missing"], 1, "/endpoint_id"],
  [["--status", "dead", "--rate", "many"], 2, "--rate must be a number"],
])("replay %p ends with %d", async (words, code, reason) => {
  const { exitCode, stdout, stderr } = await person.types(["replay", ...words]);
  expect([exitCode, stdout, stderr.includes(reason) ? reason : stderr]).toEqual([code, "", reason]);
});
