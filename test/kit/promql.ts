/** Queries of Prometheus, read by its own grammar; and the text of /metrics that they are about. */
import { parser } from "@prometheus-io/lezer-promql";

/** Labels that Prometheus gives to all that it reads. */
const TARGET_LABELS = ["job", "instance", "namespace"];

interface Matcher {
  label: string;
  operator: string;
  value: string;
}

interface Selector {
  name: string;
  matchers: Matcher[];
}

interface Sample {
  name: string;
  labels: Readonly<Record<string, string>>;
}

/** A query of a dashboard, with something in place of Grafana's variables. */
export function unfold(query: string, job = ".+", range = "5m"): string {
  return query.replaceAll("$__rate_interval", range).replaceAll("$job", job);
}

/** What a query asks for, and the labels that it groups by. Throws where the grammar does not know it. */
function readQuery(query: string): { selectors: Selector[]; groups: string[] } {
  const selectors: Selector[] = [];
  const groups: string[] = [];
  let matcher: Matcher = { label: "", operator: "", value: "" };
  parser.parse(query).iterate({
    enter({ type, from, to, node }) {
      const text = query.slice(from, to);
      if (type.isError) throw new Error(`at ${from}: ${query}`);
      if (type.name === "VectorSelector") selectors.push({ name: "", matchers: [] });
      const last = selectors.at(-1);
      if (type.name === "Identifier" && last) last.name = text;
      if (type.name === "UnquotedLabelMatcher") last?.matchers.push((matcher = { ...matcher }));
      if (type.name === "MatchOp") matcher.operator = text;
      if (type.name === "StringLiteral") matcher.value = text.slice(1, -1);
      if (type.name !== "LabelName") return;
      if (node.parent?.name === "GroupingLabels") groups.push(text);
      else matcher.label = text;
    },
  });
  return { selectors, groups };
}

/** The samples in a text of /metrics, and the names that it describes, also those without a sample. */
export function readMetrics(text: string): { samples: Sample[]; described: Set<string> } {
  const described = new Set([...text.matchAll(/^# HELP (\S+)/gm)].map(([, name = ""]) => name));
  const samples = [...text.matchAll(/^([a-z_]+)(?:\{(.*)\})? \S+$/gm)].map(([, name = "", labels = ""]) => ({
    name,
    labels: Object.fromEntries(
      [...labels.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, label = "", value = ""]) => [label, value]),
    ),
  }));
  return { samples, described };
}

function matches({ labels }: Sample, { label, operator, value }: Matcher): boolean {
  if (TARGET_LABELS.includes(label)) return true;
  const isMatch = operator.endsWith("~")
    ? new RegExp(`^(?:${value})$`).test(labels[label] ?? "")
    : labels[label] === value;
  return label in labels && isMatch !== operator.startsWith("!");
}

/**
 * What a query, with the names that its legend shows, asks for that the service does not have: metrics,
 * labels, and values of labels. `without` are metrics that are described and need no sample.
 */
export function findUnknown(
  query: string,
  legend: string,
  { samples, described }: ReturnType<typeof readMetrics>,
  without: ReadonlySet<string>,
): string[] {
  const { selectors, groups } = readQuery(query);
  const known = new Set(TARGET_LABELS);
  const unknown: string[] = [];
  for (const { name, matchers } of selectors) {
    const chosen = samples.filter(
      (sample) => sample.name === name && matchers.every((one) => matches(sample, one)),
    );
    for (const { labels } of chosen) Object.keys(labels).forEach((label) => known.add(label));
    const isThere = chosen.length > 0 || (without.has(name) && described.has(name)) || name === "up";
    if (!isThere) unknown.push(`${name}${JSON.stringify(matchers)}`);
  }
  const shown = [...legend.matchAll(/\{\{ *(\w+) *\}\}/g)].map(([, label = ""]) => label);
  const isGrouped = groups.length > 0 || /\b(sum|max|min)\b/.test(query);
  return [
    ...unknown,
    ...groups.filter((label) => !known.has(label)),
    ...shown.filter((label) => !(isGrouped ? groups : [...known]).includes(label)),
  ];
}
