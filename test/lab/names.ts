/**
 * A name server of thirty lines, for a network namespace of its own: it answers A questions by a function,
 * and counts them.
 */
import { createSocket, type Socket } from "node:dgram";

const HEAD_BYTES = 12;
const TYPE_A = 1;

/** Addresses of `name` at its `nth` A question, from 1. */
export type Answers = (name: string, nth: number) => readonly string[];

export class NameServer {
  /** A questions by name. */
  readonly asked = new Map<string, number>();
  readonly #socket: Socket = createSocket("udp4");

  constructor(private readonly answers: Answers) {
    this.#socket.on("message", (query, { port, address }) => {
      this.#socket.send(this.#answer(query), port, address);
    });
  }

  listen(address: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#socket.once("error", reject);
      this.#socket.bind(53, address, () => resolve());
    });
  }

  close(): void {
    this.#socket.close();
  }

  /**
   * RFC 1035, section 4.1: the head, the question as it came, and a record of four bytes for each address,
   * kept for 0 s.
   */
  #answer(query: Buffer): Buffer {
    const { name, end } = readName(query);
    const question = query.subarray(HEAD_BYTES, end + 4);
    const addresses = query.readUInt16BE(end) === TYPE_A ? this.#addressesOf(name) : [];
    const head = Buffer.alloc(HEAD_BYTES);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8580, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(addresses.length, 6);
    const records = addresses.map((address) =>
      Buffer.from([0xc0, HEAD_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".").map(Number)]),
    );
    return Buffer.concat([head, question, ...records]);
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
