// time budget: 300 s
/**
 * The kind `kafka_rest` against a real Kafka broker, behind a REST front of the tests' own (no proxy is in
 * the registries) that answers as Strimzi's bridge does; records are read back with Kafka's own client.
 */
import { afterAll } from "bun:test";
import { join } from "node:path";
import { Lines, readLine } from "../kit/lines.ts";
import { fetchJars, hasMaven } from "../kit/maven.ts";
import { freePorts, makeFolder, RealServer, runCommand } from "../kit/real-server.ts";
import { type LiveKind, testLive } from "../destinations/kinds/live.ts";

const KAFKA = "org.apache.kafka:kafka_2.13:4.3.1";
const LOGGER = "org.slf4j:slf4j-simple:1.7.36";
const SILENT = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off";
const PASSWORD = "kafka-password";
const folder = makeFolder("kafka");
let reader: Lines | null = null;

afterAll(async () => {
  await reader?.[Symbol.asyncDispose]();
  folder.remove();
});

async function prepare(): Promise<LiveKind> {
  const jars = `${await fetchJars("kafka-4.3.1", [KAFKA, LOGGER])}/*`;
  const [client = 0, controller = 0, port = 0] = await freePorts(3);
  const broker = await makeBroker(jars, client, controller);
  await broker.start();
  const address = `127.0.0.1:${client}`;
  const front = new RealServer({
    name: "the REST front",
    command: [
      "java",
      "-cp",
      jars,
      source("KafkaFront"),
      String(port),
      address,
      `sealpost:${PASSWORD}`,
      "orders",
    ],
    isReady: async () => (await fetch(`http://127.0.0.1:${port}/`)).status === 404,
  });
  await front.start();
  const lines = new Lines(["java", SILENT, "-cp", jars, source("KafkaReader"), address, "orders"]);
  reader = lines;
  const url = `http://127.0.0.1:${port}`;
  return {
    kind: "kafka_rest",
    config: { url, topic: "orders", username: "sealpost", password: PASSWORD },
    read: async () => readLine(await lines.next()),
    refusals: [
      {
        name: "wrong password",
        config: { password: "wrong-password" },
        statusCode: 401,
        means: "credentials_refused",
      },
      {
        name: "missing topic: an error inside a 200",
        config: { topic: "nope" },
        statusCode: 200,
        means: "refused: error 404",
      },
    ],
    outage: {
      name: "no broker",
      begin: () => broker.stop(),
      end: () => broker.start(),
      statusCode: 200,
      means: "refused: error 404",
    },
    async start() {
      await broker.start();
      await front.start();
    },
    async stop() {
      await front.stop();
      await broker.stop();
    },
  };
}

const source = (name: string) => join(import.meta.dir, `../kit/${name}.java`);

/** One node, formatted once; topics are made by hand. */
async function makeBroker(jars: string, client: number, controller: number): Promise<RealServer> {
  const config = join(folder.path, "server.properties");
  const settings = [
    "process.roles=broker,controller",
    "node.id=1",
    `controller.quorum.voters=1@127.0.0.1:${controller}`,
    `listeners=PLAINTEXT://127.0.0.1:${client},CONTROLLER://127.0.0.1:${controller}`,
    `advertised.listeners=PLAINTEXT://127.0.0.1:${client}`,
    "controller.listener.names=CONTROLLER",
    "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    `log.dirs=${join(folder.path, "data")}`,
    "auto.create.topics.enable=false",
    "offsets.topic.replication.factor=1",
    "transaction.state.log.replication.factor=1",
    "transaction.state.log.min.isr=1",
  ];
  await Bun.write(config, `${settings.join("\n")}\n`);
  const format = ["format", "--cluster-id", "c2VhbHBvc3QtdGVzdHMtMQ", "--config", config];
  await runCommand(["java", "-cp", jars, "kafka.tools.StorageTool", ...format]);
  return new RealServer({
    name: "Kafka",
    command: ["java", "-Xmx512m", "-cp", jars, "kafka.Kafka", config],
    isReady: (output) => output.includes("Kafka Server started"),
  });
}

testLive("Kafka behind a REST proxy", prepare, !hasMaven(), true);
