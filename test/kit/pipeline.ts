import { Unconfirmed } from "../../src/delivery/unconfirmed.ts";
import type { Outlet } from "../../src/pipeline/outlet.ts";
import { Pipeline, type PipelineParts } from "../../src/pipeline/pipeline.ts";
import { confirmationsBy, GateByHand } from "./replica-gate.ts";

type ReplicaParts = Pick<PipelineParts, "confirmations" | "unconfirmed">;

/** The one door into these queues, which tells nobody what came in. */
export function makePipeline(
  data: PipelineParts["data"],
  outlet: Outlet,
  replica: ReplicaParts = {
    confirmations: confirmationsBy(new GateByHand()),
    unconfirmed: new Unconfirmed(),
  },
): Pipeline {
  const listeners = { onAccepted() {}, onExhausted() {}, onRefusedFilter() {} };
  return new Pipeline({ data, outlet, ...replica, ...listeners });
}
