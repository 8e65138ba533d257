/** Java servers as Maven Central has them, unpacked once on a machine. */
import { existsSync, mkdtempSync, renameSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "./real-server.ts";
import { requireTool } from "./tools.ts";

/** True where Java servers can be had; a named skip otherwise. */
export function hasMaven(): boolean {
  const hasBuilder = requireTool("mvn", "apt-get install maven");
  return requireTool("javac", "apt-get install default-jdk-headless") && hasBuilder;
}

/** The folder with the content of a `bin.tar.gz` of Maven Central, `GROUP:ARTIFACT:VERSION`. */
export async function unpackDistribution(coordinates: string): Promise<string> {
  const [group = "", artifact = "", version = ""] = coordinates.split(":");
  return once(`${artifact}-${version}`, async (folder) => {
    const get = ["dependency:get", `-Dartifact=${coordinates}:tar.gz:bin`, "-Dtransitive=false"];
    await runCommand(["mvn", "--quiet", "--batch-mode", ...get]);
    const archive = `${artifact}-${version}-bin.tar.gz`;
    const path = join(homedir(), ".m2/repository", ...group.split("."), artifact, version, archive);
    await runCommand(["tar", "xzf", path, "--strip-components=1", "-C", folder]);
  });
}

/** The folder with the jars of these artifacts and of all that they need. */
export async function fetchJars(name: string, artifacts: readonly string[]): Promise<string> {
  return once(name, async (folder) => {
    const dependencies = artifacts.map((each) => {
      const [group, artifact, version] = each.split(":");
      return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;
    });
    const pom = join(folder, "pom.xml");
    await Bun.write(
      pom,
      '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>test</groupId>' +
        `<artifactId>jars</artifactId><version>1</version><dependencies>${dependencies.join("")}</dependencies></project>`,
    );
    const copy = ["dependency:copy-dependencies", `-DoutputDirectory=${folder}`];
    await runCommand(["mvn", "--quiet", "--batch-mode", "-f", pom, ...copy]);
  });
}

/** Fills a folder that stays on this machine, whole or not at all. */
async function once(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(tmpdir(), `sealpost-java-${name}`);
  if (existsSync(folder)) return folder;
  const fresh = mkdtempSync(`${folder}-`);
  await fill(fresh);
  renameSync(fresh, folder);
  return folder;
}
