-- Retries by hand that were answered with 202 and have no outcome yet: the next start makes them.
CREATE TABLE asked_retry (
  delivery_id INTEGER PRIMARY KEY
);
