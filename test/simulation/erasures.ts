import { OUTCOMES } from "../../src/core/model.ts";
import type { Event } from "../../src/core/model.ts";
import { entriesOfNothing } from "../kit/entries.ts";
import type { Consumer, Erasure } from "../../src/store/cleanup/erasures.ts";
import type { Simulation } from "./run.ts";

/** What the outside asked to be erased, and what it was told. */
export interface Asked {
  /** Events: from the moment of asking each may be gone, and must be once it was acknowledged. */
  events: Set<number>;
  erased: Set<number>;
  /** As `project:consumer`. */
  consumers: Set<string>;
  /** Erasures of consumers that were acknowledged. */
  begun: Set<number>;
  /** As `project:consumer`: the newest key that leaves by an erasure that was acknowledged. */
  until: Map<string, number>;
}

/** What was handed out counts once it is acknowledged. */
const HANDED_OUT = OUTCOMES.indexOf("handed_out");

/**
 * Remembers every row that is ever deleted: only what somebody asked for may be. In the database itself, so
 * that what a crash takes back is not remembered either.
 */
const WATCH = `
  CREATE TEMP TABLE gone (kind TEXT, id INTEGER, event INTEGER, delivery INTEGER, endpoint INTEGER, consumer TEXT, project INTEGER);
  CREATE TEMP TRIGGER event_gone BEFORE DELETE ON main.event BEGIN
    INSERT INTO gone (kind, id, consumer, project) VALUES ('event', OLD.id, OLD.consumer_id, OLD.project_id); END;
  CREATE TEMP TRIGGER endpoint_gone BEFORE DELETE ON main.endpoint BEGIN
    INSERT INTO gone (kind, id, consumer, project) VALUES ('endpoint', OLD.id, OLD.consumer_id, OLD.project_id); END;
  CREATE TEMP TRIGGER delivery_gone BEFORE DELETE ON main.delivery BEGIN
    INSERT INTO gone (kind, id, event, endpoint) VALUES ('delivery', OLD.id, OLD.event_id, OLD.endpoint_id); END;
  CREATE TEMP TRIGGER note_gone BEFORE DELETE ON main.note BEGIN
    INSERT INTO gone (kind, id, event, delivery) VALUES ('note ' || OLD.kind, OLD.id, OLD.event_id, OLD.delivery_id); END;
  CREATE TEMP TRIGGER attempt_gone BEFORE DELETE ON main.attempt WHEN OLD.outcome <> ${HANDED_OUT} BEGIN
    INSERT INTO gone (kind, id, endpoint) SELECT 'attempt', OLD.id, endpoint_id FROM delivery WHERE id = OLD.delivery_id; END;`;

/** What of an event that is there must not be gone: but for what an erased endpoint got. */
const LOST = {
  delivery: `SELECT 1 FROM gone WHERE kind = 'delivery' AND event IN (SELECT id FROM event)
    AND endpoint NOT IN (SELECT id FROM gone WHERE kind = 'endpoint')`,
  note: `SELECT 1 FROM gone WHERE kind LIKE 'note%' AND event IN (SELECT id FROM event)
    AND delivery NOT IN (SELECT id FROM gone WHERE kind = 'delivery')`,
};

/**
 * Erases events and consumers, as the calls of the API do it, and says in the end what must be gone, and that
 * nothing else is.
 */
export class Erasures {
  readonly asked: Asked = {
    events: new Set(),
    erased: new Set(),
    consumers: new Set(),
    begun: new Set(),
    until: new Map(),
  };

  /** Tokens of links that erased consumers have had. */
  readonly #links = new Map<string, number>();
  /** As `project:consumer`: how often its erasure was asked for, and how many have no answer yet. */
  readonly #asks = new Map<string, { count: number; unanswered: number }>();

  constructor(private readonly run: Simulation) {
    run.sqlite.exec(WATCH);
  }

  /** The process died, and nobody gets an answer. */
  forget(): void {
    for (const asks of this.#asks.values()) asks.unanswered = 0;
  }

  /**
   * What the outside was told by now that it goes: what it does from here on is answered with none of that.
   */
  answered(): (one: Pick<Event, "id" | "projectId" | "consumerId">) => boolean {
    const erased = new Set(this.asked.erased);
    const until = new Map(this.asked.until);
    return ({ id, projectId, consumerId }) =>
      erased.has(id) || (consumerId !== null && id <= (until.get(`${projectId}:${consumerId}`) ?? 0));
  }

  /** The same number for as long as nobody asks for the consumer's erasure; null while one begins. */
  asksOf({ projectId, consumerId }: Consumer): number | null {
    const { count, unanswered } = this.#asks.get(`${projectId}:${consumerId}`) ?? NEVER_ASKED;
    return unanswered === 0 ? count : null;
  }

  eraseEvent(): void {
    const rows = this.run.sqlite
      .query<{ id: number; project: number }, []>("SELECT id, project_id AS project FROM event ORDER BY id")
      .all();
    if (rows.length === 0) return;
    const { id, project } = this.run.rng.pick(rows);
    this.run.tally.erasures++;
    this.asked.events.add(id);
    this.#eraseEvent(id, project).catch(this.run.refused);
  }

  async #eraseEvent(id: number, projectId: number): Promise<void> {
    const { data, eraser } = this.run.process;
    await eraser.close(projectId, id);
    eraser.forget((await data.store.writeFor(projectId, () => eraser.remove(id))) ?? []);
    eraser.wake(projectId);
    this.asked.erased.add(id);
  }

  isRunning({ projectId, consumerId }: Consumer): boolean {
    const running = this.run.sqlite.query(
      "SELECT 1 FROM erasure WHERE project_id = ? AND consumer_id = ? AND status = 'running'",
    );
    return running.get(projectId, consumerId) !== null;
  }

  eraseConsumer({ projectId, consumerId }: Consumer): void {
    const { run } = this;
    const { data, eraser } = run.process;
    const until = data.store.keys.last;
    const name = `${projectId}:${consumerId}`;
    run.tally.erasures++;
    this.asked.consumers.add(name);
    const asks = this.#asks.get(name) ?? { ...NEVER_ASKED };
    this.#asks.set(name, { count: asks.count + 1, unanswered: asks.unanswered + 1 });
    // Who is deleted gets nothing any more.
    for (const id of data.endpoints.keysOf(projectId, consumerId)) run.outside.deleted.add(id);
    const consumer = { projectId, consumerId };
    this.#makeLink(consumer);
    const write = (begin: () => Erasure) =>
      data.store.write(() => {
        const erasure = begin();
        // Those that were made since too.
        for (const id of data.endpoints.keysOf(projectId, consumerId))
          if (id <= erasure.last) run.outside.deleted.add(id);
        return erasure;
      });
    eraser.begin(consumer, write).then(
      (erasure) => {
        this.#onAnswer(name);
        this.asked.begun.add(erasure.id);
        // What it says of itself may not be what was asked for.
        const last = Math.max(until, erasure.last);
        this.asked.until.set(name, Math.max(last, this.asked.until.get(name) ?? 0));
        this.#requireClosed({ ...erasure, last });
      },
      (error: unknown) => {
        this.#onAnswer(name);
        run.refused(error);
      },
    );
  }

  #onAnswer(name: string): void {
    const asks = this.#asks.get(name);
    if (asks) asks.unanswered--;
  }

  #makeLink({ projectId, consumerId }: Consumer): void {
    const { data } = this.run.process;
    const fields = { projectId, consumerId, manage: true, create: true, expiresAt: Number.MAX_SAFE_INTEGER };
    data.store
      .write(() => data.portalLinks.insert(fields))
      .then(({ token, link }) => this.#links.set(token, link.id), this.run.refused);
  }

  /** From the moment of the answer: what is left of the consumer does nothing any more. */
  #requireClosed({ projectId, consumerId, last }: Erasure): void {
    const { data } = this.run.process;
    const [open] = data.endpoints.ofConsumer(projectId, consumerId).below(last + 1);
    if (open !== undefined) this.run.violate("an endpoint of an erased consumer is there after the answer");
    for (const [token, id] of this.#links) {
      const link = data.portalLinks.find(token);
      if (link?.projectId === projectId && link.consumerId === consumerId && id <= last)
        this.run.violate("a link of an erased consumer is let in after the answer");
    }
  }

  /** True where somebody asked for the end of this event. */
  isWanted(eventId: number, projectId: number, consumerId: string | null): boolean {
    return this.asked.events.has(eventId) || this.#isOfErased(eventId, projectId, consumerId);
  }

  #isOfErased(id: number, projectId: number, consumerId: string | null): boolean {
    if (consumerId === null || !this.asked.consumers.has(`${projectId}:${consumerId}`)) return false;
    const covers = this.run.sqlite.query(
      "SELECT 1 FROM erasure WHERE project_id = ? AND consumer_id = ? AND last >= ?",
    );
    return covers.get(projectId, consumerId, id) !== null;
  }

  /** Rows of a kind that were deleted; for attempts, only those of endpoints that are still there. */
  countGone(kind: "delivery" | "note 0" | "attempt", everywhere = false): number {
    const still = kind === "attempt" && !everywhere ? "AND endpoint IN (SELECT id FROM endpoint)" : "";
    const sql = `SELECT count(*) AS n FROM gone WHERE kind = ? ${still}`;
    return this.run.sqlite.query<{ n: number }, [string]>(sql).get(kind)?.n ?? 0;
  }

  /** At any moment: an event that is there has all its deliveries, or they are still being written. */
  requireWhole(): void {
    const half = this.run.sqlite.query(
      `SELECT 1 FROM event WHERE id NOT IN (SELECT event_id FROM fanout)
       AND delivery_count <> (SELECT count(*) FROM delivery WHERE event_id = event.id)`,
    );
    if (half.get() !== null) this.run.violate("an event is there and not all of its deliveries");
  }

  /** When everything has come to rest. */
  check(): void {
    this.#requireEnded();
    this.#requireOnlyWanted();
    this.#requireGone();
    this.#requireNoTrace();
  }

  #requireEnded(): void {
    const { erasures } = this.run.process.data;
    const rows = this.run.projects.flatMap((id) => erasures.list(id, Number.MAX_SAFE_INTEGER, 1000));
    const known = new Set(rows.map(({ id }) => id));
    for (const id of this.asked.begun)
      if (!known.has(id)) this.run.violate("an erasure was acknowledged and is unknown");
    for (const { status, projectId, consumerId } of rows) {
      if (status !== "completed") this.run.violate("an erasure did not come to its end");
      if (!this.asked.consumers.has(`${projectId}:${consumerId}`))
        this.run.violate("a consumer is erased and nobody asked");
    }
  }

  #requireOnlyWanted(): void {
    const gone = this.run.sqlite
      .query<{ kind: string; id: number; project: number; consumer: string | null }, []>(
        "SELECT kind, id, project, consumer FROM gone WHERE kind IN ('event', 'endpoint')",
      )
      .all();
    for (const { kind, id, project, consumer } of gone) {
      const isAsked = kind === "event" && this.asked.events.has(id);
      if (!isAsked && !this.#isOfErased(id, project, consumer))
        this.run.violate(`an ${kind} is gone that nobody asked to erase`);
    }
    for (const [what, lost] of Object.entries(LOST)) {
      if (this.run.sqlite.query(lost).get() !== null)
        this.run.violate(`a ${what} is gone and its event is not`);
    }
  }

  #requireGone(): void {
    const { sqlite } = this.run;
    for (const id of this.asked.erased)
      if (this.run.process.data.events.get(id) !== null) this.run.violate("an erased event is still there");
    for (const [table, key] of [
      ["event", "id"],
      ["endpoint", "id"],
      ["replay", "id"],
    ] as const) {
      const left = sqlite.query(
        `SELECT 1 FROM ${table} JOIN erasure ON erasure.project_id = ${table}.project_id AND erasure.consumer_id = ${table}.consumer_id WHERE ${table}.${key} <= erasure.last`,
      );
      if (left.get() !== null) this.run.violate(`an erased consumer has an ${table} left`);
      const since = sqlite.query(
        `SELECT 1 FROM ${table} WHERE project_id || ':' || consumer_id = ? AND ${key} <= ?`,
      );
      for (const of of this.asked.until)
        if (since.get(...of) !== null)
          this.run.violate(`a consumer has an ${table} left from before it was erased`);
    }
  }

  /** Neither rows that hang on what is gone, nor its text anywhere. */
  #requireNoTrace(): void {
    const { sqlite, outside } = this.run;
    for (const [table, column, owner] of HANGING) {
      const left = sqlite.query(
        `SELECT 1 FROM ${table} WHERE ${column} NOT IN (SELECT id FROM ${owner}) LIMIT 1`,
      );
      if (left.get() !== null) this.run.violate(`rows of ${table} are left of an erased ${owner}`);
    }
    if (entriesOfNothing(sqlite) > 0) this.run.violate("a list names what is gone");
    if (this.run.process.data.removal.nextWithRest(-1) !== null)
      this.run.violate("what hangs on an erased event is left");
    const text = allText(this.run);
    for (const [id, { mark }] of outside.acked) {
      if (this.run.process.data.events.get(id) === null && text.includes(`"${mark}"`))
        this.run.violate("the text of an erased event stands somewhere");
    }
  }
}

const NEVER_ASKED = { count: 0, unanswered: 0 };

const HANGING = [
  ["delivery", "event_id", "event"],
  ["attempt", "delivery_id", "delivery"],
  ["note", "event_id", "event"],
  ["fanout", "event_id", "event"],
  ["waiting_event", "event_id", "event"],
  ["stat", "endpoint_id", "endpoint"],
  ["endpoint_health", "endpoint_id", "endpoint"],
] as const;

/** Every value of every table. */
function allText({ sqlite }: Simulation): string {
  const tables = sqlite
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all();
  const textOf = (value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : String(value);
  return tables
    .flatMap(({ name }) => sqlite.query<Record<string, unknown>, []>(`SELECT * FROM "${name}"`).all())
    .flatMap((row) => Object.values(row).map(textOf))
    .join("\n");
}
