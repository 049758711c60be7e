-- The stream says who has asked for what, and what became of it. What is said stands in the act's row, so that whoever may call
-- this can have nothing else said.
CREATE OR REPLACE FUNCTION rowrun.note_act(act_id bigint, event text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    a record;
    what text;
    of_run bigint;
    of_task bigint;
    of_plan bigint;
BEGIN
    SELECT x.* INTO a FROM act x WHERE x.id = note_act.act_id;
    IF NOT FOUND OR note_act.event NOT IN ('act.asked', 'act.ended', 'act.stopped') THEN
        RETURN;
    END IF;
    IF cardinality(a.targets) = 1 THEN
        IF a.verb = 'define' THEN
            of_task := a.made[1];
        ELSIF a.verb = 'create' THEN
            of_plan := a.made[1];
        ELSIF a.kind = 'task' AND a.verb = 'run' AND cardinality(a.made) = 1 THEN -- the target may be a name
            SELECT r.id, r.task_id INTO of_run, of_task FROM task_run r WHERE r.id = a.made[1];
        ELSE
            of_run := CASE a.kind WHEN 'run' THEN a.targets[1]::bigint END;
            of_task := CASE a.kind WHEN 'task' THEN a.targets[1]::bigint END;
            of_plan := CASE a.kind WHEN 'plan' THEN a.targets[1]::bigint END;
        END IF;
    ELSE
        of_plan := (a.search ->> 'plan_id')::bigint;
    END IF;
    what := format('%s of %s', a.verb, CASE
        WHEN a.targets IS NULL THEN format('all %ss of a filter', a.kind)
        WHEN cardinality(a.targets) = 1 THEN format('%s %s', a.kind, left(a.targets[1], 200))
        ELSE format('%s %ss', cardinality(a.targets), a.kind) END);
    INSERT INTO stream_note (level, event, message, detail)
    VALUES ('info', note_act.event,
        CASE note_act.event WHEN 'act.asked' THEN format('%s asked for: %s', a.asked_by, what)
            WHEN 'act.stopped' THEN format('%s stopped: %s', a.stopped_by, what)
            ELSE format('ended: %s', what) END,
        jsonb_strip_nulls(jsonb_build_object('act_id', a.id, 'act', a.verb, 'kind', a.kind, 'by', a.asked_by, 'role', a.role,
            'targets', to_jsonb(a.targets[1:20]), 'filter', a.filter, 'reason', a.args ->> 'reason', 'limit', a.args -> 'limit',
            'run_id', of_run, 'task_id', of_task, 'plan_id', of_plan,
            'stopped_by', a.stopped_by)
            || CASE WHEN note_act.event = 'act.asked' THEN '{}' ELSE
               jsonb_build_object('state', a.state, 'done', a.done, 'unchanged', a.unchanged, 'failed', a.failed) END));
    -- What nobody can ask to have repeated any more goes, a few at each act.
    DELETE FROM act x WHERE x.id IN (SELECT o.id FROM act o WHERE o.created_at < now() - interval '30 days' AND o.state <> 'RUNNING'
                                     ORDER BY o.created_at LIMIT 100);
END $$;
COMMENT ON FUNCTION rowrun.note_act(bigint, text) IS 'Internal: has the stream tell of an act.';
