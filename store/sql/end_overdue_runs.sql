-- end_overdue_runs
-- Ends runs that the app or a worker executes and that ran out of time, stalled, or whose worker's lease is over.
-- $1 bigint[]: runs; those of which that doesn't hold by now stay as they are
-- $2 text: what may follow where they ran out of time: NONE or FAILURE; where the lease is over it is NONE or STALE
-- $3 text: what the detail says beside; '': nothing
-- $4 text: the detail where the lease is over
-- $5 float8: for how many seconds the one that asks has been in unbroken contact, as in overdue_runs
-- $6 timestamptz: as of when leases are judged, as there
-- $7 timestamptz[]: when silences began, as there
-- $8 timestamptz[]: when they ended
-- Returns: run, its status, its successor (NULL: none)
WITH overdue AS MATERIALIZED (
    SELECT r.id, CASE WHEN r.deadline < now.t
                THEN jsonb_build_object('code', 'TIMEOUT', 'detail', 'Task run timed out after ' || rowrun.ago(r.deadline - r.started_at) || $3::text)
                WHEN c.until < now.t THEN jsonb_build_object('code', 'LOST_CONTACT', 'detail', $4 || $3::text)
                ELSE jsonb_build_object('code', 'PROGRESS_TIMEOUT', 'detail', 'Task run stalled: no progress for ' || rowrun.ago(k.progress_timeout) || $3::text) END AS result
    FROM (SELECT clock_timestamp() AS t) now CROSS JOIN rowrun.task_run r
    JOIN rowrun.task k ON k.id = r.task_id
    LEFT JOIN LATERAL (
        SELECT w.run_id, CASE WHEN w.until < least($6::timestamptz, now.t) AND least(w.lease, interval '5 min') <= make_interval(secs => $5)
                              AND NOT EXISTS (SELECT FROM unnest($7::timestamptz[], $8::timestamptz[]) s(began, ended)
                                              WHERE (s.ended - s.began) * 3 > least(w.lease, interval '5 min') AND w.until >= s.began
                                                AND s.ended + least(w.lease, interval '5 min') > least($6::timestamptz, now.t)) THEN w.until END AS until
        FROM rowrun.worker_claim w WHERE w.claim_hash = r.claim_hash) c ON true
    WHERE r.id = ANY ($1) AND coalesce(r.status, '') = 'RUNNING' AND (r.replica_id IS NULL OR c.run_id IS NOT NULL)
      AND (r.deadline < now.t OR c.until < now.t OR coalesce(r.progress_at, r.started_at) + k.progress_timeout < now.t)
), o AS (
    SELECT array_agg(id) AS ids, array_agg(result) AS results,
           array_agg(CASE WHEN $2::text <> 'NONE' AND result ->> 'code' = 'LOST_CONTACT' THEN 'STALE' ELSE $2::text END) AS retries
    FROM overdue
)
SELECT e.run_id, e.status, e.retry_run_id
FROM o CROSS JOIN LATERAL rowrun.end_runs(o.ids, array_fill(NULL::uuid, ARRAY[cardinality(o.ids)]),
    array_fill('FAILED'::text, ARRAY[cardinality(o.ids)]), o.results, o.retries) e
WHERE o.ids IS NOT NULL
