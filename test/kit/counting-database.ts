import { Database, type Statement } from "bun:sqlite";

/** Counts the rows that its statements have given, so that a test can tell how much a call reads. */
export class CountingDatabase extends Database {
  rows = 0;

  override prepare(sql: string, ...more: unknown[]): never {
    const statement = (super.prepare as (...all: unknown[]) => Statement).call(this, sql, ...more);
    const all = statement.all.bind(statement);
    statement.all = (...bound) => {
      const found = all(...bound);
      this.rows += found.length;
      return found;
    };
    return statement as never;
  }
}
