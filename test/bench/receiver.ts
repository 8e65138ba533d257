/**
 * The receiver of the bench, a process of its own: answers every delivery with 200 and remembers which events
 * it saw.
 *
 * Started with an IPC channel. It sends `{port}` once it listens, and answers "count" with the number
 * of distinct events received, "report" with a `ReceiverReport`, and "reset" with 0 after it has
 * forgotten everything.
 */
import { nowUs, percentiles, type Percentiles } from "./clock.ts";
import { FIRST_SEQUENCE, SENT_AT_MARK, SEQUENCE_MARK } from "./event.ts";
import { createFramer, readDigits } from "./wire.ts";

export interface ReceiverReport {
  /** Distinct events received. */
  received: number;
  /** Deliveries of an event that was there already. */
  duplicates: number;
  lastAtUs: number;
  /** From the instant an event was published to the instant its first delivery was here. */
  latency: Percentiles;
}

const answer = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
const sequenceMark = Buffer.from(SEQUENCE_MARK);
const sentAtMark = Buffer.from(SENT_AT_MARK);

let seen = new Set<number>();
let latenciesUs: number[] = [];
let duplicates = 0;
let lastAtUs = 0;

const server = Bun.listen<{ read: (chunk: Buffer) => void }>({
  hostname: "127.0.0.1",
  port: 0,
  socket: {
    open(socket) {
      const read = createFramer((request) => {
        record(request);
        socket.write(answer);
      });
      socket.data = { read };
    },
    data: (socket, chunk) => socket.data.read(chunk),
  },
});

function record(request: Buffer): void {
  const sequenceAt = request.indexOf(sequenceMark) + sequenceMark.length;
  const sequence = readDigits(request, sequenceAt);
  if (sequence < FIRST_SEQUENCE) throw new Error("a delivery without its sequence number arrived");
  lastAtUs = nowUs();
  if (seen.has(sequence)) {
    duplicates++;
    return;
  }
  seen.add(sequence);
  const sentAt = request.indexOf(sentAtMark, sequenceAt) + sentAtMark.length;
  latenciesUs.push(lastAtUs - readDigits(request, sentAt));
}

function report(): ReceiverReport {
  return { received: seen.size, duplicates, lastAtUs, latency: percentiles(latenciesUs) };
}

function reset(): number {
  seen = new Set();
  latenciesUs = [];
  duplicates = 0;
  return 0;
}

const answers: Record<string, () => unknown> = { count: () => seen.size, report, reset };
process.on("message", (message: string) => process.send?.(answers[message]?.()));
process.send?.({ port: server.port });
