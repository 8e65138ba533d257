/** An event that was acknowledged. */
export interface Acknowledged {
  /** The endpoints that had to get it. */
  expected: Set<number>;
  /** The newest key there was when it was planned. */
  plannedAfter: number;
  projectId: number;
  type: string;
  consumerId: string | null;
  /** A text that stands in its data, and nowhere else. */
  mark: string;
}

/** What the outside knows: what was answered to it, and what it asked for. */
export interface Outside {
  /** By key. */
  acked: Map<number, Acknowledged>;
  /**
   * Deliveries that somebody replayed, retried or cancelled: how often they arrive is not the
   * schedule's doing.
   */
  touched: Set<number>;
  /** Events and endpoints, as `event:endpoint`, of which somebody asked for a second message. */
  renewed: Set<string>;
  /** Attempts by hand that are under way. */
  byHand: Set<number>;
  /** Replays that were acknowledged: the delivery, and when it was opened afresh. */
  replayed: { id: number; at: number }[];
  crashes: number;
  paused: Set<number>;
  deleted: Set<number>;
  /** Endpoints that were made while events came: what of those before they get is up to replays. */
  late: Set<number>;
  /** Endpoints that came to keep the order: what waited then may have gone out of order before. */
  reordered: Set<number>;
  /** Endpoints that came to take fewer attempts at once than before. */
  narrowed: Set<number>;
  /**
   * Endpoints that were given to another consumer, and the newest key there was once that was acknowledged:
   * what of the events before they get is up to chance.
   */
  given: Map<number, number>;
}

export function newOutside(): Outside {
  return {
    acked: new Map(),
    touched: new Set(),
    renewed: new Set(),
    byHand: new Set(),
    replayed: [],
    crashes: 0,
    paused: new Set(),
    deleted: new Set(),
    late: new Set(),
    reordered: new Set(),
    narrowed: new Set(),
    given: new Map(),
  };
}
