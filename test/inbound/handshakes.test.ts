/** Handshakes and pauses at the door, over the whole service. */
import { createHmac } from "node:crypto";
import { describe, expect, test } from "bun:test";
import { startApp } from "../kit/app.ts";
import { appForFile } from "../kit/for-file.ts";
import { expectProblem } from "../http/kit.ts";
import { createSource, eventsOf, knock, readSource } from "../http/sources/kit.ts";

const app = appForFile();

describe("handshakes", () => {
  const slackHeaders = (secret: string, body: string) => {
    const at = String(Math.floor(Date.now() / 1000));
    const mac = createHmac("sha256", secret).update(`v0:${at}:${body}`).digest("hex");
    return {
      "x-slack-request-timestamp": at,
      "x-slack-signature": `v0=${mac}`,
      "content-type": "application/json",
    };
  };

  test("of Slack: the signed challenge is echoed, and makes no event", async () => {
    const source = await createSource(app, "slack", { signing_secret: "slack-secret" });
    const body = '{"type":"url_verification","challenge":"3eZbrw1a"}';
    const reply = await knock(app, source.ingest_path, body, slackHeaders("slack-secret", body));
    expect([reply.status, reply.text]).toEqual([200, "3eZbrw1a"]);
    expect((await knock(app, source.ingest_path, body, slackHeaders("another", body))).status).toBe(401);
    expect(await eventsOf(app, source)).toEqual([]);
    expect((await readSource(app, source)).counters.accepted).toBe(0);
  });

  test("of Asana: its secret is kept once, and verifies from then on, also after a restart", async () => {
    await using other = await startApp();
    const source = await createSource(other, "asana");
    expect(source.status).toBe("awaiting_secret");
    const secrets = ["first-secret", "second-secret"];
    const hooks = secrets.map((secret) => knock(other, source.ingest_path, "", { "x-hook-secret": secret }));
    const replies = await Promise.all(hooks);
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 401]));
    const kept = secrets[replies.findIndex(({ status }) => status === 200)] ?? "";
    expect(replies.find(({ status }) => status === 200)?.headers.get("x-hook-secret")).toBe(kept);
    expect(await readSource(other, source)).toMatchObject({ status: "active", signing_secret: "***" });
    await other.stop();
    await other.start();
    const body =
      '{"events":[{"action":"changed","resource":{"gid":"1","resource_type":"task"},"created_at":"x"}]}';
    const signature = createHmac("sha256", kept).update(body).digest("hex");
    expect((await knock(other, source.ingest_path, body, { "x-hook-signature": signature })).status).toBe(
      200,
    );
    expect((await eventsOf(other, source)).map(({ type }) => type)).toEqual(["asana.task.changed"]);
  });

  test("of Notion: the token stands on the source until the first verified event", async () => {
    const source = await createSource(app, "notion");
    await knock(
      app,
      source.ingest_path,
      '{"verification_token":"secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl"}',
    );
    const { pending_verification_token: token, status } = await readSource(app, source);
    expect([token, status]).toEqual(["secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl", "active"]);
    const { key } = await app.live.create<{ key: string }>("/v1/api-keys", { name: "r", scopes: ["read"] });
    const read = await app.with(key).get(`/v1/sources/${source.id}`);
    expect(read.json["pending_verification_token"]).toBe("***");
    const body = '{"id":"n-1","type":"page.created"}';
    const signature = `sha256=${createHmac("sha256", token ?? "")
      .update(body)
      .digest("hex")}`;
    expect((await knock(app, source.ingest_path, body, { "x-notion-signature": signature })).status).toBe(
      200,
    );
    expect((await readSource(app, source)).pending_verification_token).toBeNull();
    expect(
      (await knock(app, source.ingest_path, body, { "x-notion-signature": signature })).json["duplicate"],
    ).toBe(true);
  });

  test("of Notion: once its secret is taken away, the token is not shown any more", async () => {
    const source = await createSource(app, "notion");
    await knock(app, source.ingest_path, '{"verification_token":"secret_tMrlL1qK5vuQAh1b6cZG"}');
    await app.live.patch(`/v1/sources/${source.id}`, { signing_secret: null });
    const { pending_verification_token: token, status } = await readSource(app, source);
    expect([token, status]).toEqual([null, "awaiting_secret"]);
  });

  test("of Azure Event Grid's CloudEvents: OPTIONS allows the sender, and nobody else has it", async () => {
    const azure = await createSource(app, "azure_event_grid", { credentials: { header_name: "x-ours" } });
    const headers = { "webhook-request-origin": "eventgrid.azure.net", "webhook-request-rate": "120" };
    const ask = (path: string, sent: Record<string, string>) =>
      app.with(null).send("OPTIONS", path, { headers: sent });
    const allowed = await ask(azure.ingest_path, headers);
    expect([allowed.status, allowed.text]).toEqual([200, ""]);
    expect(Object.fromEntries(allowed.headers)).toMatchObject({
      allow: "POST",
      "webhook-allowed-origin": "eventgrid.azure.net",
      "webhook-allowed-rate": "*",
    });
    const service = await createSource(app, "service");
    const others = [
      await ask(azure.ingest_path, {}),
      await ask(service.ingest_path, headers),
      await ask(service.ingest_path, { ...headers, "x-service-token": service.secret }),
      await ask("/ingest/src_01KAHM9Q7W00ZZZZZZZZZZZZZZ", headers),
    ];
    for (const { status, text } of others) expect([status, text]).toEqual([401, ""]);
    const event = JSON.stringify({ id: "c-1", type: "Microsoft.Storage.BlobCreated", specversion: "1.0" });
    const sent = await knock(app, azure.ingest_path, event, {
      "content-type": "application/cloudevents+json",
      "x-ours": azure.secret,
    });
    expect(sent.status).toBe(200);
    expect((await eventsOf(app, azure)).map(({ type }) => type)).toEqual([
      "azure_event_grid.Microsoft.Storage.BlobCreated",
    ]);
  });

  test("by GET and HEAD are answered where the provider has them, and nowhere else", async () => {
    const trello = await createSource(app, "trello", { signing_secret: "s" });
    const service = await createSource(app, "service");
    expect((await app.with(null).send("HEAD", trello.ingest_path)).status).toBe(200);
    expect((await app.with(null).send("HEAD", service.ingest_path)).status).toBe(401);
    const dropbox = await createSource(app, "dropbox", { signing_secret: "s" });
    const reply = await app.with(null).send("GET", `${dropbox.ingest_path}?challenge=c-1`);
    expect([reply.status, reply.text]).toEqual([200, "c-1"]);
  });

  test("are still answered while the source is paused; verified events get 503, forged ones 401", async () => {
    const source = await createSource(app, "slack", { signing_secret: "slack-secret" });
    await app.live.post(`/v1/sources/${source.id}/pause`);
    const challenge = '{"type":"url_verification","challenge":"c"}';
    expect(
      (await knock(app, source.ingest_path, challenge, slackHeaders("slack-secret", challenge))).status,
    ).toBe(200);
    const event = '{"type":"event_callback","event_id":"Ev1","event":{"type":"message"}}';
    const verified = await knock(app, source.ingest_path, event, slackHeaders("slack-secret", event));
    expectProblem(verified, 503, "unavailable");
    expect(Number(verified.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await knock(app, source.ingest_path, event, slackHeaders("forged", event))).status).toBe(401);
    expect(await eventsOf(app, source)).toEqual([]);
    await app.live.post(`/v1/sources/${source.id}/resume`);
    const again = await knock(app, source.ingest_path, event, slackHeaders("slack-secret", event));
    expect([again.status, again.json["duplicate"]]).toEqual([200, undefined]);
  });
});
