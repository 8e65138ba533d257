import { afterAll, afterEach, describe, expect, spyOn, test } from "bun:test";
import { type AddressInfo, connect, createServer as createRelay } from "node:net";
import type { TlsOptions } from "node:tls";
import { limit } from "../../src/core/limits.ts";
import { TlsSessions } from "../../src/transport/tls-sessions.ts";
import { type Certificate, createAuthority } from "./certificates.ts";
import { closeAll, open, short } from "./kit.ts";
import { startTlsReceiver } from "./tls-receiver.ts";

const authority = createAuthority();
const good = authority.sign("DNS:a.test,DNS:b.test");
afterAll(() => authority.remove());

const VERSIONS = ["TLSv1.2", "TLSv1.3"] as const;
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  await closeAll();
  for (const close of closers.splice(0)) await close();
});

/** Closes each connection with its first answer; says of each whether its session was resumed. */
async function closing(certificate: Certificate = good, options: TlsOptions = {}) {
  const receiver = await startTlsReceiver(certificate, { closes: true, ...options });
  closers.push(() => receiver.close());
  return {
    url: (host: string) => receiver.url(host),
    get resumed() {
      return receiver.connections.map(({ isResumed }) => isResumed);
    },
    get bytes() {
      return receiver.connections.reduce((sum, { text }) => sum + text.length, 0);
    },
  };
}

function openTrusting(now: { ms: number } = { ms: 0 }) {
  return open(["127.0.0.1"], { tlsCa: authority.pem, monotonic: () => now.ms });
}

/** A port behind which servers can be exchanged; where it `cuts`, it closes before the handshake. */
async function relay(to: () => URL) {
  const state = { cuts: false, url: new URL("https://a.test/") };
  const server = createRelay((client) => {
    client.on("error", () => {});
    if (state.cuts) {
      client.destroy();
      return;
    }
    const behind = connect(Number(to().port), "127.0.0.1", () => client.pipe(behind).pipe(client));
    behind.on("error", () => client.destroy());
    client.on("close", () => behind.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  state.url.port = String((server.address() as AddressInfo).port);
  closers.push(async () => void server.close());
  return state;
}

describe("a session that a receiver offers", () => {
  test.each(VERSIONS)("is resumed by the next connection, and the one after it, over %s", async (version) => {
    const receiver = await closing(good, { minVersion: version, maxVersion: version });
    const { send } = openTrusting();
    for (let n = 0; n < 3; n++) expect(short(await send(receiver.url("a.test")))).toBe("200 ok");
    expect(receiver.resumed).toEqual([false, true, true]);
  });

  test("is resumed for an address, which is no name", async () => {
    const receiver = await closing(authority.sign("IP:127.0.0.1"));
    const { send } = openTrusting();
    for (let n = 0; n < 2; n++) expect(short(await send(receiver.url("127.0.0.1")))).toBe("200 ok");
    expect(receiver.resumed).toEqual([false, true]);
  });

  test("is not resumed for another name or another owner", async () => {
    const receiver = await closing();
    const { send } = openTrusting();
    await send(receiver.url("a.test"), { owner: "one" });
    await send(receiver.url("b.test"), { owner: "one" });
    await send(receiver.url("a.test"), { owner: "two" });
    expect(receiver.resumed).toEqual([false, false, false]);
    await send(receiver.url("a.test"), { owner: "one" });
    expect(receiver.resumed).toEqual([false, false, false, true]);
  });

  test.each(VERSIONS)(
    "and those that follow from it end ten minutes after the certificate, over %s",
    async (version) => {
      const receiver = await closing(good, { minVersion: version, maxVersion: version });
      const now = { ms: 0 };
      const { send } = openTrusting(now);
      for (now.ms of [0, 300_000, 599_999, 600_000, 1_199_999]) await send(receiver.url("a.test"));
      expect(receiver.resumed).toEqual([false, true, true, false, true]);
    },
  );

  test("is one for each connection, however many it sends", async () => {
    using keep = spyOn(TlsSessions.prototype, "keep");
    const receiver = await closing(good, { minVersion: "TLSv1.3" });
    const { send } = openTrusting();
    await send(receiver.url("a.test"));
    await send(receiver.url("a.test"));
    expect(keep).toHaveBeenCalledTimes(2);
  });

  test("is not kept where the certificates are too large for a second request", async () => {
    const receiver = await closing({ ...good, cert: good.cert + good.cert.repeat(30) });
    const { send } = openTrusting();
    for (let n = 0; n < 2; n++) expect(short(await send(receiver.url("a.test")))).toBe("200 ok");
    expect(receiver.resumed).toEqual([false, false]);
  });
});

describe("where a session cannot be resumed", () => {
  test("as the server has new keys, its certificate is verified: another name gets no byte", async () => {
    const [before, after] = [await closing(), await closing(authority.sign("DNS:b.test"))];
    let server = before;
    const front = await relay(() => server.url("a.test"));
    const { send } = openTrusting();
    expect(short(await send(front.url))).toBe("200 ok");
    server = after;
    expect(short(await send(front.url))).toBe("unreachable tls_name_mismatch");
    expect(after.bytes).toBe(0);
  });

  test("as the server breaks off, the next connection asks for a whole handshake", async () => {
    const receiver = await closing();
    const front = await relay(() => receiver.url("a.test"));
    const { send } = openTrusting();
    expect(short(await send(front.url))).toBe("200 ok");
    front.cuts = true;
    expect(short(await send(front.url))).toBe("unreachable tls_failed");
    front.cuts = false;
    expect(short(await send(front.url))).toBe("200 ok");
    expect(receiver.resumed).toEqual([false, false]);
  });
});

describe("the sessions that are kept", () => {
  const session = { bytes: new Uint8Array(1), verifiedAt: 0 };

  test("have a bound in count, at which the one offered longest ago goes", () => {
    const sessions = new TlsSessions(1000);
    for (let n = 0; n < limit("tlsSessionsMax"); n++) sessions.keep(`${n}`, session);
    sessions.keep("0", session);
    sessions.keep("new", session);
    expect(["0", "1", "2", "new"].map((key) => sessions.find(key, 999))).toEqual([
      session,
      null,
      session,
      session,
    ]);
  });

  test("have a bound in bytes", () => {
    const sessions = new TlsSessions(1000);
    const [most, more] = [0, 1].map((n) => ({
      ...session,
      bytes: new Uint8Array(limit("tlsSessionBytesMax") + n),
    }));
    if (most === undefined || more === undefined) throw new Error("two sessions");
    sessions.keep("a", most);
    sessions.keep("b", more);
    expect([sessions.find("a", 0), sessions.find("b", 0)]).toEqual([most, null]);
  });
});
