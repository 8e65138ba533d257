import { and, count, eq } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { EventType } from "../../core/model.ts";
import { limit } from "../../core/limits.ts";
import { RecentMap } from "../../core/structures/recent-map.ts";
import { compileSchema, type EventSchema } from "../../core/schema/schema.ts";
import { eventType as table } from "../schema.ts";
import type { Store } from "../store.ts";

export type NewEventType = Omit<EventType, "id">;

function compile(schema: unknown): EventSchema {
  const compiled = compileSchema(schema);
  if (!compiled.ok) throw new Error("an event type has a schema that was refused");
  return compiled.schema;
}

/**
 * Event types: all of them stand in memory beside their table, as every published event is looked up by
 * its type.
 */
export class EventTypes {
  readonly #ofProject = new Map<number, Map<string, EventType>>();
  /** Of those that were used last, over all projects. */
  readonly #compiled = new RecentMap<EventType, EventSchema>(
    limit("compiledSchemasBytesMax"),
    ({ weight }) => weight,
  );

  constructor(
    private readonly store: Store,
    private readonly db: BunSQLiteDatabase,
  ) {
    for (const row of db.select().from(table).all()) this.remember(row);
  }

  find(projectId: number, name: string): EventType | undefined {
    return this.#ofProject.get(projectId)?.get(name);
  }

  /** Newest first. */
  ofProject(projectId: number): EventType[] {
    return [...(this.#ofProject.get(projectId)?.values() ?? [])].sort((a, b) => b.id - a.id);
  }

  /** What the compiled schemas that are kept weigh. */
  get compiledBytes(): number {
    return this.#compiled.weight;
  }

  /** The type's schema, compiled; null where it has none. */
  schemaOf(type: EventType): EventSchema | null {
    const { schema } = type;
    return schema === null ? null : this.#compiled.getOrMake(type, () => compile(schema));
  }

  /** How many a project has; inside a write, so that those of the same batch count too. */
  countOf(projectId: number): number {
    const ofProject = eq(table.projectId, projectId);
    return this.db.select({ count: count() }).from(table).where(ofProject).get()?.count ?? 0;
  }

  /** Inside a write; `remember` afterwards. Null where the project has a type of this name. */
  insert(fields: NewEventType): EventType | null {
    if (this.#read(fields.projectId, fields.name)) return null;
    const made: EventType = { ...fields, id: this.store.takeKey() };
    this.db.insert(table).values(made).run();
    return made;
  }

  /**
   * Inside a write; `remember` afterwards. Changes what the type is at that moment; null where it is gone.
   */
  update(
    projectId: number,
    name: string,
    change: (now: EventType) => Partial<NewEventType>,
  ): EventType | null {
    const old = this.#read(projectId, name);
    if (!old) return null;
    const made: EventType = { ...old, ...change(old), updatedAt: this.store.now() };
    this.db.update(table).set(made).where(eq(table.id, old.id)).run();
    return made;
  }

  /** Inside a write; `forget` afterwards. Null where it is gone. */
  delete(projectId: number, name: string): EventType | null {
    const old = this.#read(projectId, name);
    if (!old) return null;
    this.db.delete(table).where(eq(table.id, old.id)).run();
    return old;
  }

  /** After the commit: from now on everyone sees this one. */
  remember(changed: EventType): void {
    const ofProject = this.#ofProject.get(changed.projectId) ?? new Map<string, EventType>();
    this.#ofProject.set(changed.projectId, ofProject);
    this.#dropCompiled(ofProject.get(changed.name));
    ofProject.set(changed.name, changed);
  }

  /** After the commit of its deletion, unless one of the same name was made since. */
  forget(deleted: EventType): void {
    const ofProject = this.#ofProject.get(deleted.projectId);
    const now = ofProject?.get(deleted.name);
    if (now?.id !== deleted.id) return;
    this.#dropCompiled(now);
    ofProject?.delete(deleted.name);
  }

  #dropCompiled(type: EventType | undefined): void {
    if (type !== undefined) this.#compiled.delete(type);
  }

  #read(projectId: number, name: string): EventType | undefined {
    const isThis = and(eq(table.projectId, projectId), eq(table.name, name));
    return this.db.select().from(table).where(isThis).get();
  }
}
