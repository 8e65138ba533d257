import { limit } from "../../core/limits.ts";
import type { BatchPart, Store } from "../store.ts";

/** Kinds of lists that have a name: all deliveries of a project, and its events by type and by consumer. */
export const LABELS = { deliveries: 0, type: 1, consumer: 2 } as const;
type LabelKind = (typeof LABELS)[keyof typeof LABELS];

/** A row of the table. */
export interface Label {
  id: number;
  projectId: number;
  kind: LabelKind;
  name: string;
}

type Names = Map<string, number>;

/** Keys of named lists (table `label`). */
export class Labels implements BatchPart {
  /** By kind, project and name: asked twice for each event, so without making a key of them. */
  readonly #known = [new Map<number, Names>(), new Map<number, Names>(), new Map<number, Names>()] as const;
  #cached = 0;
  #fresh: { projectId: number; kind: LabelKind; name: string }[] = [];
  readonly #insert;
  readonly #find;
  readonly #typesBelow;
  readonly #drop;

  constructor(private readonly store: Store) {
    const { sqlite } = store;
    this.#insert = sqlite.prepare<void, [number, number, number, string]>(
      "INSERT INTO label (id, project_id, kind, name) VALUES (?, ?, ?, ?)",
    );
    this.#find = sqlite.prepare<{ id: number }, [number, number, string]>(
      "SELECT id FROM label WHERE project_id = ? AND kind = ? AND name = ?",
    );
    // In the order of the index no other name lies between: `/` follows `.`, and no name has it.
    this.#typesBelow = sqlite.prepare<{ id: number }, [number, number, string, string, number]>(
      "SELECT id FROM label WHERE project_id = ? AND kind = ? AND name > ? || '.' AND name < ? || '/' LIMIT ?",
    );
    this.#drop = sqlite.prepare<void, [number]>("DELETE FROM label WHERE id = ?");
    store.addBatchPart(this);
  }

  /** The list's key, made where it is new; inside a write. */
  intern(projectId: number, kind: LabelKind, name: string): number {
    const known = this.find(projectId, kind, name);
    if (known !== null) return known;
    const id = this.store.takeKey();
    this.#insert.run(id, projectId, kind, name);
    this.#knownOf(projectId, kind).set(name, id);
    this.#fresh.push({ projectId, kind, name });
    return id;
  }

  /** The list's key, or null where nothing ever stood in it. */
  find(projectId: number, kind: LabelKind, name: string): number | null {
    const known = this.#known[kind].get(projectId)?.get(name);
    if (known !== undefined) return known;
    const id = this.#find.get(projectId, kind, name)?.id;
    if (id === undefined) return null;
    this.#knownOf(projectId, kind).set(name, id);
    return id;
  }

  /** Where a name is to be kept; all are forgotten before they are too many. */
  #knownOf(projectId: number, kind: LabelKind): Names {
    if (++this.#cached > limit("labelsCachedMax")) {
      for (const byProject of this.#known) byProject.clear();
      this.#cached = 0;
    }
    const names = this.#known[kind].get(projectId) ?? new Map<string, number>();
    this.#known[kind].set(projectId, names);
    return names;
  }

  /** Inside a write: a list that is empty is there no more; the next row that belongs in it makes it anew. */
  drop({ id, projectId, kind, name }: Label): void {
    this.#drop.run(id);
    this.#known[kind].get(projectId)?.delete(name);
  }

  /** Lists of the event types below a name that the project has an event of, `count` at most. */
  typesBelow(projectId: number, name: string, count: number): number[] {
    return this.#typesBelow.all(projectId, LABELS.type, name, name, count).map(({ id }) => id);
  }

  flush(): void {}

  done(): void {
    this.#fresh = [];
  }

  reset(): void {
    for (const { projectId, kind, name } of this.#fresh) this.#known[kind].get(projectId)?.delete(name);
    this.#fresh = [];
  }
}
