/** What `deploy/helm/monitoring` has for Prometheus and Grafana is about metrics that the service shows. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { basename } from "node:path";
import page from "../../src/docs/monitoring.md" with { type: "text" };
import { ALERTS_FILE, readAlerts, runPromtool } from "../kit/alerts.ts";
import { Client, type TestApp } from "../kit/app.ts";
import { makeDashboards, MONITORING, readPanels } from "../kit/dashboards.ts";
import { OPERATOR_TOKEN, operatorOf, startOperated } from "../kit/operator.ts";
import { findUnknown, readMetrics, unfold } from "../kit/promql.ts";
import { type Receiver, startReceiver } from "../kit/receiver.ts";
import { requireTool } from "../kit/tools.ts";
import { makeTraffic } from "../kit/traffic.ts";

const dashboards = makeDashboards();
const panels = dashboards.flatMap(({ text }) => readPanels(text));
const queries = panels.flatMap(({ title, targets }) =>
  targets.map(({ expr, legendFormat }) => ({ of: title, query: unfold(expr), legend: legendFormat })),
);
const alerts = readAlerts();
const hasPromtool = requireTool("promtool", "apt-get install prometheus");

/** They have a sample only where there is a replica, a pair, or a backup that was verified. */
const ELSEWHERE = new Set(
  ["replica_up", "replica_contested", "replica_age_seconds", "replica_uploads", "replica_generation"]
    .concat("lease_held", "backup_good", "backup_verified_timestamp_seconds")
    .map((name) => `sealpost_${name}`),
);

describe("dashboards", () => {
  test("are what their script makes", async () => {
    // Where this fails: bun test/kit/dashboards.ts
    for (const { path, text } of dashboards) expect(await Bun.file(path).text()).toBe(text);
    const made = dashboards.map(({ path }) => basename(path));
    expect(readdirSync(MONITORING).toSorted()).toEqual([basename(ALERTS_FILE), ...made].toSorted());
  });

  test("have a name for each panel that stands once in its row, and a place that no other has", () => {
    for (const { text } of dashboards) {
      const places = readPanels(text).map(({ gridPos: { x, y } }) => `${x} ${y}`);
      expect(new Set(places).size).toBe(places.length);
    }
    expect(panels.length).toBeGreaterThan(40);
  });
});

test.skipIf(!hasPromtool)("every query of a dashboard is one by Prometheus", async () => {
  const rules = (found: typeof queries) =>
    Bun.YAML.stringify({
      groups: [{ name: "queries", rules: found.map(({ query: expr }, at) => ({ record: `q${at}`, expr })) }],
    });
  expect(queries.length).toBeGreaterThan(60);
  expect(await runPromtool("check", rules(queries))).toContain(`SUCCESS: ${queries.length} rules found`);
  const wrong = [{ of: "", query: "sum(rate(up))", legend: "" }];
  expect(await runPromtool("check", rules(wrong))).toContain("expected type range vector");
});

describe("queries", () => {
  let app: TestApp;
  let receiver: Receiver;
  let metrics: string;

  beforeAll(async () => {
    app = await startOperated();
    receiver = startReceiver();
    const round = await makeTraffic(app, receiver);
    await round();
    await app.until(async () => {
      metrics = (await operatorOf(app).get("/metrics")).text;
      return (
        metrics.includes('result="delivered"} 2') && /status="dead",reason="exhausted"\} [1-9]/.test(metrics)
      );
    });
  });

  afterAll(async () => {
    await app[Symbol.asyncDispose]();
    await receiver.close();
  });

  const unknownIn = (found: { query: string; legend: string }[], text = metrics) =>
    found.flatMap(({ query, legend }) => findUnknown(query, legend, readMetrics(text), ELSEWHERE));

  test("of dashboards ask for nothing that the service does not show", () => {
    expect(unknownIn(queries)).toEqual([]);
  });

  test("of alerts ask for nothing that the service does not show, and so do their texts", () => {
    const asked = alerts.map(({ expr, annotations }) => ({
      query: expr,
      legend: annotations.summary.replaceAll("$labels.", "").replaceAll(/\{\{ \$value.*?\}\}/g, ""),
    }));
    expect(unknownIn(asked)).toEqual([]);
  });

  test("of alerts compare a quantile with a bound that the histogram has", () => {
    const compared = alerts.flatMap(({ expr }) => {
      const [, name, bound] =
        /histogram_quantile[^]*?(sealpost_\w+_bucket)[^]*> ([\d.]+)$/.exec(expr.trim()) ?? [];
      return name === undefined ? [] : [{ query: `${name}{le="${bound}"}`, legend: "" }];
    });
    expect(compared).toHaveLength(3);
    expect(unknownIn(compared)).toEqual([]);
  });

  test("are found out where a metric, a label or the value of a label has another name", () => {
    const renamed = (from: string, to: string) => unknownIn(queries, metrics.replaceAll(from, to)).length;
    expect(renamed("sealpost_wal_bytes", "sealpost_log_bytes")).toBe(1);
    expect(renamed("sealpost_replica_age_seconds", "sealpost_replica_lag_seconds")).toBe(2);
    expect(renamed("outcome=", "result=")).toBeGreaterThan(0);
    expect(renamed('result="delivered"', 'result="success"')).toBe(3);
    expect(renamed("account=", "customer=")).toBeGreaterThan(1);
    expect(unknownIn([{ query: "sealpost_wal_bytes", legend: "{{api}}" }])).toEqual(["api"]);
    expect(unknownIn([{ query: "sum by (api) (sealpost_wal_bytes)", legend: "" }])).toEqual(["api"]);
    expect(() => unknownIn([{ query: "sum(", legend: "" }])).toThrow("sum(");
  });

  test("and the page names no metric that the service does not have", () => {
    const named = new Set(page.match(/\bsealpost_[a-z_]+/g));
    const { described } = readMetrics(metrics);
    expect([...named].filter((name) => !described.has(name))).toEqual([]);
    expect(named.size).toBeGreaterThan(10);
  });
});

describe("alerts", () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await startOperated();
  });

  afterAll(() => app[Symbol.asyncDispose]());

  test("each has a severity, a summary, and its own row below the heading that it links to", async () => {
    const { text } = await new Client(app, OPERATOR_TOKEN).get("/docs/monitoring");
    for (const { alert, labels, annotations } of alerts) {
      expect([alert, labels.severity]).toEqual([alert, expect.stringMatching(/^(critical|warning)$/)]);
      const [address, heading = ""] = annotations.runbook_url.split("#");
      expect(address).toBe("http://localhost:8080/docs/monitoring");
      const [, section = ""] = text.split(`id="${heading}"`);
      expect([alert, section.split("<h2")[0]?.includes(`<code>${alert}</code>`)]).toEqual([alert, true]);
    }
    const told = [...page.matchAll(/^\| `(Sealpost\w+)`/gm)].map(([, name]) => name);
    expect(told).toEqual(alerts.map(({ alert }) => alert));
  });
});
