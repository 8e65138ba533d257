import { Type } from "@sinclair/typebox";
import { invalid } from "../../core/errors.ts";
import { limit } from "../../core/limits.ts";
import type { Account } from "../../core/model.ts";
import { PLAN_DEFAULT } from "../../core/plans.ts";
import {
  accountExample,
  accountShape,
  createdAccountExample,
  createdAccountOf,
  createdAccountShape,
  createdProjectExample,
  createdProjectOf,
  createdProjectShape,
  describeAccount,
  fieldsOf,
  findResident,
  MOVED,
  requireResident,
  findAccount,
  modeShape,
} from "./account-shape.ts";
import { commitChange } from "../framework/commit.ts";
import { listShape, pageOf, pagingQuery } from "../shared/paging.ts";
import { type AnyRoute, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";
import { nameText } from "../shared/shapes.ts";

/** What the operator does: accounts, their plans and projects. */
export function operatorRoutes(services: Needs<"ids" | "cell" | "tenants" | "meter" | "actors">): AnyRoute[] {
  return [
    createAccount(services),
    listAccounts(services),
    readAccount(services),
    changeAccount(services),
    createProject(services),
  ];
}

const SHARED = { tag: "Operator", access: "operator", budget: "none" } as const;

const nameShape = nameText(limit("nameLengthMax"));

const UNKNOWN_PLAN = { invalid_request: "Fields are wrong, or there is no such plan." };

function createAccount(services: Needs<"ids" | "cell" | "tenants" | "meter">): AnyRoute {
  const { tenants } = services;
  return route({
    ...SHARED,
    method: "POST",
    path: "/v1/operator/accounts",
    operationId: "createAccount",
    audit: { action: "account.created", object: "account" },
    summary: "Create an account",
    description: "With a live and a test project, and a full key for each, shown here only.",
    body: Type.Object(
      {
        name: nameShape,
        plan: Type.Optional(Type.String({ default: PLAN_DEFAULT, description: PLAN_TEXT })),
      },
      { additionalProperties: false },
    ),
    bodyExample: { name: "Acme", plan: "free" },
    secretFields: ["projects.api_key"],
    answers: {
      201: { description: "The account.", schema: createdAccountShape, example: createdAccountExample },
    },
    refuses: UNKNOWN_PLAN,
    handle(context) {
      const { name, plan = PLAN_DEFAULT } = context.body;
      requirePlan(services, plan);
      return commitChange(context, {
        write: () => tenants.insertAccount({ name, plan }),
        answer: ({ account, live, test }) => ({
          status: 201,
          json: createdAccountOf(services, account, [live, test]),
          audited: { scope: account.id },
        }),
        remember: (made) => tenants.rememberNewAccount(made),
      });
    },
  });
}

const PLAN_TEXT = "`free`, `pro`, `unlimited`, or a row of the setting SEALPOST_PLANS.";

function requirePlan({ meter }: Needs<"meter">, plan: string): void {
  if (!meter.hasPlan(plan)) throw invalid("/plan", `Expected one of ${meter.planNames.join(", ")}.`);
}

function listAccounts(services: Needs<"ids" | "cell" | "tenants" | "meter">): AnyRoute {
  const { tenants } = services;
  return route({
    ...SHARED,
    method: "GET",
    path: "/v1/operator/accounts",
    operationId: "listAccounts",
    summary: "List accounts",
    description: "Newest first, with their projects and this month's usage.",
    query: Type.Object(pagingQuery, { additionalProperties: false }),
    answers: { 200: { description: "A page of accounts.", ...listShape(accountShape, accountExample) } },
    handle: (context) =>
      pageOf(services, "acct", context, {
        rows: (before) => tenants.accountShelf.below(before),
        show: (account) => describeAccount(services, account),
      }),
  });
}

function readAccount(services: Needs<"ids" | "cell" | "tenants" | "meter">): AnyRoute {
  return route({
    ...SHARED,
    method: "GET",
    path: "/v1/operator/accounts/:id",
    operationId: "getAccount",
    summary: "Read an account",
    answers: { 200: { description: "The account.", schema: accountShape, example: accountExample } },
    handle: ({ params }) => ({
      status: 200,
      json: describeAccount(services, findAccount(services, params.id)),
    }),
  });
}

function changeAccount(services: Needs<"ids" | "cell" | "tenants" | "meter" | "actors">): AnyRoute {
  const { tenants } = services;
  return route({
    ...SHARED,
    method: "PATCH",
    path: "/v1/operator/accounts/:id",
    operationId: "updateAccount",
    audit: { action: "account.updated", object: "account" },
    summary: "Change an account's name or plan, or suspend it",
    description:
      "At once. While it is suspended its keys are answered 401 and its sources 503; its deliveries wait, and lose nothing. " +
      "Meanwhile no endpoint is disabled, and nothing expires that a poller did not fetch. From the end of it on, and from a change " +
      "of the plan, endpoints that fail have five days again.",
    body: Type.Object(
      {
        name: Type.Optional(nameShape),
        plan: Type.Optional(Type.String({ description: PLAN_TEXT })),
        suspended: Type.Optional(Type.Boolean()),
      },
      { additionalProperties: false },
    ),
    bodyExample: { plan: "pro" },
    answers: {
      200: {
        description: "The account as it now is.",
        schema: accountShape,
        example: { ...accountExample, plan: "pro" },
      },
    },
    refuses: { ...UNKNOWN_PLAN, conflict: MOVED },
    handle(context) {
      const { id } = findResident(services, context.params.id);
      if (context.body.plan !== undefined) requirePlan(services, context.body.plan);
      return commitChange(context, {
        write() {
          requireResident(services, id);
          return tenants.updateAccount(id, (current) => changed(services, current, context.body));
        },
        answer: ({ made, before }) => ({
          status: 200,
          json: describeAccount(services, made),
          audited: { scope: id, before: fieldsOf(services, before), after: fieldsOf(services, made) },
        }),
        remember: ({ made }) => tenants.rememberAccount(made),
      });
    },
  });
}

function createProject(services: Needs<"ids" | "tenants">): AnyRoute {
  const { tenants } = services;
  return route({
    ...SHARED,
    method: "POST",
    path: "/v1/operator/accounts/:id/projects",
    operationId: "createProject",
    audit: { action: "project.created", object: "project" },
    summary: "Add a project to an account",
    description: "With a full key, shown here only.",
    body: Type.Object({ name: nameShape, mode: modeShape }, { additionalProperties: false }),
    bodyExample: { name: "Shop", mode: "live" },
    answers: {
      201: {
        description: "The project.",
        schema: createdProjectShape,
        example: { ...createdProjectExample, name: "Shop" },
      },
    },
    refuses: { conflict: MOVED },
    handle(context) {
      const { id } = findResident(services, context.params.id);
      const { name, mode } = context.body;
      return commitChange(context, {
        write() {
          requireResident(services, id);
          return tenants.insertProject(id, name, mode);
        },
        answer: (made) => ({
          status: 201,
          json: createdProjectOf(services, made),
          audited: { scope: id },
        }),
        remember: (made) => tenants.rememberNewProject(made),
      });
    },
  });
}

/** What is changed of an account, and when what may have held it back has ended with that. */
function changed(
  { actors }: Needs<"actors">,
  current: Account,
  change: Partial<Pick<Account, "name" | "plan" | "suspended">>,
): Partial<Account> {
  const resumes = current.suspended && change.suspended === false;
  const isOther = change.plan !== undefined && change.plan !== current.plan;
  return resumes || isOther ? { ...change, openedAt: actors.clock.now() } : change;
}
