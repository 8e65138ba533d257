/** The timeline of an event, as it follows from attempts and notes. */
import { afterEach, describe, expect, spyOn, test } from "bun:test";
import { limit, LIMITS } from "../../../src/core/limits.ts";
import type { DeliveryAnswer } from "../../../src/http/deliveries/shape.ts";
import { apiForFile, expectRefusal, type Page } from "../log-kit.ts";

type Entry = { at: string; kind: string; [field: string]: unknown };

const api = apiForFile();

const timeline = async (id: string, token?: string) =>
  (await api.get<Page<Entry>>(`/v1/events/${id}/timeline`, token)).data;
const kinds = (entries: Entry[]) => entries.map((entry) => entry.kind).join(" ");
const reasons = (entries: Entry[]) => entries.flatMap((entry) => entry["reason"] ?? []);
const answers = (status: number) => () => new Response(null, { status });

describe("an event that", () => {
  test("nobody subscribes to is accepted and unmatched", async () => {
    const { id, created_at: at } = await api.publish("n.none");
    expect(await timeline(id)).toEqual([
      { at, kind: "accepted", via: "publish", source_id: null },
      { at, kind: "unmatched" },
    ]);
  });

  test("arrives says how", async () => {
    const endpoint = await api.endpoint({ url: api.receiver.url("fine"), eventTypes: ["a.fine"] });
    const { id, created_at: at } = await api.publish("a.fine");
    const [delivery] = await api.settled(id);
    const of = { delivery_id: delivery?.id, endpoint_id: endpoint.publicId };
    const entries = await timeline(id);
    expect(kinds(entries)).toBe("accepted matched attempt delivered");
    expect(entries[1]).toEqual({ at, kind: "matched", delivery_count: 1 });
    expect(entries[2]).toMatchObject({
      ...of,
      number: 1,
      trigger: "publish",
      outcome: "delivered",
      status_code: 204,
      error_code: null,
      next_attempt_at: null,
    });
    expect(entries[3]).toMatchObject(of);
    expect(entries.map((entry) => entry.at)).toEqual(entries.map((entry) => entry.at).toSorted());
  });

  test("a filter refuses names the endpoint", async () => {
    const filter = { data: { n: 1 } };
    const endpoint = await api.endpoint({ url: api.receiver.url("f"), eventTypes: ["f.filtered"], filter });
    const { id, created_at: at } = await api.publish("f.filtered", { data: { n: 2 } });
    const entries = await timeline(id);
    expect(kinds(entries)).toBe("accepted unmatched filtered");
    expect(entries[2]).toEqual({ at, kind: "filtered", endpoint_id: endpoint.publicId });
  });

  test("fails for good says why", async () => {
    for (const [type, status, reason] of [
      ["d.exhausted", 500, "exhausted"],
      ["d.gone", 410, "gone"],
    ] as const) {
      await api.endpoint({ url: api.receiver.at(type, answers(status)), eventTypes: [type] });
      const { id } = await api.publish(type);
      await api.settled(id);
      const entries = await timeline(id);
      expect([kinds(entries), reasons(entries)]).toEqual([
        "accepted matched attempt dead_lettered",
        [reason],
      ]);
    }
    await api.endpoint({ url: "http://10.0.0.1/", eventTypes: ["d.blocked"] });
    const { id } = await api.publish("d.blocked");
    await api.settled(id);
    expect(reasons(await timeline(id))).toEqual(["blocked"]);
  });

  test("fails by hand when it is dead does not die twice", async () => {
    await api.endpoint({ url: api.receiver.at("dead", answers(500)), eventTypes: ["d.twice"] });
    const { id } = await api.publish("d.twice");
    const [delivery] = await api.settled(id);
    await api.call("POST", `/v1/deliveries/${delivery?.id}/retry`);
    const entries = await api.until(async () => {
      const found = await timeline(id);
      return found.length > 4 && found;
    });
    expect(kinds(entries)).toBe("accepted matched attempt dead_lettered attempt");
  });

  test("comes to a disabled endpoint dies without an attempt", async () => {
    await api.endpoint({ url: api.receiver.url("off"), eventTypes: ["d.off"], status: "disabled" });
    const { id } = await api.publish("d.off");
    const entries = await timeline(id);
    expect([kinds(entries), reasons(entries)]).toEqual([
      "accepted matched dead_lettered",
      ["endpoint_disabled"],
    ]);
  });

  test("is tried again says when, and a failed attempt by hand ends nothing", async () => {
    const url = api.receiver.at("again", answers(500));
    const endpoint = await api.endpoint({ url, eventTypes: ["r.again"], retry: { schedule: [3600] } });
    const { id } = await api.publish("r.again");
    const [delivery] = await api.settled(id, ["retrying"]);
    await api.call("POST", `/v1/deliveries/${delivery?.id}/retry`);
    await api.receiver.arrived("again", 2);
    const entries = await api.until(async () => {
      const found = await timeline(id);
      return found.length === 4 && found;
    });
    expect(kinds(entries)).toBe("accepted matched attempt attempt");
    expect(entries[2]?.["next_attempt_at"]).toBe(delivery?.next_attempt_at);
    expect([entries[3]?.["trigger"], entries[3]?.["number"]]).toEqual(["manual", 2]);
    await api.call("POST", `/v1/deliveries/${delivery?.id}/cancel`);
    const [cancelled] = (await timeline(id)).slice(4);
    expect(cancelled).toMatchObject({
      kind: "cancelled",
      delivery_id: delivery?.id,
      endpoint_id: endpoint.publicId,
    });
  });

  test("is replayed keeps what it was at first", async () => {
    const late = await api.endpoint({ url: api.receiver.url("late"), eventTypes: ["p.other"] });
    const { id } = await api.publish("p.replayed");
    await api.call("POST", `/v1/events/${id}/replay`, { endpoint_ids: [late.publicId] });
    const [delivery] = await api.settled(id);
    const entries = await timeline(id);
    expect(kinds(entries)).toBe("accepted unmatched replayed attempt delivered");
    expect(entries[2]).toMatchObject({ delivery_id: delivery?.id, endpoint_id: late.publicId });
    expect(entries[3]?.["trigger"]).toBe("replay");
  });

  test("is cancelled while its last attempt runs does not die of it", async () => {
    const answer = Promise.withResolvers<Response>();
    await api.endpoint({ url: api.receiver.at("slow", () => answer.promise), eventTypes: ["o.overtaken"] });
    const { id } = await api.publish("o.overtaken");
    await api.receiver.arrived("slow", 1);
    await api.tick();
    const [delivery] = (await api.get<Page<DeliveryAnswer>>(`/v1/deliveries?event_id=${id}`)).data;
    expect((await api.call("POST", `/v1/deliveries/${delivery?.id}/cancel`)).status).toBe(200);
    answer.resolve(new Response(null, { status: 500 }));
    const entries = await api.until(async () => {
      const found = await timeline(id);
      return kinds(found).includes("attempt") && found;
    });
    expect(kinds(entries)).toBe("accepted matched attempt cancelled");
    expect((await api.settled(id, ["cancelled"]))[0]?.status).toBe("cancelled");
  });
});

test("why a delivery died is what its row says: of an endpoint that moved, and with ids ahead of the clock", async () => {
  const { store, endpoints } = api.data;
  const answer = Promise.withResolvers<Response>();
  const endpoint = await api.endpoint({
    url: api.receiver.at("left", () => answer.promise),
    eventTypes: ["m.moved"],
  });
  const { id } = await api.publish("m.moved");
  await api.receiver.arrived("left", 1);
  const moved = await store.write(() =>
    endpoints.update(endpoint.id, () => ({ config: { url: api.receiver.at("new", answers(500)) } })),
  );
  if (moved) endpoints.announce(moved);
  answer.resolve(new Response(null, { status: 410 }));
  const [delivery] = await api.settled(id);
  expect(delivery?.dead_reason).toBe("exhausted");
  expect(reasons(await timeline(id))).toEqual(["exhausted"]);
  store.keys.take(Date.now() + 3_600_000, 1);
  await api.call("POST", `/v1/events/${id}/replay`);
  await api.receiver.arrived("new", 1);
  await api.settled(id);
  // The note of the replay is dated ahead too.
  expect(kinds(await timeline(id))).toBe(
    "accepted matched attempt dead_lettered attempt dead_lettered replayed",
  );
});

test("a portal token sees what its own endpoints had", async () => {
  const filter = { data: { n: 1 } };
  const eventTypes = ["v.timeline"];
  const own = await api.endpoint({ url: api.receiver.url("own"), eventTypes, consumerId: "anna" });
  await api.endpoint({ url: api.receiver.url("shared"), eventTypes });
  await api.endpoint({ url: api.receiver.url("never"), eventTypes, filter });
  const ownFiltered = await api.endpoint({
    url: api.receiver.url("never"),
    eventTypes,
    filter,
    consumerId: "anna",
  });
  const { id } = await api.publish("v.timeline", { consumer_id: "anna" });
  await api.settled(id);
  const entries = await timeline(id, "anna");
  expect(kinds(entries)).toBe("accepted matched filtered attempt delivered");
  expect(entries[1]?.["delivery_count"]).toBe(1);
  expect(entries.flatMap((entry) => entry["endpoint_id"] ?? [])).toEqual([
    ownFiltered.publicId,
    own.publicId,
    own.publicId,
  ]);
  expect(
    kinds(await timeline(id))
      .split(" ")
      .toSorted()
      .join(" "),
  ).toBe("accepted attempt attempt delivered delivered filtered filtered matched");
});

describe("of more filtered endpoints than are named", () => {
  const usual = limit("filteredNamedMax");
  const setMax = (max: number) => ((LIMITS.filteredNamedMax as { value: number }).value = max);
  const told = (entries: Entry[]) =>
    entries
      .filter(({ kind }) => kind.startsWith("filtered"))
      .map(({ endpoint_id, count }) => endpoint_id ?? count);
  const filter = { data: { n: 1 } };
  const inEach = (eventTypes: string[], consumers: (string | null)[]) =>
    consumers.reduce<Promise<string[]>>(async (made, consumerId) => {
      const url = api.receiver.url("never");
      return [...(await made), (await api.endpoint({ url, eventTypes, filter, consumerId })).publicId];
    }, Promise.resolve([]));

  afterEach(() => void setMax(usual));

  test("the consumer's own are named first, and how many others there are", async () => {
    const [first, , , own] = await inEach(["v.many"], [null, null, null, "anna"]);
    const { id } = await api.publish("v.many", { consumer_id: "anna" });
    expect(told(await timeline(id))).toHaveLength(4);
    setMax(2);
    const { id: bounded } = await api.publish("v.many", { consumer_id: "anna" });
    setMax(usual);
    expect(api.data.events.filteredOf(api.data.ids.decode("evt", bounded) ?? 0)).toMatchObject({ others: 2 });
    const entries = await timeline(bounded);
    expect(told(entries)).toEqual([own, first, 2]);
    expect(entries.at(-1)).toEqual({ at: String(entries[0]?.at), kind: "filtered_others", count: 2 });
    expect(told(await timeline(bounded, "anna"))).toEqual([own]);
  });

  test("a row of before the bound is answered within it", async () => {
    const ids = await inEach(["v.before"], [null, null, null, "anna"]);
    const { id } = await api.publish("v.before", { consumer_id: "anna" });
    setMax(2);
    expect(told(await timeline(id))).toEqual([ids[3], ids[0], 2]);
    expect(told(await timeline(id, "anna"))).toEqual([ids[3]]);
  });

  test("all that a consumer may have are named", () => {
    expect(usual).toBeGreaterThanOrEqual(limit("endpointsPerConsumerMax"));
  });
});

test("a long timeline goes on by its cursor, without gaps or repeats", async () => {
  const endpoints = 1100;
  for (let n = 0; n < endpoints; n++) {
    await api.endpoint({ url: api.receiver.url("wide"), eventTypes: ["w.wide"], status: "disabled" });
  }
  const { id } = await api.publish("w.wide");
  await api.until(async () => {
    const { text } = await api.call("GET", `/v1/deliveries?event_id=${id}&format=ndjson`);
    return text.split("\n").length > endpoints;
  });
  const first = await api.get<Page<Entry>>(`/v1/events/${id}/timeline`);
  const second = await api.get<Page<Entry>>(`/v1/events/${id}/timeline?cursor=${first.next_cursor}`);
  expect([first.data.length, second.next_cursor]).toEqual([1002, null]);
  const named = [...first.data, ...second.data].flatMap((entry) => entry["delivery_id"] ?? []);
  expect([named.length, new Set(named).size]).toEqual([endpoints, endpoints]);
  expectRefusal(await api.call("GET", `/v1/events/${id}/timeline?cursor=x`), 422, "invalid_request", [
    "cursor",
  ]);
});

/** What is answered, and the turns that were asked for meanwhile. */
async function withTurns<Answer>(work: () => Promise<Answer>): Promise<[Answer, number]> {
  const { turns } = api.data.store;
  const giveWay = turns.giveWay.bind(turns);
  let given = 0;
  turns.giveWay = (bytes, owner) => {
    // Work in the background has no signal of a caller.
    if (owner?.signal) given++;
    return giveWay(bytes, owner);
  };
  // A share that is used up on a slow machine adds turns.
  Object.defineProperty(turns, "isOver", { value: false, configurable: true });
  try {
    return [await work(), given];
  } finally {
    turns.giveWay = giveWay;
    Reflect.deleteProperty(turns, "isOver");
  }
}

test.each([null, "anna"])("of a wide event is read from some deliveries at a time, by %p", async (token) => {
  const eventTypes = [`gathered.${token}`];
  for (let n = 0; n < 9; n++)
    await api.endpoint({ url: api.receiver.url(`${token}-${n}`), eventTypes, consumerId: token });
  const identity = { consumer_id: "anna", external_id: `gathered-${token}` };
  const event = await api.publish(`gathered.${token}`, identity);
  await api.settled(event.id);
  await api.call("POST", `/v1/events/${event.id}/replay`, { new_message_id: true });
  await api.settled(event.id);
  const attempts = (await timeline(event.id, token ?? undefined)).filter(({ kind }) => kind === "attempt");
  expect(attempts).toHaveLength(18);
  const usual = limit("listLimitMax");
  const setMax = (max: number) => ((LIMITS.listLimitMax as { value: number }).value = max);
  for (const path of [
    `/v1/events/${event.id}`,
    `/v1/events/${event.id}/timeline`,
    `/v1/events?external_id=${event.external_id}`,
    `/v1/events?status=dead&external_id=${event.external_id}`,
    `/v1/deliveries?event_id=${event.id}`,
  ]) {
    const read = () => withTurns(() => api.get(path, token ?? undefined));
    const [whole, few] = await read();
    setMax(2);
    const [inPieces, many] = await read().finally(() => setMax(usual));
    expect([path, inPieces]).toEqual([path, whole]);
    // Nobody reads the deliveries of an event that it lists whole with the number of them.
    const isCounted = token === null && path.startsWith("/v1/events?external_id");
    expect([path, many - few >= 4]).toEqual([path, !isCounted]);
  }
});

test("a portal token's page reads few notes beyond those it shows, and others have their turn before each delivery", async () => {
  const count = 20;
  const url = api.receiver.url("noted");
  for (let n = 0; n < count; n++)
    await api.endpoint({ url, eventTypes: ["noted"], consumerId: "anna", status: "paused" });
  const { id } = await api.publish("noted", { consumer_id: "anna" });
  const { deliveries, ids, notes, store } = api.data;
  const eventId = ids.decode("evt", id) ?? 0;
  const sent = Array.from({ length: count }, (_, n) => eventId + 1 + n);
  expect(sent.map((key) => deliveries.get(key)?.eventId)).toEqual(sent.map(() => eventId));
  for (let n = 0; n < 1001; n += 91)
    await store.write(() => {
      for (let of = n; of < n + 91; of++) for (const key of sent) notes.add(eventId, key, "replayed");
    });
  let rows = 0;
  const read = notes.ofDelivery.bind(notes);
  using spied = spyOn(notes, "ofDelivery").mockImplementation((...args) => {
    const found = read(...args);
    rows += found.length;
    return found;
  });
  const path = `/v1/events/${id}/timeline`;
  const [page, given] = await withTurns(() => api.get<Page<Entry>>(path, "anna"));
  expect([spied.mock.calls.length, given > count, rows < 5 * 1001]).toEqual([count, true, true]);
  expect(page).toEqual(await api.get<Page<Entry>>(path));
  const cursor = `?cursor=${page.next_cursor}`;
  expect(await api.get<Page<Entry>>(path + cursor, "anna")).toEqual(await api.get(path + cursor));
});

test("a portal token's turns are as many however many of the project's endpoints got the event too", async () => {
  const name = api.receiver.url("counted");
  const own = await api.endpoint({ url: name, eventTypes: ["counted.*"], consumerId: "anna" });
  for (let n = 0; n < 9; n++) await api.endpoint({ url: name, eventTypes: ["counted.wide"] });
  const usual = limit("listLimitMax");
  const setMax = (max: number) => ((LIMITS.listLimitMax as { value: number }).value = max);
  const turnsOf = async (type: string) => {
    const { id } = await api.publish(type, { consumer_id: "anna", external_id: type });
    await api.settled(id);
    await api.call("POST", `/v1/events/${id}/replay`, { new_message_id: true });
    await api.settled(id);
    setMax(2);
    const given: number[] = [];
    for (const path of [
      `/v1/events/${id}`,
      `/v1/events/${id}/timeline`,
      `/v1/events?external_id=${type}`,
      `/v1/events?status=dead&external_id=${type}`,
      `/v1/deliveries?event_id=${id}`,
      `/v1/deliveries?event_id=${id}&endpoint_id=${own.publicId}`,
    ])
      given.push((await withTurns(() => api.get(path, "anna")))[1]);
    const again = () => api.call("POST", `/v1/events/${id}/replay`, {}, "annaManages");
    const [replayed, turns] = await withTurns(again).finally(() => setMax(usual));
    expect(replayed.status).toBe(202);
    return [...given, turns];
  };
  expect(await turnsOf("counted.wide")).toEqual(await turnsOf("counted.few"));
});
