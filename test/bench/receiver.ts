/**
 * The receiver of the bench, a process of its own, at every loopback address: answers every delivery with 200
 * and remembers which events it saw.
 *
 * Started with an IPC channel and its `ReceiverSettings` as JSON in the first argument. It sends `{port}`
 * once it listens, and answers "count" with the number of deliveries received, duplicates left out, "report"
 * with a `ReceiverReport`, and "reset" with 0 after it has forgotten everything.
 */
import type { SocketHandler } from "bun";
import { nowUs, percentiles, type Percentiles } from "./clock.ts";
import { FIRST_SEQUENCE, SENT_AT_MARK, SEQUENCE_MARK } from "./event.ts";
import { createFramer, readDigits } from "./wire.ts";

export interface ReceiverSettings {
  /** Each event comes so many times. */
  copies: number;
  /** From a delivery to its answer. */
  delayMs: number;
  /** What comes for `/hooks/` with this number or a higher one is not counted. Left out: all is. */
  counted?: number;
  /** It is not answered either. */
  hangs?: boolean;
  /** It closes a connection with the first answer. */
  closes?: boolean;
  /** The certificates of the addresses at which it listens with TLS. Left out: all addresses, without TLS. */
  certificates?: { addresses: string[]; key: string; cert: string }[] | undefined;
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

const settings = JSON.parse(process.argv[2] ?? "{}") as ReceiverSettings;
const { copies, delayMs, counted, hangs, closes, certificates } = settings;
const last = closes ? "connection: close\r\n" : "";
const answer = Buffer.from(`HTTP/1.1 200 OK\r\n${last}content-length: 0\r\n\r\n`);
const sequenceMark = Buffer.from(SEQUENCE_MARK);
const sentAtMark = Buffer.from(SENT_AT_MARK);
const hookMark = Buffer.from("/hooks/");

let arrivals = new Map<number, number>();
let latenciesUs: number[] = [];
let duplicates = 0;
let lastAtUs = 0;

const handler: SocketHandler<{ read: (chunk: Buffer) => void }> = {
  open(socket) {
    const reply = () => {
      if (closes) socket.end(answer);
      else socket.write(answer);
    };
    const read = createFramer((request) => {
      if (isCounted(request)) record(request);
      else if (hangs) return;
      if (delayMs === 0) reply();
      else setTimeout(reply, delayMs);
    });
    socket.data = { read };
  },
  data: (socket, chunk) => socket.data.read(chunk),
};

/** One port for all of them. */
function listen(): number {
  if (certificates === undefined) return Bun.listen({ hostname: "0.0.0.0", port: 0, socket: handler }).port;
  let port = 0;
  for (const { addresses, key, cert } of certificates)
    for (const hostname of addresses)
      ({ port } = Bun.listen({ hostname, port, tls: { key, cert }, socket: handler }));
  return port;
}

function isCounted(request: Buffer): boolean {
  if (counted === undefined) return true;
  return readDigits(request, request.indexOf(hookMark) + hookMark.length) < counted;
}

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
process.send?.({ port: listen() });
