-- The endpoints of wide events, each list once: a batch of 500 events to 10,000 endpoints wrote the same 150 KB
-- 500 times. Its id is the event that came with it first.
CREATE TABLE fanout_list (
  id        INTEGER PRIMARY KEY,
  endpoints TEXT NOT NULL
);
INSERT INTO fanout_list (id, endpoints) SELECT event_id, endpoints FROM fanout;

ALTER TABLE fanout RENAME TO fanout_before;
CREATE TABLE fanout (
  event_id  INTEGER PRIMARY KEY,
  first_key INTEGER NOT NULL,
  written   INTEGER NOT NULL,
  total     INTEGER NOT NULL,
  list_id   INTEGER NOT NULL
);
INSERT INTO fanout (event_id, first_key, written, total, list_id)
  SELECT event_id, first_key, written, json_array_length(endpoints), event_id FROM fanout_before;
DROP TABLE fanout_before;
CREATE INDEX fanout_by_list ON fanout (list_id);
