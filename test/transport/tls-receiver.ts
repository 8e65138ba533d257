import { createServer, type TLSSocket, type TlsOptions } from "node:tls";
import type { Certificate } from "./certificates.ts";

export interface TlsReceiver {
  url(host: string): URL;
  /** What came through each connection whose handshake the server saw end, and the name it was asked for. */
  readonly connections: { readonly name: unknown; readonly isResumed: boolean; text: string }[];
  close(): Promise<void>;
}

/** Answers every request that ends within one piece, or with the last byte of a body of `x`. */
export async function startTlsReceiver(
  certificate: Certificate,
  options: TlsOptions & { closes?: boolean } = {},
): Promise<TlsReceiver> {
  const connections: TlsReceiver["connections"] = [];
  const sockets = new Set<TLSSocket>();
  const server = createServer({ ...certificate, ...options }, (socket) => {
    const name = "servername" in socket ? socket.servername : null;
    const connection = { name, isResumed: socket.isSessionReused(), text: "" };
    connections.push(connection);
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (bytes: Buffer) => {
      connection.text += bytes.toString("latin1");
      if (!connection.text.endsWith("}")) return;
      if (options.closes) socket.end("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok");
      else socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    });
  });
  server.on("tlsClientError", () => {});
  const port = await new Promise<number>((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const bound = server.address();
      resolve(typeof bound === "object" && bound !== null ? bound.port : 0);
    });
  });
  const close = () =>
    new Promise<void>((resolve) => {
      for (const socket of sockets) socket.destroy();
      server.close(() => resolve());
    });
  return { connections, url: (host) => new URL(`https://${host}:${port}/`), close };
}
