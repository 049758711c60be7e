-- The jobs that runs wait for (task_run.after), the first hundred of each.
CREATE OR REPLACE FUNCTION rowrun.waits_for_runs(ids bigint[]) RETURNS TABLE (run_id bigint, cause text, message text, detail jsonb)
    LANGUAGE plpgsql STABLE ROWS 10
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    r record;
    jobs record;
BEGIN
    FOR r IN SELECT x.id FROM rowrun.task_run x WHERE x.id = ANY (ids) AND x.after IS NOT NULL AND coalesce(x.status, '') = 'PENDING' LOOP
        SELECT count(*) AS total, (array_agg(coalesce(u.last_run_id, u.root_id) ORDER BY u.root_id))[1] AS first_id,
               (array_agg(u.status ORDER BY u.root_id))[1] AS first_status, (array_agg(u.last_run_id IS NULL ORDER BY u.root_id))[1] AS gone,
               (array_agg(k.name ORDER BY u.root_id))[1] AS name,
               to_jsonb((array_agg(coalesce(u.last_run_id, u.root_id) ORDER BY u.root_id))[1:100]) AS ids
        INTO jobs
        FROM (SELECT * FROM rowrun.unmet_after a WHERE a.run_id = r.id ORDER BY a.root_id LIMIT 101) u LEFT JOIN rowrun.task k ON k.id = u.task_id;
        CONTINUE WHEN jobs.total = 0;
        run_id := r.id;
        cause := 'DEPENDENCY';
        message := 'waits for ' || CASE WHEN jobs.total > 100 THEN 'more than 100 runs, first of them run '
                                        WHEN jobs.total > 1 THEN jobs.total || ' runs, first of them run ' ELSE 'run ' END
            || jobs.first_id || CASE WHEN jobs.name <> '' THEN ' (' || jobs.name || ')' ELSE '' END
            || CASE WHEN jobs.gone THEN ', which was ' || jobs.first_status || ' and has been deleted: cancel this run'
                    WHEN jobs.first_status IN ('FAILED', 'CANCELED') THEN ', which is ' || jobs.first_status || ': retry it, or cancel this run'
                    ELSE ', which is ' || jobs.first_status END;
        detail := jsonb_build_object('run_ids', jobs.ids);
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION rowrun.waits_for_runs(bigint[]) IS 'Internal: the jobs that runs wait for.';
