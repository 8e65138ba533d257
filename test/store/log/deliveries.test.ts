import { expect, test } from "bun:test";
import { untriedDelivery } from "../../../src/core/delivery.ts";
import { openTestData } from "../../kit/data.ts";

test("newestOf gives each endpoint that is asked for its newest delivery of the event, and no other", async () => {
  await using it = await openTestData();
  const { deliveries, store } = it.data;
  const endpoints = [await it.endpoint(), await it.endpoint(), await it.endpoint(), await it.endpoint()];
  const [first = 0, second = 0, third = 0, none = 0] = endpoints.map(({ id }) => id);
  const { projectId = 0 } = endpoints[0] ?? {};
  const eventId = store.takeKey();
  const add = (endpointId: number, of = eventId, origin: "publish" | "replay" = "publish") => {
    const id = store.takeKey();
    deliveries.insert(untriedDelivery({ id, eventId: of, endpointId, projectId, origin, due: 1 }), null);
    return id;
  };
  const ids = await store.write(() => {
    const came = { first: add(first), second: add(second), third: add(third) };
    const again = add(first, eventId, "replay");
    add(second, store.takeKey());
    return { ...came, again };
  });
  const newest = deliveries.newestOf(eventId, [first, second, none]);
  expect([...newest].map(([endpointId, { id }]) => [endpointId, id])).toEqual([
    [first, ids.again],
    [second, ids.second],
  ]);
});
