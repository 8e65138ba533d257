import { type Static, Type } from "@sinclair/typebox";
import { invalid, Problem, unavailable } from "../../core/errors.ts";
import { CELL_FORM } from "../../core/ids.ts";
import { limit } from "../../core/limits.ts";
import type { Account, MovedTo } from "../../core/model.ts";
import { nameCell } from "../../store/moving.ts";
import { accountExample, accountShape, describe } from "./account-shape.ts";
import { type Answer, type AnyRoute, route } from "../framework/route.ts";
import type { Needs } from "../framework/services.ts";

type MoveNeeds = Needs<
  "ids" | "tenants" | "meter" | "actors" | "store" | "meta" | "audit" | "confirmations" | "cell" | "monotonic"
>;

/** A name or an address of IPv4 or, in brackets, IPv6, and a port. */
const MACHINE = "^([A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$";
const MACHINES_MAX = 16;
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
    machines: Type.Array(Type.String({ pattern: MACHINE, maxLength: 300 }), {
      minItems: 1,
      maxItems: MACHINES_MAX,
      description: "`host:port` of its machine, or of each machine of its pair.",
    }),
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
      "All of them or none. Nothing of theirs is sent any more, and once what is under way has ended nothing is taken either: for a " +
      "second or so their callers get 503. From the answer on they live in the other cell, which takes them from this one's replica " +
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
      conflict: "An account has moved to another cell already, or moves at the moment.",
      invalid_request: "Fields are wrong, there is no such account, or it is this cell.",
      replica_unavailable: "This cell has no replica that the other one could read.",
      unavailable: "Attempts of these accounts were under way for too long: nothing has moved.",
    },
    handle: ({ body }) => move(services, body),
  });
}

async function move(
  services: MoveNeeds,
  { accounts, cell, machines }: Static<typeof moveShape>,
): Promise<Answer> {
  if (cell === services.cell) throw invalid("/cell", "Expected another cell than this one.");
  const leaving = accounts.map((id, at) => requireAccount(services, id, at));
  for (const { movedTo } of leaving) {
    if (movedTo !== null && movedTo.cell !== cell)
      throw new Problem("conflict", `An account lives in cell ${movedTo.cell} by now: ask that one.`);
  }
  services.confirmations.requireReached();
  const ids = [...new Set(leaving.map(({ id }) => id))];
  await leave(services, ids, { cell, machines, isTaken: false });
  await services.confirmations.confirm(0, () => {});
  return { status: 200, json: { data: ids.map((id) => describeById(services, id)) } };
}

function requireAccount(services: MoveNeeds, id: string, at: number): Account {
  const key = services.ids.decode("acct", id);
  const account = key === null ? undefined : services.tenants.account(key);
  if (account === undefined) throw invalid(`/accounts/${at}`, "There is no such account.");
  return account;
}

function describeById(services: MoveNeeds, id: number) {
  const account = services.tenants.account(id);
  if (account === undefined) throw new Error("an account is gone");
  return describe(services, account);
}

/** Resolves once the accounts are on disk as moved. Throws where they go on here. */
async function leave(services: MoveNeeds, ids: readonly number[], to: MovedTo): Promise<void> {
  const { tenants, store } = services;
  if (!tenants.hold(ids)) throw new Problem("conflict", "An account moves at the moment.");
  try {
    await untilStill(services, ids);
    tenants.close(ids);
    // What was asked for by hand before may have been on its way to the disk.
    await store.write(() => {});
    await untilStill(services, ids);
    const moved = await store.write(() => {
      nameCell(services.meta, services.cell);
      return ids.map((id) => mark(services, id, to));
    });
    for (const account of moved) tenants.rememberAccount(account);
  } finally {
    tenants.release(ids);
  }
}

/** Inside a write. */
function mark(services: MoveNeeds, id: number, to: MovedTo): Account {
  const { made, before } = services.tenants.updateAccount(id, ({ movedTo }) => ({
    movedTo: { ...to, isTaken: movedTo?.isTaken ?? false },
  }));
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

/** Resolves once no attempt of theirs is under way, or on its way to the disk. Throws 503 beyond. */
async function untilStill({ actors, monotonic }: MoveNeeds, ids: readonly number[]): Promise<void> {
  const until = monotonic() + limit("moveWaitMs");
  while (actors.isBusy(ids)) {
    if (monotonic() >= until)
      throw unavailable("Attempts are under way that do not end. Nothing has moved.", RETRY_SECONDS);
    await Bun.sleep(LOOK_MS);
  }
}
