/** The alerts for Prometheus, and promtool, which judges them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { MONITORING } from "./dashboards.ts";
import { makeFolder } from "./real-server.ts";

export const ALERTS_FILE = join(MONITORING, "alerts.yaml");

interface Alert {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
}

export function readAlerts(): Alert[] {
  const { groups } = Bun.YAML.parse(readFileSync(ALERTS_FILE, "utf8")) as { groups: { rules: Alert[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

/** What `promtool check rules` or `promtool test rules` says of this file. */
export async function runPromtool(command: "check" | "test", yaml: string): Promise<string> {
  const folder = makeFolder("promtool");
  const path = join(folder.path, "rules.yaml");
  await Bun.write(path, yaml);
  const child = Bun.spawn(["promtool", command, "rules", path], { stdout: "pipe", stderr: "pipe" });
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  folder.remove();
  return output + errors;
}
