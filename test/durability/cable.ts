/** A way to a server by TCP that can be cut: then nothing arrives in either direction, and nobody is told. */
import { connect, createServer, type Server, type Socket } from "node:net";
import { freePorts } from "../kit/real-server.ts";

export class Cable implements AsyncDisposable {
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(
    readonly port: number,
    private readonly server: Server,
  ) {}

  static async to(target: number): Promise<Cable> {
    const [port = 0] = await freePorts(1);
    const server = createServer((near) => {
      const far = connect(target, "127.0.0.1");
      cable.#join(near, far);
      cable.#join(far, near);
    });
    const cable = new Cable(port, server);
    await new Promise<void>((listening) => server.listen(port, "127.0.0.1", listening));
    return cable;
  }

  #join(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.on("data", (bytes) => this.#isCut || to.write(bytes));
    from.on("error", () => {});
    from.on("close", () => {
      this.#sockets.delete(from);
      if (!this.#isCut) to.destroy();
    });
  }

  cut(): void {
    this.#isCut = true;
  }

  /** What was open is gone: both ends have given it up. */
  mend(): void {
    this.#isCut = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((closed) => this.server.close(closed));
  }
}
