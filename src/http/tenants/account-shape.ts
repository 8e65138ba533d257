import { type Static, Type } from "@sinclair/typebox";
import { notFound, Problem } from "../../core/errors.ts";
import { keyTime } from "../../core/ids.ts";
import type { Account, Project } from "../../core/model.ts";
import { monthText } from "../../core/plans.ts";
import { isAway, type NewProject } from "../../store/resources/tenants.ts";
import type { Needs } from "../framework/services.ts";
import { nullable, oneOf, shownOnce, timeShape, timeText } from "../shared/shapes.ts";

/** Accounts as the operator sees them. */

export const modeShape = oneOf(["live", "test"], {
  description: "Traffic of a test project is never metered.",
});

const projectFields = { id: Type.String(), name: Type.String(), mode: modeShape, created_at: timeShape };

const withKey = {
  ...projectFields,
  api_key: shownOnce("A key with scope `full`."),
};

export const createdProjectShape = Type.Object(withKey, { $id: "CreatedProject" });

const usageShape = Type.Object({
  month: Type.String({ description: "In UTC." }),
  deliveries: Type.Integer({ description: "Metered so far." }),
  limit: nullable(Type.Integer(), "What the plan includes; null: no limit."),
  remaining: nullable(Type.Integer(), "Of the limit."),
  overage: Type.Integer({ description: "Above the limit of a plan that goes on, to be billed." }),
});

const accountFields = {
  id: Type.String(),
  name: Type.String(),
  plan: Type.String(),
  suspended: Type.Boolean(),
  moved_to: nullable(
    Type.String(),
    "The cell in which it lives, or which knows where; null: this one. What is left of it here is removed.",
  ),
  lived_in: nullable(
    Type.String(),
    "This cell, where the account lives or has lived in it; null: it only began with a copy in which the account was.",
  ),
  created_at: timeShape,
};

export const accountShape = Type.Object(
  {
    ...accountFields,
    projects: Type.Array(Type.Object(projectFields, { $id: "AccountProject" })),
    usage: Type.Object(usageShape.properties, { description: "This month's." }),
  },
  { $id: "Account" },
);

export const createdAccountShape = Type.Object(
  { ...accountFields, projects: Type.Array(createdProjectShape) },
  { $id: "CreatedAccount" },
);

export type AccountAnswer = Static<typeof accountShape>;

export const createdProjectExample: Static<typeof createdProjectShape> = {
  id: "proj_01KAHM8ZZZ00K1M2N3P4Q5R6S7",
  name: "live",
  mode: "live",
  created_at: "2026-11-20T08:00:00.000Z",
  api_key: "sp_live_00kY3t…",
};

const accountExampleFields = {
  id: "acct_01KAHM8ZZZ00B5C1D7E9F3G6HJ",
  name: "Acme",
  plan: "free",
  suspended: false,
  moved_to: null,
  lived_in: "00",
  created_at: "2026-11-20T08:00:00.000Z",
};

export const createdAccountExample: Static<typeof createdAccountShape> = {
  ...accountExampleFields,
  projects: [
    createdProjectExample,
    {
      ...createdProjectExample,
      id: "proj_01KAHM8ZZZ00M2N3P4Q5R6S7T8",
      name: "test",
      mode: "test",
      api_key: "sp_test_00b7Qx…",
    },
  ],
};

const { api_key: _, ...projectExample } = createdProjectExample;

export const accountExample: AccountAnswer = {
  ...accountExampleFields,
  projects: [projectExample],
  usage: { month: "2026-11", deliveries: 1204, limit: 10_000, remaining: 8796, overage: 0 },
};

export function fieldsOf(
  { ids, cell }: Needs<"ids" | "cell">,
  account: Account,
): Omit<AccountAnswer, "projects" | "usage"> {
  return {
    id: ids.encode("acct", account.id),
    name: account.name,
    plan: account.plan,
    suspended: account.suspended,
    moved_to: account.movedTo?.cell ?? null,
    lived_in: account.movedTo?.machines.length === 0 ? null : cell,
    created_at: timeText(keyTime(account.id)),
  };
}

function projectOf({ ids }: Needs<"ids">, { id, name, mode }: Project): AccountAnswer["projects"][number] {
  return { id: ids.encode("proj", id), name, mode, created_at: timeText(keyTime(id)) };
}

export function accountOf(
  services: Needs<"ids" | "cell" | "meter">,
  account: Account,
  projects: readonly Project[],
): AccountAnswer {
  const { month, ...numbers } = services.meter.standing(account);
  return {
    ...fieldsOf(services, account),
    projects: projects.map((project) => projectOf(services, project)),
    usage: { month: monthText(month), ...numbers },
  };
}

/** Holds keys that are shown once. */
export function createdProjectOf(
  services: Needs<"ids">,
  { project, token }: NewProject,
): Static<typeof createdProjectShape> {
  return { ...projectOf(services, project), api_key: token };
}

/** Holds keys that are shown once. */
export function createdAccountOf(
  services: Needs<"ids" | "cell">,
  account: Account,
  projects: readonly NewProject[],
): Static<typeof createdAccountShape> {
  return {
    ...fieldsOf(services, account),
    projects: projects.map((project) => createdProjectOf(services, project)),
  };
}

/** Undefined for an id that is malformed or unknown. */
export function lookUpAccount({ ids, tenants }: Needs<"ids" | "tenants">, id: string): Account | undefined {
  const key = ids.decode("acct", id);
  return key === null ? undefined : tenants.account(key);
}

/** The same; throws 404. */
export function findAccount(services: Needs<"ids" | "tenants">, id: string): Account {
  const account = lookUpAccount(services, id);
  if (account === undefined) throw notFound("account");
  return account;
}

/** As the operator sees it. */
export function describeAccount(services: Needs<"ids" | "cell" | "tenants" | "meter">, account: Account) {
  const newestFirst = services.tenants.projectsOf(account.id).below();
  return accountOf(services, account, [...newestFirst].toReversed());
}

export const MOVED = "The account lives in another cell by now, or moves to one.";

/** The same; throws 409 where it does not live here. */
export function findResident(services: Needs<"ids" | "tenants">, id: string): Account {
  const account = findAccount(services, id);
  requireResident(services, account.id);
  return account;
}

/** Throws 409. Inside a write too: an account may leave at any moment before. */
export function requireResident({ tenants }: Needs<"tenants">, accountId: number): void {
  const account = tenants.account(accountId);
  const residence = account === undefined ? "here" : tenants.residence(account);
  if (!isAway(residence)) return;
  const where =
    residence === "moving"
      ? "moves to another cell at the moment"
      : `lives in cell ${residence.cell}: ask that one`;
  throw new Problem("conflict", `The account ${where}.`);
}
