-- The trace that an event belongs to, and what each attempt told its receiver of it, both as W3C Trace Context
-- writes them (`traceparent`). Null: it was not traced.
ALTER TABLE event ADD COLUMN trace TEXT;
ALTER TABLE attempt ADD COLUMN traceparent TEXT;
