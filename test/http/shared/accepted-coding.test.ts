import { expect, test } from "bun:test";
import { acceptedCoding } from "../../../src/http/shared/accepted-coding.ts";

const taken = (header?: string) =>
  acceptedCoding(
    new Request("http://a", { headers: header === undefined ? {} : { "accept-encoding": header } }),
    ["br", "gzip"],
  );

test.each<[string, "br" | "gzip" | undefined]>([
  ["gzip, deflate, br, zstd", "br"],
  ["gzip;q=1.0", "gzip"],
  ["GZip", "gzip"],
  ["BR;Q=0.5", "br"],
  ["br;q=0, gzip", "gzip"],
  ["br ; q=0.000 , gzip;q=0.001", "gzip"],
  ["gzip;q=0", undefined],
  ["*", "br"],
  ["br;q=0, *", "gzip"],
  ["*;q=0, gzip", "gzip"],
  ["*;q=0", undefined],
  ["identity", undefined],
  ["x-gzipped, brotli", undefined],
  ["gzip;q=x", undefined],
  ["", undefined],
  [`${"x,".repeat(20)}br`, undefined],
])("of what %p names, %p is sent", (header, coding) => {
  expect(taken(header)).toBe(coding);
});

test("who names none takes none", () => {
  expect(taken()).toBeUndefined();
});
