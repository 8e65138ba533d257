import { readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { StartError } from "../platform/start-error.ts";

/** Where litestream.yml puts Litestream's control socket: in the data directory. */
const SOCKET_FILE = "litestream.sock";

const CALL_MS = 3000;
const SYNC_SECONDS = 20;
const SYNC_CALL_MS = (SYNC_SECONDS + 2) * 1000;
/** Litestream ends a database with an upload, for which it has no time then. */
const NO_TIME = -1;
const STOPPED = "stopped";

/** What Litestream answers at its pace socket, as far as it is read. */
interface Answer {
  error?: string;
  databases?: { path: string; status: string }[];
  /** How far the database came, and the replica. */
  txid?: number;
  replicated_txid?: number;
}

/** Nobody listens at the control socket. */
export class LitestreamGone extends StartError {
  override name = "LitestreamGone";
}

/**
 * One Litestream, by its control socket: the only thing that knows what it replicates, and how far it came.
 */
export class Litestream {
  constructor(
    private readonly socket: string,
    /** The database in Litestream's own words. */
    private readonly path: string,
  ) {}

  /** Nothing of the database is uploaded from now on: what is not in the replica yet stays on this disk. */
  async hold(): Promise<void> {
    try {
      await this.#call("POST", "/stop", { path: this.path, timeout: NO_TIME }, CALL_MS);
    } catch (error) {
      // The upload has failed, as it should, and that is told; the database is closed all the same.
      const { databases = [] } = await call(this.socket, "/list", {}, CALL_MS);
      if (databases.find(({ path }) => path === this.path)?.status !== STOPPED) throw error;
    }
  }

  async release(): Promise<void> {
    await this.#call("POST", "/start", { path: this.path }, CALL_MS);
  }

  /** Resolves when all that was committed before the call is in the replica, with its last transaction. */
  async sync(): Promise<number> {
    const body = { path: this.path, wait: true, timeout: SYNC_SECONDS };
    const { txid, replicated_txid } = await this.#call("POST", "/sync", body, SYNC_CALL_MS);
    // Litestream uploads nothing then, and says that all is well.
    if (txid !== undefined && replicated_txid !== undefined && replicated_txid > txid)
      throw new StartError(`the replica is ahead of the database (${replicated_txid}, ${txid})`);
    return replicated_txid ?? 0;
  }

  /** Copies what was committed into Litestream's own folder. True where the replica lacks some of it. */
  async copy(): Promise<boolean> {
    const body = { path: this.path, wait: false, timeout: SYNC_SECONDS };
    const { txid = 0, replicated_txid = 0 } = await this.#call("POST", "/sync", body, SYNC_CALL_MS);
    return txid > replicated_txid;
  }

  #call(method: "POST", path: string, body: object, withinMs: number): Promise<Answer> {
    return call(this.socket, path, { method, body: JSON.stringify(body) }, withinMs);
  }
}

async function call(socket: string, path: string, init: RequestInit, withinMs: number): Promise<Answer> {
  const signal = AbortSignal.timeout(withinMs);
  const response = await fetch(`http://litestream${path}`, { ...init, signal, unix: socket }).catch(
    (error: unknown) => {
      if (signal.aborted) throw new StartError(`Litestream does not answer within ${withinMs} ms`);
      throw new LitestreamGone(`Litestream is not there (${String(error)})`);
    },
  );
  const answer = (await response.json()) as Answer;
  if (!response.ok) throw new StartError(`Litestream refuses ${path}: ${answer.error ?? response.status}`);
  return answer;
}

/**
 * The Litestream that replicates the database at `path`; the paths that one replicates instead; null where
 * none answers at the socket of the data directory.
 */
export async function findLitestream(path: string): Promise<Litestream | readonly string[] | null> {
  const socket = join(dirname(path), SOCKET_FILE);
  let answer: Answer;
  try {
    answer = await call(socket, "/list", {}, CALL_MS);
  } catch (error) {
    if (error instanceof LitestreamGone) return null;
    throw error;
  }
  const paths = (answer.databases ?? []).map((database) => database.path);
  const own = realFolder(path);
  const found = paths.find((one) => realFolder(one) === own);
  return found === undefined ? paths : new Litestream(socket, found);
}

/** The path with its folder as the file system knows it: the database itself may not be there yet. */
function realFolder(path: string): string {
  try {
    return join(realpathSync(dirname(path)), path.slice(path.lastIndexOf("/")));
  } catch {
    return path;
  }
}

/** The Litestream that has started this process, or one above it: its process; null where none has. */
export function litestreamAbove(): number | null {
  for (let pid = process.ppid; pid > 0; ) {
    try {
      // The second field is the name in brackets, which may hold anything; the parent is the second one
      // behind it.
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const end = stat.lastIndexOf(")");
      if (stat.slice(stat.indexOf("(") + 1, end) === "litestream") return pid;
      pid = Number(stat.slice(end + 2).split(" ")[1]);
    } catch {
      return null;
    }
  }
  return null;
}
