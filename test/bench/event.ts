import { writeDigits } from "./wire.ts";

/**
 * Both numbers keep their width for the whole run, so that a request is written in place and its length
 * is fixed.
 */
export const FIRST_SEQUENCE = 1_000_000_000;
const SENT_AT_DIGITS = 16;
export const SEQUENCE_MARK = '"sequence":';
export const SENT_AT_MARK = '"sent_at_us":';

export interface PublishRequest {
  /** The whole request, ready for the socket; valid until the next call. */
  write(sequence: number, sentAtUs: number): Buffer;
}

/** The event type with this index. */
export function eventType(index: number): string {
  return `bench.endpoint_${index}`;
}

/** Prepares `POST /v1/events` with a body of `bodyBytes`, in which only the two numbers change. */
export function preparePublish(
  host: string,
  apiKey: string,
  type: number,
  bodyBytes: number,
): PublishRequest {
  const sentAt = "1".repeat(SENT_AT_DIGITS);
  const numbers = `${SEQUENCE_MARK}${FIRST_SEQUENCE},${SENT_AT_MARK}${sentAt}`;
  const start = `{"type":"${eventType(type)}","data":{${numbers},"padding":"`;
  const body = `${start}${"x".repeat(Math.max(0, bodyBytes - start.length - 3))}"}}`;
  const bytes = Buffer.from(
    `POST /v1/events HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${apiKey}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  const sequenceEnd = bytes.indexOf(SEQUENCE_MARK) + SEQUENCE_MARK.length + String(FIRST_SEQUENCE).length;
  const sentAtEnd = sequenceEnd + 1 + SENT_AT_MARK.length + SENT_AT_DIGITS;
  return {
    write(sequence, sentAtUs) {
      writeDigits(bytes, sequenceEnd, sequence);
      writeDigits(bytes, sentAtEnd, sentAtUs);
      return bytes;
    },
  };
}
