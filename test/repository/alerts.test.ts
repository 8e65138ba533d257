/** Each alert for Prometheus, by promtool: series that make it fire, and some that come close and do not. */
import { describe, expect, test } from "bun:test";
import { ALERTS_FILE, readAlerts, runPromtool } from "../kit/alerts.ts";
import { requireTool } from "../kit/tools.ts";

/** Values of series by their names, in promtool's notation: `0+1x9` are ten, each one larger. */
type Series = Record<string, string>;

interface Case {
  fires: Series;
  quiet: Series;
  /** What it says where it fires. */
  summary: string;
  /** Besides the instance and the job. */
  labels?: Record<string, string>;
  /** When it is looked at, and how far samples and looks are apart. */
  at?: string;
  every?: "1m" | "1h";
}

/** Target labels of the series, which have a `{}` for them. */
const ONE = 'job="sealpost",instance="a:8080"';
const TWO = 'job="sealpost",instance="b:8080"';
const JOB = { job: "sealpost" };
const INSTANCE = { ...JOB, instance: "a:8080" };
const BAD = "0+100x60";
const FEW = "0+1x60";
const MANY = "0+10000x60";

const gauge = (name: string, bad: number, good: number): Pick<Case, "fires" | "quiet"> => ({
  fires: { [`${name}{${ONE}}`]: `${bad}x60` },
  quiet: { [`${name}{${ONE}}`]: `${good}x60` },
});

/** A histogram of which 2 of 100 are above the bound. */
function slow(name: string, bound: string, next: string, labels = ""): Pick<Case, "fires" | "quiet"> {
  const bucket = (le: string) => `${name}_bucket{${ONE}${labels},le="${le}"}`;
  const of = (below: number) => ({
    [bucket(bound)]: `0+${below}x60`,
    [bucket(next)]: "0+1000x60",
    [bucket("+Inf")]: "0+1000x60",
  });
  return { fires: of(980), quiet: of(999) };
}

const requests = (status: number) => `sealpost_http_requests_total{${ONE},api="publish",status="${status}"}`;
const attempts = (result: string) => `sealpost_kind_attempts_total{${ONE},kind="http",result="${result}"}`;
const ofAccount = (account: string, failed: number) => ({
  [`sealpost_account_attempts_total{${ONE},account="${account}",result="delivered"}`]: `0+${10 - failed}x60`,
  [`sealpost_account_attempts_total{${ONE},account="${account}",result="failed"}`]: `0+${failed}x60`,
});
const twoFail = { ...ofAccount("a", 9), ...ofAccount("b", 9) };
const mostFail = { [attempts("delivered")]: "0+25x60", [attempts("failed")]: "0+75x60" };
const ended = (status: string, reason = "none") =>
  `sealpost_deliveries_ended_total{${ONE},status="${status}",reason="${reason}"}`;
const generation = (of: string) => `sealpost_replica_generation{${of}}`;
const up = (of: string) => `up{${of}}`;
const replicas = (of: string) => `sealpost_replicas{${of}}`;
const verified = `sealpost_backup_verified_timestamp_seconds{${ONE}}`;
const BUILT = `sealpost_build_info{${ONE},version="1"}`;
const built = { [BUILT]: "1x5 stale" };

const CASES: Record<string, Case> = {
  SealpostDown: {
    fires: { ...built, [up(ONE)]: "1x5 0x60", [up(TWO)]: "0x60" },
    // Of a pair the standby has taken over; the other job is somebody else's.
    quiet: { ...built, [up(ONE)]: "1x5 0x60", [up(TWO)]: "0x5 1x60", 'up{job="other"}': "0x60" },
    summary: "Sealpost sealpost does not answer. Nothing is taken, nothing is sent.",
    labels: JOB,
  },
  SealpostErrors: {
    fires: { [requests(202)]: "0+980x60", [requests(500)]: "0+20x60" },
    quiet: { [requests(202)]: "0+995x60", [requests(500)]: "0+5x60", [requests(429)]: MANY },
    summary: "Sealpost a:8080 answers 2% of what comes in with an internal error.",
  },
  SealpostSlow: {
    ...slow("sealpost_http_request_duration_seconds", "2.5", "5", ',api="publish"'),
    summary: "Sealpost a:8080 takes 3.75s for one of a hundred requests (publish).",
    labels: { ...INSTANCE, api: "publish" },
  },
  SealpostLoopBusy: {
    ...slow("sealpost_event_loop_lag_seconds", "0.1", "0.25"),
    summary: "The event loop of Sealpost a:8080 comes round 175ms late.",
  },
  SealpostJobFails: {
    fires: { [`sealpost_job_failures_total{${ONE},name="vacuum"}`]: "0x20 1x40" },
    quiet: { [`sealpost_job_failures_total{${ONE},name="vacuum"}`]: "3x60" },
    summary: "The scheduled job vacuum of Sealpost a:8080 fails.",
    labels: { ...INSTANCE, name: "vacuum" },
  },
  SealpostIdsAhead: {
    ...gauge("sealpost_keys_ahead_seconds", 90, 60),
    summary: "The clock of Sealpost a:8080 was ahead, and its ids are by 1m 30s.",
  },
  SealpostNotWritable: {
    ...gauge("sealpost_writable", 0, 1),
    summary: "The disk of Sealpost a:8080 takes no writes. Nothing is accepted.",
  },
  SealpostDiskHangs: {
    ...gauge("sealpost_oldest_write_age_seconds", 6, 5),
    summary: "The disk of Sealpost a:8080 has answered nothing for 6s.",
  },
  SealpostDiskAlmostFull: {
    ...gauge("sealpost_disk_free_bytes", 943_718_400, 1_000_000_001),
    summary: "The disk of Sealpost a:8080 has 900MiB left.",
  },
  SealpostDiskFilling: {
    // Half a GB an hour is 12 in a day, and 9.5 or 38.5 are left.
    fires: { [`sealpost_disk_free_bytes{${ONE}}`]: "11e9-500e6x8" },
    quiet: { [`sealpost_disk_free_bytes{${ONE}}`]: "40e9-500e6x8" },
    summary: "The disk of Sealpost a:8080 is full within a day, if it goes on like this.",
    ...{ at: "3h", every: "1h" },
  },
  SealpostWalLarge: {
    ...gauge("sealpost_wal_bytes", 1_073_741_824, 500_000_000),
    summary: "The write-ahead log of Sealpost a:8080 has 1GiB.",
  },
  SealpostDiskSlow: {
    ...slow("sealpost_fsync_duration_seconds", "0.1", "0.25"),
    summary: "The disk of Sealpost a:8080 takes 175ms for an fsync.",
  },
  SealpostDeliveriesLate: {
    ...gauge("sealpost_oldest_due_age_seconds", 150, 60),
    summary: "A delivery of Sealpost a:8080 is 2m 30s late, although its endpoint is well.",
  },
  SealpostAttemptsFail: {
    fires: { ...mostFail, ...twoFail },
    quiet: { [attempts("delivered")]: "0+51x60", [attempts("failed")]: "0+49x60", ...twoFail },
    summary: "Of the attempts of Sealpost a:8080, 75% fail.",
  },
  SealpostDeliveriesDie: {
    fires: {
      [ended("dead", "exhausted")]: BAD,
      [ended("dead", "gone")]: BAD,
      [ended("delivered")]: "0+800x60",
    },
    quiet: { [ended("dead", "exhausted")]: BAD, [ended("delivered")]: MANY },
    summary: "Of the deliveries of Sealpost a:8080 that ended, 20% are dead.",
  },
  SealpostNotReplicated: {
    ...gauge("sealpost_replica_up", 0, 1),
    summary: "Nothing that Sealpost a:8080 accepts is copied.",
  },
  SealpostReplicaLate: {
    ...gauge("sealpost_replica_age_seconds", 90, 60),
    summary: "The replica of Sealpost a:8080 is 1m 30s behind.",
  },
  SealpostLeaseLost: {
    ...gauge("sealpost_lease_held", 0, 1),
    summary: "The primary a:8080 could not renew its lease, and answers nothing.",
  },
  SealpostTakeOver: {
    // Nobody answers between, for longer than ten minutes.
    fires: { [generation(ONE)]: "3x10 stale _x60", [generation(TWO)]: "_x26 4x60" },
    quiet: { [generation(ONE)]: "3x10 stale _x60", [generation(TWO)]: "_x26 3x60" },
    summary: "The standby of Sealpost sealpost has taken over.",
    labels: JOB,
  },
  SealpostBackupBad: {
    ...gauge("sealpost_backup_good", 0, 1),
    summary: "The last check of the backup of Sealpost a:8080 found it bad.",
  },
  SealpostBackupUnchecked: {
    // Time begins at zero here: these are instants before that.
    fires: { [verified]: "-180000x130" },
    quiet: { [verified]: "-160000x130" },
    summary: "The backup of Sealpost a:8080 was last found good 2d 4h 0m 0s ago.",
    at: "2h",
  },
  SealpostBackupNeverChecked: {
    fires: { [replicas(ONE)]: "1x60" },
    quiet: { [replicas(ONE)]: "0x60" },
    summary: "The backup of Sealpost sealpost was never found good.",
    labels: JOB,
    ...{ at: "49h", every: "1h" },
  },
};

/** Others of what may make one of them fire, or keep it quiet. */
const MORE: [alert: string, sees: "fires" | "quiet", series: Series, when?: Pick<Case, "at" | "every">][] = [
  [
    "SealpostNotReplicated",
    "fires",
    { [`sealpost_replica_up{${ONE}}`]: "1x60", [`sealpost_replica_contested{${ONE}}`]: "1x60" },
  ],
  // Too few for a share to mean something.
  ["SealpostAttemptsFail", "quiet", { [attempts("failed")]: FEW, ...twoFail }],
  ["SealpostDeliveriesDie", "quiet", { [ended("dead", "exhausted")]: "0x30 1x9 5x20" }],
  // One endpoint of one account is broken, on an installation with few attempts.
  ["SealpostAttemptsFail", "quiet", { ...mostFail, ...ofAccount("a", 9) }],
  [
    "SealpostAttemptsFail",
    "quiet",
    { ...mostFail, ...ofAccount("a", 9), ...ofAccount("b", 1), ...ofAccount("other", 1) },
  ],
  // What customers do: a source is paused, an account is suspended, events go round in a circle.
  ["SealpostErrors", "quiet", { [requests(202)]: FEW, [requests(503)]: MANY, [requests(508)]: MANY }],
  ["SealpostErrors", "fires", { [requests(202)]: "0+980x60", [requests(502)]: "0+20x60" }],
  // It was never ours.
  ["SealpostDown", "quiet", { [up(ONE)]: "0x60" }],
  // The target is gone from the configuration, or the pod from the cluster; other jobs are well.
  ["SealpostDown", "fires", { ...built, [up(ONE)]: "1x5 stale", 'up{job="other"}': "1x60" }],
  ["SealpostDown", "quiet", { ...built, [up(ONE)]: "1x5 stale", [up(TWO)]: "_x6 1x60" }],
  // After a weekend it is still down; after a week it is taken for removed.
  ["SealpostDown", "fires", { [BUILT]: "1x5 stale", [up(ONE)]: "1x5 0x80" }, { at: "80h", every: "1h" }],
  ["SealpostDown", "quiet", { [BUILT]: "1x5 stale", [up(ONE)]: "1x5 0x200" }, { at: "180h", every: "1h" }],
  ["SealpostTakeOver", "quiet", { [generation(ONE)]: "3x60" }],
  // The first drill is late, but was made.
  [
    "SealpostBackupNeverChecked",
    "quiet",
    { [replicas(ONE)]: "1x60", [verified]: "_x40 100x20" },
    { at: "49h", every: "1h" },
  ],
];

const alerts = readAlerts();

function testOf(...[alert, sees, series, when]: (typeof MORE)[number]) {
  const known = alerts.find((one) => one.alert === alert);
  const { at = "30m", every = "1m", labels = INSTANCE, summary = "" } = { ...CASES[alert], ...when };
  const fired = {
    exp_labels: { ...labels, severity: known?.labels.severity },
    exp_annotations: { summary, runbook_url: known?.annotations.runbook_url },
  };
  return {
    interval: every,
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [{ eval_time: at, alertname: alert, exp_alerts: sees === "fires" ? [fired] : [] }],
  };
}

/** What promtool says of those cases that are seen each minute, and of those that are seen each hour. */
function judge(rows: typeof MORE): Promise<string[]> {
  const tests = rows.map((row) => testOf(...row));
  const judgeOf = (interval: string) => {
    const some = tests.filter((one) => one.interval === interval);
    const asked = { rule_files: [ALERTS_FILE], evaluation_interval: interval, tests: some };
    return runPromtool("test", Bun.YAML.stringify(asked));
  };
  return Promise.all(["1m", "1h"].map(judgeOf));
}

describe.skipIf(!requireTool("promtool", "apt-get install prometheus"))("alerts", () => {
  test("are rules by Prometheus, each with a case", async () => {
    expect(await runPromtool("check", await Bun.file(ALERTS_FILE).text())).toContain(
      `SUCCESS: ${alerts.length} rules found`,
    );
    expect(Object.keys(CASES)).toEqual(alerts.map(({ alert }) => alert));
  });

  const rows = Object.entries(CASES).flatMap(([alert, { fires, quiet }]): (typeof MORE)[number][] => [
    [alert, "fires", fires],
    [alert, "quiet", quiet],
  ]);
  const all = [...rows, ...MORE];

  test("fire where they must, and say what they are to say, and are quiet where it is close", async () => {
    for (const said of await judge(all)) expect(said).toEndWith("SUCCESS\n\n");
  }, 60_000);

  test("do neither for another reason: the opposite of each case is not so", async () => {
    const opposite = { fires: "quiet", quiet: "fires" } as const;
    const said = await judge(all.map(([alert, sees, ...series]) => [alert, opposite[sees], ...series]));
    const wrong = [...said.join("").matchAll(/alertname: (\w+)/g)].map(([, name = ""]) => name);
    expect(wrong.toSorted()).toEqual(all.map(([alert]) => alert).toSorted());
  }, 60_000);
});
