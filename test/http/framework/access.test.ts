/** Whoever may not call any more has no effect, also where the request began before. */
import { expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { startApp, type TestApp } from "../../kit/app.ts";

/** A POST whose body comes when `finish` is called; it answers the status. */
async function beginPost(app: TestApp, path: string, token: string, json: unknown) {
  const { hostname, port } = new URL(app.url);
  const socket: Socket = connect(Number(port), hostname);
  await once(socket, "connect");
  const body = JSON.stringify(json);
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: ${hostname}`,
    `authorization: Bearer ${token}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
    "connection: close",
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n${body[0]}`);
  return async (): Promise<number> => {
    socket.write(body.slice(1));
    let text = "";
    for await (const chunk of socket) text += String(chunk);
    return Number(text.split(" ")[1]);
  };
}

test("a key that is revoked while its request's body comes makes no other key, and publishes nothing", async () => {
  await using app = await startApp();
  const key = await app.live.create("/v1/api-keys", { name: "leaked" });
  const heir = await beginPost(app, "/v1/api-keys", key["key"] ?? "", { name: "heir" });
  const event = await beginPost(app, "/v1/events", key["key"] ?? "", { type: "a.b", data: {} });
  expect((await app.live.delete(`/v1/api-keys/${key["id"]}`)).status).toBe(204);
  expect(await heir()).toBe(401);
  expect(await event()).toBe(401);
});

test("a key may revoke itself, once", async () => {
  await using app = await startApp();
  const key = await app.live.create("/v1/api-keys", { name: "own" });
  const own = app.with(key["key"] ?? "");
  expect((await own.delete(`/v1/api-keys/${key["id"]}`)).status).toBe(204);
  expect((await own.delete(`/v1/api-keys/${key["id"]}`)).status).toBe(401);
});

test("a link that is revoked while its endpoint is tried makes none", async () => {
  await using app = await startApp();
  let answer = (): void => {};
  const isAsked = Promise.withResolvers<void>();
  await using receiver = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => {
      isAsked.resolve();
      return new Promise<Response>((resolve) => (answer = () => resolve(new Response())));
    },
  });
  const link = await app.live.create("/v1/portal-links", { consumer_id: "acme", create: true });
  const portal = app.with(new URL(link["url"] ?? "").hash.slice(1));
  const creating = portal.post("/v1/endpoints?verify=true", { url: receiver.url.href });
  await isAsked.promise;
  expect((await app.live.delete(`/v1/portal-links/${link["id"]}`)).status).toBe(204);
  answer();
  expect((await creating).status).toBe(401);
  expect((await app.live.get("/v1/endpoints")).json["data"]).toEqual([]);
});
