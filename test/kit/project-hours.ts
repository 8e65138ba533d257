/** Makes the hourly numbers of projects anew, from those of their endpoints: what they must be equal to. */
export const PROJECT_HOURS_ANEW = `
DELETE FROM project_stat;
INSERT INTO project_stat
WITH counted AS (
  SELECT e.project_id, s.hour, sum(s.delivered) AS delivered, sum(s.failed) AS failed, sum(s.dead) AS dead
  FROM stat s JOIN endpoint e ON e.id = s.endpoint_id GROUP BY e.project_id, s.hour
), bucket AS (
  SELECT e.project_id, s.hour, d.value ->> 0 AS bucket, sum(d.value ->> 1) AS count
  FROM stat s JOIN endpoint e ON e.id = s.endpoint_id, json_each(s.durations) d GROUP BY e.project_id, s.hour, bucket
), timed AS (
  SELECT project_id, hour, json_group_array(json_array(bucket, count)) AS durations FROM bucket GROUP BY project_id, hour
)
SELECT c.project_id, c.hour, c.delivered, c.failed, c.dead, coalesce(t.durations, '[]')
FROM counted c LEFT JOIN timed t ON t.project_id = c.project_id AND t.hour = c.hour;
`;
