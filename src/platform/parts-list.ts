/**
 * What the executable is put together of, as a software bill of materials in CycloneDX 1.6
 * (cyclonedx.org/docs/1.6/json): the packages of which the bundler took something, the files of others that
 * lie in the sources, and Bun with its own parts. A scanner finds none of these in the executable itself.
 */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import manifest from "../../package.json";

interface Component {
  type: "application" | "library" | "platform";
  "bom-ref": string;
  name: string;
  version: string;
  licenses?: { expression: string }[];
  purl?: string;
  hashes?: { alg: "SHA-512"; content: string }[];
  components?: Component[];
}

export interface PartsList {
  bomFormat: "CycloneDX";
  specVersion: "1.6";
  version: 1;
  metadata: { component: Component };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

type Lock = { packages: Record<string, unknown[]> };

const REPOSITORY = join(import.meta.dir, "../..");
/** The folder of the package that a file belongs to; it may stand inside that of another one. */
const PACKAGE = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
/** Of what Bun says of itself, these are interfaces that it keeps to. It contains the others. */
const INTERFACES = new Set([
  ...["bun", "node", "v8", "uv", "napi", "modules", "openssl", "unicode", "typescript"],
]);
const SWAGGER_NOTICE = "src/http/docs/assets/swagger-ui.NOTICE.txt";

/** Writes it to a file. Throws where a package has no `package.json`, or the lock does not know it. */
export async function writePartsList(metafiles: readonly Bun.BuildMetafile[], path: string): Promise<void> {
  await Bun.write(path, `${JSON.stringify(listParts(metafiles), null, 2)}\n`);
}

export function listParts(metafiles: readonly Bun.BuildMetafile[]): PartsList {
  const integrities = readIntegrities();
  const parts = new Map([...foldersIn(metafiles)].map((folder) => [folder, describe(folder, integrities)]));
  const self = component("application", manifest, `pkg:generic/${manifest.name}@${manifest.version}`);
  const besides = [readSwagger(), describeBun()];
  const components = [
    ...new Map([...parts.values(), ...besides].map((one) => [one["bom-ref"], one])).values(),
  ];
  const needs = new Map([self, ...components].map((one) => [one["bom-ref"], new Set<string>()]));
  for (const [from, to] of importsIn(metafiles)) {
    const importer = (from === null ? self : parts.get(from))?.["bom-ref"];
    const imported = parts.get(to ?? "")?.["bom-ref"];
    if (importer !== undefined && imported !== undefined && importer !== imported)
      needs.get(importer)?.add(imported);
  }
  for (const one of besides) needs.get(self["bom-ref"])?.add(one["bom-ref"]);
  return {
    ...{ bomFormat: "CycloneDX", specVersion: "1.6", version: 1 },
    metadata: { component: self },
    components: components.toSorted((a, b) => (a["bom-ref"] < b["bom-ref"] ? -1 : 1)),
    dependencies: [...needs].map(([ref, others]) => ({ ref, dependsOn: [...others].toSorted() })),
  };
}

/** The packages of which at least a byte is in what was built. */
function foldersIn(metafiles: readonly Bun.BuildMetafile[]): Set<string> {
  const outputs = metafiles.flatMap((metafile) => Object.values(metafile.outputs));
  const used = outputs.flatMap(({ inputs }) => Object.entries(inputs));
  const paths = used.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => folderOf(path));
  return new Set(paths.filter((path) => path !== null));
}

/** Of each import, the packages on both ends; null is the sources. */
function importsIn(metafiles: readonly Bun.BuildMetafile[]): [string | null, string | null][] {
  const files = metafiles.flatMap(({ inputs }) => Object.entries(inputs));
  return files.flatMap(([from, { imports }]) =>
    imports.map(({ path }) => [folderOf(from), folderOf(path)] as [string | null, string | null]),
  );
}

function folderOf(path: string): string | null {
  return PACKAGE.exec(resolve(path))?.[0] ?? null;
}

/** `name@version` to the hash in the lock, which is that of the packed file. */
function readIntegrities(): Map<string, string> {
  const { packages } = Bun.JSONC.parse(readFileSync(join(REPOSITORY, "bun.lock"), "utf8")) as Lock;
  return new Map(Object.values(packages).map((row) => [String(row[0]), String(row.at(-1))]));
}

function describe(folder: string, integrities: ReadonlyMap<string, string>): Component {
  const path = join(folder, "package.json");
  if (!existsSync(path)) throw new Error(`${folder} is no package: it has no package.json`);
  const about = JSON.parse(readFileSync(path, "utf8")) as { name: string; version: string };
  const integrity = integrities.get(`${about.name}@${about.version}`);
  if (integrity === undefined)
    throw new Error(`bun.lock has no ${about.name}@${about.version}: run \`bun install --frozen-lockfile\``);
  const content = Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex");
  return { ...npmPackage(about), hashes: [{ alg: "SHA-512", content }] };
}

function npmPackage(about: { name: string; version: string; license?: string }): Component {
  return component("library", about, `pkg:npm/${about.name.replace("@", "%40")}@${about.version}`);
}

function component(
  type: Component["type"],
  { name, version, license }: { name: string; version: string; license?: string },
  purl: string,
): Component {
  const licenses = license === undefined ? {} : { licenses: [{ expression: license }] };
  return { type, "bom-ref": purl, name, version, ...licenses, purl };
}

/** Its two files lie in the sources, so no lock names them: their notice says which version they are. */
function readSwagger(): Component {
  const notice = readFileSync(join(REPOSITORY, SWAGGER_NOTICE), "utf8");
  const [, version] = /^Swagger UI (\S+)$/m.exec(notice) ?? [];
  if (version === undefined) throw new Error(`${SWAGGER_NOTICE} names no version of Swagger UI`);
  return npmPackage({ name: "swagger-ui-dist", version, license: "Apache-2.0" });
}

function describeBun(): Component {
  const bun = component(
    "platform",
    { name: "bun", version: Bun.version, license: "MIT" },
    `pkg:npm/bun@${Bun.version}`,
  );
  const inside = Object.entries(process.versions).filter(([name]) => !INTERFACES.has(name));
  const components = inside.map(([name, version = ""]): Component => {
    return { type: "library", "bom-ref": `bun/${name}@${version}`, name, version };
  });
  return { ...bun, components };
}
