CREATE OR REPLACE FUNCTION rowrun.cancel_plan(plan_id bigint, reason text DEFAULT NULL) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    tasks bigint[];
    canceled bigint;
BEGIN
    PERFORM check_plan(cancel_plan.plan_id);
    -- With the plan held no run ends beside this, so that no automatic retry escapes.
    PERFORM FROM plan p WHERE p.id = cancel_plan.plan_id FOR NO KEY UPDATE;
    tasks := ARRAY(SELECT k.id FROM task k
                   WHERE k.id IN (SELECT r.task_id FROM task_run r WHERE r.plan_id = cancel_plan.plan_id
                                  AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
                   ORDER BY k.id FOR NO KEY UPDATE);
    PERFORM FROM task_run r WHERE r.task_id = ANY (tasks) AND r.plan_id IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')
    ORDER BY r.id FOR NO KEY UPDATE;
    UPDATE task_run r SET cancel_requested_at = clock_timestamp(), cancel_reason = cancel_plan.reason
    WHERE r.task_id = ANY (tasks) AND r.plan_id IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')
      AND r.cancel_requested_at IS NULL;
    GET DIAGNOSTICS canceled = ROW_COUNT;
    RETURN canceled;
END $$;
COMMENT ON FUNCTION rowrun.cancel_plan(bigint, text) IS 'Cancels the unfinished runs of a plan, or (RUNNING) asks for it; how many.';
