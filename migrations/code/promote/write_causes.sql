-- Writes what holds PENDING runs that the caller holds, where that isn't what their rows say.
CREATE OR REPLACE FUNCTION rowrun.write_causes(run_ids bigint[], causes text[]) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    UPDATE task_run r SET cause = v.cause, judge_at = NULL, limit_wait = NULL, prev_status = NULL
    FROM unnest(run_ids, causes) v(id, cause)
    WHERE r.id = v.id AND v.cause NOT IN ('RUN_AT', 'SKIPPED', 'MISSED', 'LIMIT') AND (r.cause IS DISTINCT FROM v.cause OR r.judge_at IS NOT NULL);
    IF 'RUN_AT' = ANY (causes) THEN
        UPDATE task_run r SET cause = NULL, judge_at = r.run_at, limit_wait = NULL, prev_status = NULL
        FROM unnest(run_ids, causes) v(id, cause)
        WHERE r.id = v.id AND v.cause = 'RUN_AT' AND (r.cause IS NOT NULL OR r.judge_at IS DISTINCT FROM r.run_at);
    END IF;
    IF 'MISSED' = ANY (causes) THEN
        PERFORM rowrun.skip_missed(ARRAY(SELECT v.id FROM unnest(run_ids, causes) v(id, cause) WHERE v.cause = 'MISSED'));
    END IF;
    IF 'SKIPPED' = ANY (causes) THEN
        UPDATE task_run r
        SET status = 'CANCELED', cancel_reason = 'task skipped'
        FROM unnest(run_ids, causes) v(id, cause)
        WHERE r.id = v.id AND v.cause = 'SKIPPED';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.write_causes(bigint[], text[]) IS 'Internal: writes what holds PENDING runs.';

-- Of runs that the caller holds, and would cancel as their task is skipped, or move to their next tick, those whose task somebody else holds: what
-- becomes of such a run is written into its task. The tasks of the others are locked now.
CREATE OR REPLACE FUNCTION rowrun.held_by_tasks(run_ids bigint[], causes text[]) RETURNS bigint[] LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    tasks bigint[];
    locked bigint[];
BEGIN
    tasks := ARRAY(SELECT DISTINCT r.task_id FROM unnest(run_ids, causes) v(id, cause) JOIN task_run r ON r.id = v.id
                   WHERE v.cause IN ('SKIPPED', 'MISSED') AND num_nonnulls(r.plan_id, r.tick) > 0);
    locked := ARRAY(SELECT k.id FROM task k WHERE k.id = ANY (tasks) ORDER BY k.id FOR NO KEY UPDATE SKIP LOCKED);
    IF cardinality(locked) = cardinality(tasks) THEN
        RETURN '{}';
    END IF;
    RETURN ARRAY(SELECT r.id FROM unnest(run_ids, causes) v(id, cause) JOIN task_run r ON r.id = v.id
                 WHERE v.cause IN ('SKIPPED', 'MISSED') AND r.task_id = ANY (tasks) AND r.task_id <> ALL (locked));
END $$;
COMMENT ON FUNCTION rowrun.held_by_tasks(bigint[], text[]) IS 'Internal: runs that can''t be ended or moved now, as somebody holds their task.';

-- Of these runs cancels those that are AVAILABLE though their task, one of these, is skipped; whether there are any.
CREATE OR REPLACE FUNCTION rowrun.cancel_available(run_ids bigint[], task_ids bigint[]) RETURNS boolean LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    skipped_tasks bigint[];
    ids bigint[];
BEGIN
    IF cardinality(run_ids) = 0 THEN
        RETURN false;
    END IF;
    skipped_tasks := ARRAY(SELECT k.id FROM task k WHERE k.id = ANY (task_ids) AND k.skipped ORDER BY k.id FOR NO KEY UPDATE SKIP LOCKED);
    IF cardinality(skipped_tasks) = 0 THEN
        RETURN false;
    END IF;
    ids := ARRAY(SELECT x.id FROM task_run x WHERE x.id = ANY (run_ids) AND x.task_id = ANY (skipped_tasks) AND coalesce(x.status, '') = 'AVAILABLE'
                 ORDER BY x.id FOR NO KEY UPDATE SKIP LOCKED);
    IF may_be_limited() THEN -- their places come free: those that somebody holds, who is deleting the limit, are left to the next sweep
        ids := ARRAY(
            WITH held AS MATERIALIZED (
                SELECT h.run_id FROM limit_holder h WHERE h.run_id = ANY (ids) FOR UPDATE SKIP LOCKED
            )
            SELECT i.id FROM unnest(ids) i(id)
            WHERE (SELECT count(*) FROM held h WHERE h.run_id = i.id) = (SELECT count(*) FROM limit_holder h WHERE h.run_id = i.id));
    END IF;
    UPDATE task_run r SET status = 'CANCELED', cancel_reason = 'task skipped' WHERE r.id = ANY (ids);
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION rowrun.cancel_available(bigint[], bigint[]) IS 'Internal: cancels AVAILABLE runs of skipped tasks.';

-- Cancels AVAILABLE runs of skipped tasks, which no claim takes: neither who skips a task nor the pass behind that can see a run that is just
-- being inserted. Nothing tells of it, so that sweeps look, at a page of all that is AVAILABLE: the session remembers where it was.
CREATE OR REPLACE FUNCTION rowrun.cancel_skipped() RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    at jsonb;
    place record;
    ids bigint[];
    tasks bigint[];
BEGIN
    BEGIN
        at := nullif(current_setting('rowrun.available_at', true), '');
        SELECT coalesce(at ->> 0, '') AS queue, coalesce(at ->> 1, '') AS type, coalesce((at ->> 2)::integer, 0) AS priority,
               coalesce((at ->> 3)::timestamptz, '1900-01-01') AS run_at, coalesce((at ->> 4)::bigint, 0) AS id INTO place;
    EXCEPTION WHEN data_exception THEN -- it isn't ours: anybody can set it for all sessions of a role of his
        SELECT '' AS queue, '' AS type, 0 AS priority, timestamptz '1900-01-01' AS run_at, 0::bigint AS id INTO place;
    END;
    WITH page AS MATERIALIZED (
        SELECT x.* FROM (SELECT place.queue, place.type, place.priority, place.run_at, place.id) p CROSS JOIN LATERAL (
            (SELECT r.id, r.task_id, r.queue, r.type, r.priority, r.run_at FROM task_run r
             WHERE r.status = 'AVAILABLE' AND r.queue = p.queue AND r.type = p.type AND r.priority = p.priority AND (r.run_at, r.id) > (p.run_at, p.id)
             ORDER BY r.priority DESC, r.run_at, r.id LIMIT 1000)
            UNION ALL
            (SELECT r.id, r.task_id, r.queue, r.type, r.priority, r.run_at FROM task_run r
             WHERE r.status = 'AVAILABLE' AND r.queue = p.queue AND r.type = p.type AND r.priority < p.priority
             ORDER BY r.priority DESC, r.run_at, r.id LIMIT 1000)
            UNION ALL
            (SELECT r.id, r.task_id, r.queue, r.type, r.priority, r.run_at FROM task_run r
             WHERE r.status = 'AVAILABLE' AND (r.queue, r.type) > (p.queue, p.type)
             ORDER BY r.queue, r.type, r.priority DESC, r.run_at, r.id LIMIT 1000)
            LIMIT 1000) x
    )
    SELECT (SELECT jsonb_build_array(l.queue, l.type, l.priority, l.run_at, l.id) FROM page l OFFSET 999 LIMIT 1),
           ARRAY(SELECT p.id FROM page p), ARRAY(SELECT DISTINCT p.task_id FROM page p)
    INTO at, ids, tasks;
    PERFORM set_config('rowrun.available_at', coalesce(at::text, ''), false);
    PERFORM cancel_available(ids, tasks);
END $$;
COMMENT ON FUNCTION rowrun.cancel_skipped() IS 'Internal: cancels AVAILABLE runs of skipped tasks, for sweeps.';
