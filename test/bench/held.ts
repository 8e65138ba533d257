import type { Socket } from "bun";

/**
 * Connections that send one request each and read nothing, until `close`. `request` may lack its last bytes:
 * then a space comes every few seconds, as from somebody who sends as slowly as they may.
 */
export async function holdConnections(port: number, request: string, count: number): Promise<() => void> {
  const sockets: Socket[] = [];
  const drip = setInterval(() => {
    for (const socket of sockets) socket.write(" ");
  }, DRIP_MS);
  for (let at = 0; at < count; at++) sockets.push(await connect(port, request));
  return () => {
    clearInterval(drip);
    for (const socket of sockets) socket.terminate();
  };
}

const DRIP_MS = 4000;

function connect(port: number, request: string): Promise<Socket> {
  let unsent: Uint8Array = Buffer.from(request);
  const send = (socket: Socket) => {
    const written = socket.write(unsent);
    unsent = unsent.subarray(Math.max(0, written));
  };
  const socket = { open: (one: Socket) => (one.pause(), send(one)), drain: send, data() {} };
  return Bun.connect({ hostname: "127.0.0.1", port, socket });
}
