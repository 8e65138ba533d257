import { join } from "node:path";

/**
 * The portal's page and files, made from src/portal by Bun's bundler: when the page is first asked for, or, for the executable, once
 * by src/build.ts, which puts the result in this module's place.
 */
export interface Portal {
  page: string;
  files: PortalFile[];
}

export interface PortalFile {
  /** Holds a hash of the content: whoever has the file keeps it. */
  name: string;
  contentType: string;
  /** Gzip, in base64. */
  gzipped: string;
}

const FOLDER = join(import.meta.dir, "portal");
const HASH_CHARACTERS = 10;
/** These come first; the others follow in the order of their names. */
const FIRST_STYLES = ["tokens.css", "base.css"];

export async function buildPortal(): Promise<Portal> {
  const built = await Bun.build({
    entrypoints: [join(FOLDER, "main.tsx")],
    target: "browser",
    format: "esm",
    splitting: true,
    minify: true,
    naming: { entry: "[name]-[hash].[ext]", chunk: "[name]-[hash].[ext]" },
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const scripts = await Promise.all(
    built.outputs.map(async (output) => ({
      name: output.path.replace(/^.*\//, ""),
      kind: output.kind,
      text: await output.text(),
    })),
  );
  const entry = scripts.find(({ kind }) => kind === "entry-point");
  if (entry === undefined) throw new Error("the portal has no entry");
  const style = await readStyle();
  const first = [entry.name, ...importsOf(entry.text)];
  return {
    page: pageOf(style.name, first),
    files: [style, ...scripts.map(({ name, text }) => fileOf(name, "text/javascript; charset=utf-8", text))],
  };
}

/** Chunks that the entry cannot begin without: asked for at once, not when it has been read. */
function importsOf(script: string): string[] {
  return [...script.matchAll(/\bfrom"\.\/([\w-]+\.js)"|\bimport"\.\/([\w-]+\.js)"/g)].map(
    ([, a, b]) => a ?? b ?? "",
  );
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

function fileOf(name: string, contentType: string, text: string): PortalFile {
  return { name, contentType, gzipped: Buffer.from(Bun.gzipSync(text, { level: 9 })).toString("base64") };
}

/** Nothing inline: the page obeys `default-src 'self'`. */
function pageOf(style: string, [entry = "", ...chunks]: readonly string[]): string {
  const preloads = chunks.map((name) => `<link rel="modulepreload" href="/portal/assets/${name}">\n`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>Webhooks</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/portal/assets/${style}">
${preloads.join("")}<script type="module" src="/portal/assets/${entry}"></script>
</head>
<body>
<noscript><p>This page needs JavaScript.</p></noscript>
<div id="app"></div>
</body>
</html>
`;
}
