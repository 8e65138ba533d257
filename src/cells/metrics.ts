/**
 * Metrics of several cells as one text: each sample with a label `cell`, and all samples of a metric below
 * its one TYPE. Source: Prometheus, "Exposition formats", text-based format, version 0.0.4.
 */
export function mergeMetrics(cells: readonly { cell: string; value: string }[]): string {
  const metrics = new Map<string, { heads: Map<string, string>; samples: string[] }>();
  for (const { cell, value } of cells) {
    let metric: { heads: Map<string, string>; samples: string[] } | undefined;
    for (const line of value.split("\n")) {
      if (line === "") continue;
      const head = /^# (HELP|TYPE) (\S+)/.exec(line);
      if (head) {
        const [, kind = "", name = ""] = head;
        metric = metrics.get(name) ?? { heads: new Map(), samples: [] };
        metrics.set(name, metric);
        // Cells of two versions may say it in other words: the first holds.
        metric.heads.set(kind, metric.heads.get(kind) ?? line);
      } else if (!line.startsWith("#")) metric?.samples.push(labelled(line, cell));
    }
  }
  return [...metrics.values()]
    .map(({ heads, samples }) => `${[...heads.values(), ...samples].join("\n")}\n`)
    .join("");
}

function labelled(sample: string, cell: string): string {
  const [, name = "", labels, rest = ""] = /^([^\s{]+)(?:\{(.*)\})?( .*)$/.exec(sample) ?? [];
  return `${name}{cell="${cell}"${labels ? `,${labels}` : ""}}${rest}`;
}
