-- What runs is asked for at each call of a portal link: whether its consumer is being erased.
CREATE INDEX erasure_running ON erasure (project_id, consumer_id) WHERE status = 'running';
CREATE INDEX portal_link_consumer ON portal_link (project_id, consumer_id);

-- An erasure closed these by and by; from now on they are closed by the time that it is answered.
UPDATE endpoint SET status = 'deleted' WHERE status <> 'deleted' AND EXISTS (
  SELECT 1 FROM erasure WHERE erasure.status = 'running' AND erasure.project_id = endpoint.project_id
    AND erasure.consumer_id = endpoint.consumer_id AND erasure.last >= endpoint.id);
UPDATE source SET status = 'deleted' WHERE status <> 'deleted' AND EXISTS (
  SELECT 1 FROM erasure WHERE erasure.status = 'running' AND erasure.project_id = source.project_id
    AND erasure.consumer_id = source.consumer_id AND erasure.last >= source.id);
