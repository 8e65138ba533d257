/** What an account may deliver in a month, and how long what it sent is kept. */
export interface Plan {
  /** Included a month; null: no limit. */
  deliveries: number | null;
  /** True: at the limit nothing more is taken; false: it goes on and counts the overage. */
  blocks: boolean;
  retentionDays: number;
  /** Where bodies leave earlier than their events. */
  bodyRetentionDays?: number;
  /** Where attempts do. */
  attemptRetentionDays?: number;
}

/** Plans by name. */
export type Plans = Readonly<Record<string, Plan>>;

/** The one table of plans; the setting SEALPOST_PLANS overrides and adds rows. */
export const BUILT_IN_PLANS: Plans = {
  free: { deliveries: 10_000, blocks: true, retentionDays: 7 },
  pro: { deliveries: 2_000_000, blocks: false, retentionDays: 30 },
  unlimited: { deliveries: null, blocks: false, retentionDays: 30 },
};

export const PLAN_DEFAULT = "free";

/** Undefined where no plan has this name, whatever it is. */
export function findPlan(plans: Plans, name: string): Plan | undefined {
  return Object.hasOwn(plans, name) ? plans[name] : undefined;
}

/** Deliveries above what a plan includes: they are billed. A plan that blocks never bills. */
export function overageOf({ deliveries: included, blocks }: Plan, deliveries: number): number {
  return blocks || included === null ? 0 : Math.max(0, deliveries - included);
}

/** A calendar month in UTC, from its first instant to that of the next month. */
export interface Month {
  start: number;
  end: number;
}

export function monthAt(instant: number): Month {
  const day = new Date(instant);
  const [year, month] = [day.getUTCFullYear(), day.getUTCMonth()];
  return { start: Date.UTC(year, month), end: Date.UTC(year, month + 1) };
}

/**
 * The month that a text such as 2026-11 names; null where it names none, or one before the year 1000, or
 * one whose end has five digits of the year.
 */
export function parseMonth(text: string): Month | null {
  if (!/^[1-9]\d{3}-(0[1-9]|1[0-2])$/.test(text) || text === "9999-12") return null;
  return monthAt(Date.parse(`${text}-01T00:00:00Z`));
}

/** A month as people write it: 2026-11. */
export function monthText({ start }: Month): string {
  return new Date(start).toISOString().slice(0, 7);
}
