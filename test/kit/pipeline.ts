import type { Outlet } from "../../src/pipeline/outlet.ts";
import { Pipeline, type PipelineParts } from "../../src/pipeline/pipeline.ts";

/** The one door into these queues, which tells nobody what came in. */
export function makePipeline(data: PipelineParts["data"], outlet: Outlet): Pipeline {
  return new Pipeline({ data, outlet, onAccepted() {}, onExhausted() {}, onRefusedFilter() {} });
}
