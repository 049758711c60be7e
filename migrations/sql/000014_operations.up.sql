-- What operators set per task and per replica: how long runs are kept, how loud a failure is, who claims nothing for now.

-- Runs of tasks with a retention of their own are found by it; no other run stands in this index.
CREATE INDEX task_retention ON rowrun.task (id) WHERE retention IS NOT NULL;
CREATE INDEX task_run_own_retention ON rowrun.task_run (task_id, finished_at)
    WHERE own_retention AND status IN ('DONE', 'FAILED', 'CANCELED');

ALTER TABLE rowrun.task ADD COLUMN failure_log_level text NOT NULL DEFAULT 'info'
    CHECK (failure_log_level IN ('debug', 'info', 'warn', 'error'));
COMMENT ON COLUMN rowrun.task.failure_log_level IS 'The level of the lines that say that a run of it FAILED: debug, info, warn or error.';
CREATE FUNCTION rowrun.task_operations_fill() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.failure_log_level := 'info';
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.task_operations_fill() IS 'Trigger: an explicit NULL in failure_log_level gets its default.';
CREATE TRIGGER task_operations_fill BEFORE INSERT OR UPDATE OF failure_log_level ON rowrun.task
    FOR EACH ROW WHEN (NEW.failure_log_level IS NULL) EXECUTE FUNCTION rowrun.task_operations_fill();

-- A paused replica announces no types (it looks at paused_at by itself), so that gates, waiting() and orphan_task_run
-- need to know nothing of pauses; its claims ask for paused_at themselves.
ALTER TABLE rowrun.replica_heartbeat ADD COLUMN paused_at timestamptz;
COMMENT ON COLUMN rowrun.replica_heartbeat.paused_at IS 'Since when it claims nothing, because an operator said so; NULL: it isn''t paused.';
CREATE OR REPLACE VIEW rowrun.replica_status WITH (security_invoker = true) AS
SELECT h.replica_id, h.name, h.hostname, h.version, h.state, h.started_at, h.last_heartbeat, h.lease,
       h.state <> 'DEAD' AND h.last_heartbeat + h.lease > clock_timestamp() AS live,
       h.queues, h.types, h.databases, h.commands, h.concurrency,
       (SELECT count(*) FROM rowrun.task_run r WHERE r.replica_id = h.replica_id AND r.status = 'RUNNING') AS running,
       h.replica_id = (SELECT d.stream_replica_id FROM rowrun.deployment d) AS stream,
       h.wake_source, h.paused_at
FROM rowrun.replica_heartbeat h;

CREATE FUNCTION rowrun.set_replica_paused(replica text, pause boolean) RETURNS SETOF text LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    one text;
BEGIN
    FOR one IN
        SELECT h.replica_id FROM rowrun.replica_heartbeat h
        WHERE (h.replica_id = set_replica_paused.replica OR h.name = set_replica_paused.replica)
          AND h.state <> 'DEAD' AND h.last_heartbeat + h.lease > clock_timestamp()
        ORDER BY h.replica_id FOR NO KEY UPDATE
    LOOP
        UPDATE rowrun.replica_heartbeat h
        SET paused_at = CASE WHEN set_replica_paused.pause THEN coalesce(h.paused_at, clock_timestamp()) END
        WHERE h.replica_id = one;
        RETURN NEXT one;
    END LOOP;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no live replica "%"', left(set_replica_paused.replica, 200)
            USING ERRCODE = 'no_data_found', HINT = 'SELECT replica_id, name, live FROM rowrun.replica_status';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.set_replica_paused(text, boolean) IS 'Internal: the one text of pause_replica and resume_replica.';
CREATE FUNCTION rowrun.pause_replica(replica text) RETURNS SETOF text
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp
    AS $$ SELECT rowrun.set_replica_paused(replica, true) $$;
COMMENT ON FUNCTION rowrun.pause_replica(text) IS 'The live replicas of this id or name claim nothing from now on and go on with what they run; their ids.';
CREATE FUNCTION rowrun.resume_replica(replica text) RETURNS SETOF text
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp
    AS $$ SELECT rowrun.set_replica_paused(replica, false) $$;
COMMENT ON FUNCTION rowrun.resume_replica(text) IS 'The live replicas of this id or name claim again; their ids.';

GRANT UPDATE (retention, failure_log_level) ON rowrun.task TO rowrun_client;
REVOKE ALL ON FUNCTION rowrun.set_replica_paused(text, boolean), rowrun.pause_replica(text), rowrun.resume_replica(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rowrun.pause_replica(text), rowrun.resume_replica(text) TO rowrun_operator;

INSERT INTO rowrun.migration (version) VALUES (14);
