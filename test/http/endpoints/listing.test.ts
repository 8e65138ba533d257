/** What a list of endpoints costs where there are very many; what it answers: endpoints.test.ts. */
import { beforeAll, expect, spyOn, test } from "bun:test";
import { plainEndpoint } from "../../kit/endpoint.ts";
import { apiForFile } from "../log-kit.ts";

const COUNT = 300;
const OF_ANNA = 20;

const api = apiForFile();
let ids: string[];
/** Endpoints that were looked at. */
const seen = new Set<number>();

beforeAll(async () => {
  const { endpoints, store } = api.data;
  const projectId = api.callers.get("full")?.projectId ?? 0;
  const consumerOf = (n: number) => (n < OF_ANNA ? "anna" : null);
  const fields = { ...plainEndpoint, projectId, secret: "whsec_", updatedAt: 0 };
  const made = await store.write(() =>
    Array.from({ length: COUNT }, (_, n) => endpoints.insert({ ...fields, consumerId: consumerOf(n) })),
  );
  for (const endpoint of made) {
    const watched = { ...endpoint };
    for (const name of ["projectId", "status"] as const)
      Object.defineProperty(watched, name, {
        enumerable: true,
        get() {
          seen.add(endpoint.id);
          return endpoint[name];
        },
      });
    endpoints.announce(watched);
  }
  ids = made.map(({ id }) => api.data.ids.encode("ep", id)).toReversed();
});

async function list(query: string, token?: string) {
  seen.clear();
  const page = await api.get<{ data: { id: string }[]; next_cursor: string | null }>(
    `/v1/endpoints?${query}`,
    token,
  );
  return { ids: page.data.map(({ id }) => id), next: page.next_cursor, looks: seen.size };
}

test("a page looks at its own endpoints alone, wherever it begins", async () => {
  const first = await list("limit=2");
  expect(first).toMatchObject({ ids: ids.slice(0, 2), looks: 2 });
  const { next } = await list("limit=150");
  expect(await list(`limit=2&cursor=${next}`)).toMatchObject({ ids: ids.slice(150, 152), looks: 2 });
  expect(await list("limit=2", "anna")).toMatchObject({ ids: ids.slice(-OF_ANNA).slice(0, 2), looks: 2 });
  expect(await list("limit=250&consumer_id=anna")).toMatchObject({
    ids: ids.slice(-OF_ANNA),
    looks: OF_ANNA,
  });
  expect((await list("consumer_id=bert", "anna")).looks).toBe(0);
});

test("endpoints that are named are looked up, newest first, each once", async () => {
  const named = [ids[7], ids[3], ids[7], `ep_01KAHM9Q7W00ZZZZZZZZZZZZZZ`].join(",");
  expect(await list(`endpoint_ids=${named}`)).toEqual({
    ids: [ids[3], ids[7]].map(String),
    next: null,
    looks: 2,
  });
  expect((await list(`endpoint_ids=${named}`, "anna")).ids).toEqual([]);
});

test("a list that finds nothing gives way as it looks", async () => {
  const { turns } = api.data.store;
  // No row is looked at in a turn that is over.
  Object.defineProperty(turns, "isOver", { value: true, configurable: true });
  const giveWay = spyOn(turns, "giveWay");
  expect(await list("status=disabled")).toEqual({ ids: [], next: null, looks: COUNT });
  expect(giveWay.mock.calls.length).toBeGreaterThanOrEqual(COUNT);
  giveWay.mockRestore();
  delete (turns as { isOver?: boolean }).isOver;
});
