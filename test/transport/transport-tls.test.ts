import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { type AddressInfo, connect, createServer as createRelay, type Socket } from "node:net";
import type { TlsOptions } from "node:tls";
import { type Certificate, createAuthority } from "./certificates.ts";
import { limit } from "../../src/core/limits.ts";
import { answering, closeAll, hostile, open, short, until } from "./kit.ts";
import { startTlsReceiver, type TlsReceiver } from "./tls-receiver.ts";

const authority = createAuthority();
const stranger = createAuthority();
const good = authority.sign("DNS:a.test,DNS:b.test");
afterAll(() => {
  authority.remove();
  stranger.remove();
});

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  await closeAll();
  for (const close of closers.splice(0)) await close();
});

async function tlsReceiver(certificate: Certificate, options: TlsOptions = {}): Promise<TlsReceiver> {
  const receiver = await startTlsReceiver(certificate, options);
  closers.push(() => receiver.close());
  return receiver;
}

/** Hands on all that a client says, and so many bytes of what the server at `to` answers. */
async function relayOf(
  to: number,
  bytesMax: number,
): Promise<{ readonly port: number; readonly open: number }> {
  const clients = new Set<Socket>();
  const relay = createRelay((client) => {
    let left = bytesMax;
    const server = connect(to, "127.0.0.1", () => client.pipe(server));
    clients.add(client);
    client.on("error", () => {});
    server.on("error", () => {});
    server.on("data", (bytes) => {
      client.write(bytes.subarray(0, left));
      left -= Math.min(left, bytes.length);
    });
    client.on("close", () => {
      clients.delete(client);
      server.destroy();
    });
  });
  const port = await new Promise<number>((resolve) => {
    relay.listen(0, "127.0.0.1", () => resolve((relay.address() as AddressInfo).port));
  });
  closers.push(async () => void relay.close());
  return {
    port,
    get open() {
      return clients.size;
    },
  };
}

function openTrusting() {
  return open(["127.0.0.1"], { tlsCa: authority.pem });
}

function bytesReceived({ connections }: TlsReceiver): number {
  return connections.reduce((sum, { text }) => sum + text.length, 0);
}

describe("a receiver with a good certificate", () => {
  test.each([
    ["the name as it stands", "a.test", "a.test"],
    ["capitals", "A.TEST", "a.test"],
    ["a trailing dot", "a.test.", "a.test"],
  ])("is served: %s", async (_what, host, name) => {
    const receiver = await tlsReceiver(good);
    expect(short(await openTrusting().send(receiver.url(host)))).toBe("200 ok");
    expect(receiver.connections.map((connection) => connection.name)).toEqual([name]);
  });

  test.each([
    ["TLSv1.2", "TLSv1.2"],
    ["TLSv1.3", "TLSv1.3"],
  ] as const)("is served over %s", async (minVersion, maxVersion) => {
    const receiver = await tlsReceiver(good, { minVersion, maxVersion });
    expect(short(await openTrusting().send(receiver.url("a.test")))).toBe("200 ok");
  });

  test("for its address is served by that, and asked for no name", async () => {
    const receiver = await tlsReceiver(authority.sign("IP:127.0.0.1"));
    expect(short(await openTrusting().send(receiver.url("127.0.0.1")))).toBe("200 ok");
    expect(receiver.connections[0]?.name || null).toBeNull();
  });

  test("for a wildcard is served one label deep", async () => {
    const receiver = await tlsReceiver(authority.sign("DNS:*.hooks.test"));
    const { send } = openTrusting();
    expect(short(await send(receiver.url("a.hooks.test")))).toBe("200 ok");
    expect(short(await send(receiver.url("b.a.hooks.test")))).toBe("unreachable tls_name_mismatch");
  });

  test("for two names on one address gets a connection for each, and no request of the other", async () => {
    const receiver = await tlsReceiver(good);
    const { send, transport } = openTrusting();
    for (const host of ["a.test", "b.test", "a.test", "b.test"]) await send(receiver.url(host));
    expect(transport.stats()).toMatchObject({ connects: 2, reused: 2 });
    for (const { name, text } of receiver.connections) {
      const hosts = [...text.matchAll(/^host: ([a-z.]+):\d+\r$/gm)].map((match) => match[1]);
      expect(hosts).toEqual([String(name), String(name)]);
    }
  });

  test("gets a body of 4 MB whole", async () => {
    const receiver = await tlsReceiver(good);
    const body = Buffer.alloc(4_000_000, "x");
    body.write("}", body.length - 1);
    expect(short(await openTrusting().send(receiver.url("a.test"), { body }))).toBe("200 ok");
    expect(receiver.connections[0]?.text.endsWith(body.toString())).toBe(true);
  });
});

describe("what a server sends in its handshake", () => {
  /** The certificate, with others that nobody needs, of some 400 bytes each. */
  function withOthers(count: number): Certificate {
    return { ...good, cert: good.cert + good.cert.repeat(count) };
  }

  test("is kept for one request where it is much, and for more where it is the usual", async () => {
    const [much, usual] = [await tlsReceiver(withOthers(30)), await tlsReceiver(withOthers(4))];
    const { send, transport } = openTrusting();
    for (const receiver of [much, much, usual, usual])
      expect(short(await send(receiver.url("a.test")))).toBe("200 ok");
    expect(transport.stats()).toMatchObject({ connects: 3, reused: 1 });
  });

  test.each(["TLSv1.2", "TLSv1.3"] as const)(
    "has a bound, and ends the connection as soon as it is more, over %s",
    async (version) => {
      const receiver = await tlsReceiver(withOthers(150), { minVersion: version, maxVersion: version });
      // A relay that falls silent before the handshake is done.
      const relay = await relayOf(Number(receiver.url("a.test").port), limit("handshakeBytesMax") + 1);
      const { send, transport } = openTrusting();
      const result = await send(new URL(`https://a.test:${relay.port}/`), { timeoutMs: 60_000 });
      expect(short(result)).toBe("unreachable tls_failed");
      await until(() => transport.stats().open === 0 && relay.open === 0);
      expect(receiver.connections).toEqual([]);
    },
  );
});

describe("a receiver that cannot be trusted gets no byte of the request", () => {
  const cases: [what: string, code: string, certificate: () => Certificate, host: string][] = [
    [
      "the certificate is for another name",
      "tls_name_mismatch",
      () => authority.sign("DNS:other.test"),
      "a.test",
    ],
    ["the certificate is for a name, the URL has an address", "tls_name_mismatch", () => good, "127.0.0.1"],
    [
      "the certificate is for another address",
      "tls_name_mismatch",
      () => authority.sign("IP:127.0.0.9"),
      "127.0.0.1",
    ],
    ["the certificate has expired", "tls_expired", () => authority.sign("DNS:a.test", -1), "a.test"],
    ["the authority is unknown", "tls_untrusted", () => stranger.sign("DNS:a.test"), "a.test"],
  ];
  for (const [what, code, certificate, host] of cases) {
    test(`${what}: ${code}`, async () => {
      const receiver = await tlsReceiver(certificate());
      const { send, transport } = openTrusting();
      expect(short(await send(receiver.url(host)))).toBe(`unreachable ${code}`);
      expect(short(await send(receiver.url(host)))).toBe(`unreachable ${code}`);
      expect(bytesReceived(receiver)).toBe(0);
      expect(transport.stats()).toEqual({ open: 0, idle: 0, connects: 2, reused: 0 });
    });
  }

  test("the authority is not one of the built-in ones: tls_untrusted", async () => {
    const receiver = await tlsReceiver(good);
    expect(short(await open().send(receiver.url("a.test")))).toBe("unreachable tls_untrusted");
    expect(bytesReceived(receiver)).toBe(0);
  });

  test("it speaks TLS 1.1 at most: tls_failed", async () => {
    const receiver = await tlsReceiver(good, { minVersion: "TLSv1", maxVersion: "TLSv1.1" });
    expect(short(await openTrusting().send(receiver.url("a.test")))).toBe("unreachable tls_failed");
    expect(bytesReceived(receiver)).toBe(0);
  });

  test("it asks for a certificate of ours: tls_failed", async () => {
    const receiver = await tlsReceiver(good, {
      requestCert: true,
      rejectUnauthorized: true,
      ca: authority.pem,
    });
    expect(short(await openTrusting().send(receiver.url("a.test")))).toBe("unreachable tls_failed");
  });
});

describe("a port that does not speak TLS", () => {
  function asHttps(url: URL): URL {
    return new URL(url.href.replace("http:", "https:"));
  }

  test("and says nothing is a timeout of the handshake", async () => {
    const receiver = await hostile();
    const url = asHttps(receiver.url("/ok"));
    expect(short(await openTrusting().send(url, { timeoutMs: 100 }))).toBe("timeout timeout_tls");
    expect(receiver.requests.length).toBe(0);
  });

  for (const [what, onData] of [
    ["speaks plain text", "text"],
    ["closes", "close"],
    ["resets", "reset"],
  ] as const) {
    test(`and ${what} is tls_failed`, async () => {
      const receiver = await answering(() => {}, {
        onSocket(socket) {
          socket.once("data", () => {
            if (onData === "text") socket.write("HTTP/1.1 400 Bad Request\r\n\r\n");
            else if (onData === "close") socket.end();
            else socket.resetAndDestroy();
          });
        },
      });
      expect(short(await openTrusting().send(asHttps(receiver.url("/"))))).toBe("unreachable tls_failed");
    });
  }
});
