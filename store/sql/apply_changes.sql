-- apply_changes
-- Changes tasks to what is wanted of them now.
-- $1 jsonb: an array of objects with id and the names of the columns; times in seconds. What it doesn't say of aging, retention and failure_log_level stays: most files can't say it.
-- Returns: no row
UPDATE rowrun.task k
SET type = t.type, queue = t.queue, database_id = t.database_id, version = t.version, sequential = t.sequential, payload = t.payload,
    priority = t.priority, timeout = make_interval(secs => t.timeout), progress_timeout = make_interval(secs => t.progress_timeout),
    max_attempts = t.max_attempts, retry_delay = make_interval(secs => t.retry_delay), on_stale = t.on_stale, labels = t.labels,
    aging = coalesce(make_interval(secs => t.aging), k.aging), failure_log_level = coalesce(t.failure_log_level, k.failure_log_level),
    retention = CASE WHEN num_nonnulls(t.retention, t.retention_by_status) > 0 THEN make_interval(secs => t.retention) ELSE k.retention END,
    retention_by_status = CASE WHEN num_nonnulls(t.retention, t.retention_by_status) > 0 THEN t.retention_by_status ELSE k.retention_by_status END
FROM jsonb_to_recordset($1) AS t (id bigint, type text, queue text, database_id text, version text, sequential boolean, payload jsonb,
     priority integer, timeout float8, progress_timeout float8, max_attempts integer, retry_delay float8, on_stale text, labels jsonb,
     aging float8, retention float8, retention_by_status jsonb, failure_log_level text)
WHERE k.id = t.id
