import { expect, test } from "bun:test";
import { Front } from "../kit/front.ts";
import type { Service } from "../kit/service.ts";
import { startReceiver, verifyDelivery } from "../kit/receiver.ts";
import { lookAgain } from "../kit/until.ts";
import type { Person } from "./kit.ts";
import { call, endpointsOf, Listening, onService, personAt, publish } from "./listening.ts";

let service: Service;
let person: Person;
onService((at) => ({ service, person } = at));

async function statusesOf(eventId: string): Promise<string[]> {
  const { data } = await call<{ data: { status: string }[] }>(
    service,
    "GET",
    `/v1/deliveries?event_id=${eventId}`,
  );
  return data.map(({ status }) => status);
}

test("what is published arrives byte for byte, genuine, and counts as delivered; nothing is left at the end", async () => {
  await using receiver = startReceiver();
  await using listening = await Listening.start(person, ["--json", "--forward", receiver.url("hook")]);
  const { id } = await publish(service, "order.paid", { text: "ü \u2028 \ufeff 😀", n: 1.5 });
  const [request] = await receiver.arrived("hook");
  if (request === undefined) throw new Error("nothing came");
  expect(verifyDelivery(request, listening.secret)).toMatchObject({ data: { text: "ü \u2028 \ufeff 😀" } });
  expect(request.headers["content-type"]).toBe("application/json");
  await listening.shows(1);
  expect(listening.lines).toEqual([
    {
      webhook_id: request.headers["webhook-id"] ?? "",
      type: "order.paid",
      status: 204,
      duration_ms: expect.any(Number),
      again: false,
      error: null,
    },
  ]);
  await lookAgain(
    async () => (await statusesOf(id))[0] === "delivered",
    () => undefined,
  );
  expect((await endpointsOf(service)).map(({ kind }) => kind)).toEqual(["poll"]);
  expect([await listening.end(), await endpointsOf(service)]).toEqual([0, []]);
});

test("only the types that are named come, in their order", async () => {
  await using receiver = startReceiver();
  const words = ["--json", "--forward", receiver.url("hook"), "--types", "order.*,invoice.paid", "a.b"];
  await using listening = await Listening.start(person, words);
  for (const type of ["order.paid", "other.x", "invoice.paid", "invoice.sent", "a.b"])
    await publish(service, type);
  await listening.shows(3);
  expect(listening.lines.map(({ type }) => type)).toEqual(["order.paid", "invoice.paid", "a.b"]);
  expect(await listening.end("SIGTERM")).toBe(0);
});

test("of a source only what it received comes, not what is published under its types", async () => {
  const source = (name: string) =>
    call<{ id: string; ingest_path: string; secret: string }>(service, "POST", "/v1/sources", {
      provider: "service",
      name,
    });
  const [one, other] = [await source("one"), await source("other")];
  await using receiver = startReceiver();
  const words = ["--json", "--body", "--forward", receiver.url("hook"), "--source", "one"];
  await using listening = await Listening.start(person, words);
  const ingest = async ({ ingest_path: path, secret }: typeof one, n: number) => {
    const body = JSON.stringify({ n });
    const headers = { "x-service-token": secret };
    const answer = await fetch(`${service.url}${path}`, { method: "POST", headers, body });
    expect(answer.ok).toBe(true);
  };
  await publish(service, "service.unknown", { n: 1 });
  await ingest(other, 2);
  await ingest(one, 3);
  await listening.shows(1);
  expect(listening.lines.map(({ body }) => JSON.parse(body ?? "") as unknown)).toMatchObject([
    { data: { n: 3 } },
  ]);
  expect(await listening.end()).toBe(0);
});

test("a receiver that refuses, or is not there, is shown, and holds up nothing", async () => {
  const receiver = startReceiver();
  receiver.at("hook", () => new Response("out\u001b[2J of order", { status: 500 }));
  await using listening = await Listening.start(person, ["--forward", receiver.url("hook"), "--body"]);
  const { id } = await publish(service, "order.paid");
  await listening.shows(3);
  expect(listening.stdout).toMatch(
    /^\d\d:\d\d:\d\d {2}order\.paid {2}msg_\w+ {2}500 {2}\d+ ms\n {2}> \{"type"/,
  );
  expect(listening.stdout).toContain("  < out?[2J of order\n");
  await receiver.close();
  await publish(service, "order.sent");
  await listening.shows(5);
  expect(listening.stdout).toMatch(/order\.sent {2}msg_\w+ {2}no answer: .+ {2}\d+ ms/);
  await lookAgain(
    async () => (await statusesOf(id))[0] === "delivered",
    () => undefined,
  );
  expect(await listening.end("SIGHUP")).toBe(0);
});

test("a restart of the service, also by kill -9, is told, and loses nothing", async () => {
  await using receiver = startReceiver();
  await using listening = await Listening.start(person, ["--json", "--forward", receiver.url("hook")]);
  await publish(service, "before.restart");
  await receiver.arrived("hook", 1);
  await service.kill9();
  await listening.tells("trying until it is there again");
  const { keys } = service;
  await service.restart();
  service.keys = keys;
  await publish(service, "after.restart");
  await listening.tells("It is there again.");
  await receiver.arrived("hook", 2);
  await listening.shows(2);
  expect(listening.lines.map(({ type }) => type)).toEqual(["before.restart", "after.restart"]);
  expect([await listening.end(), await endpointsOf(service)]).toEqual([0, []]);
}, 60_000);

test("a cut of the network and a lost answer are waited out: each event arrives once, in order", async () => {
  await using front = await Front.start(service.url);
  await using receiver = startReceiver();
  using behind = personAt({ url: front.url, keys: service.keys });
  await using listening = await Listening.start(behind, ["--json", "--forward", receiver.url("hook")]);
  await publish(service, "event.first");
  await listening.shows(1);
  await front.close();
  await listening.tells("trying until it is there again");
  await publish(service, "event.second");
  // The service hands it out, and nobody gets that answer.
  front.next(async (request) => {
    const { pathname, search } = new URL(request.url);
    await fetch(service.url + pathname + search, { headers: request.headers });
    return new Response("bad gateway", { status: 502 });
  });
  front.open();
  await listening.tells("It is there again.");
  await publish(service, "event.third");
  await listening.shows(3);
  expect(listening.lines.map(({ type }) => type)).toEqual(["event.first", "event.second", "event.third"]);
  expect(receiver.requests("hook").length).toBe(3);
  expect([await listening.end(), await endpointsOf(service)]).toEqual([0, []]);
}, 60_000);

test("an endpoint that somebody removes ends it, with the reason", async () => {
  await using listening = await Listening.start(person, ["--forward", "9"]);
  const [endpoint] = await endpointsOf(service);
  await call(service, "DELETE", `/v1/endpoints/${endpoint?.id}`);
  expect(await listening.exit()).toBe(1);
  expect(listening.stderr).toContain("Somebody has removed the endpoint");
});

test.each<[string[], number, string]>([
  [[], 2, "--forward must say"],
  [["--forward", "ftp://x"], 2, "--forward must be"],
  [["--forward", "9", "--source", "nobody"], 1, "no source with the id or name nobody"],
  [["--forward", "9", "--types", "a b"], 1, "/event_types"],
])("listen %p ends with %d", async (words, code, reason) => {
  const { exitCode, stderr } = await person.types(["listen", ...words]);
  expect([exitCode, stderr.includes(reason) ? reason : stderr]).toEqual([code, reason]);
  expect(await endpointsOf(service)).toEqual([]);
});
