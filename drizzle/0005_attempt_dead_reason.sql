-- `dead_reason`: why the attempt ended its delivery, known when its outcome is written; NULL where it did not. Of
-- the attempts so far it follows from their outcome, and from the last note before them: a delivery that was
-- cancelled while the attempt ran had ended already.
ALTER TABLE attempt ADD COLUMN dead_reason INTEGER;
UPDATE attempt SET dead_reason = CASE
    WHEN outcome = 4 THEN 2          -- blocked
    WHEN outcome = 5 THEN 3          -- malformed
    WHEN status_code = 410 THEN 1    -- gone
    ELSE 0                           -- exhausted
  END
  WHERE next_attempt_at IS NULL AND trigger <> 2 AND outcome BETWEEN 1 AND 5
    AND coalesce((SELECT n.kind FROM note n JOIN delivery d ON d.id = attempt.delivery_id
                  WHERE n.event_id = d.event_id AND n.delivery_id = d.id AND n.id < attempt.id
                  ORDER BY n.id DESC LIMIT 1), 0) = 0;
