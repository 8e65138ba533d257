import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseRfc3339 } from "../../src/core/rfc3339.ts";

describe("a time in RFC 3339", () => {
  test("is read back as it was written, whatever its offset", () => {
    const instant = fc.date({
      min: new Date("0001-01-01T00:00:00Z"),
      max: new Date("9998-12-31T00:00:00Z"),
      noInvalidDate: true,
    });
    const minutes = fc.integer({ min: -1439, max: 1439 });
    fc.assert(
      fc.property(instant, minutes, (at, offset) => {
        const local = new Date(at.getTime() + offset * 60_000).toISOString().slice(0, -1);
        const [hh, mm] = [Math.abs(offset) / 60, Math.abs(offset) % 60].map((n) =>
          String(Math.floor(n)).padStart(2, "0"),
        );
        expect(parseRfc3339(`${local}${offset < 0 ? "-" : "+"}${hh}:${mm}`)).toBe(at.getTime());
      }),
    );
  });

  test.each([
    ["2026-11-20T09:00:00.1Z", "2026-11-20T09:00:00.100Z"],
    ["2026-11-20t09:00:00.123999z", "2026-11-20T09:00:00.123Z"],
    ["2026-11-20T09:00:00-00:00", "2026-11-20T09:00:00.000Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
    ["2016-12-31T18:59:60-05:00", "2017-01-01T00:00:00.000Z"],
  ])("%p is %p", (text, iso) => {
    expect(new Date(parseRfc3339(text) ?? Number.NaN).toISOString()).toBe(iso);
  });

  test.each([
    "",
    "2026-11-20",
    "2026-11-20T09:00Z",
    "2026-11-20T09:00:00",
    "2026-11-20 09:00:00Z",
    "2026-11-20T09:00:00.Z",
    "2026-11-20T09:00:00+0100",
    "2026-11-20T09:00:00+24:00",
    "2026-11-20T09:60:00Z",
    "2026-11-20T24:00:00Z",
    "2026-11-20T12:00:60Z",
    "2026-13-01T00:00:00Z",
    "2025-02-29T00:00:00Z",
    "9999-12-31T23:59:59-00:01",
    "0000-01-01T00:00:00+00:01",
    " 2026-11-20T09:00:00Z",
  ])("is not %p", (text) => {
    expect(parseRfc3339(text)).toBeNull();
  });
});
