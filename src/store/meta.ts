import type { Database } from "bun:sqlite";
import { randomBytes } from "node:crypto";

/** Single values of the database. */
export class Meta {
  constructor(private readonly sqlite: Database) {}

  /**
   * A secret of the database itself, made at the first start; it must survive a restore, so it lives here.
   */
  secret(name: string, bytes: number): Uint8Array {
    this.sqlite.run("INSERT OR IGNORE INTO meta (name, value) VALUES (?, ?)", [name, randomBytes(bytes)]);
    const row = this.sqlite
      .query<{ value: Uint8Array }, [string]>("SELECT value FROM meta WHERE name = ?")
      .get(name);
    if (row?.value.length !== bytes) throw new Error(`meta.${name} has not ${bytes} bytes`);
    return row.value;
  }

  /** A number that was set; 0 where none was. */
  number(name: string): number {
    const row = this.sqlite
      .query<{ value: number }, [string]>("SELECT CAST(value AS INTEGER) AS value FROM meta WHERE name = ?")
      .get(name);
    return row?.value ?? 0;
  }

  /** A text that was set; null where none was. */
  text(name: string): string | null {
    const row = this.sqlite
      .query<{ value: string }, [string]>("SELECT CAST(value AS TEXT) AS value FROM meta WHERE name = ?")
      .get(name);
    return row?.value ?? null;
  }

  /** Inside a write. */
  setNumber(name: string, value: number): void {
    this.setText(name, String(value));
  }

  /** Inside a write. */
  setText(name: string, value: string): void {
    this.sqlite.run("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", [name, value]);
  }
}
