/** What is left in a cell of an account that has moved to another one. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Elsewhere } from "../../src/maintenance/elsewhere.ts";
import { OPERATOR_TOKEN } from "../http/kit.ts";
import { Leaving } from "../http/tenants/moves-kit.ts";

let it: Leaving;
beforeEach(async () => {
  it = await Leaving.start();
});
afterEach(() => it[Symbol.asyncDispose]());

describe("what is left of it", () => {
  const control = { isStopping: () => false, rest: async () => {} };

  test("stays until the other cell answers for it; then its endpoints go, and what waits for them", async () => {
    await it.asOwner("POST", "/v1/endpoints", { url: it.api.receiver.url("gone"), ordering: "fifo" });
    await it.moved();
    let isAtHome = false;
    const elsewhere = new Elsewhere({ data: it.api.data, isAtHome: async () => isAtHome });
    const endpoints = () => it.api.data.endpoints.ofProject(it.made.live.project.id).size;
    expect([await elsewhere.run(control), endpoints()]).toEqual([0, 1]);
    isAtHome = true;
    expect([await elsewhere.run(control), endpoints()]).toEqual([1, 0]);
    expect(it.api.data.tenants.account(it.made.account.id)?.movedTo).toMatchObject({
      cell: "2B",
      isTaken: true,
    });
    // Requests are still passed on.
    expect((await it.asOwner("GET", "/v1/events")).status).toBe(218);
  });

  test("is not counted for this cell's bill", async () => {
    await it.moved();
    const { text } = await it.api.call("GET", "/v1/operator/usage", undefined, OPERATOR_TOKEN);
    expect(text).not.toContain(it.id);
  });
});
