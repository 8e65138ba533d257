-- What is parked for an endpoint that is pushed to stands by its due time, whatever the order: an endpoint that
-- keeps order reads it by key, which ends every entry of an index. So a change of the order writes no row.
UPDATE delivery SET queue_order = due
WHERE queue_order IS NOT NULL AND queue_order <> due
  AND endpoint_id IN (SELECT id FROM endpoint WHERE ordering = 'fifo' AND kind <> 'poll');
CREATE INDEX delivery_parked_by_id ON delivery (endpoint_id) WHERE queue_order IS NOT NULL;
