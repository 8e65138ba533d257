// time budget: 1500 s
/**
 * What `deploy/` has: the chart and the manifests against the schemas of Kubernetes, the unit under a real
 * systemd, the Compose file against its schema; and what each says of the service, carried out by processes.
 * Half a minute; Helm, kustomize and the others are built before that, once on a machine, within ten.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import page from "../../src/docs/orchestrators.md" with { type: "text" };
import { Grounds } from "../durability/grounds.ts";
import { Client } from "../kit/app.ts";
import { VERSITYGW_TARGET } from "../kit/aws-servers.ts";
import { ALERTS_FILE } from "../kit/alerts.ts";
import { COMPOSE_FILE, readCompose } from "../kit/compose.ts";
import { makeDashboards } from "../kit/dashboards.ts";
import { buildGoTool } from "../kit/go.ts";
import { makeKubeconform } from "../kit/kube-schemas.ts";
import {
  buildHelm,
  buildKustomize,
  makeManifest,
  makeToolFolder,
  MODES,
  renderChart,
  runHelm,
} from "../kit/manifests.ts";
import { containerOf, findStatefulSet, NOTHING_PRIVATE, probe, readObjects, startPod } from "../kit/pods.ts";
import { Replicated } from "../kit/litestream.ts";
import { freePorts, RealServer, runCommand } from "../kit/real-server.ts";
import { startService } from "../kit/service.ts";
import { canBootSystemd, SystemdMachine } from "../kit/systemd.ts";
import { requireTool } from "../kit/tools.ts";
import { readBlocks } from "../readme/blocks.ts";

const repository = join(import.meta.dir, "../..");
const COMPOSE = "github.com/compose-spec/compose-go/v2/cmd@v2.16.2";
const KINDS = [
  "StatefulSet",
  "Service",
  "PodDisruptionBudget",
  "NetworkPolicy",
  "Ingress",
  "Secret",
  "ConfigMap",
];
/** Of the chart without further values: two Services, and no Ingress. */
const DEFAULT_COUNT = 5;
const EVERYTHING = {
  ...{ mode: "pair", replicaUrl: "s3://bucket/path", upgrade: "true" },
  ...{ "ingress.enabled": "true", "ingress.host": "a.example", "ingress.tlsSecret": "tls" },
  ...{ "ingress.className": "haproxy", "ingress.annotations.a": "b", "serviceMonitor.enabled": "true" },
  ...{ "serviceMonitor.labels.release": "prometheus", "settings.SEALPOST_CELL": "7K" },
  ...{ "prometheusRule.enabled": "true", "prometheusRule.labels.release": "prometheus" },
  ...{ "dashboards.enabled": "true", "settings.SEALPOST_BASE_URL": "https://a.example" },
  ...{ "image.pullSecrets[0]": "registry", "nodeSelector.disk": "ssd", "tolerations[0].operator": "Exists" },
  ...{ "volume.storageClass": "local", "podAnnotations.a": "b" },
  ...{ "networkPolicy.from[0].namespaceSelector.matchLabels.a": "b" },
  "networkPolicy.to[0].ipBlock.cidr": "10.1.2.3/32",
};
const SECRET = {
  SEALPOST_SECRET_KEY: Buffer.alloc(32, "key").toString("base64"),
  SEALPOST_METRICS_TOKEN: "metrics-token-of-this-test",
};
const EVENT = { type: "invoice.paid", data: { n: 1 } };

const grounds = new Grounds("deploy");
const bin = join(grounds.home, "bin");
const ground = {
  bin,
  // Beside the executables: the pods' user may not be able to enter the checkout.
  litestreamConfig: join(bin, "litestream.yml"),
  volumes: join(grounds.home, "volumes"),
};
const blocks = readBlocks(page);
let conform: (yaml: string) => Promise<number | string>;

beforeAll(async () => {
  for (const folder of [bin, ground.volumes]) mkdirSync(folder);
  chmodSync(grounds.home, 0o755);
  cpSync(grounds.litestream, join(bin, "litestream"));
  cpSync(join(repository, "litestream.yml"), ground.litestreamConfig);
  const executable = join(bin, "sealpost");
  await runCommand([process.execPath, join(repository, "src/platform/build.ts"), executable]);
  await Promise.all([buildHelm(), buildKustomize(), buildGoTool(COMPOSE)]);
  conform = await makeKubeconform(join(grounds.home, "kubeconform"), KINDS);
}, 1_400_000);

describe("the chart", () => {
  test.each([...Object.entries(MODES), ["everything", EVERYTHING] as const])(
    "%s passes helm lint and kubeconform",
    async (name, values) => {
      expect(await runHelm(["lint", "--strict"], values)).toContain("1 chart(s) linted, 0 chart(s) failed");
      const count = name === "everything" ? DEFAULT_COUNT + 4 : DEFAULT_COUNT;
      const yaml = await renderChart(values);
      expect(await conform(yaml)).toBe(count);
      expect(readObjects(yaml)).toHaveLength(count);
    },
    60_000,
  );

  const WRONG: [from: string, to: string, says: string][] = [
    ["replicas: 2", "replicas: two", "got string, want integer"],
    ["readinessProbe:", "readynessProbe:", "additional properties 'readynessProbe' not allowed"],
    ["minAvailable: 1", "minAvailable: [1]", "minAvailable"],
    ["credentials:", "credential:", "additional properties 'credential' not allowed"],
    ["pathType: Prefix", "", "missing property 'pathType'"],
    ["expr: sealpost_writable", "exp: sealpost_writable", "additional properties 'exp' not allowed"],
    ["kind: NetworkPolicy", "kind: NetworkPolice", "could not find schema for NetworkPolice"],
    ["serviceName:", "replicas: 2\n  serviceName:", "already set"],
  ];

  test.each(WRONG)(
    "with %j as %j is refused",
    async (from, to, says) => {
      const yaml = await renderChart(EVERYTHING);
      expect(yaml).toContain(from);
      expect(await conform(yaml.replace(from, to))).toContain(says);
    },
    60_000,
  );

  test("has the alerts and the dashboards as they are, but for the address", async () => {
    const objects = readObjects(await renderChart(EVERYTHING));
    const of = (wanted: string) => objects.find(({ kind }) => kind === wanted);
    const alerts = (await Bun.file(ALERTS_FILE).text()).replaceAll(
      "http://localhost:8080",
      "https://a.example",
    );
    expect(of("PrometheusRule")).toMatchObject({ spec: Bun.YAML.parse(alerts) as object });
    const data = Object.fromEntries(makeDashboards().map(({ path, text }) => [basename(path), text]));
    expect(of("ConfigMap")).toMatchObject({ data });
  }, 60_000);

  const REFUSED: [values: Record<string, string>, says: string][] = [
    [{ mode: "pair" }, "mode pair needs replicaUrl"],
    [{ replicaUrl: "s3://bucket/path" }, "replicaUrl needs mode replica or pair"],
    [{ mode: "cluster" }, "'alone', 'replica', 'pair'"],
    [{ replicas: "3" }, "additional properties 'replicas' not allowed"],
    [{ "settings.SEALPOST_OPERATOR_TOKEN": "x" }, "SEALPOST_OPERATOR_TOKEN"],
    [{ "ingress.enabled": "true" }, "ingress.host is the name"],
  ];

  test.each(REFUSED)(
    "refuses %j",
    async (values, says) => {
      const told = await renderChart(values).catch(String);
      expect(told).toContain(says);
    },
    30_000,
  );
});

describe("the manifests for kustomize", () => {
  test.each(Object.keys(MODES))(
    "%s is what the chart makes, and a base",
    async (mode) => {
      const { path, text } = await makeManifest(mode);
      // Where this fails: bun test/kit/manifests.ts
      expect(await Bun.file(path).text()).toBe(text);
      const built = await runCommand([await buildKustomize(), "build", join(path, "..")]);
      expect(await conform(built)).toBe(DEFAULT_COUNT);
    },
    60_000,
  );
});

describe("the page, in a terminal", () => {
  test("makes objects that hold what was asked for, by Helm and by kustomize", async () => {
    const folder = join(grounds.home, "page");
    cpSync(join(repository, "deploy"), join(folder, "deploy"), { recursive: true });
    const typed = blocks.filter(({ info }) => info === "in a terminal").map(({ text }) => text);
    expect(typed).toHaveLength(4);
    const env = { PATH: `${await makeToolFolder(join(grounds.home, "tools"))}:${process.env["PATH"] ?? ""}` };
    const counts: (number | string)[] = [];
    for (const text of typed) {
      await runCommand(["bash", "-euo", "pipefail", "-c", text], env, folder);
      const made = join(folder, "cluster/objects.yaml");
      if (!existsSync(made)) continue;
      const yaml = await Bun.file(made).text();
      rmSync(made);
      counts.push(await conform(yaml));
      const { env: variables } = containerOf(findStatefulSet(yaml));
      const valueOf = (name: string) => variables.find((one) => one.name === name)?.value;
      expect(valueOf("LITESTREAM_REPLICA_URL")).toBe("s3://bucket/sealpost?region=eu-central-1");
      expect(valueOf("SEALPOST_BASE_URL")).toBe("https://hooks.example.com");
      expect(yaml).toContain("registry.example.com/sealpost:0.1.0");
      // The Secret is made by kubectl in the one way, by kustomize in the other.
      expect(readObjects(yaml).some(({ kind }) => kind === "Secret")).toBe(counts.length === 2);
    }
    expect(counts).toEqual([DEFAULT_COUNT + 2, DEFAULT_COUNT + 1]);
    const dotEnv = await Bun.file(join(folder, "deploy/compose/.env")).text();
    const filled = Object.fromEntries(
      dotEnv
        .trim()
        .split("\n")
        .map((line) => line.split(/=(.*)/s)),
    );
    expect(Object.keys(await readCompose(filled))).toEqual(["sealpost", "s3"]);
  }, 60_000);
});

const isRoot = process.getuid?.() === 0;
if (!isRoot)
  console.error("skipping tests: pods and units are started under users of their own (run as root)");
const READY = { startup: 200, liveness: 200, readiness: 200 };

describe.skipIf(!isRoot)("pods", () => {
  /** The StatefulSet of a mode, with a replica of its own, and the Secret that its pods get. */
  async function setUp(mode: string) {
    const { env } = grounds.inBucket();
    const { LITESTREAM_REPLICA_URL: url = "", ...keys } = env;
    const manifest = await renderChart({ ...MODES[mode], ...(mode !== "alone" && { replicaUrl: url }) });
    const set = findStatefulSet(manifest);
    rmSync(ground.volumes, { recursive: true });
    mkdirSync(ground.volumes);
    return { set, secret: { ...SECRET, ...keys } };
  }

  test.each(["alone", "replica"])(
    "%s: one answers its probes, gives its metrics, and ends in time",
    async (mode) => {
      const { set, secret } = await setUp(mode);
      expect(set.spec.replicas).toBe(1);
      const pod = startPod(set, ground, 0, secret);
      await using _ = new Replicated(pod);
      await pod.ready();
      expect(await probe(set, pod)).toEqual(READY);
      const headers = { authorization: `Bearer ${secret.SEALPOST_METRICS_TOKEN}` };
      expect((await fetch(`${pod.url}/metrics`, { headers })).status).toBe(200);
      expect((await new Client(pod, pod.keys.test).post("/v1/events", EVENT)).status).toBe(202);
      // The service gives up after 15 s, which is below what the pod has.
      expect(set.spec.template.spec.terminationGracePeriodSeconds).toBe(45);
      expect(await pod.stop()).toBe(0);
    },
    60_000,
  );

  test("pair: one is ready, the other one lives and is not, and takes over", async () => {
    const { set, secret } = await setUp("pair");
    expect(set.spec.replicas).toBe(2);
    await using firstMachine = new Replicated(startPod(set, ground, 0, secret));
    const { service: first } = firstMachine;
    await first.ready();
    await using secondMachine = new Replicated(startPod(set, ground, 1, secret));
    const { service: second } = secondMachine;
    await until(async () =>
      (await (await fetch(`${second.url}/readyz`)).text()).includes('"behind_seconds":0'),
    );
    expect(await probe(set, first)).toEqual(READY);
    expect(await probe(set, second)).toEqual({ ...READY, readiness: 503 });
    const published = await new Client(first, first.keys.test).post("/v1/events", EVENT);
    expect(await first.stop()).toBe(0);
    await second.ready();
    expect(await probe(set, second)).toEqual(READY);
    const events = await new Client(second, first.keys.test).get(
      `/v1/events/${String(published.json["id"])}`,
    );
    expect(events.status).toBe(200);
  }, 90_000);

  test("do not start without the key, nor where the Service puts variables into their environment", async () => {
    const { set } = await setUp("alone");
    expect(() => startPod(set, ground, 0, {})).toThrow("the Secret has no SEALPOST_SECRET_KEY");
    expect(set.spec.template.spec.enableServiceLinks).toBe(false);
    const linked = structuredClone(set);
    containerOf(linked).env.push({ name: "SEALPOST_SERVICE_HOST", value: "10.0.0.1" });
    await using pod = startPod(linked, ground, 0, SECRET);
    expect(await pod.exit()).toMatchObject({
      exitCode: 2,
      output: expect.stringContaining("SEALPOST_SERVICE_HOST is no setting"),
    });
  }, 30_000);
});

describe.skipIf(!isRoot || !canBootSystemd() || !requireTool("curl", "apt-get install curl"))(
  "the unit, under systemd",
  () => {
    let machine: SystemdMachine;
    const typed = blocks.filter(({ info }) => info === "as root").map(({ text }) => text);
    const READY_AGAIN = "timeout 30 sh -c 'until curl -fs localhost:8080/readyz; do sleep 0.1; done'";
    const show = async (property: string) =>
      (await machine.run(`systemctl show --property=${property} --value sealpost`)).output.trim();

    beforeAll(async () => {
      const checkout = join(grounds.home, "checkout");
      cpSync(join(repository, "deploy"), join(checkout, "deploy"), { recursive: true });
      cpSync(join(repository, "litestream.yml"), join(checkout, "litestream.yml"));
      cpSync(join(bin, "sealpost"), join(checkout, "dist/sealpost"));
      cpSync(join(bin, "litestream"), join(checkout, "bin/litestream"));
      machine = await SystemdMachine.boot(checkout);
    }, 60_000);

    afterAll(() => machine[Symbol.asyncDispose]());

    test("runs alone by the commands of the page, as a user without rights", async () => {
      expect(typed).toHaveLength(2);
      expect(await machine.run(typed[0] ?? "")).toMatchObject({
        exitCode: 0,
        output: expect.stringContaining("ready"),
      });
      expect(await machine.run("systemd-analyze verify sealpost.service")).toEqual({
        exitCode: 0,
        output: "",
      });
      const status = await machine.run(
        'cat "/proc/$(systemctl show --property=MainPID --value sealpost)/status"',
      );
      expect(status.output).toMatch(/^Uid:\t(?!0\t)\d+/m);
      expect(status.output).toMatch(/^CapBnd:\t0+$/m);
      expect(status.output).toMatch(/^NoNewPrivs:\t1$/m);
      expect(status.output).toMatch(/^Seccomp:\t2$/m);
      const listed = await machine.run(
        "stat --format '%U %a' /var/lib/private/sealpost /etc/sealpost/sealpost.env",
      );
      expect(listed.output).toBe("sealpost 700\nroot 600\n");
    }, 60_000);

    test("may do no more than the page says", async () => {
      const told = await machine.run("systemd-analyze security sealpost.service --no-pager | tail -n 1");
      const [, exposure = "10"] = /: ([\d.]+) /.exec(told.output) ?? [];
      expect(Number(exposure)).toBeLessThan(2);
    }, 30_000);

    test("is started again, and what was accepted is there", async () => {
      const started = await show("MainPID");
      await machine.run("systemctl kill --signal=KILL sealpost");
      await until(async () => !["0", started].includes(await show("MainPID")));
      expect(await machine.run(READY_AGAIN)).toMatchObject({ exitCode: 0 });
      expect(Number(await show("NRestarts"))).toBe(1);
    }, 60_000);

    test("becomes one of a pair by the commands of the page, and ends in order", async () => {
      await machine.run('install -m 0755 "$(command -v litestream)" /usr/local/bin/litestream');
      const inFolder = (typed[1] ?? "").replace(/s3:\S+/, "file:///var/lib/sealpost/replica");
      expect(await machine.run(inFolder)).toMatchObject({
        exitCode: 0,
        output: expect.stringContaining("ready"),
      });
      const uploaded = "/var/lib/private/sealpost/replica/generations/00000001/ltx";
      await until(async () => (await machine.run(`test -d ${uploaded}`)).exitCode === 0);
      await machine.run("systemctl stop sealpost");
      expect([await show("Result"), await show("ExecMainStatus")]).toEqual(["success", "0"]);
    }, 90_000);
  },
);

describe("the Compose file", () => {
  const own = {
    SEALPOST_SECRET_KEY: SECRET.SEALPOST_SECRET_KEY,
    LITESTREAM_SECRET_ACCESS_KEY: "secret-of-this-test",
  };

  /** What the specification's own loader says; null where it takes the file. */
  async function refusalOf(text: string): Promise<string | null> {
    const path = join(grounds.home, "compose.yaml");
    writeFileSync(path, text);
    const told = await runCommand([
      await buildGoTool(COMPOSE),
      "-no-interpolation",
      "-no-path-resolution",
      path,
    ]).then(() => null, String);
    return told;
  }

  test("is one by the specification, and one that is wrong is refused", async () => {
    const text = await Bun.file(COMPOSE_FILE).text();
    expect(await refusalOf(text)).toBeNull();
    expect(await refusalOf(text.replace("mem_limit", "memlimit"))).toContain("memlimit");
    expect(await refusalOf(text.replace("depends_on: [s3]", "depends_on: s3"))).toContain("depends_on");
    expect(readCompose({ SEALPOST_SECRET_KEY: "x" })).rejects.toThrow(
      "LITESTREAM_SECRET_ACCESS_KEY: make one",
    );
  }, 30_000);

  test("its commands run: what is answered is in its S3, and a lost volume comes back", async () => {
    const { sealpost, s3 } = await readCompose(own);
    if (!sealpost || !s3) throw new Error("the file has two services");
    const [port = 0] = await freePorts(1);
    const buckets = join(grounds.home, "buckets");
    mkdirSync(join(buckets, "sealpost"), { recursive: true });
    const [, ...words] = s3.command.map((word) =>
      word.replace(":7070", `127.0.0.1:${port}`).replace("/buckets", buckets),
    );
    const isReady = async () => (await fetch(`http://127.0.0.1:${port}`)).status === 403;
    await using server = new RealServer({
      name: "s3",
      command: [await buildGoTool(VERSITYGW_TARGET), ...words],
      env: s3.environment,
      isReady,
    });
    await server.start();
    const url = sealpost.environment["LITESTREAM_REPLICA_URL"]?.replace("s3:7070", `127.0.0.1:${port}`) ?? "";
    const data = join(grounds.home, "composed");
    const settings = {
      LITESTREAM_REPLICA_URL: url,
      SEALPOST_DATA_DIR: data,
      PATH: `${bin}:${process.env["PATH"] ?? ""}`,
    };
    const env = {
      ...sealpost.environment,
      ...NOTHING_PRIVATE,
      LITESTREAM_CONFIG: ground.litestreamConfig,
      ...settings,
    };
    // The image has the file where Litestream looks for it.
    const command = sealpost.command.flatMap((word) =>
      word === "replicate" ? [word, "-config", ground.litestreamConfig] : [word],
    );
    mkdirSync(data);
    const service = await startService({ command, env });
    await using _ = new Replicated(service);
    const headers = { "sealpost-durability": "replica" };
    const published = await new Client(service, service.keys.test).post("/v1/events", EVENT, headers);
    expect(published.status).toBe(202);
    expect(existsSync(join(buckets, "sealpost/replica/0000"))).toBe(true);
    const { test: key } = service.keys;
    expect(await service.stop()).toBe(0);
    rmSync(data, { recursive: true });
    mkdirSync(data);
    await service.restart();
    expect((await new Client(service, key).get(`/v1/events/${String(published.json["id"])}`)).status).toBe(
      200,
    );
  }, 90_000);
});

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue().catch(() => false))) await Bun.sleep(50);
}
