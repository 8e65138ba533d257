/**
 * What to hash of a text that tells things apart. As UTF-8 all halves of characters (lone surrogates) are
 * one; a text with some is its code units instead, behind a byte that no UTF-8 holds.
 */
export function exactBytes(text: string): string | Uint8Array {
  return text.isWellFormed() ? text : Buffer.concat([Buffer.of(0xff), Buffer.from(text, "utf16le")]);
}
