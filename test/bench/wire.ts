const headEndMark = Buffer.from("\r\n\r\n");
/**
 * The end of "content-length: ", which every client and server spells alike, whatever it does with capitals.
 */
const lengthMark = Buffer.from("ength: ");
const ZERO = 48;
const NINE = 57;

/**
 * Cuts a stream of bytes into HTTP/1.1 messages and hands each whole one to `onMessage`.
 *
 * It knows what the bench's own peers send (a head, and a body of `content-length` bytes) and nothing
 * more, so that the generator and the receiver leave the two cores to what is measured. No chunked bodies,
 * no trailers.
 */
export function createFramer(onMessage: (message: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer | undefined;
  return (chunk) => {
    let bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk]);
    rest = undefined;
    while (bytes.length > 0) {
      const end = findMessageEnd(bytes);
      if (end === undefined) {
        rest = bytes;
        return;
      }
      onMessage(end === bytes.length ? bytes : bytes.subarray(0, end));
      bytes = bytes.subarray(end);
    }
  };
}

/** Reads the status code of a response: the three digits behind `HTTP/1.1 `. */
export function readStatus(response: Buffer): number {
  return readDigits(response, 9);
}

/** Reads the decimal number that starts at `start`; 0 where no digit stands there. */
export function readDigits(bytes: Buffer, start: number): number {
  let value = 0;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte < ZERO || byte > NINE) break;
    value = value * 10 + (byte - ZERO);
  }
  return value;
}

/** Writes `value` so that its last digit stands just before `end`; the number's width must not change. */
export function writeDigits(bytes: Buffer, end: number, value: number): void {
  let left = value;
  for (let at = end - 1; left > 0; at--) {
    bytes[at] = ZERO + (left % 10);
    left = Math.floor(left / 10);
  }
}

function findMessageEnd(bytes: Buffer): number | undefined {
  const headEnd = bytes.indexOf(headEndMark);
  if (headEnd === -1) return undefined;
  const lengthAt = bytes.indexOf(lengthMark);
  const hasBody = lengthAt !== -1 && lengthAt < headEnd;
  const bodyLength = hasBody ? readDigits(bytes, lengthAt + lengthMark.length) : 0;
  const end = headEnd + headEndMark.length + bodyLength;
  return end <= bytes.length ? end : undefined;
}
