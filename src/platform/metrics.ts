import { AccountAttempts, NAMED_ACCOUNTS_MAX } from "./account-attempts.ts";

/**
 * Numbers for Prometheus (text format 0.0.4). The only ids in labels are those of a few accounts: ten
 * thousand endpoints, or accounts, make no more series than ten. Kept by ourselves: counting is on the hot
 * path, a few times for each event, and costs an addition here; the usual client library hashes a label
 * object each time (4 % of all CPU at full load).
 */

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30];
/** What is over soon, or should be. */
const SHORT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5, 5];

type Labels = Readonly<Record<string, string>>;

interface Metric {
  name: string;
  help: string;
  type: "counter" | "gauge" | "histogram";
  lines: () => string[];
}

function series(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${text.replace(/[\\"\n]/g, "_")}"`);
  return `${name}${pairs.length > 0 ? `{${pairs.join(",")}}` : ""} ${value}`;
}

/** A counter for each of a few label values, which are joined by a space to find it. */
class Counter implements Metric {
  readonly type = "counter";
  readonly #counts = new Map<string, number>();

  constructor(
    readonly name: string,
    readonly help: string,
    private readonly labelNames: readonly string[],
  ) {}

  /** `values` of the labels, in their order, separated by one space. */
  count(values = "", by = 1): void {
    this.#counts.set(values, (this.#counts.get(values) ?? 0) + by);
  }

  lines = (): string[] => {
    const all =
      this.labelNames.length === 0 && this.#counts.size === 0 ? [["", 0] as const] : [...this.#counts];
    return all.map(([values, count]) => {
      const parts = values.split(" ");
      const labels = Object.fromEntries(this.labelNames.map((label, at) => [label, parts[at] ?? ""]));
      return series(this.name, labels, count);
    });
  };
}

/** The last value for each label value. */
class LastValues implements Metric {
  readonly type = "gauge";
  readonly #values = new Map<string, number>();

  constructor(
    readonly name: string,
    readonly help: string,
    private readonly labelName: string,
  ) {}

  set(label: string, value: number): void {
    this.#values.set(label, value);
  }

  lines = (): string[] =>
    [...this.#values].map(([label, value]) => series(this.name, { [this.labelName]: label }, value));
}

interface Distribution {
  buckets: number[];
  count: number;
  sum: number;
}

/** Durations, by one label at most. */
class Histogram implements Metric {
  readonly type = "histogram";
  readonly #distributions = new Map<string, Distribution>();

  constructor(
    readonly name: string,
    readonly help: string,
    private readonly bounds: readonly number[] = SECONDS,
    private readonly labelName: string | null = null,
  ) {
    if (labelName === null) this.#of("");
  }

  observe(seconds: number, label = ""): void {
    const distribution = this.#of(label);
    distribution.count++;
    distribution.sum += seconds;
    const bucket = this.bounds.findIndex((bound) => seconds <= bound);
    if (bucket >= 0) distribution.buckets[bucket] = (distribution.buckets[bucket] ?? 0) + 1;
  }

  lines = (): string[] =>
    [...this.#distributions].flatMap(([label, distribution]) => this.#linesOf(label, distribution));

  #of(label: string): Distribution {
    const known = this.#distributions.get(label);
    if (known) return known;
    const made: Distribution = { buckets: this.bounds.map(() => 0), count: 0, sum: 0 };
    this.#distributions.set(label, made);
    return made;
  }

  #linesOf(label: string, { buckets, count, sum }: Distribution): string[] {
    const labels: Labels = this.labelName === null ? {} : { [this.labelName]: label };
    let below = 0;
    const bounded = buckets.map((some, at) => {
      below += some;
      return series(`${this.name}_bucket`, { ...labels, le: String(this.bounds[at]) }, below);
    });
    const all = series(`${this.name}_bucket`, { ...labels, le: "+Inf" }, count);
    return [
      ...bounded,
      all,
      series(`${this.name}_sum`, labels, sum),
      series(`${this.name}_count`, labels, count),
    ];
  }
}

/** How things stand; read when somebody asks. Null: it says nothing here. */
export interface Gauges {
  backlog: number;
  oldestDueSeconds: number;
  oldestWriteSeconds: number;
  keysAheadSeconds: number;
  writable: number;
  diskFreeBytes: number;
  queued: number;
  inFlight: number;
  actors: number;
  backingOff: number;
  withoutSlot: number;
  pollers: number;
  waitingForPlan: number;
  fanningOut: number;
  replays: number;
  erasures: number;
  writesWaiting: number;
  dispatchWaiting: number;
  indexWaiting: number;
  secretsUnderOtherKeys: number;
  replicas: number;
  replicaUp: number | null;
  replicaAge: number | null;
  replicaContested: number | null;
  replicaMarked: number | null;
  replicaUploads: number | null;
  replicaGeneration: number | null;
  leaseHeld: number | null;
  backupGood: number | null;
  backupVerifiedAt: number | null;
  backupBehind: number | null;
  backupSeconds: number | null;
  openSockets: number;
  idleSockets: number;
  databaseBytes: number;
  walBytes: number;
}

const GAUGES: Readonly<Record<keyof Gauges, readonly [name: string, help: string]>> = {
  backlog: [
    "sealpost_deliveries_due",
    "The backlog: deliveries that are due, now or later, in memory and in the database.",
  ],
  oldestDueSeconds: [
    "sealpost_oldest_due_age_seconds",
    "How long the oldest delivery is due at an endpoint that is active and not left alone: grows where the service falls behind.",
  ],
  oldestWriteSeconds: [
    "sealpost_oldest_write_age_seconds",
    "For how long the disk has answered nothing, although it was asked: a disk that hangs.",
  ],
  keysAheadSeconds: [
    "sealpost_keys_ahead_seconds",
    "How far the ids, and with them created_at, are ahead of the clock, which was ahead before.",
  ],
  writable: [
    "sealpost_writable",
    "1 where the disk takes writes, 0 where it is full or has failed, and while the service stops.",
  ],
  diskFreeBytes: ["sealpost_disk_free_bytes", "Room that is left on the disk of the database."],
  queued: ["sealpost_queue_depth", "Deliveries that actors hold in memory, a part of the backlog."],
  inFlight: ["sealpost_attempts_in_flight", "Attempts under way."],
  actors: ["sealpost_actors", "Endpoints that had something to deliver since the start."],
  backingOff: [
    "sealpost_endpoints_backing_off",
    "Endpoints that are left alone for a while: they failed again and again, or asked for it.",
  ],
  withoutSlot: [
    "sealpost_endpoints_without_slot",
    "Endpoints that have something to send and wait, as too many attempts are under way at once.",
  ],
  pollers: ["sealpost_pollers_waiting", "Polls that are held until something comes."],
  waitingForPlan: [
    "sealpost_events_waiting_for_plan",
    "Inbound events whose deliveries wait, as their account's plan is used up.",
  ],
  fanningOut: [
    "sealpost_events_fanning_out",
    "Events to very many endpoints, whose deliveries are still being written.",
  ],
  replays: ["sealpost_replays_running", "Bulk replays that have not come to their end."],
  erasures: ["sealpost_erasures_running", "Consumers that are being erased."],
  writesWaiting: [
    "sealpost_writes_waiting",
    "Changes that wait for the disk: many where it is slow or full.",
  ],
  dispatchWaiting: ["sealpost_dispatch_waiting", "Committed deliveries on their way to their actors."],
  indexWaiting: ["sealpost_index_waiting", "Rows whose list entries are still in memory."],
  secretsUnderOtherKeys: [
    "sealpost_secrets_under_other_keys",
    "Stored secrets that another key than the first of SEALPOST_SECRET_KEY encrypted: at 0 the others may go.",
  ],
  replicas: ["sealpost_replicas", "1 where Litestream replicates the database, 0 where nobody does."],
  replicaUp: ["sealpost_replica_up", "0 where Litestream has gone, and nothing is replicated."],
  replicaAge: [
    "sealpost_replica_age_seconds",
    "Time since the instant up to which everything is in the replica.",
  ],
  replicaContested: ["sealpost_replica_contested", "1 where another service writes to the replica."],
  replicaMarked: ["sealpost_replica_marked", "0 where the replica does not say who writes to it."],
  replicaUploads: [
    "sealpost_replica_uploads",
    "Uploads to the replica that brought everything, since the start.",
  ],
  replicaGeneration: [
    "sealpost_replica_generation",
    "Of a pair: whose path in the replica is written to; each take-over counts it up.",
  ],
  leaseHeld: ["sealpost_lease_held", "Of a pair: 0 where the lease was not renewed in time."],
  backupGood: ["sealpost_backup_good", "1 where the last `sealpost backup verify` found the backup good."],
  backupVerifiedAt: [
    "sealpost_backup_verified_timestamp_seconds",
    "When `sealpost backup verify` last found it good.",
  ],
  backupBehind: ["sealpost_backup_behind_seconds", "How far the backup was behind at the last one."],
  backupSeconds: ["sealpost_backup_verify_duration_seconds", "How long the last one took."],
  openSockets: ["sealpost_connections_open", "Sockets to receivers."],
  idleSockets: ["sealpost_connections_idle", "Sockets to receivers that wait for a request."],
  databaseBytes: ["sealpost_database_bytes", "Size of the database file."],
  walBytes: ["sealpost_wal_bytes", "Size of the write-ahead log."],
};

export interface Metrics {
  eventsAccepted: Counter;
  attempts: Counter;
  kindAttempts: Counter;
  accountAttempts: AccountAttempts;
  attemptSeconds: Histogram;
  lagSeconds: Histogram;
  deliveriesEnded: Counter;
  requests: Counter;
  requestsRefused: Counter;
  requestSeconds: Histogram;
  commitSeconds: Histogram;
  syncSeconds: Histogram;
  loopLagSeconds: Histogram;
  diskFull: Counter;
  clockSteps: Counter;
  ingestRejected: Counter;
  spans: Counter;
  duplicates: Counter;
  replicaConfirmed: Counter;
  replicaSeconds: Histogram;
  replicaRefused: Counter;
  jobRuns: Counter;
  jobFailures: Counter;
  jobRows: Counter;
  jobSeconds: LastValues;
  /** All of them as Prometheus reads them. */
  print: () => Promise<string>;
}

/** `nameAccount` gives the id of an account as the API shows it. */
export function createMetrics(
  readGauges: () => Promise<Gauges>,
  nameAccount: (accountId: number) => string,
  versions: Labels,
): Metrics {
  const accountAttempts = new AccountAttempts();
  const counted = {
    ...deliveryMetrics(),
    byAccount: accountMetric(accountAttempts, nameAccount),
    requests: new Counter("sealpost_http_requests_total", "Requests answered.", ["api", "status"]),
    requestsRefused: new Counter(
      "sealpost_http_requests_refused_total",
      "Requests answered with an error, by its code; what a source refuses in silence is left out.",
      ["api", "reason"],
    ),
    requestSeconds: new Histogram(
      "sealpost_http_request_duration_seconds",
      "From a request to its answer; held polls are left out.",
      SHORT_SECONDS,
      "api",
    ),
    ...processMetrics(),
    ingestRejected: new Counter("sealpost_ingest_rejected_total", "Inbound requests refused.", ["reason"]),
    spans: new Counter("sealpost_spans_total", "Spans for the collector, by what became of them.", [
      "result",
    ]),
    duplicates: new Counter("sealpost_dedup_hits_total", "Events that were there before.", []),
    ...replicaMetrics(),
    ...jobMetrics(),
  };
  const print = async () => {
    const gauges = await readGauges();
    return [...Object.values(counted), ...gaugesOf(gauges, versions)].map(printMetric).join("");
  };
  return { ...counted, accountAttempts, print };
}

function deliveryMetrics() {
  return {
    eventsAccepted: new Counter("sealpost_events_accepted_total", "Events on disk, by the way they came.", [
      "origin",
    ]),
    attempts: new Counter(
      "sealpost_attempts_total",
      "Attempts by their first outcome: what a poller fetched is handed_out, and stays so here once it is acknowledged.",
      ["outcome", "status_class"],
    ),
    kindAttempts: new Counter(
      "sealpost_kind_attempts_total",
      "Attempts by the kind of the endpoint; what pollers fetched is left out.",
      ["kind", "result"],
    ),
    attemptSeconds: new Histogram("sealpost_attempt_duration_seconds", "How long attempts took."),
    lagSeconds: new Histogram("sealpost_delivery_lag_seconds", "How late first attempts start."),
    deliveriesEnded: new Counter(
      "sealpost_deliveries_ended_total",
      "Deliveries that came to their end, by status, and dead ones by reason.",
      ["status", "reason"],
    ),
  };
}

function accountMetric(attempts: AccountAttempts, nameAccount: (accountId: number) => string): Metric {
  const name = "sealpost_account_attempts_total";
  const linesOf: Metric["lines"] = () =>
    attempts.read().flatMap(([id, counts]) => {
      const account = id === null ? "other" : nameAccount(id);
      return Object.entries(counts).map(([result, count]) => series(name, { account, result }, count));
    });
  const help = `Attempts by account: of ${NAMED_ACCOUNTS_MAX} busy ones by id, of the others together; what pollers fetched is left out.`;
  return { name, help, type: "counter", lines: linesOf };
}

function processMetrics() {
  return {
    commitSeconds: new Histogram(
      "sealpost_commit_duration_seconds",
      "How long transactions took on the event loop.",
      SHORT_SECONDS,
    ),
    syncSeconds: new Histogram(
      "sealpost_fsync_duration_seconds",
      "How long the disk took to confirm a transaction.",
      SHORT_SECONDS,
    ),
    loopLagSeconds: new Histogram(
      "sealpost_event_loop_lag_seconds",
      "How much later than asked for the event loop came round.",
      SHORT_SECONDS,
    ),
    clockSteps: new Counter(
      "sealpost_clock_steps_total",
      "How often the wall clock was set by more than a second.",
      ["direction"],
    ),
    diskFull: new Counter("sealpost_disk_full_total", "How often the disk was found full.", []),
  };
}

/** Of publishes and ingests that are answered once the replica has the event. */
function replicaMetrics() {
  return {
    replicaConfirmed: new Counter(
      "sealpost_replica_confirmed_events_total",
      "Events that the replica has confirmed, where that was asked for.",
      [],
    ),
    replicaSeconds: new Histogram(
      "sealpost_replica_confirm_duration_seconds",
      "From the commit of a request's events to their being in the replica.",
      SHORT_SECONDS,
    ),
    replicaRefused: new Counter(
      "sealpost_replica_refused_total",
      "Requests answered 503 replica_unavailable: before anything was stored, or after the commit.",
      ["when"],
    ),
  };
}

/** Their label is not `job`: that is one which Prometheus gives to all that it reads. */
function jobMetrics() {
  return {
    jobRuns: new Counter("sealpost_job_runs_total", "Runs of scheduled jobs.", ["name"]),
    jobFailures: new Counter("sealpost_job_failures_total", "Runs of scheduled jobs that failed.", ["name"]),
    jobRows: new Counter("sealpost_job_rows_total", "Rows that scheduled jobs removed or changed.", ["name"]),
    jobSeconds: new LastValues(
      "sealpost_job_last_duration_seconds",
      "How long the last run of each scheduled job took.",
      "name",
    ),
  };
}

function gaugesOf(gauges: Gauges, versions: Labels): Metric[] {
  const gauge = (name: string, help: string, value: number | null, labels: Labels = {}): Metric => ({
    name,
    help,
    type: "gauge",
    lines: () => (value === null ? [] : [series(name, labels, value)]),
  });
  const names = Object.keys(GAUGES) as (keyof Gauges)[];
  return [
    ...names.map((key) => gauge(...GAUGES[key], gauges[key])),
    gauge("process_resident_memory_bytes", "Resident memory.", process.memoryUsage.rss()),
    gauge("sealpost_build_info", "Versions.", 1, versions),
  ];
}

function printMetric({ name, help, type, lines }: Metric): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines()
    .map((line) => `${line}\n`)
    .join("")}`;
}
