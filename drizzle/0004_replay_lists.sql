-- The endpoints and deliveries of a wide event that is sent again, apart from the row that each slice reads and
-- writes: 100,000 of each are some 3 MB.
CREATE TABLE replay_list (
  id         INTEGER PRIMARY KEY,
  endpoints  TEXT NOT NULL,
  deliveries TEXT NOT NULL
);
INSERT INTO replay_list (id, endpoints, deliveries)
  SELECT id, filter -> '$.event.endpoints', filter -> '$.event.deliveries' FROM replay
  WHERE status = 'running' AND filter ->> '$.event.id' IS NOT NULL;
UPDATE replay SET filter = json_remove(filter, '$.event.endpoints', '$.event.deliveries')
  WHERE filter ->> '$.event.id' IS NOT NULL;

CREATE INDEX replay_running ON replay (project_id, consumer_id) WHERE status = 'running';
