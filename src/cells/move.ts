import { messageOf } from "../core/errors.ts";
import { StartError } from "../platform/start-error.ts";
import { askMachine } from "../transport/machines.ts";
import type { Cell } from "./list.ts";
import { askCell } from "./operator.ts";
import { WAITS_AS } from "./take.ts";

/**
 * Moves accounts from the cell in which they live to one that waits for them. Said again it goes on where it
 * was, and tells the old cell the machines of the new one.
 */

const LOOK_MS = 200;
const ARRIVAL_MS_MAX = 60_000;
/** Whether an account lives somewhere, and whether a machine waits, is answered from memory. */
const ASK_MS = 2000;
/** Attempts that are under way come to their end first (`moveWaitMs`), and the replica confirms. */
const MOVE_MS = 90_000;

interface Parts {
  cells: readonly Cell[];
  token: string;
  accounts: readonly string[];
  to: string;
}

/** What a move came to. */
export interface Moved {
  from: string;
  to: string;
  /** From the call until the other cell answered for them. */
  seconds: number;
}

/** Throws StartError where nothing has moved, or where the other cell does not answer in time. */
export async function moveAccounts({ cells, token, accounts, to }: Parts): Promise<Moved> {
  const target = cells.find(({ cell }) => cell === to);
  if (target === undefined) throw new StartError(`The list of cells has no cell ${to}.`);
  const { machines } = target;
  const isThere = await allLiveIn(target, token, accounts);
  const waiting = isThere ? {} : await requireWaiting(target);
  const from = await findOldCell(cells, token, { accounts, to, isThere });
  const began = performance.now();
  try {
    const body = { accounts, cell: to, machines, ...waiting };
    await askCell(from, token, { method: "POST", path: "/v1/operator/moves", body, timeoutMs: MOVE_MS });
  } catch (error) {
    // It may be the answer alone that was lost, or late.
    if (!(await haveAllLeft(from, token, { accounts, to })))
      throw new StartError(`Cell ${from.cell} does not let them go: ${messageOf(error)}`);
  }
  await untilAllLiveIn(target, token, accounts);
  return { from: from.cell, to, seconds: Math.round((performance.now() - began) / 100) / 10 };
}

/** What the machine that waits says of itself, for the old cell. */
interface WaitingMachine {
  /** Whose copy it has. */
  installation: string;
  taker: string;
}

/** Before anything is moved: whoever takes the accounts has to be there, alone. */
async function requireWaiting({ cell, machines }: Cell): Promise<WaitingMachine> {
  const said = await Promise.all(machines.map(readyzOf));
  const all = said.filter((one) => one?.[WAITS_AS] === cell);
  const [waiting] = all;
  if (!waiting)
    throw new StartError(
      said.some((one) => one?.["status"] === "ready")
        ? `Cell ${cell} has begun already, and a cell takes accounts at its beginning alone: begin another one, which may run beside it.`
        : `No machine of cell ${cell} waits for accounts: start sealpost cells take --from URL there, on an empty data directory.`,
    );
  if (new Set(all.map((one) => one?.["taker"])).size > 1)
    throw new StartError(
      `Two machines of cell ${cell} wait for accounts: end one of them. Once the other has the accounts, make the two a pair.`,
    );
  const { installation, taker } = waiting;
  if (typeof installation === "string" && typeof taker === "string") return { installation, taker };
  throw new StartError(`The machine of cell ${cell} has no copy yet: try again in a moment.`);
}

async function readyzOf(machine: string): Promise<Record<string, unknown> | null> {
  try {
    const answer = await askMachine(machine, "/readyz", { timeoutMs: ASK_MS });
    return (await answer.json()) as Record<string, unknown>;
  } catch {
    return null;
  }
}

interface Leaving {
  accounts: readonly string[];
  to: string;
  /** True where all of them live in `to`, as its machines say. */
  isThere: boolean;
}

/** The cell in which all of them live, or from which they have left for `to`. */
async function findOldCell(cells: readonly Cell[], token: string, leaving: Leaving): Promise<Cell> {
  const found = await Promise.all(leaving.accounts.map((id) => oldCellOf(cells, token, { id, ...leaving })));
  const [first] = found;
  if (first === undefined || found.some((cell) => cell !== first))
    throw new StartError("The accounts live in different cells: move those of each cell by themselves.");
  return first;
}

async function oldCellOf(
  cells: readonly Cell[],
  token: string,
  { id, to, isThere }: { id: string; to: string; isThere: boolean },
): Promise<Cell> {
  const others = cells.filter(({ cell }) => cell !== to);
  const homes = await Promise.all(others.map((cell) => homeOf(cell, token, id)));
  const at = homes.indexOf("here");
  if (isThere && at >= 0)
    throw new StartError(
      `Cells ${others[at]?.cell} and ${to} both say that ${id} lives in them: do both name the same machine?`,
    );
  const old = others[at < 0 ? homes.indexOf(to) : at];
  if (old === undefined) throw new StartError(`No cell that answers has the account ${id}.`);
  return old;
}

/** Where an account lives, as a cell says: `here`, or another cell; null where it does not say. */
async function homeOf(cell: Cell, token: string, id: string): Promise<string | null> {
  try {
    const path = `/v1/operator/accounts/${encodeURIComponent(id)}`;
    const text = await askCell(cell, token, { path, timeoutMs: ASK_MS });
    return (JSON.parse(text) as { moved_to: string | null }).moved_to ?? "here";
  } catch {
    return null;
  }
}

async function haveAllLeft(
  from: Cell,
  token: string,
  { accounts, to }: Omit<Leaving, "isThere">,
): Promise<boolean> {
  const homes = await Promise.all(accounts.map((id) => homeOf(from, token, id)));
  return homes.every((home) => home === to);
}

async function allLiveIn(cell: Cell, token: string, accounts: readonly string[]): Promise<boolean> {
  const homes = await Promise.all(accounts.map((id) => homeOf(cell, token, id)));
  return homes.every((home) => home === "here");
}

async function untilAllLiveIn(target: Cell, token: string, accounts: readonly string[]): Promise<void> {
  const until = performance.now() + ARRIVAL_MS_MAX;
  while (performance.now() < until) {
    if (await allLiveIn(target, token, accounts)) return;
    await Bun.sleep(LOOK_MS);
  }
  throw new StartError(
    `The accounts have moved, and cell ${target.cell} does not answer for them yet: look at its log, and start it.`,
  );
}
