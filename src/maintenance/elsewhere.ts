import type { Account, MovedTo } from "../core/model.ts";
import type { JobControl } from "../platform/job-control.ts";
import type { Data } from "../store/data.ts";

const ASK_MS = 2000;
/** Each costs some 20 µs in its row, and what waits for it is cancelled in slices of its own. */
const ENDPOINTS_AT_ONCE = 50;

export interface ElsewhereParts {
  data: Pick<Data, "store" | "ids" | "tenants" | "endpoints">;
  /** Whether a cell answers for an account: `isAtHome` below. */
  isAtHome: (to: MovedTo, accountId: string) => Promise<boolean>;
}

/**
 * What is left here of accounts that live in another cell. Nothing of it goes before that cell answers for
 * them, as it copies what stands here. Then their endpoints are deleted, with all that waits for them;
 * retention takes the rest (src/maintenance/retention.ts). Keys, links and sources stay, by which it is known
 * whose a request is that still comes here.
 */
export class Elsewhere {
  constructor(private readonly parts: ElsewhereParts) {}

  /** Answers how many endpoints were deleted. */
  async run(control: JobControl): Promise<number> {
    const { tenants, ids } = this.parts.data;
    let deleted = 0;
    for (const account of [...tenants.accounts()]) {
      const { id, movedTo } = account;
      if (movedTo === null || control.isStopping()) continue;
      const isTaken = movedTo.isTaken || (await this.parts.isAtHome(movedTo, ids.encode("acct", id)));
      if (!isTaken) continue;
      if (!movedTo.isTaken) await this.#note(account);
      deleted += await this.#deleteEndpoints(id, control);
    }
    return deleted;
  }

  async #note({ id }: Account): Promise<void> {
    const { store, tenants } = this.parts.data;
    const { made } = await store.write(() =>
      tenants.updateAccount(id, ({ movedTo }) => (movedTo ? { movedTo: { ...movedTo, isTaken: true } } : {})),
    );
    tenants.rememberAccount(made);
  }

  async #deleteEndpoints(accountId: number, control: JobControl): Promise<number> {
    let deleted = 0;
    for (const { id } of this.parts.data.tenants.projectsOf(accountId).below()) {
      for (let some = -1; some !== 0 && !control.isStopping(); deleted += some) {
        some = await this.#deleteSome(id);
        if (some > 0) await control.rest();
      }
    }
    return deleted;
  }

  async #deleteSome(projectId: number): Promise<number> {
    const { endpoints, store } = this.parts.data;
    const some = endpoints.ofProject(projectId).below().take(ENDPOINTS_AT_ONCE).toArray();
    if (some.length === 0) return 0;
    const gone = await store.writeFor(projectId, () => some.map(({ id }) => endpoints.delete(id)));
    for (const endpoint of gone) if (endpoint !== null) endpoints.announce(endpoint);
    return some.length;
  }
}

/** Asks the machines of a cell, as its operator, whether an account lives there. */
export async function isAtHome(
  { machines }: MovedTo,
  accountId: string,
  operatorToken: string | null,
): Promise<boolean> {
  const asked = machines.map(async (machine) => {
    const answer = await fetch(`http://${machine}/v1/operator/accounts/${accountId}`, {
      headers: { authorization: `Bearer ${operatorToken ?? ""}` },
      signal: AbortSignal.timeout(ASK_MS),
      redirect: "error",
      proxy: false,
    });
    const { moved_to: movedTo } = (await answer.json()) as { moved_to?: string | null };
    return answer.ok && movedTo === null;
  });
  const answers = await Promise.allSettled(asked);
  return answers.some((answer) => answer.status === "fulfilled" && answer.value);
}
