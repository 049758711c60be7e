-- claim_runs_below
-- claim_runs_after for a replica with slots that only runs of at least a priority take.
-- $1 text: the replica
-- $2 bytea: the hashes of the claims, 32 bytes each, one behind the other
-- $3 float8: timeout in s of runs whose task has none; 0: none
-- $4 text[]: queues that the replica serves
-- $5 text[]: types
-- $6 text[]: databases
-- $7 text[]: commands
-- $8 bigint: how many candidates to look at
-- $9 bigint: how many runs to take
-- $10 bigint: the run after which to search; where it is gone, or 0, all
-- $11 integer[]: priorities, ascending
-- $12 integer[]: how many runs below each to take at most, ascending
-- Returns: at least one row: the priorities of the runs that were claimed, in the order of their claims; then what claim_runs does;
-- candidates that there was no slot for don't count
-- Runs are taken in the order of claims. Of those of one priority, and all that come behind them, no more are taken than that
-- priority may: the first for which that is too many is the last that is looked at. It is asked twice: of the candidates, so that no
-- more are locked than there are slots for, and of those that could be locked, by the priorities that they have by then.
-- What stands in claim_runs about locks and places holds here.
WITH usable AS MATERIALIZED (
    SELECT coalesce(max(b.priority), -2147483648) AS lowest FROM unnest($11::integer[], $12::integer[]) b(priority, most) WHERE b.most <= 0
), listed AS MATERIALIZED (
    SELECT c.place, c.priority, row_number() OVER (ORDER BY c.priority DESC, c.run_at, c.id) AS n
    FROM usable u
    CROSS JOIN (SELECT * FROM (SELECT b.priority, b.run_at, b.id FROM rowrun.task_run b WHERE b.id = $10
                    UNION ALL SELECT 2147483647, '-infinity', 0) b LIMIT 1) b
    CROSS JOIN unnest($4::text[]) q(queue)
    CROSS JOIN unnest($5::text[]) y(type)
    CROSS JOIN LATERAL (
        (SELECT r.ctid AS place, r.priority, r.run_at, r.id
         FROM rowrun.task_run r
         JOIN rowrun.task k ON k.id = r.task_id
         LEFT JOIN rowrun.plan p ON p.id = r.plan_id
         WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type
           AND NOT k.paused AND p.paused IS NOT TRUE
           AND rowrun.may_take(r, k, $6, $7)
           AND r.priority >= u.lowest AND r.priority > b.priority
         ORDER BY r.priority DESC, r.run_at, r.id LIMIT $8)
        UNION ALL (SELECT r.ctid AS place, r.priority, r.run_at, r.id
         FROM rowrun.task_run r
         JOIN rowrun.task k ON k.id = r.task_id
         LEFT JOIN rowrun.plan p ON p.id = r.plan_id
         WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type
           AND NOT k.paused AND p.paused IS NOT TRUE
           AND rowrun.may_take(r, k, $6, $7)
           AND r.priority >= u.lowest AND r.priority = b.priority AND (r.run_at, r.id) > (b.run_at, b.id)
         ORDER BY r.priority DESC, r.run_at, r.id LIMIT $8)
        UNION ALL (SELECT r.ctid AS place, r.priority, r.run_at, r.id
         FROM rowrun.task_run r
         JOIN rowrun.task k ON k.id = r.task_id
         LEFT JOIN rowrun.plan p ON p.id = r.plan_id
         WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type
           AND NOT k.paused AND p.paused IS NOT TRUE
           AND rowrun.may_take(r, k, $6, $7)
           AND r.priority >= u.lowest AND r.priority < b.priority
         ORDER BY r.priority DESC, r.run_at, r.id LIMIT $8)
    ) c
    ORDER BY c.priority DESC, c.run_at, c.id LIMIT $8
), seen AS MATERIALIZED (
    SELECT f.place FROM (
        SELECT l.place, l.n + max(1 - l.n - m.most) OVER (ORDER BY l.n ROWS UNBOUNDED PRECEDING) AS excess
        FROM listed l
        CROSS JOIN LATERAL (SELECT least($9::bigint, min(b.most)) AS most
                            FROM unnest($11::integer[], $12::integer[]) b(priority, most) WHERE b.priority > l.priority) m) f
    WHERE f.excess <= 0
), alive AS MATERIALIZED (
    SELECT h.paused_at FROM rowrun.replica_heartbeat h
    WHERE h.replica_id = $1 AND h.state = 'ACTIVE' AND EXISTS (SELECT FROM seen) FOR KEY SHARE
), locked AS MATERIALIZED (
    SELECT r.ctid AS place, r.cause = 'UNTOLD' AS untold, r.priority, r.run_at, r.id
    FROM rowrun.task_run r
    WHERE r.ctid = ANY (ARRAY(SELECT l.place FROM listed l)) AND coalesce(r.status, '') = 'AVAILABLE'
      AND EXISTS (SELECT FROM alive a WHERE a.paused_at IS NULL)
    ORDER BY r.priority DESC, r.run_at, r.id LIMIT (SELECT count(*) FROM seen)
    FOR NO KEY UPDATE SKIP LOCKED
), numbered AS (
    SELECT l.place, l.untold, l.priority, row_number() OVER (ORDER BY l.priority DESC, l.run_at, l.id) AS n FROM locked l
), picked AS MATERIALIZED (
    SELECT f.place, f.untold, f.n FROM (
        SELECT l.place, l.untold, l.n, l.n + max(1 - l.n - m.most) OVER (ORDER BY l.n ROWS UNBOUNDED PRECEDING) AS excess
        FROM numbered l
        CROSS JOIN LATERAL (SELECT least($9::bigint, min(b.most)) AS most
                            FROM unnest($11::integer[], $12::integer[]) b(priority, most) WHERE b.priority > l.priority) m) f
    WHERE f.excess <= 0
), taken AS (
    UPDATE rowrun.task_run r
    SET status = 'RUNNING', prev_status = 'AVAILABLE', edited_directly = NULL, cause = NULL, replica_id = $1,
        claim_hash = substring($2::bytea FROM 32 * (i.n::int - 1) + 1 FOR 32),
        started_at = now.t, updated_at = now.t,
        deadline = CASE WHEN coalesce(k.timeout, make_interval(secs => $3)) > interval '0'
                        THEN now.t + coalesce(k.timeout, make_interval(secs => $3)) END
    FROM picked i, rowrun.task k, (SELECT clock_timestamp() AS t) now
    WHERE k.id = r.task_id AND r.ctid = i.place
    RETURNING i.n, r.id, r.root_id, r.task_id, k.name, r.plan_id, r.attempt, r.type, r.queue, r.database_id, r.version, r.input,
        r.failures = 0 AND r.recoveries = 0 AS manual, date_part('epoch', r.deadline - now.t) AS timeout,
        k.type AS task_type, CASE WHEN r.type <> k.type THEN (SELECT a.alias_of FROM rowrun.task_type a WHERE a.type = r.type) END AS alias_of,
        k.database_id AS task_database_id, k.version AS task_version, k.payload, k.state, k.labels ->> 'traceparent' AS traceparent,
        date_part('epoch', k.progress_timeout) AS progress_timeout, k.failure_log_level,
        CASE WHEN i.untold THEN rowrun.arrival(r) || ',' ELSE '' END || rowrun.transition(r) AS item, r.priority
), said AS (
    SELECT rowrun.announce(array_agg(item)), set_config('rowrun.claimed', coalesce(max(n), 0)::text, true), array_agg(priority ORDER BY n) AS priorities
    FROM taken
)
SELECT said.priorities, (SELECT count(*) FROM seen), EXISTS (SELECT FROM alive),
       t.n, t.id, t.root_id, t.task_id, t.name, t.plan_id, t.attempt, t.type, t.queue, t.database_id, t.version, t.input, t.manual, t.timeout,
       t.task_type, t.alias_of, t.task_database_id, t.task_version, t.payload, t.state, t.traceparent, t.progress_timeout, t.failure_log_level
FROM said LEFT JOIN taken t ON true
