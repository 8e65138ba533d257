import { eq } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { Scope } from "../core/caller.ts";
import type { Account, Project } from "../core/model.ts";
import { hashText, hashToken, makeToken, shownPrefix } from "../core/tokens.ts";
import { account, apiKey, project } from "./schema.ts";
import type { Store } from "./store.ts";

export interface ApiKey {
  id: number;
  projectId: number;
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

type ProjectFields = Pick<Project, "name" | "branding" | "portalOrigins" | "unknownEventTypes">;

/** Accounts, projects and API keys: few, read with every request, so all of them stand in memory beside their tables. */
export class Tenants {
  readonly #accounts = new Map<number, Account>();
  readonly #projects = new Map<number, Project>();
  readonly #keys = new Map<string, ApiKey>();
  readonly #used = new Map<ApiKey, number>();

  constructor(
    private readonly store: Store,
    private readonly db: BunSQLiteDatabase,
    private readonly cell: string,
  ) {
    for (const row of db.select().from(account).all()) this.#accounts.set(row.id, row);
    for (const row of db.select().from(project).all()) this.#projects.set(row.id, row);
    for (const { hash, ...row } of db.select().from(apiKey).all())
      this.#keys.set(hash.toString("base64"), row);
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

  projects(): Iterable<Project> {
    return this.#projects.values();
  }

  async createAccount(fields: Omit<Account, "id" | "suspended">): Promise<Account> {
    const row = await this.store.write(() => this.#insertAccount(fields));
    this.#accounts.set(row.id, row);
    return row;
  }

  async createProject(accountId: number, name: string, mode: Project["mode"]): Promise<Project> {
    const row = await this.store.write(() => this.#insertProject(accountId, name, mode));
    this.#projects.set(row.id, row);
    return row;
  }

  /**
   * The account of a first start, with a live and a test project and a full key of each, in one transaction. `show` is told
   * the keys before the commit: killed at any moment, the start leaves no account, or one whose keys were shown.
   */
  async createFirstAccount(show: (keys: FirstKeys) => void): Promise<void> {
    const { owner, live, test } = await this.store.write(() => {
      const row = this.#insertAccount({ name: "default", plan: "unlimited" });
      const made = { owner: row, live: this.#insertFirst(row, "live"), test: this.#insertFirst(row, "test") };
      show({ live: made.live.token, test: made.test.token });
      return made;
    });
    this.#accounts.set(owner.id, owner);
    for (const { project: row, key, token } of [live, test]) {
      this.#projects.set(row.id, row);
      this.rememberKey(key, token);
    }
  }

  #insertFirst(owner: Account, mode: Project["mode"]): { project: Project; key: ApiKey; token: string } {
    const row = this.#insertProject(owner.id, mode, mode);
    return { project: row, ...this.insertKey(row, { name: "first", scopes: ["full"], expiresAt: null }) };
  }

  #insertAccount(fields: Omit<Account, "id" | "suspended">): Account {
    const made = { id: this.store.takeKey(), ...fields, suspended: false };
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
  updateProject(id: number, change: (now: Project) => Partial<ProjectFields>): Project {
    const old = this.db.select().from(project).where(eq(project.id, id)).get();
    if (!old) throw new Error("no such project");
    const made = { ...old, ...change(old) };
    this.db.update(project).set(made).where(eq(project.id, id)).run();
    return made;
  }

  rememberProject(changed: Project): void {
    this.#projects.set(changed.id, changed);
  }

  /** Inside a write: a new key and its row; `rememberKey` afterwards. The token is not stored, only its hash. */
  insertKey(
    of: Project,
    fields: Pick<ApiKey, "name" | "scopes" | "expiresAt">,
  ): { key: ApiKey; token: string } {
    const token = makeToken(of.mode === "live" ? "sp_live_" : "sp_test_", this.cell);
    const key: ApiKey = {
      id: this.store.takeKey(),
      projectId: of.id,
      prefix: shownPrefix(token),
      lastUsedAt: null,
      ...fields,
    };
    this.db
      .insert(apiKey)
      .values({ ...key, hash: Buffer.from(hashToken(token)) })
      .run();
    return { key, token };
  }

  rememberKey(key: ApiKey, token: string): void {
    this.#keys.set(hashText(token), key);
  }

  /** The key behind a token that has not expired; notes that it was used. */
  findKey(token: string, now: number): ApiKey | null {
    const key = this.#keys.get(hashText(token));
    if (!key || (key.expiresAt !== null && key.expiresAt <= now)) return null;
    key.lastUsedAt = now;
    this.#used.set(key, now);
    return key;
  }

  keysOf(projectId: number): ApiKey[] {
    return [...this.#keys.values()].filter((key) => key.projectId === projectId).sort((a, b) => b.id - a.id);
  }

  /** Revokes at once, before the row is gone: nothing that comes in from now on passes. False where there is no such key. */
  async deleteKey(projectId: number, id: number): Promise<boolean> {
    for (const [hash, key] of this.#keys) {
      if (key.id !== id || key.projectId !== projectId) continue;
      this.#keys.delete(hash);
      this.#used.delete(key);
      try {
        await this.store.write(() => this.db.delete(apiKey).where(eq(apiKey.id, id)).run());
      } catch (error) {
        // The row is still there, and would be after a restart: so it is not revoked, and the caller hears that.
        this.#keys.set(hash, key);
        throw error;
      }
      return true;
    }
    return false;
  }

  /** Writes down when keys were last used; every minute, and at the end. */
  async saveLastUse(): Promise<void> {
    const used = [...this.#used];
    this.#used.clear();
    if (used.length === 0) return;
    await this.store.write(() => {
      for (const [key, at] of used)
        this.db.update(apiKey).set({ lastUsedAt: at }).where(eq(apiKey.id, key.id)).run();
    });
  }
}
