/** A PostgreSQL server of a test's own. */
import { chownSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { freePorts, makeFolder, RealServer, runCommand } from "./real-server.ts";
import { requireTool } from "./tools.ts";

/** Debian keeps the server's programs off the PATH, by their version. */
const [SERVER = "postgres"] = [...new Bun.Glob("/usr/lib/postgresql/*/bin/postgres").scanSync("/")];
const HINT = "apt-get install --no-install-recommends postgresql";

export const hasPostgres = requireTool(SERVER, HINT);

export class Postgres implements AsyncDisposable {
  readonly url: string;
  readonly sql: SQL;
  readonly #server: RealServer;
  readonly #folder: ReturnType<typeof makeFolder>;

  private constructor(server: RealServer, folder: ReturnType<typeof makeFolder>, url: string) {
    this.#server = server;
    this.#folder = folder;
    this.url = url;
    this.sql = new SQL(url, { max: 4 });
  }

  static async start(): Promise<Postgres> {
    const folder = makeFolder("postgres");
    const data = join(folder.path, "data");
    const asUser = await userIn(folder.path);
    const initdb = join(SERVER, "../initdb");
    await runCommand([...asUser, initdb, "-D", data, "-U", "postgres", "-A", "trust", "--no-sync"]);
    const [port = 0] = await freePorts(1);
    const settings = [`listen_addresses=127.0.0.1`, `unix_socket_directories=${folder.path}`];
    const server = new RealServer({
      name: "PostgreSQL",
      command: [...asUser, SERVER, "-D", data, "-p", String(port), ...settings.flatMap((one) => ["-c", one])],
      isReady: (output) => output.includes("ready to accept connections"),
    });
    await server.start();
    return new Postgres(server, folder, `postgres://postgres@127.0.0.1:${port}/postgres`);
  }

  /** Kills it and all that it started; `restart` brings back what was committed. */
  async kill9(): Promise<void> {
    this.#server.signal("SIGKILL");
    await this.#server.stop();
  }

  restart(): Promise<void> {
    return this.#server.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sql.close({ timeout: 0 });
    // Without waiting for those that are connected.
    this.#server.signal("SIGINT");
    await this.#server.stop();
    this.#folder.remove();
  }
}

/** What runs a command as somebody else in a folder that becomes theirs: the server does not run as root. */
async function userIn(folder: string): Promise<string[]> {
  if (process.getuid?.() !== 0) return [];
  const idOf = async (which: string) => Number(await runCommand(["id", which, "nobody"]));
  const [uid, gid] = [await idOf("-u"), await idOf("-g")];
  chownSync(folder, uid, gid);
  return ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"];
}
