import type { ProviderCase } from "./case.ts";
import { BODY_HMAC_BASE64_CASES } from "./cases/body-hmac-base64.ts";
import { BODY_HMAC_CASES } from "./cases/body-hmac.ts";
import { CERTIFIED_CASES } from "./cases/certified.ts";
import { GENERIC_CASES } from "./cases/generic.ts";
import { GITHUB_CASE } from "./cases/github.ts";
import { HANDSHAKING_CASES } from "./cases/handshaking-hmac.ts";
import { JWT_CASES } from "./cases/jwt.ts";
import { ODD_HMAC_CASES } from "./cases/odd-hmac.ts";
import { PUBLIC_KEY_CASES } from "./cases/public-key.ts";
import { SIGNED_BODY_CASES } from "./cases/signed-body.ts";
import { SLACK_CASE } from "./cases/slack.ts";
import { STANDARD_WEBHOOKS_CASES } from "./cases/standard-webhooks.ts";
import { TIMESTAMPED_CASES } from "./cases/timestamped-hmac.ts";
import { TOKEN_CASES } from "./cases/token.ts";
import { URL_HMAC_CASES } from "./cases/url-hmac.ts";

/** The cases by the key of their provider. */
export const CASES: Readonly<Record<string, ProviderCase>> = {
  ...GENERIC_CASES,
  ...STANDARD_WEBHOOKS_CASES,
  ...BODY_HMAC_CASES,
  ...BODY_HMAC_BASE64_CASES,
  ...HANDSHAKING_CASES,
  ...TIMESTAMPED_CASES,
  ...URL_HMAC_CASES,
  ...ODD_HMAC_CASES,
  ...SIGNED_BODY_CASES,
  ...PUBLIC_KEY_CASES,
  ...CERTIFIED_CASES,
  ...JWT_CASES,
  ...TOKEN_CASES,
  github: GITHUB_CASE,
  slack: SLACK_CASE,
};
