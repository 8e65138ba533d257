-- Most deliveries get their row with the outcome of their first attempt: until then their event names them (src/store/index/unwritten.ts).

-- The keys of the endpoints whose deliveries have the keys right behind the event's, as a JSON array; read above the digest's mark only.
ALTER TABLE event ADD COLUMN goes_to TEXT;

-- Those that were open when the digest's mark passed them: now no other row is open.
DROP INDEX delivery_held;
ALTER TABLE delivery DROP COLUMN fresh;
CREATE INDEX delivery_held ON delivery (due) WHERE due IS NOT NULL AND queue_order IS NULL;
