import { DEAD_REASONS, DELIVERY_STATUS } from "../../src/core/model.ts";
import type { Simulation } from "./run.ts";

const DEAD = DELIVERY_STATUS.indexOf("dead");
const CANCELLED = DELIVERY_STATUS.indexOf("cancelled");
const ENDPOINT_DISABLED = DEAD_REASONS.indexOf("endpoint_disabled");

/**
 * Remembers every row that comes to say what may not be, held against the other rows of that moment. In the
 * database itself, so that what a crash takes back is not remembered either.
 */
const WATCH = `
  CREATE TEMP TABLE wrong (text TEXT);
  CREATE TEMP TRIGGER delivery_made AFTER INSERT ON main.delivery
  WHEN EXISTS (SELECT 1 FROM main.event e JOIN main.endpoint p ON p.id = NEW.endpoint_id WHERE e.id = NEW.event_id
    AND e.is_test = 0 AND p.consumer_id IS NOT NULL AND p.consumer_id IS NOT e.consumer_id) BEGIN
    INSERT INTO wrong VALUES ('an endpoint got an event of another consumer'); END;
  CREATE TEMP TRIGGER delivery_ended AFTER UPDATE OF status ON main.delivery
  WHEN NEW.status = ${DEAD} AND OLD.status < ${DEAD} AND NEW.dead_reason = ${ENDPOINT_DISABLED}
    AND (SELECT status FROM main.endpoint WHERE id = NEW.endpoint_id) <> 'disabled' BEGIN
    INSERT INTO wrong VALUES ('a delivery died of an endpoint that was enabled again'); END;
  CREATE TEMP TRIGGER delivery_moved AFTER UPDATE OF queue_order ON main.delivery
  WHEN NEW.queue_order <> OLD.queue_order AND NEW.generation = OLD.generation
    AND (SELECT kind FROM main.endpoint WHERE id = NEW.endpoint_id) = 'poll' BEGIN
    INSERT INTO wrong VALUES ('a delivery was moved in the queue of its pollers'); END;
  CREATE TEMP TRIGGER parked_new AFTER INSERT ON main.delivery WHEN NEW.queue_order IS NOT NEW.due
    AND NEW.queue_order IS NOT NULL
    AND (SELECT kind FROM main.endpoint WHERE id = NEW.endpoint_id) <> 'poll' BEGIN
    INSERT INTO wrong VALUES ('what is parked does not stand by its due time'); END;
  CREATE TEMP TRIGGER parked_again AFTER UPDATE OF queue_order, due ON main.delivery
  WHEN NEW.queue_order IS NOT NEW.due AND NEW.queue_order IS NOT NULL
    AND (SELECT kind FROM main.endpoint WHERE id = NEW.endpoint_id) <> 'poll' BEGIN
    INSERT INTO wrong VALUES ('what is parked does not stand by its due time'); END;
  CREATE TEMP TRIGGER delivery_reopened AFTER UPDATE OF generation ON main.delivery
  WHEN NEW.status = ${CANCELLED} AND OLD.status >= ${DEAD} BEGIN
    INSERT INTO wrong VALUES ('a delivery was cancelled that had come to its end'); END;`;

/** What no row may ever say. */
export class RowWatch {
  constructor(private readonly run: Simulation) {
    run.sqlite.exec(WATCH);
  }

  check(): void {
    const rows = this.run.sqlite.query<{ text: string }, []>("SELECT DISTINCT text FROM wrong").all();
    for (const { text } of rows) this.run.violate(text);
  }

  /** True where a fan-out is written in part. */
  hasHalfFanout(): boolean {
    return this.run.sqlite.query("SELECT 1 FROM fanout WHERE written > 0").get() !== null;
  }
}
