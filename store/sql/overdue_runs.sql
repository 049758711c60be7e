-- overdue_runs
-- Runs that no replica executes, but the app or a worker, and that ran out of time, stalled, or whose worker's lease is over.
-- $1 bigint: the run behind which to look
-- $2 bigint: how many at most
-- $3 float8: for how many seconds the one that asks has been in unbroken contact: after an outage every lease is over, and workers
-- that live have had no chance to prolong theirs. Longer leases than 5 min are judged after that long
-- $4 timestamptz: as of when leases are judged; NULL: now
-- $5 timestamptz[]: when silences began that broke no contact
-- $6 timestamptz[]: when they ended. One that lasted longer than a third of a lease is an outage to it, unless it was over before
-- Returns: runs, ascending
SELECT r.id FROM (
    (SELECT r.id FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
     WHERE r.status = 'RUNNING' AND r.replica_id IS NULL AND r.id > $1
       AND (r.deadline < clock_timestamp() OR coalesce(r.progress_at, r.started_at) + k.progress_timeout < clock_timestamp())
     ORDER BY r.id LIMIT $2)
    UNION
    (SELECT r.id FROM rowrun.worker_claim c CROSS JOIN LATERAL ( -- from the few that workers hold, whatever statistics say
         SELECT r.id FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
         WHERE r.id = c.run_id AND r.claim_hash = c.claim_hash AND coalesce(r.status, '') = 'RUNNING'
           AND (c.until < least($4::timestamptz, clock_timestamp()) AND least(c.lease, interval '5 min') <= make_interval(secs => $3)
                AND NOT EXISTS (SELECT FROM unnest($5::timestamptz[], $6::timestamptz[]) s(began, ended)
                                WHERE (s.ended - s.began) * 3 > least(c.lease, interval '5 min') AND c.until >= s.began
                                  AND s.ended + least(c.lease, interval '5 min') > least($4::timestamptz, clock_timestamp()))
                OR r.deadline < clock_timestamp()
                OR coalesce(r.progress_at, r.started_at) + k.progress_timeout < clock_timestamp())
         OFFSET 0) r
     WHERE c.run_id > $1 ORDER BY r.id LIMIT $2)
) r
ORDER BY r.id LIMIT $2
