import { Database } from "bun:sqlite";
import { join } from "node:path";
import type { TestApp } from "./app.ts";

/** Runs SQL in the database of a service that runs: a trigger refuses what the service would write. */
export function change(app: TestApp, sql: string): void {
  const sqlite = new Database(join(app.dataDir, "sealpost.db"));
  sqlite.exec(sql);
  sqlite.close();
}

/** True of an endpoint that a 410 has disabled. */
export async function isDisabled(app: TestApp, id: string): Promise<boolean> {
  return (await app.live.get(`/v1/endpoints/${id}`)).json["disabled_reason"] === "gone";
}
