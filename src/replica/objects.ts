import { randomBytes } from "node:crypto";
import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { signAws } from "../destinations/aws/sign.ts";
import { StartError } from "../platform/start-error.ts";

/** Small objects beside a replica: who writes to it, and who may. */
export interface Objects {
  /** Null where there is none of that name. */
  read(name: string): Promise<StoredObject | null>;
  /** Whatever is there. */
  write(name: string, text: string): Promise<void>;
  /**
   * Only where the object still has this tag, or where there is none (`null`). Answers the new tag; null
   * where somebody else was first, or has replaced this one already.
   */
  replace(name: string, text: string, tag: string | null): Promise<string | null>;
  remove(name: string): Promise<void>;
  /** Whether anything lies in the folder of that name. */
  holdsAny(folder: string): Promise<boolean>;
}

export interface StoredObject {
  text: string;
  /** Differs with every write. */
  tag: string;
}

/** A bucket that is reached by the role of a machine has no place for these objects. */
export class NoCredentials extends Error {
  override name = "NoCredentials";
}

type Env = Readonly<Record<string, string | undefined>>;

/** The place of a replica's objects; null where its kind has none (`gs://`, `sftp://`…). */
export function openObjects(url: string, env: Env): Objects | null {
  if (!URL.canParse(url)) return null;
  const { protocol } = new URL(url);
  if (protocol === "file:") return new FolderObjects(url.slice("file://".length).split("?", 1)[0] ?? "");
  return protocol === "s3:" ? new S3Objects(new URL(url), env) : null;
}

/**
 * Files. What is replaced has a number behind its name, and the highest is the object: `link` makes the next
 * one as a whole, and for one caller only. Each makes the next before it removes its own, so that a caller
 * who comes late always finds a higher one.
 */
class FolderObjects implements Objects {
  constructor(private readonly folder: string) {}

  async read(name: string): Promise<StoredObject | null> {
    for (;;) {
      const last = this.#lastOf(name);
      try {
        const path = last === 0 ? join(this.folder, name) : this.#pathOf(name, last);
        return { text: readFileSync(path, "utf8"), tag: String(last) };
      } catch (error) {
        if (!isMissing(error)) throw error;
        // A higher one has come meanwhile.
        if (this.#lastOf(name) === last) return null;
      }
    }
  }

  async write(name: string, text: string): Promise<void> {
    renameSync(this.#aside(name, text), join(this.folder, name));
  }

  async replace(name: string, text: string, tag: string | null): Promise<string | null> {
    if (tag === null && (await this.read(name)) !== null) return null;
    const next = Number(tag ?? 0) + 1;
    const path = this.#pathOf(name, next);
    const aside = this.#aside(name, text);
    try {
      linkSync(aside, path);
    } catch (error) {
      if (isCode(error, "EEXIST")) return null;
      throw error;
    } finally {
      rmSync(aside, { force: true });
    }
    const isLate = this.#lastOf(name) > next;
    rmSync(isLate ? path : this.#pathOf(name, next - 1), { force: true });
    return isLate ? null : String(next);
  }

  async remove(name: string): Promise<void> {
    rmSync(join(this.folder, name), { force: true });
    for (const number of this.#numbersOf(name)) rmSync(this.#pathOf(name, number), { force: true });
  }

  async holdsAny(folder: string): Promise<boolean> {
    return listFolder(join(this.folder, folder)).length > 0;
  }

  #pathOf(name: string, number: number): string {
    return join(this.folder, `${name}.${number}`);
  }

  /** 0 where none was replaced. */
  #lastOf(name: string): number {
    return Math.max(0, ...this.#numbersOf(name));
  }

  #numbersOf(name: string): number[] {
    const prefix = `${name}.`;
    const names = listFolder(this.folder).filter((one) => one.startsWith(prefix));
    return names
      .map((one) => one.slice(prefix.length))
      .filter((rest) => /^\d+$/.test(rest))
      .map(Number);
  }

  #aside(name: string, text: string): string {
    mkdirSync(this.folder, { recursive: true });
    const path = join(this.folder, `${name}.${randomBytes(8).toString("hex")}.new`);
    writeFileSync(path, text);
    return path;
  }
}

/** Nothing where there is none. */
function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

const isMissing = (error: unknown) => isCode(error, "ENOENT");

type Method = "GET" | "PUT" | "DELETE";

const CALL_MS = 2000;
/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html: somebody else was first. */
const LOST_RACE = [409, 412];

/** A bucket, by the credentials that Litestream takes from the environment. */
class S3Objects implements Objects {
  readonly #bucket: URL;
  /** The folders of the replica. */
  readonly #prefix: readonly string[];
  readonly #region: string;

  constructor(
    url: URL,
    private readonly env: Env,
  ) {
    this.#region = url.searchParams.get("region") ?? this.#setting("AWS_REGION") ?? "us-east-1";
    this.#bucket = bucketUrl(url, this.#region);
    this.#prefix = url.pathname.split("/").filter(Boolean);
  }

  async read(name: string): Promise<StoredObject | null> {
    const response = await this.#call("GET", name);
    const text = await response.text();
    if (response.status === 404 && !text.includes("NoSuchBucket")) return null;
    if (!response.ok) throw faultOf(response, text);
    return { text, tag: response.headers.get("etag") ?? "" };
  }

  async write(name: string, text: string): Promise<void> {
    const response = await this.#call("PUT", name, text);
    if (!response.ok) throw faultOf(response, await response.text());
  }

  async replace(name: string, text: string, tag: string | null): Promise<string | null> {
    const condition: [string, string] = tag === null ? ["if-none-match", "*"] : ["if-match", tag];
    const response = await this.#call("PUT", name, text, [condition]);
    // 404: the object that had the tag is gone.
    if (LOST_RACE.includes(response.status) || (response.status === 404 && tag !== null)) return null;
    if (!response.ok) throw faultOf(response, await response.text());
    return response.headers.get("etag") ?? "";
  }

  async remove(name: string): Promise<void> {
    const response = await this.#call("DELETE", name);
    if (!response.ok && response.status !== 404) throw faultOf(response, await response.text());
  }

  async holdsAny(folder: string): Promise<boolean> {
    const [bucket, prefix] = [new URL(this.#bucket), [...this.#prefix, folder, ""].join("/")];
    bucket.search = new URLSearchParams({ "list-type": "2", "max-keys": "1", prefix }).toString();
    const response = await this.#ask("GET", bucket, "", []);
    const text = await response.text();
    if (!response.ok) throw faultOf(response, text);
    return text.includes("<Contents>");
  }

  #call(
    method: Method,
    name: string,
    text = "",
    conditions: readonly [string, string][] = [],
  ): Promise<Response> {
    const url = new URL(this.#bucket);
    url.pathname = [url.pathname.replace("/", ""), ...this.#prefix, name].filter(Boolean).join("/");
    return this.#ask(method, url, text, conditions);
  }

  async #ask(
    method: Method,
    url: URL,
    text: string,
    conditions: readonly [string, string][],
  ): Promise<Response> {
    const body = Buffer.from(text);
    const type: [string, string][] = method === "PUT" ? [["content-type", "application/json"]] : [];
    const signed = await signAws(
      { method, url, headers: [...type, ...conditions], body },
      {
        service: "s3",
        region: this.#region,
        credentials: this.#credentials(),
        timestampSeconds: Math.floor(Date.now() / 1000),
      },
    );
    const headers = signed.headers.map(([key, value]): [string, string] => [key, value]);
    const signal = AbortSignal.timeout(CALL_MS);
    return fetch(url, { method, headers, signal, ...(method === "PUT" && { body }) });
  }

  #credentials() {
    const accessKeyId = this.#setting("LITESTREAM_ACCESS_KEY_ID", "AWS_ACCESS_KEY_ID");
    const secretAccessKey = this.#setting("LITESTREAM_SECRET_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY");
    if (accessKeyId === undefined || secretAccessKey === undefined)
      throw new NoCredentials("LITESTREAM_ACCESS_KEY_ID and LITESTREAM_SECRET_ACCESS_KEY are not set");
    const sessionToken = this.#setting("AWS_SESSION_TOKEN");
    return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
  }

  #setting(...names: string[]): string | undefined {
    return names.map((name) => this.env[name]).find((text) => text);
  }
}

/** By name in the host, as Amazon wants it; by path at an endpoint of one's own, and for a name with dots. */
function bucketUrl({ hostname: bucket, searchParams }: URL, region: string): URL {
  const endpoint = searchParams.get("endpoint");
  const host = `s3.${region}.amazonaws.com`;
  if (endpoint) {
    const origin = endpoint.includes("://") ? endpoint : `https://${endpoint}`;
    return new URL(`${origin.endsWith("/") ? "" : "/"}${bucket}`, origin);
  }
  return new URL(bucket.includes(".") ? `https://${host}/${bucket}` : `https://${bucket}.${host}`);
}

function faultOf({ status }: Response, text: string): StartError {
  const code = /<Code>([^<]+)</.exec(text)?.[1];
  return new StartError(`the bucket answers ${status}${code === undefined ? "" : ` ${code}`}`);
}
