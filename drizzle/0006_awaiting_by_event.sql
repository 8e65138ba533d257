-- What waits for the plan is found by its event too: none that was let go or ended before is passed by.
CREATE INDEX delivery_awaiting_by_event ON delivery (event_id) WHERE due IS NULL AND status IN (0, 1);
