import { existsSync } from "node:fs";
import { join } from "node:path";
import { isPolled, listKinds } from "../../../src/destinations/destinations.ts";
import type { KindCase } from "./case.ts";

/** Where the case of a kind stands: `aws_sqs` in `aws-sqs.ts`. */
export function fileOf(kind: string): string {
  return `test/destinations/kinds/${kind.replaceAll("_", "-")}.ts`;
}

/** What the file of a kind exports beside its case is for others. */
async function load(kind: string): Promise<KindCase[]> {
  const path = join(import.meta.dir, "../../..", fileOf(kind));
  if (!existsSync(path)) return [];
  const values: unknown[] = Object.values((await import(path)) as object);
  return values.filter((value) => isCaseOf(kind, value));
}

function isCaseOf(kind: string, value: unknown): value is KindCase {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === kind;
}

export const PUSHED = listKinds().filter(({ kind }) => !isPolled(kind));

/** One for each kind that is pushed to, in their order; `../destinations.test.ts` names what is missing. */
export const CASES: readonly KindCase[] = (await Promise.all(PUSHED.map(({ kind }) => load(kind)))).flat();
