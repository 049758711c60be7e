-- claim_runs
-- Hands AVAILABLE runs to a replica: the first in the order of priority, of its queues and types.
-- $1 text: the replica
-- $2 bytea: the hashes of the claims, 32 bytes each, one behind the other
-- $3 float8: timeout in s of runs whose task has none; 0: none
-- $4 text[]: queues that the replica serves
-- $5 text[]: types
-- $6 text[]: databases
-- $7 text[]: commands
-- $8 bigint: how many candidates to look at
-- $9 bigint: how many runs to take
-- Returns: at least one row: how many candidates there were, -1: limits may apply to these queues and types, and claim_runs_bounded is to be sent; whether the replica may claim, where there were any; then the
-- number of the claim, the run and its task, or NULLs
-- rowrun.claimed tells promote_and_claim, where it follows in the transaction, how many of the hashes are taken.
-- The candidates are read first, by queue and type along their index; then the best of them are locked. Rows that another
-- replica is just taking are skipped; the count of candidates tells whether there were such. Rows are named by their places,
-- and status is asked through coalesce, so that the planner takes no partial index for it. The replica's own row is locked
-- before the runs, so that whoever declares it dead either waits for what it claims or comes first; and only where there are
-- runs, because a lock alone has to be flushed too. Limits are asked about behind the locks on the runs: who judges by a limit that is made
-- later meets these (lock_doubtful). The answer has columns as they are: the planning and the start of
-- expressions would cost more than the rest of the statement where it claims one run.
WITH seen AS MATERIALIZED (
    SELECT c.place, c.id FROM unnest($4::text[]) q(queue)
    CROSS JOIN unnest($5::text[]) y(type)
    CROSS JOIN LATERAL (
        SELECT r.ctid AS place, r.priority, r.run_at, r.id
         FROM rowrun.task_run r
         JOIN rowrun.task k ON k.id = r.task_id
         LEFT JOIN rowrun.plan p ON p.id = r.plan_id
         WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type
           AND NOT k.paused AND NOT k.skipped AND p.paused IS NOT TRUE
           AND rowrun.can_take(r, k, $6, $7)
         ORDER BY r.priority DESC, r.run_at, r.id LIMIT $8
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
