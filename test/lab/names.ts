/**
 * A name server of some lines: it answers A questions by a function, and counts them. Port 53 is for a
 * network namespace of its own.
 */
import { createSocket, type Socket } from "node:dgram";

const HEAD_BYTES = 12;
const TYPE_A = 1;
const TYPE_AAAA = 28;

/** Addresses of `name` at its `nth` A question, from 1. */
export type Answers = (name: string, nth: number) => readonly string[];

export class NameServer {
  /** A questions by name. */
  readonly asked = new Map<string, number>();
  readonly #socket: Socket = createSocket("udp4");

  constructor(
    private readonly answers: Answers,
    private readonly keptSeconds = 0,
    /** Of these names `::1` is an address, too. */
    private readonly six: readonly string[] = [],
  ) {
    this.#socket.on("message", (query, { port, address }) => {
      this.#socket.send(this.#answer(query), port, address);
    });
  }

  /** The port: with 0, one that is free. */
  listen(address: string, port = 53): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#socket.once("error", reject);
      this.#socket.bind(port, address, () => resolve(this.#socket.address().port));
    });
  }

  close(): void {
    this.#socket.close();
  }

  /**
   * RFC 1035, section 4.1: the head, the question as it came, and a record for each address,
   * kept for less than 256 s.
   */
  #answer(query: Buffer): Buffer {
    const { name, end } = readName(query);
    const question = query.subarray(HEAD_BYTES, end + 4);
    const type = query.readUInt16BE(end);
    const found = this.#found(name, type);
    const head = Buffer.alloc(HEAD_BYTES);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8580, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(found.length, 6);
    const records = found.map((bytes) =>
      Buffer.from([0xc0, HEAD_BYTES, 0, type, 0, 1, 0, 0, 0, this.keptSeconds, 0, bytes.length, ...bytes]),
    );
    return Buffer.concat([head, question, ...records]);
  }

  /** The bytes of each address. */
  #found(name: string, type: number): number[][] {
    if (type === TYPE_AAAA && this.six.includes(name)) return [[...new Uint8Array(15), 1]];
    if (type !== TYPE_A) return [];
    return this.#addressesOf(name).map((address) => address.split(".").map(Number));
  }

  #addressesOf(name: string): readonly string[] {
    const nth = (this.asked.get(name) ?? 0) + 1;
    this.asked.set(name, nth);
    return this.answers(name, nth);
  }
}

function readName(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = HEAD_BYTES;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), end: at + 1 };
}
