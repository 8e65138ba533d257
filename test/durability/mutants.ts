/**
 * Builds that break the promise of durability on purpose: the controls of the suites. Preloaded with `DURABILITY_MUTANT=<name>`, this file puts
 * its change into the text of `src/store/store.ts` while that is loaded.
 */
import { join } from "node:path";
import { plugin } from "bun";

const MUTANTS = {
  /** The answer leaves while the transaction is open; the commit follows when the sync has ended. */
  "acknowledges before the commit": [
    ["      this.commit.run();\n", ""],
    [
      "      await this.parts.sync();\n",
      "      for (const job of batch) if (job.error === null) job.resolve(job.value);\n" +
        "      await this.parts.sync();\n      if (this.sqlite.inTransaction) this.commit.run();\n",
    ],
  ],
  /** What is committed lies in the WAL, and nobody brings it to the disk. */
  "acknowledges without a sync": [["      await this.parts.sync();\n", ""]],
} as const;

export type DurabilityMutant = keyof typeof MUTANTS;

/** The command that starts such a build from the sources. */
export function mutantCommand(mutant: DurabilityMutant): { command: string[]; env: Record<string, string> } {
  const main = join(import.meta.dir, "../../src/main.ts");
  return {
    command: [process.execPath, "--preload", import.meta.path, main],
    env: { DURABILITY_MUTANT: mutant },
  };
}

const chosen = process.env["DURABILITY_MUTANT"] as DurabilityMutant | undefined;
if (chosen !== undefined) {
  plugin({
    name: "mutant",
    setup(build) {
      build.onLoad({ filter: /\/src\/store\/store\.ts$/ }, async ({ path }) => {
        let contents = await Bun.file(path).text();
        for (const [find, put] of MUTANTS[chosen]) {
          if (contents.split(find).length !== 2) throw new Error(`the mutant does not fit: ${find}`);
          contents = contents.replace(find, () => put);
        }
        return { contents, loader: "ts" };
      });
    },
  });
}
