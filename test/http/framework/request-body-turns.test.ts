/** However many requests are complete in one turn, it judges no more of them than it has time for. */
import { describe, expect, spyOn, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Type } from "@sinclair/typebox";
import { TurnQueue } from "../../../src/core/structures/turn-queue.ts";
import { type AnyRoute, route } from "../../../src/http/framework/route.ts";
import { inboundRoutes } from "../../../src/http/ingest/inbound.ts";
import { TurnCounter } from "../../kit/turn-counter.ts";
import { lookAgain } from "../../kit/until.ts";
import { callers, owner, sendRaw, startServer, TestParts } from "../kit.ts";
import { startApi } from "../log-kit.ts";

/** Bodies that a share of a turn has time for. */
const SHARE = 5;
const CLIENTS = 60;

const shared = {
  method: "POST",
  tag: "Things",
  summary: "Judges a body",
  budget: "none",
  answers: { 200: "Judged." },
} as const;

/** A route for each way in which a body is read. */
function routesThat(judge: () => void): AnyRoute[] {
  const handle = () => {
    judge();
    return { status: 200, json: {} };
  };
  const body = Type.Object({ a: Type.Optional(Type.String()) }, { additionalProperties: false });
  return [
    route({ ...shared, path: "/v1/parsed", operationId: "parsed", access: "manage", body, handle }),
    route({ ...shared, path: "/v1/raw", operationId: "raw", access: "manage", bodyMode: "raw", handle }),
    route({ ...shared, path: "/opaque", operationId: "opaque", access: "none", bodyMode: "opaque", handle }),
    route({ ...shared, method: "GET", path: "/v1/bare", operationId: "bare", access: "read", handle }),
    route({ ...shared, method: "DELETE", path: "/v1/bare", operationId: "gone", access: "manage", handle }),
    route({ ...shared, method: "GET", path: "/opaque", operationId: "probe", access: "none", handle }),
  ];
}

function comes(about: () => boolean): Promise<unknown> {
  return lookAgain(
    async () => about(),
    () => undefined,
  );
}

const PATHS = ["/v1/parsed", "/v1/raw", "/opaque"];

function requestOf(path: string, bytes: number): string {
  const text = JSON.stringify({ a: "x".repeat(bytes) });
  return [
    `POST ${path} HTTP/1.1`,
    "Host: a",
    "Authorization: Bearer full",
    "Content-Type: application/json",
    `Content-Length: ${text.length}`,
    "",
    text,
  ].join("\r\n");
}

function bareRequest(method: string, path: string): string {
  return `${method} ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer full\r\n\r\n`;
}

async function openSocket(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.resume();
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  return socket;
}

/** Clients that hold back the last byte of their requests, and send it together. */
async function completeTogether(port: number, text: string, counter: TurnCounter): Promise<void> {
  const sockets = await Promise.all(Array.from({ length: CLIENTS }, () => openSocket(port)));
  await Promise.all(
    sockets.map((socket) => new Promise((resolve) => socket.write(text.slice(0, -1), resolve))),
  );
  for (let turn = 0; turn < 50; turn++) await nextTurn();
  for (const socket of sockets) socket.write(text.slice(-1));
  await comes(() => counter.all === CLIENTS);
  for (const socket of sockets) socket.destroy();
}

/** Many such requests, complete at one instant, are no more work in a turn than it has time for. */
async function expectByAndBy(text: Parameters<typeof completeTogether>[1]): Promise<void> {
  const counter = new TurnCounter(SHARE);
  const parts = new TestParts();
  parts.turns = counter.turns;
  parts.beginArrivals = () => counter.turns;
  await using server = startServer(
    routesThat(() => counter.work()),
    parts,
  );
  await completeTogether(server.port, text, counter);
  expect(counter.most).toBeLessThanOrEqual(SHARE);
}

describe.each([
  ["of ten bytes", 10],
  ["of 60,000 bytes", 60_000],
])("bodies %s", (_size, bytes) => {
  test.each(PATHS)("that are complete at one instant are judged by and by: %s", (path) =>
    expectByAndBy(requestOf(path, bytes)),
  );
});

test.each([
  ["GET", "/v1/bare"],
  ["HEAD", "/v1/bare"],
  ["DELETE", "/v1/bare"],
  ["GET", "/opaque"],
  ["POST", "/opaque"],
  ["POST", "/v1/raw"],
])("requests without a body are judged by and by: %s %s", (method, path) =>
  expectByAndBy(bareRequest(method, path)),
);

test.each([
  ["with a body", requestOf("/ingest/anything", 1000)],
  ["with a GET", bareRequest("GET", "/ingest/anything")],
  ["with an OPTIONS", bareRequest("OPTIONS", "/ingest/anything")],
])("strangers at the door are judged by and by too, %s", async (_how, text) => {
  await using api = await startApi();
  const counter = new TurnCounter(SHARE);
  const parts = new TestParts();
  parts.turns = counter.turns;
  parts.beginArrivals = () => counter.turns;
  const services = { ...api.services, onRejected: () => counter.work() };
  await using server = startServer(inboundRoutes(services), parts);
  await completeTogether(server.port, text, counter);
  // What was resumed is judged some microtasks later, beside the next ones.
  expect(counter.most).toBeLessThanOrEqual(2 * SHARE);
});

describe("in a turn that is over", () => {
  /** A server whose turns are over until `release`, and what it judged. */
  function startBusy() {
    const parts = new TestParts();
    const held: (() => void)[] = [];
    parts.turns = new TurnQueue({
      schedule: (next) => held.push(next),
      beginShare: () => ({ isOver: true }),
    });
    parts.beginArrivals = () => ({ isOver: true });
    const seen = { judged: 0 };
    const server = startServer(
      routesThat(() => seen.judged++),
      parts,
    );
    const release = () => {
      for (const next of held.splice(0)) next();
    };
    const asked = spyOn(parts.turns, "of");
    const isWaiting = () => asked.mock.calls.length > 0;
    const stop = () => server.stop(0);
    return { server, seen, asked, isWaiting, release, [Symbol.asyncDispose]: stop };
  }

  test("a request without a body waits too", async () => {
    await using busy = startBusy();
    const answer = busy.server.send("GET", "/v1/bare");
    await comes(busy.isWaiting);
    expect(busy.seen.judged).toBe(0);
    busy.release();
    expect((await answer).status).toBe(200);
  });

  test("a body of no bytes, whose end may be held back, waits", async () => {
    await using busy = startBusy();
    const chunked =
      "POST /opaque HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    const answer = sendRaw(busy.server.port, chunked, "0\r\n\r\n");
    await comes(busy.isWaiting);
    expect(busy.seen.judged).toBe(0);
    busy.release();
    expect(await answer).toStartWith("HTTP/1.1 200 ");
  });

  test("a caller waits in the line of its account, strangers in one that they share", async () => {
    await using busy = startBusy();
    const replies = PATHS.map((path) => busy.server.send("POST", path, { json: { a: "x" } }));
    await comes(() => busy.asked.mock.calls.length === PATHS.length);
    expect(busy.seen.judged).toBe(0);
    while (busy.seen.judged < PATHS.length) {
      busy.release();
      await nextTurn();
    }
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 200, 200]);
    const lines = busy.asked.mock.calls.map(([account, , member]) => `${account} ${member ?? ""}`);
    expect(new Set(lines)).toEqual(new Set(["account:3 key:1", "opaque "]));
  });

  test("the body of a client that leaves is not judged", async () => {
    await using busy = startBusy();
    const socket = await openSocket(busy.server.port);
    socket.write(requestOf("/v1/parsed", 10));
    await comes(busy.isWaiting);
    socket.destroy();
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    await comes(() => {
      busy.release();
      return busy.server.parts.lines.length > 0;
    });
    expect([busy.server.parts.lines[0]?.status, busy.seen.judged]).toEqual([499, 0]);
  });

  test.each([
    ["POST", "/v1/raw", { json: {} }],
    ["GET", "/v1/bare", {}],
  ])("a key that is revoked meanwhile is refused: %s %s", async (method, path, body) => {
    await using busy = startBusy();
    callers["revoked"] = owner;
    const reply = busy.server.send(method, path, { token: "revoked", ...body });
    await comes(busy.isWaiting);
    delete callers["revoked"];
    busy.release();
    expect([(await reply).status, busy.seen.judged]).toEqual([401, 0]);
  });
});

test("in a turn that is not over a request waits for nothing", async () => {
  const parts = new TestParts();
  parts.turns = new TurnQueue({ schedule: setImmediate, beginShare: () => ({ isOver: false }) });
  parts.beginArrivals = () => ({ isOver: false });
  await using server = startServer(
    routesThat(() => {}),
    parts,
  );
  const asked = spyOn(parts.turns, "of");
  for (const path of PATHS) expect((await server.send("POST", path, { json: { a: "x" } })).status).toBe(200);
  expect((await server.send("GET", "/v1/bare")).status).toBe(200);
  expect(asked).not.toHaveBeenCalled();
});
