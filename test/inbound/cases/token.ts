import { basicAuthValidator } from "chargebee";
import type { ProviderCase } from "../case.ts";
import { jsonRequest, requestOf, SOURCE_URL, withBody, withHeader } from "../kit.ts";
import { form, json } from "../near.ts";
import { passes } from "../sdk.ts";

type Accepts = NonNullable<ProviderCase["accepts"]>;

const TOKENS: [string, string] = ["whsec_b3VyIG93biBzZWNyZXQ=", "whsec_YW5vdGhlciBzZWNyZXQ="];
const PAIRS: [string, string] = ["user:pass:word", "user:other"];

/** A token in a header; the body is not signed. */
function tokenCase(
  header: string,
  body: string,
  expected: ProviderCase["expected"],
  rest: Partial<ProviderCase> & { headers?: Record<string, string> } = {},
): ProviderCase {
  return {
    secrets: TOKENS,
    sign: (secret) => jsonRequest(body, { ...rest.headers, [header]: secret }),
    requiredHeaders: [header],
    isBodySigned: false,
    expected,
    ...rest,
  };
}

function basicCase(
  body: string,
  expected: ProviderCase["expected"],
  rest: Partial<ProviderCase> = {},
): ProviderCase {
  return tokenCase("authorization", body, expected, {
    secrets: PAIRS,
    sign: (secret) => jsonRequest(body, { authorization: `Basic ${btoa(secret)}` }),
    ...rest,
  });
}

/** The first colon parts the two. */
const byChargebee: Accepts = (request, secret) => {
  const [user = "", ...rest] = secret.split(":");
  const validate = basicAuthValidator((name, password) => name === user && password === rest.join(":"));
  return passes(() => validate({ authorization: request.headers.get("authorization") ?? "" }));
};

const GRAPH_ENTRY = {
  subscriptionId: "s-1",
  changeType: "created",
  resourceData: { "@odata.type": "#Microsoft.Graph.Message", id: "m-1" },
};

function graphBody(secret: string): string {
  return JSON.stringify({
    value: [
      { ...GRAPH_ENTRY, id: "n-1", clientState: secret },
      { id: "n-2", clientState: secret },
    ],
  });
}

const GRID_BODY = '[{"id":"g-1","eventType":"Microsoft.Storage.BlobCreated","data":{}}]';
const VALIDATION_BODY =
  '[{"id":"v","eventType":"Microsoft.EventGrid.SubscriptionValidationEvent","data":{"validationCode":"512d38b6"}}]';
const MAILCHIMP_BODY =
  "type=subscribe&fired_at=2026-01-01 00:00:00&data[id]=8a25ff1d98&data[email]=api@mailchimp.com";

const click = (link: string, to = "a@example.com") =>
  json({
    RecordType: "Click",
    MessageID: "m",
    ReceivedAt: "2026-01-01T00:00:00Z",
    Recipient: to,
    OriginalLink: link,
  });

const graph = (resource: string) =>
  json({
    value: [
      { subscriptionId: "s", changeType: "updated", clientState: "c", resource, resourceData: { id: "m" } },
    ],
  });

export const TOKEN_CASES: Readonly<Record<string, ProviderCase>> = {
  gitlab: tokenCase(
    "x-gitlab-token",
    '{"object_kind":"push"}',
    { type: "gitlab.Push_Hook", deliveryId: "k-1" },
    {
      headers: { "x-gitlab-event": "Push Hook", "idempotency-key": "k-1" },
    },
  ),
  flutterwave: tokenCase(
    "verif-hash",
    '{"event":"charge.completed","data":{"id":285959875}}',
    {
      type: "flutterwave.charge.completed",
      deliveryId: "charge.completed|285959875",
    },
    {
      near: {
        happenings: ["pending", "successful"].map((status) =>
          json({ event: "charge.completed", data: { id: 1, status } }),
        ),
        again: [json({ event: "charge.completed", data: { id: 1, status: "pending" }, meta_data: {} })],
      },
    },
  ),
  chargebee: basicCase(
    '{"id":"ev_1","event_type":"subscription_created","content":{}}',
    { type: "chargebee.subscription_created", deliveryId: "ev_1" },
    { accepts: byChargebee },
  ),
  postmark: basicCase(
    '{"RecordType":"Bounce","ID":42,"MessageID":"m-1"}',
    {
      type: "postmark.Bounce",
      deliveryId: "Bounce|42",
    },
    { near: { happenings: [click("/a"), click("/b"), click("/a", "b@example.com")], again: [click("/a")] } },
  ),
  telegram: tokenCase(
    "x-telegram-bot-api-secret-token",
    '{"update_id":12345678901234567890,"message":{"text":"/start"}}',
    { type: "telegram.message", deliveryId: "12345678901234567890" },
    { secrets: ["whsec_b3VyIG93biBzZWNyZXQ", "whsec_YW5vdGhlciBzZWNyZXQ"] },
  ),
  auth0: tokenCase(
    "authorization",
    '[{"log_id":"9002","data":{"type":"s"}},{"log_id":"9003","data":{"type":"f"}}]',
    { type: "auth0.s", deliveryId: "9002,9003" },
  ),
  okta: tokenCase(
    "authorization",
    '{"eventId":"e-1","data":{"events":[{"uuid":"u-1","eventType":"user.lifecycle.create"}]}}',
    { type: "okta.user.lifecycle.create", deliveryId: "u-1" },
    {
      handshakes: [
        {
          name: "verification challenge",
          request: () =>
            requestOf({
              method: "GET",
              headers: { "x-okta-verification-challenge": "my verification challenge" },
            }),
          answer: { status: 200, body: '{"verification":"my verification challenge"}' },
        },
      ],
      near: {
        happenings: [["u-1"], ["u-2"], ["u-1", "u-2"]].map((uuids) =>
          json({ eventTime: "t", data: { events: uuids.map((uuid) => ({ uuid, published: "t" })) } }),
        ),
        again: [json({ eventTime: "later", data: { events: [{ uuid: "u-1", published: "t" }] } })],
      },
    },
  ),
  mailchimp: {
    secrets: [],
    isUnsigned: true,
    sign: () =>
      requestOf({ body: MAILCHIMP_BODY, headers: { "content-type": "application/x-www-form-urlencoded" } }),
    requiredHeaders: [],
    isBodySigned: false,
    expected: {
      type: "mailchimp.subscribe",
      deliveryId: "subscribe.2026-01-01 00:00:00.8a25ff1d98.api@mailchimp.com|#",
    },
    handshakes: [
      { name: "GET", request: () => requestOf({ method: "GET" }), answer: { status: 200, body: "" } },
    ],
    near: {
      happenings: ["Ann", "Anne"].map((name) =>
        form({ type: "profile", fired_at: "t", "data[id]": "1", "data[merges][FNAME]": name }),
      ),
      again: [form({ type: "profile", fired_at: "t", "data[id]": "1", "data[merges][FNAME]": "Ann" })],
    },
  },
  microsoft_graph: {
    secrets: TOKENS,
    sign: (secret) => jsonRequest(graphBody(secret), {}),
    requiredHeaders: [],
    isBodySigned: false,
    alterations: [
      (request) => withBody(request, graphBody(TOKENS[0]).replace(TOKENS[0], TOKENS[1])),
      (request) =>
        withBody(request, JSON.stringify({ value: [{ clientState: TOKENS[0] }, { id: "without" }] })),
    ],
    expected: { type: "microsoft_graph.created.Message", deliveryId: "n-1,n-2" },
    handshakes: [
      {
        name: "validationToken",
        request: () =>
          requestOf({
            url: `${SOURCE_URL}?validationToken=Validation%3A+%3Cb%3E`,
            headers: { "content-type": "text/plain" },
          }),
        answer: {
          status: 200,
          body: "Validation: <b>",
          headers: { "content-type": "text/plain; charset=utf-8" },
        },
      },
    ],
    near: { happenings: [graph("a"), graph("a"), graph("a")], again: null },
  },
  azure_event_grid: tokenCase(
    "x-our-header",
    GRID_BODY,
    { type: "azure_event_grid.Microsoft.Storage.BlobCreated", deliveryId: "g-1" },
    {
      credentials: { header_name: "X-Our-Header" },
      handshakes: [
        {
          name: "SubscriptionValidation",
          request: () =>
            withHeader(jsonRequest(VALIDATION_BODY, {}), "aeg-event-type", "SubscriptionValidation"),
          answer: { status: 200, body: '{"validationResponse":"512d38b6"}' },
        },
        {
          name: "OPTIONS",
          request: () =>
            requestOf({ method: "OPTIONS", headers: { "webhook-request-origin": "eventgrid.azure.net" } }),
          answer: {
            status: 200,
            body: "",
            headers: { "webhook-allowed-origin": "eventgrid.azure.net", "webhook-allowed-rate": "*" },
          },
        },
      ],
      near: {
        happenings: ["/a", "/b"].map((source) => json([{ id: "1", source }])),
        again: [json([{ id: "1", source: "/a", time: "later" }])],
      },
    },
  ),
};
