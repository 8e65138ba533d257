-- Who changed what. `scope` is the project, or for what the operator changed the account. `object_id` is the public id, as types and consumers have
-- names only.
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
