import { limit } from "../../core/limits.ts";
import type { Turns } from "../../core/structures/turn-queue.ts";
import type { EndedAs } from "../../core/delivery.ts";
import type { note } from "../log-schema.ts";
import { bound } from "../bound.ts";
import { KEY_MAX } from "./children.ts";
import type { Sent } from "./event-deliveries.ts";
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

/** `endpoint_id`: null where the delivery has left. */
type NoteRow = Omit<typeof note.$inferSelect, "event_id"> & { endpoint_id: number | null };

/** What happened to a delivery without an attempt; for the timeline. The key is the instant. */
export class Notes {
  readonly #insert;
  readonly #ofEvent;
  readonly #ofDelivery;

  constructor(private readonly store: Store) {
    this.#insert = store.sqlite.prepare<void, [number, number, number, number, string | null]>(
      "INSERT INTO note (id, event_id, delivery_id, kind, detail) VALUES (?, ?, ?, ?, ?)",
    );
    this.#ofEvent = store.sqlite.prepare<NoteRow, [number, number, number]>(
      `SELECT n.id, n.delivery_id, endpoint_id, n.kind, n.detail FROM note n LEFT JOIN delivery d ON d.id = n.delivery_id
       WHERE n.event_id = ${bound(1)} AND n.id > ${bound(2)} ORDER BY n.id LIMIT ${bound(3)}`,
    );
    this.#ofDelivery = store.sqlite.prepare<NoteRow, [number, number, number, number, number]>(
      `SELECT id, delivery_id, ${bound(4)} AS endpoint_id, kind, detail FROM note
       WHERE delivery_id = ${bound(1)} AND id > ${bound(2)} AND id < ${bound(5)} ORDER BY id LIMIT ${bound(3)}`,
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

  /** Of one delivery, oldest first, above the key `after` and below `before`. */
  ofDelivery({ id, endpointId }: Sent, after: number, count: number, before = KEY_MAX): Note[] {
    return this.#ofDelivery.all(id, after, count, endpointId, before).flatMap(toNote);
  }

  /**
   * Oldest first, above the key `after`. There may be very many of deliveries that have left: all are looked
   * through slice by slice.
   */
  async ofEvent(eventId: number, after: number, count: number, turns: Turns): Promise<Note[]> {
    const found: Note[] = [];
    const most = limit("listLimitMax");
    for (let above = after; found.length < count; ) {
      await turns.giveWay();
      const rows = this.#ofEvent.all(eventId, above, most);
      found.push(...rows.flatMap(toNote));
      if (rows.length < most) break;
      above = rows.at(-1)?.id ?? above;
    }
    return found.slice(0, count);
  }
}

function toNote({ id, delivery_id: deliveryId, endpoint_id: endpointId, kind, detail }: NoteRow): Note[] {
  if (endpointId === null) return [];
  return [{ id, deliveryId, endpointId, kind: NOTE_KINDS[kind] ?? "replayed", detail }];
}
