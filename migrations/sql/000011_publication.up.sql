-- What the stream reads from the write-ahead log, how far it was written, and who is woken how.

-- Of each run the columns that a line needs. The replica identity stays the key: FULL with a list of columns would make
-- users' UPDATEs fail. result is among them for its code and detail, although a DONE run's is sent for nothing: the
-- transition is told by the new row alone, which is what makes it exact.
CREATE PUBLICATION rowrun_stream FOR TABLE rowrun.task_run
    (id, task_id, attempt, retry_of, root_id, status, plan_id, type, queue, database_id, version, replica_id,
     created_at, available_at, started_at, finished_at, result, prev_status, retry_run_id)
    WITH (publish = 'insert, update');
COMMENT ON PUBLICATION rowrun_stream IS 'What `rowrun serve` reads for the stream, by a slot of its own.';

CREATE TABLE rowrun.stream_position (
    second    timestamptz PRIMARY KEY,
    system_id text NOT NULL,
    timeline  integer NOT NULL,
    lsn       pg_lsn,
    at        timestamptz NOT NULL,
    snapshot  pg_snapshot NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);
COMMENT ON TABLE rowrun.stream_position IS 'How far the stream was written, one row for each second in which it was, for an hour; the newest of each minute for a week.';
COMMENT ON COLUMN rowrun.stream_position.second IS 'Key.';
COMMENT ON COLUMN rowrun.stream_position.system_id IS 'Which server''s log it is, as IDENTIFY_SYSTEM says; empty where lsn is NULL.';
COMMENT ON COLUMN rowrun.stream_position.timeline IS 'Which of its histories.';
COMMENT ON COLUMN rowrun.stream_position.lsn IS 'Every transition that committed before this place was written; NULL: it was not read from the log.';
COMMENT ON COLUMN rowrun.stream_position.at IS 'A moment before which no committed transition is missing.';
COMMENT ON COLUMN rowrun.stream_position.snapshot IS 'What was committed at that moment.';
GRANT SELECT ON rowrun.stream_position TO rowrun_client, rowrun_viewer;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowrun.stream_position TO rowrun_replica;

-- What a replica that wrote the stream from rows leaves to the next one when it stops on request.
CREATE TABLE rowrun.stream_handover (
    replica_id text PRIMARY KEY,
    at         timestamptz NOT NULL,
    snapshot   pg_snapshot NOT NULL,
    run_ids    bigint[] NOT NULL,
    ranks      text NOT NULL
);
COMMENT ON TABLE rowrun.stream_handover IS 'How far the stream from rows was written when its writer stopped; the next one takes it.';
COMMENT ON COLUMN rowrun.stream_handover.replica_id IS 'Who wrote.';
COMMENT ON COLUMN rowrun.stream_handover.at IS 'A moment before which no committed transition is missing.';
COMMENT ON COLUMN rowrun.stream_handover.snapshot IS 'What was committed at that moment.';
COMMENT ON COLUMN rowrun.stream_handover.run_ids IS 'Runs that were written since then.';
COMMENT ON COLUMN rowrun.stream_handover.ranks IS 'How far each of them was: a digit each, 1 for PENDING to 4 for its end.';
GRANT SELECT, INSERT, UPDATE, DELETE ON rowrun.stream_handover TO rowrun_replica;

-- An INSERT says nothing while a replica is woken by the log, and passes it on: that replica's session holds the lock
-- (1920298607, 3). Only who would notify asks for it, so that it costs the others nothing.
CREATE OR REPLACE FUNCTION rowrun.task_run_inserted() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF NOT rowrun.is_quiet() AND pg_try_advisory_xact_lock(1920298606, (extract(epoch FROM clock_timestamp()) * 200)::bigint::bit(32)::int)
       AND pg_try_advisory_xact_lock_shared(1920298607, 3)
       AND rowrun.may_notify()
       AND pg_notify('rowrun_task_run', '[]') IS NULL
    THEN
        NULL;
    END IF;
    RETURN NULL;
END $$;

ALTER TABLE rowrun.replica_heartbeat ADD COLUMN wake_source text CHECK (wake_source IN ('wal', 'notify', 'poll'));
COMMENT ON COLUMN rowrun.replica_heartbeat.wake_source IS 'How it is woken: by the write-ahead log, which it reads for all, by notifications, or by sweeps alone.';
CREATE OR REPLACE VIEW rowrun.replica_status WITH (security_invoker = true) AS
SELECT h.replica_id, h.name, h.hostname, h.version, h.state, h.started_at, h.last_heartbeat, h.lease,
       h.state <> 'DEAD' AND h.last_heartbeat + h.lease > clock_timestamp() AS live,
       h.queues, h.types, h.databases, h.commands, h.concurrency,
       (SELECT count(*) FROM rowrun.task_run r WHERE r.replica_id = h.replica_id AND r.status = 'RUNNING') AS running,
       h.replica_id = (SELECT d.stream_replica_id FROM rowrun.deployment d) AS stream,
       h.wake_source
FROM rowrun.replica_heartbeat h;

INSERT INTO rowrun.migration (version) VALUES (11);
