-- make_task
-- Makes a task of a plan.
-- $1 bigint: plan
-- $2 text: name
-- $3 text: type
-- $4 text: target database; '': none
-- $5 text: version; '': none
-- $6 jsonb: payload, a JSON object
-- $7 integer: how often it is tried; 0: the column's default
-- $8 float8: delay of a retry in seconds; 0: the column's default
-- Returns: its id
INSERT INTO rowrun.task (plan_id, name, type, database_id, version, payload, max_attempts, retry_delay)
VALUES ($1, $2, $3, nullif($4, ''), nullif($5, ''), $6, nullif($7, 0), nullif(make_interval(secs => $8), interval '0'))
RETURNING id
