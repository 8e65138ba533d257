// time budget: 120 s
/** An export over a socket stays open while its reader pauses, and ends complete. */
import { connect } from "node:net";
import { expect, test } from "bun:test";
import { clientOf, LOAD_ENV } from "../durability/setup.ts";
import { type Service, startService } from "../kit/service.ts";

/** Lines of half a kilobyte: more than what lies between the service and a reader that takes nothing. */
const DELIVERIES = 60_000;
const BATCH = 500;
/** Longer than a connection may be idle otherwise. */
const PAUSE_MS = 15_000;

/** The raw answer, read until the connection ends, with a pause after the first piece. */
function readWithPause({ url, keys }: Service, path: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect(Number(port), hostname);
  socket.write(
    `GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${keys.live}\r\nconnection: close\r\n\r\n`,
  );
  let text = "";
  socket.once("data", () => {
    socket.pause();
    setTimeout(() => socket.resume(), PAUSE_MS);
  });
  socket.on("data", (piece) => (text += piece.toString("latin1")));
  socket.on("error", reject);
  socket.on("close", () => resolve(text));
  return promise;
}

test("a reader that pauses for 15 s gets every line, and the end", async () => {
  await using service = await startService({ env: LOAD_ENV });
  const client = clientOf(service);
  const { id } = await client.create("/v1/endpoints", {
    url: "http://127.0.0.1:9/",
    event_types: ["x.export"],
  });
  expect((await client.post(`/v1/endpoints/${id}/pause`)).status).toBe(200);
  const events = Array.from({ length: BATCH }, () => ({ type: "x.export", data: {} }));
  for (let n = 0; n < DELIVERIES; n += BATCH)
    expect((await client.post("/v1/events/batch", { events })).status).toBe(202);
  const text = await readWithPause(service, "/v1/deliveries?format=ndjson");
  expect(text.endsWith("\r\n0\r\n\r\n")).toBe(true);
  expect(new Set(text.match(/"id":"msg_[0-9A-Z]{26}"/g)).size).toBe(DELIVERIES);
}, 100_000);
