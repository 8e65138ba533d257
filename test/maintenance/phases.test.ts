import { expect, test } from "bun:test";
import { ROUTER_HEADER } from "../../src/core/router.ts";
import { Phases } from "../../src/maintenance/phases.ts";

const anybody = new Request("http://a.test/readyz");
const router = new Request("http://a.test/readyz", { headers: { [ROUTER_HEADER]: "haproxy" } });
const disk = { writable: true, silentMs: 0 };
const replica = { problem: () => null };

test("the router is answered for longer than others, and told in between that it is to turn away", () => {
  const phases = new Phases(() => 0);
  const seen = () =>
    [anybody, router].map((one) => [phases.isAnswered(one), phases.readiness(one, disk, replica).ready]);
  const rows = (["resuming", "open", "leaving", "parting", "stopping"] as const).map((is) => {
    phases.enter({ is, port: 1 });
    return [is, ...seen()];
  });
  const [yes, no] = [
    [true, true],
    [false, false],
  ];
  expect(rows).toEqual([
    ["resuming", no, no],
    ["open", yes, yes],
    ["leaving", no, yes],
    ["parting", no, [true, false]],
    ["stopping", no, no],
  ]);
});

test("the port is known once there is one", () => {
  const phases = new Phases(() => 0);
  expect(phases.port).toBeNull();
  phases.enter({ is: "resuming", port: 8080 });
  expect(phases.port).toBe(8080);
});

test("a router is there for as long as it asks", () => {
  let now = 0;
  const phases = new Phases(() => now);
  phases.enter({ is: "open", port: 1 });
  phases.readiness(anybody, disk, replica);
  expect(phases.isRouted).toBe(false);
  phases.readiness(router, disk, replica);
  now = 9000;
  expect(phases.isRouted).toBe(true);
  now = 10_000;
  expect(phases.isRouted).toBe(false);
});

test("what is missing is said of the first that is", () => {
  const phases = new Phases(() => 0);
  const late = { problem: () => "late" };
  const said = (store = disk, replication: Parameters<Phases["readiness"]>[2] = replica) =>
    phases.readiness(anybody, store, replication);
  expect(said()).toEqual({ ready: false, reason: "starting or stopping" });
  phases.enter({ is: "open", port: 1 });
  expect(said()).toEqual({ ready: true });
  expect(said({ writable: false, silentMs: 10_000 }, late).reason).toBe("the disk is full");
  expect(said({ writable: true, silentMs: 10_000 }, late).reason).toBe("the disk does not answer");
  expect(said(disk, late).reason).toBe("late");
});
