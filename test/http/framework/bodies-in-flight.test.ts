/** How much of all bodies together the service holds, and whose goes where that is too much. */
import { afterAll, beforeAll, describe, expect, type Mock, spyOn, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { Problem } from "../../../src/core/errors.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import {
  ANYBODY,
  BodiesInFlight,
  type BodyInFlight,
  REQUESTS,
} from "../../../src/http/framework/bodies-in-flight.ts";
import { route } from "../../../src/http/framework/route.ts";
import { callers, owner, sendRaw, startServer, type TestServer } from "../kit.ts";

const taking = {
  method: "POST",
  tag: "Things",
  summary: "Takes a megabyte",
  budget: "none",
  answers: { 200: "Taken." },
  handle: ({ bytes }: { bytes: Uint8Array }) => ({ status: 200, json: { size: bytes.length } }),
} as const;
const routes = [
  route({ ...taking, path: "/v1/taken", operationId: "take", access: "manage", bodyMode: "raw" }),
  route({ ...taking, path: "/taken", operationId: "takeAny", access: "none", bodyMode: "opaque" }),
];

const names = ["bodiesInFlightBytesMax", "accountBodiesBytesMax", "guestBodiesBytesMax"] as const;
const usual = names.map((name) => LIMITS[name].value);
const setLimits = (values: readonly number[]) =>
  names.forEach((name, at) => ((LIMITS[name] as { value: number }).value = values[at] ?? 0));

afterAll(() => setLimits(usual));

describe("the room for bodies", () => {
  beforeAll(() => setLimits([1000, 500, 400]));

  function begin(all: BodiesInFlight, account: string, bytes: number, member?: string) {
    const body = all.begin(account, member);
    const state = { body, refused: null as Problem | null };
    body.whenRefused((problem) => (state.refused = problem));
    if (bytes > 0) body.take(bytes);
    return state;
  }
  const refusalOf = (run: () => void): Problem | null => {
    try {
      run();
    } catch (error) {
      return error as Problem;
    }
    return null;
  };

  test("of a known caller refuses the body that would exceed its share, with 503 and retry-after", () => {
    const all = new BodiesInFlight();
    const first = begin(all, "account:1", 400);
    const second = begin(all, "account:1", 100);
    const problem = refusalOf(() => second.body.take(1));
    expect([problem?.status, problem?.headers?.["retry-after"]]).toEqual([503, "1"]);
    expect([first.refused, all.bytes]).toEqual([null, 400]);
    expect(refusalOf(() => begin(all, "account:2", 500))).toBeNull();
    first.body.end();
    expect(all.bytes).toBe(500);
  });

  test("of anybody refuses one by chance that is still coming in, the larger the likelier", () => {
    for (const [random, expected] of [
      [0, [null, 503, null, null]],
      [0.6, [null, null, 503, null]],
      [0.9, [null, null, null, 503]],
    ] as const) {
      const all = new BodiesInFlight(REQUESTS, () => random);
      const worked = begin(all, ANYBODY, 100);
      worked.body.settle();
      const coming = [begin(all, ANYBODY, 200), begin(all, ANYBODY, 150), begin(all, ANYBODY, 10)];
      const refused = refusalOf(() => coming[2]?.body.take(90));
      const statuses = [worked, ...coming].map((one) => one.refused?.status ?? null);
      if (refused) statuses[3] = refused.status;
      expect(statuses).toEqual([...expected]);
    }
  });

  test("of anybody keeps what is whole and waits, and of nothing else refuses the newest", () => {
    const all = new BodiesInFlight(REQUESTS, () => 0);
    const whole = [begin(all, ANYBODY, 200), begin(all, ANYBODY, 200)];
    for (const { body } of whole) body.whenRefused(() => {}, true);
    const coming = begin(all, ANYBODY, 50);
    expect(refusalOf(() => coming.body.take(100))?.status).toBe(503);
    expect(all.bytes).toBe(400);
    const states = whole.map(({ body }) => {
      const state = { body, refused: null as Problem | null };
      body.whenRefused((problem) => (state.refused = problem), true);
      return state;
    });
    const late = begin(all, ANYBODY, 100);
    late.body.whenRefused(() => {}, true);
    expect(refusalOf(() => late.body.take(1))?.status).toBe(503);
    expect(states.map(({ refused }) => refused)).toEqual([null, null]);
  });

  test("of all refuses a body of whoever has the most", () => {
    const all = new BodiesInFlight();
    const most = [begin(all, "account:1", 300), begin(all, "account:1", 150)];
    const others = ["account:2", ANYBODY].map((caller) => begin(all, caller, 250));
    others.push(begin(all, "account:3", 51));
    expect([...most, ...others].map(({ refused }) => refused?.status ?? null)).toEqual([
      null,
      503,
      null,
      null,
      null,
    ]);
    expect(all.bytes).toBe(851);
  });

  test("of an account refuses a body of whichever of its members has the most, the newest", () => {
    const all = new BodiesInFlight();
    const hoard = [begin(all, "account:1", 200, "a"), begin(all, "account:1", 200, "a")];
    const others = [begin(all, "account:1", 100, "b"), begin(all, "account:1", 60, "c")];
    expect([...hoard, ...others].map(({ refused }) => refused?.status ?? null)).toEqual([
      null,
      503,
      null,
      null,
    ]);
    expect(refusalOf(() => hoard[0]?.body.take(141))?.status).toBe(503);
    expect(all.bytes).toBe(160);
  });

  test("is no more its member's once it is given back", () => {
    const all = new BodiesInFlight();
    const first = begin(all, "account:1", 400, "a");
    first.body.take(-300);
    begin(all, "account:1", 150, "b");
    expect(refusalOf(() => begin(all, "account:1", 300, "c"))?.status).toBe(503);
    expect([first.refused, all.bytes]).toEqual([null, 250]);
  });

  test("takes no more of a body that it has refused", () => {
    const all = new BodiesInFlight(REQUESTS, () => 0);
    const gone = begin(all, ANYBODY, 400);
    begin(all, ANYBODY, 300);
    expect(gone.refused?.status).toBe(503);
    expect(refusalOf(() => gone.body.take(100))?.status).toBe(503);
    gone.body.end();
    expect(all.bytes).toBe(300);
  });

  test("leaves room beside what is worked on, of a guest's to its account, and of an account's to all", () => {
    const all = new BodiesInFlight();
    const workedOf = (account: string, member: string) => {
      let bytes = 0;
      for (;;) {
        const { body } = begin(all, account, 0, member);
        const problem = refusalOf(() => {
          body.take(10);
          body.settle();
        });
        if (problem !== null) return bytes;
        bytes += 10;
      }
    };
    const guests = ["consumer:a", "source:1", "consumer:b", "source:2", "source:3"];
    expect(guests.map((guest) => workedOf("account:1", guest))).toEqual([200, 100, 50, 20, 10]);
    expect(workedOf("account:1", "key:1")).toBe(120);
    expect([workedOf("account:2", "key:2"), workedOf("account:3", "key:3")]).toEqual([250, 120]);
    expect([workedOf(ANYBODY, ""), all.bytes]).toEqual([60, 930]);
  });

  test("is that of whoever it is moved to, and anybody's is free again", () => {
    const all = new BodiesInFlight();
    const bodies = Array.from({ length: 6 }, () => {
      const one = begin(all, ANYBODY, 100);
      one.body.settle();
      return refusalOf(() => one.body.moveTo("account:1", "source:1"))?.status ?? one.body;
    });
    expect(bodies.map((body) => (typeof body === "number" ? body : 200))).toEqual([
      200, 200, 503, 503, 503, 503,
    ]);
    expect(all.bytes).toBe(200);
    expect(refusalOf(() => begin(all, ANYBODY, 500))).toBeNull();
    for (const body of bodies) if (typeof body !== "number") body.end();
    expect(all.bytes).toBe(500);
  });

  test("is that of the others again where a body waits, which is refused where it was meanwhile", () => {
    const all = new BodiesInFlight();
    const link = begin(all, "account:1", 200, "consumer:a");
    link.body.settle();
    const key = begin(all, "account:1", 240, "key:1");
    link.body.whenRefused((problem) => (link.refused = problem));
    expect(refusalOf(() => key.body.take(100))?.status).toBe(503);
    expect(refusalOf(() => begin(all, "account:1", 190, "key:2"))).toBeNull();
    expect(refusalOf(() => begin(all, "account:1", 120, "key:3"))).toBeNull();
    expect([link.refused?.status, refusalOf(() => link.body.settle())?.status]).toEqual([503, 503]);
    expect(all.bytes).toBe(310);
  });

  test("for one that comes is made by whoever has one that comes, not by who has more that is worked on", () => {
    const all = new BodiesInFlight();
    begin(all, "account:1", 500).body.settle();
    const slow = begin(all, "account:2", 450);
    expect(refusalOf(() => begin(all, "account:3", 60))).toBeNull();
    expect([slow.refused?.status, all.bytes]).toEqual([503, 560]);
  });

  test("keeps to its bounds, whatever comes, and forgets all that ends", () => {
    const all = new BodiesInFlight();
    const under = new Set<BodyInFlight>();
    for (let n = 0; n < 2000; n++) {
      const { body } = begin(all, n % 3 === 0 ? ANYBODY : `account:${n % 7}`, 0);
      under.add(body);
      refusalOf(() => body.take((n * 37) % 300));
      if (n % 5 === 0) refusalOf(() => body.settle());
      if (n % 6 === 0) refusalOf(() => body.moveTo(`account:${n % 7}`, `source:${n % 4}`));
      const [first] = under;
      if (n % 4 === 0 && first) {
        first.end();
        under.delete(first);
      }
      expect(all.bytes).toBeLessThanOrEqual(1000);
    }
    for (const body of under) body.end();
    expect(all.bytes).toBe(0);
  });
});

describe("bodies that come slowly or in pieces", () => {
  let server: TestServer;
  beforeAll(() => {
    setLimits([4_000_000, 2_000_000, 1_500_000]);
    callers["stranger"] = { ...owner, id: 66, accountId: 66 };
    for (let n = 0; n < 12; n++)
      callers[`link${n}`] = { ...owner, kind: "portal", id: 100 + n, consumerId: `c${n}` };
    server = startServer(routes);
  });
  afterAll(() => server.stop(0));
  let random: Mock<() => number>;
  // Of strangers' bodies the oldest goes.
  beforeAll(() => (random = spyOn(Math, "random").mockReturnValue(0)));
  afterAll(() => random.mockRestore());

  /** A request with all of its body but the last bytes; resolves with the status that it gets. */
  function drip(path: string, token: string | null, form: "length" | "chunks", sent: number) {
    const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n`;
    const key = token === null ? "" : `Authorization: Bearer ${token}\r\n`;
    const framing =
      form === "length"
        ? `Content-Length: ${sent + 6}\r\n\r\n`
        : `Transfer-Encoding: chunked\r\n\r\nFFFFFF\r\n`;
    const { promise, resolve } = Promise.withResolvers<string>();
    const socket: Socket = connect(server.port, "127.0.0.1", () =>
      socket.write(head + key + framing + "A".repeat(sent)),
    );
    socket.once("data", (data) => resolve(data.toString().slice(9, 12)));
    socket.on("error", () => {});
    return { socket, status: promise };
  }

  test.each([
    ["/v1/taken by one key", "/v1/taken", () => "full", "stranger"],
    ["/v1/taken by many links of an account", "/v1/taken", (n: number) => `link${n}`, "stranger"],
    ["/taken", "/taken", () => null, null],
  ])(
    "to %s are refused where they leave no room, and others are answered",
    async (_name, path, token, other) => {
      for (const form of ["length", "chunks"] as const) {
        const slow = Array.from({ length: 12 }, (_, n) => drip(path, token(n), form, 500_000));
        const refused: string[] = [];
        for (const { status } of slow) void status.then((one) => refused.push(one));
        while (refused.length < 8) await Bun.sleep(1);
        expect(refused).toEqual(Array.from({ length: 8 }, () => "503"));
        const headers = { "content-type": "application/json" };
        const reply = await server.send("POST", path, { token: other, body: "x".repeat(400_000), headers });
        expect([path, form, reply.json]).toEqual([path, form, { size: 400_000 }]);
        for (const { socket } of slow) socket.destroy();
      }
    },
  );

  test("cost no piece of work for each chunk, however small they are", async () => {
    const read = spyOn(ReadableStreamDefaultReader.prototype, "read");
    const size = 200_000;
    const head = "POST /taken HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    const answer = await sendRaw(server.port, head, `${"1\r\nx\r\n".repeat(size)}0\r\n\r\n`);
    const pieces = read.mock.calls.length;
    read.mockRestore();
    expect(answer).toEndWith(`{"size":${size}}`);
    expect(pieces).toBeWithin(1, size / 100);
  });
});
