-- claim_runs_after
-- claim_runs for what comes after a run in the order of its priority, and for all of other priorities.
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
-- Returns: what claim_runs does
-- What stands in claim_runs about locks and places holds here.
WITH seen AS MATERIALIZED (
    SELECT c.place, c.id FROM (SELECT * FROM (SELECT b.priority, b.run_at, b.id FROM rowrun.task_run b WHERE b.id = $10
                    UNION ALL SELECT 2147483647, '-infinity', 0) b LIMIT 1) b
    CROSS JOIN unnest($4::text[]) q(queue)
    CROSS JOIN unnest($5::text[]) y(type)
    CROSS JOIN LATERAL (
        (SELECT r.ctid AS place, r.priority, r.run_at, r.id
         FROM rowrun.task_run r
         JOIN rowrun.task k ON k.id = r.task_id
         LEFT JOIN rowrun.plan p ON p.id = r.plan_id
         WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type
           AND NOT k.paused AND NOT k.skipped AND p.paused IS NOT TRUE
           AND rowrun.can_take(r, k, $6, $7)
           AND r.priority > b.priority
         ORDER BY r.priority DESC, r.run_at, r.id LIMIT $8)
        UNION ALL (SELECT r.ctid AS place, r.priority, r.run_at, r.id
         FROM rowrun.task_run r
         JOIN rowrun.task k ON k.id = r.task_id
         LEFT JOIN rowrun.plan p ON p.id = r.plan_id
         WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type
           AND NOT k.paused AND NOT k.skipped AND p.paused IS NOT TRUE
           AND rowrun.can_take(r, k, $6, $7)
           AND r.priority = b.priority AND (r.run_at, r.id) > (b.run_at, b.id)
         ORDER BY r.priority DESC, r.run_at, r.id LIMIT $8)
        UNION ALL (SELECT r.ctid AS place, r.priority, r.run_at, r.id
         FROM rowrun.task_run r
         JOIN rowrun.task k ON k.id = r.task_id
         LEFT JOIN rowrun.plan p ON p.id = r.plan_id
         WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type
           AND NOT k.paused AND NOT k.skipped AND p.paused IS NOT TRUE
           AND rowrun.can_take(r, k, $6, $7)
           AND r.priority < b.priority
         ORDER BY r.priority DESC, r.run_at, r.id LIMIT $8)
    ) c
    ORDER BY c.priority DESC, c.run_at, c.id LIMIT $8
), alive AS MATERIALIZED (
    SELECT h.paused_at FROM rowrun.replica_heartbeat h
    WHERE h.replica_id = $1 AND h.state = 'ACTIVE' AND EXISTS (SELECT FROM seen) FOR KEY SHARE
), picked AS MATERIALIZED (
    SELECT r.ctid AS place, r.cause = 'UNTOLD' AS untold
    FROM rowrun.task_run r
    WHERE r.ctid = ANY (ARRAY(SELECT s.place FROM seen s)) AND coalesce(r.status, '') = 'AVAILABLE'
      AND EXISTS (SELECT FROM alive a WHERE a.paused_at IS NULL)
    ORDER BY r.priority DESC, r.run_at, r.id LIMIT $9
    FOR NO KEY UPDATE SKIP LOCKED
), asked AS MATERIALIZED (
    SELECT CASE WHEN count(*) > 0 THEN rowrun.may_be_limited() AND rowrun.may_limit($4, $5) END AS limited FROM picked
), taken AS (
    UPDATE rowrun.task_run r
    SET status = 'RUNNING', prev_status = 'AVAILABLE', edited_directly = NULL, cause = NULL, replica_id = $1,
        claim_hash = substring($2::bytea FROM 32 * (i.n::int - 1) + 1 FOR 32),
        started_at = now.t, updated_at = greatest(now.t, r.updated_at + interval '1 us'),
        deadline = CASE WHEN coalesce(k.timeout, make_interval(secs => $3)) > interval '0'
                        THEN now.t + coalesce(k.timeout, make_interval(secs => $3)) END
    FROM (SELECT place, untold, row_number() OVER () AS n FROM picked) i, rowrun.task k, (SELECT clock_timestamp() AS t) now
    WHERE k.id = r.task_id AND r.ctid = i.place AND (SELECT a.limited IS NOT TRUE FROM asked a)
    RETURNING i.n, r.id, r.root_id, r.task_id, k.name, r.plan_id, r.attempt, r.type, r.queue, r.database_id, r.version, r.input,
        r.failures = 0 AND r.recoveries = 0 AS manual, date_part('epoch', r.deadline - now.t) AS timeout,
        k.type AS task_type, CASE WHEN r.type <> k.type THEN (SELECT a.alias_of FROM rowrun.task_type a WHERE a.type = r.type) END AS alias_of,
        k.database_id AS task_database_id, k.version AS task_version, k.payload, k.state, k.labels ->> 'traceparent' AS traceparent,
        date_part('epoch', k.progress_timeout) AS progress_timeout, k.failure_log_level, r.retry_of, CASE WHEN r.run_at <= r.created_at THEN r.created_at END AS created_at, r.available_at, r.started_at,
        CASE WHEN i.untold THEN rowrun.arrival(r) || ',' ELSE '' END || rowrun.transition(r) AS item
), said AS (
    SELECT rowrun.announce(array_agg(item)), set_config('rowrun.claimed', coalesce(max(n), 0)::text, true), pg_current_xact_id_if_assigned()::text::bigint AS xid FROM taken
)
SELECT CASE WHEN (SELECT a.limited FROM asked a) THEN -1 ELSE (SELECT count(*) FROM seen) END, EXISTS (SELECT FROM alive),
       t.n, t.id, t.root_id, t.task_id, t.name, t.plan_id, t.attempt, t.type, t.queue, t.database_id, t.version, t.input, t.manual, t.timeout,
       t.task_type, t.alias_of, t.task_database_id, t.task_version, t.payload, t.state, t.traceparent, t.progress_timeout, t.failure_log_level,
       t.retry_of, t.created_at, t.available_at, t.started_at, said.xid
FROM said LEFT JOIN taken t ON true
