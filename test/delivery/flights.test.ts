import { expect, test } from "bun:test";
import { Flights } from "../../src/delivery/flights.ts";
import { beginFlight } from "../kit/flight.ts";

test("a delivery is busy from its start until its outcome is on disk; its slot is free once the answer is there", () => {
  const flights = new Flights();
  const counts = () => [flights.size, flights.inFlight, flights.scheduled, flights.recording];
  const first = beginFlight(flights, 1, false);
  const second = beginFlight(flights, 2, true);
  expect([counts(), flights.idsInFlight()]).toEqual([
    [2, 2, 1, 0],
    [1, 2],
  ]);
  flights.land(second);
  expect([counts(), flights.idsInFlight(), flights.has(2)]).toEqual([[2, 1, 1, 1], [1], true]);
  flights.land(first);
  expect([counts(), flights.end(first), flights.end(second)]).toEqual([[2, 0, 0, 2], false, false]);
  expect([counts(), flights.has(1)]).toEqual([[0, 0, 0, 0], false]);
});

test("a turn that comes while it is busy is told at its end", () => {
  const flights = new Flights();
  expect(flights.defer(1)).toBe(false);
  const flight = beginFlight(flights, 1, false);
  expect([flights.defer(1), flights.defer(1)]).toEqual([true, true]);
  flights.land(flight);
  expect([flights.end(flight), flights.defer(1)]).toEqual([true, false]);
});

test("an attempt lands once", () => {
  const flights = new Flights();
  const flight = beginFlight(flights, 1, true);
  flights.land(flight);
  expect(() => flights.land(flight)).toThrow("twice");
  expect([flights.inFlight, flights.scheduled]).toEqual([0, 0]);
});
