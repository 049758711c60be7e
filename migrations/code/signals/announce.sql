-- A change of status as it is notified.
CREATE OR REPLACE FUNCTION rowrun.transition(r rowrun.task_run) RETURNS text LANGUAGE sql STABLE
    RETURN '{"run_id":' || r.id || ',"task_id":' || r.task_id || ',"plan_id":' || coalesce(r.plan_id::text, 'null')
        || ',"from":"' || r.prev_status || '","to":"' || r.status || '","attempt":' || r.attempt
        || ',"replica_id":' || coalesce(to_json(r.replica_id)::text, 'null') || '}';
COMMENT ON FUNCTION rowrun.transition(rowrun.task_run) IS 'Internal: the last edge of a run as it is notified.';

-- That a run has become AVAILABLE, as it is notified together with what has become of it since: one that is AVAILABLE from
-- its INSERT on, and one that was promoted and claimed in one version of its row.
CREATE OR REPLACE FUNCTION rowrun.arrival(r rowrun.task_run) RETURNS text LANGUAGE sql STABLE
    RETURN '{"run_id":' || r.id || ',"task_id":' || r.task_id || ',"plan_id":' || coalesce(r.plan_id::text, 'null')
        || ',"from":"PENDING","to":"AVAILABLE","attempt":' || r.attempt || ',"replica_id":null}';
COMMENT ON FUNCTION rowrun.arrival(rowrun.task_run) IS 'Internal: that a run has become AVAILABLE, as it is notified with what follows.';

-- Both edges of a run that was promoted and claimed in one version of its row, as they are notified.
CREATE OR REPLACE FUNCTION rowrun.promotion_and_claim(r rowrun.task_run) RETURNS text LANGUAGE sql STABLE
    RETURN rowrun.arrival(r) || ',{"run_id":' || r.id || ',"task_id":' || r.task_id || ',"plan_id":' || coalesce(r.plan_id::text, 'null')
        || ',"from":"AVAILABLE","to":"RUNNING","attempt":' || r.attempt || ',"replica_id":' || to_json(r.replica_id)::text || '}';
COMMENT ON FUNCTION rowrun.promotion_and_claim(rowrun.task_run) IS 'Internal: both edges of a run that was promoted and claimed at once, as they are notified.';

-- Notifies changes of status that one notification can't hold. It has no query, because expressions take less.
CREATE OR REPLACE FUNCTION rowrun.announce_parts(transitions text[]) RETURNS boolean LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    payload text := '[' || array_to_string(transitions, ',') || ']';
    said integer := 0;
    -- As many as fit if all are of one size, which they nearly are; a look at each would take three times as long.
    few integer := greatest(1, 7700 * cardinality(transitions)::bigint / octet_length(payload));
BEGIN
    WHILE said < cardinality(transitions) LOOP
        payload := '[' || array_to_string(transitions[said + 1 : said + few], ',') || ']';
        IF octet_length(payload) <= 7900 THEN
            IF pg_notify('rowrun_task_run', payload) IS NULL THEN NULL; END IF;
            said := said + few;
        ELSE
            few := few / 2; -- one fits: ids and a replica's id are bounded
        END IF;
    END LOOP;
    RETURN true;
END $$;
COMMENT ON FUNCTION rowrun.announce_parts(text[]) IS 'Internal: notifies transitions that one notification can''t hold, in as few as they fit.';

-- Notifies changes of status. Each statement that takes an edge calls it for what it changed, once: a trigger with a
-- transition table would take as long as the rest of a statement on one row. It becomes part of that statement: a function
-- in PL/pgSQL would be planned anew whenever it is called under another search_path than the last time, as a round of a
-- replica does.
CREATE OR REPLACE FUNCTION rowrun.announce(transitions text[]) RETURNS boolean LANGUAGE sql VOLATILE
    RETURN CASE WHEN cardinality(transitions) IS NULL OR NOT rowrun.may_notify() THEN false
                WHEN octet_length(array_to_string(transitions, ',')) > 7898 THEN rowrun.announce_parts(transitions)
                ELSE pg_notify('rowrun_task_run', '[' || array_to_string(transitions, ',') || ']') IS NULL END;
COMMENT ON FUNCTION rowrun.announce(text[]) IS 'Internal: notifies transitions.';

-- announce for one run, whose edges one notification can hold: ids and a replica's id are bounded.
CREATE OR REPLACE FUNCTION rowrun.announce_one(transitions text) RETURNS boolean LANGUAGE sql VOLATILE
    RETURN CASE WHEN rowrun.may_notify() THEN pg_notify('rowrun_task_run', '[' || transitions || ']') IS NULL ELSE false END;
COMMENT ON FUNCTION rowrun.announce_one(text) IS 'Internal: notifies the transitions of one run.';
