import type { Account, MovedTo } from "../core/model.ts";
import { inTurns, type JobControl } from "../platform/job-control.ts";
import { askMachine } from "../transport/machines.ts";
import type { Data } from "../store/data.ts";
import { overwriting } from "../store/secure-delete.ts";

const ASK_MS = 2000;
/** Each costs some 20 µs in its row, and what waits for it is cancelled in slices of its own. */
const ENDPOINTS_AT_ONCE = 50;

export interface ElsewhereParts {
  data: Pick<Data, "store" | "ids" | "tenants" | "endpoints" | "audit">;
  /** Whether an account has come to its cell: `hasReached` below. */
  hasReached: (to: MovedTo, accountId: string) => Promise<boolean>;
}

/**
 * What is left here of accounts that live in another cell. Nothing of it goes before that cell answers for
 * them, as it copies what stands here. Then their endpoints are deleted, with all that waits for them, and
 * the audit log; retention takes the rest (src/maintenance/retention.ts). Keys, links and sources stay, and
 * of endpoints whose they were, by which it is known whose a request is that still comes here. The cell
 * that has copied accounts of others does the same with those.
 */
export class Elsewhere {
  constructor(private readonly parts: ElsewhereParts) {}

  /** Answers how many endpoints were deleted. */
  async run(control: JobControl): Promise<number> {
    const { tenants } = this.parts.data;
    await finishDepartures(this.parts.data);
    const answers = new Map<string, boolean>();
    // Projects of an account, and itself.
    const scopes = new Map<number, number[]>();
    const done = new Set<number>();
    for (const account of [...tenants.accounts()]) {
      const { id, movedTo } = account;
      if (movedTo === null || control.isStopping()) continue;
      if (!(movedTo.hasArrived || (await this.#answersFor(account, movedTo, answers)))) continue;
      if (!movedTo.hasArrived) await this.#note(account);
      scopes.set(id, [
        ...tenants
          .projectsOf(id)
          .below()
          .map((project) => project.id),
        id,
      ]);
    }
    const of = (accountId: number) => (scopes.get(accountId) ?? []).filter((scope) => !done.has(scope));
    return inTurns({ accounts: () => scopes.keys(), of }, control, async (scope) => {
      const deleted = await this.#removeSome(scope);
      if (deleted === null) done.add(scope);
      return deleted;
    });
  }

  /** A cell that does not answer for one account is asked for no other in this run. */
  async #answersFor({ id }: Account, to: MovedTo, answers: Map<string, boolean>): Promise<boolean> {
    if (answers.get(to.cell) === false) return false;
    const answer = await this.parts.hasReached(to, this.parts.data.ids.encode("acct", id));
    answers.set(to.cell, answer);
    return answer;
  }

  async #note({ id }: Account): Promise<void> {
    const { store, tenants } = this.parts.data;
    const { made } = await store.write(() =>
      tenants.updateAccount(id, ({ movedTo }) =>
        movedTo ? { movedTo: { ...movedTo, hasArrived: true } } : {},
      ),
    );
    tenants.rememberAccount(made);
  }

  /** Answers how many endpoints a slice deleted; null where nothing is left. */
  async #removeSome(scope: number): Promise<number | null> {
    const { audit, store } = this.parts.data;
    const deleted = await this.#deleteSome(scope);
    if (deleted > 0) return deleted;
    const drop = () => overwriting(store.sqlite, () => audit.dropSomeOf(scope));
    return (await store.write(drop)) > 0 ? 0 : null;
  }

  async #deleteSome(projectId: number): Promise<number> {
    const { endpoints, store } = this.parts.data;
    const some = endpoints.ofProject(projectId).below().take(ENDPOINTS_AT_ONCE).toArray();
    if (some.length === 0) return 0;
    const empty = () => some.map(({ id }) => endpoints.empty(id));
    const gone = await store.writeFor(projectId, () => overwriting(store.sqlite, empty));
    for (const endpoint of gone) if (endpoint !== null) endpoints.announce(endpoint);
    return some.length;
  }
}

/**
 * Says of accounts whose departure is on the disk that it is: only then another cell may take them. A crash
 * may have left a departure that is not on the disk yet: the first of the two writes brings it there, as
 * the store syncs its log after each.
 */
export async function finishDepartures({ store, tenants }: Pick<Data, "store" | "tenants">): Promise<void> {
  const begun = [...tenants.accounts()].filter(({ movedTo }) => movedTo !== null && !movedTo.isOnDisk);
  for (const isOnDisk of begun.length > 0 ? [false, true] : []) {
    const write = ({ id }: Account) =>
      tenants.updateAccount(id, ({ movedTo }) => (movedTo ? { movedTo: { ...movedTo, isOnDisk } } : {})).made;
    const made = await store.write(() => begun.map(write));
    for (const account of made) tenants.rememberAccount(account);
  }
}

/**
 * Asks the machines of a cell, as its operator, whether an account has come to one of them, which has
 * uploaded what it has: before, a lost disk there would leave what is here alone. It may have gone on to a
 * third cell since. Many a machine has a row of the account and never had it, and an address may lead to
 * another cell: so the answer names the cell in which the account lives or has lived. One of a version that
 * does not name it says nothing. `token`: the operator's, which all cells have in common.
 */
export async function hasReached(
  { cell, machines }: MovedTo,
  accountId: string,
  token: string | null,
): Promise<boolean> {
  const asked = machines.map(async (machine) => {
    const ask = (path: string) => askMachine(machine, path, { token: token ?? "", timeoutMs: ASK_MS });
    const [account, metrics] = await Promise.all([
      ask(`/v1/operator/accounts/${accountId}`),
      ask("/metrics"),
    ]);
    const uploads = /^sealpost_replica_uploads (\d+)/m.exec(await metrics.text())?.[1] ?? "0";
    if (!account.ok || Number(uploads) === 0) return false;
    const { lived_in: livedIn } = (await account.json()) as { lived_in?: string | null };
    return livedIn === cell;
  });
  const answers = await Promise.allSettled(asked);
  return answers.some((answer) => answer.status === "fulfilled" && answer.value);
}
