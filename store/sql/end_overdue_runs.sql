-- end_overdue_runs
-- Ends runs that the app took over and that ran out of time or stalled.
-- $1 bigint[]: runs; those of which that doesn't hold by now stay as they are
-- $2 text: what may follow: NONE, FAILURE or STALE
-- $3 text: what the detail says beside; '': nothing
-- Returns: run, its status, its successor (NULL: none)
WITH overdue AS MATERIALIZED (
    SELECT r.id, CASE WHEN r.deadline < clock_timestamp()
                THEN jsonb_build_object('code', 'TIMEOUT', 'detail', 'Task run timed out after ' || rowrun.ago(r.deadline - r.started_at) || $3::text)
                ELSE jsonb_build_object('code', 'PROGRESS_TIMEOUT', 'detail', 'Task run stalled: no progress for ' || rowrun.ago(k.progress_timeout) || $3::text) END AS result
    FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
    WHERE r.id = ANY ($1) AND coalesce(r.status, '') = 'RUNNING' AND r.replica_id IS NULL
      AND (r.deadline < clock_timestamp() OR coalesce(r.progress_at, r.started_at) + k.progress_timeout < clock_timestamp())
), o AS (SELECT array_agg(id) AS ids, array_agg(result) AS results FROM overdue)
SELECT e.run_id, e.status, e.retry_run_id
FROM o CROSS JOIN LATERAL rowrun.end_runs(o.ids, array_fill(NULL::uuid, ARRAY[cardinality(o.ids)]),
    array_fill('FAILED'::text, ARRAY[cardinality(o.ids)]), o.results, array_fill($2::text, ARRAY[cardinality(o.ids)])) e
WHERE o.ids IS NOT NULL
