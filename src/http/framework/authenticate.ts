import type { Caller } from "../../core/caller.ts";
import type { MovedTo, Project } from "../../core/model.ts";
import { isWellFormedToken } from "../../core/tokens.ts";
import type { Data } from "../../store/data.ts";
import { isAway } from "../../store/resources/tenants.ts";

type Verdict = Caller | { refused: string } | { residence: "moving" | MovedTo } | null;

/** What a token stands for, beside its project. */
type Rights = Omit<Caller, "accountId" | "mode">;

/**
 * Answers who a bearer token belongs to: null for nobody, `refused` with the reason for a suspended account,
 * and where the account is on its way to another cell, or lives there.
 * `isInWrite`: rows are asked too, as memory learns only after the fsync what this transaction has changed.
 */
export function authenticator(
  data: Pick<Data, "tenants" | "portalLinks">,
  now: () => number,
): (token: string, isInWrite?: boolean) => Verdict {
  return (token, isInWrite = false) => {
    if (!isWellFormedToken(token)) return null;
    const rights = token.startsWith("spl_") ? rightsOfLink(data, token) : rightsOfKey(data, token, now());
    if (rights?.kind === "api_key" && isInWrite && !data.tenants.isStored(rights)) return null;
    const project = rights && data.tenants.project(rights.projectId);
    return rights && project ? admit(data, project, rights, isInWrite) : null;
  };
}

function admit(
  { tenants }: Pick<Data, "tenants">,
  project: Project,
  rights: Rights,
  isInWrite: boolean,
): Verdict {
  const account = tenants.account(project.accountId);
  if (!account) return null;
  const residence = tenants.residence(account);
  if (isAway(residence)) return { residence };
  if (residence === "suspended" || (isInWrite && tenants.isSuspendedInStore(account)))
    return { refused: "This account is suspended. Ask the operator of this service." };
  return { ...rights, accountId: account.id, mode: project.mode };
}

function rightsOfKey({ tenants }: Pick<Data, "tenants">, token: string, now: number): Rights | null {
  const key = tenants.findKey(token, now);
  if (!key) return null;
  const isFull = key.scopes.includes("full");
  const { id, projectId, scopes, expiresAt } = key;
  const rights = { consumerId: null, manage: isFull, create: isFull };
  return { kind: "api_key", id, projectId, scopes, expiresAt, ...rights };
}

function rightsOfLink({ portalLinks }: Pick<Data, "portalLinks">, token: string): Rights | null {
  const link = portalLinks.find(token);
  if (!link) return null;
  const { id, projectId, consumerId, manage, create } = link;
  return { kind: "portal", id, projectId, scopes: [], expiresAt: null, consumerId, manage, create };
}
