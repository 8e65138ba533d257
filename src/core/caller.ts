/** What a request is allowed to be: the answer of authentication. */
export type Scope = "full" | "publish" | "read";

export interface Caller {
  kind: "api_key" | "portal";
  /** Key of the API key's or portal link's row. */
  id: number;
  projectId: number;
  accountId: number;
  /** When an API key ends by itself, in Unix milliseconds. */
  expiresAt: number | null;
  mode: "live" | "test";
  scopes: readonly Scope[];
  /** Set for a portal token: everything that the caller sees is filtered by it. */
  consumerId: string | null;
  /** Grants of a portal token; true for a key with scope full. */
  manage: boolean;
  create: boolean;
}

/** The name of an account, where what all have in common is divided among them. */
export function accountOf({ accountId }: Pick<Caller, "accountId">): string {
  return `account:${accountId}`;
}

/** The name of a caller within its account: all links of a consumer are one. */
export function memberOf({ kind, id, consumerId }: Caller): string {
  return kind === "portal" ? `consumer:${consumerId ?? ""}` : `key:${id}`;
}

/** The name of a source within its account, as whatever comes to its door is counted. */
export function sourceMember(sourceId: number): string {
  return `source:${sourceId}`;
}

/** Whether a member has none of the account's keys: the links of a consumer, or a source. */
export function isGuest(member: string): boolean {
  return member.startsWith("consumer:") || member.startsWith("source:");
}
