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
CREATE INDEX portal_link_expiry ON portal_link (expires_at);

-- The picture behind `branding.logo_url`, as it was when that was saved. `version` begins its hash.
CREATE TABLE project_logo (
  project_id   INTEGER PRIMARY KEY REFERENCES project (id),
  content_type TEXT NOT NULL,
  version      TEXT NOT NULL,
  bytes        BLOB NOT NULL
);
