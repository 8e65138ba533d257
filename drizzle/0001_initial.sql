-- Keys are integers: (milliseconds since 2025) × 4096 + sequence (src/core/ids.ts). Rows lie where their time
-- is. No index on event, delivery or attempt is led by endpoint or type: each row of a batch would touch
-- another page (0.75 instead of 1.09 of the bare loop with 100 endpoints). What lists need is filled in bulk
-- into `entry`, some 200 ms later. An index that every event writes to costs 2 to 3 % of it: the few that
-- there are hold no more than what cannot be found without them.

CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE account (
  id        INTEGER PRIMARY KEY,
  name      TEXT NOT NULL,
  plan      TEXT NOT NULL,
  suspended INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE project (
  id                  INTEGER PRIMARY KEY,
  account_id          INTEGER NOT NULL REFERENCES account (id),
  name                TEXT NOT NULL,
  mode                TEXT NOT NULL,
  branding            TEXT NOT NULL DEFAULT '{}',
  portal_origins      TEXT NOT NULL DEFAULT '[]',
  unknown_event_types TEXT NOT NULL DEFAULT 'allow'
);
CREATE INDEX project_account ON project (account_id);

CREATE TABLE api_key (
  id           INTEGER PRIMARY KEY,
  project_id   INTEGER NOT NULL REFERENCES project (id),
  hash         BLOB NOT NULL UNIQUE,
  prefix       TEXT NOT NULL,
  name         TEXT NOT NULL,
  scopes       TEXT NOT NULL,
  expires_at   INTEGER,
  last_used_at INTEGER
);
CREATE INDEX api_key_project ON api_key (project_id);

-- `sealed` holds every secret of the row as one ciphertext (src/core/cipher.ts): signing secrets,
-- credentials, header values.
CREATE TABLE endpoint (
  id                    INTEGER PRIMARY KEY,
  project_id            INTEGER NOT NULL REFERENCES project (id),
  consumer_id           TEXT,
  kind                  TEXT NOT NULL,
  config                TEXT NOT NULL,
  description           TEXT,
  event_types           TEXT,
  filter                TEXT,
  transformations       TEXT,
  signature_versions    TEXT NOT NULL,
  retry                 TEXT,
  timeout_seconds       INTEGER NOT NULL,
  rate_limit_per_second INTEGER,
  max_concurrency       INTEGER NOT NULL,
  ordering              TEXT NOT NULL,
  metadata              TEXT NOT NULL,
  status                TEXT NOT NULL,
  disabled_reason       TEXT,
  updated_at            INTEGER NOT NULL,
  sealed                BLOB NOT NULL
);
CREATE INDEX endpoint_consumer ON endpoint (project_id, consumer_id);

-- Only endpoints that are in trouble have a row.
CREATE TABLE endpoint_health (
  endpoint_id     INTEGER PRIMARY KEY,
  failures_in_row INTEGER NOT NULL,
  backoff_level   INTEGER NOT NULL,
  backoff_until   INTEGER NOT NULL,
  slow_level      INTEGER NOT NULL,
  slow_until      INTEGER NOT NULL,
  failing_since   INTEGER
);

CREATE TABLE source (
  id                    INTEGER PRIMARY KEY,
  project_id            INTEGER NOT NULL REFERENCES project (id),
  consumer_id           TEXT,
  provider              TEXT NOT NULL,
  name                  TEXT NOT NULL,
  status                TEXT NOT NULL,
  config                TEXT NOT NULL,
  rate_limit_per_second INTEGER,
  updated_at            INTEGER NOT NULL,
  sealed                BLOB NOT NULL
);
CREATE INDEX source_project ON source (project_id, id);

-- `hops`: deliveries that led to it.
CREATE TABLE event (
  id             INTEGER PRIMARY KEY,
  project_id     INTEGER NOT NULL,
  type           TEXT NOT NULL,
  timestamp      INTEGER NOT NULL,
  consumer_id    TEXT,
  external_id    TEXT,
  source_id      INTEGER,
  is_test        INTEGER NOT NULL DEFAULT 0,
  hops           INTEGER NOT NULL DEFAULT 0,
  delivery_count INTEGER NOT NULL,
  filtered       TEXT,
  data           TEXT NOT NULL
);
CREATE UNIQUE INDEX event_external ON event (project_id, external_id) WHERE external_id IS NOT NULL;

-- Deliveries of an event that are still to be written: a wide fan-out follows its event in slices.
CREATE TABLE fanout (
  event_id  INTEGER PRIMARY KEY,
  first_key INTEGER NOT NULL,
  written   INTEGER NOT NULL,
  total     INTEGER NOT NULL,
  list_id   INTEGER NOT NULL
);
CREATE INDEX fanout_by_list ON fanout (list_id);

-- Their endpoints, each list once: a batch of 500 events to 10,000 endpoints would write the same 150 KB 500
-- times. Its id is the event that came with it first.
CREATE TABLE fanout_list (
  id        INTEGER PRIMARY KEY,
  endpoints TEXT NOT NULL
);

-- `changed`: the key of the moment at which the status became what it is, or the delivery was opened again
-- (STATUS_KEY in src/store/log/delivery-row.ts); NULL where that is `first_attempt`, or before it `id`.
CREATE TABLE delivery (
  id            INTEGER PRIMARY KEY,
  event_id      INTEGER NOT NULL,
  endpoint_id   INTEGER NOT NULL,
  project_id    INTEGER NOT NULL,
  status        INTEGER NOT NULL,
  attempt_count INTEGER NOT NULL DEFAULT 0,
  step          INTEGER NOT NULL DEFAULT 0,
  origin        INTEGER NOT NULL DEFAULT 0,
  metered       INTEGER NOT NULL DEFAULT 0,
  generation    INTEGER NOT NULL DEFAULT 0,
  due           INTEGER,
  queue_order   INTEGER,
  dead_reason   INTEGER,
  completed_at  INTEGER,
  first_attempt INTEGER,
  changed       INTEGER
);
-- Deliveries of an event lie right behind it; those that a replay made or reopened are found here.
CREATE INDEX delivery_replayed ON delivery (event_id) WHERE origin IN (1, 3);
-- Open deliveries that an actor holds in memory, and those that wait in the database for their turn.
CREATE INDEX delivery_held ON delivery (due) WHERE due IS NOT NULL AND queue_order IS NULL;
CREATE INDEX delivery_parked ON delivery (endpoint_id, queue_order) WHERE queue_order IS NOT NULL;
CREATE INDEX delivery_dead ON delivery (project_id, id) WHERE status = 3;
CREATE INDEX delivery_dead_endpoint ON delivery (endpoint_id, id) WHERE status = 3;
-- Those that wait for their account's plan.
CREATE INDEX delivery_awaiting ON delivery (endpoint_id) WHERE due IS NULL AND status IN (0, 1);

-- Retries by hand that were answered with 202 and have no outcome yet: the next start makes them.
CREATE TABLE asked_retry (
  delivery_id INTEGER PRIMARY KEY
);

-- Request lines with headers, and response headers, each different one stored once a day.
CREATE TABLE head (
  id   INTEGER PRIMARY KEY,
  text TEXT NOT NULL
);

-- `dead_reason`: why the attempt ended its delivery; NULL where it did not.
CREATE TABLE attempt (
  id              INTEGER PRIMARY KEY,
  delivery_id     INTEGER NOT NULL,
  number          INTEGER NOT NULL,
  trigger         INTEGER NOT NULL,
  started_at      INTEGER NOT NULL,
  duration_ms     INTEGER NOT NULL,
  outcome         INTEGER NOT NULL,
  status_code     INTEGER,
  error_code      TEXT,
  error_detail    TEXT,
  request_head    INTEGER,
  sent_at         INTEGER,
  signature       TEXT,
  request_body    BLOB,
  response_head   INTEGER,
  response_date   INTEGER,
  response_body   BLOB,
  truncated       INTEGER NOT NULL DEFAULT 0,
  next_attempt_at INTEGER,
  dead_reason     INTEGER
);
-- A delivery names its first attempt; those after it are found here.
CREATE INDEX attempt_again ON attempt (delivery_id) WHERE number > 1;

-- What neither event, delivery nor attempt shows any more once a delivery was reopened: replayed, cancelled,
-- dead without an attempt.
CREATE TABLE note (
  id          INTEGER PRIMARY KEY,
  event_id    INTEGER NOT NULL,
  delivery_id INTEGER NOT NULL,
  kind        INTEGER NOT NULL,
  detail      TEXT
);
CREATE INDEX note_event ON note (event_id);

-- Names of lists: event types and consumers of a project.
CREATE TABLE label (
  id         INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL,
  kind       INTEGER NOT NULL,
  name       TEXT NOT NULL
);
CREATE UNIQUE INDEX label_name ON label (project_id, kind, name);

-- What stands in a list, in order: (project, event), (label, event), (source, event), (endpoint, delivery), …
-- `more`: the keys that follow `id` in the same list, packed (src/store/index/entries.ts): a busy list takes
-- a row for 256 keys.
CREATE TABLE entry (
  list INTEGER NOT NULL,
  id   INTEGER NOT NULL,
  more BLOB,
  PRIMARY KEY (list, id)
) WITHOUT ROWID;

CREATE TABLE stat (
  endpoint_id INTEGER NOT NULL,
  hour        INTEGER NOT NULL,
  delivered   INTEGER NOT NULL,
  failed      INTEGER NOT NULL,
  dead        INTEGER NOT NULL,
  durations   TEXT NOT NULL,
  PRIMARY KEY (endpoint_id, hour)
) WITHOUT ROWID;

-- The hourly numbers of all endpoints of a project together, so that its overview reads a row an hour,
-- however many endpoints it has: what stands in `stat`, added up. Those of endpoints that were deleted are in
-- here until they leave `stat` (src/store/counts/hours.ts).
CREATE TABLE project_stat (
  project_id INTEGER NOT NULL,
  hour       INTEGER NOT NULL,
  delivered  INTEGER NOT NULL,
  failed     INTEGER NOT NULL,
  dead       INTEGER NOT NULL,
  durations  TEXT NOT NULL,
  PRIMARY KEY (project_id, hour)
) WITHOUT ROWID;

CREATE TABLE usage (
  account_id INTEGER NOT NULL,
  project_id INTEGER NOT NULL,
  day        INTEGER NOT NULL,
  deliveries INTEGER NOT NULL,
  PRIMARY KEY (account_id, day, project_id)
) WITHOUT ROWID;

CREATE TABLE idempotency (
  project_id  INTEGER NOT NULL,
  consumer_id TEXT NOT NULL,
  key         TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  status      INTEGER NOT NULL,
  body        TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (project_id, consumer_id, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_age ON idempotency (created_at);

CREATE TABLE dedup (
  source_id  INTEGER NOT NULL,
  hash       BLOB NOT NULL,
  event_id   INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (source_id, hash)
) WITHOUT ROWID;
CREATE INDEX dedup_age ON dedup (expires_at);

CREATE TABLE replay (
  id           INTEGER PRIMARY KEY,
  project_id   INTEGER NOT NULL,
  consumer_id  TEXT,
  filter       TEXT NOT NULL,
  status       TEXT NOT NULL,
  matched      INTEGER NOT NULL,
  replayed     INTEGER NOT NULL DEFAULT 0,
  position     INTEGER NOT NULL,
  last         INTEGER NOT NULL,
  completed_at INTEGER
);
CREATE INDEX replay_project ON replay (project_id, id);
CREATE INDEX replay_running ON replay (project_id, consumer_id) WHERE status = 'running';

-- The endpoints and deliveries of a wide event that is sent again, apart from the row that each slice reads and
-- writes: 100,000 of each are some 3 MB.
CREATE TABLE replay_list (
  id         INTEGER PRIMARY KEY,
  endpoints  TEXT NOT NULL,
  deliveries TEXT NOT NULL
);

-- A type is called by its name, which is unique in its project. `schema` and `example` are JSON.
CREATE TABLE event_type (
  id          INTEGER PRIMARY KEY,
  project_id  INTEGER NOT NULL REFERENCES project (id),
  name        TEXT NOT NULL,
  description TEXT,
  schema      TEXT,
  example     TEXT,
  group_name  TEXT,
  archived    INTEGER NOT NULL DEFAULT 0,
  updated_at  INTEGER NOT NULL
);
CREATE UNIQUE INDEX event_type_name ON event_type (project_id, name);

-- Of a portal link's token only the hash is kept. An expired link is removed within a minute or so.
CREATE TABLE portal_link (
  id          INTEGER PRIMARY KEY,
  project_id  INTEGER NOT NULL REFERENCES project (id),
  hash        BLOB NOT NULL UNIQUE,
  consumer_id TEXT,
  may_manage  INTEGER NOT NULL,
  may_create  INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL
);
CREATE INDEX portal_link_project ON portal_link (project_id);
CREATE INDEX portal_link_consumer ON portal_link (project_id, consumer_id);
CREATE INDEX portal_link_expiry ON portal_link (expires_at);

-- The picture behind `branding.logo_url`, as it was when that was saved. `version` begins its hash.
CREATE TABLE project_logo (
  project_id   INTEGER PRIMARY KEY REFERENCES project (id),
  content_type TEXT NOT NULL,
  version      TEXT NOT NULL,
  bytes        BLOB NOT NULL
);

-- Who changed what. `scope` is the project, or for what the operator changed the account. `object_id` is the
-- public id, as types and consumers have names only.
CREATE TABLE audit (
  id          INTEGER PRIMARY KEY,
  scope       INTEGER NOT NULL,
  actor_kind  TEXT NOT NULL,
  actor_id    INTEGER,
  action      TEXT NOT NULL,
  object_kind TEXT NOT NULL,
  object_id   TEXT NOT NULL,
  changes     TEXT NOT NULL
);
CREATE INDEX audit_scope ON audit (scope, id);
CREATE INDEX audit_object ON audit (object_id);

-- Verified inbound events that came when the plan's deliveries were used up: their deliveries (status 0 or 1,
-- due NULL) wait for it.
CREATE TABLE waiting_event (
  account_id INTEGER NOT NULL,
  event_id   INTEGER NOT NULL,
  PRIMARY KEY (account_id, event_id)
) WITHOUT ROWID;

-- What counts against each account's plan beside `usage`, written in the transactions that change it
-- (src/store/counts/meter.ts). Counting it anew at the start took five seconds for a million deliveries that wait.
CREATE TABLE plan_place (
  account_id INTEGER PRIMARY KEY,
  taken      INTEGER NOT NULL,
  awaited    INTEGER NOT NULL,
  events     INTEGER NOT NULL
);

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
-- What runs is asked for at each call of a portal link: whether its consumer is being erased.
CREATE INDEX erasure_running ON erasure (project_id, consumer_id) WHERE status = 'running';

-- What came of the requests to each source, by the hour: `outcome` is accepted, duplicate, or why it was
-- refused. Nothing of the requests themselves stands here.
CREATE TABLE source_stat (
  source_id INTEGER NOT NULL,
  hour      INTEGER NOT NULL,
  outcome   TEXT NOT NULL,
  count     INTEGER NOT NULL,
  PRIMARY KEY (source_id, hour, outcome)
) WITHOUT ROWID;

-- When the last request of each outcome came, apart from the hours: those would be read from the newest back
-- to where one is found, 1.4 ms for a source that never had a handshake.
CREATE TABLE source_last (
  source_id INTEGER NOT NULL,
  outcome   TEXT NOT NULL,
  at        INTEGER NOT NULL,
  PRIMARY KEY (source_id, outcome)
) WITHOUT ROWID;
