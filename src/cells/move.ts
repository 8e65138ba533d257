import { messageOf } from "../core/errors.ts";
import { StartError } from "../platform/start-error.ts";
import type { Cell } from "./list.ts";
import { type Ask, askCell } from "./operator.ts";
import { WAITS_AS } from "./take.ts";

/** Moves accounts from the cell in which they live to one that waits for them. */

const LOOK_MS = 200;
const READY_MS_MAX = 60_000;
const ASK_MS = 2000;

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
  await requireWaiting(target);
  const from = await findHome(cells, token, accounts);
  const { machines } = target;
  const began = performance.now();
  const ask: Ask = { method: "POST", path: "/v1/operator/moves", body: { accounts, cell: to, machines } };
  await askCell(from, token, ask).catch((error: unknown) => {
    throw new StartError(`Cell ${from.cell} does not let them go: ${messageOf(error)}`);
  });
  await untilAtHome(target, token, accounts);
  return { from: from.cell, to, seconds: Math.round((performance.now() - began) / 100) / 10 };
}

/** Before anything is moved: whoever takes the accounts has to be there. */
async function requireWaiting({ cell, machines }: Cell): Promise<void> {
  const said = await Promise.all(machines.map(readyzOf));
  const waiting = said.find((one) => one?.[WAITS_AS] === cell) ?? null;
  if (waiting === null)
    throw new StartError(
      `No machine of cell ${cell} waits for accounts: start sealpost cells take --from URL there, on an empty data directory.`,
    );
  if (waiting["behind_seconds"] === null)
    throw new StartError(`The machine of cell ${cell} has no copy yet: try again in a moment.`);
}

async function readyzOf(machine: string): Promise<Record<string, unknown> | null> {
  try {
    const signal = AbortSignal.timeout(ASK_MS);
    const answer = await fetch(`http://${machine}/readyz`, { signal, redirect: "error", proxy: false });
    return (await answer.json()) as Record<string, unknown>;
  } catch {
    return null;
  }
}

/** The cell in which all of them live. */
async function findHome(cells: readonly Cell[], token: string, accounts: readonly string[]): Promise<Cell> {
  const homes = await Promise.all(accounts.map((id) => homeOf(cells, token, id)));
  const [first] = homes;
  if (first === undefined || homes.some((home) => home !== first))
    throw new StartError("The accounts live in different cells: move those of each cell by themselves.");
  return first;
}

async function homeOf(cells: readonly Cell[], token: string, id: string): Promise<Cell> {
  const asked = await Promise.all(cells.map((cell) => livesIn(cell, token, id)));
  const home = cells.find((_, at) => asked[at]);
  if (home === undefined) throw new StartError(`No cell that answers has the account ${id}.`);
  return home;
}

async function livesIn(cell: Cell, token: string, id: string): Promise<boolean> {
  try {
    const text = await askCell(cell, token, { path: `/v1/operator/accounts/${encodeURIComponent(id)}` });
    return (JSON.parse(text) as { moved_to: string | null }).moved_to === null;
  } catch {
    return false;
  }
}

async function untilAtHome(target: Cell, token: string, accounts: readonly string[]): Promise<void> {
  const until = performance.now() + READY_MS_MAX;
  while (performance.now() < until) {
    const there = await Promise.all(accounts.map((id) => livesIn(target, token, id)));
    if (there.every(Boolean)) return;
    await Bun.sleep(LOOK_MS);
  }
  throw new StartError(
    `The accounts have moved, and cell ${target.cell} does not answer for them yet: look at its log, and start it.`,
  );
}
