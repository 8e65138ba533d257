/** What a machine answers that is not the primary. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Behind, openWaitingRoom } from "../../src/standby/waiting-room.ts";
import { freePorts } from "../kit/real-server.ts";

const behind: Behind = { primary: "that of a", transactions: 3, seconds: 0.2 };
let url = "";
let leave: () => Promise<void>;

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  url = `http://127.0.0.1:${port}`;
  leave = openWaitingRoom({ host: "127.0.0.1", port }, () => behind);
});

afterAll(() => leave());

test("a standby runs, and answers whatever else is asked by a problem that says how far it is behind", async () => {
  const healthy = await fetch(`${url}/healthz`);
  expect([healthy.status, await healthy.json()]).toEqual([200, { status: "ok" }]);
  const refused = await fetch(`${url}/v1/events`, { method: "POST", body: "{}" });
  expect(refused.status).toBe(503);
  expect(refused.headers.get("content-type")).toBe("application/problem+json");
  expect(refused.headers.get("retry-after")).toBe("2");
  expect(await refused.json()).toEqual({
    type: "urn:sealpost:error:unavailable",
    title: "The service cannot take this now",
    status: 503,
    code: "unavailable",
    detail: "This is a standby: the primary is that of a. Its copy is 3 transactions and 0.2 s behind.",
    behind_transactions: 3,
    behind_seconds: 0.2,
  });
});
