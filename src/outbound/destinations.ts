import { http } from "./destinations/http.ts";
import type { DestinationKind } from "./destination.ts";

/** THE table of destination kinds. A new kind is one file and one line here. */
const KINDS: readonly DestinationKind[] = [http];

const byKind = new Map(KINDS.map((kind) => [kind.kind, kind]));

export function findKind(kind: string): DestinationKind | undefined {
  return byKind.get(kind);
}

export function listKinds(): readonly DestinationKind[] {
  return KINDS;
}
