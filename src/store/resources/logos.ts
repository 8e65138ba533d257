import { eq } from "drizzle-orm";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { projectLogo as table } from "../schema.ts";

/** A project's picture, as it was fetched when its address was saved. */
export interface Logo {
  contentType: string;
  /** Changes with the picture; in its address, so that browsers keep it. */
  version: string;
  bytes: Buffer;
}

export class Logos {
  constructor(private readonly db: BunSQLiteDatabase) {}

  find(projectId: number): Logo | null {
    return this.db.select().from(table).where(eq(table.projectId, projectId)).get() ?? null;
  }

  /** Inside a write. null removes it. */
  put(projectId: number, logo: Logo | null): void {
    this.db.delete(table).where(eq(table.projectId, projectId)).run();
    if (logo !== null)
      this.db
        .insert(table)
        .values({ projectId, ...logo })
        .run();
  }

  versionOf(projectId: number): string | null {
    const found = this.db
      .select({ version: table.version })
      .from(table)
      .where(eq(table.projectId, projectId))
      .get();
    return found?.version ?? null;
  }
}
