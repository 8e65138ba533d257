import type { NewSource } from "../../src/store/resources/sources.ts";

/** A source as it is made with nothing but a provider; each test says what matters to it. */
export const plainSource: NewSource = {
  projectId: 1,
  consumerId: null,
  provider: "service",
  name: "A source",
  config: {},
  rateLimitPerSecond: null,
  durability: null,
  status: "active",
  updatedAt: 0,
  secret: "whsec_",
  previousSecret: null,
  signingSecret: null,
  previousSigningSecret: null,
  previousExpiresAt: null,
  credentials: {},
  pendingVerificationToken: null,
};
