-- `changed`: the key of the moment at which a delivery's status became what it is, or it was opened again
-- (STATUS_KEY in src/store/log/delivery-row.ts); NULL where that is `first_attempt`, or before it `id`.
ALTER TABLE delivery ADD COLUMN changed INTEGER;

-- Those that wait for their account's plan.
CREATE INDEX delivery_awaiting ON delivery (endpoint_id) WHERE due IS NULL AND status IN (0, 1);
