/**
 * The receiver of the bench, a process of its own: answers every delivery with 200 and remembers which events
 * it saw.
 *
 * Started with an IPC channel and its `ReceiverSettings` as JSON in the first argument. It sends `{port}`
 * once it listens, and answers "count" with the number of deliveries received, duplicates left out, "report"
 * with a `ReceiverReport`, and "reset" with 0 after it has forgotten everything.
 */
import { nowUs, percentiles, type Percentiles } from "./clock.ts";
import { FIRST_SEQUENCE, SENT_AT_MARK, SEQUENCE_MARK } from "./event.ts";
import { createFramer, readDigits } from "./wire.ts";

export interface ReceiverSettings {
  /** Each event comes so many times. */
  copies: number;
  /** From a delivery to its answer. */
  delayMs: number;
}

export interface ReceiverReport {
  /** Deliveries received, duplicates left out. */
  received: number;
  /** Deliveries of an event that had come to all its endpoints already. */
  duplicates: number;
  lastAtUs: number;
  /** From the instant an event was published to the instant each of its deliveries was here. */
  latency: Percentiles;
}

const { copies, delayMs } = JSON.parse(process.argv[2] ?? "{}") as ReceiverSettings;
const answer = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
const sequenceMark = Buffer.from(SEQUENCE_MARK);
const sentAtMark = Buffer.from(SENT_AT_MARK);

let arrivals = new Map<number, number>();
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
        if (delayMs === 0) socket.write(answer);
        else setTimeout(() => socket.write(answer), delayMs);
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
  const arrived = arrivals.get(sequence) ?? 0;
  if (arrived === copies) {
    duplicates++;
    return;
  }
  arrivals.set(sequence, arrived + 1);
  const sentAt = request.indexOf(sentAtMark, sequenceAt) + sentAtMark.length;
  latenciesUs.push(lastAtUs - readDigits(request, sentAt));
}

function report(): ReceiverReport {
  return { received: latenciesUs.length, duplicates, lastAtUs, latency: percentiles(latenciesUs) };
}

function reset(): number {
  arrivals = new Map();
  latenciesUs = [];
  duplicates = 0;
  return 0;
}

const answers: Record<string, () => unknown> = { count: () => latenciesUs.length, report, reset };
process.on("message", (message: string) => process.send?.(answers[message]?.()));
process.send?.({ port: server.port });
