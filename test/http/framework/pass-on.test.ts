/** What still comes here for an account that lives in another cell. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { PASSED_ON_HEADER } from "../../../src/http/framework/pass-on.ts";
import { limit } from "../../../src/core/limits.ts";
import { Leaving } from "../tenants/moves-kit.ts";

let it: Leaving;
beforeEach(async () => {
  it = await Leaving.start();
});
afterEach(() => it[Symbol.asyncDispose]());

describe("what comes for an account that has moved", () => {
  test("is passed on as it came, and answered as the other cell answers", async () => {
    await it.moved();
    const response = await it.asOwner("POST", "/v1/events?x=1", { type: "a.b", data: { n: 1 } });
    expect([response.status, await response.text(), response.headers.get("x-own")]).toEqual([
      218,
      "from the other",
      "1",
    ]);
    expect(response.headers.get("connection")).toBeNull();
    const [first] = it.came;
    expect(first).toMatchObject({
      method: "POST",
      url: "/v1/events?x=1",
      body: '{"type":"a.b","data":{"n":1}}',
    });
    expect(first?.headers.get("authorization")).toBe(`Bearer ${it.made.live.token}`);
    expect(first?.headers.get(PASSED_ON_HEADER)).toBe("00");
  });

  test("also at the door, of a poller, and of the portal's page", async () => {
    const create = async (path: string, body: object) =>
      (await (await it.asOwner("POST", path, body)).json()) as Record<string, string>;
    const source = await create("/v1/sources", { provider: "service", name: "s" });
    const poll = await create("/v1/endpoints", { kind: "poll" });
    const project = it.api.data.ids.encode("proj", it.made.live.project.id);
    await it.moved();
    const paths = [
      `/ingest/${source["id"]}`,
      `/poll/${poll["id"]}`,
      `/portal/${project}`,
      `/portal/${project}/logo`,
    ];
    const asked = await Promise.all([
      it.api.handle("POST", paths[0] ?? "", '{"id":"1"}', ""),
      it.api.handle("GET", paths[1] ?? "", undefined, poll["secret"]),
      ...paths.slice(2).map((path) => it.api.handle("GET", path, undefined, "")),
    ]);
    expect(asked.map(({ status }) => status)).toEqual([218, 218, 218, 218]);
    expect(it.came.map(({ url }) => url).toSorted()).toEqual(paths.toSorted());
    expect(it.came.find(({ method }) => method === "POST")?.body).toBe('{"id":"1"}');
  });

  test("is bounded, so that what this service asks of others finds room", async () => {
    await it.moved();
    const held = Array.from({ length: limit("passedOnOfCellMax") }, () =>
      it.asOwner("GET", "/v1/events?hold=1"),
    );
    await it.held(held.length);
    const { status, headers } = await it.asOwner("GET", "/v1/events");
    expect([status, headers.get("retry-after")]).toEqual([503, "2"]);
    it.letGo();
    for (let nth = 0; nth < held.length; nth++) await it.asOwner("HEAD", "/v1/events");
    const answers = await Promise.all(held);
    await Promise.all(answers.map((answer) => answer.text()));
    expect((await it.asOwner("GET", "/v1/events")).status).toBe(218);
  });

  test("is refused with 503 where that cell is not ready, or passes it back", async () => {
    await it.moved();
    const back = { [PASSED_ON_HEADER]: "1A,00" };
    const round = await it.api.call("GET", "/v1/events", undefined, it.made.live.token, back);
    expect([round.status, round.json["detail"]]).toEqual([503, expect.stringContaining("passes requests")]);
    it.isReady = false;
    // What was ready counts as that for a second.
    await Bun.sleep(1100);
    const { status, headers } = await it.asOwner("GET", "/v1/events");
    expect([status, headers.get("retry-after")]).toEqual([503, "2"]);
    expect(it.came).toEqual([]);
  });
});
