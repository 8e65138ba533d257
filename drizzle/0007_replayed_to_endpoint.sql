-- Who sees some endpoints only passes by no delivery to another: of those that replays made or reopened.
CREATE INDEX delivery_replayed_to ON delivery (event_id, endpoint_id) WHERE origin IN (1, 3);
