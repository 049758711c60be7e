-- Ids are drawn by the database. One that is ahead of its sequence would fail the INSERT that draws it, years later.
CREATE OR REPLACE FUNCTION rowrun.check_id(id bigint, sequence regclass) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF (id >= 1 AND id <= pg_sequence_last_value(sequence)) IS NOT TRUE AND NOT is_owner() THEN
        RAISE EXCEPTION 'id % was not drawn from rowrun.%', id, sequence
            USING ERRCODE = 'RR003', HINT = 'Leave id out, or draw it: SELECT nextval(''rowrun.' || sequence || ''').';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.check_id(bigint, regclass) IS 'Internal: refuses ids that no sequence has drawn.';
