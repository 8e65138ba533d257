/** What is left in a cell of an account that has moved to another one. */
import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { Elsewhere, hasReached } from "../../src/maintenance/elsewhere.ts";
import { OPERATOR_TOKEN, owner } from "../http/kit.ts";
import { Leaving } from "../http/tenants/moves-kit.ts";

let it: Leaving;
beforeEach(async () => {
  it = await Leaving.start();
});
afterEach(() => it[Symbol.asyncDispose]());

describe("what is left of it", () => {
  const control = { isStopping: () => false, rest: async () => {} };

  test("stays until the other cell answers for it; then its endpoints go, and what waits for them", async () => {
    const url = it.api.receiver.url("gone");
    const settings = { url, ordering: "fifo", consumer_id: "c_1", headers: { "x-key": "credential" } };
    await it.asOwner("POST", "/v1/endpoints", settings);
    const [made] = it.api.data.endpoints.ofProject(it.made.live.project.id).below();
    const { audit } = it.api.data;
    const dropped = spyOn(audit, "dropSomeOf");
    await it.moved();
    let isThere = false;
    const elsewhere = new Elsewhere({ data: it.api.data, hasReached: async () => isThere });
    const endpoints = () => it.api.data.endpoints.ofProject(it.made.live.project.id).size;
    expect([await elsewhere.run(control), endpoints()]).toEqual([0, 1]);
    isThere = true;
    expect([await elsewhere.run(control), endpoints()]).toEqual([1, 0]);
    expect(it.api.data.tenants.account(it.made.account.id)?.movedTo).toMatchObject({
      cell: "2B",
      hasArrived: true,
    });
    // Of its row stays whose it was, and of the audit log nothing.
    const row = it.api.data.endpoints.getAnyway(made?.id ?? 0);
    expect(row).toMatchObject({ status: "deleted", consumerId: null, config: {}, headers: [], secret: "" });
    expect(row?.projectId).toBe(it.made.live.project.id);
    expect(dropped.mock.results.reduce((sum, { value }) => sum + Number(value), 0)).toBeGreaterThan(1);
    // Requests are still passed on.
    expect((await it.asOwner("GET", "/v1/events")).status).toBe(218);
  });

  test("tells where a poller belongs, whose secret another cell knows", async () => {
    const poll = (await (await it.asOwner("POST", "/v1/endpoints", { kind: "poll" })).json()) as {
      id: string;
    };
    await it.moved();
    const elsewhere = new Elsewhere({ data: it.api.data, hasReached: async () => true });
    expect(await elsewhere.run(control)).toBe(1);
    expect((await it.api.handle("GET", `/poll/${poll.id}`, undefined, "rotated")).status).toBe(218);
  });

  test("goes account by account in turn: one with much does not hold up another's", async () => {
    const { endpoints, store, tenants } = it.api.data;
    const movedTo = { cell: "2B", machines: [], isOnDisk: true, taker: null, hasArrived: true };
    const projects: number[] = [];
    for (const count of [500, 1]) {
      const made = await store.write(() => tenants.insertAccount({ name: `of ${count}`, plan: "pro" }));
      tenants.rememberNewAccount(made);
      const { id: projectId } = made.live.project;
      const token = `of ${count}`;
      it.api.callers.set(token, { ...owner, projectId, accountId: made.account.id });
      for (let n = 0; n < count; n++) await it.api.endpoint({ url: it.api.receiver.url("gone") }, token);
      const left = await store.write(() => tenants.updateAccount(made.account.id, () => ({ movedTo })));
      tenants.rememberAccount(left.made);
      projects.push(projectId);
    }
    const sizes: number[][] = [];
    const rest = async () => void sizes.push(projects.map((id) => endpoints.ofProject(id).size));
    const elsewhere = new Elsewhere({ data: it.api.data, hasReached: async () => true });
    expect(await elsewhere.run({ ...control, rest })).toBe(501);
    expect([sizes[0], sizes[1], sizes.at(-1)]).toEqual([
      [450, 1],
      [450, 0],
      [0, 0],
    ]);
  });

  test("is asked for once where its cell does not answer", async () => {
    await it.moved();
    const { store, tenants } = it.api.data;
    const other = await tenants.createAccount({ name: "other", plan: "pro" });
    const movedTo = { cell: "2B", machines: [], isOnDisk: true, taker: null, hasArrived: false };
    const { made } = await store.write(() => tenants.updateAccount(other.id, () => ({ movedTo })));
    tenants.rememberAccount(made);
    let asked = 0;
    await new Elsewhere({ data: it.api.data, hasReached: async () => ++asked < 0 }).run(control);
    expect(asked).toBe(1);
  });

  test("is needed until the other cell has uploaded what it has", async () => {
    let uploads = 0;
    let status = 200;
    let answer: object = { moved_to: null, lived_in: "2B" };
    const cell = Bun.serve({
      port: 0,
      fetch: ({ url }) =>
        url.endsWith("/metrics")
          ? new Response(`# TYPE x gauge\nsealpost_replica_uploads ${uploads}\n`)
          : Response.json(answer, { status }),
    });
    const machines = ["127.0.0.1:1", `127.0.0.1:${cell.port}`];
    const to = { cell: "2B", machines, isOnDisk: true, taker: null, hasArrived: false };
    expect(await hasReached(to, "acct_a", "t")).toBe(false);
    uploads = 1;
    expect(await hasReached(to, "acct_a", "t")).toBe(true);
    // It has been there, and has gone on to a third cell before anybody asked.
    answer = { moved_to: "3C", lived_in: "2B" };
    expect(await hasReached(to, "acct_a", "t")).toBe(true);
    for (const [why, said] of Object.entries({
      "began with a copy of this cell": { moved_to: "1A", lived_in: null },
      "its machine was lost before, and it began anew with a copy of a third": {
        moved_to: "3C",
        lived_in: null,
      },
      "the address is this cell's": { moved_to: "2B", lived_in: "1A" },
      "the address is that of a cell in which it was long ago": { moved_to: "4D", lived_in: "3C" },
      "a version that does not say it": { moved_to: null },
    })) {
      answer = said;
      expect([why, await hasReached(to, "acct_a", "t")]).toEqual([why, false]);
    }
    answer = { moved_to: null, lived_in: "2B" };
    status = 404;
    expect(await hasReached(to, "acct_a", "t")).toBe(false);
    await cell.stop(true);
  });

  test("is not counted for this cell's bill", async () => {
    await it.moved();
    const { text } = await it.api.call("GET", "/v1/operator/usage", undefined, OPERATOR_TOKEN);
    expect(text).not.toContain(it.id);
  });
});
