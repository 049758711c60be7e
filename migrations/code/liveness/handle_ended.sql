-- Called by end_runs, only where a task of these runs names a handler. What goes wrong here may cost the
-- handler's run, never the end; but a lock that is waited for too long is for the caller to try again.
CREATE OR REPLACE FUNCTION rowrun.handle_ended(ended bigint[]) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    failed record;
    handler bigint;
    input   jsonb;
BEGIN
    FOR failed IN
        SELECT r.id, r.root_id, r.task_id, k.name, r.type, r.attempt, r.input, r.result, k.on_failure_task
        FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
        WHERE r.id = ANY (ended) AND r.status = 'FAILED' AND r.retry_run_id IS NULL AND k.on_failure_task IS NOT NULL
          -- A handler that fails has none of its own, nor has a retry of it.
          AND (SELECT h.handles FROM rowrun.task_run h WHERE h.id = r.root_id) IS NULL
        ORDER BY r.id
    LOOP
        BEGIN
            handler := rowrun.handler_task(failed.on_failure_task);
            IF handler IS NULL THEN
                RAISE EXCEPTION 'the task is gone';
            END IF;
            input := jsonb_build_object('run_id', failed.id, 'root_id', failed.root_id, 'task_id', failed.task_id, 'task', failed.name,
                'type', failed.type, 'attempt', failed.attempt, 'code', failed.result -> 'code');
            input := input || CASE WHEN octet_length(failed.input::text) + octet_length(failed.result::text) <= 1000000
                THEN jsonb_build_object('input', failed.input, 'result', failed.result)
                ELSE jsonb_build_object('truncated', true, 'result', jsonb_build_object('detail', left(failed.result ->> 'detail', 4096))) END;
            -- Once for each failed run: in the transaction that takes its last edge, which is taken once.
            INSERT INTO rowrun.task_run (id, task_id, input, handles)
            VALUES (rowrun.next_run_id(), handler, jsonb_build_object('failed_run', input), failed.id);
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected OR serialization_failure THEN
                RAISE;
            WHEN OTHERS THEN
                INSERT INTO rowrun.stream_note (event, message, detail)
                VALUES ('task_run.handler_missing', 'the task that on_failure_task names could not be run',
                    jsonb_build_object('run_id', failed.id, 'task_id', failed.task_id, 'on_failure_task', failed.on_failure_task, 'reason', SQLERRM));
        END;
    END LOOP;
END $$;
COMMENT ON FUNCTION rowrun.handle_ended(bigint[]) IS 'Internal: the runs of on_failure_task, when runs have failed for good.';
