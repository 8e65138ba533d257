/**
 * What tells two events of a provider apart, and one that is sent again from another: for each row,
 * happenings as near to each other as the provider makes them, and a second try of one. Losing an event in
 * silence is worse than making two of one: where nothing tells two apart, the row has no identity, and
 * says so.
 */
import { describe, expect, test } from "bun:test";
import { readBody } from "../../src/inbound/body.ts";
import { bodyHash } from "../../src/inbound/facts.ts";
import { PROVIDER_ROWS } from "../../src/inbound/providers.ts";
import type { ProviderRow } from "../../src/inbound/row.ts";
import { CASES } from "./cases.ts";
import { BRAINTREE_KINDS, signBraintree } from "./cases/signed-body.ts";
import { headersOf, keysOf, NOW_MS, requestOf, textOf } from "./kit.ts";
import { identityFrom } from "../../src/core/delivery-identity.ts";
import { form, inParts, json, type Near, type Sent } from "./near.ts";
import { ownIdsOf } from "./own-ids.ts";

function rowOf(key: string) {
  const row = PROVIDER_ROWS.find((one) => one.key === key);
  if (!row) throw new Error(`there is no provider ${key}`);
  return row;
}

async function identityOf(
  key: string,
  { headers = {}, body, contentType = "application/json", proven }: Sent,
  config: Readonly<Record<string, unknown>> = {},
) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const request = requestOf({ body: text, headers: { "content-type": contentType, ...headers } });
  const material = { secrets: [], credentials: {}, config };
  const arrival = { request, material, nowMs: NOW_MS, keys: keysOf(null) };
  const signedHeaders = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const facts = { arrival, body: readBody(request), claims: {}, signedHeaders, proven };
  const found = rowOf(key).deliveryId.read(facts);
  return found?.origin ? identityFrom(found.origin, found.value) : (found?.value ?? null);
}

const NEAR: [string, Near][] = Object.entries(CASES).flatMap(([key, { near }]) =>
  near ? [[key, near]] : [],
);

describe("happenings that are near to each other", () => {
  test.each(NEAR)("%s", async (key, { happenings, again }) => {
    const { config } = CASES[key] ?? {};
    const ids = await Promise.all(happenings.map((sent) => identityOf(key, sent, config)));
    // Without an identity each is an event of its own.
    const known = ids.filter((id) => id !== null);
    expect(new Set(known).size).toBe(known.length);
    if (again === null) return expect(known).toEqual([]);
    expect(known).toHaveLength(happenings.length);
    const repeated = await Promise.all(again.map((sent) => identityOf(key, sent, config)));
    expect([...new Set(repeated)]).toEqual([ids[0] ?? null]);
  });
});

/** One field, header or claim: by itself nothing else could be told apart, or take its place. */
const SINGLE = /^(body|header|claim) \S+$/;

/** What is tried one after the other; what has no identity at all stands behind it. */
function resortsOf({ deliveryId }: ProviderRow): string[] {
  return deliveryId.text.replace(/; none for .*$/, "").split(", else ");
}

test("a row has near happenings unless its identity is one thing, or the first of several with the body's hash behind", () => {
  const plain = PROVIDER_ROWS.filter((row) => {
    const resorts = resortsOf(row);
    const isLastHash = resorts.length > 1 && resorts.at(-1) === bodyHash.text;
    const things = isLastHash ? resorts.slice(0, -1) : resorts;
    return (isLastHash || things.length === 1) && things.every((text) => SINGLE.test(text));
  });
  expect(plain.length).toBeWithin(50, 80);
  const lacking = PROVIDER_ROWS.filter((row) => !plain.includes(row) && !CASES[row.key]?.near);
  expect(lacking.map(({ key }) => `test/inbound/cases/ lacks near of ${key}`)).toEqual([]);
});

test("what tells two happenings apart is numbered by the provider or its customer, or all that came is: no stranger makes another's a repeat", () => {
  // Of one of several, each is a part of one identity.
  const splice = (text: string) =>
    text.replace(/\(([^)]*, else [^)]*)\)/g, (_all, several: string) => several.replaceAll(", else ", " + "));
  const open = PROVIDER_ROWS.flatMap((row) => {
    const resorts = splice(row.deliveryId.text.replace(/; none for .*$/, "")).split(", else ");
    const own = ownIdsOf(row.key);
    const named = resorts.filter(
      (text) => text !== "none" && text !== row.proofTakenOnce?.text && !text.includes("hash of "),
    );
    return named
      .filter((text) => !text.split(" + ").some((part) => own.includes(part)))
      .map((text) => `${row.key}: ${text}`);
  });
  expect(open).toEqual([]);
});

test("where a part of an identity is missing, the row says what takes its place: a hash, what is signed, or none", () => {
  const composed = PROVIDER_ROWS.filter((row) => !resortsOf(row).every((text) => SINGLE.test(text)));
  expect(composed.length).toBeGreaterThan(50);
  const unanswered = composed.filter((row) => {
    const last = resortsOf(row).at(-1) ?? "";
    const proof = row.proofTakenOnce?.text;
    const isProof = proof !== undefined && row.deliveryId.text.endsWith(`, else ${proof}`);
    return !/^(hash of .*|none)$/.test(last) && !isProof;
  });
  expect(unanswered.map(({ key }) => key)).toEqual([]);
});

test("two notifications of Braintree's of one second are two where anything in them differs", async () => {
  const notification = (id: string, failures: number) => {
    const subscription = `<failure-count type="integer">${failures}</failure-count><id>${id}</id>`;
    const xml = `<?xml version="1.0"?><notification><kind>subscription_canceled</kind><timestamp type="datetime">2026-11-30T03:34:41Z</timestamp><subject><subscription>${subscription}</subscription></subject></notification>`;
    return identityOf("braintree", form({ bt_payload: Buffer.from(xml).toString("base64") }));
  };
  const told = ["one", "other"].flatMap((id) => [0, 1].map((failures) => notification(id, failures)));
  expect(new Set(await Promise.all(told)).size).toBe(4);
  expect(await notification("one", 0)).toBe((await told[0]) ?? "");
});

test("Braintree's notifications without an id are known again, and told apart", async () => {
  const sentOf = (kind: string, id: string) => {
    const request = signBraintree(kind, id);
    return { body: textOf(request), contentType: request.headers.get("content-type") ?? "" };
  };
  expect(BRAINTREE_KINDS.length).toBeGreaterThan(30);
  for (const kind of BRAINTREE_KINDS) {
    const sent = sentOf(kind, "my_id");
    const id = await identityOf("braintree", sent);
    expect([kind, id]).toEqual([kind, expect.any(String)]);
    expect(await identityOf("braintree", { ...sent, body: `${sent.body}&beside=1` })).toBe(id);
  }
  const [one, other] = ["m1", "m2"].map((id) => sentOf("oauth_access_revoked", id));
  expect(await identityOf("braintree", one as Sent)).not.toBe(await identityOf("braintree", other as Sent));
});

test("Mailgun's inbound mail is known again by whatever token, and an opening by its own alone", async () => {
  const identity = (fields: Record<string, string>, token: string) => {
    const proof = { token, timestamp: token, signature: token, "parent-signature": token };
    const sent = form({ "Message-Id": "<1@x>", recipient: "a@x.com", ...fields, ...proof });
    return identityOf("mailgun", { ...sent, proven: token });
  };
  const mail = { sender: "ann@y.com", subject: "order" };
  expect(await identity(mail, "1")).toBe(await identity(mail, "2"));
  const others = [mail, { ...mail, sender: "eve@z.com" }, { ...mail, subject: "spam" }];
  expect(new Set(await Promise.all(others.map((each) => identity(each, "1")))).size).toBe(3);
  const opened = (token: string) => identity({ event: "opened" }, token);
  expect([await opened("1"), await opened("2")]).toEqual(["1", "2"]);
});

test("an item of Adyen's that lacks a part of its identity is known again, whatever is not signed", async () => {
  const sent = (pspReference: string, live: string) =>
    json({ live, notificationItems: [{ NotificationRequestItem: { eventCode: "REPORT", pspReference } }] });
  const id = await identityOf("adyen", sent("p", "false"));
  expect(id).toBeString();
  expect(await identityOf("adyen", sent("p", "true"))).toBe(id);
  expect(await identityOf("adyen", sent("q", "false"))).not.toBe(id);
});

test("a template's form is the same whatever parts it: of what has no identity but its content, too", async () => {
  const identities = (event_type: string, more: object) => {
    const text = JSON.stringify({ event: { event_time: "1", event_type }, ...more });
    return Promise.all(
      ["a", "b"].map((boundary) => identityOf("dropbox_sign", inParts("json", text, boundary))),
    );
  };
  const [one, other] = await identities("account_confirmed", { account: "x" });
  expect(one).toMatch(/^body:[0-9a-f]{64}$/);
  expect(other).toBe(one ?? "");
  const [template, again] = await identities("template_created", { template: { template_id: "t" } });
  expect(template).toBe("1|template_created|t");
  expect(again).toBe(template ?? "");
});

test("changes of ClickUp that carry no history are an event each; those that do are known again", async () => {
  const body = { event: "spaceUpdated", space_id: "1", webhook_id: "w" };
  expect(await identityOf("clickup", json(body))).toBeNull();
  expect(await identityOf("clickup", json({ ...body, history_items: [{ id: "h" }] }))).toBe("spaceUpdated|h");
});

test("inbound mail of Postmark's, which it sends again for ten hours, is known by its message", async () => {
  const mail = (id: string) => json({ FromFull: { Email: "a@example.com" }, MessageID: id, TextBody: "Hi" });
  const [one, other] = [await identityOf("postmark", mail("m-1")), await identityOf("postmark", mail("m-2"))];
  expect([one, other]).toEqual(["a@example.com|m-1", "a@example.com|m-2"]);
});

/** Their id stands inside something that is encoded: in XML in base64, and in the claims of a token. */
const ENCODED = ["braintree", "vonage"];
/** The id is a hash of all that is sent, or of all that is signed. */
const isHashed = (key: string) =>
  key === "coinbase_cdp" || CASES[key]?.expected.deliveryId?.startsWith("body:") === true;

describe("a happening with another id is another event", () => {
  const rows = PROVIDER_ROWS.filter(({ key }) => CASES[key]?.expected.deliveryId !== null);
  test("of almost every row", () => expect(rows.length).toBeGreaterThan(110));

  test.each(rows.map(({ key }) => key).filter((key) => !ENCODED.includes(key) && !isHashed(key)))(
    "%s",
    async (key) => {
      const proof = CASES[key];
      const request = await proof?.sign(proof.secrets[0] ?? "", NOW_MS);
      if (!proof || !request) throw new Error(`test/inbound/cases/ lacks a case of ${key}`);
      const headers = headersOf(request);
      const sent = { headers, body: textOf(request), contentType: headers["content-type"] ?? "" };
      const id = await identityOf(key, sent, proof.config);
      const parts = (proof.expected.deliveryId ?? "")
        .split(/[|,]/)
        .filter((part) => part !== "" && part !== "#")
        // Mailchimp's parts are joined by a dot, which others have within theirs.
        .flatMap((part) => (key === "mailchimp" ? part.split(".") : [part]));
      const found: boolean[] = [];
      for (const part of parts) {
        const others = alterations(sent, part);
        const ids = await Promise.all(others.map((other) => identityOf(key, other, proof.config)));
        if (others.length > 0) found.push(ids.some((other) => other !== id));
      }
      expect([...new Set(found)]).toEqual([true]);
    },
  );
});

/** The request with a part of its id changed, where that stands: in a header, or in the body. */
function alterations(sent: Sent, part: string): Sent[] {
  const other = part.slice(0, -1) + (part.endsWith("7") ? "8" : "7");
  const named = Object.entries(sent.headers ?? {}).filter(([, value]) => value === part);
  const inHeaders = named.map(([name]) => ({ ...sent, headers: { ...sent.headers, [name]: other } }));
  const spelled = [
    part,
    new URLSearchParams([["", part]]).toString().slice(1),
    encodeURIComponent(part),
    JSON.stringify(part).slice(1, -1).replaceAll('"', '\\"'),
  ];
  const found = spelled.find((text) => String(sent.body).includes(text));
  if (found === undefined) return inHeaders;
  return [...inHeaders, { ...sent, body: String(sent.body).replaceAll(found, other) }];
}

test("where nothing tells two happenings apart, the row says so", () => {
  const without = PROVIDER_ROWS.filter(({ deliveryId }) => /^none|; none/.test(deliveryId.text)).map(
    ({ key }) => key,
  );
  expect(without.sort()).toEqual(["clickup", "dropbox", "plaid", "revolut", "webflow"]);
});
