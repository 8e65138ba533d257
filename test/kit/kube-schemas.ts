/**
 * JSON schemas of the Kubernetes API for kubeconform, made from the OpenAPI document that Kubernetes' own Go
 * module holds, and from the Prometheus operator's definitions of what it takes. A field that is not in them
 * is an error: the API server drops it in silence.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildGoTool, downloadGoModule } from "./go.ts";

/** The version that manifests are held to. */
export const KUBERNETES_VERSION = "1.34.4";
const KUBERNETES = `k8s.io/kubernetes@v${KUBERNETES_VERSION}`;
const KUBECONFORM = "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0";
const OPERATOR = "github.com/prometheus-operator/prometheus-operator@v0.85.0";
const INT_OR_STRING = { oneOf: [{ type: "string" }, { type: "integer" }] };
const QUANTITY = { oneOf: [{ type: "string" }, { type: "number" }] };
/** What the document calls a text, and what may be a number. */
const LOOSER: Record<string, Schema> = {
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": INT_OR_STRING,
  "io.k8s.apimachinery.pkg.api.resource.Quantity": QUANTITY,
};

interface Kind {
  group: string;
  version: string;
  kind: string;
}

interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  "x-kubernetes-preserve-unknown-fields"?: boolean;
  "x-kubernetes-group-version-kind"?: Kind[];
  [name: string]: unknown;
}

interface Definition {
  spec: {
    group: string;
    names: { kind: string };
    versions: { name: string; schema: { openAPIV3Schema: Schema } }[];
  };
}

/**
 * What kubeconform says of a manifest with objects of these kinds, ServiceMonitors or PrometheusRules: how
 * many are valid, or what is wrong.
 */
export async function makeKubeconform(
  folder: string,
  kinds: readonly string[],
): Promise<(yaml: string) => Promise<number | string>> {
  const tool = await buildGoTool(KUBECONFORM);
  const schemas = await writeKubeSchemas(folder, kinds);
  return async (yaml) => {
    const path = join(folder, "objects.yaml");
    writeFileSync(path, yaml);
    const told = ["-strict", "-summary", "-output", "json", "-schema-location", schemas];
    const child = Bun.spawn([tool, ...told, path], { stdout: "pipe", stderr: "inherit" });
    const output = await child.stdout.text();
    if ((await child.exited) !== 0) return output;
    const { summary } = JSON.parse(output) as { summary: { valid: number; skipped: number } };
    return summary.skipped === 0 ? summary.valid : output;
  };
}

/** Writes a schema for each of these kinds into the folder. Answers what kubeconform is told of them. */
async function writeKubeSchemas(folder: string, kinds: readonly string[]): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const openApi = join(await downloadGoModule(KUBERNETES), "api/openapi-spec/swagger.json");
  const { definitions } = (await Bun.file(openApi).json()) as { definitions: Record<string, Schema> };
  for (const [name, definition] of Object.entries(definitions)) {
    for (const kind of definition["x-kubernetes-group-version-kind"] ?? [])
      if (kinds.includes(kind.kind)) write(folder, kind, closed(definitions, name));
  }
  const definitionsFolder = join(await downloadGoModule(OPERATOR), "example/prometheus-operator-crd");
  for (const name of ["servicemonitors", "prometheusrules"]) {
    const text = await Bun.file(join(definitionsFolder, `monitoring.coreos.com_${name}.yaml`)).text();
    const { spec } = Bun.YAML.parse(text) as Definition;
    for (const { name: version, schema } of spec.versions)
      write(folder, { group: spec.group, version, kind: spec.names.kind }, strict(schema.openAPIV3Schema));
  }
  return join(folder, "{{.ResourceKind}}{{.KindSuffix}}.json");
}

/** As kubeconform names them: `statefulset-apps-v1.json`, `service-v1.json`. */
function write(folder: string, { group, version, kind }: Kind, schema: Schema): void {
  const name = [kind, group.split(".")[0], version].filter(Boolean).join("-").toLowerCase();
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(schema));
}

/** The definition, with all that it refers to. */
function closed(definitions: Record<string, Schema>, name: string): Schema {
  const reached: Record<string, Schema> = {};
  const open = [name];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    const definition = definitions[one];
    if (definition === undefined || reached[one]) continue;
    reached[one] = LOOSER[one] ?? strict(definition);
    for (const [, ref = ""] of JSON.stringify(definition).matchAll(/"#\/definitions\/([^"]+)"/g))
      open.push(ref);
  }
  return { $ref: `#/definitions/${name}`, definitions: reached };
}

/** The same, where a field that is not named is an error. */
function strict(schema: Schema): Schema {
  const { properties, items, additionalProperties } = schema;
  const isOpen =
    additionalProperties !== undefined || schema["x-kubernetes-preserve-unknown-fields"] === true;
  const entries = Object.entries(properties ?? {}).map(([name, one]) => [name, strict(one)] as const);
  return {
    ...schema,
    ...(properties && { properties: Object.fromEntries(entries) }),
    ...(properties && !isOpen && { additionalProperties: false }),
    ...(items && { items: strict(items) }),
    ...(typeof additionalProperties === "object" && { additionalProperties: strict(additionalProperties) }),
  };
}
