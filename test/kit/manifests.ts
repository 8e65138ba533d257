/**
 * The objects of Kubernetes: the chart in `deploy/helm` is their source, and what kustomize takes from
 * `deploy/kubernetes` is made of it. `bun test/kit/manifests.ts` writes it anew.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json";
import { buildGoTool } from "./go.ts";
import { KUBERNETES_VERSION } from "./kube-schemas.ts";
import { runCommand } from "./real-server.ts";

const repository = join(import.meta.dir, "../..");
const CHART = join(repository, "deploy/helm");
const HELM = "helm.sh/helm/v3/cmd/helm@v3.22.0";
const KUSTOMIZE = "sigs.k8s.io/kustomize/kustomize/v5@v5.8.2";
const RELEASE = "sealpost";
/** Whoever uses it patches it: with this one nothing starts. */
const REPLICA_URL = "s3://BUCKET/sealpost?region=REGION";
const HEAD = `# Made of deploy/helm by \`npx -y ${manifest.packageManager} test/kit/manifests.ts\`: change the chart, not this file.\n`;

/** How it may run, each with what the chart is told. */
export const MODES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  alone: {},
  replica: { mode: "replica", replicaUrl: REPLICA_URL },
  pair: { mode: "pair", replicaUrl: REPLICA_URL },
};

/** A Helm that was built without its own Makefile takes any cluster for a very old one. */
const CLUSTER = ["--kube-version", KUBERNETES_VERSION];

export const buildHelm = () => buildGoTool(HELM);
export const buildKustomize = () => buildGoTool(KUSTOMIZE);

/** `helm COMMAND` of the chart with these values; rejects with what helm says. */
export async function runHelm(command: string[], values: Readonly<Record<string, string>>): Promise<string> {
  const settings = Object.entries(values).flatMap(([name, value]) => ["--set", `${name}=${value}`]);
  return runCommand([await buildHelm(), ...command, CHART, ...CLUSTER, ...settings]);
}

/** Makes a folder for the PATH that has `helm` and `kustomize`. */
export async function makeToolFolder(folder: string): Promise<string> {
  mkdirSync(folder);
  const write = (name: string, line: string) =>
    writeFileSync(join(folder, name), `#!/bin/sh\nexec ${line}\n`, { mode: 0o755 });
  write("helm", `${await buildHelm()} "$@" ${CLUSTER.join(" ")}`);
  write("kustomize", `${await buildKustomize()} "$@"`);
  return folder;
}

/** What would be installed, as YAML. */
export function renderChart(values: Readonly<Record<string, string>>): Promise<string> {
  return runHelm(["template", RELEASE], values);
}

/** The file that kustomize takes, by its path in the repository, as the chart makes it now. */
export async function makeManifest(mode: string): Promise<{ path: string; text: string }> {
  const text = HEAD + (await renderChart(MODES[mode] ?? {}));
  return { path: join(repository, "deploy/kubernetes", mode, "sealpost.yaml"), text };
}

if (import.meta.main)
  for (const mode of Object.keys(MODES)) {
    const { path, text } = await makeManifest(mode);
    await Bun.write(path, text);
  }
