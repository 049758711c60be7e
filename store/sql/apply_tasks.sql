-- apply_tasks
-- Makes tasks of a plan, in the order of the array.
-- $1 bigint: plan
-- $2 jsonb: an array of objects with the names of the columns; times in seconds
-- Returns: the ids in that order
INSERT INTO rowrun.task (plan_id, name, type, queue, database_id, version, sequential, payload, priority, timeout, progress_timeout,
                         max_attempts, retry_delay, on_stale, labels, aging, retention, retention_by_status, failure_log_level)
SELECT $1, t.name, t.type, t.queue, t.database_id, t.version, t.sequential, t.payload, t.priority, make_interval(secs => t.timeout),
       make_interval(secs => t.progress_timeout), t.max_attempts, make_interval(secs => t.retry_delay), t.on_stale, t.labels,
       make_interval(secs => t.aging), make_interval(secs => t.retention), t.retention_by_status, t.failure_log_level
FROM ROWS FROM (jsonb_to_recordset($2) AS (name text, type text, queue text, database_id text, version text, sequential boolean, payload jsonb,
     priority integer, timeout float8, progress_timeout float8, max_attempts integer, retry_delay float8, on_stale text, labels jsonb,
     aging float8, retention float8, retention_by_status jsonb, failure_log_level text))
     WITH ORDINALITY AS t (name, type, queue, database_id, version, sequential, payload, priority, timeout, progress_timeout, max_attempts,
     retry_delay, on_stale, labels, aging, retention, retention_by_status, failure_log_level, n)
ORDER BY t.n
RETURNING id
