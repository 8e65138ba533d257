/** Where replicas are, and what one of them gives back. */
import { Database } from "bun:sqlite";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { CreateBucketCommand, DeleteObjectCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { type Elsewhere, type PlayedAws, startVersitygw, VERSITYGW_KEYS } from "../kit/aws-servers.ts";
import { type Service, startService } from "../kit/service.ts";
import { LOAD_ENV } from "./setup.ts";

const SECRET_KEY = Buffer.alloc(32, "key").toString("base64");
export const METRICS_TOKEN = "metrics-token-of-this-test";

/** What every service of a suite is told. */
export const SERVICE_ENV = {
  ...LOAD_ENV,
  SEALPOST_SECRET_KEY: SECRET_KEY,
  SEALPOST_METRICS_TOKEN: METRICS_TOKEN,
};

/** Where a replica is, and where databases are restored to. */
export interface Places {
  /** What Litestream, and the service, are told of the replica. */
  env: Record<string, string>;
  restored: string;
  /** True once something is uploaded. */
  hasBegun(): Promise<boolean>;
}

export interface BucketPlaces extends Places {
  /** Every object of the replica is below it. */
  path: string;
}

/** A bucket for replicas. */
export class Bucket implements AsyncDisposable {
  private constructor(
    private readonly server: PlayedAws,
    readonly s3: S3Client,
  ) {}

  static async start(elsewhere?: Elsewhere): Promise<Bucket> {
    const server = await startVersitygw(elsewhere);
    const s3 = new S3Client({
      endpoint: server.url,
      region: "us-east-1",
      forcePathStyle: true,
      credentials: VERSITYGW_KEYS,
    });
    await s3.send(new CreateBucketCommand({ Bucket: "replica" }));
    return new Bucket(server, s3);
  }

  get port(): number {
    return Number(new URL(this.server.url).port);
  }

  /**
   * A replica of its own at a path of the bucket, which is reached at `url`; databases are restored to a
   * folder below `home`.
   */
  places(home: string, url = this.server.url): BucketPlaces {
    const restored = mkdtempSync(join(home, "test-"));
    const path = restored.slice(home.length + 1);
    const env = {
      LITESTREAM_REPLICA_URL: `s3://replica/${path}?endpoint=${url}&region=us-east-1&force-path-style=true`,
      LITESTREAM_ACCESS_KEY_ID: VERSITYGW_KEYS.accessKeyId,
      LITESTREAM_SECRET_ACCESS_KEY: VERSITYGW_KEYS.secretAccessKey,
    };
    return { env, path, restored, hasBegun: async () => (await this.count(`${path}/0000/`)) > 0 };
  }

  async count(prefix: string): Promise<number> {
    const { KeyCount = 0 } = await this.s3.send(
      new ListObjectsV2Command({ Bucket: "replica", Prefix: prefix }),
    );
    return KeyCount;
  }

  async remove(key: string): Promise<void> {
    await this.s3.send(new DeleteObjectCommand({ Bucket: "replica", Key: key }));
  }

  /** Nothing is reached any more until `restart`; what is in it stays. */
  stop(): Promise<void> {
    return this.server.server.stop();
  }

  restart(): Promise<void> {
    return this.server.server.start();
  }

  /** What is sent is taken, and nothing is answered, until the end of it. */
  hang(): () => void {
    const { server } = this.server;
    server.signal("SIGSTOP");
    return () => server.signal("SIGCONT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.s3.destroy();
    await this.server[Symbol.asyncDispose]();
  }
}

/** The service on what was restored, as on a new machine, with the keys of the old one. */
export async function startRestored({ restored }: Places, old: Service): Promise<Service> {
  const env = { ...LOAD_ENV, SEALPOST_SECRET_KEY: SECRET_KEY, SEALPOST_DATA_DIR: restored };
  const service = await startService({ env });
  service.keys = old.keys;
  return service;
}

export function checkIntegrity({ restored }: Places): unknown {
  const sqlite = new Database(join(restored, "sealpost.db"));
  const verdict = sqlite.query("PRAGMA integrity_check").get();
  sqlite.close();
  return verdict;
}

/** A number without labels among the service's metrics. */
export async function gauge({ url }: Pick<Service, "url">, name: string): Promise<number> {
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
  const text = await (await fetch(`${url}/metrics`, { headers })).text();
  return Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1]);
}
