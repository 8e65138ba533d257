-- The consumer whose data an entry may show, so that an erasure finds it once its object has left the database.
-- Entries from before have none: they are found by their object, or by a change that names the consumer.
ALTER TABLE audit ADD COLUMN consumer_id TEXT;
CREATE INDEX audit_consumer ON audit (scope, consumer_id) WHERE consumer_id IS NOT NULL;
