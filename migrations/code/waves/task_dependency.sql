-- Whether a task waits for nothing any more, nor anybody for it: as unmet_dependency asks it.
CREATE OR REPLACE FUNCTION rowrun.is_over(k rowrun.task) RETURNS boolean LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT k.skipped OR coalesce(k.outcome, '') = 'DONE'
        AND NOT EXISTS (SELECT FROM rowrun.task_run u WHERE u.task_id = k.id AND u.plan_id IS NOT NULL AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING'));
END;
COMMENT ON FUNCTION rowrun.is_over(rowrun.task) IS 'Internal: whether a task of a plan is DONE or SKIPPED, and not under way again.';

-- A task waits for those that it depends on, and a wave for those before it: of tasks that wait for each other so none would ever
-- start. Looks at those that wait for these tasks, also by way of others, as far as these are in waves that are still closed. What is over
-- waits for nobody, and nobody for it; neither does a wave for one whose next is open.
CREATE OR REPLACE FUNCTION rowrun.check_dependents_of_waves(task_ids bigint[]) RETURNS void LANGUAGE plpgsql
    SET enable_seqscan = off
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    waiting record;
    needed record;
BEGIN
    WITH RECURSIVE above(id, wave) AS (
        SELECT k.id, k.wave FROM task k JOIN plan_wave w ON w.plan_id = k.plan_id AND w.wave = k.wave
        WHERE k.id = ANY (task_ids) AND w.opened_at IS NULL AND NOT rowrun.is_over(k)
        UNION
        SELECT k.id, a.wave FROM above a
        CROSS JOIN LATERAL (SELECT e.task_id FROM task_dependency e WHERE e.depends_on_id = a.id OFFSET 0) d
        JOIN task k ON k.id = d.task_id
        WHERE NOT rowrun.is_over(k)
    )
    SELECT k.id, k.wave INTO waiting FROM above a JOIN task k ON k.id = a.id
    WHERE k.wave < a.wave AND NOT EXISTS (SELECT FROM plan_wave w WHERE w.plan_id = k.plan_id AND w.wave > k.wave AND w.opened_at IS NOT NULL)
    ORDER BY k.wave, k.id LIMIT 1;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    WITH RECURSIVE below(id) AS (
        SELECT waiting.id
        UNION
        SELECT k.id FROM below b
        CROSS JOIN LATERAL (SELECT e.depends_on_id FROM task_dependency e WHERE e.task_id = b.id OFFSET 0) d
        JOIN task k ON k.id = d.depends_on_id
        WHERE NOT rowrun.is_over(k)
    )
    SELECT k.id, k.wave INTO needed FROM below b JOIN task k ON k.id = b.id WHERE k.wave > waiting.wave ORDER BY k.wave DESC, k.id LIMIT 1;
    RAISE EXCEPTION 'task % in wave % would wait for task % in wave %, and that wave for it', waiting.id, waiting.wave, needed.id, needed.wave
        USING ERRCODE = 'RR003', HINT = 'A wave opens when those before it are over: give a task no later wave than those that depend on it, also by way of others, or leave a dependency out.';
END $$;
COMMENT ON FUNCTION rowrun.check_dependents_of_waves(bigint[]) IS 'Internal: refuses tasks of closed waves for which one of an earlier wave waits.';

CREATE OR REPLACE FUNCTION rowrun.task_dependency_waves() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET enable_seqscan = off
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM plan_wave w WHERE w.opened_at IS NULL)
       OR NOT EXISTS (SELECT FROM added a JOIN task k ON k.id = a.task_id JOIN plan_wave w ON w.plan_id = k.plan_id WHERE w.opened_at IS NULL)
    THEN
        RETURN NULL;
    END IF;
    PERFORM check_dependents_of_waves(ARRAY(
        WITH RECURSIVE below(id) AS (
            SELECT a.depends_on_id FROM added a
            UNION
            SELECT d.depends_on_id FROM below b
            CROSS JOIN LATERAL (SELECT e.depends_on_id FROM task_dependency e WHERE e.task_id = b.id OFFSET 0) d
        )
        SELECT b.id FROM below b));
    RETURN NULL;
END $$;
COMMENT ON FUNCTION rowrun.task_dependency_waves() IS 'Trigger: no task waits for one whose wave waits for it.';
CREATE OR REPLACE TRIGGER task_dependency_waves_added AFTER INSERT ON rowrun.task_dependency REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION rowrun.task_dependency_waves();
CREATE OR REPLACE TRIGGER task_dependency_waves_moved AFTER UPDATE ON rowrun.task_dependency REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION rowrun.task_dependency_waves();
