import { afterAll, beforeAll, expect, test } from "bun:test";
import { MAIN } from "../cli/kit.ts";
import { startReceiver } from "../kit/receiver.ts";
import { type Service, startService } from "../kit/service.ts";
import { hasTmux, Terminal } from "../kit/terminal.ts";
import { lookAgain } from "../kit/until.ts";
import type { Person } from "./kit.ts";
import { call, personAt, publish } from "./listening.ts";

let service: Service;
let person: Person;
const ids: Record<string, string> = {};

beforeAll(async () => {
  service = await startService();
  person = personAt(service);
  await using receiver = startReceiver();
  receiver.at("broken", () => new Response(null, { status: 500 }));
  const endpoint = async (name: string, more: object) => {
    const body = { url: receiver.url(name), ...more };
    ids[name] = (await call<{ id: string }>(service, "POST", "/v1/endpoints", body)).id;
  };
  await endpoint("good", {});
  await endpoint("broken", { event_types: ["order.*", "invoice.paid"], retry: { schedule: [] } });
  const source = { provider: "service", name: "tab\u202ele" };
  ids["source"] = (await call<{ id: string }>(service, "POST", "/v1/sources", source)).id;
  ids["event"] = (await publish(service, "order.paid")).id;
  await publish(service, "user.made");
  const ended = async () => {
    const { data } = await call<{ data: { status: string }[] }>(service, "GET", "/v1/deliveries");
    return data.length === 3 && data.every(({ status }) => status !== "pending");
  };
  await lookAgain(ended, () => undefined);
});
afterAll(async () => {
  person[Symbol.dispose]();
  await service.close();
});

/** The rows of a table, each by its heads; columns stand at least two spaces apart. */
async function rowsOf(...words: string[]): Promise<Record<string, string>[]> {
  const { exitCode, stdout, stderr } = await person.types(words);
  expect([exitCode, stderr]).toEqual([0, ""]);
  const [heads = [], ...rows] = stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/ {2,}/));
  return rows.map((row) => Object.fromEntries(heads.map((head, at) => [head, row[at] ?? ""])));
}

test("events stand with how many deliveries each has, newest first", async () => {
  expect(await rowsOf("events")).toMatchObject([
    { type: "user.made", deliveries: "1", consumer: "-" },
    { id: ids["event"], type: "order.paid", deliveries: "2" },
  ]);
  expect(await rowsOf("events", "--type", "order.*")).toMatchObject([{ id: ids["event"] }]);
  expect(await rowsOf("events", "--status", "dead")).toMatchObject([{ id: ids["event"] }]);
  expect(await rowsOf("events", "--consumer", "nobody")).toEqual([]);
});

test("deliveries stand with their state, and why they are dead", async () => {
  expect(await rowsOf("deliveries", "--status", "dead")).toMatchObject([
    { type: "order.paid", endpoint: ids["broken"], attempts: "1", why: "exhausted", next: "-" },
  ]);
  expect((await rowsOf("deliveries", "--event", ids["event"] ?? "")).length).toBe(2);
  expect((await rowsOf("deliveries", "--endpoint", ids["good"] ?? "")).length).toBe(2);
  expect((await rowsOf("deliveries", "--type", "user.made")).length).toBe(1);
});

test("endpoints stand with their types, where they lead, and whether they fail", async () => {
  expect(await rowsOf("endpoints")).toMatchObject([
    { id: ids["broken"], kind: "http", status: "active, failing", types: "order.*,invoice.paid" },
    { id: ids["good"], status: "active", types: "*", to: expect.stringMatching(/^http:.*\/good$/) },
  ]);
  expect(await rowsOf("endpoints", "--kind", "poll")).toEqual([]);
  expect((await rowsOf("endpoints", "--search", "/good")).length).toBe(1);
});

test("sources stand with their provider; nothing in a name steers the terminal", async () => {
  expect(await rowsOf("sources")).toMatchObject([
    { id: ids["source"], provider: "service", name: "tab?le", status: "active", accepted: "0" },
  ]);
});

test("--json prints each with all its fields, and --limit how many, over as many pages as it takes", async () => {
  const events = Array.from({ length: 300 }, (_, n) => ({ type: "many.made", data: { n } }));
  for (let from = 0; from < 300; from += 100)
    await call(service, "POST", "/v1/events/batch", { events: events.slice(from, from + 100) });
  const { stdout, stderr } = await person.types([
    "events",
    "--json",
    "--type",
    "many.made",
    "--limit",
    "299",
  ]);
  const rows = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { id: string });
  expect([rows.length, new Set(rows.map(({ id }) => id)).size]).toEqual([299, 299]);
  expect(rows[0]).toMatchObject({ type: "many.made", external_id: null });
  expect(stderr).toBe("There are more than 299: --limit says how many are shown\n");
  expect((await person.types(["events", "--type", "many.made", "--limit", "300"])).stderr).toBe("");
});

test.each<[string[], number, string]>([
  [["events", "--limit", "0"], 2, "--limit must be"],
  [["events", "--status", "done"], 2, "Allowed choices are pending, retrying"],
  [["deliveries", "--endpoint", "ep_x"], 1, "endpoint_id"],
  [["sources", "--type", "x"], 2, "unknown option '--type'"],
])("%p ends with %d", async (words, code, reason) => {
  const { exitCode, stderr } = await person.types(words);
  expect([exitCode, stderr.includes(reason) ? reason : stderr]).toEqual([code, reason]);
});

test.skipIf(!hasTmux)(
  "a state has a colour at a terminal, and the columns stand below their heads",
  async () => {
    await using terminal = await Terminal.open({ ...person.env, COLUMNS: "120" });
    await terminal.type(`clear; ${process.execPath} ${MAIN} endpoints`);
    const screen = await terminal.shows("/good");
    expect(await terminal.screen(true)).toContain("\u001b[31mactive, failing");
    const lines = screen.split("\n");
    const heads = lines[0] ?? "";
    // A line that is wider than the terminal goes on in the next one.
    const rows = lines.filter((line) => line.startsWith("ep_"));
    const at = heads.indexOf("status");
    expect(rows.map((row) => row.slice(at - 2, at + 6))).toEqual(["  active", "  active"]);
  },
);
