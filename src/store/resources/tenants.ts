import { eq } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { Scope } from "../../core/caller.ts";
import { limit } from "../../core/limits.ts";
import type { Account, MovedTo, Project } from "../../core/model.ts";
import { type ReadonlyShelf, Shelf, Shelves } from "../../core/structures/shelf.ts";
import { hashText, makeToken, shownPrefix } from "../../core/tokens.ts";
import { account, apiKey, project } from "../schema.ts";
import type { Store } from "../store.ts";

export interface ApiKey {
  id: number;
  projectId: number;
  /** Of its token, as text. */
  hash: string;
  prefix: string;
  name: string;
  scopes: Scope[];
  expiresAt: number | null;
  lastUsedAt: number | null;
}

/** Shown once. */
export interface FirstKeys {
  live: string;
  test: string;
}

/** A project with its first key; the token is shown once. */
export interface NewProject {
  project: Project;
  key: ApiKey;
  token: string;
}

export interface NewAccount {
  account: Account;
  live: NewProject;
  test: NewProject;
}

/** Where an account lives. `moving`: it is on its way to another cell, and its callers are refused. */
export type Residence = "here" | "suspended" | "moving" | MovedTo;

/** True where it is not this cell that answers for the account. */
export function isAway(residence: Residence): residence is "moving" | MovedTo {
  return residence === "moving" || typeof residence === "object";
}

type AccountFields = Pick<Account, "name" | "plan" | "suspended" | "openedAt" | "movedTo">;
type NewAccountFields = Pick<Account, "name" | "plan">;
type ProjectFields = Pick<Project, "name" | "branding" | "portalOrigins" | "unknownEventTypes">;

/**
 * Accounts, projects and API keys: few, read with every request, so all of them stand in memory beside
 * their tables.
 */
export class Tenants {
  readonly #accounts = new Map<number, Account>();
  readonly #accountShelf = new Shelf<Account>();
  readonly #projects = new Map<number, Project>();
  readonly #projectsOf = new Shelves<number, Project>();
  /** By the hash of the token. */
  readonly #keys = new Map<string, ApiKey>();
  readonly #keysOf = new Shelves<number, ApiKey>();
  readonly #used = new Map<ApiKey, number>();
  /** Accounts of which nothing is sent, as they move to another cell: in memory, as a start ends that. */
  readonly #moving = new Set<number>();
  /** Those of them whose callers are refused too. */
  readonly #refusing = new Set<number>();
  readonly #listeners: ((changed: Account) => void)[] = [];
  readonly #saveUse;
  readonly #storedKey;
  readonly #storedSuspension;
  /**
   * Grows whenever a key may pass no more, as it is revoked or its account changed: inside the write, for
   * what shares the transaction, and when that is remembered.
   */
  accessChanges = 0;

  constructor(
    private readonly store: Store,
    private readonly db: BunSQLiteDatabase,
    private readonly cell: string,
  ) {
    this.#saveUse = store.sqlite.prepare<void, [number, number]>(
      "UPDATE api_key SET last_used_at = ? WHERE id = ?",
    );
    this.#storedKey = store.sqlite.prepare<object, [number]>("SELECT 1 FROM api_key WHERE id = ?");
    this.#storedSuspension = store.sqlite.prepare<object, [number]>(
      "SELECT 1 FROM account WHERE id = ? AND suspended",
    );
    for (const row of db.select().from(account).all()) this.#keepAccount(row);
    for (const row of db.select().from(project).all()) this.rememberProject(row);
    for (const { hash, ...row } of db.select().from(apiKey).all())
      this.rememberKey({ ...row, hash: hash.toString("base64") });
  }

  get isEmpty(): boolean {
    return this.#accounts.size === 0;
  }

  account(id: number): Account | undefined {
    return this.#accounts.get(id);
  }

  project(id: number): Project | undefined {
    return this.#projects.get(id);
  }

  /** The key of a project's account; 0, which is nobody's, where the project is gone. */
  accountIdOf(projectId: number): number {
    return this.#projects.get(projectId)?.accountId ?? 0;
  }

  /** In the order in which they were made. */
  accounts(): MapIterator<Account> {
    return this.#accounts.values();
  }

  /** The same, to go through from the newest on. */
  get accountShelf(): ReadonlyShelf<Account> {
    return this.#accountShelf;
  }

  projectsOf(accountId: number): ReadonlyShelf<Project> {
    return this.#projectsOf.of(accountId);
  }

  projects(): Iterable<Project> {
    return this.#projects.values();
  }

  /** Calls `listener` with every account whose plan, name or suspension has changed. */
  onAccountChange(listener: (changed: Account) => void): void {
    this.#listeners.push(listener);
  }

  /** True where nothing of this project is sent: its account is suspended, leaves this cell, or has left. */
  isSuspended(projectId: number): boolean {
    const owner = this.#accounts.get(this.accountIdOf(projectId));
    if (owner === undefined) return false;
    return owner.suspended || owner.movedTo !== null || this.#moving.has(owner.id);
  }

  /** True where another cell answers for the project's account: nothing of it is needed here any more. */
  hasArrivedElsewhere(projectId: number): boolean {
    return this.#accounts.get(this.accountIdOf(projectId))?.movedTo?.hasArrived === true;
  }

  /** True where requests for the project's account may still come here, which another cell answers. */
  isPassedOn(projectId: number): boolean {
    return (this.#accounts.get(this.accountIdOf(projectId))?.movedTo?.machines.length ?? 0) > 0;
  }

  residenceOf(projectId: number): Residence {
    const owner = this.#accounts.get(this.accountIdOf(projectId));
    return owner === undefined ? "here" : this.residence(owner);
  }

  residence({ id, suspended, movedTo }: Account): Residence {
    if (movedTo !== null) return movedTo;
    if (this.#refusing.has(id)) return "moving";
    return suspended ? "suspended" : "here";
  }

  /** Nothing of these is sent any more until `endMove`. False, and nothing begins, where one moves. */
  beginMove(accountIds: readonly number[]): boolean {
    if (accountIds.some((id) => this.#moving.has(id))) return false;
    for (const id of accountIds) this.#moving.add(id);
    return true;
  }

  /** Their callers are refused too, and nothing is written that came before. */
  refuseCallers(accountIds: readonly number[]): void {
    for (const id of accountIds) this.#refusing.add(id);
    this.accessChanges++;
  }

  /** What was held goes on where it still lives here. */
  endMove(accountIds: readonly number[]): void {
    for (const id of accountIds) {
      this.#moving.delete(id);
      this.#refusing.delete(id);
      const owner = this.#accounts.get(id);
      if (owner) this.rememberAccount(owner);
    }
  }

  /** See Account. */
  openedAt(projectId: number): number {
    return this.#accounts.get(this.accountIdOf(projectId))?.openedAt ?? 0;
  }

  async createAccount(fields: NewAccountFields): Promise<Account> {
    const row = await this.store.write(() => this.#insertAccount(fields));
    this.#keepAccount(row);
    return row;
  }

  async createProject(accountId: number, name: string, mode: Project["mode"]): Promise<Project> {
    const row = await this.store.write(() => this.#insertProject(accountId, name, mode));
    this.rememberProject(row);
    return row;
  }

  /**
   * The account of a first start, with a live and a test project and a full key of each, in one transaction.
   * `show` is told the keys before the commit: killed at any moment, the start leaves no account, or one
   * whose keys were shown.
   */
  async createFirstAccount(show: (keys: FirstKeys) => void): Promise<void> {
    const made = await this.store.write(() => {
      const first = this.insertAccount({ name: "default", plan: "unlimited" });
      show({ live: first.live.token, test: first.test.token });
      return first;
    });
    this.rememberNewAccount(made);
  }

  /**
   * Inside a write: an account with a live and a test project and a full key of each;
   * `rememberNewAccount` afterwards.
   */
  insertAccount(fields: NewAccountFields): NewAccount {
    const made = this.#insertAccount(fields);
    const first = (mode: Project["mode"]) => this.insertProject(made.id, mode, mode);
    return { account: made, live: first("live"), test: first("test") };
  }

  rememberNewAccount({ account: made, live, test }: NewAccount): void {
    this.#keepAccount(made);
    this.rememberNewProject(live);
    this.rememberNewProject(test);
  }

  /** Inside a write: a project with a full key; `rememberNewProject` afterwards. */
  insertProject(accountId: number, name: string, mode: Project["mode"]): NewProject {
    const row = this.#insertProject(accountId, name, mode);
    return { project: row, ...this.insertKey(row, { name: "first", scopes: ["full"], expiresAt: null }) };
  }

  rememberNewProject({ project: made, key }: NewProject): void {
    this.rememberProject(made);
    this.rememberKey(key);
  }

  /** Inside a write; `rememberAccount` afterwards. Changes what the account is at that moment. */
  updateAccount(
    id: number,
    change: (current: Account) => Partial<AccountFields>,
  ): { made: Account; before: Account } {
    const before = this.db.select().from(account).where(eq(account.id, id)).get();
    if (!before) throw new Error("no such account");
    const made = { ...before, ...change(before) };
    this.db.update(account).set(made).where(eq(account.id, id)).run();
    this.accessChanges++;
    return { made, before };
  }

  /** From here on the account is what it was changed to: its keys, its deliveries and its plan go by that. */
  rememberAccount(changed: Account): void {
    this.#keepAccount(changed);
    this.accessChanges++;
    for (const listener of this.#listeners) listener(changed);
  }

  #keepAccount(row: Account): void {
    this.#accounts.set(row.id, row);
    this.#accountShelf.set(row);
  }

  #insertAccount(fields: NewAccountFields): Account {
    const made = { id: this.store.takeKey(), ...fields, suspended: false, openedAt: 0, movedTo: null };
    this.db.insert(account).values(made).run();
    return made;
  }

  #insertProject(accountId: number, name: string, mode: Project["mode"]): Project {
    const id = this.store.takeKey();
    const set = { id, accountId, name, mode };
    const made: Project = { ...set, branding: {}, portalOrigins: [], unknownEventTypes: "allow" };
    this.db.insert(project).values(made).run();
    return made;
  }

  /** Inside a write; `rememberProject` afterwards. Changes what the project is at that moment. */
  updateProject(id: number, change: (current: Project) => Partial<ProjectFields>): Project {
    const old = this.db.select().from(project).where(eq(project.id, id)).get();
    if (!old) throw new Error("no such project");
    const made = { ...old, ...change(old) };
    this.db.update(project).set(made).where(eq(project.id, id)).run();
    return made;
  }

  rememberProject(changed: Project): void {
    this.#projects.set(changed.id, changed);
    this.#projectsOf.set(changed.accountId, changed);
  }

  /**
   * Inside a write: a new key and its row; `rememberKey` afterwards. The token is not stored, only its hash.
   */
  insertKey(
    of: Project,
    fields: Pick<ApiKey, "name" | "scopes" | "expiresAt">,
  ): { key: ApiKey; token: string } {
    const token = makeToken(of.mode === "live" ? "sp_live_" : "sp_test_", this.cell);
    const key: ApiKey = {
      id: this.store.takeKey(),
      projectId: of.id,
      hash: hashText(token),
      prefix: shownPrefix(token),
      lastUsedAt: null,
      ...fields,
    };
    this.db
      .insert(apiKey)
      .values({ ...key, hash: Buffer.from(key.hash, "base64") })
      .run();
    return { key, token };
  }

  rememberKey(key: ApiKey): void {
    this.#keys.set(key.hash, key);
    this.#keysOf.set(key.projectId, key);
  }

  /** The key with a token that has not expired; notes that it was used. */
  findKey(token: string, now: number): ApiKey | null {
    const key = this.#keys.get(hashText(token));
    if (!key || (key.expiresAt !== null && key.expiresAt <= now)) return null;
    key.lastUsedAt = now;
    this.#used.set(key, now);
    return key;
  }

  /** Inside a write: whether the key has its row, also where the same transaction has revoked it. */
  isStored({ id }: Pick<ApiKey, "id">): boolean {
    return this.#storedKey.get(id) !== null;
  }

  /** Inside a write: whether the account's row says so, also where the same transaction has changed it. */
  isSuspendedInStore({ id }: Pick<Account, "id">): boolean {
    return this.#storedSuspension.get(id) !== null;
  }

  keysOf(projectId: number): ReadonlyShelf<ApiKey> {
    return this.#keysOf.of(projectId);
  }

  /** Inside a write; `forgetKey` afterwards. False where it is gone. */
  deleteKey(key: ApiKey): boolean {
    if (!this.isStored(key)) return false;
    this.db.delete(apiKey).where(eq(apiKey.id, key.id)).run();
    this.accessChanges++;
    return true;
  }

  /** Nothing with it passes from now on, nor what came with it before and is not written yet. */
  forgetKey(key: ApiKey): void {
    this.accessChanges++;
    this.#keys.delete(key.hash);
    this.#keysOf.delete(key.projectId, key.id);
    this.#used.delete(key);
  }

  /** Writes down when keys were last used; every minute, and at the end. */
  async saveLastUse(): Promise<void> {
    const used = [...this.#used];
    for (let from = 0; from < used.length; from += limit("sliceRows")) {
      const slice = used.slice(from, from + limit("sliceRows"));
      await this.store.write(() => {
        for (const [{ id }, at] of slice) this.#saveUse.run(at, id);
      });
      for (const [key, at] of slice) if (this.#used.get(key) === at) this.#used.delete(key);
    }
  }
}
