-- Which runs a replica can take, by its lists: the one text of it, for gates, claims and whoever asks why a run waits.
-- payload is the task's; one that names no command is anybody's, who fails it and says why. Inlined where it is called.
CREATE OR REPLACE FUNCTION rowrun.fits(type text, database_id text, payload jsonb, databases text[], commands text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    RETURN (type NOT IN ('SQL', 'DATABASE_MIGRATE') OR database_id IS NULL OR database_id = ANY (databases))
       AND (type <> 'COMMAND' OR jsonb_typeof(payload -> 'command') IS DISTINCT FROM 'string' OR payload ->> 'command' = ANY (commands));
COMMENT ON FUNCTION rowrun.fits(text, text, jsonb, text[], text[]) IS 'Internal: whether lists of databases and commands cover a run.';

CREATE OR REPLACE FUNCTION rowrun.takes(h rowrun.replica_heartbeat, t timestamptz, queue text, type text, database_id text, payload jsonb) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN h.state = 'ACTIVE' AND h.last_heartbeat + h.lease > t AND (queue = ANY (h.queues) OR h.worker) AND type = ANY (h.types)
       AND rowrun.fits(type, database_id, payload, h.databases, h.commands);
COMMENT ON FUNCTION rowrun.takes(rowrun.replica_heartbeat, timestamptz, text, text, text, jsonb) IS 'Internal: whether a replica is alive and could take a run.';

-- How a run is handed over, for the claims of replicas. A run whose task is no COMMAND any more is taken by whoever runs
-- commands, to say so. Inlined where they are called.
CREATE OR REPLACE FUNCTION rowrun.can_take(r rowrun.task_run, k rowrun.task, databases text[], commands text[]) RETURNS boolean LANGUAGE sql IMMUTABLE
    RETURN rowrun.fits(r.type, r.database_id, k.payload, databases, commands) OR r.type = 'COMMAND' AND k.type <> 'COMMAND';
COMMENT ON FUNCTION rowrun.can_take(rowrun.task_run, rowrun.task, text[], text[]) IS 'Internal: whether a replica with these databases and commands takes a run.';

-- The same for the claims of release 1, which know no limits: a run that one applies to is none of theirs.
CREATE OR REPLACE FUNCTION rowrun.may_take(r rowrun.task_run, k rowrun.task, databases text[], commands text[]) RETURNS boolean LANGUAGE sql IMMUTABLE
    RETURN (rowrun.fits(r.type, r.database_id, k.payload, databases, commands) OR r.type = 'COMMAND' AND k.type <> 'COMMAND') AND r.limit_keys IS NULL;
COMMENT ON FUNCTION rowrun.may_take(rowrun.task_run, rowrun.task, text[], text[]) IS 'Internal: whether a replica of release 1 with these databases and commands takes a run.';
