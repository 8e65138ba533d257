/** SQL of the deliveries that have no row yet: their event names them (src/store/index/unwritten.ts). */
export const UNWRITTEN = `SELECT event.id AS event_id, event.id + 1 + place.key AS id FROM event, json_each(event.goes_to) place
  WHERE NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.id = event.id + 1 + place.key)`;
