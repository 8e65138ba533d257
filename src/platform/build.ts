/**
 * Builds the one executable, portal and migrations inside, and the list of its parts beside it:
 * `bun run build [outfile [target]]`, by default `dist/sealpost` for the machine that builds it, which needs
 * no network. For another target, such as `bun-linux-arm64`, Bun downloads itself for that target.
 */
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { type BundledPortal, bundlePortal } from "./portal-build.ts";
import { writePartsList } from "./parts-list.ts";

/**
 * A worker is an entry point of its own, beside main.ts: in the executable every module's URL is
 * the executable.
 */
const entrypoints = ["main.ts", "checkpointer.ts"]
  .map((name) => join(import.meta.dir, "..", name))
  .filter(existsSync);

/**
 * Builds it at `outfile`, to which Bun adds `.exe` for Windows. Answers what the bundler took into it, the
 * portal included, which who builds for several targets bundles once. Throws where Bun knows no such target.
 */
export async function buildExecutable(
  outfile: string,
  target?: Bun.Build.CompileTarget,
  bundled?: BundledPortal,
): Promise<Bun.BuildMetafile[]> {
  const { portal, metafile } = bundled ?? (await bundlePortal());
  /** The executable has no sources to build the portal from: it carries what they make. */
  const portalInside: Bun.BunPlugin = {
    name: "portal",
    setup(build) {
      const contents = `export const buildPortal = async () => (${JSON.stringify(portal)});`;
      build.onLoad({ filter: /\/portal-build\.ts$/ }, () => ({ contents, loader: "ts" }));
    },
  };
  const built = await Bun.build({
    entrypoints,
    // An executable must not run what lies in the folder it is started from: by default it reads
    // a `.env` there, and the `preload` of a `bunfig.toml`.
    compile: { outfile, ...(target && { target }), autoloadDotenv: false, autoloadBunfig: false },
    format: "esm",
    bytecode: true,
    minify: true,
    sourcemap: "linked",
    metafile: true,
    plugins: [portalInside],
    define: { "process.env.NODE_ENV": '"production"' },
  });
  return [metafile, built.metafile].filter((one) => one !== undefined);
}

if (import.meta.main) {
  const outfile = resolve(process.argv[2] ?? join(import.meta.dir, "../../dist/sealpost"));
  const metafiles = await buildExecutable(outfile, process.argv[3] as Bun.Build.CompileTarget | undefined);
  await writePartsList(metafiles, `${outfile}.cdx.json`);
  const sizeMiB = Math.round(statSync(outfile).size / 2 ** 20);
  console.log(`built ${outfile} with Bun ${Bun.version} (${sizeMiB} MiB)`);
}
