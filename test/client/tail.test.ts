import { afterAll, beforeAll, expect, test } from "bun:test";
import { startReceiver, type Receiver } from "../kit/receiver.ts";
import type { Service } from "../kit/service.ts";
import { hasTmux, Terminal } from "../kit/terminal.ts";
import { MAIN } from "../cli/kit.ts";
import type { Person } from "./kit.ts";
import { call, onService, publish, Running } from "./listening.ts";

let service: Service;
let person: Person;
let receiver: Receiver;
let endpoint = "";
let ingestPath = "";
onService((at) => ({ service, person } = at));

beforeAll(async () => {
  receiver = startReceiver();
  // Refuses each delivery once.
  const seen = new Set<string | undefined>();
  receiver.at("hook", ({ headers }) => {
    const id = headers["webhook-id"];
    const status = seen.has(id) ? 200 : 500;
    seen.add(id);
    return new Response(null, { status });
  });
  const body = { url: receiver.url("hook"), retry: { schedule: [3] } };
  endpoint = (await call<{ id: string }>(service, "POST", "/v1/endpoints", body)).id;
  const source = { provider: "github", name: "door\u202e", signing_secret: "it-is-a-secret" };
  ingestPath = `/ingest/${(await call<{ id: string }>(service, "POST", "/v1/sources", source)).id}`;
  await publish(service, "before.it");
});
afterAll(() => receiver[Symbol.asyncDispose]());

/** Something that a source refuses. */
function forge(): Promise<Response> {
  const headers = { "x-hub-signature-256": `sha256=${"0".repeat(64)}`, "x-github-event": "push" };
  return fetch(`${service.url}${ingestPath}`, { method: "POST", headers, body: "{}" });
}

interface Told {
  event?: { type: string };
  delivery?: { event_type: string; status: string; attempt_count: number; endpoint_id: string };
  refusal?: { reason: string; count: number };
}

test("events, each change of a delivery, and refusals are told as they come; what was before is not", async () => {
  await using tail = new Running(person, ["tail", "--json"]);
  await tail.tells("from now on");
  await publish(service, "order.paid");
  await forge();
  await forge();
  const paid = () =>
    tail.parsed<Told>().flatMap(({ delivery }) => (delivery?.event_type === "order.paid" ? [delivery] : []));
  const isAllTold = () =>
    paid().at(-1)?.status === "delivered" && tail.parsed<Told>().some(({ refusal }) => refusal !== undefined);
  await tail.until(isAllTold, "all that happened");
  const told = tail.parsed<Told>();
  expect(told.flatMap(({ event }) => event?.type ?? [])).toEqual(["order.paid"]);
  expect(paid().map(({ status }) => status)).toContain("retrying");
  expect(paid().at(-1)).toMatchObject({ endpoint_id: endpoint, attempt_count: 2 });
  const refused = told.flatMap(({ refusal }) => refusal ?? []);
  expect(refused.map(({ reason }) => reason)).toContain("bad_signature");
  expect(refused.reduce((sum, { count }) => sum + count, 0)).toBe(2);
  expect(await tail.end("SIGINT")).toBe(0);
});

test("it goes on after a restart of the service, which it tells", async () => {
  await using tail = new Running(person, ["tail", "events"]);
  await tail.tells("Showing events of");
  await service.stop();
  await tail.tells("cannot be reached");
  await service.restart();
  await tail.tells("It is there again");
  await publish(service, "after.it");
  await tail.shows(1);
  expect(tail.stdout).toMatch(/^\d\d:\d\d:\d\d {2}event {2}evt_\w+ {2}after\.it {2}1 delivery\n$/);
});

test("refusals after a restart are told, though the service counts them anew", async () => {
  for (let at = 0; at < 3; at++) await forge();
  await using tail = new Running(person, ["tail", "refusals", "--json"]);
  await tail.tells("Showing refusals of");
  await service.stop();
  await tail.tells("cannot be reached");
  await service.restart();
  await forge();
  await tail.until(() => tail.parsed<Told>().length > 0, "the refusal");
  expect(tail.parsed<Told>()).toEqual([{ refusal: expect.objectContaining({ count: 1 }) }]);
});

test.skipIf(!hasTmux)("in a terminal nothing of a name steers it, and states have colours", async () => {
  await using terminal = await Terminal.open(person.env);
  await terminal.type(`clear; ${process.execPath} ${MAIN} tail deliveries refusals`);
  await terminal.shows("Ctrl-C ends it");
  await publish(service, "order.paid");
  await forge();
  await terminal.shows(/refusal {2}src_\w+ {2}door\? {2}bad_signature {2}1 more/);
  await terminal.shows(/delivery {2}msg_\w+ {2}order\.paid {2}delivered {2}[12] attempts?/);
  expect(await terminal.screen(true)).toContain("\u001b[31mbad_signature");
  await terminal.press("C-c");
  await terminal.shows(/\^C\$\n*$/);
});

test.each<[string[], number, string]>([
  [["nothing"], 2, "Allowed choices are events, deliveries, refusals"],
  [["events", "--profile", "none"], 2, "There is no"],
])("tail %p ends with %d", async (words, code, reason) => {
  const { exitCode, stderr } = await person.types(["tail", ...words]);
  expect([exitCode, stderr.includes(reason) ? reason : stderr]).toEqual([code, reason]);
});

test("it ends once its reader has left", async () => {
  const child = Bun.spawn(["sh", "-c", `"$0" "$1" tail events | head -n 1`, process.execPath, MAIN], {
    env: { PATH: process.env["PATH"] ?? "", ...person.env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const told = child.stdout.text();
  // Which of them is the first that it shows depends on when it begins.
  const timer = setInterval(() => void publish(service, "again.it"), 300);
  try {
    expect(await child.exited).toBe(0);
    expect((await told).trimEnd().split("\n")).toHaveLength(1);
  } finally {
    clearInterval(timer);
    child.kill();
  }
});

test("older deliveries that come into the page, as newer ones are erased, are no news", async () => {
  const published: string[] = [];
  for (let at = 0; at < 4; at++) {
    const events = Array.from({ length: 75 }, () => ({ type: "erased.it", data: {} }));
    const { data } = await call<{ data: { id: string }[] }>(service, "POST", "/v1/events/batch", { events });
    published.push(...data.map(({ id }) => id));
  }
  await using tail = new Running(person, ["tail", "events", "--json"]);
  await tail.tells("from now on");
  for (const id of published.slice(-3)) await call(service, "DELETE", `/v1/events/${id}`);
  await Bun.sleep(1500);
  await publish(service, "after.erasure");
  await tail.shows(1);
  expect(tail.parsed<Told>().flatMap(({ event }) => event?.type ?? [])).toEqual(["after.erasure"]);
});
