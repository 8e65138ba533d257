import type { EndedAs } from "../../core/delivery.ts";
import type { note } from "../log-schema.ts";
import { bound } from "../bound.ts";
import { goesToOneOf } from "./children.ts";
import type { Store } from "../store.ts";

export const NOTE_KINDS = ["replayed", "cancelled", "dead_lettered", "expired"] as const;
export type NoteKind = (typeof NOTE_KINDS)[number];

export interface Note {
  id: number;
  deliveryId: number;
  endpointId: number;
  kind: NoteKind;
  detail: string | null;
}

type NoteRow = Omit<typeof note.$inferSelect, "event_id"> & { endpoint_id: number };

/** What happened to a delivery without an attempt; for the timeline. The key is the instant. */
export class Notes {
  readonly #insert;
  readonly #ofEvent;

  constructor(private readonly store: Store) {
    this.#insert = store.sqlite.prepare<void, [number, number, number, number, string | null]>(
      "INSERT INTO note (id, event_id, delivery_id, kind, detail) VALUES (?, ?, ?, ?, ?)",
    );
    this.#ofEvent = store.sqlite.prepare<NoteRow, [number, number, string | null, number]>(
      `SELECT n.id, n.delivery_id, endpoint_id, n.kind, n.detail FROM note n JOIN delivery d ON d.id = n.delivery_id
       WHERE n.event_id = ${bound(1)} AND n.id > ${bound(2)} AND ${goesToOneOf(3)} ORDER BY n.id LIMIT ${bound(4)}`,
    );
  }

  /** Inside a write: a delivery was ended, as its endpoint is disabled (dead) or deleted (cancelled). */
  addEnding(eventId: number, deliveryId: number, as: EndedAs): void {
    if (as === "dead") this.add(eventId, deliveryId, "dead_lettered", "endpoint_disabled");
    else this.add(eventId, deliveryId, "cancelled");
  }

  /** Inside a write. */
  add(eventId: number, deliveryId: number, kind: NoteKind, detail: string | null = null): void {
    this.#insert.run(this.store.takeKey(), eventId, deliveryId, NOTE_KINDS.indexOf(kind), detail);
  }

  /** Oldest first, above the key `after`; only those of deliveries to `visible` endpoints (null: all). */
  ofEvent(eventId: number, visible: ReadonlySet<number> | null, after: number, count: number): Note[] {
    const endpoints = visible && JSON.stringify([...visible]);
    return this.#ofEvent.all(eventId, after, endpoints, count).map((row) => ({
      id: row.id,
      deliveryId: row.delivery_id,
      endpointId: row.endpoint_id,
      kind: NOTE_KINDS[row.kind] ?? "replayed",
      detail: row.detail,
    }));
  }
}
