import { type Page, pagesOf } from "../platform/pages.ts";
import { messageOf } from "../core/errors.ts";
import { askMachine, type MachineAsk } from "../transport/machines.ts";
import type { Cell } from "./list.ts";

/** What is asked of cells directly, with the operator's token, and of all of them at once. */

const ASK_MS = 30_000;

/** What a cell answered, or why there is nothing. */
export type Told<T> = { cell: string; value: T } | { cell: string; problem: string };

/** Asks every cell at once. One that cannot be asked, or refuses, has a problem, and the others an answer. */
export function askCells<T>(
  cells: readonly Cell[],
  token: string,
  ask: (get: Get) => Promise<T>,
): Promise<Told<T>[]> {
  return Promise.all(
    cells.map(async (one): Promise<Told<T>> => {
      const { cell } = one;
      try {
        return { cell, value: await ask((path) => askCell(one, token, { path })) };
      } catch (error) {
        return { cell, problem: messageOf(error) };
      }
    }),
  );
}

/** The body of a path of the cell. Throws an Error that says what was wrong. */
export type Get = (path: string) => Promise<string>;

/** What is asked of a cell: a GET unless it says otherwise. */
export interface Ask extends Partial<Omit<MachineAsk, "token">> {
  path: string;
}

/**
 * The body that the first of its machines answers with which is no standby, and takes requests. Throws an
 * Error that says what was wrong.
 */
export async function askCell(
  { machines }: Pick<Cell, "machines">,
  token: string,
  { path, ...ask }: Ask,
): Promise<string> {
  let problem = "";
  for (const machine of machines) {
    try {
      const answer = await askMachine(machine, path, { token, timeoutMs: ASK_MS, ...ask });
      const text = await answer.text();
      if (answer.ok) return text;
      problem = `${machine} answers ${answer.status}: ${detailOf(text)}`;
      if (answer.status !== 503) break;
    } catch (error) {
      problem = `${machine} does not answer: ${messageOf(error)}`;
    }
  }
  throw new Error(problem);
}

function detailOf(body: string): string {
  try {
    const { detail } = JSON.parse(body) as { detail?: unknown };
    return typeof detail === "string" ? detail : body;
  } catch {
    return body;
  }
}

/** An account as `GET /v1/operator/accounts` has it. */
export interface AccountOfCell {
  id: string;
  name: string;
  plan: string;
  suspended: boolean;
  /** The cell in which it lives; null: that which was asked. */
  moved_to: string | null;
  usage: { month: string; deliveries: number; overage: number };
}

const PAGE = "250";

/** All accounts that live in a cell, newest first. */
export async function readAccounts(get: Get): Promise<AccountOfCell[]> {
  const accounts: AccountOfCell[] = [];
  const read = async (path: string) => JSON.parse(await get(path)) as Page<AccountOfCell>;
  for await (const { data } of pagesOf("/v1/operator/accounts", () => ({ limit: PAGE }), read))
    accounts.push(...data.filter(({ moved_to: movedTo }) => movedTo === null));
  return accounts;
}

/** A line of `GET /v1/operator/usage`. */
export interface UsageOfAccount {
  account_id: string;
  plan: string;
  month: string;
  deliveries: number;
  overage: number;
}

/** What each account of a cell delivered in a month, such as `2026-11`; null: this one. */
export async function readUsage(get: Get, month: string | null): Promise<UsageOfAccount[]> {
  const query = month === null ? "" : `?month=${encodeURIComponent(month)}`;
  const lines = (await get(`/v1/operator/usage${query}`)).split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as UsageOfAccount);
}
