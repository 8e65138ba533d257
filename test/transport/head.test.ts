import { describe, expect, spyOn, test } from "bun:test";
import { isInformational } from "../../src/transport/head.ts";
import { ResponseParser } from "../../src/transport/response.ts";

const LIMITS = { method: "POST", maxReadBytes: 64, maxKeepBytes: 16 };
const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

describe("heads before the final one", () => {
  for (const [line, want] of [
    ["HTTP/1.1 100 Continue\r\n", true],
    ["HTTP/1.0 103\r\n", true],
    ["HTTP/1.1 199\n", true],
    ["HTTP/1.1 101 Switching Protocols\r\n", false],
    ["HTTP/1.1 1000 X\r\n", false],
    ["HTTP/1.1 100X\r\n", false],
    ["HTTP/1.1 100\rX\n", false],
    ["HTTP/1.1 200 OK\r\n", false],
  ] as const) {
    test(`${JSON.stringify(line)} begins ${want ? "one" : "none"} of them`, () => {
      expect(isInformational(`${line}\r\n`)).toBe(want);
    });
  }

  test("makes text of each byte of its heads once, however many heads come in one piece", () => {
    const early = `HTTP/1.1 103 E\r\nlink: ${"x".repeat(1900)}\r\n\r\n`;
    const heads = Buffer.from(`${early.repeat(8)}${OK}`);
    const parser = new ResponseParser(LIMITS);
    using texts = spyOn(Buffer.prototype, "toString");
    parser.push(heads);
    const read = texts.mock.results.reduce((sum, { value }) => sum + String(value).length, 0);
    expect(parser.state).toBe("done");
    expect(read).toBeLessThanOrEqual(heads.length);
  });

  test("reads of informational heads no header, and keeps none of them", () => {
    const early = (at: number) => `HTTP/1.1 103 ${at}\r\nx-${at}: ${at}\r\n\r\n`;
    const heads = Array.from({ length: 1000 }, (_, at) => Buffer.from(early(at)));
    using kept = spyOn(Map.prototype, "set");
    using lines = spyOn(String.prototype, "split");
    let parser = new ResponseParser(LIMITS);
    let skipped = 0;
    for (const head of heads) {
      parser.push(head);
      if (parser.state === "head") skipped += 1;
      else parser = new ResponseParser(LIMITS);
    }
    expect(skipped).toBe(1000 - 111);
    expect(kept.mock.calls.length + lines.mock.calls.length).toBe(0);
  });
});
