-- What a change sets off: a notification (decided at commit), marks that tell the next pass where to look, and the
-- outcome that a plan's task is left with. At the statement of an INSERT only the mark of a plan's new runs is left.

-- Whether the server's queue of notifications takes more. One that is full has every transaction with a NOTIFY fail when
-- it commits, where nothing can be done about it any more: from half full on, as the server begins to warn, nothing is
-- said; sweeps and the log find everything. The other half is for what speaks at the same moment, and for other programs.
-- Looking also has the server forget what everybody has read. Inlined where it is called.
CREATE OR REPLACE FUNCTION rowrun.may_notify() RETURNS boolean LANGUAGE sql VOLATILE
    RETURN pg_notification_queue_usage() < 0.5;
COMMENT ON FUNCTION rowrun.may_notify() IS 'Internal: whether the server''s queue of notifications takes more.';

-- Says "look" to every replica, once per transaction.
CREATE OR REPLACE FUNCTION rowrun.notify_look() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF rowrun.may_notify() THEN
        PERFORM pg_notify('rowrun_task_run', '[]');
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.notify_look() IS 'Says "look" on rowrun_task_run.';

-- Whether the session keeps quiet about what it inserts itself, because it will PREPARE the transaction. Of runs that are
-- not its own it can silence nothing.
CREATE OR REPLACE FUNCTION rowrun.is_quiet() RETURNS boolean LANGUAGE sql STABLE
    RETURN coalesce(current_setting('rowrun.notify', true), '') = 'off';
COMMENT ON FUNCTION rowrun.is_quiet() IS 'Internal: whether the session keeps quiet about what it inserts.';
