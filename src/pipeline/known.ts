import { identityFrom } from "../core/delivery-identity.ts";
import { keyTime } from "../core/ids.ts";
import { limit } from "../core/limits.ts";
import type { Event } from "../core/model.ts";
import { pagesOf } from "../store/cleanup/removal.ts";
import type { Data } from "../store/data.ts";

/** How a provider's delivery is recognised when it comes again. */
export interface Identity {
  /** null: it is an event of its own. */
  deliveryId: string | null;
  keptSeconds: number;
  /**
   * What proved the request and makes one event only; null where it may make several. `cut`: which part of a
   * body the event is; the same proof then makes other events only of the body cut in the same way.
   * `content`: the hash of the body, by which it is that event again whatever else has changed.
   */
  proof: { id: string; cut?: string; content?: string; keptSeconds: number } | null;
}

/** What an event is called by those who send it. */
interface Named {
  externalId: string | null;
  sourceId: number | null;
}

interface Incoming extends Named {
  /** As it would be stored. */
  data: string;
}

/** Thrown where an event came with a proof that has made another one. */
export class ProofSpent extends Error {}

/**
 * Which events of a project came before: by the publisher's `external_id`, or by the identity at a source.
 */
export class KnownEvents {
  constructor(
    private readonly data: Pick<Data, "dedup" | "events" | "store">,
    private readonly projectId: number,
    /** Of a single inbound event. */
    private readonly identity: Identity | null,
  ) {}

  /** True where `find` may throw. */
  get hasProof(): boolean {
    return this.identity !== null && this.identity.proof !== null;
  }

  /** The event that came before, or null. Throws ProofSpent where its proof has made another one. */
  find(incoming: Incoming): Event | null {
    return this.#findByProof(incoming, this.#findById(incoming));
  }

  /**
   * Before the write of these: events that leave with their consumer give up their names, in slices, as each
   * is rewritten whole. One that comes to leave after this does so in the write itself. Null: there are none.
   */
  freeNames(incoming: readonly Named[]): Promise<void> | null {
    const { events } = this.data;
    const leaving = incoming.flatMap(({ externalId }) =>
      externalId === null ? [] : (events.findLeaving(this.projectId, externalId) ?? []),
    );
    return leaving.length === 0 ? null : this.#freeNamesOf(leaving);
  }

  async #freeNamesOf(leaving: number[]): Promise<void> {
    const { events, store } = this.data;
    while (leaving.length > 0) {
      let weight = 0;
      const isFull = (id: number) => (weight += 1 + pagesOf(events.bytesOf(id))) > limit("sliceRows");
      const full = leaving.findIndex(isFull);
      const slice = leaving.splice(0, full < 0 ? leaving.length : Math.max(1, full));
      await store.writeFor(this.projectId, () => slice.forEach((id) => events.freeExternal(id)));
    }
  }

  /** Inside a write: `eventId` is new, and known by its identity from now on. */
  remember({ sourceId }: Named, eventId: number): void {
    if (this.identity === null || sourceId === null) return;
    const { deliveryId, keptSeconds, proof } = this.identity;
    if (deliveryId !== null) this.data.dedup.save(sourceId, deliveryId, eventId, keptSeconds);
    if (proof !== null && deliveryId !== null && outlives(proof, this.identity))
      this.data.dedup.save(sourceId, keyOfProof(proof.id, deliveryId), eventId, proof.keptSeconds);
    this.#rememberProof(this.identity, sourceId, eventId);
  }

  /** Inside a write: `eventId` came again; the proof that it came with this time makes no other event. */
  rememberRepeat({ sourceId }: Named, eventId: number): void {
    if (this.identity !== null && sourceId !== null) this.#rememberProof(this.identity, sourceId, eventId);
  }

  #rememberProof({ proof }: Identity, sourceId: number, eventId: number): void {
    if (proof === null) return;
    const { id, cut, content, keptSeconds } = proof;
    this.data.dedup.save(sourceId, keyOfProof(id), eventId, keptSeconds);
    for (const part of [cut, content && contentPart(content)])
      if (part !== undefined) this.data.dedup.save(sourceId, keyOfProof(id, part), eventId, keptSeconds);
  }

  /**
   * A proof that has made an event makes no other, unless the body is cut as it was then. The same event in
   * another cut is refused too: it would let that cut's others in. Where the event is known for a shorter
   * time than its proof, what is equal to it may happen again. The same body without what it was known by is
   * what it has made, and so is the same data: of an event of an earlier version no body is remembered.
   */
  #findByProof({ sourceId, data }: Incoming, known: Event | null): Event | null {
    if (!this.identity?.proof || sourceId === null) return known;
    const { dedup } = this.data;
    const { deliveryId, proof } = this.identity;
    const { id, cut, content } = proof;
    const made = dedup.find(sourceId, keyOfProof(id));
    if (made === null || (cut === undefined && made === known?.id)) return known;
    const hasMade = (part: string) => dedup.find(sourceId, keyOfProof(id, part)) !== null;
    const isEqual = () => deliveryId !== null && outlives(proof, this.identity) && hasMade(deliveryId);
    if (cut === undefined ? isEqual() : hasMade(cut)) return known;
    const isSame = () =>
      (content !== undefined && hasMade(contentPart(content))) ||
      this.data.events.getWithData(made)?.data === data;
    if (known === null && cut === undefined && isSame()) return this.#eventOf(made, sourceId);
    throw new ProofSpent();
  }

  #findById({ externalId, sourceId }: Named): Event | null {
    const { dedup, events } = this.data;
    const deliveryId = this.identity?.deliveryId ?? null;
    const id =
      deliveryId !== null && sourceId !== null
        ? dedup.find(sourceId, deliveryId)
        : externalId === null
          ? null
          : events.findExternal(this.projectId, externalId);
    return id === null ? null : this.#eventOf(id, sourceId);
  }

  #eventOf(id: number, sourceId: number | null): Event {
    return this.data.events.get(id) ?? forgotten(id, this.projectId, sourceId);
  }
}

function outlives(
  proof: NonNullable<Identity["proof"]>,
  identity: Pick<Identity, "keptSeconds"> | null,
): boolean {
  return proof.cut === undefined && proof.keptSeconds > (identity?.keptSeconds ?? 0);
}

/** As no part of an identity is spelled. */
function contentPart(content: string): string {
  return `\n${content}`;
}

function keyOfProof(id: string, part?: string): string {
  return identityFrom("proof", part === undefined ? id : `${id}\n${part}`);
}

/** An event that was seen before and has left the log since: only its id is known. */
function forgotten(id: number, projectId: number, sourceId: number | null): Event {
  const at = keyTime(id);
  return {
    id,
    projectId,
    type: "",
    timestamp: at,
    consumerId: null,
    externalId: null,
    sourceId,
    isTest: false,
    hops: 0,
    deliveryCount: 0,
  };
}
