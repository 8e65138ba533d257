-- What came of the requests to each source, by the hour: `outcome` is accepted, duplicate, or why it was refused. Nothing of the requests
-- themselves stands here.
CREATE TABLE source_stat (
  source_id INTEGER NOT NULL,
  hour      INTEGER NOT NULL,
  outcome   TEXT NOT NULL,
  count     INTEGER NOT NULL,
  last_at   INTEGER NOT NULL,
  PRIMARY KEY (source_id, hour, outcome)
) WITHOUT ROWID;
