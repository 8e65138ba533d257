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
