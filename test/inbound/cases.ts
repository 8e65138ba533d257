import { join } from "node:path";
import type { ProviderCase } from "./case.ts";

const folder = join(import.meta.dir, "cases");

type Cases = Readonly<Record<string, ProviderCase>>;

async function load(name: string): Promise<Cases[]> {
  const module = (await import(join(folder, name))) as Readonly<Record<string, Cases>>;
  return Object.entries(module).flatMap(([exported, cases]) => (exported.endsWith("_CASES") ? [cases] : []));
}

const names = [...new Bun.Glob("*.ts").scanSync(folder)].toSorted();

/** By the key of their provider: what each file of `cases/` exports as `…_CASES`. */
export const CASES: Cases = Object.assign({}, ...(await Promise.all(names.map(load))).flat());
