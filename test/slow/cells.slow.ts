// time budget: 600 s
/**
 * Four cells behind the real HAProxy and the real Envoy, each with the configuration that `sealpost cells`
 * writes for it: whose request it is, a cell that is gone and back, a pair, certificates, clients' addresses.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import page from "../../src/docs/cells.md" with { type: "text" };
import { makeToken } from "../../src/core/tokens.ts";
import { Grounds } from "../durability/grounds.ts";
import { Machine, pairedEnv } from "../durability/pair.ts";
import { addEndpoint } from "../durability/setup.ts";
import { Client } from "../kit/app.ts";
import { createTenant, OPERATOR_TOKEN, type Tenant } from "../kit/operator.ts";
import { PYTHON_HINT } from "../kit/python.ts";
import { startRecorder } from "../kit/recorder.ts";
import { freePorts } from "../kit/real-server.ts";
import { Router, ROUTERS, type RouterKind } from "../kit/router.ts";
import { type Service, startService } from "../kit/service.ts";
import { requireTool } from "../kit/tools.ts";
import { readBlocks } from "../readme/blocks.ts";
import { createAuthority } from "../transport/certificates.ts";

const CELLS = ["00", "7K", "8M", "ZZ"];
const MAIN = join(import.meta.dir, "../../src/main.ts");
const EVENT = { type: "invoice.paid", data: { n: 1 } };

const canRun =
  requireTool("haproxy", "apt-get install haproxy") &&
  requireTool("python3", PYTHON_HINT) &&
  requireTool("openssl", "apt-get install openssl");
const grounds = new Grounds("cells");
const services: Service[] = [];
const tenants: Tenant[] = [];

beforeAll(async () => {
  for (const cell of CELLS) {
    const env = { SEALPOST_CELL: cell, SEALPOST_OPERATOR_TOKEN: OPERATOR_TOKEN, SEALPOST_LOG_LEVEL: "warn" };
    const service = await startService({ env });
    services.push(service);
    tenants.push(await createTenant(service, { name: `Tenant of ${cell}`, plan: "pro" }));
  }
}, 60_000);

afterAll(async () => {
  for (const service of services) await service.close();
});

function machineOf({ url }: { url: string }): string {
  return new URL(url).host;
}

/** One of them has a name, which the router looks up. */
function listed() {
  return services.map((service, at) => {
    const machine = machineOf(service);
    return {
      cell: CELLS[at] ?? "",
      machines: [at === 1 ? machine.replace("127.0.0.1", "localhost") : machine],
    };
  });
}

/** The clients of a cell's tenant, through the router. */
function through(router: Router, at: number): Client {
  return new Client(router, tenants[at]?.keys.live ?? "");
}

/** The cell that stands in an id. */
function cellOf(id: unknown): string {
  return String(id).split("_")[1]?.slice(10, 12) ?? "";
}

const idIn = (cell: string, prefix: string) => `${prefix}_01KAHM8ZZZ${cell}K1M2N3P4Q5R6S7`;

describe.skipIf(!canRun).each([...ROUTERS])("behind %s", (kind: RouterKind) => {
  test("a key, a portal link and an id lead to their cell", async () => {
    await using router = await Router.start(kind, { cells: listed() });
    for (const [at, cell] of CELLS.entries()) {
      const client = through(router, at);
      const published = await client.post("/v1/events", EVENT);
      expect([published.status, cellOf(published.json.id)]).toEqual([202, cell]);

      const { url } = await client.create("/v1/portal-links", { consumer_id: "c_1" });
      const [address = "", token = ""] = String(url).split("#");
      const link = new Client(router, token);
      expect((await link.get("/v1/endpoints")).status).toBe(200);
      const portal = await fetch(`${router.url}${new URL(address).pathname}`);
      const [file = ""] = /\/portal\/assets\/[^"]+/.exec(await portal.text()) ?? [];
      expect([portal.status, (await fetch(router.url + file)).status]).toEqual([200, 200]);

      const { ingest_path: path = "", secret = "" } = await client.create("/v1/sources", {
        provider: "service",
        name: "in",
      });
      const ingest = (to: string) =>
        fetch(router.url + to, {
          method: "POST",
          headers: { authorization: `Bearer ${secret}` },
          body: "{}",
        });
      expect((await ingest(path)).status).toBe(200);

      const poller = await client.create("/v1/endpoints", { kind: "poll", description: "polled" });
      const poll = (id = "") => new Client(router, poller["secret"] ?? "").get(`/poll/${id}`);
      expect((await poll(poller["id"])).status).toBe(200);
      expect((await poll(poller["id"]?.toLowerCase())).status).toBe(200);
    }
  }, 60_000);

  test("what belongs to no cell is refused as a cell would, and the operator's paths are closed", async () => {
    await using router = await Router.start(kind, { cells: listed() });
    const ask = async (path: string, headers: Record<string, string> = {}) => {
      const answer = await fetch(router.url + path, { headers });
      const { code, request_id: id } = (await answer.json()) as { code?: string; request_id?: string };
      expect(id).toBe(answer.headers.get("x-request-id") ?? "none");
      expect(id).toMatch(/^[0-9a-f-]{36}$/);
      const type = answer.headers.get("content-type");
      return [answer.status, code, type, answer.headers.get("www-authenticate")];
    };
    const unknown = [401, "unauthenticated", "application/problem+json", "Bearer"];
    const nothing = [404, "not_found", "application/problem+json", null];
    expect(await ask("/v1/events")).toEqual(unknown);
    expect(await ask("/v1/events", { authorization: `Bearer ${makeToken("sp_live_", "9X")}` })).toEqual(
      unknown,
    );
    expect(await ask("/v1/operator/accounts", { authorization: `Bearer ${OPERATOR_TOKEN}` })).toEqual(
      unknown,
    );
    expect(await ask("/metrics", { authorization: `Bearer ${OPERATOR_TOKEN}` })).toEqual(nothing);
    for (const path of ["/ingest/src", "/poll/ep", "/portal/proj"]) {
      expect([path, await ask(idIn("9X", path))]).toEqual([path, nothing]);
    }
    // A key of a cell that does not know it: the cell itself refuses.
    const stranger = { authorization: `bearer  ${makeToken("sp_live_", "7K")}` };
    expect(await ask("/v1/events", stranger)).toEqual(unknown);
    const known = { authorization: `bearer  ${tenants[1]?.keys.live ?? ""}` };
    expect((await fetch(`${router.url}/v1/project`, { headers: known })).status).toBe(200);
    // What is the same everywhere is answered by any of them.
    for (const path of ["/", "/docs", "/openapi.json", "/healthz"])
      expect([path, (await fetch(router.url + path)).status]).toEqual([path, 200]);
  }, 60_000);

  test("no crooked path leads to what is closed", async () => {
    await using router = await Router.start(kind, { cells: listed() });
    const crooked = [
      "/x/../metrics",
      "/./metrics",
      "/%2e/metrics",
      "/x/%2E./metrics",
      "/x\\..\\metrics",
      "//metrics",
    ];
    for (const path of crooked) {
      const answer = await askRaw(router, `GET ${path} HTTP/1.1\r\nauthorization: Bearer ${OPERATOR_TOKEN}`);
      expect([path, /^HTTP\/1.1 (400|404) /.test(answer) ? "closed" : answer]).toEqual([path, "closed"]);
    }
  }, 60_000);

  test("a cell that is killed answers 503, is back by itself, and the others do not notice", async () => {
    await using router = await Router.start(kind, { cells: listed() });
    const [victim, others] = [2, [0, 1, 3]];
    let isOver = false;
    const statuses = new Map<number, number>();
    const load = others.map(async (at) => {
      while (!isOver) {
        const { status } = await through(router, at).post("/v1/events", EVENT);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    });
    const service = services[victim];
    const client = through(router, victim);
    await service?.kill9();
    const refused = await client.post("/v1/events", EVENT);
    expect([refused.status, refused.json.code]).toEqual([503, "unavailable"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    await service?.restart();
    while ((await client.post("/v1/events", EVENT)).status !== 202) await Bun.sleep(100);
    isOver = true;
    await Promise.all(load);
    expect([...statuses.keys()]).toEqual([202]);
    expect(statuses.get(202)).toBeGreaterThan(100);
  }, 60_000);

  test("the certificate is the router's", async () => {
    const authority = createAuthority();
    const { key, cert } = authority.sign("IP:127.0.0.1");
    const folder = mkdtempSync(join(tmpdir(), "sealpost-cells-"));
    const certificate = join(folder, "router.pem");
    writeFileSync(certificate, cert + key);
    try {
      await using router = await Router.start(kind, { cells: listed(), router: { certificate } });
      const authorization = `Bearer ${tenants[1]?.keys.live ?? ""}`;
      const options = { headers: { authorization }, tls: { ca: authority.pem } };
      expect((await fetch(`${router.url}/v1/project`, options)).status).toBe(200);
    } finally {
      authority.remove();
      rmSync(folder, { recursive: true });
    }
  }, 60_000);

  test("the log names the client that a named proxy tells, and no other's word is taken", async () => {
    const seen = "203.0.113.9";
    const tell = async (trusted: readonly string[], isSeen: boolean) => {
      await using router = await Router.start(kind, {
        cells: listed(),
        router: { trusted_proxies: trusted },
      });
      await fetch(`${router.url}/docs`, { headers: { "x-forwarded-for": `198.51.100.7, ${seen}` } });
      await until(() => router.log.includes(" GET /docs "));
      const line = router.log.split("\n").find((one) => one.includes(" GET /docs ")) ?? "";
      expect(line.split(" ")[0]).toBe(isSeen ? seen : "127.0.0.1");
    };
    await tell(["127.0.0.0/8"], true);
    await tell(["192.0.2.0/24"], false);
    await tell([], false);
  }, 60_000);

  test("behind a pair the next publish is accepted once the standby has taken over", async () => {
    await using recorder = await startRecorder();
    const places = grounds.inFolder();
    const env = { ...pairedEnv(grounds.litestream, places), SEALPOST_CELL: "5P" };
    await using primary = new Machine(env);
    await primary.ready();
    await addEndpoint(primary.service, recorder.url("/fast"));
    await using standby = new Machine(env);
    await standby.follows();
    const pair = { cell: "5P", machines: [machineOf(standby), machineOf(primary)] };
    await using router = await Router.start(kind, { cells: [...listed(), pair] });
    const client = new Client(router, primary.service.keys.live);
    const publish = (name: string) =>
      client.post("/v1/events", { ...EVENT, external_id: name }, { "sealpost-durability": "replica" });
    // A request that was on its way ends with its connection: its sender cannot tell, and sends it again.
    const isAccepted = (name: string) =>
      publish(name).then(
        ({ status }) => status < 300,
        () => false,
      );
    const untilSteady = async (name: string) => {
      for (let inARow = 0; inARow < 10; ) {
        inARow = (await isAccepted(name)) ? inARow + 1 : 0;
        await Bun.sleep(100);
      }
    };
    // A router that has just begun to check may ask the standby.
    await untilSteady("first");
    for (let n = 0; n < 20; n++) expect((await publish(`before-${n}`)).status).toBe(202);
    await primary.lose();
    // What nobody has read yet waits in the router.
    expect((await client.post("/v1/events", EVENT)).status).toBe(202);
    await untilSteady("after");
    // What was accepted before the loss is known to the other machine.
    expect((await publish("before-19")).json.duplicate).toBe(true);
  }, 120_000);
});

test.skipIf(!canRun)(
  "HAProxy takes the PROXY protocol from named proxies",
  async () => {
    const options = { trusted_proxies: ["127.0.0.2/32", "127.0.0.3/32"], proxy_protocol: true };
    await using router = await Router.start("haproxy", { cells: listed(), router: options });
    const { hostname, port } = new URL(router.url);
    const head = "PROXY TCP4 203.0.113.9 192.0.2.1 40000 443\r\n";
    const socket = connect({ host: hostname, port: Number(port), localAddress: "127.0.0.2" });
    socket.write(`${head}GET /docs HTTP/1.1\r\nhost: hooks.test\r\nconnection: close\r\n\r\n`);
    await until(() => router.log.includes("203.0.113.9 200 GET /docs "));
    socket.destroy();
  },
  60_000,
);

test.skipIf(!canRun)("one address has no more requests at a time than the list says", async () => {
  await using router = await Router.start("haproxy", {
    cells: listed(),
    router: { requests_per_address: 2 },
  });
  const poller = await through(router, 0).create("/v1/endpoints", { kind: "poll", description: "held" });
  const poll = () => new Client(router, poller["secret"] ?? "").get(`/poll/${poller["id"]}?wait=2`);
  const statuses = (await Promise.all([poll(), poll(), poll(), poll()])).map(({ status }) => status);
  expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 200, 429, 429]);
});

test.skipIf(!canRun)(
  "the page of cells does what it says, typed from its first line to its last",
  async () => {
    const typed = readBlocks(page).filter(({ info }) => info === "in a terminal");
    const ports = await freePorts(3);
    const written = typed.map(({ text }) => text).join("");
    const script = ["8084", "8085", "8090"].reduce(
      (text, port, at) => text.replaceAll(port, String(ports[at])),
      written
        .replace("npx -y bun@1.4.5 run build\n", "")
        .replaceAll("dist/sealpost", `${process.execPath} ${MAIN}`),
    );
    const { PATH = "", HOME = "" } = process.env;
    const shell = Bun.spawn(["bash", "-c", `set -u\n${script}\nkill $(cat cells/*.pid); wait`], {
      cwd: mkdtempSync(join(grounds.home, "page-")),
      env: { PATH, HOME, SEALPOST_HOST: "127.0.0.1" },
      stdout: "pipe",
    });
    const printed = await shell.stdout.text();
    expect([...printed.matchAll(/"id":"evt_.{10}(..)/g)].map(([, cell]) => cell)).toEqual(["1A", "2B"]);
  },
  60_000,
);

describe.skipIf(!canRun)("all cells at once", () => {
  async function cells(...words: string[]) {
    const child = Bun.spawn([process.execPath, MAIN, "cells", ...words], {
      env: { PATH: process.env["PATH"] ?? "", SEALPOST_OPERATOR_TOKEN: OPERATOR_TOKEN },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, error] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    return { exitCode: await child.exited, out, error };
  }

  function writeList(more: readonly { cell: string; machines: string[] }[] = []): string {
    const path = join(mkdtempSync(join(grounds.home, "list-")), "cells.json");
    writeFileSync(path, JSON.stringify({ cells: [...listed(), ...more] }));
    return path;
  }

  test("accounts, usage and metrics are those of every cell", async () => {
    const list = writeList();
    const accounts = await cells("accounts", list, "--json");
    const rows = accounts.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { cell: string; id: string });
    expect(accounts.exitCode).toBe(0);
    expect(rows.map(({ cell, id }) => [cell, cellOf(id)])).toEqual(CELLS.map((cell) => [cell, cell]));
    expect(rows.map(({ id }) => id)).toEqual(tenants.map(({ id }) => id));

    const usage = await cells("usage", list);
    expect(
      usage.out
        .trim()
        .split("\n")
        .map((line) => line.split(/ +/).slice(0, 2)),
    ).toEqual([["cell", "accounts"], ...CELLS.map((cell) => [cell, "1"]), ["all", "4"]]);

    const metrics = await cells("metrics", list);
    for (const cell of CELLS) expect(metrics.out).toContain(`sealpost_queue_depth{cell="${cell}"} 0\n`);
    const promtool = Bun.spawn(["promtool", "check", "metrics"], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    await promtool.stdin.write(metrics.out);
    await promtool.stdin.end();
    expect([await promtool.exited, await promtool.stderr.text()]).toEqual([0, ""]);
  }, 30_000);

  test("a cell that does not answer is named, and the others are shown", async () => {
    const asked = await cells("accounts", writeList([{ cell: "9X", machines: ["127.0.0.1:9"] }]));
    expect([asked.exitCode, asked.out.trim().split("\n").length]).toEqual([1, 1 + CELLS.length]);
    expect(asked.error).toContain("cell 9X: 127.0.0.1:9 does not answer");
  }, 30_000);
});

/** What is answered to a request whose first lines are `head`, as they are. */
async function askRaw({ url }: Router, head: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(`${head}\r\nhost: hooks.test\r\nconnection: close\r\n\r\n`);
  let answer = "";
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await Bun.sleep(20);
}
