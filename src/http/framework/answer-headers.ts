import { COMMON_HEADERS } from "../../core/errors.ts";

/** For a year this host is asked by https only; what other hosts of the domain do is not ours to say. */
const STRICT_TRANSPORT = { "strict-transport-security": "max-age=31536000" };

/** Made once: a copy of them, with a few set in it, costs half of what a list of names and values does. */
export interface AnswerHeaders {
  plain: Headers;
  json: Headers;
}

/** The headers that every answer has. Browsers ignore HSTS where it comes over plain http. */
export function answerHeaders(baseUrl: string): AnswerHeaders {
  const common = { ...COMMON_HEADERS, ...(baseUrl.startsWith("https:") && STRICT_TRANSPORT) };
  return { plain: new Headers(common), json: new Headers({ ...common, "content-type": "application/json" }) };
}

export function setAll(headers: Headers, more: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(more)) headers.set(name, value);
}
