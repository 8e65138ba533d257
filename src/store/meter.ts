import type { Account } from "../core/model.ts";
import { findPlan, type Month, monthAt, overageOf, type Plan, type Plans } from "../core/plans.ts";
import type { Store } from "./store.ts";
import type { Tenants } from "./tenants.ts";
import type { Usage } from "./usage.ts";

/** Where an account stands in a month. */
export interface Standing {
  month: Month;
  /** Metered so far. */
  deliveries: number;
  /** Included in the plan; null: no limit. */
  limit: number | null;
  /** Null: no limit. */
  remaining: number | null;
  /** Above what the plan includes, to be billed. */
  overage: number;
}

/** What each account may still deliver (contract section 2). */
export class Meter {
  constructor(
    private readonly store: Store,
    tenants: Tenants,
    private readonly usage: Usage,
    private readonly plans: Plans,
  ) {
    const unknown = new Set(
      [...tenants.accounts()].map(({ plan }) => plan).filter((plan) => !this.hasPlan(plan)),
    );
    if (unknown.size > 0)
      throw new Error(`accounts are on plans that SEALPOST_PLANS lacks: ${[...unknown].join(", ")}`);
  }

  hasPlan(name: string): boolean {
    return findPlan(this.plans, name) !== undefined;
  }

  get planNames(): string[] {
    return Object.keys(this.plans);
  }

  planOf(account: Account): Plan {
    const plan = findPlan(this.plans, account.plan);
    if (plan === undefined) throw new Error("an account is on a plan that does not exist");
    return plan;
  }

  /** Where the account stands in this month, or in another one. */
  standing(account: Account, month: Month = monthAt(this.store.now())): Standing {
    const plan = this.planOf(account);
    const deliveries = this.usage.total(account.id, month.start, month.end);
    const { deliveries: limit } = plan;
    const remaining = limit === null ? null : Math.max(0, limit - deliveries);
    return { month, deliveries, limit, remaining, overage: overageOf(plan, deliveries) };
  }
}
