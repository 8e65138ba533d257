import type { Flight, Flights } from "../../src/delivery/flights.ts";

/** An attempt at a delivery, of the first epoch; by hand or by the queue. */
export function beginFlight(flights: Flights, id: number, byHand: boolean): Flight {
  return flights.begin({ id, trigger: byHand ? "manual" : "publish", probe: false, epoch: 0, byHand });
}
