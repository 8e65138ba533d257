import { version } from "../../package.json";
import { messageOf } from "../core/errors.ts";
import { readSecret, signatureHeader } from "../core/signing.ts";
import type { PolledMessage } from "./poll-loop.ts";

/** As long as a delivery to a URL waits unless its endpoint says otherwise. */
const ANSWER_MS_MAX = 15_000;
/** More of an answer is not shown. */
const SHOWN_BYTES_MAX = 64 * 1024;

/** What a receiver made of a message. */
export interface Forwarded {
  /** Null where there was no answer. */
  status: number | null;
  /** Until the answer was read, or given up. */
  durationMs: number;
  /** The answer's body, or the reason why there is none. */
  text: string;
}

/** Posts a message as a delivery to a URL has it: its very bytes, and the headers that sign them. */
export async function forward(url: string, { headers, body }: PolledMessage): Promise<Forwarded> {
  const started = performance.now();
  const ended = (status: number | null, text: string) => {
    return { status, durationMs: Math.round(performance.now() - started), text };
  };
  try {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", "user-agent": `Sealpost/${version}`, ...headers },
      body: Buffer.from(body),
      redirect: "manual",
      // The receiver is near: a proxy of the way out does not know it.
      proxy: false,
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
    return ended(answer.status, await readStart(answer));
  } catch (error) {
    return ended(null, messageOf(error));
  }
}

async function readStart({ body }: Response): Promise<string> {
  if (body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    bytes += chunk.byteLength;
    // Leaving the loop cancels the rest.
    if (bytes > SHOWN_BYTES_MAX) return `${text.slice(0, SHOWN_BYTES_MAX)}…`;
  }
  return text;
}

/** The message as a retry has it: the same id and bytes, signed anew, as a receiver refuses what is old. */
export function signedAnew({ headers, body }: PolledMessage, secret: string, nowMs: number): PolledMessage {
  const hmac = readSecret(secret);
  if (hmac === null) return { headers, body };
  const seconds = Math.floor(nowMs / 1000);
  const id = headers["webhook-id"];
  const signature = signatureHeader([{ hmac, ed25519: null }], ["v1"], id, seconds, Buffer.from(body));
  const signed = {
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": signature,
  };
  return { headers: signed, body };
}
