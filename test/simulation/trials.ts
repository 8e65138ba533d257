import type { Caller } from "../../src/core/caller.ts";
import { Problem } from "../../src/core/errors.ts";
import type { Endpoint } from "../../src/core/model.ts";
import { endpointTestRoutes } from "../../src/http/endpoints/test-event.ts";
import type { RequestContext } from "../../src/http/framework/route.ts";
import type { Changes } from "./changes.ts";
import type { Simulation } from "./run.ts";

/** What a test is refused with where its endpoint is not to be tried any more, or nothing can be. */
const REFUSALS = ["conflict", "not_found", "rate_limited", "unavailable"];

/** Somebody tests an endpoint by the route of the API, and now and then ends the endpoint meanwhile. */
export class Trials {
  constructor(private readonly run: Simulation) {}

  one(changes: Pick<Changes, "disable" | "delete">): void {
    const { rng, endpoints, process } = this.run;
    const endpoint = process.data.endpoints.get(rng.pick(endpoints));
    if (!endpoint) return;
    this.#test(endpoint).catch((error: unknown) => {
      if (!(error instanceof Problem && REFUSALS.includes(error.code)))
        this.run.violate(`a test failed: ${String(error)}`);
    });
    if (this.run.receivers.calm || rng.chance(0.6)) return;
    const end = () => (rng.chance(0.2) ? changes.delete(endpoint.id) : changes.disable(endpoint.id));
    this.run.later(2 * rng.next(), end);
  }

  async #test({ id, projectId }: Endpoint): Promise<void> {
    const { data, actors, pipeline } = this.run.process;
    const [route] = endpointTestRoutes({ ...data, actors, pipeline, now: () => data.store.now() });
    const caller: Caller = {
      kind: "api_key",
      id: 1,
      projectId,
      accountId: this.run.accountId,
      mode: "live",
      scopes: ["full"],
      consumerId: null,
      manage: true,
      create: true,
    };
    const admitted = { beginChange: () => {}, requireAdmission: () => {} };
    const asked = { caller, params: { id: data.ids.encode("ep", id) }, body: {}, ...admitted };
    await route?.handle(asked as unknown as RequestContext);
  }
}
