import type { Socket } from "bun";
import { createFramer, readStatus } from "./wire.ts";

const CONNECTIONS_MAX = 64;

interface Exchange {
  request: string;
  onStatus: (statusCode: number) => void;
}

interface Connection {
  read: (chunk: Buffer) => void;
  exchange: Exchange | undefined;
}

/** A pool of keep-alive connections to one receiver, one request in flight on each; more wait in order. */
export class BareSender {
  readonly #idle: Socket<Connection>[] = [];
  readonly #hostname: string;
  readonly #port: number;
  #waiting: Exchange[] = [];
  #next = 0;
  #connections = 0;

  constructor(hostname: string, port: number) {
    this.#hostname = hostname;
    this.#port = port;
  }

  /** Sends a whole HTTP/1.1 request; calls `onStatus` with the status code once the answer is complete. */
  send(request: string, onStatus: (statusCode: number) => void): void {
    const exchange = { request, onStatus };
    const socket = this.#idle.pop();
    if (socket !== undefined) return start(socket, exchange);
    this.#waiting.push(exchange);
    if (this.#connections < CONNECTIONS_MAX) void this.#connect();
  }

  async #connect(): Promise<void> {
    this.#connections++;
    const socket = await Bun.connect<Connection>({
      hostname: this.#hostname,
      port: this.#port,
      data: { read: () => {}, exchange: undefined },
      socket: { data: (opened, chunk) => opened.data.read(chunk) },
    });
    socket.data.read = createFramer((response) => {
      const exchange = socket.data.exchange;
      this.#proceed(socket);
      exchange?.onStatus(readStatus(response));
    });
    this.#proceed(socket);
  }

  /** Gives a free connection the request that has waited longest. */
  #proceed(socket: Socket<Connection>): void {
    const exchange = this.#waiting[this.#next];
    if (exchange === undefined) {
      this.#waiting = [];
      this.#next = 0;
      this.#idle.push(socket);
      return;
    }
    this.#next++;
    start(socket, exchange);
  }
}

function start(socket: Socket<Connection>, exchange: Exchange): void {
  socket.data.exchange = exchange;
  const written = socket.write(exchange.request);
  if (written !== exchange.request.length) throw new Error("the socket did not take a whole request");
}
