import { signal } from "@preact/signals";

/** Rows that are ticked, of the list that is open: another filter begins anew. */
const chosen = signal<{ path: string; ids: ReadonlySet<string> }>({ path: "", ids: new Set() });

export function selectionOf(path: string): ReadonlySet<string> {
  return chosen.value.path === path ? chosen.value.ids : new Set();
}

export function select(path: string, ids: Iterable<string>): void {
  chosen.value = { path, ids: new Set(ids) };
}

export function toggle(path: string, id: string): void {
  const ids = new Set(selectionOf(path));
  if (!ids.delete(id)) ids.add(id);
  select(path, ids);
}
