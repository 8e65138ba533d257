import { describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { ChunkedDecoder } from "../../src/transport/chunked.ts";

const TEXT = "[\\t\\x20-\\x7e\\x80-\\xff]";
const SIZE_LINE = new RegExp(`^([0-9a-fA-F]{1,8})(?:[\\t ]*;${TEXT}*)?\\r\\n`);
const TRAILERS = new RegExp(`^(?:${TEXT}+\\r\\n)*\\r\\n`);

/** What a reading came to: `unread` tells the bytes behind the end, null where there is no end. */
interface Reading {
  data: string;
  unread: string | null;
}

/** Another reading of the same grammar: of the whole text, by regular expressions. */
function readWhole(wire: string): Reading {
  let data = "";
  let rest = wire;
  for (;;) {
    const [line, digits] = SIZE_LINE.exec(rest) ?? [];
    if (line === undefined || digits === undefined) return { data, unread: null };
    rest = rest.slice(line.length);
    const size = Number.parseInt(digits, 16);
    if (size === 0) break;
    data += rest.slice(0, size);
    if (!rest.slice(size).startsWith("\r\n")) return { data, unread: null };
    rest = rest.slice(size + 2);
  }
  const trailers = TRAILERS.exec(rest)?.[0];
  return { data, unread: trailers === undefined ? null : rest.slice(trailers.length) };
}

/** Reads the wire in pieces of these sizes, all of it or up to the end of the body. */
function decode(
  wire: string,
  sizes: number[],
  decoder = new ChunkedDecoder(Number.POSITIVE_INFINITY),
): Reading {
  const bytes = Buffer.from(wire, "latin1");
  let data = "";
  let offset = 0;
  for (let index = 0; offset < bytes.length && !isOver(decoder); index++) {
    const piece = bytes.subarray(offset, offset + (sizes[index % sizes.length] ?? 1));
    const unread = decoder.push(piece, (from, start, end) => {
      data += from.toString("latin1", start, end);
      return true;
    });
    offset += piece.length - unread;
  }
  return { data, unread: decoder.state === "done" ? bytes.toString("latin1", offset) : null };
}

function isOver({ state }: ChunkedDecoder): boolean {
  return state === "done" || state === "cut";
}

const text = fc.string({ unit: fc.constantFrom("a", "é", "1", ";", "=", '"', " ", "\t"), maxLength: 6 });
const extension = fc.oneof(
  fc.constant(""),
  fc.tuple(fc.constantFrom("", " ", "\t "), text).map(([blank, some]) => `${blank};${some}`),
);
const chunk = fc
  .record({
    data: fc.string({ unit: fc.constantFrom("a", "\r", "\n", "0", "\xff"), minLength: 1, maxLength: 40 }),
    zeros: fc.integer({ min: 0, max: 6 }),
    isUpper: fc.boolean(),
    extension,
  })
  .map(({ data, zeros, isUpper, extension: behind }) => {
    const digits = "0".repeat(zeros) + data.length.toString(16);
    return { data, wire: `${isUpper ? digits.toUpperCase() : digits}${behind}\r\n${data}\r\n` };
  });
const last = fc
  .tuple(fc.constantFrom("0", "000", "00000000"), extension, fc.array(text.filter((some) => some !== "")))
  .map(([size, behind, lines]) => `${size}${behind}\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`);
const framed = fc.tuple(fc.array(chunk, { maxLength: 8 }), last).map(([chunks, end]) => ({
  data: chunks.map(({ data }) => data).join(""),
  wire: chunks.map(({ wire }) => wire).join("") + end,
}));
const pieceSizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 });
const PROPERTY = { numRuns: 2_000, seed: 7 };

describe("a chunked body", () => {
  test("is read as it was framed, however it was, and wherever its bytes are cut", () => {
    fc.assert(
      fc.property(
        framed,
        fc.constantFrom("", "\r\n", "HTTP"),
        pieceSizes,
        ({ data, wire }, behind, sizes) => {
          expect(decode(wire + behind, sizes)).toEqual({ data, unread: behind });
          expect(readWhole(wire + behind)).toEqual({ data, unread: behind });
        },
      ),
      PROPERTY,
    );
  });

  test("is neither over nor wrong after any part of it", () => {
    fc.assert(
      fc.property(framed, ({ wire }) => {
        const decoder = new ChunkedDecoder(wire.length);
        for (let at = 0; at < wire.length; at++) {
          expect(isOver(decoder)).toBe(false);
          decode(wire.slice(at, at + 1), [1], decoder);
        }
        expect(decoder.state).toBe("done");
      }),
      { ...PROPERTY, numRuns: 500 },
    );
  });

  test("is read by its grammar where a byte of it is another, is missing, or is one too many", () => {
    const change = fc.record({
      at: fc.nat(400),
      removed: fc.nat(1),
      put: fc.constantFrom(
        "",
        "\r",
        "\n",
        "\r\n",
        "0",
        "2",
        "g",
        ";",
        " ",
        "\t",
        "\x00",
        "\x7f",
        "\xff",
        "00000000",
      ),
    });
    fc.assert(
      fc.property(framed, fc.array(change, { maxLength: 3 }), pieceSizes, ({ wire }, changes, sizes) => {
        let changed = wire;
        for (const { at, removed, put } of changes) {
          const place = at % (changed.length + 1);
          changed = changed.slice(0, place) + put + changed.slice(place + removed);
        }
        expect(decode(changed, sizes)).toEqual(readWhole(changed));
      }),
      { ...PROPERTY, numRuns: 10_000 },
    );
  });
});

describe("what chunks a body", () => {
  test("takes as many bytes as it may, and not one more", () => {
    const exact = new ChunkedDecoder(11);
    expect(decode("1;x\r\na\r\n0\r\n\r\n", [3], exact)).toEqual({ data: "a", unread: null });
    expect(exact.state).toBe("cut");
    expect(decode("1\r\na\r\n0;\r\n\r\n", [3], new ChunkedDecoder(11))).toEqual({ data: "a", unread: "" });
  });

  for (const [name, unit] of [
    ["chunks of one byte", "1\r\na\r\n"],
    ["sizes with zeros", "00000001\r\na\r\n"],
    ["extensions", `1;${"x".repeat(200)}\r\na\r\n`],
    ["one extension", `1;${"x".repeat(100_000)}`],
    ["trailers", `0\r\n${"a: b\r\n".repeat(20_000)}`],
  ] as const) {
    test(`takes no more: ${name}`, () => {
      const decoder = new ChunkedDecoder(10_000);
      const wire = Buffer.from(unit.repeat(Math.ceil(100_000 / unit.length)));
      let dataBytes = 0;
      const unread = decoder.push(wire, (_, start, end) => {
        dataBytes += end - start;
        return true;
      });
      expect(decoder.state).toBe("cut");
      expect(wire.length - unread).toBe(10_000 + dataBytes + Math.floor(dataBytes / 16));
    });
  }

  test("may take a sixteenth of the data besides, wherever the bytes are cut", () => {
    const wireOf = (size: number) =>
      `${`${size.toString(16)}\r\n${"a".repeat(size)}\r\n`.repeat(500)}0\r\n\r\n`;
    for (const sizes of [[1], [7, 100], [1_000_000]]) {
      const free = decode(wireOf(96), sizes, new ChunkedDecoder(20));
      expect({ bytes: free.data.length, unread: free.unread }).toEqual({ bytes: 96 * 500, unread: "" });
      const dear = decode(wireOf(80), sizes, new ChunkedDecoder(20));
      expect({ bytes: dear.data.length, unread: dear.unread }).toEqual({ bytes: 80 * 17, unread: null });
    }
  });

  test("makes neither text nor a view of the bytes", () => {
    using texts = spyOn(Buffer.prototype, "toString");
    using views = spyOn(Buffer.prototype, "subarray");
    using searches = spyOn(RegExp.prototype, "exec");
    const decoder = new ChunkedDecoder(100_000);
    decoder.push(Buffer.from(`${"1;x\r\na\r\n".repeat(10_000)}0\r\na: b\r\n\r\n`), () => true);
    expect(decoder.state).toBe("done");
    expect(texts.mock.calls.length + views.mock.calls.length + searches.mock.calls.length).toBe(0);
  });

  test("is read no further once no data is wanted", () => {
    const decoder = new ChunkedDecoder(1_000);
    let taken = 0;
    const unread = decoder.push(Buffer.from("1\r\na\r\n1\r\nb\r\n0\r\n\r\n"), () => {
      taken += 1;
      return false;
    });
    expect({ taken, unread, state: decoder.state }).toEqual({ taken: 1, unread: 13, state: "cut" });
    expect(decoder.push(Buffer.from("1\r\nc\r\n"), () => true)).toBe(6);
  });
});
