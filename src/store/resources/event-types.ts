import { and, eq } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { EventType } from "../../core/model.ts";
import { weightOf } from "../../core/json/weight.ts";
import { limit } from "../../core/limits.ts";
import { type ReadonlyShelf, Shelves } from "../../core/structures/shelf.ts";
import { RecentMap } from "../../core/structures/recent-map.ts";
import { compileSchema, type EventSchema } from "../../core/schema/schema.ts";
import { eventType as table } from "../schema.ts";
import type { Store } from "../store.ts";

export type NewEventType = Omit<EventType, "id">;

/** Fields that may be long, or have many parts. */
export const WEIGHED_FIELDS = ["schema", "example", "description", "group"] as const;

/** What these fields of a type take in memory, about, also at rest. */
export function eventTypeWeight(
  type: NewEventType,
  fields: readonly (typeof WEIGHED_FIELDS)[number][] = WEIGHED_FIELDS,
): number {
  return fields.reduce((sum, field) => sum + weightOf(type[field]), 0);
}

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
  readonly #byName = new Map<number, Map<string, EventType>>();
  readonly #ofProject = new Shelves<number, EventType>();
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
    return this.#byName.get(projectId)?.get(name);
  }

  /** In the order of their keys; what they weigh is what stands in their fields. */
  ofProject(projectId: number): ReadonlyShelf<EventType> {
    return this.#ofProject.of(projectId);
  }

  /** What the compiled schemas that are kept weigh. */
  get compiledBytes(): number {
    return this.#compiled.weight;
  }

  /** False where to ask for the type's schema is to compile it. */
  isCompiled(type: EventType): boolean {
    return type.schema === null || this.#compiled.has(type);
  }

  /** The type's schema, compiled; null where it has none. */
  schemaOf(type: EventType): EventSchema | null {
    const { schema } = type;
    return schema === null ? null : this.#compiled.getOrMake(type, () => compile(schema));
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
    change: (current: EventType) => Partial<NewEventType>,
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
    const { projectId, name } = changed;
    const named = this.#byName.get(projectId) ?? new Map<string, EventType>();
    this.#byName.set(projectId, named);
    // Or one that was deleted meanwhile, and is to be forgotten in a moment.
    const before = named.get(name);
    if (before) this.#drop(before);
    named.set(name, changed);
    this.#ofProject.set(projectId, changed, eventTypeWeight(changed));
  }

  /** After the commit of its deletion, unless one of the same name was made since. */
  forget({ id, projectId, name }: EventType): void {
    const now = this.find(projectId, name);
    if (now?.id === id) this.#drop(now);
  }

  #drop(type: EventType): void {
    this.#compiled.delete(type);
    this.#byName.get(type.projectId)?.delete(type.name);
    this.#ofProject.delete(type.projectId, type.id);
  }

  #read(projectId: number, name: string): EventType | undefined {
    const isThis = and(eq(table.projectId, projectId), eq(table.name, name));
    return this.db.select().from(table).where(isThis).get();
  }
}
