import { Database } from "bun:sqlite";
import { fdatasync, openSync } from "node:fs";
import { join } from "node:path";

export interface StoredEvent {
  id: number;
  type: string;
  acceptedAt: number;
  body: string;
  endpointId: number;
}

export interface Outcome {
  deliveryId: number;
  statusCode: number;
  startedAt: number;
  durationMs: number;
}

/**
 * Sixteen megabytes of WAL between checkpoints: each stops the loop for some milliseconds, so there are few.
 */
const CHECKPOINT_PAGES = 4000;

const schema = `
  CREATE TABLE event (id INTEGER PRIMARY KEY, type TEXT, accepted_at INTEGER, body TEXT) STRICT;
  CREATE TABLE delivery (
    id INTEGER PRIMARY KEY, event_id INTEGER, endpoint_id INTEGER, status INTEGER, attempt_count INTEGER
  ) STRICT;
  CREATE TABLE attempt (
    id INTEGER PRIMARY KEY, delivery_id INTEGER, number INTEGER, status_code INTEGER, started_at INTEGER, duration_ms REAL
  ) STRICT;
`;

/**
 * Group commit: whatever arrives while the disk is busy shares the next transaction, accepts and
 * outcomes together.
 *
 * With synchronous=NORMAL a commit appends to the WAL and does not wait. The WAL is then synced on the thread
 * pool, one sync at a time, and a batch counts as written once the sync that began after its commit has
 * ended. So a 2xx means "on disk" as with synchronous=FULL, and the loop goes on meanwhile.
 */
export class BareStore {
  readonly #database: Database;
  readonly #wal: number;
  readonly #write: (events: StoredEvent[], outcomes: Outcome[]) => void;
  #events: StoredEvent[] = [];
  #outcomes: Outcome[] = [];
  #written = Promise.withResolvers<void>();
  #isScheduled = false;
  #isSyncing = false;

  /** Opens a new database file in `directory`. */
  constructor(directory: string) {
    const file = join(directory, "bare.db");
    this.#database = new Database(file);
    this.#database.run("PRAGMA journal_mode = WAL");
    this.#database.run("PRAGMA synchronous = NORMAL");
    this.#database.run(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    this.#database.run(schema);
    this.#wal = openSync(`${file}-wal`, "r+");
    this.#write = prepareWrite(this.#database);
  }

  /** Writes an event and its one delivery, of the same id; resolves when both are on disk. */
  accept(event: StoredEvent): Promise<void> {
    this.#events.push(event);
    this.#schedule();
    return this.#written.promise;
  }

  /** Writes an attempt and the new state of its delivery with the next batch; nobody waits for it. */
  record(outcome: Outcome): void {
    this.#outcomes.push(outcome);
    this.#schedule();
  }

  close(): void {
    this.#database.close();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isSyncing) return;
    this.#isScheduled = true;
    setImmediate(() => this.#commit());
  }

  #commit(): void {
    const written = this.#written;
    this.#write(this.#events, this.#outcomes);
    this.#events = [];
    this.#outcomes = [];
    this.#written = Promise.withResolvers();
    this.#isScheduled = false;
    this.#isSyncing = true;
    fdatasync(this.#wal, (error) => {
      if (error !== null) throw error;
      this.#isSyncing = false;
      written.resolve();
      if (this.#events.length + this.#outcomes.length > 0) this.#schedule();
    });
  }
}

function prepareWrite(database: Database) {
  const begin = database.prepare("BEGIN IMMEDIATE");
  const insertEvent = database.prepare("INSERT INTO event VALUES (?, ?, ?, ?)");
  const insertDelivery = database.prepare("INSERT INTO delivery VALUES (?, ?, ?, 0, 0)");
  const insertAttempt = database.prepare("INSERT INTO attempt VALUES (?, ?, 1, ?, ?, ?)");
  const completeDelivery = database.prepare("UPDATE delivery SET status = 1, attempt_count = 1 WHERE id = ?");
  const commit = database.prepare("COMMIT");
  return (events: StoredEvent[], outcomes: Outcome[]) => {
    begin.run();
    for (const { id, type, acceptedAt, body, endpointId } of events) {
      insertEvent.run(id, type, acceptedAt, body);
      insertDelivery.run(id, id, endpointId);
    }
    for (const { deliveryId, statusCode, startedAt, durationMs } of outcomes) {
      insertAttempt.run(deliveryId, deliveryId, statusCode, startedAt, durationMs);
      completeDelivery.run(deliveryId);
    }
    commit.run();
  };
}
