/**
 * A receiver over TLS, a process of its own: it answers 200 to everything, and "count" with the connections
 * it has taken.
 */
interface Settings {
  key: string;
  cert: string;
}

const { key, cert } = JSON.parse(process.argv[2] ?? "") as Settings;
const answer = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
const END_OF_HEAD = Buffer.from("\r\n\r\n");
const LENGTH = /content-length: *(\d+)/i;

let connections = 0;
const server = Bun.listen<{ held: Buffer }>({
  hostname: "127.0.0.1",
  port: 0,
  tls: { key, cert },
  socket: {
    open(socket) {
      connections++;
      socket.data = { held: Buffer.alloc(0) };
    },
    data(socket, chunk) {
      const held = socket.data.held.length === 0 ? chunk : Buffer.concat([socket.data.held, chunk]);
      const head = held.indexOf(END_OF_HEAD);
      const length = Number(LENGTH.exec(held.toString("latin1", 0, Math.max(head, 0)))?.[1] ?? Infinity);
      const isWhole = head >= 0 && held.length >= head + END_OF_HEAD.length + length;
      socket.data.held = isWhole ? Buffer.alloc(0) : held;
      if (isWhole) socket.write(answer);
    },
  },
});

process.on("message", () => process.send?.(connections));
process.send?.(server.port);
