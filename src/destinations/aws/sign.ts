import { createHash, createHmac } from "node:crypto";
import { SignatureV4 } from "@smithy/signature-v4";
import type { OutgoingRequest } from "../destination.ts";
import type { UrlParts } from "../../transport/url-parts.ts";

/** AWS Signature Version 4, by AWS's own library; checked against AWS's own test suite. */

export interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  /** What of these was granted, and must not be shown where a server repeats it. */
  granted?: readonly string[];
}

export interface SigningScope {
  /** As in the credential scope: `sqs`, `events`… */
  service: string;
  region: string;
  credentials: AwsCredentials;
  /** Of the signature; whole seconds. */
  timestampSeconds: number;
}

/** The library takes any hash: the built-in one needs a third of the time of WebCrypto's. */
class Sha256 {
  readonly #hash;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash("sha256") : createHmac("sha256", bytesOf(secret));
  }

  update(chunk: Uint8Array): void {
    this.#hash.update(chunk);
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }

  reset(): void {}
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): string | Uint8Array {
  if (typeof data === "string") return data;
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/**
 * The same request with `x-amz-date` and `authorization`, and `x-amz-security-token` where there is one. It
 * names what it was signed with, as that may have been replaced when its answer comes.
 */
export async function signAws(request: OutgoingRequest, scope: SigningScope): Promise<OutgoingRequest> {
  const { method, url, headers, body } = request;
  const isS3 = scope.service === "s3";
  const signer = new SignatureV4({
    ...scope,
    sha256: Sha256,
    // S3 alone takes the path as it is, and wants the hash of the body as a header.
    uriEscapePath: !isS3,
    applyChecksum: isS3,
  });
  const signed = await signer.sign(
    {
      method,
      protocol: url.protocol,
      hostname: url.hostname,
      path: url.pathname,
      query: queryOf(url),
      headers: { ...Object.fromEntries(headers), host: url.host },
      body,
    },
    { signingDate: new Date(scope.timestampSeconds * 1000) },
  );
  const { host: _transport, ...rest } = signed.headers;
  const { granted } = scope.credentials;
  return { method, url, headers: Object.entries(rest), body, ...(granted && { secrets: granted }) };
}

/** Repeated names as a list. */
function queryOf({ search }: UrlParts): Record<string, string[]> {
  const byName = Map.groupBy(new URLSearchParams(search), ([name]) => name);
  return Object.fromEntries([...byName].map(([name, pairs]) => [name, pairs.map(([, value]) => value)]));
}
