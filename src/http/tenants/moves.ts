import { type Static, Type } from "@sinclair/typebox";
import { invalid, Problem, unavailable } from "../../core/errors.ts";
import { CELL_FORM, MACHINE_FORM, MACHINES_MAX } from "../../core/ids.ts";
import { limit } from "../../core/limits.ts";
import type { Account, MovedTo } from "../../core/model.ts";
import { finishDepartures } from "../../maintenance/elsewhere.ts";
import { installationOf } from "../../store/identity.ts";
import { nameCell } from "../../store/moving.ts";
import { accountExample, accountShape, describeAccount, lookUpAccount } from "./account-shape.ts";
import { type Answer, type AnyRoute, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";

type MoveNeeds = Needs<
  | "ids"
  | "tenants"
  | "sourceStats"
  | "meter"
  | "actors"
  | "store"
  | "meta"
  | "audit"
  | "confirmations"
  | "cell"
  | "monotonic"
>;

const LOOK_MS = 20;
const RETRY_SECONDS = 10;

/** Accounts leave this cell for another one. */
export function moveRoutes(services: MoveNeeds): AnyRoute[] {
  return [moveAccounts(services)];
}

const moveShape = Type.Object(
  {
    accounts: Type.Array(Type.String(), {
      minItems: 1,
      maxItems: limit("accountsMovedMax"),
      description: "Their ids.",
    }),
    cell: Type.String({
      pattern: CELL_FORM.source,
      description: "The two characters of the other cell.",
    }),
    machines: Type.Array(Type.String({ pattern: MACHINE_FORM.source, maxLength: 300 }), {
      minItems: 1,
      maxItems: MACHINES_MAX,
      description: "`host:port` of its machine, or of each machine of its pair.",
    }),
    installation: Type.Optional(
      Type.String({
        maxLength: 64,
        description: "Of the copy that the other cell follows, as its `/readyz` tells it.",
      }),
    ),
    taker: Type.Optional(
      Type.String({
        maxLength: 64,
        description:
          "The machine that takes them, as its `/readyz` tells it; left out, any that waits as that cell.",
      }),
    ),
  },
  { additionalProperties: false },
);

function moveAccounts(services: MoveNeeds): AnyRoute {
  return route({
    method: "POST",
    path: "/v1/operator/moves",
    operationId: "moveAccounts",
    tag: "Operator",
    access: "operator",
    budget: "none",
    audit: "Each account's log says where it has gone.",
    summary: "Move accounts to another cell",
    description:
      "All of them or none. Nothing of theirs is sent any more, and once what is under way has ended, or after 35 s, nothing is taken " +
      "either: for a second or so, or until all has ended, their callers get 503. From the answer on they live in the other cell, which takes them from this one's replica " +
      "(`sealpost cells take`), and what still comes here for them is passed on to its machines. `sealpost cells move` calls this, and " +
      "sees before that the other cell waits. Said again it changes the machines.",
    body: moveShape,
    bodyExample: { accounts: [accountExample.id], cell: "2B", machines: ["10.0.0.7:8080"] },
    answers: {
      200: {
        description: "The accounts, which live in the other cell now.",
        schema: Type.Object({ data: Type.Array(Type.Ref(accountShape)) }, { $id: "MovedAccounts" }),
        example: { data: [{ ...accountExample, moved_to: "2B" }] },
      },
    },
    refuses: {
      conflict:
        "An account has moved to another cell already, or moves at the moment; others have moved to that cell before; or it follows another cell than this one.",
      invalid_request: "Fields are wrong, there is no such account, or it is this cell.",
      replica_unavailable:
        "This cell has no replica that the other one could read; or the accounts have left, and it has not confirmed that yet.",
      unavailable: "Attempts of these accounts were under way for too long: nothing has moved.",
    },
    handle: ({ body }) => move(services, body),
  });
}

async function move(
  services: MoveNeeds,
  { accounts, cell, machines, installation, taker }: Static<typeof moveShape>,
): Promise<Answer> {
  if (cell === services.cell || services.ids.hasBeen(cell))
    throw invalid(
      "/cell",
      "Expected another cell than this one, and than those whose accounts it began with.",
    );
  const leaving = accounts.map((id, at) => requireAccount(services, id, at));
  for (const { movedTo } of leaving) {
    if (movedTo !== null && movedTo.cell !== cell)
      throw new Problem("conflict", `An account lives in cell ${movedTo.cell} by now: ask that one.`);
  }
  if (installation !== undefined && installation !== installationOf(services.store.sqlite))
    throw new Problem("conflict", "The other cell follows the replica of another cell than this one.");
  services.confirmations.requireReached();
  const ids = [...new Set(leaving.map(({ id }) => id))];
  await letGo(services, ids, { cell, machines, isOnDisk: false, taker: taker ?? null, hasArrived: false });
  await untilConfirmed(services);
  return { status: 200, json: { data: ids.map((id) => describeById(services, id)) } };
}

function requireAccount(services: MoveNeeds, id: string, at: number): Account {
  const account = lookUpAccount(services, id);
  if (account === undefined) throw invalid(`/accounts/${at}`, "There is no such account.");
  return account;
}

function describeById(services: MoveNeeds, id: number) {
  const account = services.tenants.account(id);
  if (account === undefined) throw new Error("an account is gone");
  return describeAccount(services, account);
}

/** Resolves once the accounts are on disk as moved. Throws where they go on here. */
async function letGo(services: MoveNeeds, ids: readonly number[], to: MovedTo): Promise<void> {
  const { monotonic, store, tenants } = services;
  if (!tenants.beginMove(ids)) throw new Problem("conflict", "An account moves at the moment.");
  try {
    const until = monotonic() + limit("moveWaitMs");
    // Half of the time is for attempts that were under way, and the other half for tests: those may begin
    // until their callers are refused.
    await untilStill(services, ids, until - limit("moveWaitMs") / 2);
    tenants.refuseCallers(ids);
    // A retry by hand that came before may still wait for the disk, and begin its attempt after that.
    await store.write(() => {});
    await writeDownCounted(services);
    if (!(await untilStill(services, ids, until))) throw stillBusy();
    const moved = await store.write(() => {
      requireOneDeparture(services, ids, to);
      // A test that was let in before may have begun.
      if (services.actors.isBusy(ids)) throw stillBusy();
      nameCell(services.meta, services.cell);
      return ids.map((id) => writeMovedTo(services, id, to));
    });
    for (const account of moved) tenants.rememberAccount(account);
    await finishDepartures(services);
  } finally {
    tenants.endMove(ids);
  }
}

/** What is kept in memory for a while. A full disk refuses it, and then the move too. */
async function writeDownCounted({ sourceStats, tenants }: MoveNeeds): Promise<void> {
  await sourceStats.writeDown();
  await tenants.saveLastUse();
}

/** Inside a write. */
function writeMovedTo(services: MoveNeeds, id: number, to: MovedTo): Account {
  const { made, before } = services.tenants.updateAccount(id, ({ movedTo }) => {
    // Said again without a name, it is still for the machine that was named; for another one it begins anew.
    const taker = to.taker ?? movedTo?.taker ?? null;
    const isOnDisk = movedTo !== null && movedTo.isOnDisk && movedTo.taker === taker;
    return { movedTo: { ...to, taker, isOnDisk, hasArrived: movedTo?.hasArrived ?? false } };
  });
  services.audit.add({
    scope: id,
    actor: { kind: "operator", id: null },
    action: "account.moved",
    object: { kind: "account", id: services.ids.encode("acct", id) },
    changes: { moved_to: { from: before.movedTo?.cell ?? null, to: to.cell } },
    consumerId: null,
  });
  return made;
}

/** Resolves once no attempt of theirs is under way, or on its way to the disk; with false after `until`. */
async function untilStill(
  { actors, monotonic }: MoveNeeds,
  ids: readonly number[],
  until: number,
): Promise<boolean> {
  while (actors.isBusy(ids)) {
    if (monotonic() >= until) return false;
    await Bun.sleep(LOOK_MS);
  }
  return true;
}

function stillBusy(): Problem {
  return unavailable("Attempts are under way that do not end. Nothing has moved.", RETRY_SECONDS);
}

/**
 * Throws 409 where accounts have moved to that cell already and these have not: it has taken its copy, or may
 * take it at this moment, and would never know of these.
 */
function requireOneDeparture({ tenants }: MoveNeeds, ids: readonly number[], { cell }: MovedTo): void {
  const isNew = ids.some((id) => tenants.account(id)?.movedTo === null);
  const hasBegun = [...tenants.accounts()].some(({ movedTo }) => movedTo?.cell === cell);
  if (isNew && hasBegun)
    throw new Problem(
      "conflict",
      `Accounts have moved to cell ${cell} already: a cell takes accounts once. Begin another one, which may run beside it.`,
    );
}

/** From here on only the upload is missing, which no failure of this request takes back. */
async function untilConfirmed({ confirmations }: MoveNeeds): Promise<void> {
  try {
    await confirmations.confirm(0, () => {});
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const detail =
      "The accounts have left, and the replica has not confirmed it in time. The other cell has them once it does.";
    throw new Problem("replica_unavailable", detail, { headers: { "retry-after": String(RETRY_SECONDS) } });
  }
}
