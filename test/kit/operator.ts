import type { Clock } from "../../src/platform/clock.ts";
import { Client, startApp, type TestApp } from "./app.ts";

export const OPERATOR_TOKEN = "operator-token-of-the-tests";

/** An account with clients that hold the full keys of its projects. */
export interface Tenant {
  id: string;
  live: Client;
  test: Client;
  keys: { live: string; test: string };
}

/** The service as an operator starts it: no account is there. */
export function startOperated(env: Record<string, string> = {}, clock?: Clock): Promise<TestApp> {
  const options = { env: { SEALPOST_OPERATOR_TOKEN: OPERATOR_TOKEN, ...env } };
  return startApp(clock === undefined ? options : { ...options, clock });
}

/** With the operator's token. */
export function operatorOf(app: { url: string }): Client {
  return new Client(app, OPERATOR_TOKEN);
}

interface Created {
  id: string;
  projects: { mode: string; api_key: string }[];
}

export async function createTenant(
  app: { url: string },
  fields: Record<string, unknown> = {},
): Promise<Tenant> {
  const { id, projects } = await operatorOf(app).create<Created>("/v1/operator/accounts", {
    name: "Acme",
    ...fields,
  });
  const keyOf = (mode: string) => projects.find((project) => project.mode === mode)?.api_key ?? "";
  const keys = { live: keyOf("live"), test: keyOf("test") };
  return { id, live: new Client(app, keys.live), test: new Client(app, keys.test), keys };
}
