// time budget: 180 s
/**
 * The receivers in PHP and in Python that the portal shows: run as they stand, PHP's by its own server,
 * against a delivery of the real service.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { receiverOf, SNIPPETS } from "../../src/portal/display/snippets.ts";
import { Lines } from "../kit/lines.ts";
import { installPython, PYTHON_HINT } from "../kit/python.ts";
import { RealServer } from "../kit/real-server.ts";
import { requireTool } from "../kit/tools.ts";
import { forge, type Sample, takeDelivery } from "../readme/delivery.ts";

const hasPhp = requireTool("php", "apt-get install php-cli");
const hasPython = requireTool("python3", PYTHON_HINT);
const folder = mkdtempSync(join(tmpdir(), "sealpost-portal-receivers-"));
const INSTALL_MS = 60_000;
let sample: Sample;

beforeAll(async () => {
  sample = await takeDelivery();
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const snippetOf = (key: string) => {
  const found = SNIPPETS.find((one) => one.key === key);
  if (!found) throw new Error(`there is no snippet ${key}`);
  return found;
};

/**
 * True where the library can be had: it comes from a registry of its own, which not every network reaches.
 */
async function installLibrary(): Promise<boolean> {
  const { install } = snippetOf("php");
  if (!hasPhp || install === null) return false;
  const child = Bun.spawn(["sh", "-c", install], {
    cwd: folder,
    stdout: "ignore",
    stderr: "ignore",
    timeout: INSTALL_MS,
  });
  const isThere = (await child.exited) === 0;
  if (!isThere)
    console.error(`skipping tests: "${install}" does not work here: install composer, or reach its registry`);
  return isThere;
}

const hasLibrary = await installLibrary();

/** A port that nothing listens on. */
async function freePort(): Promise<number> {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const { port = 0 } = server;
  await server.stop(true);
  return port;
}

async function post(
  url: string,
  body: string | Uint8Array,
  headers: Record<string, string>,
): Promise<number> {
  return (await fetch(url, { method: "POST", body, headers })).status;
}

/** A forger chooses the headers and the body: none of them may be more than a 401. */
async function expectRefusesForgeries(url: string): Promise<void> {
  const { headers, body } = sample;
  const later = { "webhook-timestamp": String(Number(headers["webhook-timestamp"]) + 1) };
  expect(await post(url, forge(sample).body, headers)).toBe(401);
  expect(await post(url, new Uint8Array([0xff]), headers)).toBe(401);
  expect(await post(url, body, {})).toBe(401);
  for (const changed of [
    later,
    { "webhook-timestamp": "1" },
    { "webhook-timestamp": "soon" },
    { "webhook-signature": "no-comma" },
    { "webhook-signature": "v1,no-base64" },
  ])
    expect([changed, await post(url, body, { ...headers, ...changed })]).toEqual([changed, 401]);
}

async function expectVerifies(key: string): Promise<void> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/hooks`;
  const file = join(folder, `${key}.php`);
  await Bun.write(file, snippetOf(key).write(receiverOf(url)));
  // What PHP's server says of itself, and what the receiver logs, go to standard error.
  const serve = `exec php -S 127.0.0.1:${port} ${file} 2>&1`;
  await using lines = new Lines(["sh", "-c", serve], { WEBHOOK_SECRET: sample.secret });
  expect(await lines.next()).toContain("started");
  await expectRefusesForgeries(url);
  const { headers } = sample;
  expect(await post(url, sample.body, headers)).toBe(204);
  // Nothing is logged but what arrived: no warning of PHP's either.
  let line = await lines.next();
  for (; !line.endsWith("invoice.paid"); line = await lines.next())
    expect(line).toMatch(/(Accepted|Closing)$/);
  expect(line).toContain(String(headers["webhook-id"]));
}

describe.skipIf(!hasPhp)("in PHP", () => {
  test("the receiver without a library takes what is genuine, and refuses what is not", () =>
    expectVerifies("plain_php"));

  test.skipIf(!hasLibrary)("so does the one with the published library", () => expectVerifies("php"));

  test.each(["", "whsec_", "whsec_c2hvcnQ="])(
    "the receiver without a library verifies nothing where the secret is %p",
    async (secret) => {
      const port = await freePort();
      const url = `http://127.0.0.1:${port}/hooks`;
      const file = join(folder, "no-secret.php");
      await Bun.write(file, snippetOf("plain_php").write(receiverOf(url)));
      const serve = `exec php -S 127.0.0.1:${port} ${file} 2>&1`;
      await using lines = new Lines(["sh", "-c", serve], { WEBHOOK_SECRET: secret });
      expect(await lines.next()).toContain("started");
      const { body, headers } = sample;
      const hmac = createHmac("sha256", Buffer.from(secret.slice("whsec_".length), "base64"));
      const signed = hmac.update(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`);
      const forged = { ...headers, "webhook-signature": `v1,${signed.digest("base64")}` };
      expect(await post(url, body, forged)).toBe(500);
    },
  );

  test("both are PHP, whatever the endpoint's address holds", async () => {
    for (const key of ["php", "plain_php"]) {
      const file = join(folder, `hostile-${key}.php`);
      await Bun.write(file, snippetOf(key).write(receiverOf("https://example.com/?>'\"\\${x}/%0a")));
      const child = Bun.spawn(["php", "-l", file], { stdout: "pipe" });
      expect([key, await child.exited]).toEqual([key, 0]);
      expect(await child.stdout.text()).toContain("No syntax errors");
    }
  });
});

test.skipIf(!hasPython)(
  "in Python, the receiver takes what is genuine, and refuses what is not",
  async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/hooks`;
    const file = join(folder, "receiver.py");
    await Bun.write(file, snippetOf("python").write(receiverOf(url)));
    const python = join(await installPython(["standardwebhooks==1.1.0"]), "bin/python");
    await using server = new RealServer({
      name: "the receiver in Python",
      command: [python, "-u", file],
      env: { PORT: String(port), WEBHOOK_SECRET: sample.secret },
      isReady: async () => (await post(url, "", {})) === 401,
    });
    await server.start();
    await expectRefusesForgeries(url);
    expect(await post(url, sample.body, sample.headers)).toBe(204);
    expect(server.output).not.toContain("Traceback");
  },
  INSTALL_MS * 2,
);
