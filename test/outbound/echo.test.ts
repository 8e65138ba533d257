/** What a server repeats of the credentials that it was sent is hidden before anything is kept. */
import { expect, test } from "bun:test";
import { hideSecretBytes, hideSecrets } from "../../src/outbound/echo.ts";

const TOKEN = 'FwoGZXIv"YXdz/EBYa<D2>&';
const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

test.each([
  ["as text", `x-amz-security-token:${TOKEN}\n`],
  ["in JSON", JSON.stringify({ message: `token ${TOKEN}` })],
  ["in XML", '<m>FwoGZXIv"YXdz/EBYa&lt;D2&gt;&amp;</m>'],
  ["in a URL", `/?token=${encodeURIComponent(TOKEN)}`],
  ["byte by byte", `41 ${Buffer.from(TOKEN).toString("hex").match(/../g)?.join(" ")} 42`],
])("a credential %s", (_where, text) => {
  const shown = decode(hideSecretBytes(encode(text), ["short-lived", TOKEN]));
  expect(shown).toContain("***");
  for (const part of ["FwoGZXIv", "46 77 6f 47"]) expect(shown).not.toContain(part);
});

test("bytes that are no text survive beside it", () => {
  const body = Buffer.concat([Buffer.from([0xff, 0x00, 0xfe]), Buffer.from(TOKEN), Buffer.from([0x80])]);
  const shown = Buffer.from(hideSecretBytes(body, [TOKEN]));
  expect(shown).toEqual(
    Buffer.concat([Buffer.from([0xff, 0x00, 0xfe]), Buffer.from("***"), Buffer.from([0x80])]),
  );
});

test("a credential beyond ASCII is found in UTF-8", () => {
  expect(decode(hideSecretBytes(encode("password pässwörd!"), ["pässwörd"]))).toBe("password ***!");
});

test("what holds none stays the same object; the shortest passwords are words, which servers say too", () => {
  const body = encode("no such key");
  expect(hideSecretBytes(body, [TOKEN])).toBe(body);
  expect(hideSecretBytes(body, [])).toBe(body);
  expect(hideSecrets("no such key", ["key", ""])).toBe("no such key");
});
