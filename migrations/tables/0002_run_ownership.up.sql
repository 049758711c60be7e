-- Which replica holds a run, how long it is trusted, and what proves that it is the holder.

CREATE TABLE rowrun.replica_heartbeat (
    replica_id     text PRIMARY KEY CHECK (replica_id <> '' AND octet_length(replica_id) <= 100),
    last_heartbeat timestamptz NOT NULL CHECK (last_heartbeat >= '1900-01-01 00:00+00' AND last_heartbeat < '9999-01-01 00:00+00'),
    name           text NOT NULL DEFAULT '' CHECK (octet_length(name) <= 200),
    hostname       text NOT NULL DEFAULT '',
    version        text NOT NULL DEFAULT '',
    started_at     timestamptz NOT NULL DEFAULT now(),
    state          text NOT NULL DEFAULT 'ACTIVE' CHECK (state IN ('ACTIVE', 'DRAINING', 'DEAD')),
    lease          interval NOT NULL DEFAULT '60 s' CHECK (lease > interval '0' AND lease <= interval '1 year'),
    queues         text[] NOT NULL DEFAULT '{default}' CHECK (array_position(queues, NULL) IS NULL),
    types          text[] NOT NULL DEFAULT '{}' CHECK (array_position(types, NULL) IS NULL),
    databases      text[] NOT NULL DEFAULT '{}' CHECK (array_position(databases, NULL) IS NULL),
    commands       text[] NOT NULL DEFAULT '{}' CHECK (array_position(commands, NULL) IS NULL),
    concurrency    integer NOT NULL DEFAULT 0 CHECK (concurrency >= 0),
    running        integer NOT NULL DEFAULT 0 CHECK (running >= 0),
    wake_source    text CHECK (wake_source IN ('wal', 'notify', 'poll')),
    paused_at      timestamptz
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
COMMENT ON TABLE rowrun.replica_heartbeat IS 'One row per replica and process start; a replica that doesn''t renew it loses its runs.';
COMMENT ON COLUMN rowrun.replica_heartbeat.replica_id IS 'New at every process start and after every fence.';
COMMENT ON COLUMN rowrun.replica_heartbeat.last_heartbeat IS 'When it was last heard of.';
COMMENT ON COLUMN rowrun.replica_heartbeat.name IS 'What its operator calls it.';
COMMENT ON COLUMN rowrun.replica_heartbeat.hostname IS 'Where it runs.';
COMMENT ON COLUMN rowrun.replica_heartbeat.version IS 'Version of its binary.';
COMMENT ON COLUMN rowrun.replica_heartbeat.started_at IS 'When it registered.';
COMMENT ON COLUMN rowrun.replica_heartbeat.state IS 'ACTIVE, DRAINING (takes nothing new) or DEAD (declared so: it may not write any more).';
COMMENT ON COLUMN rowrun.replica_heartbeat.lease IS 'How long it may be silent before it is declared dead.';
COMMENT ON COLUMN rowrun.replica_heartbeat.queues IS 'Queues that it serves.';
COMMENT ON COLUMN rowrun.replica_heartbeat.types IS 'Task types that it runs.';
COMMENT ON COLUMN rowrun.replica_heartbeat.databases IS 'Target databases that it reaches.';
COMMENT ON COLUMN rowrun.replica_heartbeat.commands IS 'Commands that its configuration names.';
COMMENT ON COLUMN rowrun.replica_heartbeat.concurrency IS 'How many runs it executes at once.';
COMMENT ON COLUMN rowrun.replica_heartbeat.running IS 'How many it executed at its last heartbeat.';
COMMENT ON COLUMN rowrun.replica_heartbeat.wake_source IS 'How it is woken: by the write-ahead log, which it reads for all, by notifications, or by sweeps alone.';
COMMENT ON COLUMN rowrun.replica_heartbeat.paused_at IS 'Since when it claims nothing, because an operator said so; NULL: it isn''t paused.';

ALTER TABLE rowrun.task_run
    ADD COLUMN replica_id text,
    ADD COLUMN claim_hash bytea;
COMMENT ON COLUMN rowrun.task_run.replica_id IS 'The replica that runs or ran it; NULL while RUNNING: the app has taken it over.';
COMMENT ON COLUMN rowrun.task_run.claim_hash IS 'Internal: SHA-256 of the claim that the holder was given.';
CREATE INDEX task_run_running ON rowrun.task_run (replica_id) WHERE status = 'RUNNING';

-- Nobody can vouch for a run that was started before runs had owners.
UPDATE rowrun.task_run
SET status = 'FAILED', finished_at = now(), updated_at = now(),
    result = result || '{"code": "STALE", "detail": "Marked as failed during heartbeat migration"}'
WHERE status = 'RUNNING' AND replica_id IS NULL;
UPDATE rowrun.task t SET outcome = 'FAILED', outcome_run_id = r.id
FROM rowrun.task_run r
WHERE r.task_id = t.id AND r.plan_id IS NOT NULL AND r.status = 'FAILED'
  AND r.result ->> 'detail' = 'Marked as failed during heartbeat migration';

-- As in the baseline: text that has no equivalent in UTF-8 is refused where it comes in.
DO $$
DECLARE
    t record;
BEGIN
    IF pg_catalog.getdatabaseencoding() IN ('UTF8', 'SQL_ASCII') THEN
        RETURN;
    END IF;
    FOR t IN
        SELECT c.relname, CASE c.relname WHEN 'task_run' THEN 'task_run_replica_id_in_utf8' ELSE c.relname || '_in_utf8' END AS named,
               string_agg(format('pg_catalog.octet_length(pg_catalog.convert_to(coalesce(%I::text, ''''), ''UTF8'')) >= 0', a.attname), ' AND ') AS readable
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'rowrun'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
          AND (c.relname = 'replica_heartbeat' OR c.relname = 'task_run' AND a.attname = 'replica_id')
          AND a.atttypid IN ('text'::regtype, 'jsonb'::regtype, 'text[]'::regtype)
        GROUP BY c.relname
    LOOP
        EXECUTE format('ALTER TABLE rowrun.%I ADD CONSTRAINT %I CHECK (%s)', t.relname, t.named, t.readable);
    END LOOP;
END $$;
