const STRICT = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of bytes; null where they are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return STRICT.decode(bytes);
  } catch {
    return null;
  }
}
