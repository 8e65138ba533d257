import type { Incoming } from "../../src/pipeline/pipeline.ts";
import type { Simulation } from "./run.ts";
import { CONSUMERS, TYPES, wantsType } from "./scenario.ts";

/** Of events that a provider sent: they wait where the plan is used up, while publishing is refused. */
const SOURCE = 1;

/** Publishes events, and remembers what was acknowledged and who had to get it. */
export class Publishing {
  #marks = 0;

  constructor(private readonly run: Simulation) {}

  /**
   * One event, or some in one transaction; of this consumer in this project, or of any; the first by this
   * `external_id`, where there is one.
   */
  publish(
    of: { projectId: number; consumerId: string | null } | null = null,
    externalId: string | null = null,
  ): void {
    const { run } = this;
    const { pipeline, data } = run.process;
    const projectId = of?.projectId ?? run.rng.pick(run.projects);
    const sourceId = run.rng.chance(0.5) ? SOURCE : null;
    const count = run.rng.chance(0.3) ? 2 + run.rng.below(5) : 1;
    const events = Array.from({ length: count }, () =>
      this.#make(projectId, of ? of.consumerId : run.rng.pick(CONSUMERS), sourceId),
    );
    if (externalId !== null && events[0]) events[0].incoming.externalId = externalId;
    const isLost = run.erasures.answered();
    const preparing = Promise.try(() =>
      pipeline.prepare(
        projectId,
        events.map(({ incoming }) => incoming),
      ),
    );
    const acknowledged = preparing.then((prepared) =>
      prepared.commitAndDispatch((write) => data.store.writeFor(projectId, write)),
    );
    void acknowledged.then((accepted) => {
      accepted.forEach(({ event, duplicate }, at) => {
        const { type, consumerId } = event;
        const made = events[at];
        if (duplicate && isLost(event))
          run.violate("a publish is answered with an event whose erasure was answered before");
        if (made && !duplicate) run.outside.acked.set(event.id, { ...made, projectId, type, consumerId });
      });
    }, run.refused);
  }

  #make(projectId: number, consumerId: string | null, sourceId: number | null) {
    const { rng, world } = this.run;
    const type = rng.pick(TYPES);
    const mark = `m${++this.#marks}`;
    const incoming: Incoming = {
      type,
      timestamp: world.wall,
      data: `{"mark":"${mark}"}`,
      consumerId,
      externalId: rng.chance(0.2) ? `ext-${rng.below(5)}` : null,
      sourceId,
      isTest: false,
      hops: 0,
      trace: null,
    };
    const plannedAfter = this.run.process.data.store.keys.last;
    return { incoming, mark, plannedAfter, expected: this.#audience(projectId, type, consumerId) };
  }

  /** Endpoints that must get such an event, if nobody deletes them meanwhile, or gives them away. */
  #audience(projectId: number, type: string, consumerId: string | null): Set<number> {
    const all = [...this.run.process.data.endpoints.ofProject(projectId).below()];
    const wanted = all.filter(
      (endpoint) =>
        wantsType(endpoint, type) && (endpoint.consumerId === null || endpoint.consumerId === consumerId),
    );
    return new Set(wanted.map(({ id }) => id));
  }
}
