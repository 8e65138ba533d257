/**
 * Every push destination is one HTTP request. A kind is data and two pure functions: how a message becomes a request, and how the
 * answer is judged. Timeouts, retries, address guard and log exist once, outside.
 */

/** One field of `config`; drives validation, masking, the portal's form and the docs (contract section 10). */
export interface DestinationField {
  name: string;
  label: string;
  help: string;
  required: boolean;
  /** Write-only, encrypted at rest, masked on reads. */
  secret: boolean;
  /** Guarded: the host that it names is connected to. */
  address: boolean;
  /** Source of a regular expression over the whole value. */
  pattern?: string;
}

/** What is sent, signed at this moment. */
export interface Message {
  /** `webhook-id`: the delivery's public id, the same on every attempt. */
  id: string;
  timestampSeconds: number;
  signature: string;
  type: string;
  endpointId: string;
  /** The endpoint's custom headers. */
  headers: ReadonlyArray<readonly [string, string]>;
  body: Uint8Array;
}

export interface OutgoingRequest {
  method: string;
  /** The same object as for the endpoint's last request only where method and headers, but for `webhook-*`, are the same too. */
  url: URL;
  headers: ReadonlyArray<readonly [string, string]>;
  body: Uint8Array;
}

/** `errorCode` says what is wrong where the status alone does not. `throttled` slows the endpoint down like a 429. */
export type Judgement =
  | { delivered: true }
  | { delivered: false; errorCode: string | null; throttled: boolean };

export type DestinationConfig = Readonly<Record<string, unknown>>;

export interface DestinationKind {
  kind: string;
  name: string;
  fields: readonly DestinationField[];
  /** The largest body that the destination takes, in bytes; null where it sets no bound. */
  maxBytes: number | null;
  /** `config` with its credentials. Throws where the message cannot be rendered: the delivery is malformed then. */
  request(
    config: DestinationConfig,
    message: Message,
    now: number,
  ): OutgoingRequest | Promise<OutgoingRequest>;
  judge(status: number, body: Uint8Array): Judgement;
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}
