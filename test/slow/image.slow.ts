// time budget: 900 s
/**
 * The image: the steps of the Dockerfile, carried out by buildah without a daemon, and containers of what
 * they make. A minute; on a machine that has no Litestream yet, building it takes most of the time.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import manifest from "../../package.json";
import { Client } from "../kit/app.ts";
import { canBuildImage, Image } from "../kit/image.ts";
import { runCommand } from "../kit/real-server.ts";
import { validateParts } from "../kit/parts-schema.ts";

const BUILD_MS = 880_000;
/** What it may add to Debian: the two executables. */
const OWN_BYTES_MAX = 200 * 2 ** 20;
const EVENT = { type: "invoice.paid", data: { n: 1 } };

const home = mkdtempSync(join(tmpdir(), "sealpost-image-"));

describe.skipIf(!canBuildImage())("the image", () => {
  let image: Image;

  beforeAll(async () => {
    image = await Image.build(home);
  }, BUILD_MS);
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  test("says what runs, as whom, where its data lies, and how its health is checked", () => {
    expect(image.config).toMatchObject({
      User: "10001:10001",
      Cmd: ["sealpost"],
      WorkingDir: "/",
      Volumes: { "/data": {} },
      ExposedPorts: { "8080/tcp": {} },
      Healthcheck: { Test: ["CMD", "sealpost", "--check-health"] },
    });
    expect(image.config.Env).toContain("SEALPOST_DATA_DIR=/data");
  });

  test("adds the two executables to its base, and little else", () => {
    console.error(`the image adds ${Math.round(image.ownBytes / 2 ** 20)} MiB to its base`);
    expect(image.ownBytes).toBeGreaterThan(100 * 2 ** 20);
    expect(image.ownBytes).toBeLessThan(OWN_BYTES_MAX);
  });

  test("its user owns the volume, and may write to nothing else but what everybody may", async () => {
    const writable = ["(", "-uid", "10001", "-o", "-gid", "10001", "-o", "-perm", "-0002", ")"];
    const found = await runCommand([
      "find",
      image.root,
      "!",
      "-type",
      "l",
      ...writable,
      "-printf",
      "/%P %m\n",
    ]);
    const shared = ["/run/lock 1777", "/tmp 1777", "/var/tmp 1777"];
    const devices = /^\/dev\//;
    const paths = found.trim().split("\n");
    expect(paths.filter((line) => !devices.test(line)).toSorted()).toEqual(["/data 700", ...shared]);
  });

  test("runs on a read-only root as its first process, is healthy, and ends with exit code 0", async () => {
    const began = performance.now();
    await using container = await image.start();
    console.error(`a container is ready after ${Math.round(performance.now() - began)} ms`);
    const { service } = container;
    expect((await new Client(service, service.keys.test).post("/v1/events", EVENT)).status).toBe(202);
    expect(await container.checkHealth()).toBe(0);
    const { exitCode, output } = await container.stop();
    expect([exitCode, output.match(/^.*"level":"error".*$/m)]).toEqual([0, null]);
  }, 60_000);

  test("runs under its Litestream, which confirms what waits for the replica", async () => {
    const env = { LITESTREAM_REPLICA_URL: "file:///data/replica" };
    await using container = await image.start(env, ["litestream", "replicate", "-exec", "sealpost"]);
    const { service } = container;
    const headers = { "sealpost-durability": "replica" };
    const client = new Client(service, service.keys.test);
    expect((await client.post("/v1/events", EVENT, headers)).status).toBe(202);
    expect((await container.stop()).exitCode).toBe(0);
  }, 60_000);

  test("holds the list of the parts of its executable", async () => {
    const list: unknown = await Bun.file(join(image.root, "usr/local/share/sbom/sealpost.cdx.json")).json();
    expect(await validateParts(list)).toBeNull();
    expect(list).toMatchObject({ metadata: { component: { name: "sealpost", version: manifest.version } } });
  });
});
