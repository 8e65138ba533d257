/** Deliveries that a test of the portal makes for itself. */
import { expect } from "bun:test";
import { CONSUMER, type World } from "./world.ts";

export interface Row {
  id: string;
  event_id: string;
  status: string;
}

/** An endpoint of its own for a test, and what was published to it. */
export async function makeEndpoint(world: World, path: string, type: string, count: number): Promise<string> {
  const { live } = world.app;
  const { id = "" } = await live.create("/v1/endpoints", {
    url: world.receiver.url(path),
    description: path,
    event_types: [type],
    consumer_id: CONSUMER,
    retry: { schedule: [] },
  });
  for (let nth = 0; nth < count; nth++) await publish(world, type, { nth });
  await world.receiver.arrived(path, count);
  return id;
}

export async function publish(world: World, type: string, data: object, more: object = {}): Promise<string> {
  const body = { type, data, consumer_id: CONSUMER, ...more };
  const { status, json } = await world.app.live.post("/v1/events", body);
  expect(status).toBe(202);
  return String(json["id"]);
}

export async function settled(
  world: World,
  endpointId: string,
  status: string,
  count: number,
): Promise<Row[]> {
  return world.app.until(async () => {
    const { json } = await world.app.live.get(
      `/v1/deliveries?endpoint_id=${endpointId}&status=${status}&limit=250`,
    );
    const rows = json["data"] as Row[];
    return rows.length === count && rows;
  });
}
