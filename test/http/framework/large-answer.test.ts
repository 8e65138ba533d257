/** What large answers cost whoever does not read them, over sockets. */
import { afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { Problem } from "../../../src/core/errors.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import type { Bytes } from "../../../src/http/framework/request-body.ts";
import { ANSWERS, BodiesInFlight } from "../../../src/http/framework/bodies-in-flight.ts";
import { AnswerRoom } from "../../../src/http/framework/large-answer.ts";
import { route } from "../../../src/http/framework/route.ts";
import { callers, owner, startServer, type TestServer } from "../kit.ts";

const MIB = 1024 * 1024;
/** More than what lies between the service and a reader that takes nothing. */
const LARGE = 16 * MIB;

const large = { tag: "Things", summary: "Test", budget: "none", answers: { 200: "Large." } } as const;
let prepared = 0;
const answer = () => {
  prepared++;
  return { status: 200, body: "é".repeat(LARGE / 2), headers: { "content-type": "application/json" } };
};
const routes = [
  route({ ...large, method: "GET", path: "/v1/large", operationId: "l", access: "read", handle: answer }),
  route({ ...large, method: "POST", path: "/v1/large", operationId: "c", access: "manage", handle: answer }),
  route({
    ...large,
    method: "GET",
    path: "/v1/small",
    operationId: "s",
    access: "read",
    waitMaxSeconds: 30,
    handle: () => ({ status: 200, json: { a: 1 } }),
  }),
];

const names = ["answersInFlightBytesMax", "accountAnswersBytesMax", "answerSendMs"] as const;
const usual = names.map((name) => LIMITS[name].value);
const setLimits = (values: readonly number[]) =>
  names.forEach((name, at) => ((LIMITS[name] as { value: number }).value = values[at] ?? 0));

let server: TestServer;
let sockets: Socket[];
beforeEach(() => {
  setLimits([5 * LARGE, 3 * LARGE, 60_000]);
  callers["stranger"] = { ...owner, id: 66, accountId: 66 };
  prepared = 0;
  sockets = [];
  server = startServer(routes);
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await server.stop(0);
  setLimits(usual);
});

/** Asks, and takes no more than the first piece: resolves with its status. */
function ask(token: string, method = "GET") {
  const { promise: status, resolve } = Promise.withResolvers<string>();
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const socket = connect(server.port, "127.0.0.1");
  sockets.push(socket);
  const head = `${method} /v1/large HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n`;
  socket.write(
    `${head}${method === "GET" ? "" : "Content-Type: application/json\r\nContent-Length: 2\r\n"}\r\n`,
  );
  if (method !== "GET") socket.write("{}");
  socket.once("data", (data) => {
    socket.pause();
    resolve(data.toString("latin1").slice(9, 12));
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    resolve("cut");
    close();
  });
  return { socket, status, closed };
}

test("a large answer comes whole, and a HEAD of it tells its length", async () => {
  const reply = await server.send("GET", "/v1/large", { token: "read" });
  expect([reply.status, reply.text === "é".repeat(LARGE / 2)]).toEqual([200, true]);
  expect(reply.headers.get("content-type")).toBe("application/json");
  const head = await server.send("HEAD", "/v1/large", { token: "read" });
  expect(head.headers.get("content-length")).toBe(String(LARGE));
});

test("a HEAD has room, or is refused, as the GET is, and gives its room back at once", async () => {
  for (let n = 0; n < 4; n++)
    expect((await server.send("HEAD", "/v1/large", { token: "read" })).status).toBe(200);
  setLimits([LARGE / 2, LARGE / 2, 60_000]);
  for (const method of ["GET", "HEAD"])
    expect((await server.send(method, "/v1/large", { token: "read" })).status).toBe(503);
});

test("answers that nobody reads are refused above the share of an account, before they are made; others have theirs", async () => {
  const statuses: string[] = [];
  for (let n = 0; n < 6; n++) statuses.push(await ask("read").status);
  expect(statuses).toEqual(["200", "200", "200", "503", "503", "503"]);
  expect(prepared).toBe(3);
  const reply = await server.send("GET", "/v1/large", { token: "read" });
  expect([reply.status, reply.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await ask("stranger").status).toBe("200");
});

test("another key of the account gets its answer, for which the newest of whoever has the most is cut", async () => {
  const hoard = [ask("read"), ask("read"), ask("read")];
  for (const { status } of hoard) await status;
  expect(await ask("otherKey").status).toBe("200");
  hoard[2]?.socket.resume();
  await hoard[2]?.closed;
  expect(prepared).toBe(4);
});

test("what a change answers is sent, whatever the caller has not read", async () => {
  for (let n = 0; n < 3; n++) await ask("full").status;
  expect(await ask("full", "POST").status).toBe("200");
  expect(await ask("full").status).toBe("503");
});

test("an answer that its reader left, or that is read, gives its room back", async () => {
  const hoard = [ask("read"), ask("read"), ask("read")];
  for (const { status } of hoard) await status;
  hoard[0]?.socket.destroy();
  let again = "503";
  while (again === "503") again = await ask("read").status;
  expect(again).toBe("200");
  hoard[1]?.socket.resume();
  for (again = "503"; again === "503"; ) again = await ask("read").status;
  expect(again).toBe("200");
});

test("an answer has its time as a whole: one who takes a piece now and then is cut", async () => {
  setLimits([5 * LARGE, 3 * LARGE, 300]);
  const { socket, status, closed } = ask("read");
  expect(await status).toBe("200");
  let taken = 0;
  socket.on("data", (piece) => {
    taken += piece.length;
    socket.pause();
    setTimeout(() => socket.resume(), 50);
  });
  socket.resume();
  await expect(
    server.send("GET", "/v1/large", { token: "read" }).then(({ text }) => text.length),
  ).resolves.toBe(LARGE / 2);
  let again = "";
  setLimits([LARGE, LARGE, 300]);
  while (again !== "200") again = await ask("otherKey").status;
  await closed;
  expect(taken).toBeWithin(1, LARGE);
});

test("the time that a route may wait is over once it answers", async () => {
  const serve = spyOn(Bun, "serve");
  const other = startServer(routes);
  const bun = serve.mock.results[0]?.value as Bun.Server<undefined>;
  serve.mockRestore();
  const timeout = spyOn(bun, "timeout");
  await other.send("GET", "/v1/small", { token: "read" });
  expect(timeout.mock.calls.map(([, seconds]) => seconds)).toEqual([40, 10]);
  await other.send("GET", "/v1/large", { token: "read" });
  expect(timeout.mock.calls.map(([, seconds]) => seconds)).toEqual([40, 10, 0, 10]);
  await other.stop(0);
});

test("an answer to a change goes neither for its own sake nor for that of one of its size alone", () => {
  setLimits([1000, 500]);
  const all = new BodiesInFlight(ANSWERS);
  const first = all.begin("account:1", "a");
  let refused: Problem | null = null;
  first.whenRefused((problem) => (refused = problem));
  first.take(400);
  const change = all.begin("account:1", "b", true);
  change.whenRefused(() => {});
  change.take(300);
  expect(refused).toBeInstanceOf(Problem);
  change.take(300);
  expect(all.bytes).toBe(600);
});

/** An answer of such pieces, each made once it is asked for, and the room of all. */
function streamed(next: () => Promise<Bytes | null>) {
  const all = new BodiesInFlight(ANSWERS);
  const patience = { ms: 60_000, of: "each piece" } as const;
  const room = new AnswerRoom(() => all.begin("account:1"));
  const body = room.stream({ patience, next, end: () => {} }, () => {});
  return { all, reader: body.getReader() };
}

test("an answer in pieces takes the room of the two that it holds, until its end", async () => {
  const sizes = [100_000, 300_000, 200_000, 50_000];
  const { all, reader } = streamed(async () =>
    sizes.length > 0 ? new Uint8Array(sizes.shift() ?? 0) : null,
  );
  const seen: number[] = [];
  while (!(await reader.read()).done) {
    await Bun.sleep(1);
    seen.push(all.bytes);
  }
  expect(seen).toEqual([400_000, 500_000, 500_000, 0]);
});

test("an answer in pieces whose reader leaves while one is made takes no room for it", async () => {
  const { promise, resolve } = Promise.withResolvers<Bytes>();
  const { all, reader } = streamed(() => promise);
  await reader.cancel();
  resolve(new Uint8Array(100_000));
  await Bun.sleep(1);
  expect(all.bytes).toBe(0);
});

test("an answer in pieces for which there is no room is cut", async () => {
  setLimits([100_000, 100_000]);
  const { all, reader } = streamed(async () => new Uint8Array(60_000));
  await reader.read();
  await expect(reader.read().then(() => reader.read())).rejects.toThrow("not read yet");
  expect(all.bytes).toBe(0);
});
