-- A plan is locked before its tasks are looked at, so that none comes in between.
CREATE OR REPLACE FUNCTION rowrun.remove_plan(plan_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    PERFORM FROM plan p WHERE p.id = remove_plan.plan_id FOR UPDATE;
    DELETE FROM plan p WHERE p.id = remove_plan.plan_id
        AND NOT EXISTS (SELECT FROM task k WHERE k.plan_id = remove_plan.plan_id AND is_authors(k.type));
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION rowrun.remove_plan(bigint) IS 'Internal: deletes a plan without tasks for authors.';

CREATE OR REPLACE FUNCTION rowrun.remove_any_plan(plan_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    DELETE FROM plan p WHERE p.id = remove_any_plan.plan_id;
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION rowrun.remove_any_plan(bigint) IS 'Internal: deletes a plan.';

CREATE OR REPLACE FUNCTION rowrun.delete_plan(plan_id bigint) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    authors boolean := EXISTS (SELECT FROM task k WHERE k.plan_id = delete_plan.plan_id AND is_authors(k.type));
    gone boolean;
BEGIN
    IF authors AND NOT is_author() THEN
        RAISE EXCEPTION 'plan % has tasks that only members of rowrun_author may delete', delete_plan.plan_id
            USING ERRCODE = 'insufficient_privilege', HINT = 'GRANT rowrun_author TO the role, or let an author delete the plan.';
    ELSIF authors THEN
        gone := remove_any_plan(delete_plan.plan_id);
    ELSE
        gone := remove_plan(delete_plan.plan_id);
    END IF;
    IF NOT gone THEN
        RAISE EXCEPTION 'plan % does not exist', coalesce(delete_plan.plan_id::text, 'NULL')
            USING ERRCODE = 'no_data_found', HINT = 'Look for its id in rowrun.plan.';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.delete_plan(bigint) IS 'Deletes a plan with its tasks and runs; refused while a run is AVAILABLE or RUNNING.';
