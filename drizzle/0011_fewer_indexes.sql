-- An index that every event writes to costs 2 to 3 % of it. These three hold no more than what cannot be found without them
-- (src/store/index/hanging.ts, src/store/index/digest.ts).

-- Deliveries of an event lie right behind it; those that a replay made or reopened are found here.
DROP INDEX delivery_event;
CREATE INDEX delivery_replayed ON delivery (event_id) WHERE origin IN (1, 3);

-- A delivery names its first attempt; those after it are found here.
ALTER TABLE delivery ADD COLUMN first_attempt INTEGER;
UPDATE delivery SET first_attempt = (SELECT id FROM attempt WHERE delivery_id = delivery.id AND number = 1) WHERE attempt_count > 0;
DROP INDEX attempt_delivery;
CREATE INDEX attempt_again ON attempt (delivery_id) WHERE number > 1;

-- 1 until the digest's mark passes an open delivery: most are done by then. Below the mark, none that is open has it.
ALTER TABLE delivery ADD COLUMN fresh INTEGER NOT NULL DEFAULT 0;
DROP INDEX delivery_held;
CREATE INDEX delivery_held ON delivery (due) WHERE due IS NOT NULL AND queue_order IS NULL AND fresh = 0;
