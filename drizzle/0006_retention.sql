-- Events that have left the log, and whose deliveries follow in slices.
CREATE TABLE removal (
  event_id INTEGER PRIMARY KEY
);

-- Requests to forget a consumer. `last` is the newest key at that time: what came later is another story.
CREATE TABLE erasure (
  id           INTEGER PRIMARY KEY,
  project_id   INTEGER NOT NULL,
  consumer_id  TEXT NOT NULL,
  status       TEXT NOT NULL,
  last         INTEGER NOT NULL,
  events       INTEGER NOT NULL DEFAULT 0,
  deliveries   INTEGER NOT NULL DEFAULT 0,
  completed_at INTEGER
);
CREATE INDEX erasure_project ON erasure (project_id, id);
