-- Verified inbound events that came when the plan's deliveries were used up: their deliveries (status 0 or 1, due NULL) wait for it.
CREATE TABLE waiting_event (
  account_id INTEGER NOT NULL,
  event_id   INTEGER NOT NULL,
  PRIMARY KEY (account_id, event_id)
) WITHOUT ROWID;

-- What counts against each account's plan beside `usage`, written in the transactions that change it (src/store/meter.ts). Counting it
-- anew at the start took five seconds for a million deliveries that wait.
CREATE TABLE plan_place (
  account_id INTEGER PRIMARY KEY,
  taken      INTEGER NOT NULL,
  awaited    INTEGER NOT NULL,
  events     INTEGER NOT NULL
);

INSERT INTO plan_place
SELECT account_id, sum(count), 0, 0 FROM (
  SELECT project_id, count(*) AS count FROM delivery WHERE status IN (0, 1) AND metered = 0 AND origin <> 2 GROUP BY project_id
  UNION ALL
  SELECT project_id, json_array_length(endpoints) - written FROM fanout JOIN event ON event.id = event_id
  UNION ALL
  SELECT project_id, max(0, matched - replayed) FROM replay WHERE status = 'running'
) JOIN project ON project.id = project_id WHERE mode = 'live' GROUP BY account_id;
