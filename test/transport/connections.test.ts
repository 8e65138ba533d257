import { afterEach, describe, expect, test } from "bun:test";
import { answering, closeAll, hostile, open, short, until } from "./kit.ts";

afterEach(closeAll);

describe("the pool", () => {
  test("keeps hosts apart, also on one address", async () => {
    const receiver = await hostile();
    const { send, transport } = open();
    for (const host of ["a.test", "b.test", "a.test", "b.test"]) await send(receiver.url("/ok", host));
    expect(transport.stats()).toEqual({ open: 2, idle: 2, connects: 2, reused: 2 });
    const hosts = receiver.requests.map((request) => request.lines[1]);
    expect(hosts).toEqual(["a", "b", "a", "b"].map((name) => `host: ${name}.test:${receiver.port}`));
  });

  test("keeps owners apart: what a receiver says too much, and late, answers nobody else's request", async () => {
    let sayMore = () => {};
    const receiver = await answering((socket, { path }) => {
      if (path === "/surplus") {
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
        sayMore = () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged");
        return;
      }
      // The second request is under way: on the same connection the surplus comes before its answer.
      sayMore();
      socket.write("HTTP/1.1 500 No\r\ncontent-length: 2\r\n\r\nno");
    });
    const { send, transport } = open();
    expect(short(await send(receiver.url("/surplus"), { owner: "1 acme" }))).toBe("200 ok");
    expect(short(await send(receiver.url("/victim"), { owner: "1 zeta" }))).toBe("500 no");
    expect(transport.stats()).toMatchObject({ connects: 2, reused: 0 });
  });

  test("closes what has been idle too long by itself", async () => {
    const receiver = await hostile();
    const { send } = open(["127.0.0.1"], { idleMaxMs: 20 });
    await Promise.all([send(receiver.url("/ok", "a.test")), send(receiver.url("/ok", "b.test"))]);
    await receiver.whenNoneOpen();
    expect(receiver.counts().opened).toBe(2);
  });

  test("comes back for what was not idle long enough the first time", async () => {
    const receiver = await hostile();
    let nowMs = 0;
    const { send, transport } = open(["127.0.0.1"], { idleMaxMs: 20, monotonic: () => nowMs });
    await send(receiver.url("/ok", "a.test"));
    nowMs = 15;
    await send(receiver.url("/ok", "b.test"));
    nowMs = 25;
    await until(() => transport.stats().open === 1);
    nowMs = 35;
    await until(() => transport.stats().open === 0);
  });

  test("takes the connection that was used last", async () => {
    const sockets: unknown[] = [];
    const waiting: (() => void)[] = [];
    const receiver = await answering((socket, { path }) => {
      sockets.push(socket);
      const respond = () => socket.write("HTTP/1.1 204 No Content\r\n\r\n");
      if (path === "/wait") waiting.push(respond);
      else respond();
    });
    const { send } = open();
    const results = [send(receiver.url("/wait")), send(receiver.url("/wait"))];
    await receiver.whenRequested(2);
    for (const respond of waiting) {
      respond();
      await Promise.race(results);
    }
    await Promise.all(results);
    await send(receiver.url("/now"));
    await send(receiver.url("/now"));
    expect(sockets.slice(2)).toEqual([sockets[1], sockets[1]]);
  });

  test.each([
    ["was idle too long", { idleMaxMs: 1_000, ageMaxMs: 60_000 }],
    ["is too old", { idleMaxMs: 60_000, ageMaxMs: 1_000 }],
  ])("does not hand out a connection that %s", async (_why, limits) => {
    const receiver = await hostile();
    let nowMs = 0;
    const { send, transport } = open(["127.0.0.1"], { ...limits, monotonic: () => nowMs });
    await send(receiver.url("/ok"));
    nowMs = 999;
    await send(receiver.url("/ok"));
    expect(transport.stats()).toMatchObject({ connects: 1, reused: 1 });
    nowMs = 2_000;
    await send(receiver.url("/ok"));
    expect(transport.stats()).toMatchObject({ connects: 2, open: 1 });
  });

  test("does not take back a connection that grew too old under way", async () => {
    let nowMs = 0;
    const receiver = await answering((socket) => {
      nowMs = 1_000;
      socket.write("HTTP/1.1 204 No Content\r\n\r\n");
    });
    const { send, transport } = open(["127.0.0.1"], { ageMaxMs: 1_000, monotonic: () => nowMs });
    expect(short(await send(receiver.url("/")))).toBe("204 ");
    expect(transport.stats().open).toBe(0);
  });

  test("closes the one idle longest when there are too many", async () => {
    const receiver = await hostile();
    const { send, transport } = open(["127.0.0.1"], { idleMax: 2 });
    for (const host of ["a.test", "b.test", "a.test", "c.test"]) await send(receiver.url("/ok", host));
    expect(transport.stats()).toEqual({ open: 2, idle: 2, connects: 3, reused: 1 });
    await send(receiver.url("/ok", "a.test"));
    expect(transport.stats()).toMatchObject({ connects: 3, reused: 2 });
    await send(receiver.url("/ok", "b.test"));
    expect(transport.stats()).toMatchObject({ connects: 4, reused: 2 });
  });

  test("closes an idle one for each new one where many are open", async () => {
    const receiver = await hostile();
    const { send, transport } = open(["127.0.0.1"], { openMax: 2 });
    for (const host of ["a.test", "b.test", "c.test", "d.test"]) await send(receiver.url("/ok", host));
    expect(transport.stats()).toEqual({ open: 2, idle: 2, connects: 4, reused: 0 });
    await send(receiver.url("/ok", "d.test"));
    expect(transport.stats()).toMatchObject({ connects: 4, reused: 1 });
    const hosts = ["e.test", "f.test", "g.test"];
    await Promise.all(hosts.map((host) => send(receiver.url("/ok", host))));
    expect(transport.stats().connects).toBe(7);
  });

  test("counts a connection as young again once it was used, wherever it stood in the row", async () => {
    const receiver = await hostile();
    const { send, transport } = open(["127.0.0.1"], { idleMax: 3 });
    const use = async (...hosts: string[]) => {
      for (const host of hosts) await send(receiver.url("/ok", host));
      return transport.stats().connects;
    };
    expect(await use("a.test", "b.test", "c.test", "b.test")).toBe(3);
    expect(await use("d.test", "e.test")).toBe(5);
    expect(await use("b.test", "d.test", "e.test")).toBe(5);
    expect(await use("a.test", "c.test")).toBe(7);
  });

  test("forgets a connection that the receiver closes while it is idle", async () => {
    const receiver = await answering((socket) => {
      socket.write("HTTP/1.1 204 No Content\r\n\r\n", () => socket.end());
    });
    const { send, transport } = open();
    await send(receiver.url("/"));
    await until(() => transport.stats().open === 0);
    expect(transport.stats().idle).toBe(0);
  });
});
