/** Accounts leave this cell: what is held meanwhile, and what is refused. */
import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import type { Account } from "../../../src/core/model.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import { ENDPOINT_SECRET } from "../../kit/recorder.ts";
import { OPERATOR_TOKEN } from "../kit.ts";
import { Leaving } from "./moves-kit.ts";

let it: Leaving;
beforeEach(async () => {
  it = await Leaving.start();
});
afterEach(() => it[Symbol.asyncDispose]());

describe("a move", () => {
  test("waits for what is under way, takes what comes meanwhile, and nothing once it is on its way", async () => {
    const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
    const url = it.api.receiver.at("slow", () => mayAnswer.then(() => new Response("ok")));
    await it.asOwner("POST", "/v1/endpoints", { url, secret: ENDPOINT_SECRET });
    await it.asOwner("POST", "/v1/events", { type: "a.b", data: {} });
    await it.api.receiver.arrived("slow");
    const moving = it.move();
    await Bun.sleep(50);
    expect((await it.asOwner("POST", "/v1/events", { type: "a.b", data: {} })).status).toBe(202);
    expect((await it.move()).json["code"]).toBe("conflict");
    answer();
    await it.api.replica.asked();
    // In its row, and not in the replica yet.
    expect((await it.asOwner("GET", "/v1/events")).status).toBe(218);
    it.api.replica.confirm();
    const reply = await moving;
    expect([reply.status, reply.json["data"]]).toMatchObject([200, [{ id: it.id, moved_to: "2B" }]]);
    // The second one was held back: the other cell sends it.
    expect(it.api.receiver.requests("slow").length).toBe(1);
  });

  test("is not held up by who tests an endpoint all the time", async () => {
    const usual = LIMITS.moveWaitMs.value;
    (LIMITS.moveWaitMs as { value: number }).value = 6000;
    let goesOn = true;
    const url = it.api.receiver.at("tested", () => Bun.sleep(100).then(() => new Response("ok")));
    const made = (await (await it.asOwner("POST", "/v1/endpoints", { url })).json()) as { id: string };
    const testOn = async () => {
      for (; goesOn; await Bun.sleep(1)) await it.asOwner("POST", `/v1/endpoints/${made.id}/test`, {});
    };
    const testing = [testOn(), Bun.sleep(50).then(testOn)];
    await it.api.receiver.arrived("tested", 2);
    try {
      await it.moved();
    } finally {
      goesOn = false;
      (LIMITS.moveWaitMs as { value: number }).value = usual;
      await Promise.all(testing);
    }
  });

  test("that is said again is for the machine that was named, and for another one it begins anew", async () => {
    const { tenants } = it.api.data;
    const written = spyOn(tenants, "updateAccount");
    const say = async (fields: object, nth: number) => {
      written.mockClear();
      const saying = it.move(fields);
      await it.api.replica.asked(nth);
      it.api.replica.confirm();
      expect((await saying).status).toBe(200);
      return written.mock.results.map(({ value }) => (value as { made: Account }).made.movedTo);
    };
    const rows = (taker: string, ...onDisk: boolean[]) =>
      onDisk.map((isOnDisk) => expect.objectContaining({ taker, isOnDisk }));
    expect(await say({ taker: "one" }, 1)).toEqual(rows("one", false, false, true));
    expect(await say({}, 2)).toEqual(rows("one", true));
    expect(await say({ taker: "two" }, 3)).toEqual(rows("two", false, false, true));
    written.mockRestore();
  });

  test("hands nothing to a poller that the other cell would not know of", async () => {
    const { store, tenants } = it.api.data;
    const made = await (await it.asOwner("POST", "/v1/endpoints", { kind: "poll" })).json();
    const { id, secret } = made as { id: string; secret: string };
    await it.asOwner("POST", "/v1/events", { type: "a.b", data: {} });
    const accounts = [it.made.account.id];
    const writeFor = store.writeFor.bind(store);
    const written = spyOn(store, "writeFor").mockImplementation((project, run) => {
      // The page is made by then, and the account leaves before it is written.
      tenants.beginMove(accounts);
      tenants.refuseCallers(accounts);
      return writeFor(project, run);
    });
    const poll = () => it.api.handle("GET", `/poll/${id}`, undefined, secret);
    expect((await poll()).status).toBe(503);
    written.mockRestore();
    tenants.endMove(accounts);
    const { data } = (await (await poll()).json()) as { data: object[] };
    expect(data.length).toBe(1);
  });

  test("that is said again changes the machines; to a third cell it is refused", async () => {
    await it.moved();
    const again = it.move({ machines: ["127.0.0.1:1", it.machine] });
    await it.api.replica.asked(2);
    it.api.replica.confirm();
    expect((await again).status).toBe(200);
    expect((await it.asOwner("GET", "/v1/events")).status).toBe(218);
    expect((await it.move({ cell: "3C" })).json["code"]).toBe("conflict");
    for (const [method, path, body] of [
      ["PATCH", "", { plan: "free" }],
      ["POST", "/projects", { name: "x", mode: "live" }],
    ] as const)
      expect(
        (await it.api.call(method, `/v1/operator/accounts/${it.id}${path}`, body, OPERATOR_TOKEN)).status,
      ).toBe(409);
  });

  test("leaves a row that says that the account has lived here, which that of a copy does not", async () => {
    const { store, tenants } = it.api.data;
    const look = async () => {
      const path = `/v1/operator/accounts/${it.id}`;
      const { json } = await it.api.call("GET", path, undefined, OPERATOR_TOKEN);
      return [json["moved_to"], json["lived_in"]];
    };
    expect(await look()).toEqual([null, "00"]);
    await it.moved();
    expect(await look()).toEqual(["2B", "00"]);
    const movedTo = { cell: "2B", machines: [], isOnDisk: true, taker: null, hasArrived: true };
    const { made } = await store.write(() => tenants.updateAccount(it.made.account.id, () => ({ movedTo })));
    tenants.rememberAccount(made);
    expect(await look()).toEqual(["2B", null]);
  });

  test("is refused to a cell that others have moved to before, or that follows another one", async () => {
    const next = await it.api.data.tenants.createAccount({ name: "next", plan: "pro" });
    expect((await it.move({ installation: "another" })).json["detail"]).toContain("follows the replica");
    await it.moved();
    const late = await it.move({ accounts: [it.api.data.ids.encode("acct", next.id)] });
    expect([late.status, late.json["detail"]]).toEqual([409, expect.stringContaining("takes accounts once")]);
    const key = { name: "k" };
    const project = it.api.data.ids.encode("proj", it.made.live.project.id);
    const keyed = await it.api.call("POST", `/v1/operator/projects/${project}/api-keys`, key, OPERATOR_TOKEN);
    expect(keyed.status).toBe(409);
  });

  test("that the replica does not confirm in time has been made all the same", async () => {
    it.api.replica.waitMs = 50;
    const late = await it.move();
    expect([late.json["code"], late.json["detail"]]).toEqual([
      "replica_unavailable",
      expect.stringContaining("The accounts have left"),
    ]);
    expect((await it.asOwner("GET", "/v1/events")).status).toBe(218);
  });

  test("is refused to this cell, of an account that is not there, and without a replica", async () => {
    expect((await it.move({ cell: "00" })).json["errors"]).toMatchObject([{ pointer: "/cell" }]);
    const strange = it.move({ accounts: [it.id, "acct_nobody"] });
    expect((await strange).json["errors"]).toMatchObject([{ pointer: "/accounts/1" }]);
    it.api.replica.problem = "There is none.";
    expect((await it.move()).json["code"]).toBe("replica_unavailable");
    expect((await it.asOwner("GET", "/v1/events")).status).toBe(200);
  });
});
