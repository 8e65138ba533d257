// time budget: 300 s
/**
 * The kind `activemq` against ActiveMQ Classic with its web console; messages are read back with its own
 * Java client.
 */
import { afterAll } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { Lines, readLine } from "../kit/lines.ts";
import { hasMaven, unpackDistribution } from "../kit/maven.ts";
import { freePorts, makeFolder, RealServer } from "../kit/real-server.ts";
import { type LiveKind, testLive } from "../destinations/kinds/live.ts";

const VERSION = "5.18.3";
const folder = makeFolder("activemq");
let reader: Lines | null = null;

afterAll(async () => {
  await reader?.[Symbol.asyncDispose]();
  folder.remove();
});

async function prepare(): Promise<LiveKind> {
  const [openwire = 0, console = 0] = await freePorts(2);
  const distribution = await unpackDistribution(`org.apache.activemq:apache-activemq:${VERSION}`);
  cpSync(join(distribution, "conf"), join(folder.path, "conf"), { recursive: true });
  await configure(openwire, console);
  const url = `http://127.0.0.1:${console}`;
  const authorization = `Basic ${btoa("admin:admin-password")}`;
  const server = new RealServer({
    name: "ActiveMQ",
    command: [join(distribution, "bin/activemq"), "console"],
    env: {
      ACTIVEMQ_BASE: folder.path,
      ACTIVEMQ_CONF: join(folder.path, "conf"),
      ACTIVEMQ_DATA: join(folder.path, "data"),
      ACTIVEMQ_OPTS_MEMORY: "-Xms64M -Xmx512M",
    },
    isReady: async () =>
      (await fetch(`${url}/api/jolokia/version`, { headers: { authorization, origin: url } })).ok,
  });
  await server.start();
  const jars = `${distribution}/lib/*:${distribution}/lib/optional/*`;
  const source = join(import.meta.dir, "../kit/ActiveMqReader.java");
  const address = `failover:(tcp://127.0.0.1:${openwire})?maxReconnectDelay=500`;
  const lines = new Lines(["java", "-cp", jars, source, address, "orders"]);
  reader = lines;
  for (let line = ""; line !== "ready"; ) line = await lines.next();
  return {
    kind: "activemq",
    config: { url, destination: "orders", username: "admin", password: "admin-password" },
    read: async () => readLine(await lines.next()),
    refusals: [
      {
        name: "wrong password",
        config: { password: "wrong-password" },
        statusCode: 401,
        means: "credentials_refused",
      },
      {
        name: "a queue that the broker's own user may not write to",
        config: { destination: "closed.orders" },
        statusCode: 500,
        means: "permission_missing",
      },
    ],
    start: () => server.start(),
    stop: () => server.stop(),
  };
}

/** The shipped configuration with ports of its own, one connector, and a queue that nobody may write to. */
async function configure(openwire: number, console: number): Promise<void> {
  await change("activemq.xml", (text) =>
    text
      .replaceAll(/<transportConnector name="(?:amqp|stomp|mqtt|ws)".*?\/>/g, "")
      .replace("tcp://0.0.0.0:61616", `tcp://127.0.0.1:${openwire}`)
      .replace("</broker>", `<plugins>${PLUGINS}</plugins></broker>`),
  );
  await change("jetty.xml", (text) =>
    text.replace('name="port" value="8161"', `name="port" value="${console}"`),
  );
  await change("jetty-realm.properties", (text) => text.replace("admin: admin,", "admin: admin-password,"));
}

const PLUGINS = `
  <simpleAuthenticationPlugin anonymousAccessAllowed="true" anonymousUser="anonymous" anonymousGroup="everybody">
    <users><authenticationUser username="system" password="manager" groups="everybody"/></users>
  </simpleAuthenticationPlugin>
  <authorizationPlugin><map><authorizationMap><authorizationEntries>
    <authorizationEntry queue="orders" read="everybody" write="everybody" admin="everybody"/>
    <authorizationEntry queue="closed.&gt;" read="everybody" write="nobody" admin="everybody"/>
    <authorizationEntry topic="&gt;" read="everybody" write="everybody" admin="everybody"/>
  </authorizationEntries></authorizationMap></map></authorizationPlugin>`;

async function change(name: string, edit: (text: string) => string): Promise<void> {
  const path = join(folder.path, "conf", name);
  await Bun.write(path, edit(await Bun.file(path).text()));
}

testLive("ActiveMQ Classic", prepare, !hasMaven());
