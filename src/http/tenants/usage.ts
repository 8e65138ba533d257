import { type Static, Type } from "@sinclair/typebox";
import type { Caller } from "../../core/caller.ts";
import { invalid, notFound } from "../../core/errors.ts";
import type { Account } from "../../core/model.ts";
import { type Month, monthAt, monthText, parseMonth } from "../../core/plans.ts";
import { readFilterId } from "../shared/paging.ts";
import { type Answer, type AnyRoute, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { idText, nullable, oneOf, shownAs, timeShape, timeText } from "../shared/shapes.ts";

/** What was delivered, for the account itself and for whoever bills it. */
export function usageRoutes(services: Needs<"store" | "ids" | "tenants" | "usage" | "meter">): AnyRoute[] {
  return [readUsage(services), exportUsage(services)];
}

const DAY_MS = 86_400_000;

const usageShape = Type.Object(
  {
    plan: Type.String(),
    period: Type.Object({ start: timeShape, end: timeShape }, { description: "A calendar month in UTC." }),
    deliveries: Type.Integer({
      description:
        "Metered so far, over all projects of the account: each delivery with its first attempt, and each replay.",
    }),
    limit: nullable(Type.Integer(), "What the plan includes; null: no limit."),
    remaining: nullable(
      Type.Integer(),
      "Of the limit, without what has been accepted already; null: no limit, or another month.",
    ),
    overage: Type.Integer({ description: "Above the limit of a plan that goes on." }),
    metered: Type.Boolean({ description: "False for a test project: it counts nothing." }),
    retention_days: Type.Integer({ description: "How long events are kept." }),
    body_retention_days: Type.Integer({ description: "How long what was sent and answered is kept." }),
    attempt_retention_days: Type.Integer({ description: "How long attempts are kept." }),
  },
  { $id: "Usage" },
);

const daysShape = Type.Object(
  {
    data: Type.Array(
      Type.Object({ day: Type.String({ format: "date" }), deliveries: Type.Integer() }, { $id: "UsageDay" }),
    ),
  },
  { $id: "UsageByDay" },
);

const usageExample: Static<typeof usageShape> = {
  plan: "free",
  period: { start: "2026-11-01T00:00:00.000Z", end: "2026-12-01T00:00:00.000Z" },
  deliveries: 1204,
  limit: 10_000,
  remaining: 8796,
  overage: 0,
  metered: true,
  retention_days: 7,
  body_retention_days: 7,
  attempt_retention_days: 7,
};

const MONTH_TEXT = { description: "In UTC; default: the month that it is.", examples: ["2026-11"] };

const monthParameter = Type.Optional(
  shownAs(
    Type.String(MONTH_TEXT),
    Type.String({ pattern: "^[1-9][0-9]{3}-(0[1-9]|1[0-2])$", ...MONTH_TEXT }),
  ),
);

function readMonth({ store }: Needs<"store">, text: string | undefined): Month {
  if (text === undefined) return monthAt(store.now());
  const month = parseMonth(text);
  if (month === null) throw invalid("month", "Expected a month such as 2026-11.");
  return month;
}

function readUsage(services: Needs<"store" | "ids" | "tenants" | "usage" | "meter">): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/usage",
    operationId: "getUsage",
    tag: "Usage",
    summary: "Read what was delivered this month, and what remains",
    description:
      "A delivery counts once, in the month of its first attempt over the network, whatever its retries; a replay counts once " +
      "more. Test projects and test events count nothing.",
    access: "owner_read",
    budget: "management",
    query: Type.Object(
      {
        by: Type.Optional(oneOf(["day"], { description: "Every day of the month up to today." })),
        project: Type.Optional(idText("proj", { description: "With `by=day`: only this project." })),
        month: monthParameter,
      },
      { additionalProperties: false },
    ),
    answers: {
      200: {
        description: "The month, or with `by=day` its days.",
        schema: Type.Union([usageShape, daysShape]),
        example: usageExample,
      },
    },
    handle({ caller, query }) {
      const month = readMonth(services, query.month);
      if (query.by === "day")
        return { status: 200, json: { data: daysOf(services, caller, month, query.project) } };
      if (query.project !== undefined) throw invalid("project", "This parameter goes with `by=day`.");
      return { status: 200, json: usageOf(services, caller, month) };
    },
  });
}

function usageOf(
  services: Needs<"tenants" | "meter">,
  caller: Caller,
  month: Month,
): Static<typeof usageShape> {
  const { meter } = services;
  const account = accountOf(services, caller);
  const metered = caller.mode === "live";
  const { deliveries, limit, remaining, overage } = meter.standing(account, month);
  const counted = metered
    ? { deliveries, limit, remaining, overage }
    : { deliveries: 0, limit: null, remaining: null, overage: 0 };
  const plan = meter.planOf(account);
  const { retentionDays, bodyRetentionDays = retentionDays, attemptRetentionDays = retentionDays } = plan;
  return {
    plan: account.plan,
    period: { start: timeText(month.start), end: timeText(month.end) },
    ...counted,
    metered,
    retention_days: retentionDays,
    body_retention_days: bodyRetentionDays,
    attempt_retention_days: attemptRetentionDays,
  };
}

function accountOf({ tenants }: Needs<"tenants">, { accountId }: Caller): Account {
  const account = tenants.account(accountId);
  if (account === undefined) throw notFound("account");
  return account;
}

function daysOf(
  services: Needs<"store" | "ids" | "usage">,
  caller: Caller,
  { start, end }: Month,
  project: string | undefined,
): Static<typeof daysShape>["data"] {
  const projectId = readFilterId(services, "proj", "project", project);
  const isOwn = projectId === null || projectId === caller.projectId;
  const counts = new Map<number, number>();
  if (isOwn && caller.mode === "live") {
    const rows = services.usage.days(caller.accountId, projectId, start, end);
    for (const { day, deliveries } of rows) counts.set(day, deliveries);
  }
  const until = Math.min(end, services.store.now() + 1);
  const days = Array.from(
    { length: Math.max(0, Math.ceil((until - start) / DAY_MS)) },
    (_, at) => start / DAY_MS + at,
  );
  return days.map((day) => ({
    day: new Date(day * DAY_MS).toISOString().slice(0, 10),
    deliveries: counts.get(day) ?? 0,
  }));
}

const lineExample = {
  account_id: "acct_01KAHM8ZZZ00B5C1D7E9F3G6HJ",
  plan: "pro",
  month: "2026-11",
  deliveries: 2_000_412,
  overage: 412,
};

function exportUsage(services: Needs<"store" | "ids" | "tenants" | "meter">): AnyRoute {
  return route({
    method: "GET",
    path: "/v1/operator/usage",
    operationId: "exportUsage",
    tag: "Operator",
    summary: "Export what each account delivered in a month",
    description:
      "One JSON object a line for each account that lives in this cell, oldest first, with the plan that it has now; for billing.",
    access: "operator",
    budget: "none",
    query: Type.Object({ month: monthParameter }, { additionalProperties: false }),
    answers: {
      200: {
        description: "`account_id`, `plan`, `month`, `deliveries`, `overage` on each line.",
        contentType: "application/x-ndjson",
        schema: Type.String(),
        example: `${JSON.stringify(lineExample)}\n`,
      },
    },
    async handle({ query, turns }): Promise<Answer> {
      const month = readMonth(services, query.month);
      let body = "";
      for (const account of [...services.tenants.accounts()]) {
        if (turns.isOver) await turns.next();
        if (account.movedTo !== null) continue;
        body += `${JSON.stringify(lineOf(services, account, month))}\n`;
      }
      return { status: 200, body, headers: { "content-type": "application/x-ndjson" } };
    },
  });
}

function lineOf({ ids, meter }: Needs<"ids" | "meter">, account: Account, month: Month): typeof lineExample {
  const { deliveries, overage } = meter.standing(account, month);
  return {
    account_id: ids.encode("acct", account.id),
    plan: account.plan,
    month: monthText(month),
    deliveries,
    overage,
  };
}
