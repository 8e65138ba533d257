-- What is there and what is deleted stand apart, so that whoever reads the one does not pass by the other: what
-- is deleted stays as long as history names it.
DROP INDEX endpoint_consumer;
CREATE INDEX endpoint_consumer ON endpoint (project_id, consumer_id) WHERE status <> 'deleted';
CREATE INDEX endpoint_deleted ON endpoint (project_id, consumer_id) WHERE status = 'deleted';
DROP INDEX source_project;
CREATE INDEX source_consumer ON source (project_id, consumer_id) WHERE status <> 'deleted';
CREATE INDEX source_deleted ON source (project_id, consumer_id) WHERE status = 'deleted';

-- Replays of before this field was there.
UPDATE replay SET filter = json_set(filter, '$.endpointConsumerId', (SELECT consumer_id FROM endpoint WHERE endpoint.id = replay.filter ->> 'endpointId'))
  WHERE filter ->> 'endpointId' IS NOT NULL AND filter ->> 'endpointConsumerId' IS NULL;

-- Whose a bulk replay is: of the consumer that asked for it, that it is for, or whose endpoint it is for.
CREATE INDEX replay_consumer ON replay (project_id, consumer_id) WHERE consumer_id IS NOT NULL;
CREATE INDEX replay_for_consumer ON replay (project_id, filter ->> 'consumerId') WHERE filter ->> 'consumerId' IS NOT NULL;
CREATE INDEX replay_for_endpoint ON replay (project_id, filter ->> 'endpointConsumerId') WHERE filter ->> 'endpointConsumerId' IS NOT NULL;

-- Which project's erasure is next, apart from those that are done, which are kept for a year.
CREATE INDEX erasure_next ON erasure (project_id) WHERE status = 'running';

-- Names of types and consumers are shared by projects: none walks the entries of another.
DROP INDEX audit_object;
CREATE INDEX audit_object ON audit (scope, object_id);
-- Those that an erasure empties slice by slice, apart from what is empty.
CREATE INDEX audit_object_shown ON audit (scope, object_id) WHERE changes <> '{}';
-- Entries that show a consumer only as whose something was, or became.
CREATE INDEX audit_consumer_from ON audit (scope, changes ->> '$.consumer_id.from') WHERE changes ->> '$.consumer_id.from' IS NOT NULL;
CREATE INDEX audit_consumer_to ON audit (scope, changes ->> '$.consumer_id.to') WHERE changes ->> '$.consumer_id.to' IS NOT NULL;

-- A delivery may leave its event, with its notes; of the event's others there may be very many.
CREATE INDEX note_delivery ON note (delivery_id);
