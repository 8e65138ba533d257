import { afterEach, describe, expect, test } from "bun:test";
import { joinRequest, renderHead } from "../../src/transport/request.ts";
import { createGuard } from "../../src/transport/guard.ts";
import { createTransport } from "../../src/transport/transport.ts";
import { answering, closeAll, hostile, keep, open, post, short } from "./kit.ts";

afterEach(closeAll);

const URL_OF_A_HOOK = new URL("http://hooks.example.com:8080/in?a=b");

/** Header names and values that must never reach the wire. */
const FORBIDDEN: [name: string, value: string][] = [
  ...[
    "a\r\nb",
    "a\rb",
    "a\nb",
    "a\0b",
    "\r\n",
    "a\r\n\r\nPOST / HTTP/1.1",
    "a\u000bb",
    "a\u000cb",
    "\u007f",
    "\u001b",
  ].map((value): [string, string] => ["x-test", value]),
  ...["\u0100", "\u2028", "\u2029", "\ud83d\ude00", "\u560d\u560a", "\uff0d"].map(
    (value): [string, string] => ["x-test", value],
  ),
  ...[
    "",
    " ",
    "a b",
    "a:",
    "a\r",
    "a\n",
    "a\0",
    "a\r\nhost",
    "\u00e4",
    "a\u0100",
    "a(b)",
    "a\t",
    "a,b",
    "a/b",
    'a"b',
    "a;b",
  ].map((name): [string, string] => [name, "value"]),
  ...[
    "host",
    "Host",
    "content-length",
    "Content-Length",
    "transfer-encoding",
    "connection",
    "CONNECTION",
  ].map((name): [string, string] => [name, "value"]),
  ...["expect", "te", "trailer", "upgrade", "keep-alive", "proxy-connection"].map(
    (name): [string, string] => [name, "value"],
  ),
];

describe("a header that could break out of its line, or belongs to the transport,", () => {
  test("is one of at least forty in this table", () => expect(FORBIDDEN.length).toBeGreaterThanOrEqual(40));

  for (const [name, value] of FORBIDDEN) {
    test(`is refused at once: ${JSON.stringify(name)}: ${JSON.stringify(value)}`, async () => {
      const receiver = await hostile();
      const { transport } = open();
      const headers: [string, string][] = [
        ["x-fine", "yes"],
        [name, value],
      ];
      expect(() => transport.send({ ...post(receiver.url("/ok")), headers })).toThrow(TypeError);
      expect(transport.stats().connects).toBe(0);
    });
  }

  test("is named by the error, its value is not", () => {
    const request = { ...post(URL_OF_A_HOOK), headers: [["x-token", "secret\n"]] as const };
    expect(() => renderHead(request)).toThrow("the value of the header x-token has a forbidden character");
  });

  for (const method of ["", "POST /", "POST\r\n", "P\u00d6ST"]) {
    test(`the method ${JSON.stringify(method)} alike`, () => {
      expect(() => renderHead({ ...post(URL_OF_A_HOOK), method })).toThrow(TypeError);
    });
  }
});

describe("on the wire", () => {
  test("a request is its line, one host, the caller's headers as given, one content-length, the body", async () => {
    const receiver = await hostile();
    const { send } = open();
    const headers: [string, string][] = [
      ["content-type", "application/json"],
      ["Webhook-Id", "msg_1"],
      ["x-latin", "\u00e4\u00ff"],
      ["x-twice", "1"],
      ["x-twice", "2"],
      ["x-empty", ""],
    ];
    const body = Buffer.from('{"\u00e4":"\u20ac"}');
    expect(short(await send(receiver.url("/ok?a=b%20c#no"), { headers, body }))).toBe("200 ok");
    expect(receiver.requests[0]?.lines).toEqual([
      "POST /ok?a=b%20c HTTP/1.1",
      `host: 127.0.0.1:${receiver.port}`,
      "content-type: application/json",
      "Webhook-Id: msg_1",
      "x-latin: \u00e4\u00ff",
      "x-twice: 1",
      "x-twice: 2",
      "x-empty: ",
      `content-length: ${body.length}`,
    ]);
    expect(receiver.requests[0]?.body).toEqual(body);
  });

  test.each([
    ["POST", "", "content-length: 0"],
    ["PUT", "x", "content-length: 1"],
    ["DELETE", "", "content-length: 0"],
    ["GET", "", undefined],
    ["HEAD", "", undefined],
  ])('%s with the body "%s" says %s', (method, text, expected) => {
    const body = Buffer.from(text);
    const bytes = joinRequest(renderHead({ ...post(URL_OF_A_HOOK), method, body }), body);
    const [line, host, length] = bytes.toString().split("\r\n");
    expect([line, host]).toEqual([`${method} /in?a=b HTTP/1.1`, "host: hooks.example.com:8080"]);
    expect(length || undefined).toBe(expected);
  });

  test("line breaks in a URL are gone before they reach the line", () => {
    const url = new URL("http://a.test/\r\nx: y?\nq=\u00e4 b#c");
    expect(renderHead({ ...post(url), headers: [] })).toStartWith(
      "POST /x:%20y?q=%C3%A4%20b HTTP/1.1\r\nhost: a.test\r\ncontent-length: 2\r\n\r\n",
    );
  });

  test("an address in brackets is vetted and named as it stands", async () => {
    const receiver = await hostile();
    const vetted: string[] = [];
    const guard = createGuard({ allow: [], ownAddresses: [] });
    const transport = keep(
      createTransport({
        monotonic: () => performance.now(),
        guard: {
          ...guard,
          async pin({ hostname }) {
            vetted.push(hostname);
            return { kind: "pinned", address: "127.0.0.1" };
          },
        },
      }),
    );
    const url = new URL(`http://[2606:4700::1]:${receiver.port}/ok`);
    expect(short(await transport.send(post(url)))).toBe("200 ok");
    expect(vetted).toEqual(["[2606:4700::1]"]);
    expect(receiver.requests[0]?.lines[1]).toBe(`host: [2606:4700::1]:${receiver.port}`);
  });
});

describe("a body of 1 MiB", () => {
  const bodies = Array.from({ length: 20 }, (_, index) => Buffer.alloc(1_048_576, `body ${index} `));

  test("arrives whole twenty times at once, and comes back as far as it is kept", async () => {
    const receiver = await hostile();
    const { send } = open();
    const limits = { maxReadBytes: 2_000_000, maxKeepBytes: 2_000_000 };
    const results = await Promise.all(bodies.map((body) => send(receiver.url("/echo"), { body, ...limits })));
    for (const [index, result] of results.entries()) {
      if (result.kind !== "response") throw new Error(short(result));
      expect(result.truncated).toBe(false);
      expect(bodies[index]?.equals(result.body)).toBe(true);
    }
  });

  test("waits for a receiver that reads slowly, and loses nothing", async () => {
    const body = Buffer.concat(bodies);
    const receiver = await answering((socket, request) => {
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n${request.body.equals(body) ? "same" : "else"}`,
      );
    });
    const { send, transport } = open();
    expect(short(await send(receiver.url("/"), { body }))).toBe("200 same");
    expect(short(await send(receiver.url("/"), { body }))).toBe("200 same");
    expect(transport.stats()).toMatchObject({ connects: 1, reused: 1 });
  });
});
