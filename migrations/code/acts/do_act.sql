-- One act on one target. Whatever it does, it does by what the caller's role may do.
CREATE OR REPLACE FUNCTION rowrun.do_act(verb text, kind text, target text, args jsonb) RETURNS bigint[]
    LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    target_id bigint;
    reason text := args ->> 'reason';
    run record;
    made bigint[] := '{}';
    changed bigint;
BEGIN
    IF kind NOT IN ('replica', 'limit') THEN
        target_id := target::bigint;
    END IF;
    CASE kind || '.' || verb
    WHEN 'run.retry' THEN
        SELECT r.id, r.retry_run_id INTO run FROM task_run r WHERE r.id = target_id;
        IF run.retry_run_id IS NOT NULL THEN
            RETURN NULL;
        END IF;
        RETURN ARRAY[rowrun.retry_run(target_id)];
    WHEN 'run.cancel' THEN
        SELECT r.status, r.cancel_requested_at INTO run FROM task_run r WHERE r.id = target_id;
        -- cancel_run would cancel the successor of a run that has ended: that is a target of its own.
        IF run.status IN ('DONE', 'FAILED', 'CANCELED') OR run.cancel_requested_at IS NOT NULL THEN
            RETURN NULL;
        ELSIF rowrun.cancel_run(target_id, reason) IN ('DONE', 'FAILED') THEN
            RETURN NULL; -- it ended meanwhile
        END IF;
        RETURN made;
    WHEN 'run.abandon' THEN
        PERFORM rowrun.abandon_run(target_id, reason);
        RETURN made;
    WHEN 'task.run' THEN
        made := ARRAY(SELECT rowrun.run_tasks(ARRAY[target_id], coalesce((args ->> 'run_at')::timestamptz, now())));
        RETURN nullif(made, '{}');
    WHEN 'task.retry' THEN
        SELECT s.last_run_id, s.status INTO run FROM task_status s WHERE s.task_id = target_id;
        IF run.status IS DISTINCT FROM 'FAILED' AND run.status IS DISTINCT FROM 'CANCELED' THEN
            RETURN NULL;
        END IF;
        RETURN ARRAY[rowrun.retry_run(run.last_run_id)];
    WHEN 'task.cancel' THEN
        SELECT s.last_run_id, s.status, r.cancel_requested_at INTO run
        FROM task_status s LEFT JOIN task_run r ON r.id = s.last_run_id WHERE s.task_id = target_id;
        IF run.status IS NULL OR run.status NOT IN ('PENDING', 'AVAILABLE', 'RUNNING') OR run.cancel_requested_at IS NOT NULL THEN
            RETURN NULL;
        ELSIF rowrun.cancel_run(run.last_run_id, reason) IN ('DONE', 'FAILED') THEN
            RETURN NULL; -- it ended meanwhile
        END IF;
        RETURN made;
    WHEN 'task.skip', 'task.unskip' THEN
        IF EXISTS (SELECT FROM task k WHERE k.id = target_id AND k.skipped = (verb = 'skip')) THEN
            RETURN NULL;
        ELSIF verb = 'skip' THEN
            PERFORM rowrun.skip_task(target_id, reason);
        ELSE
            PERFORM rowrun.unskip_task(target_id);
        END IF;
        RETURN made;
    WHEN 'task.pause', 'task.resume' THEN
        UPDATE task k SET paused = (verb = 'pause') WHERE k.id = target_id AND k.paused <> (verb = 'pause');
        GET DIAGNOSTICS changed = ROW_COUNT;
    WHEN 'plan.run' THEN
        made := ARRAY(SELECT rowrun.run_plan(target_id));
        RETURN nullif(made, '{}');
    WHEN 'plan.retry' THEN
        made := ARRAY(SELECT rowrun.retry_plan(target_id));
        RETURN nullif(made, '{}');
    WHEN 'plan.cancel' THEN
        changed := rowrun.cancel_plan(target_id, reason);
    WHEN 'plan.pause', 'plan.resume' THEN
        UPDATE plan p SET paused = (verb = 'pause') WHERE p.id = target_id AND p.paused <> (verb = 'pause');
        GET DIAGNOSTICS changed = ROW_COUNT;
    WHEN 'plan.limit' THEN
        UPDATE plan p SET parallel_limit = (args ->> 'limit')::integer
        WHERE p.id = target_id AND p.parallel_limit IS DISTINCT FROM (args ->> 'limit')::integer;
        GET DIAGNOSTICS changed = ROW_COUNT;
    WHEN 'plan.roll_on' THEN
        changed := CASE WHEN args ->> 'wave' IS NULL THEN rowrun.move_waves(target_id, 'ROLL_ON') ELSE rowrun.roll_on(target_id, (args ->> 'wave')::integer) END;
    WHEN 'plan.resume_wave', 'plan.give_up' THEN
        changed := rowrun.move_waves(target_id, CASE verb WHEN 'resume_wave' THEN 'RESUME' ELSE 'GIVE_UP' END, reason);
    WHEN 'delivery.redeliver' THEN
        UPDATE webhook_delivery d SET status = 'PENDING', attempts = 0, next_attempt_at = clock_timestamp(), delivered_at = NULL,
            leased_until = NULL, lease_token = NULL
        WHERE d.id = target_id AND d.status <> 'PENDING';
        GET DIAGNOSTICS changed = ROW_COUNT;
    WHEN 'replica.pause' THEN
        PERFORM rowrun.pause_replica(target);
        RETURN made;
    WHEN 'replica.resume' THEN
        PERFORM rowrun.resume_replica(target);
        RETURN made;
    WHEN 'replica.drain' THEN
        PERFORM rowrun.drain_replica(target);
        RETURN made;
    WHEN 'limit.limit' THEN
        UPDATE concurrency_limit l SET max_running = (args ->> 'limit')::integer
        WHERE l.name = target AND l.max_running IS DISTINCT FROM (args ->> 'limit')::integer;
        GET DIAGNOSTICS changed = ROW_COUNT;
    WHEN 'limit.pause', 'limit.resume' THEN
        UPDATE concurrency_limit l SET not_before = CASE verb WHEN 'pause' THEN (args ->> 'until')::timestamptz END
        WHERE l.name = target AND l.not_before IS DISTINCT FROM CASE verb WHEN 'pause' THEN (args ->> 'until')::timestamptz END;
        GET DIAGNOSTICS changed = ROW_COUNT;
    WHEN 'limit.delete' THEN
        changed := CASE WHEN rowrun.delete_limit(target) THEN 1 ELSE 0 END;
    ELSE
        RAISE EXCEPTION 'there is no act % of a %', verb, kind USING ERRCODE = 'invalid_parameter_value', HINT = 'The dashboard''s API names what there is.';
    END CASE;
    RETURN CASE WHEN changed > 0 THEN made END;
END $$;
COMMENT ON FUNCTION rowrun.do_act(text, text, text, jsonb) IS 'Internal: one act on one target; the runs made, NULL where there was nothing to do.';

-- One step of an act: up to most of its targets, each of which may be refused without the others. true: there is more to do;
-- NULL: it is over, or somebody else is at it. The act's row is locked before any other, and written last. A webhook's test is
-- sent by the process that recorded it, within seconds: one that is older than a minute ends as failed.
CREATE OR REPLACE FUNCTION rowrun.step_act(act_id bigint, most integer) RETURNS boolean
    LANGUAGE plpgsql
    SET lock_timeout = '300ms' -- for each target: one that somebody holds keeps the others from nothing for long
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    a record;
    part record;
    one text;
    result bigint[];
    n integer := 0;
    message text;
    hint text;
    code text;
BEGIN
    PERFORM check_isolation();
    SELECT x.* INTO a FROM act x
    WHERE x.id = step_act.act_id AND x.state = 'RUNNING' AND (x.kind <> 'webhook' OR x.created_at < clock_timestamp() - interval '1 minute')
    FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN NULL;
    ELSIF a.kind = 'webhook' THEN
        UPDATE act x SET state = 'DONE', ended_at = clock_timestamp(), failed = 1, failures = jsonb_build_array(jsonb_build_object('id', a.targets[1],
            'message', 'it is not known how it went: nobody said so within a minute', 'hint', 'Test the webhook again.', 'code', ''))
        WHERE x.id = a.id;
        PERFORM rowrun.note_act(a.id, 'act.ended');
        RETURN false;
    END IF;
    IF a.targets IS NOT NULL THEN
        SELECT a.targets[a.position + 1 : a.position + most] AS ids, least(a.position + most, cardinality(a.targets)) AS reached,
               a.position + most >= cardinality(a.targets) AS over INTO part;
    ELSIF a.kind = 'run' THEN
        SELECT f.ids::text[] AS ids, f.reached, f.over INTO part FROM rowrun.find_runs(a.search, false, a.position, a.bound, most, 5000) f;
    ELSIF a.kind = 'task' THEN
        SELECT f.ids::text[] AS ids, f.reached, f.over INTO part FROM rowrun.find_tasks(a.search, false, a.position, a.bound, most, 1000) f;
    ELSIF a.kind = 'plan' THEN
        SELECT f.ids::text[] AS ids, f.reached, f.over INTO part FROM rowrun.find_plans(a.search, false, a.position, a.bound, most, 200) f;
    ELSE
        SELECT f.ids::text[] AS ids, f.reached, f.over INTO part FROM rowrun.find_deliveries(a.search, false, a.position, a.bound, most, 5000) f;
    END IF;
    FOREACH one IN ARRAY part.ids LOOP
        BEGIN
            result := rowrun.do_act(a.verb, a.kind, one, a.args);
            IF result IS NULL THEN
                a.unchanged := a.unchanged + 1;
            ELSE
                a.done := a.done + 1;
                a.made := (a.made || result)[1:100];
                a.runs := (a.runs || CASE
                    WHEN a.verb NOT IN ('cancel', 'abandon') THEN result
                    WHEN a.kind = 'run' THEN ARRAY[one::bigint]
                    WHEN a.kind = 'task' THEN ARRAY(SELECT s.last_run_id FROM task_status s WHERE s.task_id = one::bigint)
                END)[1:10000];
            END IF;
        EXCEPTION
            WHEN deadlock_detected OR serialization_failure OR program_limit_exceeded THEN
                RAISE; -- the step is taken again
            WHEN OTHERS THEN
                GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT, code = RETURNED_SQLSTATE;
                IF code = '55P03' AND n > 0 THEN
                    -- Who holds it may wait for what this step holds: the next step begins with it, and holds nothing.
                    part.reached := CASE WHEN a.targets IS NULL THEN one::bigint - 1 ELSE a.position + n END;
                    part.over := false;
                    EXIT;
                ELSIF code = '55P03' THEN
                    message := 'another transaction holds it';
                    hint := 'Try again in a moment; rowrun doctor names sessions that hold rows.';
                END IF;
                a.failed := a.failed + 1;
                IF jsonb_array_length(a.failures) < 100 THEN
                    a.failures := a.failures || jsonb_build_object('id', one, 'message', left(message, 500), 'hint', left(hint, 500), 'code', code);
                END IF;
        END;
        n := n + 1;
    END LOOP;
    UPDATE act x SET position = part.reached, done = a.done, unchanged = a.unchanged, failed = a.failed, failures = a.failures, made = a.made, runs = a.runs,
        state = CASE WHEN part.over THEN 'DONE' ELSE 'RUNNING' END, ended_at = CASE WHEN part.over THEN clock_timestamp() END
    WHERE x.id = a.id;
    IF part.over AND (a.targets IS NULL OR cardinality(a.targets) > 1 OR a.failed > 0) THEN
        PERFORM rowrun.note_act(a.id, 'act.ended');
    END IF;
    RETURN NOT part.over;
END $$;
COMMENT ON FUNCTION rowrun.step_act(bigint, integer) IS 'Internal: goes on with an act; true: there is more to do.';
