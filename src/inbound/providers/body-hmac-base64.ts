import { answerEmpty } from "../answers.ts";
import { checkedDocs, docs, documentation, officialSdk, vector } from "../define.ts";
import { all, bodyDigest, bodyHash, field, firstOf, header, joined } from "../facts.ts";
import { emptyBatch } from "../handshakes.ts";
import type { ProviderRow } from "../row.ts";
import { type DigestRule, hmacScheme } from "../schemes/hmac.ts";
import { whole } from "../schemes/layouts.ts";
import { hexSecret } from "../secrets.ts";

/** HMAC-SHA256 of the raw body in base64, in one header, after a prefix. */
function bodyHmac(headerName: DigestRule["header"], prefix = "", rest: Partial<DigestRule> = {}) {
  return hmacScheme({
    header: headerName,
    layout: whole(prefix),
    algorithm: "sha256",
    encoding: "base64",
    ...rest,
  });
}

/** DocuSign numbers a header for each active key. */
const DOCUSIGN_HEADERS = Array.from({ length: 100 }, (_unused, index) => `x-docusign-signature-${index + 1}`);

export const BODY_HMAC_BASE64: readonly ProviderRow[] = [
  {
    key: "adyen_platform",
    name: "Adyen (balance platform, management)",
    scheme: bodyHmac("hmacsignature", "", { secret: hexSecret }),
    secretFrom: "customer",
    secretLabel: "HMAC key",
    typeExample: "balancePlatform.accountHolder.created",
    eventType: field("type"),
    deliveryId: firstOf(all(field("type"), field("data.id"), field("timestamp"), bodyDigest), bodyHash),
    verifiedWith: documentation(
      "https://docs.adyen.com/development-resources/webhooks/secure-webhooks/verify-hmac-signatures/",
    ),
    docs: docs(
      "Balance Platform Customer Area: Developers, Webhooks, Create webhook, Server configuration.",
      "The same page, Security, HMAC key, Generate.",
      "https://docs.adyen.com/development-resources/webhooks/secure-webhooks/verify-hmac-signatures/",
      "Webhooks for payments are signed inside the body: use the provider adyen for them.",
    ),
  },
  {
    key: "flutterwave_v4",
    name: "Flutterwave v4",
    scheme: bodyHmac("flutterwave-signature"),
    secretFrom: "source",
    secretLabel: "Secret hash",
    typeExample: "charge.completed",
    eventType: field("type"),
    deliveryId: firstOf(
      all(field("webhook_id"), field("type"), field("data.id"), field("data.status")),
      all(field("webhook_id"), field("type"), field("data.id")),
      field("webhook_id"),
      field("id"),
      all(field("type"), field("data.id")),
      bodyHash,
    ),
    verifiedWith: documentation("https://developer.flutterwave.com/docs/webhooks"),
    docs: docs(
      "Flutterwave dashboard (v4): Settings, Webhooks, URL.",
      "The dashboard's (v4) webhook page, Secret hash: type the source's secret.",
      "https://developer.flutterwave.com/docs/webhooks",
      "Version 3 sends the secret hash itself: use the provider flutterwave for it.",
    ),
  },
  {
    key: "xero",
    name: "Xero",
    scheme: bodyHmac("x-xero-signature"),
    secretFrom: "customer",
    secretLabel: "Webhooks key",
    signedHandshakes: [emptyBatch("intent to receive: 200 or 401 with an empty body")],
    typeExample: "INVOICE.CREATE",
    eventType: joined(field("events.0.eventCategory"), field("events.0.eventType")),
    deliveryId: firstOf(
      all(field("events.0.tenantId"), field("firstEventSequence"), field("lastEventSequence")),
      bodyHash,
    ),
    answer: () => answerEmpty(),
    verifiedWith: documentation("https://developer.xero.com/documentation/guides/webhooks/overview/"),
    docs: docs(
      "Xero Developer: My Apps, the app, Webhooks, Delivery URL.",
      "The same page, Webhooks key.",
      "https://developer.xero.com/documentation/guides/webhooks/overview/",
      "Save the key here before Send Intent to receive: Xero also sends wrongly signed requests.",
    ),
  },
  {
    key: "intuit",
    name: "Intuit QuickBooks",
    scheme: bodyHmac("intuit-signature"),
    secretFrom: "customer",
    secretLabel: "Verifier token",
    typeExample: "qbo.invoice.created.v1",
    eventType: firstOf(
      field("0.type"),
      joined(
        field("eventNotifications.0.dataChangeEvent.entities.0.name"),
        field("eventNotifications.0.dataChangeEvent.entities.0.operation"),
      ),
    ),
    deliveryId: firstOf(field("*.id"), bodyHash),
    verifiedWith: documentation("https://developer.intuit.com/app/developer/qbo/docs/develop/webhooks"),
    docs: checkedDocs(
      "developer.intuit.com: the app, its webhooks, the endpoint.",
      "The webhooks verifier token, which is generated there with the subscription.",
      "https://github.com/IntuitDeveloper/SampleApp-Webhooks-nodejs#readme",
      "Both forms are read: eventNotifications, and the newer array of CloudEvents.",
    ),
  },
  {
    key: "shopify",
    name: "Shopify",
    // The query of the address to which whoever installs an app is sent, which his browser shows.
    scheme: bodyHmac(["x-shopify-hmac-sha256", "shopify-hmac-sha256"], "", { signsOtherTexts: true }),
    secretFrom: "customer",
    secretLabel: "Client secret",
    typeExample: "orders.create",
    eventType: firstOf(header("X-Shopify-Topic"), header("Shopify-Topic")),
    deliveryId: firstOf(header("X-Shopify-Webhook-Id"), header("Shopify-Webhook-Id")),
    verifiedWith: officialSdk("@shopify/shopify-api", "15.0.0"),
    docs: checkedDocs(
      "The app's shopify.app.toml, [[webhooks.subscriptions]], uri; or the webhooks of the Shopify admin.",
      "Dev Dashboard: Apps, the app, Settings, Secret; webhooks made in the Shopify admin are signed with another, the store's.",
      "https://shopify.dev/docs/apps/build/authentication-authorization/client-secrets",
      "A webhook made by hand in a store is signed with another secret than the app's.",
      "Choose JSON as the format: XML is refused as malformed.",
      "After a rotation the old client secret may sign for an hour: keep it as the previous one.",
    ),
  },
  {
    key: "heroku",
    name: "Heroku",
    scheme: bodyHmac("heroku-webhook-hmac-sha256"),
    secretFrom: "source",
    typeExample: "api.build",
    eventType: firstOf(field("webhook_metadata.event.include"), joined(field("resource"), field("action"))),
    deliveryId: field("id"),
    verifiedWith: documentation("https://devcenter.heroku.com/articles/app-webhooks"),
    docs: checkedDocs(
      "heroku webhooks:add, option -u.",
      "Option -s of heroku webhooks:add: the source's secret; without it the command prints one of Heroku's.",
      "https://devcenter.heroku.com/articles/app-webhooks",
      "With -l notify a delivery is tried once, with -l sync for up to 72 hours.",
    ),
  },
  {
    key: "line",
    name: "LINE",
    scheme: bodyHmac("x-line-signature"),
    secretFrom: "customer",
    secretLabel: "Channel secret",
    signedHandshakes: [emptyBatch("verification sends events: [], answered 200")],
    typeExample: "message",
    eventType: field("events.0.type"),
    deliveryId: firstOf(field("events.*.webhookEventId"), bodyHash),
    verifiedWith: vector("line/line-bot-sdk-nodejs test/validate-signature.spec.ts"),
    docs: checkedDocs(
      "PUT /v2/bot/channel/webhook/endpoint of the Messaging API, field endpoint.",
      "LINE Developers Console: the channel, Channel secret.",
      "https://github.com/line/line-openapi/blob/main/messaging-api.yml",
      "Turn on Use webhook, and Webhook redelivery.",
    ),
  },
  {
    key: "typeform",
    name: "Typeform",
    scheme: bodyHmac("typeform-signature", "sha256="),
    secretFrom: "source",
    typeExample: "form_response",
    eventType: field("event_type"),
    deliveryId: field("event_id"),
    verifiedWith: documentation("https://www.typeform.com/developers/webhooks/secure-your-webhooks/"),
    docs: checkedDocs(
      "PUT /forms/{form_id}/webhooks/{tag} of the Typeform API, field url.",
      "Field secret of the same call: send the source's secret.",
      "https://github.com/Typeform/js-api-client#webhooks",
      "Without a secret Typeform sends no signature.",
    ),
  },
  {
    key: "docusign",
    name: "DocuSign Connect",
    scheme: {
      ...bodyHmac(DOCUSIGN_HEADERS, "", { isEveryHeaderRead: true }),
      headers: ["x-docusign-signature-1 to x-docusign-signature-100"],
    },
    secretFrom: "customer",
    secretLabel: "Connect key",
    typeExample: "envelope-completed",
    eventType: field("event"),
    deliveryId: firstOf(
      ...[[field("data.recipientId")], []].map((recipient) =>
        all(field("event"), field("data.envelopeId"), ...recipient, field("generatedDateTime")),
      ),
      bodyHash,
    ),
    verifiedWith: documentation("https://developers.docusign.com/platform/webhooks/connect/validate/"),
    docs: docs(
      "DocuSign Admin: Integrations, Connect, Add Configuration, URL to Publish.",
      "DocuSign Admin: Integrations, Connect, Connect Keys, Add Secret Key.",
      "https://developers.docusign.com/platform/webhooks/connect/validate/",
      "Choose the JSON format and tick Include HMAC Signature.",
    ),
  },
];

/** The texts of this file in German, by their English, for the portal (src/platform/field-texts.ts). */
export const german = {
  "Webhooks key": "Webhooks-Schlüssel",
  "Verifier token": "Prüf-Token",
  "Channel secret": "Geheimnis des Kanals",
  "Connect key": "Connect-Schlüssel",
  "The same page, Security, HMAC key, Generate.": "Auf derselben Seite: Security, HMAC key, Generate.",
  "The dashboard's (v4) webhook page, Secret hash: type the source's secret.":
    "Auf der Webhook-Seite des Dashboards (v4), Secret hash: das Geheimnis der Quelle eintippen.",
  "The same page, Webhooks key.": "Auf derselben Seite: Webhooks key.",
  "DocuSign Admin: Integrations, Connect, Connect Keys, Add Secret Key.":
    "DocuSign Admin: Integrations, Connect, Connect Keys, Add Secret Key.",
  "Option -s of heroku webhooks:add: the source's secret; without it the command prints one of Heroku's.":
    "Option -s von heroku webhooks:add: das Geheimnis der Quelle; ohne sie gibt der Befehl eines von Heroku aus.",
  "The webhooks verifier token, which is generated there with the subscription.":
    "Das verifier token der Webhooks, das dort mit dem Abonnement erzeugt wird.",
  "Dev Dashboard: Apps, the app, Settings, Secret; webhooks made in the Shopify admin are signed with another, the store's.":
    "Dev Dashboard: Apps, die App, Settings, Secret; Webhooks aus der Shopify-Verwaltung sind mit einem anderen signiert, dem des Shops.",
  "LINE Developers Console: the channel, Channel secret.":
    "LINE Developers Console: der Kanal, Channel secret.",
  "Field secret of the same call: send the source's secret.":
    "Feld secret desselben Aufrufs: das Geheimnis der Quelle senden.",
};
