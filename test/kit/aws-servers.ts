/**
 * Servers that play AWS: moto for the queues, topics, buses, streams and roles, versitygw for buckets with
 * signatures that are checked.
 */
import { join } from "node:path";
import { buildGoTool } from "./go.ts";
import { installPython, PYTHON_HINT } from "./python.ts";
import { freePorts, makeFolder, RealServer } from "./real-server.ts";
import { requireTool } from "./tools.ts";

const MOTO_VERSION = "5.2.5";
export const VERSITYGW_TARGET = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";

export interface PlayedAws extends AsyncDisposable {
  readonly url: string;
  readonly server: RealServer;
}

/** With `checksAfter`, signatures and policies hold after so many calls, which may make users and keys. */
export async function startMoto(checksAfter?: number): Promise<PlayedAws> {
  requireTool("python3", PYTHON_HINT);
  const folder = await installPython([`moto[server]==${MOTO_VERSION}`]);
  const [port = 0] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const server = new RealServer({
    name: "moto",
    command: [join(folder, "bin/moto_server"), "-H", "127.0.0.1", "-p", String(port)],
    env: checksAfter === undefined ? {} : { INITIAL_NO_AUTH_ACTION_COUNT: String(checksAfter) },
    isReady: async () => (await fetch(`${url}/moto-api/`)).ok,
  });
  await server.start();
  return { url, server, [Symbol.asyncDispose]: () => server.stop() };
}

export const VERSITYGW_KEYS = { accessKeyId: "sealpost-root", secretAccessKey: "versity-secret-of-a-test" };

/** Where a server runs that is not simply on this machine. */
export interface Elsewhere {
  /** In front of its command. */
  enter: readonly string[];
  /** At which a test reaches it. */
  address: string;
}

const HERE: Elsewhere = { enter: [], address: "127.0.0.1" };

/** versitygw over a folder of its own. */
export async function startVersitygw({ enter, address } = HERE): Promise<PlayedAws> {
  const command = await buildGoTool(VERSITYGW_TARGET);
  const [port = 0] = await freePorts(1);
  const folder = makeFolder("versitygw");
  const url = `http://${address}:${port}`;
  const listening = address === HERE.address ? address : "0.0.0.0";
  const server = new RealServer({
    name: "versitygw",
    command: [...enter, command, "--port", `${listening}:${port}`, "posix", folder.path],
    env: {
      ROOT_ACCESS_KEY: VERSITYGW_KEYS.accessKeyId,
      ROOT_SECRET_KEY: VERSITYGW_KEYS.secretAccessKey,
    },
    // Anonymous callers are refused, by the server.
    isReady: async () => (await fetch(url)).status === 403,
  });
  await server.start();
  const stop = async () => {
    await server.stop();
    folder.remove();
  };
  return { url, server, [Symbol.asyncDispose]: stop };
}
