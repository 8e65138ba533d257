/** The only decoder of this room: what another one reads otherwise could be verified as what it is not. */

const STRICT = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of bytes; null where they are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return STRICT.decode(bytes);
  } catch {
    return null;
  }
}

/** For what is only shown: what is no UTF-8 in it becomes U+FFFD. */
export function readableText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
