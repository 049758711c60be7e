-- The next free id of a delivery: rows that were restored may be ahead of the sequence, and an event must not wait for
-- somebody to see that.
CREATE OR REPLACE FUNCTION rowrun.next_delivery_id() RETURNS bigint LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, rowrun, pg_temp
    SET enable_seqscan = off
AS $$
DECLARE
    drawn bigint;
BEGIN
    LOOP
        drawn := nextval('rowrun.webhook_delivery_id_seq');
        EXIT WHEN NOT EXISTS (SELECT FROM rowrun.webhook_delivery d WHERE d.id = drawn);
    END LOOP;
    RETURN drawn;
END $$;
COMMENT ON FUNCTION rowrun.next_delivery_id() IS 'Internal: the next free id of a delivery.';
