/**
 * What whoever reads an event could do with it at the door, where the provider's proof covers little of
 * a request.
 */
import { createHmac } from "node:crypto";
import { beforeAll, describe, expect, test } from "bun:test";
import { appForFile } from "../../kit/for-file.ts";
import { type CreatedSource, createSource, eventsOf, knock, readSource } from "../sources/kit.ts";

const app = appForFile();

const KEY = "mailgun-signing-key";

function mailgun(token: string, event: Record<string, unknown>): string {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac("sha256", KEY).update(timestamp).update(token).digest("hex");
  return JSON.stringify({ signature: { timestamp, token, signature }, "event-data": event });
}

const JSON_TYPE = { "content-type": "application/json" };

describe("a token of Mailgun", () => {
  let source: CreatedSource;
  beforeAll(async () => {
    source = await createSource(app, "mailgun", { signing_secret: KEY });
  });
  const send = (body: string) => knock(app, source.ingest_path, body, JSON_TYPE);

  test("makes one event: with other data it is refused, with the same it is a duplicate", async () => {
    const body = mailgun("t-1", { id: "m-1", event: "delivered" });
    expect((await send(body)).status).toBe(200);
    const forged = await send(body.replace("m-1", "m-2").replace("delivered", "failed"));
    expect([forged.status, forged.text]).toEqual([401, ""]);
    expect((await send(body)).json["duplicate"]).toBe(true);
    expect((await send(mailgun("t-2", { id: "m-1", event: "delivered" }))).json["duplicate"]).toBe(true);
    expect((await eventsOf(app, source)).map(({ type }) => type)).toEqual(["mailgun.delivered"]);
    expect((await readSource(app, source)).counters.rejected).toMatchObject({ body_altered: 1 });
  });

  test("of a request that came again makes no event either", async () => {
    await send(mailgun("t-5", { id: "m-5", event: "delivered" }));
    const again = mailgun("t-6", { id: "m-5", event: "delivered" });
    expect((await send(again)).json["duplicate"]).toBe(true);
    expect((await send(again.replace("m-5", "m-6"))).status).toBe(401);
  });

  test("makes one event among many at once, whatever the others say", async () => {
    const first = mailgun("t-3", { id: "c-0", event: "opened" });
    const bodies = Array.from({ length: 20 }, (_unused, index) => first.replace("c-0", `c-${index}`));
    const replies = await Promise.all(bodies.map(send));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(19);
    expect((await eventsOf(app, source)).filter(({ type }) => type === "mailgun.opened")).toHaveLength(1);
  });

  test("makes one event, whatever stands beside it where it is looked for", async () => {
    const first = mailgun("t-7", { id: "m-7", event: "opened" });
    await send(first);
    const { signature: proof } = JSON.parse(first) as { signature: Record<string, string> };
    const { timestamp = "", token = "", signature = "" } = proof;
    const inJson = `{"timestamp":"${timestamp}","token":"${token}","signature":{"signature":"${signature}","token":100000000000000000000},"event-data":{"id":"m-8","event":"opened"}}`;
    const part = (name: string, text: string) =>
      `--b\r\nContent-Disposition: form-data; name=${name}\r\n\r\n${text}\r\n`;
    const fields = Object.entries({ timestamp, token, signature, event: "opened" });
    const texts = fields.map(([name, text]) => part(`"${name}"`, text)).join("");
    const inParts = `${texts}${part('"token"; filename="a"', "z")}--b--\r\n`;
    expect([(await send(inJson)).status, (await send(inParts)).status]).toEqual([401, 401]);
  });

  test("stands in the event, its signature does not", async () => {
    const { json } = await send(mailgun("t-4", { id: "m-4", event: "clicked" }));
    const event = await app.live.get(`/v1/events/${String(json["id"])}`);
    expect(event.json["data"]).toMatchObject({ signature: { token: "t-4", signature: "***" } });
  });
});

test("a notification of Mercado Pago without an id is a duplicate when it comes again, and with other data refused", async () => {
  const source = await createSource(app, "mercadopago", { signing_secret: KEY });
  const ts = Math.floor(Date.now() / 1000);
  const v1 = createHmac("sha256", KEY).update(`request-id:r-1;ts:${ts};`).digest("hex");
  const headers = { ...JSON_TYPE, "x-request-id": "r-1", "x-signature": `ts=${ts},v1=${v1}` };
  const body = JSON.stringify({ type: "payment", data: { id: "1" } });
  const [first, again] = [
    await knock(app, source.ingest_path, body, headers),
    await knock(app, source.ingest_path, body, headers),
  ];
  expect([first.status, again.status]).toEqual([200, 200]);
  expect(again.json).toEqual({ id: first.json["id"], duplicate: true });
  const forged = JSON.stringify({ type: "payment", data: { id: "2" } });
  expect((await knock(app, source.ingest_path, forged, headers)).status).toBe(401);
  expect(await eventsOf(app, source)).toHaveLength(1);
});

test("a form of Twilio makes one event, wherever its joined fields are cut, and however they are spelled", async () => {
  const source = await createSource(app, "twilio", {
    signing_secret: KEY,
    config: { public_url: "https://hooks.example.com/in" },
  });
  const content = "https://hooks.example.com/inMessageSidSM1MessageStatussent";
  const signature = createHmac("sha1", KEY).update(content).digest("base64");
  const headers = { "x-twilio-signature": signature, "content-type": "application/x-www-form-urlencoded" };
  const send = (body: string) => knock(app, source.ingest_path, body, headers);
  const genuine = "MessageSid=SM1&MessageStatus=sent";
  expect((await send(genuine)).status).toBe(200);
  for (const cut of [
    "MessageSidS=M1&MessageStatus=sent",
    "MessageSid=SM1MessageStatussent",
    "MessageSid=SM1&MessageStatuss=ent",
  ])
    expect([cut, (await send(cut)).status]).toEqual([cut, 401]);
  for (const same of [genuine, "MessageStatus=sent&MessageSid=S%4D1"])
    expect([same, (await send(same)).status]).toEqual([same, 200]);
  expect(await eventsOf(app, source)).toHaveLength(1);
});

describe("a signed text whose parts are joined, of a custom hmac", () => {
  const FORM = "amount=100&to=bob";
  const address = "https://hooks.example.com/in";
  const plain = { header: "x-sig", algorithm: "sha256", encoding: "hex", public_url: address };
  const make = (config: Record<string, unknown>) =>
    createSource(app, "hmac", { signing_secret: KEY, config: { ...plain, ...config } });

  /** Sends to the source what is signed as `text`. */
  const send = (
    source: CreatedSource,
    text: string,
    { query = "", body = FORM, ...headers }: Record<string, string>,
  ) => {
    const signature = createHmac("sha256", KEY).update(text).digest("hex");
    return knock(app, source.ingest_path + query, body, { ...headers, "x-sig": signature });
  };

  test("makes one event: sent again it is a duplicate, cut elsewhere it is refused", async () => {
    const source = await make({ signed_content: "{id}{body}", id_header: "x-id" });
    const text = `ev100${FORM}`;
    expect((await send(source, text, { "x-id": "ev100" })).status).toBe(200);
    const cuts = [
      { "x-id": "ev1", body: `00${FORM}` },
      { "x-id": "ev100amount=1", body: "00&to=bob" },
    ];
    for (const cut of cuts) {
      const forged = await send(source, text, cut);
      expect([forged.status, forged.text]).toEqual([401, ""]);
    }
    expect((await send(source, text, { "x-id": "ev100" })).json["duplicate"]).toBe(true);
    expect(await eventsOf(app, source)).toHaveLength(1);
    expect((await readSource(app, source)).counters.rejected).toMatchObject({ body_altered: 2 });
  });

  test("that was taken as JSON is not taken as anything else", async () => {
    const source = await make({ signed_content: "{id}{body}", id_header: "x-id" });
    const text = 'ev1{"a":1}';
    expect((await send(source, text, { "x-id": "ev1", body: '{"a":1}' })).status).toBe(200);
    expect((await send(source, text, { "x-id": "ev", body: '1{"a":1}' })).status).toBe(401);
  });

  test("with a new time is a duplicate by its id, and can be cut no more than the first", async () => {
    const source = await make({
      signed_content: "{id}{timestamp}{body}",
      id_header: "x-id",
      timestamp_header: "x-at",
    });
    const now = Math.floor(Date.now() / 1000);
    const at = (seconds: number) => ({ "x-id": "ev1", "x-at": String(seconds) });
    // The older one is another time in what the later one signs.
    const text = `ev1${now - 9}${now}${FORM}`;
    const later = { "x-id": `ev1${now - 9}`, "x-at": String(now) };
    expect((await send(source, `ev1${now - 5}${FORM}`, at(now - 5))).status).toBe(200);
    expect((await send(source, `ev1${now}${FORM}`, at(now))).json["duplicate"]).toBe(true);
    expect((await send(source, text, later)).status).toBe(200);
    expect((await send(source, text, { ...at(now - 9), body: now + FORM })).status).toBe(401);
    expect(await eventsOf(app, source)).toHaveLength(2);
  });

  test("without an id makes an event each time, but is cut as it was at first", async () => {
    const source = await make({ signed_content: "{url}{body}" });
    const text = `${address}?tenant=1${FORM}`;
    const genuine = { query: "?tenant=1" };
    const both = [await send(source, text, genuine), await send(source, text, genuine)];
    expect(both.map(({ status, json }) => [status, json["duplicate"]])).toEqual([
      [200, undefined],
      [200, undefined],
    ]);
    expect((await send(source, text, { query: "?tenant=1amount=", body: "100&to=bob" })).status).toBe(401);
    expect((await send(source, text, { body: `?tenant=1${FORM}` })).status).toBe(401);
    expect((await send(source, text, genuine)).status).toBe(200);
    expect(await eventsOf(app, source)).toHaveLength(3);
  });

  test("under an unsigned id that is known is cut no other way either, and admits no such cut", async () => {
    const source = await make({ signed_content: "{url}{body}", id_header: "x-id" });
    const text = `${address}?tenant=1${FORM}`;
    const cut = { query: "?tenant=1amount=", body: "100&to=bob" };
    expect((await send(source, text, { query: "?tenant=1", "x-id": "a" })).status).toBe(200);
    for (const id of ["a", "b"]) expect((await send(source, text, { ...cut, "x-id": id })).status).toBe(401);
    expect(await eventsOf(app, source)).toHaveLength(1);
  });

  test("makes one event among many cuts at once", async () => {
    const source = await make({ signed_content: "{id}{body}", id_header: "x-id" });
    const text = `ev${FORM}`;
    const cuts = Array.from({ length: 10 }, (_unused, at) => at + 1);
    const replies = await Promise.all(
      cuts.map((at) => send(source, text, { "x-id": text.slice(0, at), body: text.slice(at) })),
    );
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await eventsOf(app, source)).toHaveLength(1);
  });
});

test("a customer's customer does not see the source of an event, which is an address", async () => {
  const source = await createSource(app, "mailchimp", { consumer_id: "acme" });
  const type = { "content-type": "application/x-www-form-urlencoded" };
  await app.live.create("/v1/endpoints", { url: "http://127.0.0.1:9/", consumer_id: "acme" });
  const { json } = await knock(app, source.ingest_path, "type=subscribe", type);
  const { url } = await app.live.create<{ url: string }>("/v1/portal-links", { consumer_id: "acme" });
  const portal = app.with(url.slice(url.indexOf("#") + 1));
  const path = `/v1/events/${String(json["id"])}`;
  const paths = ["/v1/events", path, `${path}/timeline`];
  for (const each of paths) {
    expect((await app.live.get(each)).text).toContain(source.id);
    const seen = await portal.get(each);
    expect([each, seen.status, seen.text.includes(source.id)]).toEqual([each, 200, false]);
  }
});
