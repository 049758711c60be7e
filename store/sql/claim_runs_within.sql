-- claim_runs_within
-- claim_runs for a replica that has less room for runs of some types than slots, or other timeouts for them; after a run, as
-- claim_runs_after.
-- $1 text: the replica
-- $2 bytea: the hashes of the claims, 32 bytes each, one behind the other
-- $3 text[]: queues that the replica serves
-- $4 text[]: types
-- $5 bigint[]: how many runs of each of these types to take at most
-- $6 float8[]: timeout in s of runs of each of these types whose task has none; 0: none
-- $7 text[]: databases
-- $8 text[]: commands
-- $9 bigint: how many candidates to look at
-- $10 bigint: how many runs to take
-- $11 bigint: the run after which to search; where there is none, from the first on
-- Returns: what claim_runs does, of candidates those that there is room for
-- Of each type three candidates more are locked than there is room for, so that one that somebody holds keeps no room empty. What
-- stands in claim_runs about locks and places holds here.
WITH seen AS MATERIALIZED (
    SELECT s.place, s.n <= s.room AS fits FROM (
        SELECT c.place, c.priority, c.run_at, c.id, y.room, row_number() OVER (PARTITION BY y.type ORDER BY c.priority DESC, c.run_at, c.id) AS n
        FROM (SELECT * FROM (SELECT b.priority, b.run_at, b.id FROM rowrun.task_run b WHERE b.id = $11
                        UNION ALL SELECT 2147483647, '-infinity', 0) b LIMIT 1) b
        CROSS JOIN unnest($3::text[]) q(queue)
        CROSS JOIN unnest($4::text[], $5::bigint[]) y(type, room)
        CROSS JOIN LATERAL (
            (SELECT r.ctid AS place, r.priority, r.run_at, r.id
             FROM rowrun.task_run r
             JOIN rowrun.task k ON k.id = r.task_id
             LEFT JOIN rowrun.plan p ON p.id = r.plan_id
             WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type
               AND NOT k.paused AND p.paused IS NOT TRUE
               AND rowrun.may_take(r, k, $7, $8)
               AND r.priority > b.priority
             ORDER BY r.priority DESC, r.run_at, r.id LIMIT least($9, y.room + 3))
            UNION ALL (SELECT r.ctid AS place, r.priority, r.run_at, r.id
             FROM rowrun.task_run r
             JOIN rowrun.task k ON k.id = r.task_id
             LEFT JOIN rowrun.plan p ON p.id = r.plan_id
             WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type
               AND NOT k.paused AND p.paused IS NOT TRUE
               AND rowrun.may_take(r, k, $7, $8)
               AND r.priority = b.priority AND (r.run_at, r.id) > (b.run_at, b.id)
             ORDER BY r.priority DESC, r.run_at, r.id LIMIT least($9, y.room + 3))
            UNION ALL (SELECT r.ctid AS place, r.priority, r.run_at, r.id
             FROM rowrun.task_run r
             JOIN rowrun.task k ON k.id = r.task_id
             LEFT JOIN rowrun.plan p ON p.id = r.plan_id
             WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type
               AND NOT k.paused AND p.paused IS NOT TRUE
               AND rowrun.may_take(r, k, $7, $8)
               AND r.priority < b.priority
             ORDER BY r.priority DESC, r.run_at, r.id LIMIT least($9, y.room + 3))
        ) c
    ) s
    WHERE s.n <= s.room + 3
    ORDER BY s.n <= s.room DESC, s.priority DESC, s.run_at, s.id LIMIT $9 + 3
), alive AS MATERIALIZED (
    SELECT h.paused_at FROM rowrun.replica_heartbeat h
    WHERE h.replica_id = $1 AND h.state = 'ACTIVE' AND EXISTS (SELECT FROM seen) FOR KEY SHARE
), picked AS MATERIALIZED (
    SELECT r.ctid AS place, r.cause = 'UNTOLD' AS untold, r.type, r.priority, r.run_at, r.id
    FROM rowrun.task_run r
    WHERE r.ctid = ANY (ARRAY(SELECT s.place FROM seen s)) AND coalesce(r.status, '') = 'AVAILABLE'
      AND EXISTS (SELECT FROM alive a WHERE a.paused_at IS NULL)
    ORDER BY r.priority DESC, r.run_at, r.id
    FOR NO KEY UPDATE SKIP LOCKED
), chosen AS MATERIALIZED (
    SELECT f.place, f.untold, f.timeout, row_number() OVER (ORDER BY f.priority DESC, f.run_at, f.id) AS n
    FROM (SELECT i.*, y.room, y.timeout, row_number() OVER (PARTITION BY i.type ORDER BY i.priority DESC, i.run_at, i.id) AS of_type
          FROM picked i JOIN unnest($4::text[], $5::bigint[], $6::float8[]) y(type, room, timeout) ON y.type = i.type) f
    WHERE f.of_type <= f.room
    ORDER BY n LIMIT $10
), taken AS (
    UPDATE rowrun.task_run r
    SET status = 'RUNNING', prev_status = 'AVAILABLE', edited_directly = NULL, cause = NULL, replica_id = $1,
        claim_hash = substring($2::bytea FROM 32 * (i.n::int - 1) + 1 FOR 32),
        started_at = now.t, updated_at = now.t,
        deadline = CASE WHEN coalesce(k.timeout, make_interval(secs => i.timeout)) > interval '0'
                        THEN now.t + coalesce(k.timeout, make_interval(secs => i.timeout)) END
    FROM chosen i, rowrun.task k, (SELECT clock_timestamp() AS t) now
    WHERE k.id = r.task_id AND r.ctid = i.place
    RETURNING i.n, r.id, r.root_id, r.task_id, k.name, r.plan_id, r.attempt, r.type, r.queue, r.database_id, r.version, r.input,
        r.failures = 0 AND r.recoveries = 0 AS manual, date_part('epoch', r.deadline - now.t) AS timeout,
        k.type AS task_type, CASE WHEN r.type <> k.type THEN (SELECT a.alias_of FROM rowrun.task_type a WHERE a.type = r.type) END AS alias_of,
        k.database_id AS task_database_id, k.version AS task_version, k.payload, k.state, k.labels ->> 'traceparent' AS traceparent,
        date_part('epoch', k.progress_timeout) AS progress_timeout, k.failure_log_level,
        CASE WHEN i.untold THEN rowrun.arrival(r) || ',' ELSE '' END || rowrun.transition(r) AS item
), said AS (
    SELECT rowrun.announce(array_agg(item)), set_config('rowrun.claimed', coalesce(max(n), 0)::text, true) FROM taken
)
SELECT least((SELECT count(*) FROM seen s WHERE s.fits), $9), EXISTS (SELECT FROM alive),
       t.n, t.id, t.root_id, t.task_id, t.name, t.plan_id, t.attempt, t.type, t.queue, t.database_id, t.version, t.input, t.manual, t.timeout,
       t.task_type, t.alias_of, t.task_database_id, t.task_version, t.payload, t.state, t.traceparent, t.progress_timeout, t.failure_log_level
FROM said LEFT JOIN taken t ON true
