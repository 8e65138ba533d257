/** What the replicas of a suite stand on, and the service under Litestream as a machine that can be lost. */
import { afterAll, beforeAll } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildLitestream, replicateCommand, Replicated, restore } from "../kit/litestream.ts";
import { type Service, type ServiceOptions, startService } from "../kit/service.ts";
import { Bucket, type BucketPlaces, type Places, SERVICE_ENV } from "./machine.ts";

export interface FolderPlaces extends Places {
  replica: string;
}

type Settings = Record<string, string>;

/** Litestream, a bucket and a folder, from the first test of a suite to its last. */
export class Grounds {
  litestream = "";
  readonly home: string;
  #bucket: Bucket | null = null;

  constructor(name: string) {
    this.home = mkdtempSync(join(tmpdir(), `sealpost-${name}-`));
    beforeAll(async () => {
      this.litestream = await buildLitestream();
      this.#bucket = await Bucket.start();
    }, 500_000);
    afterAll(async () => {
      await this.#bucket?.[Symbol.asyncDispose]();
      rmSync(this.home, { recursive: true, force: true });
    });
  }

  get bucket(): Bucket {
    if (this.#bucket === null) throw new Error("there is a bucket while tests run");
    return this.#bucket;
  }

  /** A replica of its own in a folder. */
  inFolder(): FolderPlaces {
    const folder = mkdtempSync(join(this.home, "test-"));
    const [replica, restored] = [join(folder, "replica"), join(folder, "restored")];
    mkdirSync(restored);
    const hasBegun = async () => existsSync(join(replica, "ltx"));
    return { replica, restored, env: { LITESTREAM_REPLICA_URL: `file://${replica}` }, hasBegun };
  }

  /** A replica of its own in the bucket. */
  inBucket(): BucketPlaces {
    return this.bucket.places(this.home);
  }

  /** Rows of a table of tests: each so often by a replica of each kind. */
  kinds(times: number): [nth: number, kind: string, make: () => Places][] {
    const kinds: [string, () => Places][] = [
      ["a folder", () => this.inFolder()],
      ["a bucket", () => this.inBucket()],
    ];
    return kinds.flatMap(([kind, make]) =>
      Array.from({ length: times }, (_, nth): [number, string, () => Places] => [nth + 1, kind, make]),
    );
  }

  /** The service under Litestream, as a machine of its own: all machines of a test have one replica. */
  replicatedBy({ env }: Places, settings: Settings = {}): ServiceOptions {
    return { command: replicateCommand(this.litestream), env: { ...SERVICE_ENV, ...env, ...settings } };
  }

  /**
   * Starts both, and waits for the first upload: ended before that, Litestream uploads nothing, although it
   * says nothing and ends with exit code 0.
   */
  async startReplicated(places: Places, settings?: Settings): Promise<Replicated> {
    const replicated = new Replicated(await startService(this.replicatedBy(places, settings)));
    while (!(await places.hasBegun())) await Bun.sleep(20);
    return replicated;
  }

  async restoreFrom({ env, restored }: Places, { dataDir }: Service): Promise<void> {
    const [from, to] = [join(dataDir, "sealpost.db"), join(restored, "sealpost.db")];
    await restore(this.litestream, from, to, { ...env, SEALPOST_DATA_DIR: dataDir });
  }
}
