import type { BatchPart, Store } from "./store.ts";

/** Kinds of lists that have a name: all deliveries of a project, and its events by type and by consumer. */
export const LABELS = { deliveries: 0, type: 1, consumer: 2 } as const;
type LabelKind = (typeof LABELS)[keyof typeof LABELS];

const CACHED_MAX = 50_000;

/** Keys of named lists (table `label`). */
export class Labels implements BatchPart {
  #known = new Map<string, number>();
  #fresh: string[] = [];
  readonly #insert;
  readonly #find;
  readonly #types;

  constructor(private readonly store: Store) {
    const { sqlite } = store;
    this.#insert = sqlite.prepare<void, [number, number, number, string]>(
      "INSERT INTO label (id, project_id, kind, name) VALUES (?, ?, ?, ?)",
    );
    this.#find = sqlite.prepare<{ id: number }, [number, number, string]>(
      "SELECT id FROM label WHERE project_id = ? AND kind = ? AND name = ?",
    );
    this.#types = sqlite.prepare<{ id: number; name: string }, [number, number]>(
      "SELECT id, name FROM label WHERE project_id = ? AND kind = ?",
    );
    store.addBatchPart(this);
  }

  /** The list's key, made where it is new; inside a write. */
  intern(projectId: number, kind: LabelKind, name: string): number {
    const known = this.find(projectId, kind, name);
    if (known !== null) return known;
    const id = this.store.takeKey();
    this.#insert.run(id, projectId, kind, name);
    const cacheKey = `${projectId} ${kind} ${name}`;
    this.#known.set(cacheKey, id);
    this.#fresh.push(cacheKey);
    return id;
  }

  /** The list's key, or null where nothing ever stood in it. */
  find(projectId: number, kind: LabelKind, name: string): number | null {
    const cacheKey = `${projectId} ${kind} ${name}`;
    const known = this.#known.get(cacheKey);
    if (known !== undefined) return known;
    const id = this.#find.get(projectId, kind, name)?.id;
    if (id === undefined) return null;
    if (this.#known.size >= CACHED_MAX) this.#known.clear();
    this.#known.set(cacheKey, id);
    return id;
  }

  /** All event types that the project ever had an event of. */
  typesOf(projectId: number): { id: number; name: string }[] {
    return this.#types.all(projectId, LABELS.type);
  }

  flush(): void {}

  done(): void {
    this.#fresh = [];
  }

  reset(): void {
    for (const cacheKey of this.#fresh) this.#known.delete(cacheKey);
    this.#fresh = [];
  }
}
