/** Bytes become text by one strict decoder, so that what is verified is what came. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { decodeUtf8, readableText } from "../../src/inbound/utf8.ts";

test("bytes that are no UTF-8 are no text, and a mark of the byte order is a part of it", () => {
  expect(decodeUtf8(Buffer.from("\uFEFFé"))).toBe("\uFEFFé");
  for (const bytes of [Buffer.of(0xff), Buffer.of(0xc3), Buffer.of(0xed, 0xa0, 0x80)])
    expect(decodeUtf8(bytes)).toBeNull();
  expect(readableText(Buffer.of(0x61, 0xff))).toBe("a\uFFFD");
});

test("nothing else of the room decodes bytes in a way of its own", async () => {
  const room = join(import.meta.dir, "../../src/inbound");
  const names = [...new Bun.Glob("**/*.ts").scanSync(room)];
  const texts = await Promise.all(names.map((name) => Bun.file(join(room, name)).text()));
  expect(names.filter((_name, at) => texts[at]?.includes("TextDecoder"))).toEqual(["utf8.ts"]);
});
