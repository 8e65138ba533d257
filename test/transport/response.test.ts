import { describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { ResponseParser } from "../../src/transport/response.ts";

const LIMITS = { method: "POST", maxReadBytes: 64, maxKeepBytes: 16 };
const HEAD = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${HEAD}transfer-encoding: chunked\r\n\r\n`;

interface Case {
  name: string;
  wire: string;
  /** How the connection ends after the bytes; by default it stays open. */
  end?: "closed" | "reset";
  method?: string;
  want: Outcome;
}

/** What a parser came to: `open` means that it waits for more. */
type Outcome =
  | { is: "open" }
  | { is: "failed"; failure: string }
  | { is: "done"; status: number; body: string; truncated: boolean; reusable: boolean };

const open: Outcome = { is: "open" };
const invalid: Outcome = { is: "failed", failure: "invalid_response" };
const tooLarge: Outcome = { is: "failed", failure: "head_too_large" };
const whole = (body: string, reusable = true, status = 200): Outcome => ({
  is: "done",
  status,
  body,
  truncated: false,
  reusable,
});
const cut = (body: string, reusable = false): Outcome => ({
  is: "done",
  status: 200,
  body,
  truncated: true,
  reusable,
});

function withLength(length: number | string, body: string): string {
  return `${HEAD}content-length: ${length}\r\n\r\n${body}`;
}

const CASES: Case[] = [
  { name: "a body of the announced length", wire: withLength(2, "ok"), want: whole("ok") },
  { name: "an empty body", wire: withLength(0, ""), want: whole("") },
  { name: "128 headers", wire: `${HEAD}${"a:\n".repeat(127)}content-length: 0\n\n`, want: whole("") },
  { name: "a header more", wire: `${HEAD}${"a:\n".repeat(128)}content-length: 0\n\n`, want: tooLarge },
  { name: "as many lines as fit", wire: `${HEAD}${"a:\n".repeat(5440)}\n`, want: tooLarge },
  {
    name: "a connection header of very many members",
    wire: `${HEAD}connection: ${",".repeat(1025)}\ncontent-length: 0\n\n`,
    want: invalid,
  },
  { name: "a body still to come", wire: withLength(3, "ok"), want: open },
  { name: "a body broken off by closing", wire: withLength(3, "ok"), end: "closed", want: cut("ok") },
  { name: "a body broken off by a reset", wire: withLength(3, "ok"), end: "reset", want: cut("ok") },
  { name: "bytes behind the answer", wire: withLength(2, "okHTTP/1.1 200"), want: whole("ok", false) },
  {
    name: "a body above what is kept",
    wire: withLength(20, "a".repeat(20)),
    want: cut("a".repeat(16), true),
  },
  {
    name: "a body of exactly what is kept",
    wire: withLength(16, "a".repeat(16)),
    want: whole("a".repeat(16)),
  },
  {
    name: "a body of exactly what is read",
    wire: withLength(64, "a".repeat(64)),
    want: cut("a".repeat(16), true),
  },
  { name: "a body above what is read", wire: withLength(65, "a".repeat(64)), want: cut("a".repeat(16)) },
  {
    name: "a length of many digits",
    wire: withLength("9".repeat(40), "a".repeat(64)),
    want: cut("a".repeat(16)),
  },
  { name: "a body until the end", wire: `${HEAD}\r\nbye`, end: "closed", want: whole("bye", false) },
  { name: "a body until a reset", wire: `${HEAD}\r\nbye`, end: "reset", want: cut("bye") },
  { name: "a body without an end in sight", wire: `${HEAD}\r\nbye`, want: open },
  { name: "a body until the end, too long", wire: `${HEAD}\r\n${"a".repeat(65)}`, want: cut("a".repeat(16)) },

  {
    name: "two equal lengths",
    wire: `${HEAD}content-length: 2\r\nContent-Length: 2\r\n\r\nok`,
    want: whole("ok"),
  },
  { name: "two equal lengths in one line", wire: withLength("2, 2", "ok"), want: whole("ok") },
  {
    name: "two lengths that differ",
    wire: `${HEAD}content-length: 2\r\ncontent-length: 3\r\n\r\nok!`,
    want: invalid,
  },
  { name: "two lengths that differ in one line", wire: withLength("2, 3", "ok"), want: invalid },
  ...["-1", "+2", "0x2", "2.0", "2 2", "two", "", "2,"].map(
    (length): Case => ({ name: `the length "${length}"`, wire: withLength(length, "ok"), want: invalid }),
  ),
  { name: "a wrong length on 204", wire: "HTTP/1.1 204 No\r\ncontent-length: x\r\n\r\n", want: invalid },

  { name: "204 has no body", wire: "HTTP/1.1 204 No\r\n\r\n", want: whole("", true, 204) },
  {
    name: "304 has none, whatever its length",
    wire: "HTTP/1.1 304 No\r\ncontent-length: 9\r\n\r\n",
    want: whole("", true, 304),
  },
  { name: "204 with a body all the same", wire: "HTTP/1.1 204 No\r\n\r\nbody", want: whole("", false, 204) },
  { name: "HEAD has none", wire: withLength(9, ""), method: "HEAD", want: whole("") },

  {
    name: "informational heads",
    wire: `HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 E\r\na: b\r\n\r\n${withLength(2, "ok")}`,
    want: whole("ok"),
  },
  { name: "an informational head alone", wire: "HTTP/1.1 100 Continue\r\n\r\n", want: open },
  {
    name: "eight informational heads",
    wire: `${"HTTP/1.1 102 P\r\n\r\n".repeat(8)}${withLength(2, "ok")}`,
    want: whole("ok"),
  },
  {
    name: "an informational head more",
    wire: `${"HTTP/1.1 102 P\r\n\r\n".repeat(9)}${withLength(2, "ok")}`,
    want: tooLarge,
  },
  {
    name: "an informational head, of which only the status is read",
    wire: `HTTP/1.1 103\nno colon\n\n${withLength(2, "ok")}`,
    want: whole("ok"),
  },
  { name: "an informational status of four digits", wire: "HTTP/1.1 1000 X\r\n\r\n", want: invalid },
  { name: "endless informational heads", wire: "HTTP/1.1 102 P\r\n\r\n".repeat(1000), want: tooLarge },
  { name: "a switch of protocols", wire: "HTTP/1.1 101 S\r\n\r\n", want: invalid },

  {
    name: "connection: close",
    wire: `${HEAD}Connection: Close\r\ncontent-length: 2\r\n\r\nok`,
    want: whole("ok", false),
  },
  {
    name: "connection with more members",
    wire: `${HEAD}connection: x, close\r\ncontent-length: 2\r\n\r\nok`,
    want: whole("ok", false),
  },
  {
    name: "HTTP/1.0",
    wire: "HTTP/1.0 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nok",
    want: whole("ok", false),
  },

  { name: "chunks", wire: `${CHUNKED}2\r\nok\r\n3;a="b"\r\nay!\r\n0\r\n\r\n`, want: whole("okay!") },
  {
    name: "chunks with trailers",
    wire: `${CHUNKED}2\r\nok\r\n0\r\nx-sum: 1\r\nx-b: 2\r\n\r\n`,
    want: whole("ok"),
  },
  {
    name: "an upper-case size with zeros",
    wire: `${CHUNKED}00A\r\n0123456789\r\n000\r\n\r\n`,
    want: whole("0123456789"),
  },
  {
    name: "chunks above what is kept",
    wire: `${CHUNKED}14\r\n${"a".repeat(20)}\r\n0\r\n\r\n`,
    want: cut("a".repeat(16), true),
  },
  {
    name: "chunks above what is read",
    wire: `${CHUNKED}ff\r\n${"a".repeat(255)}\r\n0\r\n\r\n`,
    want: cut("a".repeat(16)),
  },
  {
    name: "chunks framed by as many bytes as are read",
    wire: `${CHUNKED}${"1\r\na\r\n".repeat(11)}0;x\r\n\r\n`,
    want: whole("a".repeat(11)),
  },
  {
    name: "chunks framed by more bytes than are read",
    wire: `${CHUNKED}${"1\r\na\r\n".repeat(20)}0\r\n\r\n`,
    want: cut("a".repeat(13)),
  },
  { name: "chunks without an end", wire: `${CHUNKED}2\r\nok\r\n`, want: open },
  { name: "chunks broken off", wire: `${CHUNKED}9\r\nok`, end: "closed", want: cut("ok") },
  { name: "bytes behind the last chunk", wire: `${CHUNKED}2\r\nok\r\n0\r\n\r\nx`, want: whole("ok", false) },
  ...[
    "zz\r\n",
    "\r\n",
    "-2\r\n",
    "0x2\r\n",
    " 2\r\n",
    "2 x\r\n",
    "2\n",
    "12\n",
    "123456789\r\n",
    "2;\x01\r\n",
  ].map(
    (line): Case => ({
      name: `the size line ${JSON.stringify(line)}`,
      wire: `${CHUNKED}2\r\nok\r\n${line}`,
      want: cut("ok"),
    }),
  ),
  { name: "a chunk longer than its size", wire: `${CHUNKED}2\r\nokay\r\n`, want: cut("ok") },
  { name: "an endless extension", wire: `${CHUNKED}2;${"x".repeat(2000)}`, want: cut("") },
  { name: "a last line that ends in LF alone", wire: `${CHUNKED}2\r\nok\r\n0\r\n\n`, want: cut("ok") },
  { name: "endless trailers", wire: `${CHUNKED}0\r\n${"a: b\r\n".repeat(100)}`, want: cut("") },
  {
    name: "chunks and a length: the chunks count, and the connection ends",
    wire: `${HEAD}content-length: 99\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
    want: whole("ok", false),
  },
  {
    name: "chunks and a wrong length",
    wire: `${HEAD}content-length: x\r\ntransfer-encoding: chunked\r\n\r\n`,
    want: invalid,
  },
  {
    name: "another coding under the chunks",
    wire: `${HEAD}transfer-encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
    want: whole("ok", false),
  },
  {
    name: "another coding alone",
    wire: `${HEAD}transfer-encoding: gzip\r\n\r\nzip`,
    end: "closed",
    want: whole("zip", false),
  },

  { name: "lines that end in LF alone", wire: "HTTP/1.1 200 OK\ncontent-length: 2\n\nok", want: whole("ok") },
  { name: "a status without a reason", wire: "HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n", want: whole("") },
  { name: "white space around a value", wire: `${HEAD}content-length:  \t2 \r\n\r\nok`, want: whole("ok") },
  {
    name: "a head of 16 KiB",
    wire: `${HEAD}content-length: 0\r\nx: ${"x".repeat(16_341)}\r\n\r\n`,
    want: whole(""),
  },
  {
    name: "a head of 16 KiB and a byte",
    wire: `${HEAD}content-length: 0\r\nx: ${"x".repeat(16_342)}\r\n\r\n`,
    want: tooLarge,
  },
  { name: "an endless header", wire: `${HEAD}x: ${"x".repeat(20_000)}`, want: tooLarge },
  { name: "half a head", wire: `${HEAD}content-le`, want: open },
  { name: "half a head, then the end", wire: `${HEAD}content-le`, end: "closed", want: open },
  ...["SSH-2.0-x\r\n", "HTTP/2 200\r\n", "\r\n", "\x16\x03\x01", "http/1.1 200 OK\r\n\r\n"].map(
    (wire): Case => ({ name: `the beginning ${JSON.stringify(wire)}`, wire, want: invalid }),
  ),
  ...[
    "HTTP/1.1 99 X",
    "HTTP/1.1 2000 X",
    "HTTP/1.1 099 X",
    "HTTP/1.1  200 X",
    "HTTP/1.1 200X",
    "HTTP/1.x 200 X",
  ].map((line): Case => ({ name: `the status line "${line}"`, wire: `${line}\r\n\r\n`, want: invalid })),
  ...["no colon", "a : b", ": b", " folded", "a\x00: b", "a: b\x00", "a: b\rc", "ä: b"].map(
    (line): Case => ({
      name: `the header line ${JSON.stringify(line)}`,
      wire: `${HEAD}a: b\r\n${line}\r\n\r\n`,
      want: invalid,
    }),
  ),
];

function run({ wire, end, method = "POST" }: Case, sizes: number[]): Outcome {
  const parser = new ResponseParser({ ...LIMITS, method });
  const bytes = Buffer.from(wire, "latin1");
  let offset = 0;
  for (let index = 0; offset < bytes.length; index++) {
    const size = sizes[index % sizes.length] ?? 1;
    parser.push(bytes.subarray(offset, offset + size));
    offset += size;
  }
  if (end !== undefined) parser.end(end === "closed");
  if (parser.state === "failed") return { is: "failed", failure: parser.failure };
  if (parser.state !== "done") return { is: "open" };
  const { status, body, truncated } = parser.response();
  return {
    is: "done",
    status,
    body: Buffer.from(body).toString("latin1"),
    truncated,
    reusable: parser.isReusable,
  };
}

describe("an answer is read alike, however its bytes are cut", () => {
  for (const example of CASES) {
    test(example.name, () => {
      expect(run(example, [1_000_000])).toEqual(example.want);
      expect(run(example, [1])).toEqual(example.want);
      const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 });
      fc.assert(
        fc.property(sizes, (some) => expect(run(example, some)).toEqual(example.want)),
        { numRuns: 20, seed: 7 },
      );
    });
  }
});

describe("the parser", () => {
  test("keeps headers in their order, names in lower case, values in Latin-1", () => {
    const parser = new ResponseParser(LIMITS);
    parser.push(
      Buffer.from(
        `${HEAD}Set-Cookie: a=1\r\nX: \xe4\r\nset-cookie: b=2\r\ncontent-length: 0\r\n\r\n`,
        "latin1",
      ),
    );
    expect(parser.response().headers).toEqual([
      ["set-cookie", "a=1"],
      ["x", "ä"],
      ["set-cookie", "b=2"],
      ["content-length", "0"],
    ]);
  });

  test("knows whether anything has come at all", () => {
    const parser = new ResponseParser(LIMITS);
    expect(parser.hasStarted).toBe(false);
    parser.push(Buffer.from("H"));
    expect(parser.hasStarted).toBe(true);
  });

  test("counts bytes that come after the answer was complete", () => {
    const parser = new ResponseParser(LIMITS);
    parser.push(Buffer.from(withLength(2, "ok")));
    expect(parser.isReusable).toBe(true);
    parser.push(Buffer.from("HTTP/1.1 200 OK\r\n\r\n"));
    expect(parser.isReusable).toBe(false);
    expect(Buffer.from(parser.response().body).toString()).toBe("ok");
  });

  test("looks at each byte of a head once, however small the pieces are that it comes in", () => {
    using exec = spyOn(RegExp.prototype, "exec");
    const parser = new ResponseParser(LIMITS);
    const head = Buffer.from(`${HEAD}x: ${"a".repeat(16_000)}\r\ncontent-length: 0\r\n\r\n`);
    for (let at = 0; at < head.length; at++) parser.push(head.subarray(at, at + 1));
    expect(parser.state).toBe("done");
    const searched = exec.mock.calls.reduce((sum, [text]) => sum + text.length, 0);
    expect(searched).toBeLessThanOrEqual(5 * head.length);
  });

  test("reads a body of a hundred small chunks whole, and uses its connection again", () => {
    const parser = new ResponseParser({ method: "POST", maxReadBytes: 65_536, maxKeepBytes: 16_384 });
    parser.push(Buffer.from(`${CHUNKED}${"3;name=value\r\nabc\r\n".repeat(100)}0\r\n\r\n`));
    const { body, truncated } = parser.response();
    expect({ body: Buffer.from(body).toString(), truncated }).toEqual({
      body: "abc".repeat(100),
      truncated: false,
    });
    expect(parser.isReusable).toBe(true);
  });

  for (const [name, unit] of [
    ["bytes", "1\r\na\r\n"],
    ["bytes with an extension", `1;${"x".repeat(200)}\r\na\r\n`],
  ] as const) {
    test(`reads of chunks of single ${name} at most 8 KiB, and makes nothing of each`, () => {
      const parser = new ResponseParser({ method: "POST", maxReadBytes: 65_536, maxKeepBytes: 16_384 });
      parser.push(Buffer.from(CHUNKED));
      const piece = Buffer.from(unit.repeat(10));
      using texts = spyOn(Buffer.prototype, "toString");
      using views = spyOn(Buffer.prototype, "subarray");
      let read = 0;
      for (; read < 20_000_000 && parser.state === "body"; read += piece.length) parser.push(piece);
      expect(read).toBeLessThanOrEqual(2 * 4096 + piece.length);
      expect(texts.mock.calls.length + views.mock.calls.length).toBe(0);
      expect(parser.response().truncated).toBe(true);
    });
  }

  test("keeps a body that comes byte by byte in one buffer, no longer than what is kept", () => {
    using buffers = spyOn(Buffer, "alloc");
    using views = spyOn(Buffer.prototype, "subarray");
    const parser = new ResponseParser({ method: "POST", maxReadBytes: 65_536, maxKeepBytes: 16_384 });
    parser.push(Buffer.from(withLength(20_000, "")));
    for (let at = 0; at < 20_000; at++) parser.push(Buffer.from([at % 251]));
    const { body, truncated } = parser.response();
    expect(truncated).toBe(true);
    const sent = Buffer.from(Array.from({ length: 16_384 }, (_, at) => at % 251));
    expect(sent.equals(body)).toBe(true);
    expect(body.buffer.byteLength).toBeLessThanOrEqual(16_384);
    expect(buffers.mock.calls.length + views.mock.calls.length).toBeLessThanOrEqual(20);
  });

  test("survives any bytes, and comes to the same end however they are cut", () => {
    const pieces = fc.array(
      fc.constantFrom(
        HEAD,
        "\r\n",
        "\n",
        "content-length: 2",
        ": ",
        "transfer-encoding: chunked",
        "0",
        "2",
        "ok",
        "\x00",
      ),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(pieces, fc.integer({ min: 1, max: 9 }), (some, size) => {
        const example: Case = { name: "", wire: some.join(""), end: "closed", want: open };
        expect(run(example, [size])).toEqual(run(example, [1_000_000]));
      }),
      { numRuns: 2_000, seed: 7 },
    );
  });
});
