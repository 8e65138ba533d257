const headEndMark = Buffer.from("\r\n\r\n");
/**
 * The end of "content-length: ", which every client and server spells alike, whatever it does with capitals.
 */
const lengthMark = Buffer.from("ength: ");
const chunkedMark = Buffer.from("ncoding: chunked");
const lineEndMark = Buffer.from("\r\n");
const ZERO = 48;
const NINE = 57;

/**
 * Cuts a stream of bytes into HTTP/1.1 messages and hands each whole one to `onMessage`.
 *
 * It knows what the bench's own peers send (a head, and a body of `content-length` bytes or in chunks) and
 * nothing more, so that the generator and the receiver leave the two cores to what is measured. No trailers.
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
  const bodyAt = headEnd + headEndMark.length;
  const isInHead = (at: number) => at !== -1 && at < headEnd;
  const lengthAt = bytes.indexOf(lengthMark);
  if (!isInHead(lengthAt) && isInHead(bytes.indexOf(chunkedMark))) return findLastChunkEnd(bytes, bodyAt);
  const bodyLength = isInHead(lengthAt) ? readDigits(bytes, lengthAt + lengthMark.length) : 0;
  const end = bodyAt + bodyLength;
  return end <= bytes.length ? end : undefined;
}

function findLastChunkEnd(bytes: Buffer, bodyAt: number): number | undefined {
  for (let at = bodyAt; at < bytes.length; ) {
    const lineEnd = bytes.indexOf(lineEndMark, at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    at = lineEnd + size + 2 * lineEndMark.length;
    if (size === 0) return at <= bytes.length ? at : undefined;
  }
  return undefined;
}
