-- Whether a consumer was erased since a moment is asked by the last key of its erasures.
CREATE INDEX erasure_asked ON erasure (project_id, consumer_id, last);
