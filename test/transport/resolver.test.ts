import { afterEach, describe, expect, test } from "bun:test";
import { createSocket } from "node:dgram";
import { getServers, setServers } from "node:dns";
import { once } from "node:events";
import { LIMITS } from "../../src/core/limits.ts";
import { createSystemResolver, nameServersOf, systemResolver } from "../../src/transport/resolver.ts";
import { type Answers, NameServer } from "../lab/names.ts";

const HERE = "127.0.0.1";
const KEPT_SECONDS = 200;
const everyMs = LIMITS.nameServersReadEveryMs.value;

const usual = getServers();
const closing: { close(): void }[] = [];

afterEach(() => {
  setServers(usual);
  for (const server of closing.splice(0)) server.close();
});

async function serve(answers: Answers, six: string[] = []) {
  const server = new NameServer(answers, KEPT_SECONDS, six);
  closing.push(server);
  return { asked: server.asked, at: `${HERE}:${await server.listen(HERE, 0)}` };
}

/** A resolver whose name servers and time the test sets. */
function start(...servers: string[]) {
  const now = { ms: 0, servers };
  const resolver = createSystemResolver({ readServers: () => now.servers, monotonic: () => now.ms });
  return { now, ask: (host: string) => resolver.resolve(host).catch((error: unknown) => codeOf(error)) };
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "?";
}

/** A name server that says nothing. */
async function serveSilence() {
  const socket = createSocket("udp4");
  closing.push(socket);
  await new Promise<void>((resolve) => socket.bind(0, HERE, () => resolve()));
  return { isAsked: once(socket, "message"), at: `${HERE}:${socket.address().port}` };
}

describe("a name server", () => {
  test("is asked again, and soon, for a name that had no record, and for no other", async () => {
    const { asked, at } = await serve((name, nth) => {
      if (name === "late.test") return nth === 1 ? [] : ["8.8.8.8"];
      return name === "good.test" ? ["8.8.4.4"] : [];
    });
    const { now, ask } = start(at);
    expect(await ask("good.test")).toEqual(["8.8.4.4"]);
    now.ms += everyMs;
    expect(await ask("good.test")).toEqual(["8.8.4.4"]);
    expect(asked.get("good.test")).toBe(1);
    expect(await ask("late.test")).toBe("DNS_ENOTFOUND");
    now.ms += everyMs - 1;
    expect(await ask("late.test")).toBe("DNS_ENOTFOUND");
    expect(asked.get("late.test")).toBe(1);
    now.ms += 1;
    expect(await ask("late.test")).toEqual(["8.8.8.8"]);
    expect(await ask("late.test")).toEqual(["8.8.8.8"]);
    expect(asked.get("late.test")).toBe(2);
  });

  test("is asked again for a name that had an IPv6 address only", async () => {
    const { at } = await serve((_, nth) => (nth === 1 ? [] : ["8.8.8.8"]), ["half.test"]);
    const { now, ask } = start(at);
    expect(await ask("half.test")).toEqual(["::1"]);
    now.ms += everyMs;
    const found = await ask("half.test");
    expect([...found].toSorted()).toEqual(["8.8.8.8", "::1"]);
  });

  test("is left for one that is named later, where no name is known to be there", async () => {
    const old = await serve(() => ["8.8.8.8"]);
    const next = await serve(() => ["8.8.4.4"]);
    const { now, ask } = start(old.at);
    expect(await ask("moved.test")).toEqual(["8.8.8.8"]);
    now.servers = [next.at];
    expect(await ask("moved.test")).toEqual(["8.8.8.8"]);
    now.ms += everyMs;
    expect(await ask("moved.test")).toEqual(["8.8.4.4"]);
  });

  test("that is silent is left with the questions that it has", async () => {
    const silent = await serveSilence();
    const good = await serve(() => ["8.8.8.8"]);
    const { now, ask } = start(silent.at);
    const waiting = ask("waiting.test");
    await silent.isAsked;
    now.servers = [good.at];
    now.ms += everyMs;
    expect(await ask("other.test")).toEqual(["8.8.8.8"]);
    expect(await waiting).toEqual(["8.8.8.8"]);
  });

  test("stays where none is named any more, and is asked again all the same", async () => {
    const { at } = await serve((_, nth) => (nth === 1 ? [] : ["8.8.8.8"]));
    const { now, ask } = start(at);
    expect(await ask("late.test")).toBe("DNS_ENOTFOUND");
    now.servers = [];
    now.ms += everyMs;
    expect(await ask("late.test")).toEqual(["8.8.8.8"]);
  });
});

test("/etc/hosts is asked first", async () => {
  const { asked, at } = await serve(() => ["8.8.8.8"]);
  const { ask } = start(at);
  expect(await ask("localhost")).toContain("127.0.0.1");
  expect(asked.size).toBe(0);
  expect(await systemResolver.resolve("localhost")).toContain("127.0.0.1");
});

test("the name servers of a resolv.conf are its addresses, without those behind an interface", () => {
  const text = [
    "# nameserver 10.0.0.9",
    "search a.test",
    "nameserver 10.0.0.1",
    "nameserver\t::1 # near",
    "nameserver fe80::1%eth0",
    "nameserver somewhere",
    "nameserver",
  ].join("\n");
  expect(nameServersOf(text)).toEqual(["10.0.0.1", "::1"]);
  expect(nameServersOf("")).toEqual([]);
});
