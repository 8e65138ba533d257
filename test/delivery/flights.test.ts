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
  expect(counts()).toEqual([2, 0, 0, 2]);
  flights.end(first);
  flights.end(second);
  expect([counts(), flights.has(1)]).toEqual([[0, 0, 0, 0], false]);
});

test("a change of a busy delivery is known at the end of its attempt", () => {
  const flights = new Flights();
  flights.readRowLater(1);
  const flight = beginFlight(flights, 1, false);
  expect(flight.readsRow).toBe(false);
  flights.readRowLater(1);
  flights.land(flight);
  flights.end(flight);
  expect(flight.readsRow).toBe(true);
});

test("an attempt lands once", () => {
  const flights = new Flights();
  const flight = beginFlight(flights, 1, true);
  flights.land(flight);
  expect(() => flights.land(flight)).toThrow("twice");
  expect([flights.inFlight, flights.scheduled]).toEqual([0, 0]);
});
