import { expect, test } from "bun:test";
import { mergeMetrics } from "../../src/cells/metrics.ts";

const ONE = '# HELP a What it is.\n# TYPE a counter\na{x="} y"} 1\na 2\n# TYPE b gauge\nb 3\n';
const OTHER =
  '# TYPE b gauge\nb 4\n# HELP a What it has become.\n# TYPE a counter\na{x="1"} 5 1700000000000\n';

test("metrics of several cells stand below one head each, with the cell's name", () => {
  const merged = mergeMetrics([
    { cell: "00", value: ONE },
    { cell: "7K", value: OTHER },
  ]);
  expect(merged.split("\n")).toEqual([
    "# HELP a What it is.",
    "# TYPE a counter",
    'a{cell="00",x="} y"} 1',
    'a{cell="00"} 2',
    'a{cell="7K",x="1"} 5 1700000000000',
    "# TYPE b gauge",
    'b{cell="00"} 3',
    'b{cell="7K"} 4',
    "",
  ]);
});
