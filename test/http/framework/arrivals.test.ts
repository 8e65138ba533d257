/** How many requests begin in one turn of the loop, by themselves and over real sockets. */
import { expect, test } from "bun:test";
import { limit } from "../../../src/core/limits.ts";
import { Arrivals } from "../../../src/http/framework/arrivals.ts";
import { type AnyRoute, route } from "../../../src/http/framework/route.ts";
import { beginArrivals } from "../../../src/platform/turns.ts";
import { sendRaw, startServer } from "../kit.ts";

const MAX = limit("requestsPerTurnMax");

test("in a turn so many begin at once, the others in the next one, for one call of the loop a turn", async () => {
  const scheduled: (() => void)[] = [];
  const arrivals = new Arrivals(beginArrivals, (next) => scheduled.push(next));
  const first = Array.from({ length: MAX }, () => arrivals.begin(0));
  expect(new Set(first)).toEqual(new Set([null]));
  let begun = 0;
  const late = [arrivals.begin(0), arrivals.begin(0)].map((turn) => turn?.then(() => begun++));
  await Promise.resolve();
  expect([begun, scheduled.length]).toEqual([0, 1]);

  scheduled.pop()?.();
  await Promise.all(late);
  expect([begun, late.length, arrivals.begin(0), scheduled.length]).toEqual([2, 2, null, 1]);
});

test("time that is used up is that of its turn alone", () => {
  const scheduled: (() => void)[] = [];
  let begun = 0;
  const beginShare = () => ({ isOver: ++begun === 1 });
  const arrivals = new Arrivals(beginShare, (next) => scheduled.push(next));
  const seen = [arrivals.isOver];
  for (let turn = 0; turn < 2; turn++) {
    void arrivals.begin(0);
    void arrivals.begin(0);
    seen.push(arrivals.isOver);
    scheduled.pop()?.();
    seen.push(arrivals.isOver);
  }
  expect([seen, begun]).toEqual([[false, true, false, false, false], 2]);
});

test("however many wait, so many begin in each turn, in their order", async () => {
  const scheduled: (() => void)[] = [];
  const arrivals = new Arrivals(beginArrivals, (next) => scheduled.push(next));
  const begun: number[] = [];
  for (let nth = 0; nth < 3 * MAX + 1; nth++) void arrivals.begin(0)?.then(() => begun.push(nth));
  const seen: number[] = [];
  while (scheduled.length > 0) {
    scheduled.pop()?.();
    // One that comes when others wait begins after them.
    if (seen.length === 0) void arrivals.begin(0)?.then(() => begun.push(3 * MAX + 1));
    await new Promise(setImmediate);
    seen.push(begun.length);
  }
  expect(seen).toEqual([MAX, 2 * MAX, 2 * MAX + 2, 2 * MAX + 2]);
  expect(begun).toEqual(begun.toSorted((a, b) => a - b));
});

test("a long address counts once more for each KiB, at once and among those that wait", async () => {
  const scheduled: (() => void)[] = [];
  const arrivals = new Arrivals(beginArrivals, (next) => scheduled.push(next));
  const long = 9 * 1024;
  let begun = 0;
  for (let nth = 0; nth < MAX; nth++) {
    const turn = arrivals.begin(long);
    if (turn === null) begun++;
    else void turn.then(() => begun++);
  }
  const seen = [begun];
  for (let turns = 0; turns < 2; turns++) {
    scheduled.pop()?.();
    await new Promise(setImmediate);
    seen.push(begun);
  }
  expect(seen).toEqual([MAX / 10, (2 * MAX) / 10, (3 * MAX) / 10]);
});

/** Counts the requests that begin between two turns of the loop: the most of any turn; and all. */
function counting() {
  const seen = { all: 0, most: 0, thisTurn: 0 };
  const entry: AnyRoute = route({
    method: "GET",
    path: "/counted",
    operationId: "counted",
    tag: "Things",
    access: "none",
    budget: "none",
    summary: "Counted",
    answers: { 200: "Done." },
    handle: () => {
      if (seen.thisTurn++ === 0) setImmediate(() => (seen.thisTurn = 0));
      seen.all++;
      seen.most = Math.max(seen.most, seen.thisTurn);
      return { status: 200, json: {} };
    },
  });
  return { seen, entry };
}

const ONE = "GET /counted HTTP/1.1\r\nHost: a\r\n\r\n";

test("a pipeline of very many requests is not answered in one turn, and its connection is closed", async () => {
  const { seen, entry } = counting();
  await using server = startServer([entry]);
  await sendRaw(server.port, ONE.repeat(20_000)).catch(() => "reset");
  // Bun ends with the one that waits, as another stands behind it.
  expect(seen.most).toBeLessThanOrEqual(MAX + 1);
  expect(seen.all).toBeLessThanOrEqual(MAX + 1);
  expect((await server.send("GET", "/counted")).status).toBe(200);
});

test("a pipeline of as many as a turn takes is answered whole", async () => {
  const { seen, entry } = counting();
  await using server = startServer([entry]);
  const last = ONE.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
  const answers = await sendRaw(server.port, ONE.repeat(MAX - 1) + last);
  expect(answers.split("HTTP/1.1 200 OK").length - 1).toBe(MAX);
  expect(seen.all).toBe(MAX);
});

test("connections that send one request at a time are all answered, a body too", async () => {
  // As large as they are, they are few enough for the room of all bodies.
  const text = "x".repeat(200_000);
  await using server = startServer([
    route({
      method: "POST",
      path: "/echo",
      operationId: "echo",
      tag: "Things",
      access: "none",
      budget: "none",
      summary: "Echo",
      bodyMode: "opaque",
      answers: { 200: "Done." },
      handle: ({ bytes }) => ({ status: 200, json: { length: bytes.length } }),
    }),
  ]);
  const sizes = Array.from({ length: 2 * MAX }, (_, at) => (at % 10 === 0 ? text.length : 10));
  const replies = await Promise.all(
    sizes.map((size) => server.send("POST", "/echo", { body: text.slice(0, size) })),
  );
  expect(replies.map(({ json }) => json["length"])).toEqual(sizes);
});
