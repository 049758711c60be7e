-- The lock of the passes, for what ends open: waited for for some milliseconds, as marks would need another pass, which would
-- hold the lock when the next ends come. A subtransaction costs only who waits.
CREATE OR REPLACE FUNCTION rowrun.lock_promotion() RETURNS boolean LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    patience text := current_setting('lock_timeout');
BEGIN
    PERFORM FROM rowrun.promotion_lock l WHERE l.id = 1 FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        RETURN true;
    END IF;
    BEGIN
        PERFORM set_config('lock_timeout', '20ms', true);
        PERFORM FROM rowrun.promotion_lock l WHERE l.id = 1 FOR UPDATE;
        IF NOT FOUND THEN -- no row, no lock: the next sweep puts it back
            RAISE EXCEPTION USING ERRCODE = 'lock_not_available';
        END IF;
        PERFORM set_config('lock_timeout', patience, true);
        RETURN true;
    EXCEPTION WHEN lock_not_available THEN
        RETURN false;
    END;
END $$;
COMMENT ON FUNCTION rowrun.lock_promotion() IS 'Internal: takes the lock of the passes, unless somebody holds it for long.';
