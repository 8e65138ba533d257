// time budget: 400 s
/**
 * The kind `pulsar` against Pulsar, standalone and with tokens asked for; messages are read back with its own
 * Java client.
 */
import { afterAll } from "bun:test";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { SignJWT } from "jose";
import { Lines, readLine } from "../kit/lines.ts";
import { hasMaven, unpackDistribution } from "../kit/maven.ts";
import { freePorts, makeFolder, RealServer } from "../kit/real-server.ts";
import { type LiveKind, testLive } from "../destinations/kinds/live.ts";

const VERSION = "4.0.8";
const MARK = "message ";
const folder = makeFolder("pulsar");
const secretKey = randomBytes(32);
let reader: Lines | null = null;

afterAll(async () => {
  await reader?.[Symbol.asyncDispose]();
  folder.remove();
});

const tokenOf = (role: string) =>
  new SignJWT({ sub: role }).setProtectedHeader({ alg: "HS256" }).sign(secretKey);

async function prepare(): Promise<LiveKind> {
  const distribution = await unpackDistribution(`org.apache.pulsar:pulsar-server-distribution:${VERSION}`);
  const [web = 0, broker = 0, bookkeeper = 0] = await freePorts(3);
  const url = `http://127.0.0.1:${web}`;
  const admin = await tokenOf("admin");
  await configure(distribution, web, broker, admin);
  const at = (name: string) => join(folder.path, name);
  const places = [
    "--metadata-dir",
    at("metadata"),
    "--bookkeeper-dir",
    at("bookkeeper"),
    "--bookkeeper-port",
    String(bookkeeper),
  ];
  const server = new RealServer({
    name: "Pulsar",
    command: [join(distribution, "bin/pulsar"), "standalone", "-nss", "-nfw", ...places],
    env: {
      PULSAR_STANDALONE_CONF: at("standalone.conf"),
      PULSAR_LOG_DIR: at("logs"),
      PULSAR_MEM: "-Xms128m -Xmx512m -XX:MaxDirectMemorySize=256m",
    },
    // The broker is healthy before it has made the namespace that all begins with.
    isReady: async () =>
      (await ask("GET", "/brokers/health")).ok && (await ask("GET", "/namespaces/public/default")).ok,
    deadlineMs: 150_000,
  });
  const ask = (method: string, path: string, body?: string) => {
    const headers = { authorization: `Bearer ${admin}`, "content-type": "application/json" };
    return fetch(`${url}/admin/v2${path}`, { method, headers, ...(body !== undefined && { body }) });
  };
  const must = async (method: string, path: string, body?: string) => {
    const reply = await ask(method, path, body);
    if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
  };
  await server.start();
  await must("PUT", "/persistent/public/default/orders");
  await must("POST", "/namespaces/public/default/permissions/sealpost", '["produce"]');
  await must("POST", "/namespaces/public/default/permissions/reader", '["consume"]');
  const jars = `${distribution}/lib/*`;
  const source = join(import.meta.dir, "../kit/PulsarReader.java");
  const lines = new Lines(["java", "-cp", jars, source, `pulsar://127.0.0.1:${broker}`, "orders", admin]);
  reader = lines;
  return {
    kind: "pulsar",
    config: { url, topic: "public/default/orders", token: await tokenOf("sealpost") },
    async read() {
      for (;;) {
        // The client logs on standard output, too.
        const line = await lines.next();
        if (line.startsWith(MARK)) return readLine(line.slice(MARK.length));
      }
    },
    refusals: [
      {
        name: "a token that is none",
        config: { token: "none" },
        statusCode: 401,
        means: "credentials_refused",
      },
      {
        name: "a role that may not produce",
        config: { token: await tokenOf("reader") },
        statusCode: 401,
        means: "permission_missing",
      },
      { name: "missing topic", config: { topic: "nope" }, statusCode: 500, means: "topic_not_found" },
    ],
    start: () => server.start(),
    stop: () => server.stop(),
  };
}

/** The shipped configuration with ports of its own; a token is asked for, and a permission. */
async function configure(distribution: string, web: number, broker: number, admin: string): Promise<void> {
  const settings: Record<string, string> = {
    webServicePort: String(web),
    brokerServicePort: String(broker),
    bindAddress: "127.0.0.1",
    advertisedAddress: "127.0.0.1",
    authenticationEnabled: "true",
    authorizationEnabled: "true",
    authenticationProviders: "org.apache.pulsar.broker.authentication.AuthenticationProviderToken",
    tokenSecretKey: `data:;base64,${secretKey.toString("base64")}`,
    superUserRoles: "admin",
    brokerClientAuthenticationPlugin: "org.apache.pulsar.client.impl.auth.AuthenticationToken",
    brokerClientAuthenticationParameters: `token:${admin}`,
    allowAutoTopicCreation: "false",
  };
  const shipped = await Bun.file(join(distribution, "conf/standalone.conf")).text();
  const isReplaced = (line: string) => Object.keys(settings).some((name) => line.startsWith(`${name}=`));
  const kept = shipped.split("\n").filter((line) => !isReplaced(line));
  const made = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  await Bun.write(join(folder.path, "standalone.conf"), `${[...kept, ...made].join("\n")}\n`);
}

testLive("Apache Pulsar", prepare, !hasMaven());
