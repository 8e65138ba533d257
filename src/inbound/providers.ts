import { defineProvider } from "./define.ts";
import type { Provider } from "./provider.ts";
import type { ProviderRow } from "./row.ts";
import { ADYEN } from "./providers/adyen.ts";
import { AWS_SNS } from "./providers/aws-sns.ts";
import { AZURE_EVENT_GRID } from "./providers/azure-event-grid.ts";
import { BODY_HMAC_BASE64 } from "./providers/body-hmac-base64.ts";
import { BODY_HMAC_HEX } from "./providers/body-hmac-hex.ts";
import { BOX } from "./providers/box.ts";
import { BRAINTREE } from "./providers/braintree.ts";
import { CLOUDINARY } from "./providers/cloudinary.ts";
import { COINBASE_CDP } from "./providers/coinbase-cdp.ts";
import { CONTENTFUL } from "./providers/contentful.ts";
import { CUSTOM_HMAC } from "./providers/custom-hmac.ts";
import { DROPBOX_SIGN } from "./providers/dropbox-sign.ts";
import { FAL } from "./providers/fal.ts";
import { FIREBLOCKS } from "./providers/fireblocks.ts";
import { GENERIC } from "./providers/generic.ts";
import { GITHUB } from "./providers/github.ts";
import { HANDSHAKING_HMAC } from "./providers/handshaking-hmac.ts";
import { HUBSPOT } from "./providers/hubspot.ts";
import { JWT } from "./providers/jwt.ts";
import { MAILGUN } from "./providers/mailgun.ts";
import { MANDRILL } from "./providers/mandrill.ts";
import { MERCADOPAGO } from "./providers/mercadopago.ts";
import { MICROSOFT_GRAPH } from "./providers/microsoft-graph.ts";
import { PAYPAL } from "./providers/paypal.ts";
import { PLAID } from "./providers/plaid.ts";
import { PLIVO } from "./providers/plivo.ts";
import { PUBLIC_KEY } from "./providers/public-key.ts";
import { PUSHER } from "./providers/pusher.ts";
import { REVENUECAT } from "./providers/revenuecat.ts";
import { SEGMENT } from "./providers/segment.ts";
import { SLACK } from "./providers/slack.ts";
import { STANDARD_WEBHOOKS } from "./providers/standard-webhooks.ts";
import { STREAM } from "./providers/stream.ts";
import { TIMESTAMPED_HMAC } from "./providers/timestamped-hmac.ts";
import { TOKEN } from "./providers/token.ts";
import { TWILIO } from "./providers/twilio.ts";
import { URL_HMAC } from "./providers/url-hmac.ts";

/** Providers that share a scheme, a file for each scheme; a new one is one more row there. */
const BY_SCHEME = [
  GENERIC,
  STANDARD_WEBHOOKS,
  BODY_HMAC_HEX,
  BODY_HMAC_BASE64,
  HANDSHAKING_HMAC,
  TIMESTAMPED_HMAC,
  URL_HMAC,
  HUBSPOT,
  PUBLIC_KEY,
  JWT,
  TOKEN,
].flat();

/** Providers that need code of their own. */
const ODD = [
  CUSTOM_HMAC,
  ADYEN,
  AWS_SNS,
  AZURE_EVENT_GRID,
  BOX,
  BRAINTREE,
  CLOUDINARY,
  COINBASE_CDP,
  CONTENTFUL,
  DROPBOX_SIGN,
  FAL,
  FIREBLOCKS,
  GITHUB,
  MAILGUN,
  MANDRILL,
  MERCADOPAGO,
  MICROSOFT_GRAPH,
  PAYPAL,
  PLAID,
  PLIVO,
  PUSHER,
  REVENUECAT,
  SEGMENT,
  SLACK,
  STREAM,
  TWILIO,
];

/** THE table of providers. */
export const PROVIDER_ROWS: readonly ProviderRow[] = [...BY_SCHEME, ...ODD];

const PROVIDERS: readonly Provider[] = PROVIDER_ROWS.map(defineProvider);

const BY_NAME = new Map(
  PROVIDERS.flatMap((provider) => [provider.key, ...provider.aliases].map((name) => [name, provider])),
);

/** The provider of a key or an alias (`whatsapp` for `meta`). */
export function findProvider(keyOrAlias: string): Provider | undefined {
  return BY_NAME.get(keyOrAlias);
}

/** Every key and alias. */
export function providerNames(): readonly string[] {
  return [...BY_NAME.keys()];
}

export function listProviders(): readonly Provider[] {
  return PROVIDERS;
}
