import { expect } from "bun:test";
import fc from "fast-check";
import type { Endpoint } from "../../src/core/model.ts";
import { BUILT_IN_PLANS } from "../../src/core/plans.ts";
import { OPERATOR_TOKEN } from "../http/kit.ts";
import { type Api, startApi } from "../http/log-kit.ts";
import { Releaser } from "../../src/pipeline/releaser.ts";
import { SetClock } from "./clock.ts";

const PLANS = {
  ...BUILT_IN_PLANS,
  none: { deliveries: 0, blocks: true, retentionDays: 7 },
  one: { deliveries: 1, blocks: true, retentionDays: 7 },
  two: { deliveries: 2, blocks: true, retentionDays: 7 },
  week: { deliveries: null, blocks: false, retentionDays: 7 },
};

/** What the service holds an account back by, or nothing, for how long. */
export interface Held {
  by: "nothing" | "suspension" | "plan";
  days: number;
}

/** Things that follow each other. */
export const courses = fc.array(
  fc.record<Held>({
    by: fc.constantFrom("nothing", "nothing", "suspension", "plan"),
    days: fc.constantFrom(1, 2, 3, 6),
  }),
  { minLength: 1, maxLength: 8 },
);

/** The API under a clock, with what tests of an account do whose deliveries the service holds back. */
export class HeldBack implements AsyncDisposable {
  readonly releaser: Releaser;

  private constructor(
    readonly clock: SetClock,
    readonly api: Api,
  ) {
    this.releaser = new Releaser(api.data, api.services.actors, clock);
  }

  /** Ten days before the month turns. */
  static async open(): Promise<HeldBack> {
    const clock = new SetClock(Date.UTC(2026, 10, 20));
    return new HeldBack(clock, await startApi({}, clock, PLANS));
  }

  async operate(change: { plan?: string; suspended?: boolean }): Promise<void> {
    const { api } = this;
    const accountId = api.data.ids.encode("acct", api.callers.get("full")?.accountId ?? 0);
    const reply = await api.call("PATCH", `/v1/operator/accounts/${accountId}`, change, OPERATOR_TOKEN);
    expect(reply.status).toBe(200);
  }

  /** What a provider sent, which waits where the plan is used up: the keys of its deliveries to `to`. */
  async receive(count: number, to: Endpoint): Promise<number[]> {
    const { api, clock } = this;
    const projectId = api.callers.get("full")?.projectId ?? 0;
    const more = { consumerId: null, externalId: null, sourceId: 1, isTest: false, hops: 0, trace: null };
    const one = { type: "a.b", timestamp: clock.now(), data: "{}", ...more };
    const found: number[] = [];
    for (let n = 0; n < count; n++) {
      const prepared = await api.services.pipeline.prepare(projectId, [one]);
      const [accepted] = await prepared.commitAndDispatch((run) => api.data.store.write(run));
      found.push(api.data.deliveries.findOf(accepted?.event.id ?? 0, to.id)?.id ?? 0);
    }
    return found;
  }

  statusesOf(ids: readonly number[]) {
    return ids.map((id) => this.api.data.deliveries.get(id)?.status);
  }

  /** One thing after the other, each for so many days; `pass` is what the job does in that time. */
  async holdBack({ by, days }: Held, pass: (days: number) => Promise<void>): Promise<void> {
    if (by === "suspension") await this.operate({ suspended: true });
    if (by === "plan") await this.operate({ plan: "none" });
    await pass(days);
    if (by === "suspension") await this.operate({ suspended: false });
    if (by === "plan") await this.operate({ plan: "week" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.releaser.stop();
    await this.api[Symbol.asyncDispose]();
  }
}
