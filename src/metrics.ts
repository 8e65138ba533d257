import { Counter, Gauge, Histogram, Registry } from "prom-client";

/** Numbers for Prometheus. Labels never hold ids, so that ten thousand endpoints make no more series than one. */

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30];

export interface Metrics {
  registry: Registry;
  eventsAccepted: Counter<"origin">;
  attempts: Counter<"outcome" | "status_class">;
  attemptSeconds: Histogram;
  lagSeconds: Histogram;
  ingestRejected: Counter<"reason">;
  duplicates: Counter;
  commitSeconds: Histogram;
}

/** Called when the numbers are read. */
export interface Gauges {
  queued(): number;
  inFlight(): number;
  actors(): number;
  openSockets(): number;
  idleSockets(): number;
  databaseBytes(): number;
  walBytes(): number;
  digestWaiting(): number;
}

export function createMetrics(gauges: Gauges, versions: { version: string; bun: string; sqlite: string }): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({ name, help, registers, collect: function () { this.set(read()); } });
  gauge("sealpost_queue_depth", "Deliveries that actors hold in memory.", gauges.queued);
  gauge("sealpost_attempts_in_flight", "Attempts under way.", gauges.inFlight);
  gauge("sealpost_actors", "Endpoints that had something to deliver since the start.", gauges.actors);
  gauge("sealpost_connections_open", "Sockets to receivers.", gauges.openSockets);
  gauge("sealpost_connections_idle", "Sockets to receivers that wait for their next request.", gauges.idleSockets);
  gauge("sealpost_database_bytes", "Size of the database file.", gauges.databaseBytes);
  gauge("sealpost_wal_bytes", "Size of the write-ahead log.", gauges.walBytes);
  gauge("sealpost_digest_waiting", "Rows whose list entries are still in memory.", gauges.digestWaiting);
  gauge("process_resident_memory_bytes", "Resident memory.", () => process.memoryUsage.rss());
  const info = new Gauge({ name: "sealpost_build_info", help: "Versions.", labelNames: ["version", "bun", "sqlite"], registers });
  info.set(versions, 1);
  return { registry, ...counters(registers) };
}

function counters(registers: Registry[]): Omit<Metrics, "registry"> {
  const counter = <L extends string>(name: string, help: string, labelNames: L[]) => new Counter({ name, help, labelNames, registers });
  const histogram = (name: string, help: string) => new Histogram({ name, help, buckets: SECONDS, registers });
  return {
    eventsAccepted: counter("sealpost_events_accepted_total", "Events on disk, by the way they came.", ["origin"]),
    attempts: counter("sealpost_attempts_total", "Attempts, by outcome and class of status.", ["outcome", "status_class"]),
    attemptSeconds: histogram("sealpost_attempt_duration_seconds", "How long attempts took."),
    lagSeconds: histogram("sealpost_delivery_lag_seconds", "From acceptance to the first attempt."),
    ingestRejected: counter("sealpost_ingest_rejected_total", "Inbound requests refused, by reason.", ["reason"]),
    duplicates: counter("sealpost_dedup_hits_total", "Inbound requests that were seen before.", []),
    commitSeconds: histogram("sealpost_commit_duration_seconds", "From the begin of a transaction until it is on disk."),
  };
}
