-- The transition PENDING -> AVAILABLE -> RUNNING in one version of a row, for all passes: of runs that the caller holds, and
-- whose gates were open at t, those that the replica takes which asks for them, the first of them in the order of promotion,
-- as many as it has slots for. It is AVAILABLE from t on, or from when it is due, and RUNNING from now on; what was done is
-- announced, both edges of a run together. The caller has locked the row of the replica, so that whoever declares it dead
-- either waits for what it claims or comes first.
-- The caller holds the rows, which this statement's snapshot therefore shows as they are: what was edited before the lock has
-- been judged as it is now, and nothing is edited since.
-- Rows are updated by their places, and the planner would read the whole of a small table for that.
CREATE OR REPLACE FUNCTION rowrun.make_running(run_ids bigint[], t timestamptz, request rowrun.claim_request,
    OUT ids bigint[], OUT claims rowrun.claimed_run[]) LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_bitmapscan = off
    SET enable_hashjoin = off
    SET enable_mergejoin = off
AS $$
DECLARE
    items text[];
BEGIN
    WITH fitting AS MATERIALIZED (
        SELECT f.place, request.used + (row_number() OVER ())::int AS n
        FROM (SELECT r.ctid AS place FROM task_run r JOIN task k ON k.id = r.task_id
              WHERE r.id = ANY (run_ids) AND coalesce(r.status, '') = 'PENDING' AND r.queue = ANY (request.queues)
                AND r.type = ANY (request.types) AND NOT k.paused AND NOT k.skipped AND can_take(r, k, request.databases, request.commands)
              ORDER BY r.priority DESC, r.run_at, r.id LIMIT octet_length(request.hashes) / 32 - request.used) f
    ), taken AS (
        UPDATE task_run r
        SET status = 'RUNNING', prev_status = 'PENDING', edited_directly = NULL, cause = NULL, judge_at = NULL, limit_wait = NULL, replica_id = request.replica_id,
            claim_hash = substring(request.hashes FROM 32 * f.n - 31 FOR 32), available_at = greatest(make_running.t, r.run_at),
            started_at = greatest(now.t, r.run_at), updated_at = greatest(now.t, r.run_at, r.updated_at + interval '1 us'),
            deadline = CASE WHEN coalesce(k.timeout, make_interval(secs => request.default_timeout)) > interval '0'
                            THEN now.t + coalesce(k.timeout, make_interval(secs => request.default_timeout)) END
        FROM fitting f, task k, (SELECT greatest(clock_timestamp(), make_running.t) AS t) now
        WHERE k.id = r.task_id AND r.ctid = f.place
        RETURNING r.id, f.n, promotion_and_claim(r) AS item,
            ROW(f.n, r.id, r.root_id, r.task_id, k.name, r.plan_id, r.attempt, r.type, r.queue, r.database_id, r.version, r.input,
                r.failures = 0 AND r.recoveries = 0, date_part('epoch', r.deadline - now.t),
                k.type, CASE WHEN r.type <> k.type THEN (SELECT a.alias_of FROM task_type a WHERE a.type = r.type) END,
                k.database_id, k.version, k.payload, k.state, k.labels ->> 'traceparent',
                date_part('epoch', k.progress_timeout), k.failure_log_level, r.retry_of, CASE WHEN r.run_at <= r.created_at THEN r.created_at END, r.available_at, r.started_at)::rowrun.claimed_run AS claim
    )
    SELECT coalesce(array_agg(c.id), '{}'), coalesce(array_agg(c.claim), '{}'), array_agg(c.item) INTO ids, claims, items FROM taken c;
    IF items IS NOT NULL THEN
        PERFORM announce(items);
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.make_running(bigint[], timestamptz, rowrun.claim_request) IS 'Internal: PENDING to AVAILABLE and RUNNING at once, of what a replica takes; the runs that took it.';
