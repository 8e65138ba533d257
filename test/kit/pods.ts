/** Pods of a StatefulSet as processes of this machine: what the manifest says of them, without a cluster. */
import { chmodSync, chownSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { Service } from "./service.ts";

export interface KubeObject {
  kind: string;
  metadata: { name: string };
  spec: Record<string, unknown>;
}

interface Probe {
  httpGet: { path: string; port: string };
}

interface Variable {
  name: string;
  value?: string;
  valueFrom?: { secretKeyRef: { key: string; optional?: boolean } };
}

interface Container {
  command: string[];
  env: Variable[];
  ports: { name: string; containerPort: number }[];
  startupProbe: Probe;
  livenessProbe: Probe;
  readinessProbe: Probe;
  volumeMounts: { name: string; mountPath: string }[];
}

interface PodSpec {
  enableServiceLinks: boolean;
  terminationGracePeriodSeconds: number;
  securityContext: { runAsUser: number; runAsGroup: number; fsGroup: number };
  containers: Container[];
}

export interface StatefulSet extends KubeObject {
  spec: { replicas: number; template: { spec: PodSpec } };
}

/** Where the files of the image and the volumes are on this machine. */
interface Ground {
  /** Holds the executables of the image. */
  bin: string;
  /** The image's `/etc/litestream.yml`. */
  litestreamConfig: string;
  /** Exists, and whoever runs the pods may enter it. */
  volumes: string;
}

/** The tests of the service itself may reach this machine; nobody else's manifest says so. */
export const NOTHING_PRIVATE = { SEALPOST_ALLOW_PRIVATE_DESTINATIONS: "" };

/** Every object of a manifest. */
export function readObjects(yaml: string): KubeObject[] {
  const documents = Bun.YAML.parse(yaml) as KubeObject | (KubeObject | null)[];
  return (Array.isArray(documents) ? documents : [documents]).filter((one) => one !== null);
}

export function findStatefulSet(yaml: string): StatefulSet {
  const found = readObjects(yaml).find(({ kind }) => kind === "StatefulSet");
  if (found === undefined) throw new Error("the manifest has no StatefulSet");
  return found as StatefulSet;
}

/** The one container of each pod. */
export function containerOf({ spec }: StatefulSet): Container {
  const [container, ...others] = spec.template.spec.containers;
  if (container === undefined || others.length > 0) throw new Error("a pod has one container");
  return container;
}

/** As the kubelet makes it; throws where the Secret lacks what the pod cannot start without. */
export function envOf(
  container: Container,
  secret: Readonly<Record<string, string>>,
): Record<string, string> {
  const entries = container.env.flatMap(({ name, value, valueFrom }) => {
    const reference = valueFrom?.secretKeyRef;
    if (reference === undefined) return [[name, value ?? ""]];
    const held = secret[reference.key];
    if (held === undefined && reference.optional !== true)
      throw new Error(`the Secret has no ${reference.key}`);
    return held === undefined ? [] : [[name, held]];
  });
  return Object.fromEntries(entries) as Record<string, string>;
}

/** Starts the nth pod under its user, without any right, on a volume that its group may write to. */
export function startPod(
  set: StatefulSet,
  ground: Ground,
  nth: number,
  secret: Readonly<Record<string, string>>,
): Service {
  const { runAsUser, runAsGroup, fsGroup } = set.spec.template.spec.securityContext;
  const container = containerOf(set);
  const env = envOf(container, secret);
  const data = container.volumeMounts.find(({ mountPath }) => mountPath === env["SEALPOST_DATA_DIR"]);
  if (data === undefined) throw new Error("SEALPOST_DATA_DIR is no volume");
  const volume = join(ground.volumes, `${data.name}-${set.metadata.name}-${nth}`);
  mkdirSync(volume, { recursive: true });
  chownSync(volume, 0, fsGroup);
  chmodSync(volume, 0o2775);
  const ids = [`--reuid=${runAsUser}`, `--regid=${runAsGroup}`, `--groups=${fsGroup}`];
  const rights = ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"];
  // Two pods have one port on two addresses, and a process of this machine one of its own.
  const { SEALPOST_PORT: _, ...others } = env;
  return new Service({
    command: ["setpriv", ...ids, ...rights, ...container.command],
    env: {
      ...NOTHING_PRIVATE,
      ...others,
      PATH: `${ground.bin}:${process.env["PATH"] ?? ""}`,
      SEALPOST_DATA_DIR: volume,
      ...("LITESTREAM_CONFIG" in env && { LITESTREAM_CONFIG: ground.litestreamConfig }),
    },
  });
}

/** What each probe of the pod is answered. */
export async function probe(set: StatefulSet, { url }: Service): Promise<Record<string, number>> {
  const { ports, startupProbe, livenessProbe, readinessProbe } = containerOf(set);
  const ask = async ({ httpGet }: Probe) => {
    if (!ports.some(({ name }) => name === httpGet.port)) throw new Error(`no port is named ${httpGet.port}`);
    return (await fetch(url + httpGet.path)).status;
  };
  return {
    startup: await ask(startupProbe),
    liveness: await ask(livenessProbe),
    readiness: await ask(readinessProbe),
  };
}
