import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";

/**
 * The portal's page and files, made from src/portal by Bun's bundler: when the page is first asked for, or,
 * for the executable, once by src/platform/build.ts, which puts the result in this module's place. The first
 * view is one script and one style sheet; each later one is a script more.
 */
export interface Portal {
  page: string;
  files: PortalFile[];
}

export interface PortalFile {
  /** Holds a hash of the content: whoever has the file keeps it. */
  name: string;
  contentType: string;
  /** Compressed, in base64. */
  br: string;
  gzip: string;
}

export interface BundledPortal {
  portal: Portal;
  metafile: Bun.BuildMetafile | undefined;
}

const FOLDER = join(import.meta.dir, "../portal");
const ENTRY = join(FOLDER, "main.tsx");
const HASH_CHARACTERS = 10;
/**
 * What more than one later view uses, and the first does not: in the first script, or it would be one of its
 * own, asked for beside theirs.
 */
const SHARED_PATHS = [
  "../core/json/value.ts",
  "views/parts/config-form.tsx",
  "views/parts/overlap-choices.ts",
  "views/parts/saved-form.tsx",
  "views/parts/search-box.tsx",
  "views/parts/steps.tsx",
  "views/parts/unsaved.ts",
].map((name) => join(FOLDER, name));
/** These come first; the others follow in the order of their names. */
const FIRST_STYLES = ["tokens.css", "base.css"];

export async function buildPortal(): Promise<Portal> {
  return (await bundlePortal()).portal;
}

/** The same, with what the bundler took into it. */
export async function bundlePortal(): Promise<BundledPortal> {
  const built = await Bun.build({
    entrypoints: [ENTRY],
    target: "browser",
    format: "esm",
    splitting: true,
    minify: true,
    naming: { entry: "[name]-[hash].[ext]", chunk: "[name]-[hash].[ext]" },
    define: { "process.env.NODE_ENV": '"production"' },
    jsx: { runtime: "automatic", importSource: "preact", development: false },
    metafile: true,
    plugins: [firstInOne],
  });
  const entry = built.outputs.find(({ kind }) => kind === "entry-point");
  const [, first] = (await entry?.text())?.match(/from"\.\/([\w-]+\.js)"/) ?? [];
  if (first === undefined) throw new Error("the portal's entry names no script");
  const scripts = built.outputs
    .filter((output) => output !== entry)
    .map(async (output) =>
      fileOf(output.path.replace(/^.*\//, ""), "text/javascript; charset=utf-8", await output.text()),
    );
  const style = await readStyle();
  const portal = { page: await pageOf(style.name, first), files: [style, ...(await Promise.all(scripts))] };
  return { portal, metafile: built.metafile };
}

/**
 * The bundler cuts what the entry and a later file share into files of their own, one for each set of files
 * that share it. A later file that imports the entry shares all of it: so the whole first view is one such
 * file, and the entry itself names nothing else.
 */
const firstInOne: Bun.BunPlugin = {
  name: "first view in one file",
  setup(build) {
    const later = new Set<string>();
    build.onResolve({ filter: /^\.\.?\// }, ({ path, importer, kind }) => {
      if (kind === "dynamic-import") later.add(resolve(dirname(importer), path));
      return undefined;
    });
    build.onLoad({ filter: /\/portal\/.*\.tsx?$/ }, async ({ path, loader }) => {
      const text = await Bun.file(path).text();
      if (path === ENTRY) return { contents: `${importsOf(SHARED_PATHS)}${text}`, loader };
      return later.has(path) ? { contents: `${importsOf([ENTRY])}${text}`, loader } : undefined;
    });
  },
};

function importsOf(paths: readonly string[]): string {
  return paths.map((path) => `import ${JSON.stringify(path)};\n`).join("");
}

async function readStyle(): Promise<PortalFile> {
  const names = [...new Bun.Glob("*.css").scanSync(join(FOLDER, "styles"))].sort();
  const inOrder = [...FIRST_STYLES, ...names.filter((name) => !FIRST_STYLES.includes(name))];
  const texts = await Promise.all(inOrder.map((name) => Bun.file(join(FOLDER, "styles", name)).text()));
  const text = texts
    .join("\n")
    .replaceAll(/\/\*[^]*?\*\//g, "")
    .replaceAll(/\s+/g, " ");
  const hash = new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, HASH_CHARACTERS);
  return fileOf(`style-${hash}.css`, "text/css; charset=utf-8", text);
}

async function fileOf(name: string, contentType: string, text: string): Promise<PortalFile> {
  const [br, gz] = await Promise.all([promisify(brotliCompress)(text), promisify(gzip)(text, { level: 9 })]);
  return { name, contentType, br: br.toString("base64"), gzip: gz.toString("base64") };
}

/** src/portal/page.html, with the names of its files. Nothing inline: it obeys `default-src 'self'`. */
async function pageOf(style: string, script: string): Promise<string> {
  const page = await Bun.file(join(FOLDER, "page.html")).text();
  return page
    .replace("main.css", style)
    .replace("main.tsx", script)
    .replaceAll(/<!--[^]*?-->|\n\s*/g, "");
}
