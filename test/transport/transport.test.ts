import { afterEach, describe, expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createGuard } from "../../src/transport/guard.ts";
import { ATTEMPT_ERRORS } from "../../src/core/attempt-error.ts";
import { createTransport, type TransportRequest } from "../../src/transport/transport.ts";
import { answering, closeAll, hostile, keep, open, post, short, until } from "./kit.ts";

afterEach(closeAll);

const HOSTILE: Record<string, string> = {
  "/ok": "200 ok",
  "/204": "204 ",
  "/hang": "timeout timeout_response",
  "/slowhead": "timeout timeout_response",
  "/driphead": "timeout timeout_response",
  "/dripbody": "timeout timeout_body",
  "/dripchunks": "timeout timeout_body",
  "/infbody": "200 16384 bytes truncated",
  "/infhead": "unreachable head_too_large",
  "/infheader": "unreachable head_too_large",
  "/infext": "200  truncated",
  "/bighead": "unreachable head_too_large",
  "/gzbomb": "200 16384 bytes truncated",
  "/1xx": "unreachable head_too_large",
  "/drip1xx": "unreachable head_too_large",
  "/103": "200 ok",
  "/101": "unreachable invalid_response",
  "/loop": "307 ",
  "/http10": "200 old",
  "/bothlen": "200 ok",
  "/dupcl": "unreachable invalid_response",
  "/samecl": "200 ok",
  "/neg": "unreachable invalid_response",
  "/garbage": "unreachable invalid_response",
  "/badheader": "unreachable invalid_response",
  "/badchunk": "200 ok truncated",
  "/rst": "unreachable connection_reset",
  "/close": "unreachable connection_closed",
  "/halfhead": "unreachable connection_closed",
  "/halfbody": "200 half truncated",
  "/rstbody": "200 half truncated",
  "/halfchunk": "200 half truncated",
  "/closehdr": "200 ok",
  "/smuggle": "200 ok",
};

/** Short where the deadline is what is tested, out of the way elsewhere. */
function deadlineFor(expected: string): number {
  return expected.startsWith("timeout") ? 250 : 10_000;
}

describe("a hostile receiver", () => {
  for (const [path, expected] of Object.entries(HOSTILE)) {
    test(`${path} ends as ${expected}, is asked once, and the next request is unaffected`, async () => {
      const receiver = await hostile();
      const { send, transport } = open();
      expect(short(await send(receiver.url(path), { timeoutMs: deadlineFor(expected) }))).toBe(expected);
      expect(receiver.requests.length).toBe(1);
      expect(short(await send(receiver.url("/echo"), { body: Buffer.from("next") }))).toBe("200 next");
      expect(transport.stats()).toMatchObject({ open: 1, idle: 1 });
    });
  }

  test("never mixes up answers, whatever stands side by side", async () => {
    const receiver = await hostile();
    const { send } = open();
    const rounds = Array.from({ length: 12 }, async (_, round) => {
      for (const [path, expected] of Object.entries(HOSTILE)) {
        const text = `${round} before ${path}`;
        expect(short(await send(receiver.url("/echo"), { body: Buffer.from(text) }))).toBe(`200 ${text}`);
        expect(short(await send(receiver.url(path), { timeoutMs: deadlineFor(expected) }))).toBe(expected);
      }
    });
    await Promise.all(rounds);
  });

  test("that sends a second answer later loses its idle connection, and the answer is not used", async () => {
    const receiver = await hostile();
    const { send, transport } = open();
    expect(short(await send(receiver.url("/smugglelate")))).toBe("200 ok");
    await until(() => transport.stats().open === 0);
    expect(short(await send(receiver.url("/echo"), { body: Buffer.from("mine") }))).toBe("200 mine");
    expect(transport.stats().connects).toBe(2);
  });

  test("that hangs 300 times does not delay a healthy one", async () => {
    const receiver = await hostile();
    const { send } = open();
    const abort = new AbortController();
    const hanging = Array.from({ length: 300 }, (_, index) =>
      send(receiver.url("/hang", `h${index}.test`), { signal: abort.signal }),
    );
    await receiver.whenRequested(300);
    expect(short(await send(receiver.url("/ok", "healthy.test")))).toBe("200 ok");
    expect(receiver.counts().open).toBe(301);
    abort.abort();
    for (const result of await Promise.all(hanging)) expect(short(result)).toBe("aborted");
  });

  test("that answers before it has the whole request is heard, and its connection is not reused", async () => {
    const receiver = await answering(() => {}, {
      onSocket(socket) {
        socket.once("data", () => {
          socket.pause();
          socket.write("HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\n\r\n");
        });
      },
    });
    const { send, transport } = open();
    expect(short(await send(receiver.url("/"), { body: Buffer.alloc(32_000_000) }))).toBe("413 ");
    expect(transport.stats()).toMatchObject({ open: 0, idle: 0 });
  });
});

describe("the address", () => {
  test("that was vetted is the one connected to, however the name changes its mind", async () => {
    const good = await hostile();
    const trap = await hostile({ address: "127.0.0.2", port: good.port });
    let turn = 0;
    const answers = [["127.0.0.1"], ["127.0.0.2"], ["127.0.0.1", "127.0.0.2"], ["169.254.169.254"]];
    const { send, transport, asked } = open(() => answers[turn++ % answers.length] ?? []);
    for (let round = 0; round < 10; round++) {
      const results = [];
      for (const _ of answers) results.push(short(await send(good.url("/closehdr", "flip.test"))));
      const blocked = "blocked address_not_allowed";
      expect(results).toEqual(["200 ok", blocked, blocked, blocked]);
    }
    expect(asked.length).toBe(40);
    expect(transport.stats().connects).toBe(10);
    expect(trap.counts().opened).toBe(0);
    const lenient = createGuard({ allow: ["127.0.0.2/32"] });
    const control = keep(createTransport({ guard: lenient, monotonic: () => performance.now() }));
    expect(short(await control.send(post(trap.url("/ok"))))).toBe("200 ok");
  });

  test("is vetted for each new connection and not for a reused one", async () => {
    const receiver = await hostile();
    const { send, asked, transport } = open();
    for (let index = 0; index < 5; index++) await send(receiver.url("/ok", "a.test"));
    expect(asked).toEqual(["a.test"]);
    expect(transport.stats()).toMatchObject({ connects: 1, reused: 4 });
    await send(receiver.url("/closehdr", "a.test"));
    await send(receiver.url("/ok", "a.test"));
    expect(asked).toEqual(["a.test", "a.test"]);
  });

  test("after one that refuses is the next vetted one", async () => {
    const receiver = await hostile();
    expect(short(await open(["127.0.0.3", "127.0.0.1"]).send(receiver.url("/ok", "a.test")))).toBe("200 ok");
    const { send } = open(["127.0.0.3", "127.0.0.3"]);
    expect(short(await send(receiver.url("/ok", "a.test")))).toBe("unreachable connection_refused");
  });

  test("behind a redirect is never asked for", async () => {
    const receiver = await answering((socket) =>
      socket.write("HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n"),
    );
    const { send, transport } = open();
    expect(short(await send(receiver.url("/")))).toBe("302 ");
    expect(transport.stats().connects).toBe(1);
  });

  test.each([
    ["http://127.0.0.2:1/", "blocked address_not_allowed"],
    ["http://localhost:1/", "blocked address_not_allowed"],
    ["file:///etc/passwd", "blocked address_not_allowed"],
    ["http://127.0.0.1:0/", "unreachable connection_refused"],
  ])("of %s gives %s", async (text, expected) => {
    expect(short(await open().send(new URL(text)))).toBe(expected);
  });

  test("is not connected to for another scheme", async () => {
    const receiver = await hostile();
    const url = new URL(receiver.url("/ok").href.replace("http:", "ftp:"));
    expect(short(await open().send(url))).toBe("blocked address_not_allowed");
    expect(receiver.counts().opened).toBe(0);
  });

  test.each([
    ["ENOTFOUND", "unreachable dns_not_found"],
    ["EAI_AGAIN", "unreachable dns_failed"],
  ])("that cannot be resolved (%s) gives %s", async (code, expected) => {
    const { send } = open(() => Promise.reject(Object.assign(new Error("no"), { code })));
    expect(short(await send(new URL("http://a.test/")))).toBe(expected);
  });
});

describe("a receiver that drops idle connections at random", () => {
  for (const drop of ["close", "reset"] as const) {
    test(`by ${drop} causes no failure and processes nothing twice`, async () => {
      const processed = new Map<string, number>();
      const doomed = new Set<unknown>();
      let seed = 7;
      const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
      const receiver = await answering((socket, { body }) => {
        const end = () => {
          doomed.add(socket);
          if (drop === "close") socket.end();
          else socket.resetAndDestroy();
        };
        if (doomed.has(socket)) {
          end();
          return;
        }
        const id = body.toString();
        processed.set(id, (processed.get(id) ?? 0) + 1);
        socket.write("HTTP/1.1 204 No Content\r\n\r\n");
        const chance = random();
        if (chance < 0.1) doomed.add(socket);
        else if (chance < 0.2) setImmediate(end);
      });
      const { send, transport } = open();
      const results = new Map<string, number>();
      await Promise.all(
        Array.from({ length: 32 }, async (_, worker) => {
          for (let index = 0; index < 100; index++) {
            const result = short(await send(receiver.url("/"), { body: Buffer.from(`${worker}-${index}`) }));
            results.set(result, (results.get(result) ?? 0) + 1);
          }
        }),
      );
      expect(Object.fromEntries(results)).toEqual({ "204 ": 3_200 });
      expect(processed.size).toBe(3_200);
      expect(Math.max(...processed.values())).toBe(1);
      expect(transport.stats().connects).toBeGreaterThan(200);
    });
  }

  test("is asked again once only, and on a new connection", async () => {
    const receiver = await answering((socket, { path }) => {
      if (path === "/first") socket.write("HTTP/1.1 204 No Content\r\n\r\n");
      else socket.resetAndDestroy();
    });
    const { send, transport } = open();
    await send(receiver.url("/first"));
    expect(short(await send(receiver.url("/again")))).toBe("unreachable connection_reset");
    expect(receiver.requests.map(({ path }) => path)).toEqual(["/first", "/again", "/again"]);
    expect(transport.stats().connects).toBe(2);
  });

  test("is not asked again once the answer has begun", async () => {
    const receiver = await answering((socket, { path }) => {
      if (path === "/first") socket.write("HTTP/1.1 204 No Content\r\n\r\n");
      else socket.end("H");
    });
    const { send } = open();
    await send(receiver.url("/first"));
    expect(short(await send(receiver.url("/again")))).toBe("unreachable connection_closed");
    expect(receiver.requests.length).toBe(2);
  });
});

describe("a request that is given up", () => {
  test("before it starts connects nowhere", async () => {
    const { send, transport } = open();
    expect(short(await send(new URL("http://127.0.0.1:1/"), { signal: AbortSignal.abort() }))).toBe(
      "aborted",
    );
    expect(transport.stats().connects).toBe(0);
  });

  test("while it waits for the answer closes its connection, and no other", async () => {
    const receiver = await hostile();
    const { send, transport } = open();
    const [mine, other] = [new AbortController(), new AbortController()];
    const given = [
      send(receiver.url("/hang"), { signal: mine.signal }),
      send(receiver.url("/hang"), { signal: mine.signal }),
    ];
    const kept = send(receiver.url("/hang"), { signal: other.signal });
    await receiver.whenRequested(3);
    mine.abort();
    expect((await Promise.all(given)).map(short)).toEqual(["aborted", "aborted"]);
    expect(transport.stats().open).toBe(1);
    other.abort();
    expect(short(await kept)).toBe("aborted");
  });

  test("while its name is looked up never connects", async () => {
    const receiver = await hostile();
    const lookup = Promise.withResolvers<string[]>();
    const { send, transport } = open(() => lookup.promise);
    const abort = new AbortController();
    const result = send(receiver.url("/ok", "a.test"), { signal: abort.signal });
    abort.abort();
    expect(short(await result)).toBe("aborted");
    lookup.resolve(["127.0.0.1"]);
    await lookup.promise;
    await nextTurn();
    expect(transport.stats().connects).toBe(0);
  });

  test("by the deadline while its name is looked up is a timeout", async () => {
    const { send } = open(() => new Promise<string[]>(() => {}));
    expect(short(await send(new URL("http://a.test/"), { timeoutMs: 20 }))).toBe("timeout timeout_connect");
  });

  test("while its name is looked up is held by no question, and tells when that was answered", async () => {
    const questions: ((addresses: string[]) => void)[] = [];
    const { send, transport } = open(() => new Promise((resolve) => questions.push(resolve)));
    const bodies: WeakRef<Uint8Array>[] = [];
    const give = (how: Partial<TransportRequest>) => {
      const body = new Uint8Array(100_000);
      bodies.push(new WeakRef(body));
      return send(new URL("http://a.test/"), { body, ...how });
    };
    const expired = Array.from({ length: 50 }, () => give({ timeoutMs: 20 }));
    const abort = new AbortController();
    const aborted = Array.from({ length: 50 }, () => give({ signal: abort.signal }));
    abort.abort();
    const results = await Promise.all(expired);
    expect((await Promise.all(aborted)).map(short)).toEqual(Array(50).fill("aborted"));
    await nextTurn();
    Bun.gc(true);
    expect(questions.length).toBe(100);
    expect(bodies.filter((body) => body.deref() !== undefined).length).toBeLessThan(10);
    let gone = 0;
    for (const result of results) {
      expect(short(result)).toBe("timeout timeout_connect");
      if (result.kind === "timeout") void result.socketGone?.then(() => gone++);
    }
    await nextTurn();
    expect(gone).toBe(0);
    for (const answer of questions) answer(["127.0.0.1"]);
    await until(() => gone === 50);
    expect(transport.stats().connects).toBe(0);
  });

  test("because the transport closes is aborted, and so is all that comes later", async () => {
    const receiver = await hostile();
    const { send, transport } = open((host) => (host === "a.test" ? new Promise(() => {}) : ["127.0.0.1"]));
    const inFlight = [send(receiver.url("/hang")), send(receiver.url("/ok", "a.test"))];
    await receiver.whenRequested(1);
    transport.close();
    expect((await Promise.all(inFlight)).map(short)).toEqual(["aborted", "aborted"]);
    expect(short(await send(receiver.url("/ok")))).toBe("aborted");
  });
});

test("every error code has one sentence that says what to do", () => {
  for (const [code, sentence] of Object.entries(ATTEMPT_ERRORS)) {
    expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(sentence).toMatch(/^[A-Z].*; .*\.$/);
  }
});

test("what leads back to the service is not connected to, whatever was saved", async () => {
  const receiver = await hostile();
  const url = receiver.url("/ok");
  const guard = createGuard({
    allow: ["127.0.0.0/8"],
    ownAddresses: [],
    self: { baseUrl: url.origin, port: () => null },
  });
  const { send } = open(undefined, { guard });
  expect(short(await send(url))).toBe("blocked address_not_allowed");
  expect(receiver.counts().opened).toBe(0);
});

test("an answer that came while the process stood still is read before its deadline is looked at", async () => {
  const script = `
    const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: async (request) => {
      console.log("asked");
      if (request.url.endsWith("/hang")) await new Promise(() => {});
      await Bun.sleep(20);
      return new Response("ok");
    }});
    console.log(server.url.href);`;
  await using receiver = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe" });
  const lines = receiver.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const url = String((await lines.read()).value).trim();
  const { send } = open();
  const both = ["ok", "hang"].map((path) => send(new URL(path, url), { timeoutMs: 200 }));
  let asked = "";
  while (asked.split("asked").length < 3) asked += (await lines.read()).value ?? "";
  Bun.sleepSync(500);
  expect((await Promise.all(both)).map(short)).toEqual(["200 ok", "timeout timeout_response"]);
});

test("nothing is written while another machine may be the one that sends, also where it has connected", async () => {
  const receiver = await hostile();
  let mayWrite = true;
  const { send } = open(undefined, { mayWrite: () => mayWrite });
  expect(short(await send(receiver.url("/ok")))).toBe("200 ok");
  mayWrite = false;
  // By the connection that is open, and by a new one.
  const both = [send(receiver.url("/ok")), send(receiver.url("/ok"))];
  expect((await Promise.all(both)).map(short)).toEqual(["aborted", "aborted"]);
  expect(receiver.counts().opened).toBe(2);
});
