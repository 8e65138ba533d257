import { readFieldTexts } from "../../platform/field-texts.ts" with { type: "macro" };

/**
 * The fields of destinations and providers in German, by their English words in GET /v1/destination-kinds and
 * GET /v1/providers. Most stand beside the row that has them, as `german`; here is what several rows say. A
 * help of several sentences may stand sentence by sentence; what a provider calls its own menus stays as its
 * pages show it.
 */
const shared = {
  Region: "Region",
  Endpoint: "Endpunkt",
  "Topic ARN": "ARN des Themas",
  "The event's type unless given.": "Ohne Angabe der Typ des Ereignisses.",
  Bucket: "Bucket",
  Prefix: "Präfix",
  Topic: "Thema",
  Address: "Adresse",
  "Its name.": "Der Name.",
  "Connection string": "Verbindungszeichenfolge",
  "The webhook-id unless given.": "Ohne Angabe die webhook-id.",
  Token: "Token",
  "Signing secret": "Signaturgeheimnis",
  "Public key": "Öffentlicher Schlüssel",
  "App client secret": "Client-Geheimnis der App",
  "Webhook key": "Webhook-Schlüssel",
  "Client secret": "Client-Geheimnis",
  "Secret token": "Geheimes Token",
  "Webhook secret": "Webhook-Geheimnis",
  "HMAC key": "HMAC-Schlüssel",
  "Secret hash": "Geheimer Hash",
  "App secret": "Geheimnis der App",
  "API key": "API-Schlüssel",
  "Shared secret": "Gemeinsames Geheimnis",
  "API secret": "API-Geheimnis",
  "Auth Token": "Auth-Token",
};

export const fields: Readonly<Record<string, string>> = { ...shared, ...(await readFieldTexts("german")) };
