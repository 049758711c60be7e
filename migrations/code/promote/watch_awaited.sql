-- Has the ends of jobs find who waits for them, once for each: called for runs that a pass holds and has just found waiting. Whose
-- row is held by somebody else may just be ending: then the run is judged again in a moment. Returns in how many ms; NULL: none is.
CREATE OR REPLACE FUNCTION rowrun.watch_awaited(run_ids bigint[], causes text[]) RETURNS double precision LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    waiting bigint[];
    locked bigint[];
BEGIN
    waiting := ARRAY(SELECT r.id FROM unnest(run_ids, causes) v(id, cause) JOIN task_run r ON r.id = v.id
                     WHERE v.cause = 'DEPENDENCY' AND r.after IS NOT NULL
                       AND EXISTS (SELECT FROM run_after w WHERE w.run_id = r.id AND NOT w.watched));
    IF cardinality(waiting) = 0 THEN
        RETURN NULL;
    END IF;
    locked := ARRAY(SELECT r.id FROM task_run r
                    WHERE r.id = ANY (ARRAY(SELECT n.id FROM run_after w CROSS JOIN LATERAL rowrun.last_of_job(w.root_id) n
                                            WHERE w.run_id = ANY (waiting) AND NOT w.watched))
                    ORDER BY r.id FOR NO KEY UPDATE SKIP LOCKED);
    UPDATE task_run r SET awaited = true, prev_status = NULL WHERE r.id = ANY (locked) AND r.awaited IS NOT TRUE;
    -- What is held now is what it is: of a job of which this is the last run, the next end comes behind this pass. One that is gone
    -- has no end any more.
    UPDATE run_after w SET watched = true
    WHERE w.run_id = ANY (waiting) AND NOT w.watched
      AND coalesce((SELECT n.id = ANY (locked) FROM rowrun.last_of_job(w.root_id) n), true);
    INSERT INTO gate_mark (kind, run_id)
    SELECT 'RUN', a.id FROM unnest(waiting) a(id)
    WHERE NOT rowrun.awaits_runs(a.id) OR EXISTS (SELECT FROM run_after w WHERE w.run_id = a.id AND NOT w.watched);
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- The longer somebody keeps such a row, the more seldom.
    RETURN (SELECT least(greatest(min(extract(epoch FROM clock_timestamp() - r.created_at)) * 100, 10), 1000) FROM task_run r WHERE r.id = ANY (waiting));
END $$;
COMMENT ON FUNCTION rowrun.watch_awaited(bigint[], text[]) IS 'Internal: has the ends of jobs find the runs that wait for them.';

-- The safety net of sweeps: runs of plans that waited for tasks or their wave, and for none any more. A page from anywhere on, in the order of
-- plans, so that each gets its turn.
CREATE OR REPLACE FUNCTION rowrun.overlooked_dependents() RETURNS bigint[] LANGUAGE plpgsql
    SET enable_sort = off -- whatever the statistics say, one index has this order
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    first_plan bigint;
    first_id bigint;
BEGIN
    SELECT r.plan_id INTO first_plan FROM task_run r
    WHERE r.plan_id >= floor(random() * (SELECT u.plan_id + 1 FROM task_run u WHERE u.plan_id > 0 AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING')
                                         ORDER BY u.plan_id DESC, u.status DESC, u.id DESC LIMIT 1))::bigint
      AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING') ORDER BY r.plan_id, r.status, r.id LIMIT 1;
    IF NOT FOUND THEN
        RETURN '{}';
    END IF;
    -- The bounds are rows, so that no other index gives the order; that the last of them may be another plan's does no harm.
    first_id := coalesce((SELECT u.id FROM task_run u
                          WHERE u.plan_id IS NOT NULL AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND (u.plan_id, u.status, u.id) >= (first_plan, 'PENDING', 0::bigint)
                          ORDER BY u.plan_id, u.status, u.id LIMIT 1), 0);
    first_id := first_id + floor(random() * (1 - first_id + coalesce((
        SELECT u.id FROM task_run u
        WHERE u.plan_id IS NOT NULL AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND (u.plan_id, u.status, u.id) <= (first_plan, 'PENDING', 9223372036854775807)
        ORDER BY u.plan_id DESC, u.status DESC, u.id DESC LIMIT 1), first_id)))::bigint;
    RETURN ARRAY(
        WITH page AS MATERIALIZED (
            SELECT r.id, r.task_id, r.cause, r.after FROM task_run r
            WHERE r.plan_id IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND (r.plan_id, r.status, r.id) >= (first_plan, 'PENDING', first_id)
            ORDER BY r.plan_id, r.status, r.id LIMIT 25
        )
        SELECT p.id FROM page p JOIN task k ON k.id = p.task_id
        WHERE p.cause = 'DEPENDENCY' -- then it is PENDING
          AND NOT EXISTS (SELECT FROM rowrun.unmet_dependency d WHERE d.task_id = p.task_id OFFSET 0)
          AND NOT EXISTS (SELECT FROM plan_wave w WHERE w.plan_id = k.plan_id AND w.wave = k.wave AND w.opened_at IS NULL OFFSET 0)
          AND (p.after IS NULL OR NOT rowrun.awaits_runs(p.id)));
END $$;
COMMENT ON FUNCTION rowrun.overlooked_dependents() IS 'Internal: runs of plans that waited for tasks or a wave, and for none any more.';

-- The safety net of sweeps: runs that wait for jobs which are all DONE. From anywhere on, so that each gets its turn. Those that
-- wait no more are not looked at again, those that never came to be (ON CONFLICT DO NOTHING) are forgotten.
CREATE OR REPLACE FUNCTION rowrun.overlooked_after(most integer) RETURNS bigint[] LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    start bigint := floor(random() * coalesce((SELECT max(w.run_id) FROM run_after w WHERE w.open), 0));
    page bigint[];
    waiting bigint[];
    ready bigint[] := rowrun.overlooked_dependents();
BEGIN
    page := ARRAY(SELECT w.run_id FROM run_after w WHERE w.open AND w.run_id > start ORDER BY w.run_id LIMIT 1000)
         || ARRAY(SELECT w.run_id FROM run_after w WHERE w.open ORDER BY w.run_id LIMIT 1000);
    IF cardinality(page) = 0 THEN
        RETURN ready[1:most];
    END IF;
    waiting := ARRAY(SELECT r.id FROM task_run r WHERE r.id = ANY (page) AND coalesce(r.status, '') = 'PENDING');
    DELETE FROM run_after w WHERE w.ctid = ANY (ARRAY(
        SELECT x.ctid FROM run_after x WHERE x.run_id = ANY (page) AND NOT EXISTS (SELECT FROM task_run r WHERE r.id = x.run_id) FOR UPDATE SKIP LOCKED));
    UPDATE run_after w SET open = false WHERE w.ctid = ANY (ARRAY(
        SELECT x.ctid FROM run_after x WHERE x.run_id = ANY (page) AND x.open AND x.run_id <> ALL (waiting) FOR NO KEY UPDATE SKIP LOCKED));
    RETURN ready[1:most] || ARRAY(SELECT r.id FROM task_run r
                 WHERE r.id = ANY (waiting) AND coalesce(r.status, '') = 'PENDING' AND r.judge_at IS NULL AND r.cause = 'DEPENDENCY' AND r.after IS NOT NULL
                   AND NOT rowrun.awaits_runs(r.id) ORDER BY random() LIMIT most);
END $$;
COMMENT ON FUNCTION rowrun.overlooked_after(integer) IS 'Internal: runs that wait for jobs which are all DONE.';
