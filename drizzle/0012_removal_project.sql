-- What follows an event that has left the log is removed project by project, in turns: one project's does not hold
-- up another's erasure. What was under way before belongs to no project, and has its turn as one.
ALTER TABLE removal ADD COLUMN project_id INTEGER NOT NULL DEFAULT 0;
CREATE INDEX removal_project ON removal (project_id, event_id);
