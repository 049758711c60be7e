-- claim_runs_behind
-- claim_runs for what stands behind a run in the order of its priority, and for all of other priorities.
-- $1 text: the replica
-- $2 bytea: the hashes of the claims, 32 bytes each, one behind the other
-- $3 float8: timeout in s of runs whose task has none; 0: none
-- $4 text[]: queues that the replica serves
-- $5 text[]: types
-- $6 text[]: databases
-- $7 text[]: commands
-- $8 bigint: how many candidates to look at
-- $9 bigint: how many runs to take
-- $10 bigint: that run; where it is gone, all
-- Returns: at least one row: whether the replica may claim, how many candidates there were, what the search took in s, and how
-- many entries of the index it read; then the run, or NULLs
-- The candidates are read first, by queue and type along their index; then the best of them are locked. Rows that another
-- replica is just taking are skipped; the count of candidates tells whether there were such. Where rows are named by id,
-- status is asked through coalesce, so that the planner takes the key and not a partial index. What the search cost is
-- measured before the locks. The replica's own row is locked before the runs, so that whoever declares it dead either waits
-- for what it claims or comes first; and only where there are runs, because a lock alone has to be flushed too.
WITH me AS MATERIALIZED (
    SELECT h.paused_at, pg_stat_get_xact_tuples_returned(to_regclass('rowrun.task_run_available')) AS read
    FROM rowrun.replica_heartbeat h WHERE h.replica_id = $1 AND h.state = 'ACTIVE'
), seen AS MATERIALIZED (
    SELECT c.id FROM me
    CROSS JOIN (SELECT * FROM (SELECT b.priority, b.run_at, b.id FROM rowrun.task_run b WHERE b.id = $10
                    UNION ALL SELECT 2147483647, '-infinity', 0) b LIMIT 1) b
    CROSS JOIN unnest($4::text[]) q(queue)
    CROSS JOIN unnest($5::text[]) y(type)
    CROSS JOIN LATERAL (
        (SELECT r.id, r.priority, r.run_at
         FROM rowrun.task_run r
         JOIN rowrun.task k ON k.id = r.task_id
         LEFT JOIN rowrun.plan p ON p.id = r.plan_id
         WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type
           AND NOT k.paused AND p.paused IS NOT TRUE
           AND rowrun.may_take(r, k, $6, $7)
           AND r.priority > b.priority
         ORDER BY r.priority DESC, r.run_at, r.id LIMIT $8)
        UNION ALL (SELECT r.id, r.priority, r.run_at
         FROM rowrun.task_run r
         JOIN rowrun.task k ON k.id = r.task_id
         LEFT JOIN rowrun.plan p ON p.id = r.plan_id
         WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type
           AND NOT k.paused AND p.paused IS NOT TRUE
           AND rowrun.may_take(r, k, $6, $7)
           AND r.priority = b.priority AND (r.run_at, r.id) > (b.run_at, b.id)
         ORDER BY r.priority DESC, r.run_at, r.id LIMIT $8)
        UNION ALL (SELECT r.id, r.priority, r.run_at
         FROM rowrun.task_run r
         JOIN rowrun.task k ON k.id = r.task_id
         LEFT JOIN rowrun.plan p ON p.id = r.plan_id
         WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type
           AND NOT k.paused AND p.paused IS NOT TRUE
           AND rowrun.may_take(r, k, $6, $7)
           AND r.priority < b.priority
         ORDER BY r.priority DESC, r.run_at, r.id LIMIT $8)
    ) c
    WHERE me.paused_at IS NULL
    ORDER BY c.priority DESC, c.run_at, c.id LIMIT $8
), looked AS MATERIALIZED (
    SELECT count(*) AS n, extract(epoch FROM clock_timestamp() - statement_timestamp())::float8 AS took,
           coalesce(pg_stat_get_xact_tuples_returned(to_regclass('rowrun.task_run_available')) - (SELECT read FROM me), 0) AS read
    FROM seen
), alive AS MATERIALIZED (
    SELECT FROM rowrun.replica_heartbeat h
    WHERE h.replica_id = $1 AND h.state = 'ACTIVE' AND h.paused_at IS NULL AND (SELECT n FROM looked) > 0 FOR KEY SHARE
), picked AS MATERIALIZED (
    SELECT r.ctid AS place, r.hold = 'UNTOLD' AS untold
    FROM rowrun.task_run r
    WHERE r.id = ANY (ARRAY(SELECT id FROM seen)) AND coalesce(r.status, '') = 'AVAILABLE' AND (SELECT count(*) FROM alive) > 0
    ORDER BY r.priority DESC, r.run_at, r.id LIMIT $9
    FOR NO KEY UPDATE SKIP LOCKED
), taken AS (
    UPDATE rowrun.task_run r
    SET status = 'RUNNING', prev_status = 'AVAILABLE', by_hand = NULL, hold = NULL, replica_id = $1,
        claim_hash = substring($2::bytea FROM 32 * (i.n::int - 1) + 1 FOR 32),
        started_at = now.t, updated_at = now.t,
        deadline = CASE WHEN coalesce(k.timeout, make_interval(secs => $3)) > interval '0'
                        THEN now.t + coalesce(k.timeout, make_interval(secs => $3)) END
    FROM (SELECT place, untold, row_number() OVER () AS n FROM picked) i, rowrun.task k, (SELECT clock_timestamp() AS t) now
    WHERE k.id = r.task_id AND r.ctid = i.place
    RETURNING r.id, i.n, r.root_id, r.task_id, k.name, r.plan_id, r.attempt, r.type, r.queue, coalesce(r.database_id, '') AS database_id,
        coalesce(r.version, '') AS version, rowrun.payload_of(r, k) AS payload, rowrun.unfit(r, k, r.type <> k.type
            AND NOT EXISTS (SELECT FROM rowrun.task_type a WHERE a.type = r.type AND a.alias_of = k.type)) AS unfit,
        r.failures = 0 AND r.recoveries = 0 AS manual,
        coalesce(r.input ->> 'traceparent', k.labels ->> 'traceparent') AS traceparent,
        extract(epoch FROM r.deadline - now.t)::float8 AS timeout, extract(epoch FROM k.progress_timeout)::float8 AS progress_timeout,
        nullif(k.failure_log_level, 'info') AS failure_log_level, r.priority, r.run_at, CASE WHEN i.untold THEN rowrun.arrival(r) || ',' ELSE '' END || rowrun.transition(r) AS item
), said AS (
    SELECT rowrun.announce(array_agg(item)) FROM taken
)
SELECT (SELECT count(*) FROM me) > 0, (SELECT n FROM looked), (SELECT took FROM looked), (SELECT read FROM looked), t.id, t.n, t.root_id, t.task_id, t.name, t.plan_id, t.attempt, t.type, t.queue, t.database_id,
       t.version, t.payload, t.unfit, t.manual, t.traceparent, t.timeout, t.progress_timeout, t.failure_log_level
FROM said LEFT JOIN taken t ON true
ORDER BY t.priority DESC, t.run_at, t.id
