-- What a plan holds its runs back by. Where no slot is left, run_ids: the first 100 that take them; stuck_id: an AVAILABLE run that
-- keeps one and that no live replica takes. The status is that of a list for the reason that plan_room has.
CREATE OR REPLACE FUNCTION rowrun.plan_stands(plan_id bigint, t timestamptz)
    RETURNS TABLE (open boolean, paused boolean, on_failure text, limited boolean, parallel_limit integer, slots bigint, run_ids jsonb, stuck_id bigint)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT room.open, p.paused, p.on_failure, p.parallel_limit IS NOT NULL, p.parallel_limit, room.slots, taken.ids, stuck.id
    FROM (SELECT q.id, q.paused, q.parallel_limit, q.on_failure FROM rowrun.plan q WHERE q.id = plan_stands.plan_id OFFSET 0) p
    CROSS JOIN LATERAL rowrun.plan_room(p.id) room
    LEFT JOIN LATERAL (
        SELECT coalesce(jsonb_agg(x.id ORDER BY x.id), '[]') AS ids
        FROM (SELECT a.id FROM unnest('{AVAILABLE,RUNNING}'::text[]) w(status)
              CROSS JOIN LATERAL (SELECT u.id FROM rowrun.task_run u
                                  WHERE u.plan_id = p.id AND u.status = w.status AND u.status IN ('AVAILABLE', 'RUNNING') LIMIT 100) a
              ORDER BY a.id LIMIT 100) x
        WHERE room.slots <= 0) taken ON true
    LEFT JOIN LATERAL (
        SELECT u.id
        FROM (SELECT x.* FROM unnest('{AVAILABLE}'::text[]) w(status)
              CROSS JOIN LATERAL (SELECT a.* FROM rowrun.task_run a
                                  WHERE a.plan_id = p.id AND a.status = w.status AND a.status IN ('AVAILABLE', 'RUNNING') OFFSET 0) x
              LIMIT 200) u
        WHERE room.slots <= 0 AND NOT EXISTS (SELECT FROM rowrun.able_replicas(u, t))
        LIMIT 1) stuck ON true;
END;
COMMENT ON FUNCTION rowrun.plan_stands(bigint, timestamptz) IS 'Internal: what a plan holds its runs back by.';

-- The task that holds others of its plan back because it failed for good, or was canceled: on a database the one of the
-- smallest version, which holds back those above it; NULL: any that stops the plan.
CREATE OR REPLACE FUNCTION rowrun.failed_task(plan_id bigint, database_id text)
    RETURNS TABLE (id bigint, name text, outcome text, version_key text)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    (SELECT f.id, f.name, f.outcome, f.version_key
     FROM (SELECT k.id, k.name, k.outcome, k.version_key FROM rowrun.task k
           WHERE k.plan_id = failed_task.plan_id AND k.database_id = failed_task.database_id AND k.version_key IS NOT NULL
             AND k.outcome IN ('FAILED', 'CANCELED') AND NOT k.skipped
           ORDER BY k.plan_id, k.database_id, k.version_key LIMIT 200) f
     WHERE NOT EXISTS (SELECT FROM rowrun.task_run u WHERE u.task_id = f.id AND u.plan_id IS NOT NULL
                       AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
     ORDER BY f.version_key LIMIT 1)
    UNION ALL
    (SELECT k.id, k.name, k.outcome, k.version_key FROM rowrun.task k
     WHERE failed_task.database_id IS NULL AND k.plan_id = failed_task.plan_id
       AND k.outcome IN ('FAILED', 'CANCELED') AND k.outcome = 'FAILED' AND NOT k.skipped
       AND NOT EXISTS (SELECT FROM rowrun.task_run u WHERE u.task_id = k.id AND u.plan_id IS NOT NULL
                       AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
     ORDER BY k.plan_id, k.database_id, k.version_key LIMIT 1);
END;
COMMENT ON FUNCTION rowrun.failed_task(bigint, text) IS 'Internal: the task that holds others of its plan back by its failure.';

-- What a task waits for. total: 101 where these are more than a hundred.
CREATE OR REPLACE FUNCTION rowrun.tasks_ahead(task_id bigint)
    RETURNS TABLE (total bigint, first_id bigint, ids jsonb)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT count(*), min(d.depends_on_id), to_jsonb((array_agg(d.depends_on_id ORDER BY d.depends_on_id))[1:100])
    FROM (SELECT u.depends_on_id FROM rowrun.unmet_dependency u WHERE u.task_id = tasks_ahead.task_id
          ORDER BY u.task_id, u.depends_on_id LIMIT 101) d;
END;
COMMENT ON FUNCTION rowrun.tasks_ahead(bigint) IS 'Internal: the tasks that a task waits for, the first hundred.';

-- The causes that a run's plan is, and the task's dependencies in it.
CREATE OR REPLACE FUNCTION rowrun.waits_for_plan(ids bigint[], t timestamptz) RETURNS TABLE (run_id bigint, cause text, message text, detail jsonb)
    LANGUAGE plpgsql STABLE ROWS 10
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    r record;
    plan record; -- of the run before
    plan_of bigint;
    failed record; -- the task that holds others of the plan back on the database of the run before
    failed_of text;
    tasks record;
    first record; -- of these tasks
    first_of bigint;
BEGIN
    FOR r IN SELECT * FROM rowrun.waiting_runs(ids) w WHERE w.plan_id IS NOT NULL LOOP
        run_id := r.id;
        IF plan_of IS DISTINCT FROM r.plan_id THEN
            SELECT * INTO plan FROM rowrun.plan_stands(r.plan_id, t);
            plan_of := r.plan_id;
            failed_of := NULL;
        END IF;
        IF plan.paused AND NOT r.task_paused THEN
            cause := 'PAUSED';
            message := 'plan ' || r.plan_id || ' is paused';
            detail := jsonb_build_object('plan_id', r.plan_id);
            RETURN NEXT;
        END IF;
        CONTINUE WHEN NOT r.pending;
        IF plan.slots <= 0 THEN
            cause := 'PLAN_LIMIT';
            message := 'plan ' || r.plan_id || ': ' || plan.parallel_limit - plan.slots || ' of ' || plan.parallel_limit || ' slots taken';
            detail := jsonb_build_object('plan_id', r.plan_id, 'parallel_limit', plan.parallel_limit, 'run_ids', plan.run_ids);
            RETURN NEXT;
        END IF;
        RETURN QUERY SELECT r.id, w.cause, w.message, w.detail FROM rowrun.closed_wave(r.task_id) w;
        SELECT * INTO tasks FROM rowrun.tasks_ahead(r.task_id);
        IF tasks.total > 0 THEN
            IF first_of IS DISTINCT FROM tasks.first_id THEN
                SELECT s.name, s.status INTO first FROM rowrun.task_status s WHERE s.task_id = tasks.first_id;
                first_of := tasks.first_id;
            END IF;
            cause := 'DEPENDENCY';
            message := 'waits for ' || CASE WHEN tasks.total > 100 THEN 'more than 100 tasks, first of them task '
                                            WHEN tasks.total > 1 THEN tasks.total || ' tasks, first of them task ' ELSE 'task ' END
                || first_of || CASE WHEN first.name <> '' THEN ' (' || first.name || ')' ELSE '' END || ', which is ' || first.status;
            detail := jsonb_build_object('task_ids', tasks.ids);
            RETURN NEXT;
        END IF;
        IF plan.stuck_id IS NOT NULL THEN
            cause := 'NO_REPLICA';
            message := 'run ' || plan.stuck_id || ' keeps a slot of plan ' || r.plan_id || ', and no live replica can take it';
            detail := jsonb_build_object('run_id', plan.stuck_id);
            RETURN NEXT;
        END IF;
        CONTINUE WHEN plan.on_failure = 'CONTINUE' OR plan.on_failure = 'STOP' AND plan.open;
        IF failed_of IS DISTINCT FROM coalesce(r.database_id, '') THEN
            SELECT * INTO failed FROM rowrun.failed_task(r.plan_id, CASE plan.on_failure WHEN 'STOP_DATABASE' THEN coalesce(r.database_id, '') END);
            failed_of := coalesce(r.database_id, '');
        END IF;
        IF failed.id IS NOT NULL AND (plan.on_failure = 'STOP' OR failed.version_key < r.version_key COLLATE "C") THEN
            cause := 'PLAN_FAILED';
            message := 'task ' || failed.id || CASE WHEN failed.name <> '' THEN ' (' || failed.name || ')' ELSE '' END || ' of plan ' || r.plan_id
                || CASE failed.outcome WHEN 'FAILED' THEN ' failed' ELSE ' was canceled' END || ': retry or skip it';
            detail := jsonb_build_object('plan_id', r.plan_id, 'task_id', failed.id);
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION rowrun.waits_for_plan(bigint[], timestamptz) IS 'Internal: the causes that a run''s plan is, and what its task depends on.';
