import { compile, type TopLevelSpec } from "vega-lite";
import { parse, View } from "vega";

/** One value of one line of one panel. */
export interface Reading {
  panel: string;
  line: string;
  x: number;
  y: number;
}

/** What is measured over what. Where `isLog`, `x` grows by factors. */
export interface Axis {
  title: string;
  isLog: boolean;
}

const PANEL = { width: 300, height: 190 };

/**
 * An SVG of one panel for each name in `readings`, side by side, each with a scale of its own that begins
 * at 0.
 */
export function drawCurves(title: string, axis: Axis, readings: readonly Reading[]): Promise<string> {
  const spec: TopLevelSpec = {
    title,
    background: "white",
    data: { values: [...readings] },
    facet: { column: { field: "panel", type: "nominal", title: null, sort: null } },
    spec: {
      ...PANEL,
      mark: { type: "line", point: true },
      encoding: {
        x: {
          field: "x",
          type: "quantitative",
          title: axis.title,
          scale: { type: axis.isLog ? "log" : "linear" },
          axis: { tickCount: 6, format: ",d" },
        },
        y: { field: "y", type: "quantitative", title: null, axis: { format: ",.2~f" } },
        color: { field: "line", type: "nominal", title: null, sort: null },
      },
    },
    resolve: { scale: { y: "independent" } },
  };
  return new View(parse(compile(spec).spec), { renderer: "none" }).toSVG();
}
