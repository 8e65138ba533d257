// time budget: 900 s
/**
 * The kind `google_cloud_storage` against fake-gcs-server, which takes any token; the tokens come from a
 * server that verifies what asks for them. On a machine that has no fake-gcs-server yet, building it takes
 * most of the time.
 */
import { afterAll } from "bun:test";
import { buildGoTool } from "../kit/go.ts";
import { freePorts, makeFolder, RealServer } from "../kit/real-server.ts";
import { TokenServer } from "../kit/token-server.ts";
import { type Arrived, type LiveKind, testLive } from "../destinations/kinds/live.ts";

const folder = makeFolder("gcs");
const tokens = new TokenServer();

afterAll(async () => {
  await tokens[Symbol.asyncDispose]();
  folder.remove();
});

async function prepare(): Promise<LiveKind> {
  const program = await buildGoTool("github.com/fsouza/fake-gcs-server@v1.56.1");
  const [port = 0] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const place = [
    "-scheme",
    "http",
    "-host",
    "127.0.0.1",
    "-port",
    String(port),
    "-public-host",
    `127.0.0.1:${port}`,
  ];
  const server = new RealServer({
    name: "fake-gcs-server",
    command: [program, ...place, "-backend", "filesystem", "-filesystem-root", folder.path],
    isReady: async () => (await fetch(`${url}/storage/v1/b?project=acme-1`)).ok,
  });
  await server.start();
  const body = JSON.stringify({ name: "orders" });
  await fetch(`${url}/storage/v1/b?project=acme-1`, { method: "POST", body });
  const bucket = new Bucket(url);
  return {
    kind: "google_cloud_storage",
    config: { bucket: "orders", prefix: "hooks", service_account_json: tokens.keyFile(), endpoint: url },
    read: () => bucket.next(),
    refusals: [
      {
        name: "a key that was revoked",
        config: { service_account_json: tokens.keyFile({ isForged: true }) },
        statusCode: 400,
        means: "token_unavailable: invalid_grant",
      },
      { name: "missing bucket", config: { bucket: "nope" }, statusCode: 404, means: "bucket_not_found" },
    ],
    start: () => server.start(),
    stop: () => server.stop(),
  };
}

interface Listed {
  name: string;
  generation: string;
  metadata: Record<string, string>;
}

/** Gives every object, and every new generation of one, once. */
class Bucket {
  readonly #seen = new Set<string>();

  constructor(private readonly url: string) {}

  async next(): Promise<Arrived> {
    for (;;) {
      const listed = (await (await fetch(`${this.url}/storage/v1/b/orders/o`)).json()) as {
        items?: Listed[];
      };
      const fresh = listed.items?.find(({ name, generation }) => !this.#seen.has(`${name} ${generation}`));
      if (fresh === undefined) continue;
      this.#seen.add(`${fresh.name} ${fresh.generation}`);
      const path = `/storage/v1/b/orders/o/${encodeURIComponent(fresh.name)}?alt=media`;
      return { body: await (await fetch(this.url + path)).text(), headers: fresh.metadata };
    }
  }
}

testLive("Google Cloud Storage", prepare);
