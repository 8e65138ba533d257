/**
 * Receivers that misbehave: one `node:net` server whose answer depends on the path, and the plain receiver
 * below it for tests that bring their own answer. Everything listens on 127.0.0.1 and a free port.
 */
import { createServer, type Server, type Socket } from "node:net";

/** A request as it came over the wire. */
export interface CapturedRequest {
  readonly method: string;
  readonly path: string;
  /** Request line and header lines, without the empty one. */
  readonly lines: readonly string[];
  readonly body: Buffer;
}

export interface Receiver {
  readonly port: number;
  readonly requests: CapturedRequest[];
  /** `http://127.0.0.1:<port><path>`, or with another host in place of the address. */
  url(path: string, host?: string): URL;
  /** Connections accepted since the start, and those open now. */
  counts(): { opened: number; open: number };
  /** Resolves as soon as no connection is open. */
  whenNoneOpen(): Promise<void>;
  /** Resolves as soon as so many requests were captured in all. */
  whenRequested(count: number): Promise<void>;
  close(): Promise<void>;
}

export type Answer = (socket: Socket, request: CapturedRequest) => void;

export interface ReceiverOptions {
  address?: string;
  port?: number;
  /** Replaces reading requests: the receiver then only counts and closes. */
  onSocket?: (socket: Socket) => void;
}

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const CHUNK = Buffer.alloc(16_384, "x");
const DRIP_MS = 5;
const ZEROS = Bun.gzipSync(new Uint8Array(20_000_000));
/** 20 MB of zeros in some 20 KB. */
const GZIP_BOMB = Buffer.concat([
  Buffer.from(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${ZEROS.length}\r\n\r\n`),
  ZEROS,
]);

/** What the hostile receiver does with a request to each path. */
export const BEHAVIOURS: Readonly<Record<string, Answer>> = {
  "/ok": (socket) => socket.write(OK),
  "/echo": (socket, { body }) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`);
    socket.write(body);
  },
  "/204": (socket) => socket.write("HTTP/1.1 204 No Content\r\n\r\n"),
  "/hang": () => {},
  "/slowhead": (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-"),
  "/driphead": (socket) => drip(socket, "HTTP/1.1 200 OK\r\nx-drip: ", "x"),
  "/dripbody": (socket) => drip(socket, "HTTP/1.1 200 OK\r\ncontent-length: 9999999\r\n\r\n", "x"),
  "/dripchunks": (socket) =>
    drip(socket, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "1\r\nx\r\n"),
  "/infbody": (socket) => flood(socket, "HTTP/1.1 200 OK\r\n\r\n", CHUNK),
  "/infhead": (socket) =>
    flood(socket, "HTTP/1.1 200 OK\r\n", Buffer.from(`x-flood: ${"x".repeat(1000)}\r\n`)),
  "/infheader": (socket) => flood(socket, "HTTP/1.1 200 OK\r\nx-flood: ", CHUNK),
  "/infext": (socket) => flood(socket, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;", CHUNK),
  "/bighead": (socket) => socket.write(`HTTP/1.1 200 OK\r\nx-big: ${"x".repeat(16_384)}\r\n\r\n`),
  "/gzbomb": (socket) => socket.write(GZIP_BOMB),
  "/1xx": (socket) => flood(socket, "", Buffer.from("HTTP/1.1 102 Processing\r\n\r\n".repeat(100))),
  "/drip1xx": (socket) => drip(socket, "", "HTTP/1.1 102 Processing\r\n\r\n"),
  "/103": (socket) => socket.write(`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${OK}`),
  "/101": (socket) => socket.write("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n"),
  "/loop": (socket) =>
    socket.write("HTTP/1.1 307 Temporary Redirect\r\nlocation: /loop\r\ncontent-length: 0\r\n\r\n"),
  "/http10": (socket) => socket.end("HTTP/1.0 200 OK\r\n\r\nold"),
  "/bothlen": (socket) =>
    socket.write(
      "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    ),
  "/dupcl": (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok!"),
  "/samecl": (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok"),
  "/neg": (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n"),
  "/garbage": (socket) => socket.write("SSH-2.0-OpenSSH_9.2\r\n"),
  "/badheader": (socket) => socket.write("HTTP/1.1 200 OK\r\nno colon here\r\n\r\n"),
  "/badchunk": (socket) =>
    socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n"),
  "/rst": (socket) => socket.resetAndDestroy(),
  "/close": (socket) => socket.end(),
  "/halfhead": (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-"),
  "/halfbody": (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf"),
  "/rstbody": (socket) => {
    socket.write("HTTP/1.1 200 OK\r\n\r\nhalf");
    setTimeout(() => socket.resetAndDestroy(), DRIP_MS);
  },
  "/halfchunk": (socket) => socket.end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\nhalf"),
  "/closehdr": (socket) =>
    socket.write("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok"),
  "/smugglelate": (socket) => {
    socket.write(OK);
    setTimeout(() => socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nsmuggled`), DRIP_MS);
  },
  "/smuggle": (socket) => socket.write(`${OK}HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nsmuggled`),
};

export function startHostile(options: ReceiverOptions = {}): Promise<Receiver> {
  return startReceiver((socket, request) => {
    const behave = BEHAVIOURS[request.path.split("?")[0] ?? ""];
    if (behave === undefined) socket.end("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    else behave(socket, request);
  }, options);
}

/** Reads requests with a `content-length`, one after the other, and hands each to `answer`. */
export async function startReceiver(answer: Answer, options: ReceiverOptions = {}): Promise<Receiver> {
  const sockets = new Set<Socket>();
  const requests: CapturedRequest[] = [];
  const waiters: { isDue: () => boolean; resolve: () => void }[] = [];
  let opened = 0;

  function notify(): void {
    for (const waiter of waiters) if (waiter.isDue()) waiter.resolve();
  }
  function when(isDue: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      waiters.push({ isDue, resolve });
      notify();
    });
  }
  function read(socket: Socket): void {
    readRequests(socket, (request) => {
      requests.push(request);
      answer(socket, request);
      notify();
    });
  }

  const server = createServer((socket) => {
    opened++;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      sockets.delete(socket);
      notify();
    });
    (options.onSocket ?? read)(socket);
  });
  const port = await listen(server, options);

  return {
    port,
    requests,
    url: (path, host = options.address ?? "127.0.0.1") => new URL(`http://${host}:${port}${path}`),
    counts: () => ({ opened, open: sockets.size }),
    whenNoneOpen: () => when(() => sockets.size === 0),
    whenRequested: (count) => when(() => requests.length >= count),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

function listen(server: Server, { address = "127.0.0.1", port = 0 }: ReceiverOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, address, () => {
      const bound = server.address();
      resolve(typeof bound === "object" && bound !== null ? bound.port : 0);
    });
  });
}

function readRequests(socket: Socket, onRequest: (request: CapturedRequest) => void): void {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let neededBytes = 0;
  socket.on("data", (bytes: Buffer) => {
    pending.push(bytes);
    pendingBytes += bytes.length;
    if (pendingBytes < neededBytes) return;
    const all = Buffer.concat(pending);
    const headEnd = all.indexOf("\r\n\r\n");
    const lines = all.toString("latin1", 0, Math.max(headEnd, 0)).split("\r\n");
    const length = /^content-length: (\d+)$/im.exec(lines.join("\n"))?.[1] ?? "0";
    neededBytes = headEnd + 4 + Number(length);
    pending = [all];
    if (headEnd === -1 || all.length < neededBytes) return;
    pending = [all.subarray(neededBytes)];
    pendingBytes = all.length - neededBytes;
    const [method = "", path = ""] = (lines[0] ?? "").split(" ");
    const body = all.subarray(headEnd + 4, neededBytes);
    neededBytes = 0;
    onRequest({ method, path, lines, body });
  });
}

/** Writes a beginning, then a piece again and again until the other side has enough. */
function drip(socket: Socket, start: string, piece: string): void {
  socket.write(start);
  const timer = setInterval(() => socket.write(piece), DRIP_MS);
  socket.on("close", () => clearInterval(timer));
}

/** Writes a beginning, then a piece as fast as the other side reads. */
function flood(socket: Socket, start: string, piece: Buffer): void {
  const pour = () => {
    while (socket.writable && socket.write(piece));
  };
  socket.on("drain", pour);
  socket.write(start);
  pour();
}
