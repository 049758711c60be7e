-- Runs that wait for jobs. Who waits for whom is in run_after from the INSERT on; the row of a job's last run says that somebody does
-- (awaited), so that the ends of all others needn't ask. It is written by a pass, which locks that row: an end either is over by
-- then, and the pass sees it, or comes later, and sees both.

-- For whom a new run waits: the first runs of those jobs that aren't DONE yet; NULL: for none. It is looked at by the next pass. The
-- runs that it names can't be deleted before its transaction is over: after that what they ended as is noted. A successor
-- (retry_of) waits for what its predecessor still waited for.
CREATE OR REPLACE FUNCTION rowrun.await_runs(run_id bigint, after bigint[], retry_of bigint) RETURNS bigint[] LANGUAGE plpgsql SECURITY DEFINER
    SET enable_seqscan = off SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    named bigint[];
    known bigint[];
    roots bigint[];
BEGIN
    IF EXISTS (SELECT FROM task_run r WHERE r.id = await_runs.run_id) THEN
        RETURN NULL; -- such an INSERT fails, or does nothing
    END IF;
    IF await_runs.retry_of IS NOT NULL THEN
        WITH made AS (
            INSERT INTO run_after (run_id, root_id, outcome)
            SELECT await_runs.run_id, u.root_id, CASE WHEN u.last_run_id IS NULL THEN u.status END FROM unmet_after u WHERE u.run_id = await_runs.retry_of
            ON CONFLICT ON CONSTRAINT run_after_pkey DO UPDATE SET watched = false, open = true, outcome = excluded.outcome
            RETURNING root_id
        )
        SELECT array_agg(m.root_id ORDER BY m.root_id) INTO roots FROM made m;
    ELSE
        IF cardinality(await_runs.after) > 1000 OR array_ndims(await_runs.after) > 1 OR array_position(await_runs.after, NULL) IS NOT NULL THEN
            RAISE EXCEPTION 'after is a list of at most 1,000 runs' USING ERRCODE = 'RR003', HINT = 'after => ARRAY[7, 8]; a run may wait for one that waits for others.';
        END IF;
        -- A job's first run may have been removed by retention: its id is the job's all the same.
        named := ARRAY(SELECT coalesce(r.id, (SELECT n.id FROM last_of_job(a.id) n), a.id) FROM unnest(await_runs.after) a(id) LEFT JOIN task_run r ON r.id = a.id);
        known := ARRAY(SELECT r.id FROM task_run r WHERE r.id = ANY (named) ORDER BY r.id FOR KEY SHARE);
        IF EXISTS (SELECT FROM unnest(named) a(id) WHERE a.id <> ALL (known)) THEN
            RAISE EXCEPTION 'run % of after does not exist', (SELECT min(a.id) FROM unnest(named) a(id) WHERE a.id <> ALL (known))
                USING ERRCODE = 'foreign_key_violation', HINT = 'Insert it first; it may also have been removed by retention.';
        END IF;
        WITH made AS (
            INSERT INTO run_after (run_id, root_id)
            SELECT await_runs.run_id, j.root_id
            FROM (SELECT DISTINCT r.root_id FROM task_run r WHERE r.id = ANY (known)) j
            CROSS JOIN LATERAL rowrun.last_of_job(j.root_id) n
            WHERE n.status <> 'DONE'
            -- An id may have been given before, to an INSERT that did nothing.
            ON CONFLICT ON CONSTRAINT run_after_pkey DO UPDATE SET watched = false, open = true, outcome = NULL
            RETURNING root_id
        )
        SELECT array_agg(m.root_id ORDER BY m.root_id) INTO roots FROM made m;
    END IF;
    IF roots IS NOT NULL THEN
        INSERT INTO gate_mark (kind, run_id) VALUES ('RUN', await_runs.run_id);
    END IF;
    RETURN roots;
END $$;
COMMENT ON FUNCTION rowrun.await_runs(bigint, bigint[], bigint) IS 'Internal: for which jobs a new run waits.';

-- A job is DONE: who waits for it is looked at.
CREATE OR REPLACE FUNCTION rowrun.mark_awaiting(root_id bigint) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    INSERT INTO rowrun.gate_mark (kind, run_id) SELECT 'RUN', w.run_id FROM rowrun.run_after w WHERE w.root_id = mark_awaiting.root_id AND w.open;
    IF FOUND THEN
        PERFORM rowrun.notify_look();
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.mark_awaiting(bigint) IS 'Internal: marks of the runs that waited for a job.';
