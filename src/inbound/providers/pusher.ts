import { credential } from "../config.ts";
import { checkedDocs, officialSdk } from "../define.ts";
import { all, bodyDigest, bodyHash, field, firstOf } from "../facts.ts";
import type { ProviderRow } from "../row.ts";
import { hmacScheme } from "../schemes/hmac.ts";
import { type Arrival, headerOf, refused, type Scheme, type Verdict } from "../schemes/scheme.ts";

/** Pusher says which app's secret it signed with. */

const APP_KEY = "x-pusher-key";
const signature = hmacScheme({
  header: "x-pusher-signature",
  algorithm: "sha256",
  encoding: "hex",
  // What lets a client into a channel: `1234.5678:private-room`.
  signsOtherTexts: true,
});

async function verify(arrival: Arrival): Promise<Verdict> {
  const verdict = await signature.verify(arrival);
  const { app_key } = arrival.material.credentials;
  if (!arrival.request.headers.has(APP_KEY)) return refused("missing_header");
  if (app_key === undefined) return refused("awaiting_secret");
  return headerOf(arrival.request, APP_KEY) === app_key ? verdict : refused("wrong_key_id");
}

const scheme: Scheme = { ...signature, headers: [...signature.headers, APP_KEY], verify };

export const PUSHER: ProviderRow = {
  key: "pusher",
  name: "Pusher Channels",
  scheme,
  secretFrom: "customer",
  secretLabel: "App secret",
  credentials: [credential("app_key", "App key", "Pusher dashboard: the app, App Keys, key.")],
  typeExample: "channel_occupied",
  eventType: field("events.0.name"),
  deliveryId: firstOf(all(field("time_ms"), bodyDigest), bodyHash),
  verifiedWith: officialSdk("pusher", "5.3.4"),
  docs: checkedDocs(
    "Pusher dashboard: the app, Webhooks.",
    "Pusher dashboard: the app, App Keys, secret.",
    "https://pusher.com/docs/channels/server_api/webhooks/",
    "One request may hold several events; it stays one event here, named after its first.",
  ),
};

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "App key": "App-Schlüssel",
  "Pusher dashboard: the app, App Keys, secret.": "Pusher-Dashboard: die App, App Keys, secret.",
  "Pusher dashboard: the app, App Keys, key.": "Pusher-Dashboard: die App, App Keys, key.",
};
