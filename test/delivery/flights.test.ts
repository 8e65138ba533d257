import { expect, test } from "bun:test";
import { Flights } from "../../src/delivery/flights.ts";

test("a delivery is busy from its start until its outcome is on disk; its slot is free once the answer is there", () => {
  const flights = new Flights();
  const counts = () => [flights.size, flights.inFlight, flights.scheduled, flights.recording];
  flights.begin(1, false);
  flights.begin(2, true);
  expect([counts(), flights.idsInFlight()]).toEqual([
    [2, 2, 1, 0],
    [1, 2],
  ]);
  flights.land(2);
  expect([counts(), flights.idsInFlight(), flights.has(2)]).toEqual([[2, 1, 1, 1], [1], true]);
  flights.land(1);
  expect([counts(), flights.end(1), flights.end(2)]).toEqual([[2, 0, 0, 2], false, false]);
  expect([counts(), flights.has(1)]).toEqual([[0, 0, 0, 0], false]);
});

test("a turn that comes while it is busy is told at its end, once", () => {
  const flights = new Flights();
  expect(flights.defer(1)).toBe(false);
  flights.begin(1, false);
  expect([flights.defer(1), flights.defer(1)]).toEqual([true, true]);
  flights.land(1);
  expect([flights.end(1), flights.end(1)]).toEqual([true, false]);
});

test("an attempt that never began, or has ended already, does not end", () => {
  const flights = new Flights();
  expect(() => flights.land(1)).toThrow("never began");
  flights.begin(1, true);
  flights.land(1);
  expect(() => flights.land(1)).toThrow("never began");
  expect([flights.inFlight, flights.scheduled]).toEqual([0, 0]);
});
