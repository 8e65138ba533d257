/** What is signed without a separator between its parts is read in one way only: as it was at first. */
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
  custom("{url}\n{body}", { url: URL_WITH_QUERY, body: FORM }),
  // Of other bodies than JSON too.
  custom("{id}{body}", { body: FORM }),
  custom("{body}{id}", { body: FORM }),
  custom("{id}{timestamp}{body}", { body: FORM, at }),
  custom("{url}{body}", { body: FORM }),
  custom("{url}{body}", { body: FORM, url: URL_WITH_QUERY }),
  custom("{url}.{body}", { body: "a=1.5", url: URL_WITH_QUERY }),
  custom("{url}{timestamp}{body}", { body: FORM, url: URL_WITH_QUERY, at }),
  custom("{url}{id}\n{body}", { body: FORM, url: URL_WITH_QUERY }),
  custom("{id}{url}.{body}", { url: URL_WITH_QUERY }),
];

const receive = ({ provider, config = {} }: Case, request: InboundRequest): Promise<Reception> =>
  findProvider(provider)?.receive(request, materialOf(["s"], { config }), NOW_MS) as Promise<Reception>;

const proofIn = (reception: Reception) => (reception.kind === "event" ? reception.proof : null);

/** False for one that is refused, and where `first` was taken: for its signed text that is cut otherwise. */
function isTakenAfter(first: Reception, other: Reception): boolean {
  const [seen, proof] = [proofIn(first), proofIn(other)];
  const isRecut = seen !== null && seen.id === proof?.id && proof.cut !== undefined && proof.cut !== seen.cut;
  return other.kind !== "refused" && !isRecut;
}

describe("the genuine request is taken, and no other one by its signature", () => {
  test.each(TAKEN.map((each) => [each.name, each] as const))("%s", async (_name, each) => {
    const first = await receive(each, each.request);
    expect(first.kind).toBe("event");
    expect(proofIn(await receive(each, each.request))).toEqual(proofIn(first));
    const others = [...movedParts(each.request), ...movedHeaders(each.request, [])];
    const receptions = await Promise.all(others.map((request) => receive(each, request)));
    expect(others.length).toBeGreaterThan(0);
    expect(receptions.filter((other) => isTakenAfter(first, other))).toEqual([]);
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
  const first = await receive(genuine, genuine.request);
  expect(first.kind).toBe("event");
  expect(isTakenAfter(first, await receive(cut, cut.request))).toBe(false);
});

/** A query takes over what comes before the id. */
test("an id that is parted from the body is not parted from a query", async () => {
  const genuine = custom("{url}.{id}.{body}", { url: URL_WITH_QUERY, body: "a=1.5&b=2" });
  const cut = custom("{url}.{id}.{body}", { url: `${URL_WITH_QUERY}.ev100`, id: "a=1", body: "5&b=2" });
  expect(headersIn(cut.request).get("x-sig")).toBe(headersIn(genuine.request).get("x-sig"));
  const first = await receive(genuine, genuine.request);
  expect(first.kind).toBe("event");
  expect(isTakenAfter(first, await receive(cut, cut.request))).toBe(false);
});

test.each([custom("{url}{body}", { body: FORM }), custom("{url}{timestamp}{body}", { body: FORM, at })])(
  "how it was cut is known as long as an id: $name",
  async (each) => {
    expect(proofIn(await receive(each, each.request))?.keptSeconds).toBe(30 * 86_400);
  },
);

/** Nothing is remembered of a signed text that can be read in one way only. */
test.each(["{id}.{timestamp}.{body}", "{timestamp}{body}", "{id}\n{url}\n{body}", "{body}.{id}"])(
  "what is parted is no second reading: %s",
  async (template) => {
    const each = custom(template, { body: FORM, url: URL_WITH_QUERY, at });
    expect(proofIn(await receive(each, each.request))).toBeNull();
    expect(await receive(each, each.request)).toMatchObject({ kind: "event" });
  },
);
