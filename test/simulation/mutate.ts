/** Preloaded with `MUTANT=<number>`: puts that bug into its file while it is loaded. */
import { plugin } from "bun";
import { MUTANTS } from "./mutants.ts";

const mutant = MUTANTS[Number(process.env.MUTANT)];
if (!mutant) throw new Error(`there is no mutant ${process.env.MUTANT}`);

plugin({
  name: "mutant",
  setup(build) {
    build.onLoad({ filter: new RegExp(`/src/${mutant.file.replaceAll(".", "\\.")}$`) }, async ({ path }) => {
      const text = await Bun.file(path).text();
      if (text.split(mutant.find).length !== 2)
        throw new Error(`the mutant "${mutant.name}" does not fit ${mutant.file}`);
      return { contents: text.replace(mutant.find, () => mutant.put), loader: "ts" };
    });
  },
});
