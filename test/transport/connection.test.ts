import { afterEach, expect, test } from "bun:test";
import { createServer, type Server, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Connection } from "../../src/transport/connection.ts";
import { TlsSessions } from "../../src/transport/tls-sessions.ts";
import { openBlackHole } from "../kit/black-hole.ts";
import { until } from "./kit.ts";

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A receiver that reads nothing until it is told to. */
async function unreading(): Promise<{ port: number; read(): void; received: Buffer[] }> {
  const received: Buffer[] = [];
  const sockets: Socket[] = [];
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    socket.on("data", (bytes) => received.push(bytes));
    socket.pause();
    sockets.push(socket);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a server has no port");
  return { port: address.port, received, read: () => sockets.forEach((socket) => void socket.resume()) };
}

test("what the receiver does not take yet is kept, whatever becomes of the memory that it stood in", async () => {
  const receiver = await unreading();
  let isReady = false;
  const owner = { onReady: () => void (isReady = true), onBytes() {}, onClosed() {} };
  const target = { key: "", address: "127.0.0.1", port: receiver.port, tlsName: null, tlsCa: undefined };
  const connection = new Connection(target, owner, 0, { sessions: new TlsSessions(0), onGone() {} });
  connection.open();
  await until(() => isReady);
  const memory = Buffer.alloc(50_000);
  let written = 0;
  while (!connection.hasUnsent) connection.write(memory.fill(written++ % 256));
  memory.fill(255);
  receiver.read();
  const all = written * memory.length;
  await until(() => receiver.received.reduce((sum, { length }) => sum + length, 0) === all);
  const bytes = Buffer.concat(receiver.received);
  for (let at = 0; at < written; at++) {
    const part = bytes.subarray(at * memory.length, (at + 1) * memory.length);
    expect(part.every((byte) => byte === at % 256)).toBe(true);
  }
  expect<boolean>(connection.hasUnsent).toBe(false);
  connection.destroy();
}, 20_000);

test("a socket given up while it connects is gone only once the kernel lets go of it", async () => {
  await using hole = await openBlackHole();
  let gone = 0;
  const owner = { onReady() {}, onBytes() {}, onClosed() {} };
  const target = { key: "", address: "127.0.0.1", port: hole.port, tlsName: null, tlsCa: undefined };
  const connection = new Connection(target, owner, 0, {
    sessions: new TlsSessions(0),
    onGone: () => void gone++,
  });
  connection.open();
  const whenGone = connection.gone;
  connection.destroy();
  expect(await Promise.race([whenGone, nextTurn("held")])).toBe("held");
  expect(gone).toBe(0);
  await hole.close();
  await whenGone;
  expect(gone).toBeGreaterThan(0);
}, 20_000);
