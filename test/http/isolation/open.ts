import type { Case } from "./cases.ts";
import * as things from "./things.ts";

const open = (path: string): Case => ({
  make: things.nothing,
  ask: () => ({ method: "GET", path }),
  status: 200,
});

/** What everyone is answered alike: it tells nothing of anyone. */
export const OPEN: Record<string, Case> = {
  listDestinationKinds: open("/v1/destination-kinds"),
  listProviders: open("/v1/providers"),
  getProvider: open("/v1/providers/github"),
  getHealth: open("/healthz"),
  getReadiness: open("/readyz"),
  getOpenApi: open("/openapi.json"),
  allowSender: {
    make: things.allowing,
    ask: ({ source: id }) => ({
      method: "OPTIONS",
      path: `/ingest/${id}`,
      headers: { "webhook-request-origin": "eventgrid.azure.net" },
    }),
    status: 200,
  },
};
