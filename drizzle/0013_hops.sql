-- Deliveries that led to the event: 0 where it did not come out of one.
ALTER TABLE event ADD COLUMN hops INTEGER NOT NULL DEFAULT 0;
