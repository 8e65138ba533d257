import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Who writes to a replica: one small object beside what Litestream puts there. */
export interface Mark {
  /** Which database: made with it, and restored with it. */
  installation: string;
  /** Which data directory: a restored database is another writer. */
  writer: string;
  /** For people. */
  host: string;
  /** How many starts the database has seen. */
  start: number;
  /** Counts up while it is written to; what the replica holds for certain. */
  beat: number;
  /** The writer has stopped, and uploads nothing any more. */
  ended: boolean;
  /** When the mark was written: it changes for as long as the writer lives. */
  at: string;
}

/** Where a mark is kept. */
export interface MarkStore {
  /** Its text; null where there is none. */
  read(): Promise<string | null>;
  write(text: string): Promise<void>;
}

const FILE = "sealpost-writer.json";
const CALL_MS = 5000;

/** The place of the mark of the replica at `url`; null where this kind of replica cannot be marked. */
export function openMarkStore(
  url: string,
  env: Readonly<Record<string, string | undefined>>,
): MarkStore | null {
  if (!URL.canParse(url)) return null;
  const { protocol } = new URL(url);
  if (protocol === "file:") return fileStore(url.slice("file://".length).split("?", 1)[0] ?? "");
  return protocol === "s3:" ? s3Store(new URL(url), env) : null;
}

function fileStore(folder: string): MarkStore {
  const path = join(folder, FILE);
  return {
    async read() {
      try {
        return readFileSync(path, "utf8");
      } catch (error) {
        if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
        throw error;
      }
    },
    async write(text) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(`${path}.new`, text);
      renameSync(`${path}.new`, path);
    },
  };
}

/** With the credentials that Litestream takes from the environment. */
function s3Store(url: URL, env: Readonly<Record<string, string | undefined>>): MarkStore {
  const setting = (...names: string[]) => names.map((name) => env[name]).find((text) => text);
  const endpoint = url.searchParams.get("endpoint");
  const options = {
    bucket: url.hostname,
    accessKeyId: setting("LITESTREAM_ACCESS_KEY_ID", "AWS_ACCESS_KEY_ID"),
    secretAccessKey: setting("LITESTREAM_SECRET_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY"),
    sessionToken: setting("AWS_SESSION_TOKEN"),
    region: url.searchParams.get("region") ?? setting("AWS_REGION"),
    endpoint: endpoint && !endpoint.includes("://") ? `https://${endpoint}` : (endpoint ?? undefined),
  };
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const key = [...url.pathname.split("/").filter(Boolean), FILE].join("/");
  const file = new Bun.S3Client(given).file(key);
  return {
    read: () => within(readObject(file)),
    async write(text) {
      await within(file.write(text, { type: "application/json" }));
    },
  };
}

async function readObject(file: Bun.S3File): Promise<string | null> {
  try {
    return await file.text();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "NoSuchKey") return null;
    throw error;
  }
}

async function within<T>(work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${CALL_MS} ms`)), CALL_MS);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Null where the text is no mark. */
export function readMark(text: string): Mark | null {
  try {
    const mark = JSON.parse(text) as Partial<Mark> | null;
    const isWhole = typeof mark?.installation === "string" && typeof mark.writer === "string";
    return isWhole && Number.isInteger(mark.start) && Number.isInteger(mark.beat) ? (mark as Mark) : null;
  } catch {
    return null;
  }
}

/** What a database knows of itself, and its folder of it. */
export interface Own {
  /** Null where there is no database yet, or one from before marks. */
  installation: string | null;
  writer: string;
  start: number;
  beat: number;
}

export type Permission = { may: "write" } | { may: "wait" } | { may: "not"; because: string };

/**
 * Whether a database may go on where a mark stands. `write`: nobody else can be at it. `wait`: whoever wrote
 * the mark may live still, which shows by the mark's changing. `not`: what is uploaded from here would
 * destroy what the replica holds.
 */
export function judge(mark: Mark | null, own: Own): Permission {
  if (mark === null) return { may: "write" };
  const who = `${mark.host}, start ${mark.start}, last heard of at ${mark.at}`;
  if (own.installation !== null && mark.installation !== own.installation)
    return { may: "not", because: `it holds another database (${who})` };
  if (mark.start > own.start || mark.beat > own.beat)
    return { may: "not", because: `it was written to (${who}) after the database of this directory was` };
  if (mark.writer === own.writer || mark.ended) return { may: "write" };
  return { may: "wait" };
}
