/** What a verifier of the package says of a vector; without imports, so that it runs in every runtime. */
import type { Webhook, WebhookError } from "../../sdk/typescript/src/verify.ts";
import type { Vector } from "./vectors.ts";

export interface VerifierModule {
  Webhook: typeof Webhook;
  WebhookError: typeof WebhookError;
}

/** The verdict in the words of the vectors. */
export async function verdictOf(module: VerifierModule, vector: Vector): Promise<string> {
  const body = Uint8Array.from(atob(vector.body_base64), (one) => one.charCodeAt(0));
  const settings = { toleranceSeconds: vector.tolerance_seconds, now: () => vector.at * 1000 };
  try {
    await new module.Webhook(vector.secrets, settings).verify(vector.headers, body);
    return "valid";
  } catch (error) {
    if (error instanceof TypeError) return "malformed_secret";
    if (error instanceof module.WebhookError) return error.reason;
    throw error;
  }
}
