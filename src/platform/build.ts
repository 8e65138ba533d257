/**
 * Builds the one executable, portal and migrations inside: `bun run build [outfile]`, by default
 * `dist/sealpost`. It targets the machine that builds it and needs no network.
 */
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { buildPortal } from "./portal-build.ts";

const outfile = resolve(process.argv[2] ?? join(import.meta.dir, "../../dist/sealpost"));

/**
 * A worker is an entry point of its own, beside main.ts: in the executable every module's URL is
 * the executable.
 */
const entrypoints = ["main.ts", "checkpointer.ts"]
  .map((name) => join(import.meta.dir, "..", name))
  .filter(existsSync);

const portal = await buildPortal();
/** The executable has no sources to build the portal from: it carries what they make. */
const portalInside: Bun.BunPlugin = {
  name: "portal",
  setup(build) {
    const contents = `export const buildPortal = async () => (${JSON.stringify(portal)});`;
    build.onLoad({ filter: /\/portal-build\.ts$/ }, () => ({ contents, loader: "ts" }));
  },
};

await Bun.build({
  entrypoints,
  // An executable must not run what lies in the folder it is started from: by default it reads
  // a `.env` there, and the `preload` of a `bunfig.toml`.
  compile: { outfile, autoloadDotenv: false, autoloadBunfig: false },
  format: "esm",
  bytecode: true,
  minify: true,
  sourcemap: "linked",
  plugins: [portalInside],
  define: { "process.env.NODE_ENV": '"production"' },
});

const sizeMiB = Math.round(statSync(outfile).size / 2 ** 20);
console.log(`built ${outfile} with Bun ${Bun.version} (${sizeMiB} MiB)`);
