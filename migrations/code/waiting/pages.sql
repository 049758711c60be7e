-- What is asked about a database, a plan or a kind of run stands in functions that are put in place of their call, and is
-- asked once for the runs that share it. None walks a row of runs as far as it goes: a look is over after 200 at most.

-- Those of these runs that wait.
CREATE OR REPLACE FUNCTION rowrun.waiting_runs(ids bigint[])
    RETURNS TABLE (id bigint, task_id bigint, pending boolean, run_at timestamptz, priority integer, plan_id bigint, type text, queue text,
                   database_id text, version_key text, sequential boolean, task_paused boolean, command jsonb)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT r.id, r.task_id, r.status = 'PENDING', r.run_at, r.priority, r.plan_id, r.type, r.queue,
           r.database_id, r.version_key, r.sequential, k.paused, k.command
    FROM generate_subscripts(ids, 1) n
    CROSS JOIN LATERAL (SELECT x.id, x.task_id, x.status, x.run_at, x.priority, x.plan_id, x.type, x.queue, x.database_id, x.version_key, x.sequential
                        FROM rowrun.task_run x WHERE x.id = ids[n] AND coalesce(x.status, '') IN ('PENDING', 'AVAILABLE') OFFSET 0) r
    CROSS JOIN LATERAL (SELECT x.paused, CASE r.type WHEN 'COMMAND' THEN x.payload -> 'command' END AS command
                        FROM rowrun.task x WHERE x.id = r.task_id OFFSET 0) k;
END;
COMMENT ON FUNCTION rowrun.waiting_runs(bigint[]) IS 'Internal: of these runs those that are PENDING or AVAILABLE.';

-- All runs that wait, a thousand at once, in the order that waits_for is quick with.
CREATE OR REPLACE FUNCTION rowrun.waiting_pages() RETURNS TABLE (ids bigint[])
    LANGUAGE plpgsql STABLE ROWS 10
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT array_agg(r.id ORDER BY r.n)
    FROM (SELECT u.id, row_number() OVER (ORDER BY u.database_id, u.plan_id, u.type, u.queue, u.id) AS n
          FROM rowrun.task_run u WHERE u.status IN ('PENDING', 'AVAILABLE')) r
    GROUP BY (r.n - 1) / 1000;
END
$$;
COMMENT ON FUNCTION rowrun.waiting_pages() IS 'Internal: all runs that wait, a thousand at once.';
