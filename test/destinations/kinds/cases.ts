import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Ask, type DestinationKind, Unprepared } from "../../../src/destinations/destination.ts";
import { findKind, isPolled, listKinds } from "../../../src/destinations/destinations.ts";
import { renderHead } from "../../../src/transport/request.ts";
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

export function kindOf({ kind }: KindCase): DestinationKind {
  const found = findKind(kind);
  if (found === undefined || "isPolled" in found)
    throw new Error(`no kind that is pushed to is called ${kind}`);
  return found;
}

/** Asks whoever the case says is asked before the request. */
export function askOf({ asked }: KindCase): Ask {
  return async (request) => {
    // What is asked must be possible to send, too.
    renderHead(request);
    if (asked === undefined) throw new Unprepared({ kind: "unreachable", code: "connection_refused" });
    return await Promise.resolve(asked(request));
  };
}
