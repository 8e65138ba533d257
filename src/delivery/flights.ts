import type { Trigger } from "../core/model.ts";

/**
 * An attempt from its start until its outcome is on disk: its delivery is busy. It is in flight until its
 * answer is there (`land`).
 */
export interface Flight {
  /** The delivery's key. */
  readonly id: number;
  readonly trigger: Trigger;
  /** An endpoint that backs off is given one attempt at a time: this is it. */
  readonly probe: boolean;
  /** That of the endpoint as it began. */
  readonly epoch: number;
  /** Somebody asked for this attempt and waits for it: it takes none of the endpoint's own slots. */
  readonly byHand: boolean;
  /** The answer is there, and the outcome on its way to the disk: it is in flight no more. */
  hasLanded: boolean;
  /** The delivery may have changed meanwhile: its row is read once the attempt is recorded. */
  readsRow: boolean;
}

/**
 * The deliveries of one endpoint that are busy: none of them may have a second attempt. Their bodies
 * are not kept here, because a table that a Map has outgrown keeps all that stood in it until the next
 * full collection.
 */
export class Flights {
  readonly #flights = new Map<number, Flight>();
  #inFlight = 0;
  #byHand = 0;
  #reserved = 0;

  /** Busy deliveries: in flight, or with an outcome on its way to the disk. */
  get size(): number {
    return this.#flights.size;
  }

  /** Attempts without an answer so far: those of the queue, and those by hand. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Attempts that somebody asked for: in flight, or reserved for what is being written. */
  get byHand(): number {
    return this.#byHand + this.#reserved;
  }

  /** Attempts in flight that the queue started. */
  get scheduled(): number {
    return this.#inFlight - this.#byHand;
  }

  /** Of the queue, and of those by hand that have landed: each holds a shared slot until it is on disk. */
  get inSlots(): number {
    return this.scheduled + this.recording;
  }

  /** Busy ones that have landed: their outcomes are on their way to the disk. */
  get recording(): number {
    return this.#flights.size - this.#inFlight;
  }

  /** In flight, or reserved. */
  get taken(): number {
    return this.#inFlight + this.#reserved;
  }

  /** One that somebody asks for. Answers what gives it back, which may be called twice. */
  reserve(): () => void {
    this.#reserved++;
    let isReserved = true;
    return () => {
      if (isReserved) this.#reserved--;
      isReserved = false;
    };
  }

  has(id: number): boolean {
    return this.#flights.has(id);
  }

  /** True while its outcome is on its way to the disk. */
  isRecording(id: number): boolean {
    return this.#flights.get(id)?.hasLanded ?? false;
  }

  /** Has the row of a delivery, if that is busy, read once its attempt is recorded. */
  readRowLater(id: number): void {
    const flight = this.#flights.get(id);
    if (flight) flight.readsRow = true;
  }

  ids(): Iterable<number> {
    return this.#flights.keys();
  }

  idsInFlight(): number[] {
    const ids: number[] = [];
    for (const [id, { hasLanded }] of this.#flights) if (!hasLanded) ids.push(id);
    return ids;
  }

  begin(start: Omit<Flight, "hasLanded" | "readsRow">): Flight {
    const flight: Flight = { ...start, hasLanded: false, readsRow: false };
    this.#flights.set(flight.id, flight);
    this.#inFlight++;
    if (flight.byHand) this.#byHand++;
    return flight;
  }

  /** The answer is there: it is in flight no more, and the delivery stays busy until `end`. */
  land(flight: Flight): void {
    if (flight.hasLanded) throw new Error("an attempt lands twice");
    flight.hasLanded = true;
    this.#inFlight--;
    if (flight.byHand) this.#byHand--;
  }

  /** The outcome is on disk, or was given up. */
  end({ id }: Flight): void {
    this.#flights.delete(id);
  }
}
