import { invalid } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";

/** What a project has a bounded number of, as all of them stand in memory. */
const BOUNDED = {
  apiKeysPerProjectMax: "API keys",
  eventTypesPerProjectMax: "event types",
  sourcesPerProjectMax: "sources",
} as const;

/**
 * Inside a write: throws 422 where the project has so many already. Counted as remembered: those of the same
 * batch of writes are few.
 */
export function requireRoomFor(
  name: keyof typeof BOUNDED,
  { size }: { readonly size: number },
  pointer = "",
): void {
  const max = limit(name);
  if (size < max) return;
  throw invalid(pointer, `A project has at most ${max.toLocaleString("en-US")} ${BOUNDED[name]}.`);
}
