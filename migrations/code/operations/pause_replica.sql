-- A paused replica announces no types (it looks at paused_at by itself), so that gates, waiting() and orphan_task_run
-- need to know nothing of pauses; its claims ask for paused_at themselves.

CREATE OR REPLACE FUNCTION rowrun.set_replica_paused(replica text, pause boolean) RETURNS SETOF text LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    one text;
BEGIN
    FOR one IN
        SELECT h.replica_id FROM rowrun.replica_heartbeat h
        WHERE (h.replica_id = set_replica_paused.replica OR h.name = set_replica_paused.replica)
          AND h.state <> 'DEAD' AND h.last_heartbeat + h.lease > clock_timestamp()
          AND (set_replica_paused.pause OR h.state <> 'DRAINING') -- that one stops, whatever is said now
        ORDER BY h.replica_id FOR NO KEY UPDATE
    LOOP
        UPDATE rowrun.replica_heartbeat h
        SET paused_at = CASE WHEN set_replica_paused.pause THEN coalesce(h.paused_at, clock_timestamp()) END,
            drain_requested_at = CASE WHEN set_replica_paused.pause THEN h.drain_requested_at END
        WHERE h.replica_id = one;
        RETURN NEXT one;
    END LOOP;
    IF NOT FOUND AND NOT set_replica_paused.pause
       AND EXISTS (SELECT FROM rowrun.replica_heartbeat h
                   WHERE (h.replica_id = set_replica_paused.replica OR h.name = set_replica_paused.replica) AND h.state = 'DRAINING'
                     AND h.last_heartbeat + h.lease > clock_timestamp())
    THEN
        RAISE EXCEPTION 'replica "%" is draining, and stops when its runs have ended', left(set_replica_paused.replica, 200)
            USING ERRCODE = 'RR004', HINT = 'A drain is taken back only until the replica has noticed it: start another one.';
    ELSIF NOT FOUND THEN
        RAISE EXCEPTION 'there is no live replica "%"', left(set_replica_paused.replica, 200)
            USING ERRCODE = 'no_data_found', HINT = 'SELECT replica_id, name, live FROM rowrun.replica_status';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.set_replica_paused(text, boolean) IS 'Internal: the one text of pause_replica and resume_replica.';

CREATE OR REPLACE FUNCTION rowrun.pause_replica(replica text) RETURNS SETOF text
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp
    AS $$ SELECT rowrun.set_replica_paused(replica, true) $$;
COMMENT ON FUNCTION rowrun.pause_replica(text) IS 'The live replicas of this id or name claim nothing from now on and go on with what they run; their ids.';

CREATE OR REPLACE FUNCTION rowrun.resume_replica(replica text) RETURNS SETOF text
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp
    AS $$ SELECT rowrun.set_replica_paused(replica, false) $$;
COMMENT ON FUNCTION rowrun.resume_replica(text) IS 'The live replicas of this id or name claim again; their ids.';

-- It is paused until it has heard of it, so that it claims nothing from the commit on.
CREATE OR REPLACE FUNCTION rowrun.drain_replica(replica text) RETURNS SETOF text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    one text;
BEGIN
    FOR one IN SELECT rowrun.set_replica_paused(drain_replica.replica, true) LOOP
        UPDATE rowrun.replica_heartbeat h SET drain_requested_at = coalesce(h.drain_requested_at, clock_timestamp()) WHERE h.replica_id = one;
        RETURN NEXT one;
    END LOOP;
END $$;
COMMENT ON FUNCTION rowrun.drain_replica(text) IS 'The live replicas of this id or name claim nothing from now on, end what they run and stop; their ids.';
