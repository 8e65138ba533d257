import type { Database } from "bun:sqlite";
import { drizzle } from "drizzle-orm/bun-sqlite";
import type { Cipher } from "../core/cipher.ts";
import { IdCodec } from "../core/ids.ts";
import { BUILT_IN_PLANS, type Plans } from "../core/plans.ts";
import { AskedRetries } from "./log/asked-retries.ts";
import { Ages } from "./cleanup/ages.ts";
import { Attempts } from "./log/attempts.ts";
import { Audit } from "./resources/audit.ts";
import { Dedup } from "./log/dedup.ts";
import { Deliveries } from "./log/deliveries.ts";
import { Endpoints } from "./resources/endpoints.ts";
import { EventTypes } from "./resources/event-types.ts";
import { Erasures } from "./cleanup/erasures.ts";
import { EventDeliveries } from "./log/event-deliveries.ts";
import { Events } from "./log/events.ts";
import { Fanouts } from "./log/fanouts.ts";
import { Heads } from "./log/heads.ts";
import { EndpointHealth } from "./resources/health.ts";
import { Index } from "./index/index.ts";
import { KeptAnswers } from "./kept-answers.ts";
import { Logos } from "./resources/logos.ts";
import { Meter } from "./counts/meter.ts";
import { Meta } from "./meta.ts";
import { readEarlierCells } from "./moving.ts";
import { Notes } from "./log/notes.ts";
import { Orphans } from "./cleanup/orphans.ts";
import { PortalLinks } from "./resources/portal-links.ts";
import { Removal } from "./cleanup/removal.ts";
import { BodyRetention } from "./cleanup/body-retention.ts";
import { Replays } from "./log/replays.ts";
import { Sealing } from "./resources/sealing.ts";
import { Sources } from "./resources/sources.ts";
import { SourceStats } from "./counts/source-stats.ts";
import { Stats } from "./counts/stats.ts";
import { Store, type StoreParts } from "./store.ts";
import { Tally } from "./counts/tally.ts";
import { Tenants } from "./resources/tenants.ts";
import { Usage } from "./counts/usage.ts";
import { Vacuum } from "./cleanup/vacuum.ts";
import { WaitingEvents } from "./log/waiting-events.ts";

/** Everything that is kept, noun by noun, over one database. */
export interface Data {
  store: Store;
  ids: IdCodec;
  meta: Meta;
  tenants: Tenants;
  endpoints: Endpoints;
  health: EndpointHealth;
  sources: Sources;
  sealing: Sealing;
  sourceStats: SourceStats;
  eventTypes: EventTypes;
  events: Events;
  fanouts: Fanouts;
  deliveries: Deliveries;
  eventDeliveries: EventDeliveries;
  tally: Tally;
  attempts: Attempts;
  notes: Notes;
  askedRetries: AskedRetries;
  index: Index;
  stats: Stats;
  usage: Usage;
  meter: Meter;
  waitingEvents: WaitingEvents;
  keptAnswers: KeptAnswers;
  dedup: Dedup;
  audit: Audit;
  ages: Ages;
  removal: Removal;
  bodyRetention: BodyRetention;
  orphans: Orphans;
  erasures: Erasures;
  vacuum: Vacuum;
  replays: Replays;
  portalLinks: PortalLinks;
  logos: Logos;
}

export interface DataOptions {
  cipher: Cipher;
  /** Two base32 characters: which cell owns the ids made here. */
  cell: string;
  /** Default: those that are built in. */
  plans?: Plans;
}

/**
 * Opens every noun over a migrated database. Throws where a stored secret needs a key that `cipher` lacks.
 */
export function openData(
  sqlite: Database,
  parts: StoreParts,
  { cipher, cell, plans = BUILT_IN_PLANS }: DataOptions,
): Data {
  const store = new Store(sqlite, parts);
  const db = drizzle(sqlite);
  const meta = new Meta(sqlite);
  const index = new Index(store);
  const events = new Events(store, index);
  const tenants = new Tenants(store, db, cell);
  const usage = new Usage(store);
  const meter = new Meter(store, tenants, usage, plans);
  const waitingEvents = new WaitingEvents(store, tenants, meter);
  const tally = new Tally(store);
  const askedRetries = new AskedRetries(store);
  const eventDeliveries = new EventDeliveries(store, index);
  const beside = { index, meter, tally, askedRetries, eventDeliveries, waitingEvents };
  const deliveries = new Deliveries(store, beside);
  const fanouts = new Fanouts(store, waitingEvents, meter);
  const replays = new Replays(store, db, meter);
  const endpoints = new Endpoints(store, db, cipher);
  const leaving = { index, deliveries, endpoints, fanouts, waitingEvents };
  return {
    store,
    ids: new IdCodec(cell, meta.secret("id_permutation", 16), readEarlierCells(sqlite)),
    meta,
    tenants,
    health: new EndpointHealth(store),
    sources: new Sources(store, db, cipher),
    sealing: new Sealing(store, cipher),
    sourceStats: new SourceStats(store),
    eventTypes: new EventTypes(store, db),
    events,
    attempts: new Attempts(store, new Heads(store)),
    notes: new Notes(store),
    usage,
    keptAnswers: new KeptAnswers(store),
    dedup: new Dedup(store),
    audit: new Audit(store),
    ...beside,
    ...leaving,
    replays,
    erasures: new Erasures(store, replays),
    ...openLeaving(store, leaving),
    portalLinks: new PortalLinks(store, db, cell),
    logos: new Logos(db),
  };
}

type LeavingParts = Pick<Data, "index" | "deliveries" | "endpoints" | "fanouts" | "waitingEvents">;

/** What takes things out of the database, and what has to be less by them. */
function openLeaving(
  store: Store,
  parts: LeavingParts,
): Pick<Data, "ages" | "stats" | "removal" | "bodyRetention" | "orphans" | "vacuum"> {
  const stats = new Stats(store, parts.index, parts.endpoints);
  const removal = new Removal(store, parts);
  return {
    ages: new Ages(store, parts.index),
    stats,
    removal,
    bodyRetention: new BodyRetention(store),
    orphans: new Orphans(store, { ...parts, stats, removal }),
    vacuum: new Vacuum(store),
  };
}
