-- Plans of which a task counts as failed. Where that stops them, it holds their sequential runs back, behind which others
-- then needn't wait.
CREATE OR REPLACE FUNCTION rowrun.mark_stopped(plan_ids bigint[]) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    INSERT INTO rowrun.gate_mark (kind, database_id)
    SELECT 'DATABASE', d.database_id
    FROM rowrun.databases_of_plans(ARRAY(SELECT p.id FROM rowrun.plan p WHERE p.id = ANY (plan_ids) AND p.on_failure = 'STOP')) d;
END $$;
COMMENT ON FUNCTION rowrun.mark_stopped(bigint[]) IS 'Internal: marks of what may start where a failure stops plans.';

-- What hangs on the end of runs with a plan or a database: the outcome of the plan's task, and marks for what may start; those
-- of plans unless the caller fills the slots that have come free (of_plans false).
CREATE OR REPLACE FUNCTION rowrun.mark_ended(run_ids bigint[], of_plans boolean) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    failed_plans bigint[];
    wave_plans bigint[];
    waves integer[];
BEGIN
    WITH ended AS (
        UPDATE rowrun.task t
        SET outcome = c.status, outcome_run_id = c.id,
            outcome_round = CASE c.status WHEN 'FAILED' THEN greatest(c.round, (SELECT p.round FROM rowrun.plan p WHERE p.id = c.plan_id)) END
        FROM rowrun.task_run c
        WHERE c.id = ANY (run_ids) AND t.id = c.task_id AND num_nonnulls(c.plan_id) = 1
          AND coalesce(c.status, '') IN ('DONE', 'FAILED', 'CANCELED') AND c.retry_run_id IS NULL
        RETURNING c.status, c.plan_id, t.wave
    )
    SELECT array_agg(DISTINCT e.plan_id) FILTER (WHERE e.status = 'FAILED'), array_agg(e.plan_id) FILTER (WHERE e.wave IS NOT NULL),
           array_agg(e.wave) FILTER (WHERE e.wave IS NOT NULL)
    INTO failed_plans, wave_plans, waves FROM ended e;
    IF wave_plans IS NOT NULL THEN -- the next wave may be opened
        INSERT INTO rowrun.gate_mark (kind, plan_id) SELECT DISTINCT 'PLAN', p FROM unnest(wave_plans) p;
        -- What ran once more while its wave soaked may have begun and ended between two looks. A pass that holds the wave has seen it unfinished.
        UPDATE rowrun.plan_wave w SET done_at = NULL
        WHERE w.ctid = ANY (ARRAY(
            SELECT x.ctid FROM rowrun.plan_wave x
            WHERE (x.plan_id, x.wave) IN (SELECT u.plan_id, u.wave FROM unnest(wave_plans, waves) u(plan_id, wave)) AND x.done_at IS NOT NULL
              AND NOT EXISTS (SELECT FROM rowrun.plan_wave n WHERE n.plan_id = x.plan_id AND n.wave > x.wave AND n.opened_at IS NOT NULL)
            FOR NO KEY UPDATE SKIP LOCKED));
    END IF;
    IF failed_plans IS NOT NULL THEN
        PERFORM rowrun.mark_stopped(failed_plans);
    END IF;
    INSERT INTO rowrun.gate_mark (kind, database_id, plan_id, task_id)
    SELECT DISTINCT m.kind, m.database_id, m.plan_id, m.task_id
    FROM rowrun.task_run c
    CROSS JOIN LATERAL (VALUES
        ('DATABASE', c.database_id, NULL::bigint, NULL::bigint),
        ('PLAN', NULL, CASE WHEN of_plans AND c.prev_status <> 'PENDING' THEN c.plan_id END, NULL),
        -- Its task is locked by now (above, or before the call): a pass that holds a run back for it either finds it
        -- locked, and leaves a mark of its own, or is over before this statement, which then sees the dependency.
        ('DEPENDENCY', NULL, NULL, CASE WHEN c.plan_id IS NOT NULL AND c.status = 'DONE'
            AND (EXISTS (SELECT FROM rowrun.task_dependency d WHERE d.depends_on_id = c.task_id)
                 OR current_setting('transaction_isolation') <> 'read committed') THEN c.task_id END)
    ) m(kind, database_id, plan_id, task_id)
    WHERE c.id = ANY (run_ids) AND coalesce(c.status, '') IN ('DONE', 'FAILED', 'CANCELED')
      AND (m.database_id IS NOT NULL OR m.plan_id IS NOT NULL OR m.task_id IS NOT NULL);
END $$;
COMMENT ON FUNCTION rowrun.mark_ended(bigint[], boolean) IS 'Internal: outcome of tasks and marks of what may start, after the end of runs.';

-- A PENDING run that was moved or got another place in the order, a cancel asked of a RUNNING one.
CREATE OR REPLACE FUNCTION rowrun.mark_edited(database_id text, look boolean) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF mark_edited.database_id IS NOT NULL THEN
        INSERT INTO rowrun.gate_mark (kind, database_id) VALUES ('DATABASE', mark_edited.database_id);
    END IF;
    IF look THEN
        PERFORM rowrun.notify_look();
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.mark_edited(text, boolean) IS 'Internal: a PENDING run was moved, or a cancel asked of a RUNNING one.';

-- New runs of a plan that wait for their plan alone. The fill trigger calls it for the first that a transaction inserts.
CREATE OR REPLACE FUNCTION rowrun.mark_ready(plan_id bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    INSERT INTO gate_mark (kind, plan_id) VALUES ('PLAN', mark_ready.plan_id);
END $$;
COMMENT ON FUNCTION rowrun.mark_ready(bigint) IS 'Internal: a plan has new runs that may wait for it alone.';

-- New runs that are likely to wait for their database, which is why they are inserted as held by it: the mark alone has
-- them looked at, so that a guess that is wrong costs a look. The fill trigger calls it for the second that a transaction
-- inserts. False, and no mark: no replica can take such a run, so that something else than its database will hold it.
CREATE OR REPLACE FUNCTION rowrun.mark_blocked(r rowrun.task_run) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp
    SET jit = off
AS $$
BEGIN
    INSERT INTO gate_mark (kind, database_id)
    SELECT 'DATABASE', r.database_id FROM task k
    WHERE k.id = r.task_id
      AND EXISTS (SELECT FROM replica_heartbeat h WHERE takes(h, clock_timestamp(), r.queue, r.type, r.database_id, k.payload));
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION rowrun.mark_blocked(rowrun.task_run) IS 'Internal: a database has new runs that wait for it.';

-- A new run of a task of a plan that was DONE: who depends on it waits again, and holds nobody back on its database any more. One mark of a
-- transaction's burst is enough. False, and no mark: nobody depends on it, which the index of that alone tells, whatever the statistics say.
CREATE OR REPLACE FUNCTION rowrun.mark_needed(r rowrun.task_run) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp
    SET jit = off
AS $$
BEGIN
    IF (SELECT d.depends_on_id FROM task_dependency d WHERE d.depends_on_id >= r.task_id ORDER BY d.depends_on_id LIMIT 1) IS DISTINCT FROM r.task_id THEN
        RETURN false;
    END IF;
    INSERT INTO gate_mark (kind, plan_id)
    SELECT 'PLAN_CHANGED', r.plan_id
    WHERE (SELECT m.kind = 'PLAN_CHANGED' AND m.plan_id = r.plan_id AND m.xmin = pg_current_xact_id()::xid
           FROM gate_mark m ORDER BY m.id DESC LIMIT 1) IS NOT TRUE;
    RETURN true;
END $$;
COMMENT ON FUNCTION rowrun.mark_needed(rowrun.task_run) IS 'Internal: a plan has a new run for which others wait again.';
