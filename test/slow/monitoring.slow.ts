// time budget: 600 s
/**
 * A real Prometheus, set up as the page says, reads a real service under Litestream that has some traffic: it
 * answers every query of the dashboards and takes every alert. The dashboards are held to Grafana's schema.
 * A minute; the tools in Go are built before that, once on a machine.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import page from "../../src/docs/monitoring.md" with { type: "text" };
import { Grounds } from "../durability/grounds.ts";
import { SERVICE_ENV } from "../durability/machine.ts";
import { ALERTS_FILE, readAlerts } from "../kit/alerts.ts";
import { makeDashboards, readPanels } from "../kit/dashboards.ts";
import { buildGoFile } from "../kit/go.ts";
import type { Replicated } from "../kit/litestream.ts";
import { OPERATOR_TOKEN } from "../kit/operator.ts";
import { unfold } from "../kit/promql.ts";
import { freePorts, RealServer, runCommand } from "../kit/real-server.ts";
import { type Receiver, startReceiver } from "../kit/receiver.ts";
import { requireTool } from "../kit/tools.ts";
import { makeTraffic } from "../kit/traffic.ts";
import { lookAgain } from "../kit/until.ts";
import { readBlocks } from "../readme/blocks.ts";

const repository = join(import.meta.dir, "../..");
const GRAFANA = "github.com/grafana/grafana-foundation-sdk/go@v0.0.22";
const ROUND_MS = 200;
/** Of rates: a few scrapes. */
const RANGE = "10s";
const DEADLINE_MS = 60_000;

/** Lines without a value while all is well, by panel, each with the reason. */
const EMPTY: Readonly<Record<string, string>> = {
  "State of the replica: {{instance}}, lease held": "of a pair",
  "Generation of a pair: generation": "of a pair",
  "Uploads, and events that waited for one: refused, {{when}}": "the replica confirms",
};

const grounds = new Grounds("monitoring");
const dashboards = makeDashboards();
const lines = dashboards
  .flatMap(({ text }) => readPanels(text))
  .flatMap(({ title, targets }) =>
    targets.map(({ expr, legendFormat }) => [`${title}: ${legendFormat}`, expr] as const),
  );

describe.skipIf(!requireTool("prometheus", "apt-get install prometheus"))("Prometheus", () => {
  let machine: Replicated;
  let receiver: Receiver;
  let prometheus: RealServer;
  let url: string;
  let traffic: { timer: NodeJS.Timeout };

  /** The data of an answer of Prometheus' API. */
  async function ask<Data>(path: string): Promise<Data> {
    const { data } = (await (await fetch(`${url}/api/v1/${path}`)).json()) as { data: Data };
    return data;
  }

  beforeAll(async () => {
    const places = grounds.inFolder();
    machine = await grounds.startReplicated(places, { SEALPOST_OPERATOR_TOKEN: OPERATOR_TOKEN });
    receiver = startReceiver();
    const { service } = machine;
    const round = await makeTraffic(service, receiver);
    await round();
    traffic = { timer: setInterval(() => void round().catch(() => {}), ROUND_MS) };
    const folder = join(grounds.home, "prometheus");
    mkdirSync(folder);
    cpSync(ALERTS_FILE, join(folder, "alerts.yaml"));
    writeFileSync(join(folder, "metrics-token"), SERVICE_ENV.SEALPOST_METRICS_TOKEN);
    const [block, ...others] = readBlocks(page).filter(({ info }) => info === "prometheus.yml");
    expect(others).toEqual([]);
    const config = (block?.text ?? "")
      .replace("localhost:8080", new URL(service.url).host)
      .replace("15s", "1s");
    const global = "global: { evaluation_interval: 1s }";
    writeFileSync(join(folder, "prometheus.yml"), `${global}\n${config}`);
    const [port = 0] = await freePorts(1);
    url = `http://127.0.0.1:${port}`;
    const told = [`--storage.tsdb.path=${folder}/data`, `--web.listen-address=127.0.0.1:${port}`];
    prometheus = new RealServer({
      name: "prometheus",
      command: ["prometheus", `--config.file=${folder}/prometheus.yml`, ...told],
      isReady: async () => (await fetch(`${url}/-/ready`)).ok,
    });
    await prometheus.start();
    const verify = [process.execPath, join(repository, "src/main.ts"), "backup", "verify"];
    const path = `${join(grounds.litestream, "..")}:${process.env["PATH"] ?? ""}`;
    const settings = { ...SERVICE_ENV, ...places.env, SEALPOST_DATA_DIR: service.dataDir, PATH: path };
    await runCommand(verify, settings);
  }, 500_000);

  afterAll(async () => {
    clearInterval(traffic.timer);
    await prometheus.stop();
    await machine[Symbol.asyncDispose]();
    await receiver.close();
  });

  test.each(lines)(
    "%s",
    async (name, expr) => {
      const query = encodeURIComponent(unfold(expr, "sealpost", RANGE));
      const find = async () => {
        const { result } = await ask<{ result: { value: [number, string] }[] }>(`query?query=${query}`);
        return result.some(({ value: [, text] }) => Number.isFinite(Number(text)));
      };
      if (name in EMPTY) expect([EMPTY[name], await find()]).toEqual([EMPTY[name], false]);
      else expect(await lookAgain(find, () => undefined, DEADLINE_MS)).toBe(true);
    },
    DEADLINE_MS + 5000,
  );

  test("has a line for each that is named as empty", () => {
    expect(Object.keys(EMPTY).filter((name) => !lines.some(([line]) => line === name))).toEqual([]);
  });

  test("evaluates all alerts, of which none that is critical is raised while all is well", async () => {
    const find = async () => {
      const { groups } = await ask<{ groups: { rules: Rule[] }[] }>("rules");
      const rules = groups.flatMap((group) => group.rules);
      return rules.every(({ health }) => health === "ok") && rules;
    };
    const rules = await lookAgain(find, () => undefined, DEADLINE_MS);
    const names = readAlerts().map(({ alert }) => alert);
    expect(rules.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
    const raised = rules.filter(
      ({ state, labels }) => state !== "inactive" && labels.severity === "critical",
    );
    expect(raised.map(({ name }) => name)).toEqual([]);
  }, 70_000);

  test("notices a service that is down", async () => {
    clearInterval(traffic.timer);
    await machine.loseMachine();
    const find = async () => {
      const { alerts } = await ask<{ alerts: { labels: { alertname: string } }[] }>("alerts");
      return alerts.some(({ labels }) => labels.alertname === "SealpostDown");
    };
    expect(await lookAgain(find, () => undefined, DEADLINE_MS)).toBe(true);
  }, 70_000);
});

interface Rule {
  name: string;
  health: string;
  state: string;
  labels: { severity: string };
}

describe("Grafana", () => {
  let check: string;

  beforeAll(async () => {
    check = await buildGoFile(join(repository, "test/kit/DashboardCheck.go"), GRAFANA);
  }, 400_000);

  /** What its schema says of a dashboard; empty where nothing is wrong. */
  async function judge(text: string): Promise<string> {
    const path = join(grounds.home, "dashboard.json");
    writeFileSync(path, text);
    return runCommand([check, path]).catch(String);
  }

  test.each(dashboards.map(({ path, text }) => [path.split("/").at(-1), text] as const))(
    "knows every field of %s",
    async (_name, text) => {
      expect(await judge(text)).toBe("");
    },
    20_000,
  );

  const WRONG: [from: string, to: string, says: string][] = [
    ['"legendFormat"', '"legend"', "unexpected field 'legend'"],
    ['"expr"', '"query"', "expr: required field is missing"],
    ['"showLegend": true', '"showLegend": "yes"', "showLegend: json: cannot unmarshal string"],
    ['"fillOpacity"', '"opacity"', "unexpected field 'opacity'"],
    ['"thresholds"', '"limits"', "unexpected field 'limits'"],
    ['"gridPos"', '"place"', "unexpected field 'place'"],
    ['"reduceOptions"', '"reduce"', "reduceOptions: required field is missing"],
  ];

  test.each(WRONG)(
    "refuses %s as %s",
    async (from, to, says) => {
      const text = dashboards[0]?.text ?? "";
      expect(text).toContain(from);
      expect(await judge(text.replaceAll(from, to))).toContain(says);
    },
    20_000,
  );
});
