-- What operators set per task and per replica: how long runs are kept, how loud a failure is, who claims nothing for now.

-- Runs of tasks with a retention of their own are found by it; no other run stands in this index.
CREATE INDEX task_retention ON rowrun.task (id) WHERE retention IS NOT NULL;
CREATE INDEX task_run_own_retention ON rowrun.task_run (task_id, finished_at)
    WHERE own_retention AND status IN ('DONE', 'FAILED', 'CANCELED');

ALTER TABLE rowrun.task ADD COLUMN failure_log_level text NOT NULL DEFAULT 'info'
    CHECK (failure_log_level IN ('debug', 'info', 'warn', 'error'));
COMMENT ON COLUMN rowrun.task.failure_log_level IS 'The level of the lines that say that a run of it FAILED: debug, info, warn or error.';
CREATE FUNCTION rowrun.task_operations_fill() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    NEW.failure_log_level := 'info';
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.task_operations_fill() IS 'Trigger: an explicit NULL in failure_log_level gets its default.';
CREATE TRIGGER task_author_operations BEFORE UPDATE OF failure_log_level ON rowrun.task
    FOR EACH ROW EXECUTE FUNCTION rowrun.task_author_check();
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

CREATE FUNCTION rowrun.set_replica_paused(replica text, pause boolean) RETURNS SETOF text LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
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

REVOKE ALL ON FUNCTION rowrun.set_replica_paused(text, boolean), rowrun.pause_replica(text), rowrun.resume_replica(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rowrun.pause_replica(text), rowrun.resume_replica(text) TO rowrun_operator;

-- Which server and database this is. A copy by dump, by template or by pg_upgrade brings along where its origin stood.
CREATE FUNCTION rowrun.server_identity(OUT system_identifier bigint, OUT database_oid bigint, OUT timeline integer)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    SELECT d.oid::bigint INTO database_oid FROM pg_catalog.pg_database d WHERE d.datname = current_database();
    SELECT s.system_identifier INTO system_identifier FROM pg_catalog.pg_control_system() s;
    SELECT c.timeline_id INTO timeline FROM pg_catalog.pg_control_checkpoint() c;
EXCEPTION WHEN insufficient_privilege THEN
    NULL; -- somebody took that right from PUBLIC: what can't be known isn't compared
END $$;
COMMENT ON FUNCTION rowrun.server_identity() IS 'Where this database stands; NULL: the role may not know.';
ALTER TABLE rowrun.deployment ADD COLUMN system_identifier bigint, ADD COLUMN database_oid bigint, ADD COLUMN timeline integer;
COMMENT ON COLUMN rowrun.deployment.system_identifier IS 'The server that the deployment belongs to, as pg_control_system() says; NULL: not known.';
COMMENT ON COLUMN rowrun.deployment.database_oid IS 'The database there.';
COMMENT ON COLUMN rowrun.deployment.timeline IS 'The history of that server which was current then: a promotion begins another.';
CREATE FUNCTION rowrun.deployment_elsewhere() RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, rowrun, pg_temp
    AS $$ SELECT coalesce((SELECT d.system_identifier <> s.system_identifier OR d.database_oid <> s.database_oid
                           FROM rowrun.deployment d, rowrun.server_identity() s), false) $$;
COMMENT ON FUNCTION rowrun.deployment_elsewhere() IS 'Whether the deployment belongs to another server or database, of which this one is a copy.';
CREATE FUNCTION rowrun.renew_deployment(copy boolean) RETURNS uuid
    LANGUAGE sql SET search_path = pg_catalog, rowrun, pg_temp AS $$
    UPDATE rowrun.deployment d
    SET id = CASE WHEN renew_deployment.copy THEN gen_random_uuid() ELSE d.id END,
        stream_replica_id = CASE WHEN renew_deployment.copy THEN NULL ELSE d.stream_replica_id END,
        system_identifier = s.system_identifier, database_oid = s.database_oid, timeline = s.timeline
    FROM rowrun.server_identity() s RETURNING d.id $$;
COMMENT ON FUNCTION rowrun.renew_deployment(boolean) IS 'Internal: the deployment belongs here from now on; with copy it is another one than its origin.';
SELECT rowrun.renew_deployment(false);
REVOKE ALL ON FUNCTION rowrun.renew_deployment(boolean) FROM PUBLIC;

CREATE TABLE rowrun.schema_object (
    kind text NOT NULL,
    name text NOT NULL,
    hash text NOT NULL,
    PRIMARY KEY (kind, name)
);
COMMENT ON TABLE rowrun.schema_object IS 'What the schema was made of, for `rowrun doctor`; written by `rowrun migrate up` and `repair`.';
COMMENT ON COLUMN rowrun.schema_object.kind IS 'function, view, trigger, constraint, index, publication or grants.';
COMMENT ON COLUMN rowrun.schema_object.name IS 'Which one.';
COMMENT ON COLUMN rowrun.schema_object.hash IS 'Of its definition, as the server told it then.';
GRANT SELECT ON rowrun.schema_object TO rowrun_client, rowrun_viewer, rowrun_replica;

-- Sidecars read and write UTF-8. In most other encodings a row can hold bytes that have no equivalent there (0x81 in
-- WIN1252), and a statement that reads it fails for the other rows too: such text is refused where it comes in. UTF8 has
-- none, and SQL_ASCII hands bytes on as they are, so that a run of such ends by itself.
DO $$
DECLARE
    t record;
BEGIN
    IF pg_catalog.getdatabaseencoding() IN ('UTF8', 'SQL_ASCII') THEN
        RETURN;
    END IF;
    FOR t IN
        SELECT c.relname, string_agg(format('pg_catalog.octet_length(pg_catalog.convert_to(coalesce(%I::text, ''''), ''UTF8'')) >= 0', a.attname), ' AND ') AS readable
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
          AND a.attgenerated = '' AND a.atttypid IN ('text'::regtype, 'jsonb'::regtype, 'text[]'::regtype)
        GROUP BY c.relname
    LOOP
        EXECUTE format('ALTER TABLE rowrun.%I ADD CONSTRAINT %I CHECK (%s)', t.relname, t.relname || '_in_utf8', t.readable);
    END LOOP;
END $$;

INSERT INTO rowrun.migration (version) VALUES (14);
