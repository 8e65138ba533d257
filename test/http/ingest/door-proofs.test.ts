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

  test("stands in the event, its signature does not", async () => {
    const { json } = await send(mailgun("t-4", { id: "m-4", event: "clicked" }));
    const event = await app.live.get(`/v1/events/${String(json["id"])}`);
    expect(event.json["data"]).toMatchObject({ signature: { token: "t-4", signature: "***" } });
  });
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
