import { expect, test } from "bun:test";
import type { Socket } from "bun";
import { join } from "node:path";
import { startPeer } from "./children.ts";
import type { GeneratorReport, GeneratorSettings } from "./generator.ts";
import { createFramer } from "./wire.ts";

const ACCEPTED = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";

interface Publisher {
  read: (chunk: Buffer) => void;
}

test("a server may close the generator's connections as soon as a run is over", async () => {
  const open = new Set<Socket<Publisher>>();
  using server = Bun.listen<Publisher>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        open.add(socket);
        socket.data = { read: createFramer(() => socket.write(ACCEPTED)) };
      },
      data: (socket, chunk) => socket.data.read(chunk),
      close: (socket) => void open.delete(socket),
    },
  });
  const settings: GeneratorSettings = {
    port: server.port,
    apiKeys: ["sp_live_none"],
    connections: 4,
    types: 1,
    bodyBytes: 1024,
    perSecond: 0,
  };
  const { peer } = await startPeer("generator.ts", settings);
  for (let run = 0; run < 2; run++) {
    const { accepted, refused } = await peer.ask<GeneratorReport>({
      runMs: 20,
    });
    expect(accepted).toBeGreaterThan(0);
    expect(refused).toEqual({});
    for (const socket of open) socket.terminate();
  }
  expect(await peer.stop()).not.toBe(1);
});

test("each connection publishes with one key, and the keys share the connections", async () => {
  const seen: Set<string>[] = [];
  using server = Bun.listen<Publisher>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        const keys = new Set<string>();
        seen.push(keys);
        const read = createFramer((request) => {
          keys.add(/Bearer (\w+)/.exec(request.toString("latin1"))?.[1] ?? "none");
          socket.write(ACCEPTED);
        });
        socket.data = { read };
      },
      data: (socket, chunk) => socket.data.read(chunk),
    },
  });
  const settings: GeneratorSettings = {
    port: server.port,
    apiKeys: ["sp_live_a", "sp_live_b"],
    connections: 4,
    types: 1,
    bodyBytes: 1024,
    perSecond: 0,
  };
  const { peer } = await startPeer("generator.ts", settings);
  await peer.ask<GeneratorReport>({ runMs: 20 });
  await peer.stop();
  const used = seen.map((keys) => [...keys].join(" "));
  expect(used.toSorted()).toEqual(["sp_live_a", "sp_live_a", "sp_live_b", "sp_live_b"]);
});

test("a bench ends and names the process of it that ended unasked", () => {
  const children = JSON.stringify(join(import.meta.dir, "children.ts"));
  const bench = `const { startPeer } = await import(${children});
    await startPeer("generator.ts", { apiKeys: [] }).then(({ peer }) => process.kill(peer.pid, "SIGKILL"));
    setTimeout(() => {}, 60_000);`;
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, "-e", bench], {
    stderr: "pipe",
  });
  expect(exitCode).toBe(1);
  expect(stderr.toString()).toContain("generator.ts ended with exit code 137");
}, 20_000);

test("types that are not counted are published, and are not in the report", async () => {
  let answered = 0;
  using server = Bun.listen<Publisher>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        const read = createFramer(() => {
          answered++;
          socket.write(ACCEPTED);
        });
        socket.data = { read };
      },
      data: (socket, chunk) => socket.data.read(chunk),
    },
  });
  const settings: GeneratorSettings = {
    port: server.port,
    apiKeys: ["sp_live_none"],
    connections: 1,
    types: 4,
    uncounted: 1,
    bodyBytes: 1024,
    perSecond: 0,
  };
  const { peer } = await startPeer("generator.ts", settings);
  const { accepted } = await peer.ask<GeneratorReport>({ runMs: 20 });
  await peer.stop();
  expect(answered - accepted).toBeGreaterThan(0);
  expect(accepted).toBeWithin(Math.floor(answered * 0.75) - 1, Math.ceil(answered * 0.75) + 2);
});
