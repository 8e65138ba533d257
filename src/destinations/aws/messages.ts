import type { DestinationConfig, Message } from "../destination.ts";
import { attributesOf, textOf } from "../requests.ts";

/** What the messages of SQS and SNS have in common. */

/** 1 MiB, for body and attributes together; a queue or topic may be set to less. */
export const MESSAGE_BYTES_MAX = 1_048_576;

/**
 * The three headers and the type, all of them text. Throws where body and attributes are too large together:
 * names, types and values of attributes count too.
 */
export function messageAttributes(message: Message): [name: string, value: string][] {
  const attributes = Object.entries(attributesOf(message));
  const sizes = attributes.map(([name, value]) => name.length + "String".length + value.length);
  const bytes = sizes.reduce((sum, size) => sum + size, message.body.length);
  if (bytes <= MESSAGE_BYTES_MAX) return attributes;
  throw new Error(`Body and attributes have ${bytes} bytes; at most ${MESSAGE_BYTES_MAX} are taken.`);
}

/**
 * Of a FIFO queue or topic always; of a standard one, which may have groups for fair sharing, where it is
 * asked for.
 */
export function groupOf(
  config: DestinationConfig,
  message: Message,
  isFifo: boolean,
): { MessageGroupId?: string; MessageDeduplicationId?: string } {
  const group = textOf(config, "group_id");
  if (isFifo) return { MessageGroupId: group ?? message.endpointId, MessageDeduplicationId: message.id };
  return group === null ? {} : { MessageGroupId: group };
}
