import { parseObject } from "../../core/json/value.ts";
import { memberSpan } from "../../core/json/json.ts";
import { limit } from "../../core/limits.ts";
import { type BridgeOptions, type Message, tooLarge } from "./bridge.ts";

/** What messages of queues become. */

export interface QueueOptions extends BridgeOptions {
  type?: string;
  envelope?: boolean;
}

/** A message as its queue has it. */
export interface Received {
  /** Unique among all messages of the project; null where it has none. */
  id: string | null;
  type: string | null;
  body: Uint8Array;
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/**
 * The body of the publish: the message's body stands in it as data, byte for byte; or is all of it, where it
 * is an envelope. Its own id comes before that of the message.
 */
export function eventOf({ id, type, body }: Received, options: QueueOptions): Message["event"] {
  if (body.length > limit("eventBodyBytesMax")) return { fault: tooLarge() };
  const text = textOf(body);
  const fields = text === null ? null : parseObject(text);
  if (text === null || fields === null) return { fault: "Its body is no JSON object in UTF-8." };
  const isEnvelope = options.envelope === true;
  if (isEnvelope && (fields["external_id"] ?? null) !== null) return { text };
  if (id === null && options.withoutIds !== true)
    return { fault: "It has no id by which it would be known when it comes again." };
  if (isEnvelope) {
    const members = Object.keys(fields).filter((name) => name !== "external_id");
    const rest = members.map((name) => `${JSON.stringify(name)}:${valueText(text, name)}`).join();
    return { text: withFirst({ external_id: id ?? undefined }, `${rest}}`) };
  }
  const named = options.type ?? type;
  if (named === null) return { fault: "It names no type, and neither does --type." };
  return { text: withFirst({ type: named, external_id: id ?? undefined }, `"data":${text}}`) };
}

/** The text of an object with these fields before the `rest` of it. */
function withFirst(fields: Record<string, string | undefined>, rest: string): string {
  const head = JSON.stringify(fields).slice(0, -1);
  return `${head}${head === "{" || /^\s*\}/.test(rest) ? "" : ","}${rest}`;
}

/** As it is written. */
function valueText(text: string, name: string): string {
  const { start = 0, end = 0 } = memberSpan(text, name) ?? {};
  return text.slice(start, end);
}

function textOf(body: Uint8Array): string | null {
  try {
    return UTF8.decode(body);
  } catch {
    return null;
  }
}
