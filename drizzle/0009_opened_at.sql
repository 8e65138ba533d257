-- Time in which the service itself held deliveries back counts against nobody: it counts from these instants.
ALTER TABLE account ADD COLUMN opened_at integer NOT NULL DEFAULT 0;
ALTER TABLE endpoint ADD COLUMN opened_at integer NOT NULL DEFAULT 0;
