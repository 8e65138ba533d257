import type { Caller } from "./core/caller.ts";
import { isWellFormedToken } from "./core/tokens.ts";
import type { Data } from "./store/data.ts";

/** Answers who a bearer token belongs to: null for nobody, `refused` with the reason for a suspended account. */
export function authenticator(
  data: Data,
  now: () => number,
): (token: string) => Caller | { refused: string } | null {
  return (token) => {
    const key = isWellFormedToken(token) ? data.tenants.findKey(token, now()) : null;
    const project = key && data.tenants.project(key.projectId);
    const account = project && data.tenants.account(project.accountId);
    if (!key || !project || !account) return null;
    if (account.suspended) return { refused: "This account is suspended. Ask the operator of this service." };
    const isFull = key.scopes.includes("full");
    return {
      kind: "api_key",
      id: key.id,
      projectId: project.id,
      accountId: account.id,
      mode: project.mode,
      scopes: key.scopes,
      consumerId: null,
      manage: isFull,
      create: isFull,
    };
  };
}
