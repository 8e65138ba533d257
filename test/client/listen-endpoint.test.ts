import { expect, test } from "bun:test";
import { Front } from "../kit/front.ts";
import type { Service } from "../kit/service.ts";
import { startReceiver, verifyDelivery } from "../kit/receiver.ts";
import type { Person } from "./kit.ts";
import { call, endpointsOf, Listening, onService, personAt, publish } from "./listening.ts";

let service: Service;
let person: Person;
onService((at) => ({ service, person } = at));

const idsOf = async () => (await endpointsOf(service)).map(({ id }) => id);

/** A run that has crashed; the ids of its endpoint. */
async function crashed(words: readonly string[]): Promise<string[]> {
  const before = new Set(await idsOf());
  await using listening = await Listening.start(person, words);
  await listening.end("SIGKILL");
  return (await idsOf()).filter((id) => !before.has(id));
}

test("what a crashed run left waiting comes to the next one, by the same endpoint and secret", async () => {
  await using receiver = startReceiver();
  const words = ["--json", "--forward", receiver.url("hook"), "--types", "b.*,a.*"];
  const left = await crashed(words);
  await publish(service, "a.missed");
  await using listening = await Listening.start(person, [...words.slice(0, -1), "a.*", "b.*"]);
  const [request] = await receiver.arrived("hook");
  expect(request && verifyDelivery(request, listening.secret)).toMatchObject({ type: "a.missed" });
  expect(listening.stderr).toContain("A run before this one did not end");
  expect(await idsOf()).toEqual(left);
  expect([await listening.end(), await idsOf()]).toEqual([0, []]);
});

test("one that could not be removed, as the service was gone, is told and taken up later", async () => {
  await using front = await Front.start(service.url);
  using behind = personAt({ url: front.url, keys: service.keys });
  await using listening = await Listening.start(behind, ["--forward", "9"]);
  const [left = ""] = await idsOf();
  await front.close();
  expect(await listening.end()).toBe(1);
  expect(listening.stderr).toContain(`The endpoint ${left} stays until the next sealpost listen here`);
  front.open();
  await using again = await Listening.start(behind, ["--forward", "9"]);
  expect(again.stderr).toContain("A run before this one did not end");
  expect([await again.end(), await idsOf()]).toEqual([0, []]);
});

test("one for other types is removed", async () => {
  const [left = ""] = await crashed(["--forward", "9", "--types", "a.*"]);
  await using listening = await Listening.start(person, ["--forward", "9", "--types", "b.*"]);
  const now = await idsOf();
  expect([now.length, now.includes(left)]).toEqual([1, false]);
  expect([await listening.end(), await idsOf()]).toEqual([0, []]);
});

test("one that was paused meanwhile is removed, as nothing would come", async () => {
  const [left = ""] = await crashed(["--forward", "9"]);
  await call(service, "POST", `/v1/endpoints/${left}/pause`);
  await using listening = await Listening.start(person, ["--forward", "9"]);
  expect(await idsOf()).not.toContain(left);
  expect([await listening.end(), await idsOf()]).toEqual([0, []]);
});

test("runs side by side leave each other alone, and each gets everything", async () => {
  await using receiver = startReceiver();
  await using one = await Listening.start(person, ["--forward", receiver.url("one")]);
  await using other = await Listening.start(person, ["--forward", receiver.url("other")]);
  await publish(service, "a.b");
  await Promise.all([receiver.arrived("one"), receiver.arrived("other")]);
  expect(await one.end()).toBe(0);
  await publish(service, "a.b");
  await receiver.arrived("other", 2);
  expect([await other.end(), await idsOf()]).toEqual([0, []]);
});

test("of another machine nothing is taken, and nothing of whoever writes such metadata", async () => {
  using colleague = personAt(service);
  await using theirs = await Listening.start(colleague, ["--forward", "9"]);
  await theirs.end("SIGKILL");
  const metadata = { sealpost_listen: { machine: "x", session: "../../../../tmp/x", source_id: null } };
  await call(service, "POST", "/v1/endpoints", { kind: "poll", config: {}, metadata });
  const before = await idsOf();
  await using listening = await Listening.start(person, ["--forward", "9"]);
  expect(await listening.end()).toBe(0);
  expect(await idsOf()).toEqual(before);
});
