/** The header of W3C Trace Context: read strictly, as its receivers read what is written. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readTraceparent, TRACEPARENT_HEADER, writeTraceparent } from "../../src/core/trace-context.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const read = { traceId: TRACE, spanId: SPAN };

describe("a traceparent", () => {
  test("is read as the specification's examples say (W3C Trace Context, 3.2.2.5)", () => {
    expect(readTraceparent(`00-${TRACE}-${SPAN}-01`)).toEqual({ ...read, isSampled: true });
    expect(readTraceparent(`00-${TRACE}-${SPAN}-00`)).toEqual({ ...read, isSampled: false });
  });

  test("of other flags says by the first bit alone whether it is recorded", () => {
    for (const [flags, isSampled] of [
      ["02", false],
      ["03", true],
      ["fe", false],
      ["ff", true],
    ] as const)
      expect(readTraceparent(`00-${TRACE}-${SPAN}-${flags}`)).toEqual({ ...read, isSampled });
  });

  test.each([
    ["missing", null],
    ["empty", ""],
    ["of another version", `01-${TRACE}-${SPAN}-01`],
    ["of the version that none is", `ff-${TRACE}-${SPAN}-01`],
    ["in upper case", `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ["of no trace", `00-${"0".repeat(32)}-${SPAN}-01`],
    ["of no span", `00-${TRACE}-${"0".repeat(16)}-01`],
    ["without flags", `00-${TRACE}-${SPAN}`],
    ["too short", `00-${TRACE.slice(1)}-${SPAN}-01`],
    ["with a part more", `00-${TRACE}-${SPAN}-01-00`],
    ["with a line break behind it", `00-${TRACE}-${SPAN}-01\n`],
    ["with spaces", ` 00-${TRACE}-${SPAN}-01`],
    ["of no hexadecimal digits", `00-${TRACE.replace("4", "g")}-${SPAN}-01`],
  ])("that is %s is none", (_, text) => {
    expect(readTraceparent(text)).toBeNull();
  });

  test("that comes twice is none, as nobody knows which one is meant", () => {
    const headers = new Headers();
    for (const flags of ["00", "01"]) headers.append(TRACEPARENT_HEADER, `00-${TRACE}-${SPAN}-${flags}`);
    expect(readTraceparent(headers.get(TRACEPARENT_HEADER))).toBeNull();
  });

  test("is written as it is read", () => {
    for (const flags of ["00", "01"]) {
      const text = `00-${TRACE}-${SPAN}-${flags}`;
      const context = readTraceparent(text);
      expect(context && writeTraceparent(context)).toBe(text);
    }
  });

  test("is read back as it was written, and is none where one character is another", () => {
    const digits = (length: number) =>
      fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`)).filter((text) => !/^0+$/.test(text));
    const context = fc.record({ traceId: digits(32), spanId: digits(16), isSampled: fc.boolean() });
    fc.assert(
      fc.property(context, fc.nat(54), fc.constantFrom(..."gAZ_ \n"), (one, at, other) => {
        const text = writeTraceparent(one);
        expect(readTraceparent(text)).toEqual(one);
        expect(readTraceparent(text.slice(0, at) + other + text.slice(at + 1))).toBeNull();
      }),
    );
  });
});
