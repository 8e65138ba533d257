/**
 * The dashboards for Grafana in `deploy/helm/monitoring`: what they show stands in the tables below.
 * `bun test/kit/dashboards.ts` writes them anew.
 */
import { join } from "node:path";

export const MONITORING = join(import.meta.dir, "../../deploy/helm/monitoring");

/** Colours of a single number, green at first: each from this value on. */
type Steps = readonly (readonly [from: number, colour: "green" | "orange" | "red"])[];

interface Panel {
  title: string;
  /** What to know of it. */
  note?: string;
  /** As Grafana names units; a plain number where there is none. */
  unit?: "reqps" | "percentunit" | "s" | "bytes" | "dateTimeFromNow";
  /** Queries by the names of their lines, in which `{{label}}` is the value of a label. */
  lines: Readonly<Record<string, string>>;
  /** Where it is one number and no graph. */
  steps?: Steps;
}

interface Dashboard {
  uid: string;
  title: string;
  rows: Readonly<Record<string, readonly Panel[]>>;
}

const SERIES = 'job=~"$job"';
const RANGE = "$__rate_interval";

const of = (name: string, labels = "") => `${name}{${SERIES}${labels && `,${labels}`}}`;
const rate = (by: string, name: string, labels = "") =>
  `sum${by && ` by (${by})`} (rate(${of(name, labels)}[${RANGE}]))`;
/** The share of one label's value in all, by other labels. */
const share = (by: string, name: string, labels: string) => `${rate(by, name, labels)} / ${rate(by, name)}`;
const quantile = (of100: number, by: string, name: string) =>
  `histogram_quantile(${of100 / 100}, ${rate(by ? `le, ${by}` : "le", `${name}_bucket`)})`;
/** Half of all are at most so large, and 99 of 100. */
const halfAndMost = (name: string, by = "") => ({
  [by ? `{{${by}}}, half` : "half"]: quantile(50, by, name),
  [by ? `{{${by}}}, 99 %` : "99 %"]: quantile(99, by, name),
});
/** One line for each machine. */
const each = (name: string) => ({ "{{instance}}": of(name) });

const OLDEST: Panel = {
  title: "Oldest waiting delivery",
  note: "How long the oldest delivery is due at an endpoint that is active and not left alone.",
  unit: "s",
  lines: { oldest: `max(${of("sealpost_oldest_due_age_seconds")})` },
};
const DISK_LEFT: Panel = { title: "Disk left", unit: "bytes", lines: each("sealpost_disk_free_bytes") };
const REPLICA_AGE: Panel = {
  title: "Age of the replica",
  unit: "s",
  lines: each("sealpost_replica_age_seconds"),
};
const ATTEMPTS = "sealpost_kind_attempts_total";
const BY_ACCOUNT = "sealpost_account_attempts_total";

const DELIVERY: Dashboard = {
  uid: "sealpost",
  title: "Sealpost",
  rows: {
    Now: [
      {
        title: "Events accepted",
        unit: "reqps",
        lines: { events: rate("", "sealpost_events_accepted_total") },
        steps: [],
      },
      {
        title: "Attempts that succeed",
        unit: "percentunit",
        lines: { succeed: share("", ATTEMPTS, 'result="delivered"') },
        steps: [
          [0, "red"],
          [0.5, "orange"],
          [0.9, "green"],
        ],
      },
      {
        ...OLDEST,
        steps: [
          [10, "orange"],
          [60, "red"],
        ],
      },
      {
        title: "Refused for a reason of ours",
        unit: "reqps",
        lines: { refused: `${rate("", "sealpost_http_requests_total", 'status=~"5.."')} or vector(0)` },
        steps: [[0.01, "red"]],
      },
      {
        ...DISK_LEFT,
        lines: { "disk left": `min(${of("sealpost_disk_free_bytes")})` },
        steps: [
          [0, "red"],
          [1e9, "orange"],
          [5e9, "green"],
        ],
      },
      {
        ...REPLICA_AGE,
        lines: { age: `max(${of("sealpost_replica_age_seconds")})` },
        steps: [
          [10, "orange"],
          [60, "red"],
        ],
      },
    ],
    "What comes in": [
      {
        title: "Events accepted, by origin",
        unit: "reqps",
        lines: { "{{origin}}": rate("origin", "sealpost_events_accepted_total") },
      },
      {
        title: "Requests, by API and status",
        unit: "reqps",
        lines: { "{{api}} {{status}}": rate("api, status", "sealpost_http_requests_total") },
      },
      {
        title: "Time to the answer, by API",
        unit: "s",
        lines: halfAndMost("sealpost_http_request_duration_seconds", "api"),
      },
      {
        title: "Requests refused, by API and reason",
        note: "The reason is the code of the error that the caller got.",
        unit: "reqps",
        lines: { "{{api}} {{reason}}": rate("api, reason", "sealpost_http_requests_refused_total") },
      },
      {
        title: "Refused at sources, by reason",
        note: "What comes in to be verified, and is not: its sender gets an empty 401 most of the time.",
        unit: "reqps",
        lines: { "{{reason}}": rate("reason", "sealpost_ingest_rejected_total") },
      },
      {
        title: "Events that were there before",
        unit: "reqps",
        lines: { duplicates: rate("", "sealpost_dedup_hits_total") },
      },
    ],
    "What goes out": [
      {
        title: "Attempts, by outcome",
        unit: "reqps",
        lines: { "{{outcome}} {{status_class}}": rate("outcome, status_class", "sealpost_attempts_total") },
      },
      {
        title: "Attempts that succeed, by kind",
        unit: "percentunit",
        lines: { "{{kind}}": share("kind", ATTEMPTS, 'result="delivered"') },
      },
      {
        title: "Attempts that succeed, by account",
        note: "The busy accounts by id, the others together.",
        unit: "percentunit",
        lines: { "{{account}}": share("account", BY_ACCOUNT, 'result="delivered"') },
      },
      {
        title: "Attempts, by account",
        note: "The busy accounts by id, the others together.",
        unit: "reqps",
        lines: { "{{account}}": rate("account", BY_ACCOUNT) },
      },
      {
        title: "Deliveries that ended, by status and reason",
        unit: "reqps",
        lines: { "{{status}} {{reason}}": rate("status, reason", "sealpost_deliveries_ended_total") },
      },
      {
        title: "How long attempts take",
        unit: "s",
        lines: halfAndMost("sealpost_attempt_duration_seconds"),
      },
    ],
    "What waits": [
      OLDEST,
      {
        title: "How late first attempts start",
        unit: "s",
        lines: halfAndMost("sealpost_delivery_lag_seconds"),
      },
      {
        title: "Backlog",
        note: "With what waits for its next attempt, and what paused and failing endpoints hold back.",
        lines: {
          "due, now or later": `sum(${of("sealpost_deliveries_due")})`,
          "in memory": `sum(${of("sealpost_queue_depth")})`,
        },
      },
      {
        title: "Endpoints that wait",
        lines: {
          "left alone": `sum(${of("sealpost_endpoints_backing_off")})`,
          "without a slot": `sum(${of("sealpost_endpoints_without_slot")})`,
        },
      },
      {
        title: "Attempts and connections",
        lines: {
          "attempts under way": `sum(${of("sealpost_attempts_in_flight")})`,
          "connections open": `sum(${of("sealpost_connections_open")})`,
          "connections idle": `sum(${of("sealpost_connections_idle")})`,
          "polls held": `sum(${of("sealpost_pollers_waiting")})`,
        },
      },
      {
        title: "Long works",
        lines: {
          "events waiting for a plan": `sum(${of("sealpost_events_waiting_for_plan")})`,
          "events fanning out": `sum(${of("sealpost_events_fanning_out")})`,
          replays: `sum(${of("sealpost_replays_running")})`,
          erasures: `sum(${of("sealpost_erasures_running")})`,
        },
      },
    ],
  },
};

const INSTALLATION: Dashboard = {
  uid: "sealpost-installation",
  title: "Sealpost: the installation",
  rows: {
    Disk: [
      DISK_LEFT,
      {
        title: "Database and write-ahead log",
        unit: "bytes",
        lines: {
          "{{instance}}, database": of("sealpost_database_bytes"),
          "{{instance}}, WAL": of("sealpost_wal_bytes"),
        },
      },
      {
        title: "Takes writes",
        note: "0 where the disk is full or has failed.",
        lines: each("sealpost_writable"),
      },
      { title: "Time of an fsync", unit: "s", lines: halfAndMost("sealpost_fsync_duration_seconds") },
      { title: "Time of a transaction", unit: "s", lines: halfAndMost("sealpost_commit_duration_seconds") },
      {
        title: "Waits for the disk",
        lines: {
          "{{instance}}, changes": of("sealpost_writes_waiting"),
          "{{instance}}, entries of lists": of("sealpost_index_waiting"),
        },
      },
    ],
    Process: [
      { title: "Lag of the event loop", unit: "s", lines: halfAndMost("sealpost_event_loop_lag_seconds") },
      { title: "Memory", unit: "bytes", lines: each("process_resident_memory_bytes") },
      { title: "Versions", lines: { "{{instance}} {{version}}": of("sealpost_build_info") } },
      {
        title: "Scheduled jobs that fail",
        lines: {
          "{{name}}": `sum by (name) (increase(${of("sealpost_job_failures_total")}[${RANGE}]))`,
        },
      },
      {
        title: "Time of the last run of scheduled jobs",
        unit: "s",
        lines: { "{{name}}": `max by (name) (${of("sealpost_job_last_duration_seconds")})` },
      },
      {
        title: "Ids ahead of the clock",
        unit: "s",
        lines: each("sealpost_keys_ahead_seconds"),
      },
    ],
    "Replica and backup": [
      REPLICA_AGE,
      {
        title: "State of the replica",
        lines: {
          "{{instance}}, replicated": of("sealpost_replica_up"),
          "{{instance}}, contested": of("sealpost_replica_contested"),
          "{{instance}}, lease held": of("sealpost_lease_held"),
        },
      },
      {
        title: "Generation of a pair",
        note: "Each take-over counts it up.",
        lines: { generation: `max(${of("sealpost_replica_generation")})` },
      },
      {
        title: "Time until the replica confirms",
        unit: "s",
        lines: halfAndMost("sealpost_replica_confirm_duration_seconds"),
      },
      {
        title: "Uploads, and events that waited for one",
        unit: "reqps",
        lines: {
          uploads: rate("", "sealpost_replica_uploads"),
          events: rate("", "sealpost_replica_confirmed_events_total"),
          "refused, {{when}}": rate("when", "sealpost_replica_refused_total"),
        },
      },
      {
        title: "Backup last found good",
        unit: "dateTimeFromNow",
        lines: { backup: `max(${of("sealpost_backup_verified_timestamp_seconds")}) * 1000` },
        steps: [],
      },
    ],
  },
};

const DASHBOARDS = [DELIVERY, INSTALLATION];
const HEIGHT = 8;
const COLUMNS = 24;
const IN_A_ROW = 3;
const DATA_SOURCE = { type: "prometheus", uid: "${datasource}" };

const variables = [
  { name: "datasource", label: "Data source", type: "datasource", query: "prometheus" },
  {
    ...{ name: "job", label: "Installation", type: "query", datasource: DATA_SOURCE },
    ...{ query: "label_values(sealpost_build_info, job)", refresh: 2, multi: true, includeAll: true },
    // What an installation was called that is down now is found too.
    ...{ current: { text: "All", value: "$__all" }, allValue: ".+" },
  },
];

const GRAPH = {
  custom: { fillOpacity: 10, showPoints: "never" },
  options: {
    legend: { displayMode: "list", placement: "bottom", showLegend: true, calcs: [] },
    tooltip: { mode: "multi", sort: "desc" },
  },
};
const NUMBER = {
  ...{ colorMode: "value", graphMode: "area", justifyMode: "auto", textMode: "value", wideLayout: true },
  ...{ showPercentChange: false, percentChangeColorMode: "standard", orientation: "auto" },
  reduceOptions: { calcs: ["lastNotNull"], values: false },
};

/** Leads from one dashboard to the others. */
const OTHERS = {
  ...{ title: "Sealpost", type: "dashboards", tags: ["sealpost"], icon: "dashboard", tooltip: "" },
  ...{ asDropdown: false, targetBlank: false, keepTime: true, includeVars: true },
};

/** A panel as Grafana takes it, without its place. */
function panelOf({ title, note, unit, lines, steps }: Panel) {
  const colours = [
    { value: null, color: "green" },
    ...(steps ?? []).map(([value, color]) => ({ value, color })),
  ];
  return {
    type: steps ? "stat" : "timeseries",
    title,
    ...(note && { description: note }),
    datasource: DATA_SOURCE,
    fieldConfig: {
      defaults: {
        ...{ unit: unit ?? "short", ...(unit !== "dateTimeFromNow" && { min: 0 }) },
        ...(unit === "percentunit" && { max: 1 }),
        ...(steps ? { thresholds: { mode: "absolute", steps: colours } } : { custom: GRAPH.custom }),
      },
      overrides: [],
    },
    options: steps ? NUMBER : GRAPH.options,
    targets: Object.entries(lines).map(([legendFormat, expr], at) => ({
      refId: String.fromCodePoint(65 + at),
      expr,
      legendFormat,
      // Its schema is found by it.
      datasource: DATA_SOURCE,
    })),
  };
}

/** Rows, each with its panels below it, three or six beside each other. */
function layOut(rows: Dashboard["rows"]) {
  let y = 0;
  let id = 0;
  return Object.entries(rows).flatMap(([title, panels]) => {
    const head = { id: ++id, type: "row", title, collapsed: false, panels: [] };
    const placed = [{ ...head, gridPos: { x: 0, y: y++, w: COLUMNS, h: 1 } }];
    const areNumbers = panels.every(({ steps }) => steps !== undefined);
    const [w, h] = areNumbers ? [COLUMNS / panels.length, HEIGHT / 2] : [COLUMNS / IN_A_ROW, HEIGHT];
    const cells = panels.map((panel, at) => {
      const column = (at * w) % COLUMNS;
      return {
        id: ++id,
        ...panelOf(panel),
        gridPos: { x: column, y: y + Math.floor((at * w) / COLUMNS) * h, w, h },
      };
    });
    y += Math.ceil((panels.length * w) / COLUMNS) * h;
    return [...placed, ...cells];
  });
}

/** The dashboards by the names of their files, as Grafana imports them. */
export function makeDashboards(): { path: string; text: string }[] {
  return DASHBOARDS.map(({ uid, title, rows }) => {
    const dashboard = {
      ...{ uid, title, tags: ["sealpost"], schemaVersion: 39, editable: true, graphTooltip: 1 },
      ...{ time: { from: "now-3h", to: "now" }, refresh: "30s", links: [OTHERS] },
      ...{ templating: { list: variables }, annotations: { list: [] } },
      panels: layOut(rows),
    };
    return { path: join(MONITORING, `${uid}.json`), text: `${JSON.stringify(dashboard, null, 2)}\n` };
  });
}

interface MadePanel {
  title: string;
  gridPos: { x: number; y: number };
  targets: { expr: string; legendFormat: string }[];
}

/** The panels of a dashboard, without its rows. */
export function readPanels(text: string): MadePanel[] {
  const { panels } = JSON.parse(text) as { panels: (MadePanel | { type: "row" })[] };
  return panels.filter((panel) => "targets" in panel);
}

if (import.meta.main) for (const { path, text } of makeDashboards()) await Bun.write(path, text);
