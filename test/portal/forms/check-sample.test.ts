/** A pasted request: read however it was pasted, and judged in spite of what pasting did to it. */
import { describe, expect, test } from "bun:test";
import { checkSample, type Sample, timesIn, variantsOf } from "../../../src/portal/forms/check-sample.ts";
import { readHeaders, readRequest } from "../../../src/portal/display/raw-request.ts";

describe("a whole request", () => {
  test("has a line, headers, an empty line and the body exactly as it stands", () => {
    const text = '\nPOST /ingest/src_1?a=1&b HTTP/1.1\nHost: x\nX-Signature:  t=1,v1=ab \n\n{"a":\n\n 1}\n';
    expect(readRequest(text)).toEqual({
      method: "POST",
      search: "?a=1&b",
      headers: { host: "x", "x-signature": "t=1,v1=ab" },
      body: '{"a":\n\n 1}\n',
    });
  });

  test("may lack its first line, and its body", () => {
    const bare = { method: "POST", search: "", headers: { "x-a": "1" }, body: "" };
    expect(readRequest("X-A: 1")).toEqual(bare);
    expect(readRequest("GET /?c=2 HTTP/2\nX-A: 1\n\n")).toEqual({ ...bare, method: "GET", search: "?c=2" });
  });

  test.each([
    ["", 0],
    ["POST / HTTP/1.1\nHost: x\nno header at all\n\n{}", 3],
    ['{"only": "a body"}', 1],
    ["\n\nPOST / HTTP/1.1\nbroken\n\n", 4],
  ])("%j cannot be read, and the line is named", (text, line) => {
    expect(readRequest(text)).toEqual({ line });
  });
});

describe("headers", () => {
  test("are lines, those that come twice joined, or a JSON object as logs have it", () => {
    expect(readHeaders("A: 1\nb: 2\na: 3\n")).toEqual({ read: { a: "1, 3", b: "2" } });
    expect(readHeaders('{"X-A": "1", "b": ["2", "3"], "c": 4}')).toEqual({
      read: { "X-A": "1", b: "2, 3", c: "4" },
    });
  });

  test("are named as they are, also as a field that every object has", () => {
    expect(readHeaders("constructor: 1\n__proto__: 2\n")).toEqual({
      read: Object.fromEntries([
        ["constructor", "1"],
        ["__proto__", "2"],
      ]),
    });
  });

  test.each([
    ["  ", 0],
    ["a: 1\nnone", 2],
    ["[1]", 1],
  ])("%j are none", (text, line) => {
    expect(readHeaders(text)).toEqual({ line });
  });
});

describe("judging", () => {
  const SIGNED_AT = 1_767_322_045;
  const genuine = { headers: { sig: `t=${SIGNED_AT},v1=ab` }, body: '{"a":1}\n', method: "POST" };

  /** A source that takes this body alone, within five minutes. */
  const sourceOf = (now: number, signed = genuine.body) => {
    const asked: Sample[] = [];
    const ask = async (sample: Sample) => {
      asked.push(sample);
      const at = sample.at === undefined ? now : Date.parse(sample.at);
      if (Math.abs(at - SIGNED_AT * 1000) > 300_000) return { verified: false, reason: "stale_timestamp" };
      return sample.body === signed
        ? { verified: true, reason: null }
        : { verified: false, reason: "bad_signature" };
    };
    return { ask, asked };
  };
  const soon = SIGNED_AT * 1000 + 1000;
  const later = soon + 86_400_000;

  test("asks once where there is nothing to find out", async () => {
    const { ask, asked } = sourceOf(soon);
    expect(await checkSample(genuine, ask)).toEqual({
      verified: true,
      reason: null,
      at: null,
      variant: null,
    });
    expect(asked).toHaveLength(1);
    const refuse = async () => ({ verified: false, reason: "missing_header" });
    expect(await checkSample(genuine, refuse)).toMatchObject({ verified: false, reason: "missing_header" });
  });

  test.each([
    ["shorter", '{"a":1}', '{"a":1}\n\n'],
    ["longer", '{"a":1}\n', '{"a":1}'],
    ["crlf", '{\r\n"a":1}', '{\n"a":1}'],
    ["compact", '{"a":1}', '{\n  "a": 1\n}'],
  ])("finds what pasting did: %s", async (variant, signed, body) => {
    const { ask } = sourceOf(soon, signed);
    expect(await checkSample({ ...genuine, body }, ask)).toMatchObject({ verified: true, variant });
  });

  test("an old one is judged at its own time, and its body all the same", async () => {
    const at = new Date(SIGNED_AT * 1000).toISOString();
    expect(await checkSample(genuine, sourceOf(later).ask)).toMatchObject({ verified: true, at });
    const altered = { ...genuine, body: '{"a":1}' };
    expect(await checkSample(altered, sourceOf(later).ask)).toMatchObject({
      verified: true,
      at,
      variant: "longer",
    });
    const forged = { ...genuine, body: '{"a":2}' };
    expect(await checkSample(forged, sourceOf(later).ask)).toMatchObject({
      verified: false,
      reason: "bad_signature",
      at,
    });
    const timeless = { ...genuine, headers: { sig: "v1=ab" } };
    expect(await checkSample(timeless, sourceOf(later).ask)).toMatchObject({
      reason: "stale_timestamp",
      at: null,
    });
  });

  test("times are seconds, milliseconds or written out, of the headers first, a few at most", () => {
    const headers = { a: "t=1767322045,v1=0123456789abcdef", b: "2026-01-02T03:04:05Z" };
    expect(timesIn({ headers, body: '{"created": 1767322046000}' })).toEqual([
      "2026-01-02T02:47:25.000Z",
      "2026-01-02T03:04:05.000Z",
      "2026-01-02T02:47:26.000Z",
    ]);
    const body = Array.from({ length: 50 }, (_, at) => 1_700_000_000 + at).join(" ");
    expect(timesIn({ headers: {}, body })).toHaveLength(6);
  });

  test("a body has no variant that is itself", () => {
    expect(variantsOf("plain").map(([name]) => name)).toEqual(["longer"]);
  });
});
