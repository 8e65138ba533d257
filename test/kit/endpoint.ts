import type { NewEndpoint } from "../../src/store/resources/endpoints.ts";

/** An endpoint as it is made with nothing but an address; each test says what matters to it. */
export const plainEndpoint: NewEndpoint = {
  projectId: 1,
  consumerId: null,
  kind: "http",
  config: { url: "https://example.com/" },
  credentials: {},
  description: null,
  eventTypes: null,
  filter: null,
  transformations: null,
  headers: [],
  signatureVersions: ["v1"],
  secret: "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
  privateKey: null,
  previous: null,
  retry: null,
  timeoutSeconds: 15,
  rateLimitPerSecond: null,
  maxConcurrency: 10,
  ordering: "none",
  metadata: {},
  status: "active",
  disabledReason: null,
  openedAt: 0,
  updatedAt: 0,
};
