/** What is signed without a separator between its parts is read in one way only, or refused. */
import { describe, expect, test } from "bun:test";
import type { InboundRequest, Reception } from "../../src/inbound/provider.ts";
import { findProvider } from "../../src/inbound/providers.ts";
import { movedHeaders, movedParts } from "./forgery-kit.ts";
import { headersIn, materialOf, NOW_MS, NOW_SECONDS, requestOf, SOURCE_URL } from "./kit.ts";
import { base64Mac, hexMac } from "./recompute.ts";

const URL_WITH_QUERY = `${SOURCE_URL}?tenant=1`;
const JSON_BODY = '{"event_id":"e-1","type":"a.b"}';
const ISO = "2027-01-15T08:00:00.000Z";

interface Case {
  name: string;
  provider: string;
  config?: Record<string, unknown>;
  request: InboundRequest;
}

/** By `hmac`, with this template. */
function custom(template: string, { url = SOURCE_URL, body = JSON_BODY, id = "ev100", at = "" }): Case {
  const config: Record<string, unknown> = {
    header: "x-sig",
    algorithm: "sha256",
    encoding: "hex",
    signed_content: template,
  };
  const headers: Record<string, string> = {};
  if (template.includes("{id}")) Object.assign(config, { id_header: "x-id" });
  if (template.includes("{id}")) headers["x-id"] = id;
  if (at !== "") Object.assign(config, { timestamp_header: "x-at" });
  if (at !== "") headers["x-at"] = at;
  const values: Record<string, string> = { "{id}": id, "{timestamp}": at, "{body}": body, "{url}": url };
  headers["x-sig"] = hexMac(
    "s",
    template.replaceAll(/\{\w+\}/g, (name) => values[name] ?? ""),
  );
  return { name: template, provider: "hmac", config, request: requestOf({ url, body, headers }) };
}

function signed(provider: string, url: string, body: string, headers: Record<string, string>): Case {
  return { name: provider, provider, request: requestOf({ url, body, headers }) };
}

const FORM = "amount=100&to=bob";
const at = String(NOW_SECONDS);

const TAKEN: Case[] = [
  signed("square", URL_WITH_QUERY, JSON_BODY, {
    "x-square-hmacsha256-signature": base64Mac("s", URL_WITH_QUERY + JSON_BODY),
  }),
  signed("hubspot", URL_WITH_QUERY, `[${JSON_BODY}]`, {
    "x-hubspot-signature-v3": base64Mac("s", `POST${URL_WITH_QUERY}[${JSON_BODY}]${NOW_MS}`),
    "x-hubspot-request-timestamp": String(NOW_MS),
  }),
  signed("zendesk", SOURCE_URL, JSON_BODY, {
    "x-zendesk-webhook-signature": base64Mac("s", ISO + JSON_BODY),
    "x-zendesk-webhook-signature-timestamp": ISO,
  }),
  custom("{body}{timestamp}", { body: FORM.split("&").toReversed().join("&"), at }),
  custom("{timestamp}{body}", { body: FORM, at }),
  custom("{id}{timestamp}.{body}", { at }),
  custom("{id}{body}", {}),
  custom("{url}{body}", { url: URL_WITH_QUERY }),
  custom("{url}.{body}", { url: URL_WITH_QUERY, body: '{"a":"b.c"}' }),
  // An address that its owner has entered is no sender's to choose.
  custom("{url}{body}", { body: FORM }),
  custom("{url}\n{body}", { url: URL_WITH_QUERY, body: FORM }),
];

const receive = ({ provider, config = {} }: Case, request: InboundRequest): Promise<Reception> =>
  findProvider(provider)?.receive(request, materialOf(["s"], { config }), NOW_MS) as Promise<Reception>;

describe("the genuine request is taken, and no other one by its signature", () => {
  test.each(TAKEN.map((each) => [each.name, each] as const))("%s", async (_name, each) => {
    expect((await receive(each, each.request)).kind).toBe("event");
    const others = [...movedParts(each.request), ...movedHeaders(each.request, [])];
    const receptions = await Promise.all(others.map((request) => receive(each, request)));
    expect(others.length).toBeGreaterThan(0);
    expect(receptions.filter(({ kind }) => kind !== "refused")).toEqual([]);
  });
});

const EARLIER = String(NOW_SECONDS - 5);

/** What is signed holds two times: one in the id, and the one beside it. */
test.each([
  ["{id}{timestamp}{body}", `ev-${EARLIER}-b`, { id: "ev-", body: `-b${at}${JSON_BODY}` }],
  ["{id}{timestamp}.{body}", `ev-${EARLIER}.b`, { id: "ev-", body: `b${at}.${JSON_BODY}` }],
  ["{body}{timestamp}{id}", `-b${EARLIER}ev`, { id: "ev", body: `${JSON_BODY}${at}-b` }],
] as const)("a time within an id is no other reading: %s", async (template, id, parts) => {
  const genuine = custom(template, { id, at });
  const cut = custom(template, { ...parts, at: EARLIER });
  expect(headersIn(cut.request).get("x-sig")).toBe(headersIn(genuine.request).get("x-sig"));
  expect((await receive(genuine, genuine.request)).kind).toBe("event");
  expect((await receive(cut, cut.request)).kind).toBe("refused");
});

test.each([
  custom("{id}{body}", { body: FORM }),
  custom("{body}{id}", { body: FORM }),
  custom("{url}{body}", { body: FORM, url: URL_WITH_QUERY }),
  custom("{url}.{body}", { body: FORM, url: URL_WITH_QUERY }),
  custom("{id}{url}.{body}", { url: URL_WITH_QUERY }),
])("what could be cut elsewhere is refused: $name", async (each) => {
  expect(await receive(each, each.request)).toEqual({ kind: "refused", reason: "malformed" });
});
