import type { AttemptError, AttemptErrorCode } from "../../core/attempt-error.ts";
import type { attempt } from "../log-schema.ts";
import {
  type Attempt,
  type AttemptFacts,
  type AttemptResult,
  DEAD_REASONS,
  type DeadReason,
  OUTCOMES,
  TRIGGERS,
} from "../../core/model.ts";
import { once } from "../../core/structures/once.ts";
import { bound } from "../bound.ts";
import type { Heads } from "./heads.ts";
import { attemptsOf, deliveriesOf, isAttemptOf, isLastAttemptOf } from "./children.ts";
import { type Slice, wholeOf } from "./event-deliveries.ts";
import type { Store } from "../store.ts";

type AttemptRow = typeof attempt.$inferSelect;

/** An attempt as far as the timeline of its event shows it. */
export interface AttemptSummary
  extends AttemptResult,
    Pick<AttemptFacts, "startedAt" | "durationMs" | "statusCode" | "error"> {
  endpointId: number;
}

type SummaryRow = Omit<AttemptSummary, "trigger" | "outcome" | "error" | "deadReason"> & {
  trigger: number;
  outcome: number;
  errorCode: AttemptErrorCode | null;
  errorDetail: string | null;
  deadReason: number | null;
};

interface SentBody {
  id: number;
  body: Uint8Array | null;
}

const COLUMNS =
  "id, delivery_id, number, trigger, started_at, duration_ms, outcome, status_code, error_code, error_detail, request_head, sent_at, signature, request_body, response_head, response_date, response_body, truncated, next_attempt_at, dead_reason, traceparent";

function errorOf(code: AttemptErrorCode | null, detail: string | null): AttemptError | null {
  return code && { code, detail };
}

function reasonOf(index: number | null): DeadReason | null {
  return index === null ? null : (DEAD_REASONS[index] ?? null);
}

interface PackedHeaders {
  text: string;
  date: number | null;
}

/**
 * Response headers as text that is the same from one answer to the next: `date`, which changes every second,
 * is taken out where it can be written again exactly. Once for each list: the transport gives the same one
 * for answers that are alike.
 */
const packHeaders = once((headers: Attempt["responseHeaders"]): PackedHeaders => {
  let date: number | null = null;
  const lines: string[] = [];
  for (const [name, value] of headers) {
    const seconds: number = name === "date" && date === null ? Date.parse(value) / 1000 : Number.NaN;
    if (Number.isInteger(seconds) && new Date(seconds * 1000).toUTCString() === value) {
      date = seconds;
      lines.push("date");
    } else lines.push(`${name}: ${value}`);
  }
  return { text: lines.join("\n"), date };
});

function unpackHeaders(text: string, date: number | null): [string, string][] {
  if (text === "") return [];
  return text.split("\n").map((line): [string, string] => {
    if (line === "date" && date !== null) return ["date", new Date(date * 1000).toUTCString()];
    const colon = line.indexOf(": ");
    return [line.slice(0, colon), line.slice(colon + 2)];
  });
}

export class Attempts {
  readonly #insert;
  readonly #acknowledge;
  readonly #ofDelivery;
  readonly #get;
  readonly #ofEvent;
  readonly #sentBefore;
  readonly #leaveBody;
  readonly #sentAfter;

  constructor(
    store: Store,
    private readonly heads: Heads,
  ) {
    const { sqlite } = store;
    this.#insert = sqlite.prepare<void, [AttemptRow]>(
      `INSERT INTO attempt (${COLUMNS}) VALUES (${COLUMNS.replaceAll(/\w+/g, (name) => `$${name}`)})`,
    );
    this.#acknowledge = sqlite.prepare<{ durationMs: number }, [number, number, number]>(
      `UPDATE attempt SET outcome = ${OUTCOMES.indexOf("delivered")}, duration_ms = max(0, ?1 - started_at)
       WHERE ${isLastAttemptOf(bound(2))} AND number = ${bound(3)} AND outcome = ${OUTCOMES.indexOf("handed_out")} RETURNING duration_ms AS durationMs`,
    );
    this.#ofDelivery = sqlite.prepare<{ id: number }, [number, number, number]>(
      `${attemptsOf(bound(1), "id", { below: bound(2) })} ORDER BY id DESC LIMIT ${bound(3)}`,
    );
    this.#sentBefore = sqlite.prepare<SentBody, [number]>(
      `SELECT id, request_body AS body FROM attempt WHERE ${isLastAttemptOf(bound(1))}`,
    );
    this.#leaveBody = sqlite.prepare<void, [number]>("UPDATE attempt SET request_body = x'' WHERE id = ?");
    this.#sentAfter = sqlite.prepare<SentBody, [number, number]>(
      `${attemptsOf(bound(1), "id, request_body AS body", { above: bound(2), where: "octet_length(request_body) > 0" })} ORDER BY id LIMIT 1`,
    );
    this.#get = sqlite.prepare<AttemptRow, [number]>(`SELECT ${COLUMNS} FROM attempt WHERE id = ?`);
    this.#ofEvent = sqlite.prepare<SummaryRow, [number, number, number, number, number]>(
      `SELECT attempt.id, attempt.delivery_id AS deliveryId, d.endpoint_id AS endpointId, attempt.number, attempt.trigger, attempt.started_at AS startedAt,
         attempt.duration_ms AS durationMs, attempt.outcome, attempt.status_code AS statusCode, attempt.error_code AS errorCode, attempt.error_detail AS errorDetail,
         attempt.next_attempt_at AS nextAttemptAt, attempt.dead_reason AS deadReason
       FROM (${deliveriesOf(bound(1), "id, endpoint_id, first_attempt", { above: bound(4), below: bound(5) })}) d
         JOIN attempt ON ${isAttemptOf("d.id", "d.first_attempt")} WHERE attempt.id > ${bound(2)} ORDER BY attempt.id LIMIT ${bound(3)}`,
    );
  }

  /**
   * A body that the attempt after it sent too is kept by that one alone, and this one is left with an empty
   * one: most retries send what was sent before, and there is no end of those by hand.
   */
  #leaveSameBody({ deliveryId, number }: AttemptResult, body: Uint8Array): void {
    const before = number > 1 ? this.#sentBefore.get(deliveryId) : null;
    if (before?.body && Buffer.compare(before.body, body) === 0) this.#leaveBody.run(before.id);
  }

  /** `next`: the body of the attempts after it, where one was read already. */
  #bodyOf(row: AttemptRow, next: Uint8Array | null): Uint8Array | null {
    const { id, delivery_id: deliveryId, request_body: body } = row;
    if (body === null || body.length > 0) return body;
    return next ?? this.#sentAfter.get(deliveryId, id)?.body ?? null;
  }

  /**
   * Inside a write: what was handed out last has arrived. How long that took; null where that was no such
   * attempt.
   */
  acknowledge(deliveryId: number, number: number, now: number): number | null {
    return this.#acknowledge.get(now, deliveryId, number)?.durationMs ?? null;
  }

  /** Inside a write. */
  insert(result: AttemptResult, facts: AttemptFacts): void {
    if (facts.requestBody !== null) this.#leaveSameBody(result, facts.requestBody);
    const response = facts.statusCode === null ? null : packHeaders(facts.responseHeaders);
    this.#insert.run({
      id: result.id,
      delivery_id: result.deliveryId,
      number: result.number,
      trigger: TRIGGERS.indexOf(result.trigger),
      started_at: facts.startedAt,
      duration_ms: facts.durationMs,
      outcome: OUTCOMES.indexOf(result.outcome),
      status_code: facts.statusCode,
      error_code: facts.error && facts.error.code,
      error_detail: facts.error && facts.error.detail,
      request_head: facts.requestHead === null ? null : this.heads.intern(facts.requestHead),
      sent_at: facts.sentAt,
      signature: facts.signature,
      request_body: facts.requestBody,
      response_head: response && this.heads.intern(response.text),
      response_date: response && response.date,
      response_body: facts.responseBody && facts.responseBody.length > 0 ? facts.responseBody : null,
      truncated: facts.truncated ? 1 : 0,
      next_attempt_at: result.nextAttemptAt,
      dead_reason: result.deadReason === null ? null : DEAD_REASONS.indexOf(result.deadReason),
      traceparent: facts.traceparent,
    });
  }

  /**
   * Newest first; those with keys below `before`. Each is read when its turn comes: it may have bodies of
   * a megabyte.
   */
  *ofDelivery(deliveryId: number, before: number, count: number): Generator<Attempt> {
    let next: Uint8Array | null = null;
    for (const { id } of this.#ofDelivery.all(deliveryId, before, count)) {
      const row = this.#get.get(id);
      if (row === null) continue;
      const body = this.#bodyOf(row, next);
      next = body ?? next;
      yield this.#toAttempt(row, body);
    }
  }

  /** Oldest first, above the key `after`; of the deliveries between two keys. */
  ofEvent(
    eventId: number,
    after: number,
    count: number,
    { above, below }: Slice = wholeOf(eventId),
  ): AttemptSummary[] {
    return this.#ofEvent
      .all(eventId, after, count, above, below)
      .map(({ trigger, outcome, errorCode, errorDetail, deadReason, ...row }) => ({
        ...row,
        trigger: TRIGGERS[trigger] ?? "publish",
        outcome: OUTCOMES[outcome] ?? "rejected",
        error: errorOf(errorCode, errorDetail),
        deadReason: reasonOf(deadReason),
      }));
  }

  #toAttempt(row: AttemptRow, requestBody: Uint8Array | null): Attempt {
    return {
      id: row.id,
      deliveryId: row.delivery_id,
      number: row.number,
      trigger: TRIGGERS[row.trigger] ?? "publish",
      startedAt: row.started_at,
      durationMs: row.duration_ms,
      outcome: OUTCOMES[row.outcome] ?? "rejected",
      statusCode: row.status_code,
      error: errorOf(row.error_code, row.error_detail),
      requestHead: row.request_head === null ? null : this.heads.read(row.request_head),
      sentAt: row.sent_at,
      signature: row.signature,
      requestBody,
      responseHeaders:
        row.response_head === null
          ? []
          : unpackHeaders(this.heads.read(row.response_head), row.response_date),
      responseBody: row.response_body,
      truncated: row.truncated === 1,
      nextAttemptAt: row.next_attempt_at,
      deadReason: reasonOf(row.dead_reason),
      traceparent: row.traceparent,
    };
  }
}
