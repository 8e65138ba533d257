/**
 * Happenings as near to each other as a provider makes them: the `near` of its case, which
 * `providers-identity.test.ts` walks.
 */

/** A request without its signature. */
export interface Sent {
  headers?: Record<string, string>;
  body: unknown;
  /** Of a body that is no JSON. */
  contentType?: string;
  /** What its verdict hands on as proven, where it is known by that. */
  proven?: string;
}

export interface Near {
  /** Each is an event of its own. */
  readonly happenings: readonly Sent[];
  /** Tries of the first one; null where nothing tells them from another happening. */
  readonly again: readonly Sent[] | null;
}

export const json = (body: unknown, headers: Record<string, string> = {}): Sent => ({ body, headers });
export const form = (fields: Record<string, string>): Sent => ({
  body: new URLSearchParams(fields).toString(),
  contentType: "application/x-www-form-urlencoded",
});

/** As Dropbox Sign sends it: with another boundary at each try. */
export function inParts(name: string, text: string, boundary: string): Sent {
  const body = `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n--${boundary}--\r\n`;
  return { body, contentType: `multipart/form-data; boundary=${boundary}` };
}
