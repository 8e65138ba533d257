/** What a machine of a cell is asked. */
import { afterAll, expect, test } from "bun:test";
import { askMachine } from "../../src/transport/machines.ts";

const server = Bun.serve({
  port: 0,
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/away") return Response.redirect("/other");
    if (pathname === "/silent") return new Promise<Response>(() => {});
    const { method, headers } = request;
    const [token, type] = [headers.get("authorization"), headers.get("content-type")];
    return Response.json([method, pathname, token, type, await request.text()]);
  },
});
afterAll(() => server.stop(true));
const machine = `127.0.0.1:${server.port}`;
const timeoutMs = 2000;

test("a path, with the operator's token and a body where they are given", async () => {
  const asked = await askMachine(machine, "/readyz", { timeoutMs });
  expect(await asked.json()).toEqual(["GET", "/readyz", null, null, ""]);
  const told = await askMachine(machine, "/v1", { method: "POST", token: "t", body: { a: 1 }, timeoutMs });
  expect(await told.json()).toEqual(["POST", "/v1", "Bearer t", "application/json", '{"a":1}']);
});

test("one that sends elsewhere, or does not answer in time, has not answered", async () => {
  await expect(askMachine(machine, "/away", { timeoutMs })).rejects.toThrow();
  await expect(askMachine(machine, "/silent", { timeoutMs: 50 })).rejects.toThrow();
});
