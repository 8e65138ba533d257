import type { Database } from "bun:sqlite";
import { isOpen, waitsForPlan } from "../../src/core/delivery.ts";
import type { Delivery } from "../../src/core/model.ts";
import { DELIVERY_COLUMNS, type DeliveryRow, toDelivery } from "../../src/store/log/delivery-row.ts";

/** What the rows of an endpoint's deliveries tell. */
export interface OpenRows {
  /** Oldest first. */
  open: Delivery[];
  /** Of the open those that wait for the plan of their account. */
  awaiting: number;
  /** Those that stand in the endpoint's queue on disk. */
  parked: number;
  /** Those that have a time and stand in no queue on disk: something in memory holds them. */
  inMemory: Set<number>;
}

/** By endpoint: all that is open, and all that stands in a queue or has a time although it is not. */
export function readOpenRows(sqlite: Database): Map<number, OpenRows> {
  const rows = sqlite.query<DeliveryRow, []>(
    `SELECT ${DELIVERY_COLUMNS} FROM delivery
     WHERE status IN (0, 1) OR due IS NOT NULL OR queue_order IS NOT NULL ORDER BY id`,
  );
  const found = new Map<number, OpenRows>();
  for (const row of rows.all()) {
    const delivery = toDelivery(row);
    const of = found.get(delivery.endpointId) ?? { open: [], awaiting: 0, parked: 0, inMemory: new Set() };
    found.set(delivery.endpointId, of);
    if (isOpen(delivery)) of.open.push(delivery);
    if (waitsForPlan(delivery)) of.awaiting++;
    if (row.queue_order !== null) of.parked++;
    else if (row.due !== null) of.inMemory.add(row.id);
  }
  return found;
}
