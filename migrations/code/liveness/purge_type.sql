-- Cancels runs of a type that wait, in the order of their ids, at most "most" of them after a given one: a transaction
-- per call keeps locks short.
CREATE OR REPLACE FUNCTION rowrun.purge_type(type text, older_than interval DEFAULT '0', after_id bigint DEFAULT 0, most integer DEFAULT 500)
    RETURNS TABLE (last_id bigint, found bigint, canceled bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM check_isolation();
    RETURN QUERY
    WITH picked AS MATERIALIZED (
        SELECT r.id FROM task_run r
        WHERE r.type = purge_type.type AND r.status IN ('PENDING', 'AVAILABLE') AND r.id > purge_type.after_id
          AND r.created_at <= clock_timestamp() - purge_type.older_than
        ORDER BY r.id LIMIT purge_type.most)
    SELECT max(p.id), count(*), count(*) FILTER (WHERE cancel_run(p.id, 'type ' || purge_type.type || ' was purged') = 'CANCELED') FROM picked p;
END $$;
COMMENT ON FUNCTION rowrun.purge_type(text, interval, bigint, integer) IS 'Cancels PENDING and AVAILABLE runs of a type; removes no row.';
