CREATE OR REPLACE FUNCTION rowrun.retry_plan(plan_id bigint) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    tasks bigint[];
    runs bigint[];
    retried bigint[];
BEGIN
    PERFORM check_plan(retry_plan.plan_id);
    tasks := ARRAY(SELECT k.id FROM task k
                   WHERE k.plan_id = retry_plan.plan_id AND NOT k.skipped AND k.outcome IN ('FAILED', 'CANCELED')
                   ORDER BY k.id FOR NO KEY UPDATE);
    -- The run that was unfinished last; where it is gone, the one of the highest id.
    runs := ARRAY(SELECT n.id FROM task t
                  CROSS JOIN LATERAL ((SELECT r.id FROM task_run r WHERE r.id = t.outcome_run_id AND r.task_id = t.id)
                                      UNION ALL
                                      (SELECT r.id FROM task_run r WHERE r.task_id = t.id AND r.plan_id IS NOT NULL ORDER BY r.id DESC LIMIT 1)
                                      LIMIT 1) n
                  WHERE t.id = ANY (tasks) AND NOT EXISTS (SELECT FROM task_run u WHERE u.task_id = t.id AND u.plan_id IS NOT NULL
                                    AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING')));
    PERFORM FROM task_run r WHERE r.id = ANY (runs) ORDER BY r.id FOR NO KEY UPDATE;
    WITH again AS (
        UPDATE task_run r SET retry_run_id = next_run_id()
        WHERE r.id = ANY (runs) AND coalesce(r.status, '') IN ('FAILED', 'CANCELED') AND r.retry_run_id IS NULL
        RETURNING r.id
    )
    SELECT coalesce(array_agg(id), '{}') INTO retried FROM again;
    RETURN QUERY
    INSERT INTO task_run AS made (id, task_id, retry_of, root_id, attempt, input, priority, creator)
    SELECT r.retry_run_id, r.task_id, r.id, r.root_id, least(r.attempt, 2147483646) + 1, r.input, r.priority, calling_role()
    FROM task_run r WHERE r.id = ANY (retried) ORDER BY r.id
    RETURNING made.id;
    IF cardinality(retried) > 0 AND NOT is_quiet() THEN
        PERFORM notify_look();
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.retry_plan(bigint) IS 'A retry for each FAILED or CANCELED task of a plan; the runs made.';
