/** What a machine answers that is not the primary. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { openWaitingRoom } from "../../src/replica/waiting-room.ts";
import { freePorts } from "../kit/real-server.ts";

const sentence = "This machine is a standby. Its copy is 3 transactions and 0.2 s behind.";
const members = { behind_transactions: 3, behind_seconds: 0.2 };
let url = "";
let leave: () => Promise<void>;

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  url = `http://127.0.0.1:${port}`;
  leave = openWaitingRoom({ host: "127.0.0.1", port }, () => ({ sentence, members }));
});

afterAll(() => leave());

test("a machine that waits runs, and answers whatever else is asked by a problem that says what it is", async () => {
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
    detail: "This machine is a standby. Its copy is 3 transactions and 0.2 s behind.",
    behind_transactions: 3,
    behind_seconds: 0.2,
    request_id: refused.headers.get("x-request-id"),
  });
});

test("a request with a malformed host is told no more than any other", async () => {
  for (const host of ["a b", "[::", "x:999999"]) {
    const answer = await exchange(`GET /healthz HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 (400|503) /);
    expect(answer).not.toContain("waiting-room");
  }
});

/** All that is answered to these bytes. */
function exchange(request: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let text = "";
    void Bun.connect({
      hostname,
      port: Number(port),
      socket: {
        open: (socket) => void socket.write(request),
        data: (_, bytes) => void (text += bytes.toString("latin1")),
        close: () => resolve(text),
        connectError: (_, error) => reject(error),
      },
    });
  });
}
