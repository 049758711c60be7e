-- What psql users and replicas both do: one text of each rule. SQLSTATEs RR001 to RR006 as in the guards; RR002: the
-- claim is wrong or outdated.

CREATE OR REPLACE FUNCTION rowrun.check_isolation() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'rowrun''s functions need READ COMMITTED, this transaction is %', upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state', HINT = 'Begin it with ISOLATION LEVEL READ COMMITTED; where a higher level is the default: SET default_transaction_isolation = ''read committed''.';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.check_isolation() IS 'Internal: refuses isolation levels above READ COMMITTED.';
