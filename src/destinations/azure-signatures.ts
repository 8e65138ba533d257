import { createHmac } from "node:crypto";
import type { UrlParts } from "../transport/url-parts.ts";

/** The two ways in which Azure's REST interfaces are signed with a shared key. */

/**
 * A token of Service Bus (learn.microsoft.com/rest/api/eventhub/generate-sas-token): an HMAC over the
 * resource and the instant, in Unix seconds, at which it ends. The key is taken as the text that it is.
 */
export function sharedAccessSignature(
  resource: string,
  keyName: string,
  key: string,
  expiresAt: number,
): string {
  const encoded = encodeURIComponent(resource);
  const signature = createHmac("sha256", key).update(`${encoded}\n${expiresAt}`).digest("base64");
  return (
    `SharedAccessSignature sr=${encoded}&sig=${encodeURIComponent(signature)}` +
    `&se=${expiresAt}&skn=${encodeURIComponent(keyName)}`
  );
}

export interface SharedKeyRequest {
  method: string;
  url: UrlParts;
  contentLength: number;
  contentType: string;
  /** The `x-ms-*` headers, names in lower case. */
  msHeaders: Readonly<Record<string, string>>;
}

/**
 * `authorization` of a storage request
 * (learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key, queue service since 2009-09-19).
 * `key` is base64.
 */
export function sharedKey(account: string, key: string, request: SharedKeyRequest): string {
  const signature = createHmac("sha256", Buffer.from(key, "base64")).update(textToSign(account, request));
  return `SharedKey ${account}:${signature.digest("base64")}`;
}

function textToSign(account: string, request: SharedKeyRequest): string {
  const { method, url, contentLength, contentType, msHeaders } = request;
  const length = contentLength === 0 ? "" : String(contentLength);
  // Content-Encoding, -Language, -Length, -MD5, -Type, Date, four If-… and Range.
  const standard = [method, "", "", length, "", contentType, "", "", "", "", "", ""];
  const headers = Object.entries(msHeaders).map(([name, value]) => `${name}:${value}`);
  const query = [...new URLSearchParams(url.search)].map(([name, value]) => `${name.toLowerCase()}:${value}`);
  return [...standard, ...headers.sort(), `/${account}${url.pathname}`, ...query.sort()].join("\n");
}
