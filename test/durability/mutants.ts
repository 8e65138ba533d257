/**
 * Builds that break the promise of durability on purpose: the controls of the suites. Preloaded with
 * `DURABILITY_MUTANT=<name>`, this file puts its change into the text of a source file while that is loaded.
 */
import { join } from "node:path";
import { plugin } from "bun";

interface Mutant {
  /** Below `src`. */
  file: string;
  changes: readonly (readonly [find: string, put: string])[];
}

const MUTANTS = {
  /** The answer leaves while the transaction is open; the commit follows when the sync has ended. */
  "acknowledges before the commit": {
    file: "store/store.ts",
    changes: [
      ["      this.commit.run();\n", ""],
      [
        "      await this.parts.sync();\n",
        "      for (const job of batch) if (job.error === null) job.resolve(job.value);\n" +
          "      await this.parts.sync();\n      if (this.sqlite.inTransaction) this.commit.run();\n",
      ],
    ],
  },
  /** What is committed lies in the WAL, and nobody brings it to the disk. */
  "acknowledges without a sync": {
    file: "store/store.ts",
    changes: [["      await this.parts.sync();\n", ""]],
  },
  /** What a poller was handed counts as delivered, whether or not the answer ever reached it. */
  "delivers by handing out": {
    file: "delivery/polling/poller.ts",
    changes: [
      [
        'status: "pending", step, due: delivery.due, deadReason: null',
        'status: "delivered", step, due: null, deadReason: null',
      ],
    ],
  },
} as const satisfies Record<string, Mutant>;

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
  const { file, changes }: Mutant = MUTANTS[chosen];
  plugin({
    name: "mutant",
    setup(build) {
      build.onLoad({ filter: /\/src\/.+\.ts$/ }, async ({ path }) => {
        let contents = await Bun.file(path).text();
        for (const [find, put] of path.endsWith(`/src/${file}`) ? changes : []) {
          if (contents.split(find).length !== 2) throw new Error(`the mutant does not fit: ${find}`);
          contents = contents.replace(find, () => put);
        }
        return { contents, loader: "ts" };
      });
    },
  });
}
