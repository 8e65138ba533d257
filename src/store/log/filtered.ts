/** Endpoints that subscribe to an event's type and whose filter said no. */
export interface Filtered {
  /** Keys of endpoints. */
  named: readonly number[];
  /** How many more there are. */
  others: number;
}

/**
 * As the row of the event keeps it. A plain list of keys names all of them; those of before the bound
 * (`filteredNamedMax`) may be as long as a project has endpoints.
 */
export function filteredText({ named, others }: Filtered): string | null {
  if (named.length + others === 0) return null;
  return JSON.stringify(others === 0 ? named : { named, others });
}

export function readFiltered(text: string | null): Filtered {
  const kept = JSON.parse(text ?? "[]") as number[] | Filtered;
  return Array.isArray(kept) ? { named: kept, others: 0 } : kept;
}
