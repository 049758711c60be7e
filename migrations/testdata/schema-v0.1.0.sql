--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: rowrun; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA rowrun;


--
-- Name: claim; Type: TYPE; Schema: rowrun; Owner: -
--

CREATE TYPE rowrun.claim AS (
	n integer,
	id bigint,
	root_id bigint,
	task_id bigint,
	name text,
	plan_id bigint,
	attempt integer,
	type text,
	queue text,
	database_id text,
	version text,
	input jsonb,
	manual boolean,
	timeout double precision,
	task_type text,
	alias_of text,
	task_database_id text,
	task_version text,
	payload jsonb,
	state jsonb,
	traceparent text,
	progress_timeout double precision,
	failure_log_level text
);


--
-- Name: TYPE claim; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TYPE rowrun.claim IS 'Internal: a run that was handed to a replica with the n-th hash of its request, and what its executor needs.';


--
-- Name: claim_request; Type: TYPE; Schema: rowrun; Owner: -
--

CREATE TYPE rowrun.claim_request AS (
	replica_id text,
	hashes bytea,
	used integer,
	default_timeout double precision,
	queues text[],
	types text[],
	databases text[],
	commands text[]
);


--
-- Name: TYPE claim_request; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TYPE rowrun.claim_request IS 'Internal: which runs a replica takes, and how many: there is a hash of 32 bytes for each, of which the first used ones are gone.';


--
-- Name: abandon_run(bigint, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.abandon_run(run_id bigint, reason text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    ended text;
BEGIN
    PERFORM check_isolation();
    SELECT e.status INTO ended FROM end_runs(ARRAY[abandon_run.run_id], ARRAY[NULL::uuid], ARRAY['FAILED'],
        ARRAY[jsonb_build_object('code', 'ABANDONED', 'detail', 'Task run abandoned' || coalesce(': ' || abandon_run.reason, ''))],
        ARRAY['NONE']) e;
    IF ended IS NULL THEN
        RAISE EXCEPTION 'run % is not RUNNING', abandon_run.run_id USING ERRCODE = 'RR004', HINT = 'Runs that wait are canceled: rowrun.cancel_run.';
    END IF;
    RETURN ended;
END $$;


--
-- Name: FUNCTION abandon_run(run_id bigint, reason text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.abandon_run(run_id bigint, reason text) IS 'Ends a RUNNING run whose executor doesn''t: FAILED, code ABANDONED, no automatic successor.';


--
-- Name: fits(text, text, jsonb, text[], text[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.fits(type text, database_id text, payload jsonb, databases text[], commands text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    RETURN (((type <> ALL (ARRAY['SQL'::text, 'DATABASE_MIGRATE'::text])) OR (database_id IS NULL) OR (database_id = ANY (databases))) AND ((type <> 'COMMAND'::text) OR (jsonb_typeof((payload -> 'command'::text)) IS DISTINCT FROM 'string'::text) OR ((payload ->> 'command'::text) = ANY (commands))));


--
-- Name: FUNCTION fits(type text, database_id text, payload jsonb, databases text[], commands text[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.fits(type text, database_id text, payload jsonb, databases text[], commands text[]) IS 'Internal: whether lists of databases and commands cover a run.';


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: replica_heartbeat; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.replica_heartbeat (
    replica_id text NOT NULL,
    last_heartbeat timestamp with time zone NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    hostname text DEFAULT ''::text NOT NULL,
    version text DEFAULT ''::text NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    state text DEFAULT 'ACTIVE'::text NOT NULL,
    lease interval DEFAULT '00:01:00'::interval NOT NULL,
    queues text[] DEFAULT '{default}'::text[] NOT NULL,
    types text[] DEFAULT '{}'::text[] NOT NULL,
    databases text[] DEFAULT '{}'::text[] NOT NULL,
    commands text[] DEFAULT '{}'::text[] NOT NULL,
    concurrency integer DEFAULT 0 NOT NULL,
    running integer DEFAULT 0 NOT NULL,
    wake_source text,
    paused_at timestamp with time zone,
    worker boolean DEFAULT false NOT NULL,
    role text DEFAULT 'worker'::text NOT NULL,
    CONSTRAINT replica_heartbeat_commands_check CHECK ((array_position(commands, NULL::text) IS NULL)),
    CONSTRAINT replica_heartbeat_concurrency_check CHECK ((concurrency >= 0)),
    CONSTRAINT replica_heartbeat_databases_check CHECK ((array_position(databases, NULL::text) IS NULL)),
    CONSTRAINT replica_heartbeat_last_heartbeat_check CHECK (((last_heartbeat >= '1900-01-01 00:00:00+00'::timestamp with time zone) AND (last_heartbeat < '9999-01-01 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT replica_heartbeat_lease_check CHECK (((lease > '00:00:00'::interval) AND (lease <= '1 year'::interval))),
    CONSTRAINT replica_heartbeat_name_check CHECK ((octet_length(name) <= 200)),
    CONSTRAINT replica_heartbeat_queues_check CHECK ((array_position(queues, NULL::text) IS NULL)),
    CONSTRAINT replica_heartbeat_replica_id_check CHECK (((replica_id <> ''::text) AND (octet_length(replica_id) <= 100))),
    CONSTRAINT replica_heartbeat_role_worker_or_admin CHECK ((role = ANY (ARRAY['worker'::text, 'admin'::text]))),
    CONSTRAINT replica_heartbeat_running_check CHECK ((running >= 0)),
    CONSTRAINT replica_heartbeat_state_check CHECK ((state = ANY (ARRAY['ACTIVE'::text, 'DRAINING'::text, 'DEAD'::text]))),
    CONSTRAINT replica_heartbeat_types_check CHECK ((array_position(types, NULL::text) IS NULL)),
    CONSTRAINT replica_heartbeat_wake_source_check CHECK ((wake_source = ANY (ARRAY['wal'::text, 'notify'::text, 'poll'::text])))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='200');


--
-- Name: TABLE replica_heartbeat; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.replica_heartbeat IS 'One row per replica and process start; a replica that doesn''t renew it loses its runs.';


--
-- Name: COLUMN replica_heartbeat.replica_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.replica_heartbeat.replica_id IS 'New at every process start and after every fence.';


--
-- Name: COLUMN replica_heartbeat.last_heartbeat; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.replica_heartbeat.last_heartbeat IS 'When it was last heard of.';


--
-- Name: COLUMN replica_heartbeat.name; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.replica_heartbeat.name IS 'What its operator calls it.';


--
-- Name: COLUMN replica_heartbeat.hostname; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.replica_heartbeat.hostname IS 'Where it runs.';


--
-- Name: COLUMN replica_heartbeat.version; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.replica_heartbeat.version IS 'Version of its binary.';


--
-- Name: COLUMN replica_heartbeat.started_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.replica_heartbeat.started_at IS 'When it registered.';


--
-- Name: COLUMN replica_heartbeat.state; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.replica_heartbeat.state IS 'ACTIVE, DRAINING (takes nothing new) or DEAD (declared so: it may not write any more).';


--
-- Name: COLUMN replica_heartbeat.lease; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.replica_heartbeat.lease IS 'How long it may be silent before it is declared dead.';


--
-- Name: COLUMN replica_heartbeat.queues; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.replica_heartbeat.queues IS 'Queues that it serves.';


--
-- Name: COLUMN replica_heartbeat.types; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.replica_heartbeat.types IS 'Task types that it runs.';


--
-- Name: COLUMN replica_heartbeat.databases; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.replica_heartbeat.databases IS 'Target databases that it reaches.';


--
-- Name: COLUMN replica_heartbeat.commands; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.replica_heartbeat.commands IS 'Commands that its configuration names.';


--
-- Name: COLUMN replica_heartbeat.concurrency; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.replica_heartbeat.concurrency IS 'How many runs it executes at once.';


--
-- Name: COLUMN replica_heartbeat.running; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.replica_heartbeat.running IS 'How many it executed at its last heartbeat.';


--
-- Name: COLUMN replica_heartbeat.wake_source; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.replica_heartbeat.wake_source IS 'How it is woken: by the write-ahead log, which it reads for all, by notifications, or by sweeps alone.';


--
-- Name: COLUMN replica_heartbeat.paused_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.replica_heartbeat.paused_at IS 'Since when it claims nothing, because an operator said so; NULL: it isn''t paused.';


--
-- Name: COLUMN replica_heartbeat.worker; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.replica_heartbeat.worker IS 'It claims by functions, from any queue: each of its claims has a lease of its own.';


--
-- Name: COLUMN replica_heartbeat.role; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.replica_heartbeat.role IS 'worker: it claims runs; admin: it never does, and only looks after the deployment.';


--
-- Name: takes(rowrun.replica_heartbeat, timestamp with time zone, text, text, text, jsonb); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.takes(h rowrun.replica_heartbeat, t timestamp with time zone, queue text, type text, database_id text, payload jsonb) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN (((h).state = 'ACTIVE'::text) AND (((h).last_heartbeat + (h).lease) > t) AND ((queue = ANY ((h).queues)) OR (h).worker) AND (type = ANY ((h).types)) AND rowrun.fits(type, database_id, payload, (h).databases, (h).commands));


--
-- Name: FUNCTION takes(h rowrun.replica_heartbeat, t timestamp with time zone, queue text, type text, database_id text, payload jsonb); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.takes(h rowrun.replica_heartbeat, t timestamp with time zone, queue text, type text, database_id text, payload jsonb) IS 'Internal: whether a replica is alive and could take a run.';


--
-- Name: too_deep(jsonb); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.too_deep(document jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN jsonb_path_exists(document, '$.**{1000}'::jsonpath);


--
-- Name: FUNCTION too_deep(document jsonb); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.too_deep(document jsonb) IS 'Internal: whether a document has more than 1,000 levels.';


--
-- Name: version_key(text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.version_key(version text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (SELECT COALESCE(string_agg((lpad((length(d.digits))::text, 2, '0'::text) || d.digits), ''::text ORDER BY d.n), ''::text) AS "coalesce" FROM (SELECT ltrim(p.part, '0'::text) AS digits, p.n, max(p.n) FILTER (WHERE (ltrim(p.part, '0'::text) <> ''::text)) OVER () AS last FROM unnest(string_to_array(version_key.version, '.'::text)) WITH ORDINALITY p(part, n)) d WHERE (d.n <= d.last));


--
-- Name: FUNCTION version_key(version text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.version_key(version text) IS 'Text that compares bytewise (COLLATE "C") as versions compare: number by number, 1.0 = 1.';


--
-- Name: task; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.task (
    id bigint NOT NULL,
    plan_id bigint,
    name text DEFAULT ''::text NOT NULL,
    type text NOT NULL,
    queue text DEFAULT 'default'::text NOT NULL,
    database_id text,
    version text,
    sequential boolean NOT NULL,
    payload jsonb DEFAULT '{}'::jsonb NOT NULL,
    priority integer DEFAULT 0 NOT NULL,
    timeout interval,
    progress_timeout interval,
    max_attempts integer DEFAULT 1 NOT NULL,
    retry_delay interval DEFAULT '00:00:10'::interval NOT NULL,
    on_stale text DEFAULT 'FAIL'::text NOT NULL,
    on_failure_task text,
    paused boolean DEFAULT false NOT NULL,
    skipped boolean DEFAULT false NOT NULL,
    skip_reason text,
    retention interval,
    labels jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    version_key text GENERATED ALWAYS AS (rowrun.version_key(version)) STORED COLLATE pg_catalog."C",
    outcome text,
    outcome_round integer,
    outcome_run_id bigint,
    schedule text,
    time_zone text DEFAULT 'UTC'::text NOT NULL,
    misfire text DEFAULT 'SKIP'::text NOT NULL,
    starts_at timestamp with time zone,
    ends_at timestamp with time zone,
    overlap text DEFAULT 'SKIP'::text NOT NULL,
    state jsonb,
    schedule_error text,
    scheduled_at timestamp with time zone,
    schedule_parts bigint[],
    failure_log_level text DEFAULT 'info'::text NOT NULL,
    retention_by_status jsonb,
    CONSTRAINT task_database_id_1_to_200_bytes_no_control CHECK (((database_id <> ''::text) AND (octet_length(database_id) <= 200) AND (database_id !~ '[[:cntrl:]]'::text))),
    CONSTRAINT task_ends_at_1900_to_9998 CHECK (((ends_at >= '1900-01-01 00:00:00+00'::timestamp with time zone) AND (ends_at < '9999-01-01 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT task_failure_log_level_debug_info_warn_error CHECK ((failure_log_level = ANY (ARRAY['debug'::text, 'info'::text, 'warn'::text, 'error'::text]))),
    CONSTRAINT task_id_from_1 CHECK ((id >= 1)),
    CONSTRAINT task_labels_an_object CHECK ((jsonb_typeof(labels) = 'object'::text)),
    CONSTRAINT task_labels_up_to_1_mib_and_1000_levels CHECK (((pg_column_size(labels) < 2000) OR ((octet_length((labels)::text) <= 1048576) AND (NOT rowrun.too_deep(labels))))),
    CONSTRAINT task_max_attempts_from_1 CHECK ((max_attempts >= 1)),
    CONSTRAINT task_migrate_needs_target CHECK (((type <> 'DATABASE_MIGRATE'::text) OR ((version IS NOT NULL) AND (database_id IS NOT NULL)))),
    CONSTRAINT task_misfire_skip_once_or_all CHECK ((misfire = ANY (ARRAY['SKIP'::text, 'ONCE'::text, 'ALL'::text]))),
    CONSTRAINT task_name_up_to_200_bytes CHECK ((octet_length(name) <= 200)),
    CONSTRAINT task_on_failure_task_1_to_200_bytes CHECK (((on_failure_task <> ''::text) AND (octet_length(on_failure_task) <= 200))),
    CONSTRAINT task_on_stale_fail_retry_or_cancel CHECK ((on_stale = ANY (ARRAY['FAIL'::text, 'RETRY'::text, 'CANCEL'::text]))),
    CONSTRAINT task_order_needs_database CHECK (((database_id IS NOT NULL) OR ((version IS NULL) AND (NOT sequential)))),
    CONSTRAINT task_outcome_an_end CHECK ((outcome = ANY (ARRAY['DONE'::text, 'FAILED'::text, 'CANCELED'::text]))),
    CONSTRAINT task_overlap_skip_or_queue CHECK ((overlap = ANY (ARRAY['SKIP'::text, 'QUEUE'::text]))),
    CONSTRAINT task_payload_an_object CHECK ((jsonb_typeof(payload) = 'object'::text)),
    CONSTRAINT task_payload_up_to_1_mib_and_1000_levels CHECK (((pg_column_size(payload) < 2000) OR ((octet_length((payload)::text) <= 1048576) AND (NOT rowrun.too_deep(payload))))),
    CONSTRAINT task_progress_timeout_above_0_to_100_years CHECK (((progress_timeout > '00:00:00'::interval) AND (progress_timeout <= '100 years'::interval))),
    CONSTRAINT task_queue_1_to_100_bytes_no_control CHECK (((queue <> ''::text) AND (octet_length(queue) <= 100) AND (queue !~ '[[:cntrl:]]'::text))),
    CONSTRAINT task_retention_0_to_100_years CHECK (((retention >= '00:00:00'::interval) AND (retention <= '100 years'::interval))),
    CONSTRAINT task_retention_by_status_0_to_100_years CHECK (((jsonb_typeof(retention_by_status) <> 'object'::text) OR (COALESCE(((((retention_by_status ->> 'DONE'::text))::interval >= '00:00:00'::interval) AND (((retention_by_status ->> 'DONE'::text))::interval <= '100 years'::interval)), true) AND COALESCE(((((retention_by_status ->> 'FAILED'::text))::interval >= '00:00:00'::interval) AND (((retention_by_status ->> 'FAILED'::text))::interval <= '100 years'::interval)), true) AND COALESCE(((((retention_by_status ->> 'CANCELED'::text))::interval >= '00:00:00'::interval) AND (((retention_by_status ->> 'CANCELED'::text))::interval <= '100 years'::interval)), true)))),
    CONSTRAINT task_retention_by_status_done_failed_canceled CHECK (
CASE
    WHEN (jsonb_typeof(retention_by_status) = 'object'::text) THEN ((retention_by_status - '{DONE,FAILED,CANCELED}'::text[]) = '{}'::jsonb)
    ELSE (retention_by_status IS NULL)
END),
    CONSTRAINT task_retry_delay_0_to_100_years CHECK (((retry_delay >= '00:00:00'::interval) AND (retry_delay <= '100 years'::interval))),
    CONSTRAINT task_schedule_up_to_1000_bytes CHECK ((octet_length(schedule) <= 1000)),
    CONSTRAINT task_schedule_without_plan CHECK (((schedule IS NULL) OR (plan_id IS NULL))),
    CONSTRAINT task_skip_reason_up_to_10000_bytes CHECK ((octet_length(skip_reason) <= 10000)),
    CONSTRAINT task_starts_at_1900_to_9998 CHECK (((starts_at >= '1900-01-01 00:00:00+00'::timestamp with time zone) AND (starts_at < '9999-01-01 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT task_state_up_to_1_mib_and_1000_levels CHECK (((pg_column_size(state) < 2000) OR ((octet_length((state)::text) <= 1048576) AND (NOT rowrun.too_deep(state))))),
    CONSTRAINT task_time_zone_up_to_100_bytes CHECK ((octet_length(time_zone) <= 100)),
    CONSTRAINT task_timeout_0_to_100_years CHECK (((timeout >= '00:00:00'::interval) AND (timeout <= '100 years'::interval))),
    CONSTRAINT task_type_1_to_100_bytes_no_control CHECK (((type <> ''::text) AND (octet_length(type) <= 100) AND (type !~ '[[:cntrl:]]'::text))),
    CONSTRAINT task_version_numbers_and_dots CHECK ((version ~ '^[0-9]{1,20}(\.[0-9]{1,20}){0,9}$'::text))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='500');


--
-- Name: TABLE task; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.task IS 'What is to be done: in a plan once, without a plan a definition of which each run is one more job.';


--
-- Name: COLUMN task.id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.id IS 'Key.';


--
-- Name: COLUMN task.plan_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.plan_id IS 'The plan it belongs to; NULL: a reusable definition.';


--
-- Name: COLUMN task.name; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.name IS 'Unique, where not empty, in its plan or among the tasks without one.';


--
-- Name: COLUMN task.type; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.type IS 'NOOP, SQL, DATABASE_MIGRATE, HTTP, COMMAND or a type that a program of yours runs.';


--
-- Name: COLUMN task.queue; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.queue IS 'Only replicas that serve this queue claim its runs.';


--
-- Name: COLUMN task.database_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.database_id IS 'Name of a target database; for types other than SQL and DATABASE_MIGRATE a name to order by.';


--
-- Name: COLUMN task.version; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.version IS 'Numbers and dots, compared number by number: 1.10 > 1.9, 1.0 = 1. Smaller versions of a database go first.';


--
-- Name: COLUMN task.sequential; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.sequential IS 'Its runs are alone on their database. NULL at insert: true for DATABASE_MIGRATE only.';


--
-- Name: COLUMN task.payload; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.payload IS 'What the executor of the type needs: a JSON object of at most 1 MiB.';


--
-- Name: COLUMN task.priority; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.priority IS 'Higher is promoted and claimed first; the default of its runs.';


--
-- Name: COLUMN task.timeout; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.timeout IS 'How long a run may take from started_at; NULL: the default of the sidecar that claims it; 0: no limit.';


--
-- Name: COLUMN task.progress_timeout; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.progress_timeout IS 'How long a run may go without reporting progress; NULL: no limit.';


--
-- Name: COLUMN task.max_attempts; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.max_attempts IS 'How many failures in a row, since the last retry that a person asked for, end the chain.';


--
-- Name: COLUMN task.retry_delay; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.retry_delay IS 'Wait before the first automatic retry; doubles per attempt, at most 1 h, +-20 %.';


--
-- Name: COLUMN task.on_stale; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.on_stale IS 'What becomes of a run that is lost with its replica. FAIL: it is FAILED; RETRY: and gets a successor at once (at most 5 in a row); CANCEL: it is CANCELED. on_failure_task names a task to run when it is FAILED without a successor.';


--
-- Name: COLUMN task.on_failure_task; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.on_failure_task IS 'Name or id of a task without a plan that is run, with the failed run as input, when a run has failed for good, also when it was lost (STALE, LOST_CONTACT, DRAINED).';


--
-- Name: COLUMN task.paused; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.paused IS 'While true none of its runs is promoted or claimed.';


--
-- Name: COLUMN task.skipped; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.skipped IS 'Counts as done; refused while a run is AVAILABLE or RUNNING; cancels a PENDING run.';


--
-- Name: COLUMN task.skip_reason; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.skip_reason IS 'Why it was skipped, for people.';


--
-- Name: COLUMN task.retention; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.retention IS 'How long its ended runs are kept; NULL: as long as the sidecars say (--retention); 0: they are never removed.';


--
-- Name: COLUMN task.labels; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.labels IS 'A JSON object of the user''s own.';


--
-- Name: COLUMN task.created_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.created_at IS 'When it was inserted.';


--
-- Name: COLUMN task.version_key; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.version_key IS 'Internal: version as text that sorts like it.';


--
-- Name: COLUMN task.outcome; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.outcome IS 'Internal: how the newest ended run of a plan''s task ended for good.';


--
-- Name: COLUMN task.outcome_round; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.outcome_round IS 'Internal: the plan''s round for which a FAILED outcome counts.';


--
-- Name: COLUMN task.outcome_run_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.outcome_run_id IS 'Internal: that run. Ids are drawn in another order than runs live, and finished_at can be changed.';


--
-- Name: COLUMN task.schedule; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.schedule IS 'When it recurs: five cron fields, @hourly to @yearly, @every 10m, @after 10m, - for disabled; NULL: it doesn''t. Only tasks without a plan.';


--
-- Name: COLUMN task.time_zone; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.time_zone IS 'IANA name of the zone that cron fields are read in.';


--
-- Name: COLUMN task.misfire; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.misfire IS 'What becomes of ticks that nobody could start in time: SKIP: nothing; ONCE: one run for all; ALL: each is run.';


--
-- Name: COLUMN task.starts_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.starts_at IS 'No tick before this moment; the grid of @every begins here.';


--
-- Name: COLUMN task.ends_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.ends_at IS 'No tick after this moment.';


--
-- Name: COLUMN task.overlap; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.overlap IS 'What becomes of ticks that pass while a run is under way: SKIP: nothing; QUEUE: they are run after it, one by one.';


--
-- Name: COLUMN task.state; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.state IS 'Handed to each run as the key state under its payload; replaced by the state of a DONE run''s result.';


--
-- Name: COLUMN task.schedule_error; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.schedule_error IS 'Why the schedule was paused by itself: it could not be followed any more. Resuming the task clears it.';


--
-- Name: COLUMN task.scheduled_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.scheduled_at IS 'Internal: when its schedule last changed.';


--
-- Name: COLUMN task.schedule_parts; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.schedule_parts IS 'Internal: the schedule as numbers, so that the end of a run needn''t read its text.';


--
-- Name: COLUMN task.failure_log_level; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.failure_log_level IS 'The level of the lines that say that a run of it FAILED: debug, info, warn or error.';


--
-- Name: COLUMN task.retention_by_status; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task.retention_by_status IS 'How long its ended runs are kept, by status: {"DONE": "1 day", "FAILED": "90 days"}. A status that isn''t named is kept as retention says; 0: never removed.';


--
-- Name: task_run; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.task_run (
    id bigint NOT NULL,
    task_id bigint NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    retry_of bigint,
    root_id bigint NOT NULL,
    status text DEFAULT 'PENDING'::text NOT NULL,
    run_at timestamp with time zone DEFAULT now() NOT NULL,
    input jsonb DEFAULT '{}'::jsonb NOT NULL,
    priority integer NOT NULL,
    idempotency_key text,
    creator text NOT NULL,
    plan_id bigint,
    type text NOT NULL,
    queue text NOT NULL,
    database_id text,
    version text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    available_at timestamp with time zone,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    deadline timestamp with time zone,
    cancel_requested_at timestamp with time zone,
    cancel_reason text,
    progress jsonb,
    progress_at timestamp with time zone,
    result jsonb DEFAULT '{}'::jsonb NOT NULL,
    version_key text COLLATE pg_catalog."C",
    sequential boolean NOT NULL,
    prev_status text,
    edited_directly boolean,
    cause text,
    judge_at timestamp with time zone,
    failures integer DEFAULT 0 NOT NULL,
    recoveries integer DEFAULT 0 NOT NULL,
    retry_run_id bigint,
    round integer,
    tick timestamp with time zone,
    missed_at timestamp with time zone,
    own_retention boolean,
    handles bigint,
    replica_id text,
    claim_hash bytea
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='2000', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');


--
-- Name: TABLE task_run; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.task_run IS 'One run of a task. Insert task_id and what you like of run_at, input, priority and idempotency_key.';


--
-- Name: COLUMN task_run.id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.id IS 'Key.';


--
-- Name: COLUMN task_run.task_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.task_id IS 'The task to run.';


--
-- Name: COLUMN task_run.attempt; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.attempt IS '0 for the first run of a chain, one more for each retry.';


--
-- Name: COLUMN task_run.retry_of; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.retry_of IS 'The run that this one follows.';


--
-- Name: COLUMN task_run.root_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.root_id IS 'The first run of the chain.';


--
-- Name: COLUMN task_run.status; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.status IS 'PENDING, AVAILABLE, RUNNING, then DONE, FAILED or CANCELED; no way back.';


--
-- Name: COLUMN task_run.run_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.run_at IS 'Not before this moment.';


--
-- Name: COLUMN task_run.input; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.input IS 'Laid over the task''s payload at the claim, top-level keys win: a JSON object of at most 1 MiB.';


--
-- Name: COLUMN task_run.priority; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.priority IS 'Higher is promoted and claimed first. NULL at insert: the task''s.';


--
-- Name: COLUMN task_run.idempotency_key; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.idempotency_key IS 'Unique per task as long as the run is kept.';


--
-- Name: COLUMN task_run.creator; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.creator IS 'The role that inserted it.';


--
-- Name: COLUMN task_run.plan_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.plan_id IS 'Copied from the task.';


--
-- Name: COLUMN task_run.type; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.type IS 'Copied from the task.';


--
-- Name: COLUMN task_run.queue; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.queue IS 'Copied from the task.';


--
-- Name: COLUMN task_run.database_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.database_id IS 'Copied from the task.';


--
-- Name: COLUMN task_run.version; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.version IS 'Copied from the task.';


--
-- Name: COLUMN task_run.created_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.created_at IS 'When it was inserted.';


--
-- Name: COLUMN task_run.available_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.available_at IS 'When it was promoted.';


--
-- Name: COLUMN task_run.started_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.started_at IS 'When it was claimed.';


--
-- Name: COLUMN task_run.finished_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.finished_at IS 'When it ended.';


--
-- Name: COLUMN task_run.updated_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.updated_at IS 'When its status last changed.';


--
-- Name: COLUMN task_run.deadline; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.deadline IS 'When its timeout is over; NULL: never.';


--
-- Name: COLUMN task_run.cancel_requested_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.cancel_requested_at IS 'When a cancel was asked for; setting it asks for one.';


--
-- Name: COLUMN task_run.cancel_reason; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.cancel_reason IS 'Why, for people.';


--
-- Name: COLUMN task_run.progress; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.progress IS 'What the executor last reported.';


--
-- Name: COLUMN task_run.progress_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.progress_at IS 'When it did.';


--
-- Name: COLUMN task_run.result; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.result IS 'What the run left behind; of FAILED and CANCELED runs with code and detail.';


--
-- Name: COLUMN task_run.version_key; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.version_key IS 'Internal: version as text that sorts like it.';


--
-- Name: COLUMN task_run.sequential; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.sequential IS 'Internal: copied from the task.';


--
-- Name: COLUMN task_run.prev_status; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.prev_status IS 'Internal: the status before, where the newest version of the row is a change of status.';


--
-- Name: COLUMN task_run.edited_directly; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.edited_directly IS 'Internal: the last edge was written by hand, and a trigger announced it; NULL: the statement that took it announced it itself.';


--
-- Name: COLUMN task_run.cause; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.cause IS 'Internal: what the last judgement left a PENDING run waiting for; PLAN: for its plan alone (PLAN_LIMIT, PAUSED, PLAN_FAILED of it); DATABASE: for the runs on its database (VERSION, DATABASE_BUSY); others: that cause. Of an AVAILABLE run UNTOLD: its INSERT made it so, and nobody has been notified of that.';


--
-- Name: COLUMN task_run.judge_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.judge_at IS 'Internal: when a PENDING run must be judged; NULL: not before something happens.';


--
-- Name: COLUMN task_run.failures; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.failures IS 'Internal: failures in this chain since the last retry that a person asked for.';


--
-- Name: COLUMN task_run.recoveries; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.recoveries IS 'Internal: successors in a row that this chain got for lost replicas.';


--
-- Name: COLUMN task_run.retry_run_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.retry_run_id IS 'Internal: the run that follows this one.';


--
-- Name: COLUMN task_run.round; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.round IS 'Internal: the round of its plan that it belongs to.';


--
-- Name: COLUMN task_run.tick; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.tick IS 'The moment of its task''s schedule that it stands for; NULL: somebody asked for it.';


--
-- Name: COLUMN task_run.missed_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.missed_at IS 'Internal: when its tick counts as missed, where missed ticks are skipped.';


--
-- Name: COLUMN task_run.own_retention; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.own_retention IS 'Internal: its task had a retention when it was inserted; NULL: it had none.';


--
-- Name: COLUMN task_run.handles; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.handles IS 'Internal: the failed run for which this is the run of its task''s on_failure_task.';


--
-- Name: COLUMN task_run.replica_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.replica_id IS 'The replica that runs or ran it; NULL while RUNNING: the app has taken it over.';


--
-- Name: COLUMN task_run.claim_hash; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run.claim_hash IS 'Internal: SHA-256 of the claim that the holder was given.';


--
-- Name: able_replicas(rowrun.task_run, timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.able_replicas(r rowrun.task_run, t timestamp with time zone) RETURNS TABLE(replica_id text)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT h.replica_id
    FROM (rowrun.replica_heartbeat h
      CROSS JOIN ( SELECT k_1.payload
            FROM rowrun.task k_1
           WHERE (k_1.id = (able_replicas.r).task_id)) k)
   WHERE rowrun.takes(h.*, able_replicas.t, (able_replicas.r).queue, (able_replicas.r).type, (able_replicas.r).database_id, k.payload);
END;


--
-- Name: FUNCTION able_replicas(r rowrun.task_run, t timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.able_replicas(r rowrun.task_run, t timestamp with time zone) IS 'Internal: live replicas that could run a run.';


--
-- Name: address_event(bigint[], text, bigint, integer, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.address_event(webhooks bigint[], event text, plan_id bigint, round integer, standard text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_variable
DECLARE
    base  text := 'urn:uuid:' || (SELECT d.id FROM deployment d);
    w     record;
    named text;
    made  boolean := false;
BEGIN
    FOR w IN SELECT h.id, h.format FROM webhook h WHERE h.id = ANY (webhooks) ORDER BY h.id LOOP
        named := 'msg_' || replace(gen_random_uuid()::text, '-', '');
        INSERT INTO webhook_delivery AS d (id, webhook_id, plan_id, round, event_type, message_id, payload, content_type, format, standard)
        VALUES (next_delivery_id(), w.id, plan_id, round, event, named, webhook_body(w.format, named, standard, base), webhook_content_type(w.format),
            w.format, CASE WHEN w.format <> 'standard' THEN standard END)
        ON CONFLICT ON CONSTRAINT webhook_delivery_once DO NOTHING;
        made := made OR FOUND;
    END LOOP;
    RETURN made;
END $$;


--
-- Name: FUNCTION address_event(webhooks bigint[], event text, plan_id bigint, round integer, standard text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.address_event(webhooks bigint[], event text, plan_id bigint, round integer, standard text) IS 'Internal: the messages of an event.';


--
-- Name: address_task_event(bigint[], text, bigint, bigint, bigint, text, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.address_task_event(webhooks bigint[], event text, run_id bigint, root_id bigint, task_id bigint, task_type text, data text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_variable
DECLARE
    base  text := 'urn:uuid:' || (SELECT d.id FROM deployment d);
    plain text := '{"type":' || to_json(event) || ',"timestamp":"' || to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
        || '","data":' || data || '}';
    w     record;
    named text;
    made  boolean := false;
BEGIN
    FOR w IN SELECT h.id, h.format FROM webhook h WHERE h.id = ANY (webhooks) ORDER BY h.id LOOP
        named := 'msg_' || replace(gen_random_uuid()::text, '-', '');
        INSERT INTO webhook_delivery AS d (id, webhook_id, run_id, root_id, task_id, task_type, event_type, message_id, payload, content_type, format, standard)
        VALUES (next_delivery_id(), w.id, run_id, root_id, task_id, task_type, event, named, webhook_body(w.format, named, plain, base),
            webhook_content_type(w.format), w.format, CASE WHEN w.format <> 'standard' THEN plain END)
        ON CONFLICT DO NOTHING;
        made := made OR FOUND;
    END LOOP;
    RETURN made;
END $$;


--
-- Name: FUNCTION address_task_event(webhooks bigint[], event text, run_id bigint, root_id bigint, task_id bigint, task_type text, data text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.address_task_event(webhooks bigint[], event text, run_id bigint, root_id bigint, task_id bigint, task_type text, data text) IS 'Internal: the messages of an event outside plans.';


--
-- Name: ago(interval); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.ago(d interval) RETURNS text
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT
         CASE
             WHEN (d >= '1 day'::interval) THEN ((((EXTRACT(day FROM justify_hours(d)))::integer || ' d '::text) || (EXTRACT(hour FROM justify_hours(d)))::integer) || ' h'::text)
             WHEN (d >= '01:00:00'::interval) THEN ((((floor((EXTRACT(epoch FROM d) / (3600)::numeric)))::integer || ' h '::text) || (EXTRACT(minute FROM d))::integer) || ' min'::text)
             WHEN (d >= '00:01:00'::interval) THEN ((((floor((EXTRACT(epoch FROM d) / (60)::numeric)))::integer || ' min '::text) || (floor(EXTRACT(second FROM d)))::integer) || ' s'::text)
             ELSE (round(EXTRACT(epoch FROM d), 1) || ' s'::text)
         END AS "case";
END;


--
-- Name: FUNCTION ago(d interval); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.ago(d interval) IS 'Internal: a duration for people.';


--
-- Name: announce_parts(text[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.announce_parts(transitions text[]) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    payload text := '[' || array_to_string(transitions, ',') || ']';
    said integer := 0;
    -- As many as fit if all are of one size, which they nearly are; a look at each would take three times as long.
    few integer := greatest(1, 7700 * cardinality(transitions)::bigint / octet_length(payload));
BEGIN
    WHILE said < cardinality(transitions) LOOP
        payload := '[' || array_to_string(transitions[said + 1 : said + few], ',') || ']';
        IF octet_length(payload) <= 7900 THEN
            IF pg_notify('rowrun_task_run', payload) IS NULL THEN NULL; END IF;
            said := said + few;
        ELSE
            few := few / 2; -- one fits: ids and a replica's id are bounded
        END IF;
    END LOOP;
    RETURN true;
END $$;


--
-- Name: FUNCTION announce_parts(transitions text[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.announce_parts(transitions text[]) IS 'Internal: notifies transitions that one notification can''t hold, in as few as they fit.';


--
-- Name: may_notify(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.may_notify() RETURNS boolean
    LANGUAGE sql
    RETURN (pg_notification_queue_usage() < (0.5)::double precision);


--
-- Name: FUNCTION may_notify(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.may_notify() IS 'Internal: whether the server''s queue of notifications takes more.';


--
-- Name: announce(text[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.announce(transitions text[]) RETURNS boolean
    LANGUAGE sql
    RETURN CASE WHEN ((cardinality(transitions) IS NULL) OR (NOT rowrun.may_notify())) THEN false WHEN (octet_length(array_to_string(transitions, ','::text)) > 7898) THEN rowrun.announce_parts(transitions) ELSE (pg_notify('rowrun_task_run'::text, (('['::text || array_to_string(transitions, ','::text)) || ']'::text)) IS NULL) END;


--
-- Name: FUNCTION announce(transitions text[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.announce(transitions text[]) IS 'Internal: notifies transitions.';


--
-- Name: announce_failures(bigint[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.announce_failures(run_ids bigint[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    failed record;
    made boolean := false;
BEGIN
    FOR failed IN
        SELECT r.id, r.root_id, r.task_id, r.type, wanted.ids AS webhooks, row_to_json(d)::text AS data
        FROM task_run r
        JOIN task k ON k.id = r.task_id
        CROSS JOIN LATERAL (
            SELECT array_agg(w.id) AS ids FROM webhook w
            WHERE w.enabled AND 'RUN_FAILED' = ANY (w.events) AND filter_fits(w.filter, k.id, k.name, r.type, r.queue, k.labels)) wanted
        CROSS JOIN LATERAL (
            SELECT r.id AS run_id, r.root_id, r.task_id, k.name AS task, r.type, r.queue, r.database_id, r.attempt,
                   left(r.result ->> 'code', 100) AS code, left(coalesce(r.result ->> 'detail', ''), 2000) AS detail,
                   'Run failed - ' || task_called(k.id, k.name) || ' failed' AS message) d
        WHERE r.id = ANY (run_ids) AND r.plan_id IS NULL AND r.status = 'FAILED' AND r.retry_run_id IS NULL
          AND (r.result ->> 'code' IN ('RELEASED', 'SNOOZED')) IS NOT TRUE AND wanted.ids IS NOT NULL
        ORDER BY r.id
    LOOP
        made := address_task_event(failed.webhooks, 'RUN_FAILED', failed.id, failed.root_id, failed.task_id, failed.type, failed.data) OR made;
    END LOOP;
    IF made THEN
        PERFORM notify_look();
    END IF;
END $$;


--
-- Name: FUNCTION announce_failures(run_ids bigint[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.announce_failures(run_ids bigint[]) IS 'Internal: decides RUN_FAILED of runs that have just ended.';


--
-- Name: announce_one(text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.announce_one(transitions text) RETURNS boolean
    LANGUAGE sql
    RETURN CASE WHEN rowrun.may_notify() THEN (pg_notify('rowrun_task_run'::text, (('['::text || transitions) || ']'::text)) IS NULL) ELSE false END;


--
-- Name: FUNCTION announce_one(transitions text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.announce_one(transitions text) IS 'Internal: notifies the transitions of one run.';


--
-- Name: announce_orphans(text[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.announce_orphans(types text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    orphan record;
    made boolean := false;
BEGIN
    FOR orphan IN
        SELECT o.type, wanted.ids AS webhooks, row_to_json(d)::text AS data
        FROM orphan_type o
        CROSS JOIN LATERAL (
            SELECT array_agg(w.id) AS ids FROM webhook w
            WHERE w.enabled AND 'TYPE_ORPHANED' = ANY (w.events) AND filter_fits(w.filter, NULL, NULL, o.type, NULL, NULL)) wanted
        CROSS JOIN LATERAL (
            SELECT o.type, o.pending, o.available, to_char(o.first_seen AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS since,
                   'Type orphaned - ' || (o.pending + o.available) || CASE o.pending + o.available WHEN 1 THEN ' run' ELSE ' runs' END || ' of ' || o.type
                   || ' wait, and no live replica runs them' AS message) d
        WHERE o.type = ANY (types) AND wanted.ids IS NOT NULL ORDER BY o.type
    LOOP
        made := address_task_event(orphan.webhooks, 'TYPE_ORPHANED', NULL, NULL, NULL, orphan.type, orphan.data) OR made;
    END LOOP;
    IF made THEN
        PERFORM notify_look();
    END IF;
END $$;


--
-- Name: FUNCTION announce_orphans(types text[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.announce_orphans(types text[]) IS 'Internal: decides TYPE_ORPHANED of types that nobody has begun to run.';


--
-- Name: announce_pause(bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.announce_pause(task_id bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    stopped record;
BEGIN
    SELECT k.id, k.type, wanted.ids AS webhooks, row_to_json(d)::text AS data INTO stopped
    FROM task k
    CROSS JOIN LATERAL (
        SELECT array_agg(w.id) AS ids FROM webhook w
        WHERE w.enabled AND 'SCHEDULE_PAUSED' = ANY (w.events) AND filter_fits(w.filter, k.id, k.name, k.type, k.queue, k.labels)) wanted
    CROSS JOIN LATERAL (
        SELECT k.id AS task_id, k.name AS task, k.type, k.queue, k.schedule, k.time_zone, k.schedule_error AS detail,
               'Schedule paused - ' || task_called(k.id, k.name) || ' runs no more' AS message) d
    WHERE k.id = announce_pause.task_id AND k.schedule_error IS NOT NULL AND wanted.ids IS NOT NULL;
    IF FOUND AND address_task_event(stopped.webhooks, 'SCHEDULE_PAUSED', NULL, NULL, stopped.id, stopped.type, stopped.data) THEN
        PERFORM notify_look();
    END IF;
END $$;


--
-- Name: FUNCTION announce_pause(task_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.announce_pause(task_id bigint) IS 'Internal: decides SCHEDULE_PAUSED of a task that has just paused itself.';


--
-- Name: announce_plans(bigint[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.announce_plans(plan_ids bigint[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    due record;
    p rowrun.plan;
    what text;
    said record;
    wanted bigint[];
    made integer := 0;
    outbox boolean := false;
BEGIN
    FOR due IN
        SELECT q AS plan, e.event FROM plan q CROSS JOIN LATERAL rowrun.due_event(q) e
        WHERE q.id = ANY (plan_ids) AND q.announced_round < q.round AND e.event IS NOT NULL ORDER BY q.id
    LOOP
        p := due.plan;
        what := due.event;
        UPDATE plan SET announced_round = p.round WHERE id = p.id;
        INSERT INTO webhook_delivery_log AS l (plan_id, event_type, round, retry_count, delivered_at)
        VALUES (p.id, what, p.round, p.retry_count, clock_timestamp())
        ON CONFLICT (plan_id) DO UPDATE
        SET event_type = excluded.event_type, round = excluded.round, retry_count = excluded.retry_count, delivered_at = excluded.delivered_at
        WHERE l.round < excluded.round;
        IF NOT FOUND THEN
            CONTINUE;
        END IF;
        made := made + 1;
        SELECT array_agg(w.id) INTO wanted FROM webhook w WHERE w.project = p.project AND w.enabled AND what = ANY (w.events);
        IF wanted IS NOT NULL THEN
            SELECT * INTO said FROM plan_message(p, what);
            outbox := address_event(wanted, what, p.id, p.round, said.standard) OR outbox;
        END IF;
    END LOOP;
    IF outbox THEN
        PERFORM notify_look();
    END IF;
    RETURN made;
END $$;


--
-- Name: FUNCTION announce_plans(plan_ids bigint[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.announce_plans(plan_ids bigint[]) IS 'Internal: decides the events of plans that the caller holds.';


--
-- Name: apply_verdicts(record, rowrun.claim_request); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.apply_verdicts(v record, request rowrun.claim_request, OUT promoted integer, OUT next_ms double precision, OUT claims rowrun.claim[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    step record;
BEGIN
    promoted := 0;
    claims := '{}';
    IF cardinality(v.open_ids) > 0 THEN
        -- Only the runs that have a database to themselves need the savepoint.
        IF v.exclusive THEN
            step := let_start_singly(v.open_ids, v.t, request);
        ELSE
            step := let_start(v.open_ids, v.t, request);
        END IF;
        promoted := cardinality(step.ids);
        claims := step.claims;
    END IF;
    IF cardinality(v.open_ids) < cardinality(v.ids) THEN
        IF 'DEPENDENCY' = ANY (v.causes) THEN
            PERFORM mark_unseen_ends(v.ids, v.causes);
        END IF;
        PERFORM write_causes(v.ids, v.causes);
        IF 'RUN_AT' = ANY (v.causes) THEN
            -- Their marks had them judged before they are due: this pass is the only one that is sure to be told of their time.
            next_ms := (SELECT extract(epoch FROM min(r.run_at) - v.t) * 1000
                        FROM task_run r JOIN unnest(v.ids, v.causes) h(id, cause) ON h.id = r.id WHERE h.cause = 'RUN_AT');
        END IF;
    END IF;
END $$;


--
-- Name: FUNCTION apply_verdicts(v record, request rowrun.claim_request, OUT promoted integer, OUT next_ms double precision, OUT claims rowrun.claim[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.apply_verdicts(v record, request rowrun.claim_request, OUT promoted integer, OUT next_ms double precision, OUT claims rowrun.claim[]) IS 'Internal: promotes and claims runs, and notes what holds others.';


--
-- Name: arrival(rowrun.task_run); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.arrival(r rowrun.task_run) RETURNS text
    LANGUAGE sql STABLE
    RETURN (((((((('{"run_id":'::text || (r).id) || ',"task_id":'::text) || (r).task_id) || ',"plan_id":'::text) || COALESCE(((r).plan_id)::text, 'null'::text)) || ',"from":"PENDING","to":"AVAILABLE","attempt":'::text) || (r).attempt) || ',"replica_id":null}'::text);


--
-- Name: FUNCTION arrival(r rowrun.task_run); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.arrival(r rowrun.task_run) IS 'Internal: that a run has become AVAILABLE, as it is notified with what follows.';


--
-- Name: gate_mark; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.gate_mark (
    id bigint NOT NULL,
    kind text NOT NULL,
    run_id bigint,
    database_id text,
    plan_id bigint,
    task_id bigint,
    round integer,
    by_run boolean,
    wide boolean,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT gate_mark_kind_check CHECK ((kind = ANY (ARRAY['RUN'::text, 'TASK'::text, 'DATABASE'::text, 'PLAN'::text, 'PLAN_CHANGED'::text, 'DEPENDENCY'::text, 'PLAN_FAILED'::text, 'PAUSED'::text, 'NO_REPLICA'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_insert_threshold='1000', autovacuum_vacuum_insert_scale_factor='0');


--
-- Name: TABLE gate_mark; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.gate_mark IS 'Where a gate may have opened: written by whatever opens one, taken by the next promote pass.';


--
-- Name: COLUMN gate_mark.id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.gate_mark.id IS 'Key; taken in this order.';


--
-- Name: COLUMN gate_mark.kind; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.gate_mark.kind IS 'RUN: judge it. TASK: judge the run of a task that waits for less. DATABASE: a run there ended. PLAN: it has new runs, a slot or the plan became free, or its round may have its event. PLAN_CHANGED: a PLAN that was paused, resumed or given another limit, so that others on its databases may go on too. DEPENDENCY: the task is done or skipped. PLAN_FAILED: a failed version of the plan and database was mended. PAUSED: a task goes on. NO_REPLICA: a replica came that may fit.';


--
-- Name: COLUMN gate_mark.run_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.gate_mark.run_id IS 'For RUN.';


--
-- Name: COLUMN gate_mark.database_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.gate_mark.database_id IS 'For DATABASE and FAILURE.';


--
-- Name: COLUMN gate_mark.plan_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.gate_mark.plan_id IS 'For PLAN, PLAN_CHANGED and PLAN_FAILED.';


--
-- Name: COLUMN gate_mark.task_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.gate_mark.task_id IS 'For TASK, DEPENDENCY and PAUSED.';


--
-- Name: COLUMN gate_mark.round; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.gate_mark.round IS 'For PLAN: the round that has begun with what left the mark.';


--
-- Name: COLUMN gate_mark.by_run; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.gate_mark.by_run IS 'Whether a run began it.';


--
-- Name: COLUMN gate_mark.wide; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.gate_mark.wide IS 'For PLAN: the next of its runs may be held by more than the plan; look at more than it has slots.';


--
-- Name: COLUMN gate_mark.at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.gate_mark.at IS 'When it was left: not before the end that left it, nor after its commit.';


--
-- Name: asked_for(timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.asked_for(t timestamp with time zone) RETURNS TABLE(next_ms double precision, marked boolean, due boolean, ungated boolean)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT (EXTRACT(epoch FROM (LEAST(( SELECT r.judge_at
            FROM rowrun.task_run r
           WHERE ((r.judge_at > asked_for.t) AND (r.plan_id IS NULL) AND (r.database_id IS NULL))
           ORDER BY r.judge_at
          LIMIT 1), ( SELECT r.judge_at
            FROM rowrun.task_run r
           WHERE ((r.judge_at > asked_for.t) AND ((r.plan_id IS NOT NULL) OR (r.database_id IS NOT NULL)))
           ORDER BY r.judge_at
          LIMIT 1)) - t)) * (1000)::numeric),
     (EXISTS ( SELECT
            FROM rowrun.gate_mark)) AS "exists",
     (EXISTS ( SELECT
            FROM rowrun.task_run r
           WHERE ((r.judge_at <= asked_for.t) AND ((r.plan_id IS NOT NULL) OR (r.database_id IS NOT NULL))))) AS "exists",
     (EXISTS ( SELECT
            FROM rowrun.task_run r
           WHERE ((r.judge_at <= asked_for.t) AND (r.plan_id IS NULL) AND (r.database_id IS NULL)))) AS "exists";
END;


--
-- Name: FUNCTION asked_for(t timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.asked_for(t timestamp with time zone) IS 'Internal: what asks for a judgement, and when the next run is due.';


--
-- Name: begin_round(bigint, integer, boolean); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.begin_round(plan_id bigint, next integer, by_run boolean) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    UPDATE plan p SET round = begin_round.next, retry_count = least(p.retry_count, 2147483646) + begin_round.by_run::int
    WHERE p.id = begin_round.plan_id AND p.round < begin_round.next;
    IF FOUND THEN
        DELETE FROM webhook_delivery_log l WHERE l.plan_id = begin_round.plan_id;
    END IF;
END $$;


--
-- Name: FUNCTION begin_round(plan_id bigint, next integer, by_run boolean); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.begin_round(plan_id bigint, next integer, by_run boolean) IS 'Internal: the next round of a plan that the caller holds.';


--
-- Name: begin_rounds(bigint[], boolean); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.begin_rounds(run_ids bigint[], wait boolean) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    wanted bigint[] := ARRAY(SELECT n.plan_id FROM rowrun.next_rounds(run_ids) n);
    held bigint[];
BEGIN
    IF cardinality(wanted) = 0 THEN
        RETURN '{}';
    END IF;
    IF wait THEN
        held := wanted;
        PERFORM FROM plan p WHERE p.id = ANY (wanted) ORDER BY p.id FOR NO KEY UPDATE;
    ELSE
        held := ARRAY(SELECT p.id FROM plan p WHERE p.id = ANY (wanted) ORDER BY p.id FOR NO KEY UPDATE SKIP LOCKED);
    END IF;
    PERFORM rowrun.begin_round(p.id, least(p.round, 2147483646) + 1, true)
    FROM plan p
    WHERE p.id = ANY (held) AND p.announced_round = p.round
      AND p.id IN (SELECT n.plan_id FROM rowrun.next_rounds(run_ids) n);
    RETURN ARRAY(SELECT r.id FROM task_run r WHERE r.id = ANY (run_ids) AND r.plan_id = ANY (wanted) AND r.plan_id <> ALL (held));
END $$;


--
-- Name: FUNCTION begin_rounds(run_ids bigint[], wait boolean); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.begin_rounds(run_ids bigint[], wait boolean) IS 'Internal: the rounds that runs begin.';


--
-- Name: cancel_plan(bigint, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.cancel_plan(plan_id bigint, reason text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    tasks bigint[];
    canceled bigint;
BEGIN
    PERFORM check_plan(cancel_plan.plan_id);
    -- With the plan held no run ends beside this, so that no automatic retry escapes.
    PERFORM FROM plan p WHERE p.id = cancel_plan.plan_id FOR NO KEY UPDATE;
    tasks := ARRAY(SELECT k.id FROM task k
                   WHERE k.id IN (SELECT r.task_id FROM task_run r WHERE r.plan_id = cancel_plan.plan_id
                                  AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
                   ORDER BY k.id FOR NO KEY UPDATE);
    PERFORM FROM task_run r WHERE r.task_id = ANY (tasks) AND r.plan_id IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')
    ORDER BY r.id FOR NO KEY UPDATE;
    UPDATE task_run r SET cancel_requested_at = clock_timestamp(), cancel_reason = cancel_plan.reason
    WHERE r.task_id = ANY (tasks) AND r.plan_id IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')
      AND r.cancel_requested_at IS NULL;
    GET DIAGNOSTICS canceled = ROW_COUNT;
    RETURN canceled;
END $$;


--
-- Name: FUNCTION cancel_plan(plan_id bigint, reason text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.cancel_plan(plan_id bigint, reason text) IS 'Cancels the unfinished runs of a plan, or (RUNNING) asks for it; how many.';


--
-- Name: cancel_run(bigint, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.cancel_run(run_id bigint, reason text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    run record;
    last bigint := cancel_run.run_id;
BEGIN
    PERFORM check_isolation();
    -- The end of a run with a tick makes the next, by its task: that is locked first.
    PERFORM FROM task k WHERE k.id = (SELECT r.task_id FROM task_run r WHERE r.id = cancel_run.run_id AND r.tick IS NOT NULL)
        FOR NO KEY UPDATE;
    LOOP
        -- The chain's last run, whichever of its runs was named; again if a successor came while we waited for the lock.
        SELECT r.id INTO last FROM task_run c JOIN task_run r ON r.root_id = c.root_id AND r.attempt > 0 AND r.retry_run_id IS NULL
        WHERE c.id = cancel_run.run_id AND (c.attempt > 0 OR c.retry_run_id IS NOT NULL);
        SELECT r.id, r.status, r.retry_run_id, r.cancel_requested_at, r.replica_id INTO run
        FROM task_run r WHERE r.id = coalesce(last, cancel_run.run_id) FOR NO KEY UPDATE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'run % does not exist', cancel_run.run_id USING ERRCODE = 'no_data_found', HINT = 'It may have been removed by retention.';
        END IF;
        EXIT WHEN run.retry_run_id IS NULL;
    END LOOP;
    IF run.status IN ('PENDING', 'AVAILABLE') OR (run.status = 'RUNNING' AND run.replica_id IS NULL) THEN
        UPDATE task_run r SET status = 'CANCELED', cancel_requested_at = clock_timestamp(), cancel_reason = cancel_run.reason
        WHERE r.id = run.id;
        RETURN 'CANCELED';
    END IF;
    IF run.status = 'RUNNING' AND run.cancel_requested_at IS NULL THEN
        UPDATE task_run r SET cancel_requested_at = clock_timestamp(), cancel_reason = cancel_run.reason WHERE r.id = run.id;
    END IF;
    RETURN run.status;
END $$;


--
-- Name: FUNCTION cancel_run(run_id bigint, reason text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.cancel_run(run_id bigint, reason text) IS 'Cancels the last run of a chain: at once, or (RUNNING) asks for it; the status after it.';


--
-- Name: cancel_tick(bigint, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.cancel_tick(run_id bigint, reason text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    t timestamptz := clock_timestamp();
    run rowrun.task_run;
BEGIN
    UPDATE rowrun.task_run r
    SET status = 'CANCELED', prev_status = 'PENDING', edited_directly = NULL, finished_at = t, updated_at = greatest(t, r.updated_at + interval '1 us'),
        cause = NULL, judge_at = NULL, cancel_reason = reason,
        result = jsonb_build_object('code', 'CANCELED', 'detail', 'Task run canceled: ' || reason)
    WHERE r.id = cancel_tick.run_id AND coalesce(r.status, '') = 'PENDING'
    RETURNING r.* INTO run;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM announce(ARRAY[transition(run)]);
    IF run.database_id IS NOT NULL THEN
        INSERT INTO rowrun.gate_mark (kind, database_id) VALUES ('DATABASE', run.database_id);
    END IF;
    RETURN true;
END $$;


--
-- Name: FUNCTION cancel_tick(run_id bigint, reason text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.cancel_tick(run_id bigint, reason text) IS 'Internal: cancels a waiting run for its schedule.';


--
-- Name: candidates(record, boolean, integer); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.candidates(marks record, due boolean, most integer, OUT ids bigint[], OUT of_plans bigint[], OUT cut_off text[], OUT more boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    t timestamptz := clock_timestamp();
    bound integer := least(2 * most, 2000);
    plans bigint[] := marks.plans;
    part bigint[] := '{}';
BEGIN
    more := false;
    IF due THEN
        part := ARRAY(SELECT r.id FROM task_run r
                      WHERE r.judge_at <= t AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL)
                      ORDER BY r.judge_at LIMIT 1000);
        part := part[1:most];
        more := cardinality(part) >= least(most, 1000);
        IF more THEN
            part := first_looks(part, t, most);
        END IF;
        -- Their plans are looked at too: a retry may have ended a STOP.
        SELECT coalesce(array_agg(DISTINCT q.plan_id), '{}') INTO plans
        FROM (SELECT unnest(plans) AS plan_id
              UNION SELECT r.plan_id FROM task_run r WHERE r.id = ANY (part) AND num_nonnulls(r.plan_id) = 1) q;
    END IF;
    ids := part || marks.runs;
    IF cardinality(marks.databases) > 0 THEN
        SELECT ids || coalesce(array_agg(w.id), '{}'), array_agg(DISTINCT w.database_id) FILTER (WHERE w.n = least(most, 200))
        INTO ids, cut_off FROM waiting_on_databases(marks.databases) w WHERE w.n <= most;
    END IF;
    IF cardinality(marks.dependents) > 0 THEN
        ids := ids || ARRAY(SELECT w.id FROM waiting_of_tasks(marks.dependents) w);
    END IF;
    IF cardinality(marks.tasks) > 0 THEN
        part := ARRAY(SELECT w.id FROM waiting_for_tasks(marks.tasks) w);
        ids := ids || part[1:bound];
        IF cardinality(part) >= bound THEN
            INSERT INTO gate_mark (kind, task_id) SELECT 'DEPENDENCY', unnest(marks.tasks);
            more := true;
        END IF;
    END IF;
    IF cardinality(marks.paused) > 0 THEN
        part := ARRAY(SELECT r.id FROM task_run r JOIN task k ON k.id = r.task_id
                      WHERE r.task_id = ANY (marks.paused) AND r.status = 'PENDING' AND r.cause = 'PAUSED' AND NOT k.paused
                      LIMIT 2000);
        ids := ids || part[1:bound];
        IF cardinality(part) >= bound THEN
            INSERT INTO gate_mark (kind, task_id) SELECT 'PAUSED', unnest(marks.paused);
            more := true;
        END IF;
    END IF;
    IF marks.failures IS NOT NULL THEN
        part := ARRAY(SELECT w.id FROM waiting_for_mends(marks.failures) w);
        ids := ids || part[1:bound];
        IF cardinality(part) >= bound THEN
            INSERT INTO gate_mark (kind, plan_id, database_id)
            SELECT 'PLAN_FAILED', f.plan_id, f.database_id FROM jsonb_to_recordset(marks.failures) AS f(plan_id bigint, database_id text);
            more := true;
        END IF;
    END IF;
    IF marks.replicas THEN
        part := ARRAY(SELECT w.id FROM waiting_for_replicas(t) w);
        ids := ids || part[1:bound];
        IF cardinality(part) >= bound THEN
            INSERT INTO gate_mark (kind) VALUES ('NO_REPLICA');
            more := true;
        END IF;
    END IF;
    IF cardinality(plans) > 0 THEN
        of_plans := ARRAY(SELECT w.id FROM waiting_of_plans(plans, marks.wide, most) w);
        ids := ids || of_plans;
    END IF;
END $$;


--
-- Name: FUNCTION candidates(marks record, due boolean, most integer, OUT ids bigint[], OUT of_plans bigint[], OUT cut_off text[], OUT more boolean); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.candidates(marks record, due boolean, most integer, OUT ids bigint[], OUT of_plans bigint[], OUT cut_off text[], OUT more boolean) IS 'Internal: the runs that a pass judges.';


--
-- Name: chat_line(text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.chat_line(line text) RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN regexp_replace(COALESCE(line, ''::text), '[[:cntrl:][:space:]]+'::text, ' '::text, 'g'::text);


--
-- Name: FUNCTION chat_line(line text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.chat_line(line text) IS 'Internal: a text on one line.';


--
-- Name: chat_message(jsonb); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.chat_message(message jsonb, OUT title text, OUT subject text, OUT lines text[]) RETURNS record
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    d    jsonb := message -> 'data';
    more bigint;
BEGIN
    title := left(chat_line(coalesce(d ->> 'message', message ->> 'type')), 120);
    subject := left(chat_line(concat_ws(', ', nullif(d ->> 'plan', ''), 'plan ' || (d ->> 'plan_id'), 'run ' || (d ->> 'run_id'),
        'task ' || (d ->> 'task_id'), 'type ' || (d ->> 'type'), 'project ' || nullif(d ->> 'project', 'default'))), 200);
    IF d ? 'failed_tasks' THEN
        SELECT array_agg(left(chat_line(coalesce(nullif(f ->> 'name', ''), 'Task ' || (f ->> 'task_id'))), 100)
                         || ': ' || left(chat_line(f ->> 'detail'), 290) ORDER BY n)
        INTO lines FROM jsonb_array_elements(d -> 'failed_tasks') WITH ORDINALITY AS x(f, n) WHERE n <= 5;
        more := (d ->> 'failed_task_count')::bigint - 5;
        IF more > 0 THEN
            lines := lines[1:4] || ('and ' || more + 1 || ' more');
        END IF;
    ELSIF d ->> 'detail' <> '' THEN
        lines := ARRAY[left(chat_line(d ->> 'detail'), 390)];
    END IF;
    lines := coalesce(lines, '{}');
END $$;


--
-- Name: FUNCTION chat_message(message jsonb, OUT title text, OUT subject text, OUT lines text[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.chat_message(message jsonb, OUT title text, OUT subject text, OUT lines text[]) IS 'Internal: what is said of a message in a chat.';


--
-- Name: check_id(bigint, regclass); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.check_id(id bigint, sequence regclass) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    IF (id >= 1 AND id <= pg_sequence_last_value(sequence)) IS NOT TRUE AND NOT is_owner() THEN
        RAISE EXCEPTION 'id % was not drawn from rowrun.%', id, sequence
            USING ERRCODE = 'RR003', HINT = 'Leave id out, or draw it: SELECT nextval(''rowrun.' || sequence || ''').';
    END IF;
END $$;


--
-- Name: FUNCTION check_id(id bigint, sequence regclass); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.check_id(id bigint, sequence regclass) IS 'Internal: refuses ids that no sequence has drawn.';


--
-- Name: check_isolation(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.check_isolation() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'rowrun''s functions need READ COMMITTED, this transaction is %', upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state', HINT = 'Call them in a transaction of their own, or begin it with ISOLATION LEVEL READ COMMITTED.';
    END IF;
END $$;


--
-- Name: FUNCTION check_isolation(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.check_isolation() IS 'Internal: refuses isolation levels above READ COMMITTED.';


--
-- Name: check_plan(bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.check_plan(plan_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    PERFORM rowrun.check_isolation();
    IF NOT EXISTS (SELECT FROM rowrun.plan p WHERE p.id = check_plan.plan_id) THEN
        RAISE EXCEPTION 'plan % does not exist', coalesce(check_plan.plan_id::text, 'NULL')
            USING ERRCODE = 'no_data_found', HINT = 'Look for its id in rowrun.plan.';
    END IF;
    -- Twice at once: the second waits until the first has committed, and finds nothing left. Not the plan's row: its
    -- runs go on ending while a user's transaction is open.
    PERFORM pg_advisory_xact_lock(1920298605, hashint8(check_plan.plan_id));
END $$;


--
-- Name: FUNCTION check_plan(plan_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.check_plan(plan_id bigint) IS 'Internal: the plan exists, and nobody else makes runs of it.';


--
-- Name: check_results(jsonb); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.check_results(results jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $_$
DECLARE
    wrong text;
BEGIN
    IF jsonb_typeof(results) IS DISTINCT FROM 'array' OR jsonb_array_length(results) > 1000 THEN
        RAISE EXCEPTION 'results is an array of at most 1000 objects'
            USING ERRCODE = 'RR003', HINT = '[{"run_id": 7, "claim": "...", "status": "DONE", "result": {}}]';
    END IF;
    SELECT format('entry %s of results: %s', x.n, w.wrong) INTO wrong
    FROM jsonb_array_elements(results) WITH ORDINALITY x(o, n)
    CROSS JOIN LATERAL (SELECT nullif(x.o -> 'result', 'null') AS result) r
    CROSS JOIN LATERAL (SELECT CASE
        WHEN jsonb_typeof(x.o) <> 'object' THEN 'it is no object'
        WHEN NOT is_uuid(x.o ->> 'claim') THEN 'claim is no uuid'
        WHEN coalesce(x.o ->> 'run_id', '1') !~ '^[0-9]{1,18}$' THEN 'run_id is no id'
        WHEN coalesce(x.o ->> 'status', '') NOT IN ('DONE', 'FAILED') THEN 'status is neither DONE nor FAILED'
        WHEN jsonb_typeof(r.result) <> 'object' THEN 'result is no object'
        WHEN jsonb_typeof(coalesce(x.o -> 'detail', 'null')) NOT IN ('string', 'null') THEN 'detail is no text'
        WHEN pg_column_size(r.result) >= 2000 AND (octet_length(r.result::text) > 1048576 OR too_deep(r.result))
            THEN 'result is larger than 1 MiB or deeper than 1,000 levels: keep it elsewhere and leave a reference' END AS wrong) w
    WHERE w.wrong IS NOT NULL
    ORDER BY x.n LIMIT 1;
    IF wrong IS NULL AND (SELECT count(*) > count(DISTINCT (o ->> 'claim')::uuid) FROM jsonb_array_elements(results) o) THEN
        wrong := 'results name a claim twice';
    END IF;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION '%', wrong USING ERRCODE = 'RR003', HINT = '[{"run_id": 7, "claim": "...", "status": "DONE", "result": {}}]';
    END IF;
END $_$;


--
-- Name: FUNCTION check_results(results jsonb); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.check_results(results jsonb) IS 'Internal: refuses results that finish_runs can''t read.';


--
-- Name: check_task_words(rowrun.task); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.check_task_words(k rowrun.task) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $_$
DECLARE
    near text;
BEGIN
    IF k.version !~ '^[0-9]{1,20}(\.[0-9]{1,20}){0,9}$' THEN
        RAISE EXCEPTION 'version "%" of a task is not numbers and dots', left(k.version, 100) USING ERRCODE = 'check_violation', CONSTRAINT = 'task_version_numbers_and_dots',
            HINT = 'Such as 1.10: versions are compared number by number, so that 1.10 comes after 1.9.';
    ELSIF k.type = 'DATABASE_MIGRATE' AND num_nonnulls(k.version, k.database_id) < 2 THEN
        RAISE EXCEPTION 'a DATABASE_MIGRATE task needs version and database_id' USING ERRCODE = 'check_violation', CONSTRAINT = 'task_migrate_needs_target',
            HINT = 'database_id is a name of --config''s databases, version orders the migrations of it.';
    ELSIF k.database_id IS NULL AND (k.version IS NOT NULL OR k.sequential) THEN
        RAISE EXCEPTION 'version and sequential order the runs of a database: the task needs database_id' USING ERRCODE = 'check_violation', CONSTRAINT = 'task_order_needs_database',
            HINT = 'For types other than SQL and DATABASE_MIGRATE database_id is only a name to order by.';
    ELSIF k.on_stale NOT IN ('FAIL', 'RETRY', 'CANCEL') AND k.on_stale NOT ILIKE 'function%' THEN -- of that task_recovery_check tells more
        RAISE EXCEPTION 'on_stale "%" of a task is none of FAIL, RETRY, CANCEL', left(k.on_stale, 100) USING ERRCODE = 'check_violation', CONSTRAINT = 'task_on_stale_fail_retry_or_cancel',
            HINT = 'RETRY: the run may begin again where its replica was lost. FAIL, the default: nobody knows how far it came.';
    ELSIF k.max_attempts < 1 THEN
        RAISE EXCEPTION 'max_attempts of a task is at least 1, not %', k.max_attempts USING ERRCODE = 'check_violation', CONSTRAINT = 'task_max_attempts_from_1',
            HINT = '1, the default: no retry.';
    END IF;
    IF k.type IN ('NOOP', 'SQL', 'DATABASE_MIGRATE', 'HTTP', 'COMMAND') THEN
        RETURN;
    END IF;
    near := replace(replace(upper(btrim(k.type)), '-', '_'), ' ', '_');
    IF near NOT IN ('NOOP', 'SQL', 'DATABASE_MIGRATE', 'HTTP', 'COMMAND') THEN
        SELECT y INTO near FROM replica_heartbeat h CROSS JOIN unnest(h.types) y
        WHERE h.state <> 'DEAD' AND lower(y) = lower(k.type)
        ORDER BY y = k.type DESC LIMIT 1;
        IF near = k.type THEN
            near := NULL;
        END IF;
    END IF;
    IF near IS NOT NULL THEN
        RAISE NOTICE 'type "%" is a type of your own, which nobody may run: did you mean %?', left(k.type, 100), left(near, 100)
            USING HINT = 'Types are told apart by case. Runs of a type that nobody runs wait: SELECT * FROM rowrun.waiting().';
    END IF;
END $_$;


--
-- Name: FUNCTION check_task_words(k rowrun.task); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.check_task_words(k rowrun.task) IS 'Internal: says what is wrong with the words of a task, and what was meant.';


--
-- Name: claim_runs(uuid, text, text[], integer, interval); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.claim_runs(request_id uuid, worker text, types text[], max integer DEFAULT 1, lease interval DEFAULT '00:01:00'::interval) RETURNS TABLE(run_id bigint, claim uuid, type text, payload jsonb, attempt integer, root_id bigint, deadline timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    wrong text[] := worker_problem(request_id, worker, types, max, lease);
    hash bytea := sha256(uuid_send(claim_runs.request_id));
    known record;
    replica text;
BEGIN
    PERFORM check_isolation();
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION '%', wrong[1] USING ERRCODE = 'RR003', HINT = wrong[2];
    END IF;
    PERFORM pg_advisory_xact_lock(request_key(hash));
    SELECT q.results_hash IS NULL AND q.made_at < clock_timestamp() - interval '30 s' AS old INTO known FROM worker_request q WHERE q.request_hash = hash;
    IF FOUND THEN
        RETURN QUERY SELECT * FROM claimed_by_request(claim_runs.request_id);
        IF FOUND OR NOT known.old THEN
            RETURN;
        END IF;
    END IF;
    replica := register_worker(worker, types, max, lease);
    IF replica IS NOT NULL THEN
        RETURN QUERY SELECT * FROM take_for_worker(claim_runs.request_id, replica, types, max, lease);
    END IF;
END $$;


--
-- Name: FUNCTION claim_runs(request_id uuid, worker text, types text[], max integer, lease interval); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.claim_runs(request_id uuid, worker text, types text[], max integer, lease interval) IS 'Hands AVAILABLE runs to a worker, each with a claim; the same request is given the same ones. A claim holds from the COMMIT.';


--
-- Name: claimed_by_request(uuid); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.claimed_by_request(request_id uuid) RETURNS TABLE(run_id bigint, claim uuid, type text, payload jsonb, attempt integer, root_id bigint, deadline timestamp with time zone)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT r.id, worker_claim_of(claimed_by_request.request_id, r.id), r.type, worker_payload(k, r), r.attempt, r.root_id, r.deadline
    FROM worker_request q CROSS JOIN LATERAL unnest(q.run_ids) i(id)
    JOIN worker_claim c ON c.run_id = i.id AND c.claim_hash = sha256(uuid_send(worker_claim_of(claimed_by_request.request_id, i.id)))
    JOIN task_run r ON r.id = i.id JOIN task k ON k.id = r.task_id
    WHERE q.request_hash = sha256(uuid_send(claimed_by_request.request_id)) AND coalesce(r.status, '') = 'RUNNING' AND r.claim_hash = c.claim_hash
    ORDER BY r.priority DESC, r.run_at, r.id;
END $$;


--
-- Name: FUNCTION claimed_by_request(request_id uuid); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.claimed_by_request(request_id uuid) IS 'Internal: what a worker holds by a request.';


--
-- Name: clock_change(text, timestamp with time zone, timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.clock_change(zone text, since timestamp with time zone, until timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    before bigint := floor(extract(epoch FROM since));
    reached bigint := ceil(extract(epoch FROM until));
    middle bigint;
    new_offset interval := rowrun.utc_offset(zone, until);
BEGIN
    WHILE reached - before > 1 LOOP
        middle := (before + reached) / 2;
        IF rowrun.utc_offset(zone, to_timestamp(middle)) = new_offset THEN
            reached := middle;
        ELSE
            before := middle;
        END IF;
    END LOOP;
    RETURN to_timestamp(reached);
END $$;


--
-- Name: FUNCTION clock_change(zone text, since timestamp with time zone, until timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.clock_change(zone text, since timestamp with time zone, until timestamp with time zone) IS 'Internal: when a zone''s clock was put forward or back.';


--
-- Name: own_cause(rowrun.task, timestamp with time zone, timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.own_cause(k rowrun.task, missed_at timestamp with time zone, t timestamp with time zone) RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN (k).skipped THEN 'SKIPPED'::text WHEN (k).paused THEN 'PAUSED'::text WHEN (missed_at < t) THEN 'MISSED'::text ELSE NULL::text END;


--
-- Name: FUNCTION own_cause(k rowrun.task, missed_at timestamp with time zone, t timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.own_cause(k rowrun.task, missed_at timestamp with time zone, t timestamp with time zone) IS 'Internal: what holds a run by its own task or tick.';


--
-- Name: plan; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.plan (
    id bigint NOT NULL,
    project text DEFAULT 'default'::text NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    parallel_limit integer,
    on_failure text DEFAULT 'STOP_DATABASE'::text NOT NULL,
    paused boolean DEFAULT false NOT NULL,
    round integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    announced_round integer DEFAULT 0 NOT NULL,
    retry_count integer DEFAULT 0 NOT NULL,
    CONSTRAINT plan_id_from_1 CHECK ((id >= 1)),
    CONSTRAINT plan_name_up_to_200_bytes CHECK ((octet_length(name) <= 200)),
    CONSTRAINT plan_on_failure_stop_database_stop_or_continue CHECK ((on_failure = ANY (ARRAY['STOP_DATABASE'::text, 'STOP'::text, 'CONTINUE'::text]))),
    CONSTRAINT plan_parallel_limit_from_1 CHECK ((parallel_limit >= 1)),
    CONSTRAINT plan_project_1_to_200_bytes CHECK (((project <> ''::text) AND (octet_length(project) <= 200)))
);


--
-- Name: TABLE plan; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.plan IS 'Tasks that belong together and whose failure or completion is announced.';


--
-- Name: COLUMN plan.id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.plan.id IS 'Key.';


--
-- Name: COLUMN plan.project; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.plan.project IS 'Whose plan it is; webhooks belong to projects.';


--
-- Name: COLUMN plan.name; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.plan.name IS 'Free text for people.';


--
-- Name: COLUMN plan.parallel_limit; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.plan.parallel_limit IS 'Most runs AVAILABLE or RUNNING at once; NULL: no limit.';


--
-- Name: COLUMN plan.on_failure; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.plan.on_failure IS 'What a task that failed for good holds back until it is retried or skipped: STOP_DATABASE: the plan''s later versions on its database (a CANCELED task holds these too); STOP: every other run of the plan; CONTINUE: nothing.';


--
-- Name: COLUMN plan.paused; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.plan.paused IS 'While true no run of the plan is promoted or claimed.';


--
-- Name: COLUMN plan.round; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.plan.round IS 'Counts announcements: the first is 1.';


--
-- Name: COLUMN plan.created_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.plan.created_at IS 'When it was inserted.';


--
-- Name: COLUMN plan.announced_round; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.plan.announced_round IS 'Internal: the last round whose event was decided; equal to round, or less while none was.';


--
-- Name: COLUMN plan.retry_count; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.plan.retry_count IS 'Internal: how many rounds were begun by runs after the first.';


--
-- Name: task_dependency; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.task_dependency (
    task_id bigint NOT NULL,
    depends_on_id bigint NOT NULL,
    CONSTRAINT task_dependency_not_itself CHECK ((task_id <> depends_on_id))
);


--
-- Name: TABLE task_dependency; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.task_dependency IS 'A task of a plan that waits until another one of that plan is DONE or SKIPPED.';


--
-- Name: COLUMN task_dependency.task_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_dependency.task_id IS 'The task that waits.';


--
-- Name: COLUMN task_dependency.depends_on_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_dependency.depends_on_id IS 'The task that it waits for.';


--
-- Name: unmet_dependency; Type: VIEW; Schema: rowrun; Owner: -
--

CREATE VIEW rowrun.unmet_dependency WITH (security_invoker='true') AS
 SELECT d.task_id,
    d.depends_on_id
   FROM (rowrun.task_dependency d
     JOIN rowrun.task n ON ((n.id = d.depends_on_id)))
  WHERE ((NOT n.skipped) AND ((n.outcome IS DISTINCT FROM 'DONE'::text) OR (EXISTS ( SELECT
           FROM rowrun.task_run u
          WHERE ((u.task_id = n.id) AND (u.plan_id IS NOT NULL) AND (u.status = ANY (ARRAY['PENDING'::text, 'AVAILABLE'::text, 'RUNNING'::text])))))));


--
-- Name: VIEW unmet_dependency; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON VIEW rowrun.unmet_dependency IS 'Internal: dependencies on tasks that are neither DONE nor SKIPPED.';


--
-- Name: closed_gate(rowrun.task_run, boolean, timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.closed_gate(r rowrun.task_run, plan_limited boolean, t timestamp with time zone) RETURNS TABLE(cause text)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT
         CASE
             WHEN ((closed_gate.r).run_at > closed_gate.t) THEN 'RUN_AT'::text
             ELSE COALESCE(rowrun.own_cause(k.*, (closed_gate.r).missed_at, closed_gate.t),
             CASE
                 WHEN (((closed_gate.r).plan_id IS NOT NULL) AND (EXISTS ( SELECT
                    FROM rowrun.unmet_dependency d
                   WHERE (d.task_id = (closed_gate.r).task_id)))) THEN 'DEPENDENCY'::text
                 WHEN (((closed_gate.r).version_key IS NOT NULL) AND ((EXISTS ( SELECT
                    FROM rowrun.task_run u
                   WHERE ((u.database_id = (closed_gate.r).database_id) AND (u.version_key < (closed_gate.r).version_key) AND (u.status = 'PENDING'::text)))) OR (EXISTS ( SELECT
                    FROM rowrun.task_run u
                   WHERE ((u.database_id = (closed_gate.r).database_id) AND (u.version_key < (closed_gate.r).version_key) AND (u.status = ANY (ARRAY['AVAILABLE'::text, 'RUNNING'::text]))))))) THEN 'DATABASE'::text
                 WHEN (((closed_gate.r).version_key IS NOT NULL) AND ((closed_gate.r).plan_id IS NOT NULL) AND (EXISTS ( SELECT
                    FROM (rowrun.task f
                      JOIN rowrun.plan p ON ((p.id = f.plan_id)))
                   WHERE ((p.id = (closed_gate.r).plan_id) AND (p.on_failure = 'STOP_DATABASE'::text) AND (f.database_id = (closed_gate.r).database_id) AND (f.version_key < (closed_gate.r).version_key) AND (f.outcome = ANY (ARRAY['FAILED'::text, 'CANCELED'::text])) AND (NOT f.skipped))))) THEN 'PLAN_FAILED'::text
                 WHEN ((((closed_gate.r).database_id IS NOT NULL) OR closed_gate.plan_limited) AND (NOT (EXISTS ( SELECT
                    FROM rowrun.replica_heartbeat h
                   WHERE rowrun.takes(h.*, closed_gate.t, (closed_gate.r).queue, (closed_gate.r).type, (closed_gate.r).database_id, k.payload))))) THEN 'NO_REPLICA'::text
                 ELSE NULL::text
             END)
         END AS "coalesce"
    FROM rowrun.task k
   WHERE (k.id = (closed_gate.r).task_id);
END;


--
-- Name: FUNCTION closed_gate(r rowrun.task_run, plan_limited boolean, t timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.closed_gate(r rowrun.task_run, plan_limited boolean, t timestamp with time zone) IS 'Internal: the first closed gate of a PENDING run, but for its plan and mutual exclusion.';


--
-- Name: complete_run(bigint, uuid, jsonb); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.complete_run(run_id bigint, claim uuid, result jsonb DEFAULT '{}'::jsonb) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    ended text;
    worker boolean;
BEGIN
    PERFORM check_isolation();
    -- A worker's claim is locked before all others, as in end_worker_runs.
    PERFORM FROM worker_claim c WHERE c.run_id = complete_run.run_id AND c.claim_hash = sha256(uuid_send(complete_run.claim)) FOR UPDATE;
    worker := FOUND;
    SELECT e.status INTO ended FROM end_runs(ARRAY[complete_run.run_id], ARRAY[coalesce(complete_run.claim, gen_random_uuid())],
        ARRAY['DONE'], ARRAY[coalesce(complete_run.result, '{}')], ARRAY['NONE']) e;
    IF ended IS NULL THEN
        RAISE EXCEPTION 'run % is not held by this claim', complete_run.run_id
            USING ERRCODE = 'RR002', HINT = 'The run has ended or was given to another attempt.';
    END IF;
    IF worker THEN
        DELETE FROM worker_claim c WHERE c.claim_hash = sha256(uuid_send(complete_run.claim));
    END IF;
    RETURN ended;
END $$;


--
-- Name: FUNCTION complete_run(run_id bigint, claim uuid, result jsonb); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.complete_run(run_id bigint, claim uuid, result jsonb) IS 'For the app that an HTTP task called: the run is DONE.';


--
-- Name: create_plan(text, jsonb, text, integer, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.create_plan(name text, tasks jsonb, project text DEFAULT NULL::text, parallel_limit integer DEFAULT NULL::integer, on_failure text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    made bigint;
    wrong text;
BEGIN
    IF jsonb_typeof(tasks) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'create_plan: tasks is no array' USING ERRCODE = 'RR003', HINT = '[{"name": "build", "type": "NOOP"}, {"name": "ship", "type": "NOOP", "depends_on": ["build"]}]';
    END IF;
    SELECT format('create_plan: task %s: %s', x.n, CASE
               WHEN jsonb_typeof(x.t) <> 'object' THEN 'it is no object'
               WHEN jsonb_typeof(coalesce(nullif(x.t -> 'depends_on', 'null'), '[]')) <> 'array' THEN 'depends_on is no array of names'
               ELSE format('%I is none of its members', u.key) END)
    INTO wrong
    FROM jsonb_array_elements(create_plan.tasks) WITH ORDINALITY x(t, n)
    LEFT JOIN LATERAL (
        SELECT k.key FROM jsonb_object_keys(CASE WHEN jsonb_typeof(x.t) = 'object' THEN x.t ELSE '{}' END) k(key)
        WHERE k.key NOT IN ('name', 'type', 'queue', 'database_id', 'version', 'sequential', 'payload', 'priority', 'timeout', 'progress_timeout',
                            'max_attempts', 'retry_delay', 'on_stale', 'on_failure_task', 'paused', 'skipped', 'skip_reason', 'retention', 'labels', 'depends_on')
        ORDER BY k.key LIMIT 1) u ON true
    WHERE jsonb_typeof(x.t) <> 'object' OR u.key IS NOT NULL OR jsonb_typeof(coalesce(nullif(x.t -> 'depends_on', 'null'), '[]')) <> 'array'
    ORDER BY x.n LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION '%', wrong USING ERRCODE = 'RR003', HINT = 'A task has the columns of rowrun.task that people write, and depends_on.';
    END IF;
    INSERT INTO plan (name, project, parallel_limit, on_failure)
    VALUES (create_plan.name, create_plan.project, create_plan.parallel_limit, create_plan.on_failure) RETURNING id INTO made;
    INSERT INTO task (plan_id, name, type, queue, database_id, version, sequential, payload, priority, timeout, progress_timeout, max_attempts,
                      retry_delay, on_stale, on_failure_task, paused, skipped, skip_reason, retention, retention_by_status, labels)
    SELECT made, t.name, t.type, t.queue, t.database_id, t.version, t.sequential, t.payload, t.priority, t.timeout, t.progress_timeout, t.max_attempts,
           t.retry_delay, t.on_stale, t.on_failure_task, t.paused, t.skipped, t.skip_reason,
           CASE WHEN jsonb_typeof(t.retention) <> 'object' THEN (t.retention #>> '{}')::interval END,
           CASE WHEN jsonb_typeof(t.retention) = 'object' THEN t.retention END, t.labels
    FROM jsonb_array_elements(create_plan.tasks) WITH ORDINALITY x(t, n)
    CROSS JOIN LATERAL jsonb_to_record(x.t) AS t(name text, type text, queue text, database_id text, version text, sequential boolean, payload jsonb,
        priority integer, timeout interval, progress_timeout interval, max_attempts integer, retry_delay interval, on_stale text,
        on_failure_task text, paused boolean, skipped boolean, skip_reason text, retention jsonb, labels jsonb)
    ORDER BY x.n;
    SELECT format('create_plan: task %s depends on %s, which is none of this plan', coalesce(quote_literal(x.t ->> 'name'), 'without a name'), coalesce(quote_literal(d.name), 'NULL')) INTO wrong
    FROM jsonb_array_elements(create_plan.tasks) WITH ORDINALITY x(t, n)
    CROSS JOIN LATERAL jsonb_array_elements_text(coalesce(nullif(x.t -> 'depends_on', 'null'), '[]')) d(name)
    WHERE coalesce(x.t ->> 'name', '') = '' OR NOT EXISTS (SELECT FROM task k WHERE k.plan_id = made AND k.name = d.name AND k.name <> '')
    ORDER BY x.n LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION '%', wrong USING ERRCODE = 'RR003', HINT = 'Dependencies are told by name: give both tasks one.';
    END IF;
    INSERT INTO task_dependency (task_id, depends_on_id)
    SELECT DISTINCT k.id, o.id
    FROM jsonb_array_elements(create_plan.tasks) x(t)
    CROSS JOIN LATERAL jsonb_array_elements_text(coalesce(nullif(x.t -> 'depends_on', 'null'), '[]')) d(name)
    JOIN task k ON k.plan_id = made AND k.name = x.t ->> 'name'
    JOIN task o ON o.plan_id = made AND o.name = d.name;
    RETURN made;
END $$;


--
-- Name: FUNCTION create_plan(name text, tasks jsonb, project text, parallel_limit integer, on_failure text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.create_plan(name text, tasks jsonb, project text, parallel_limit integer, on_failure text) IS 'Makes a plan with its tasks and their dependencies; its id. run_plan runs it.';


--
-- Name: cron_field(text, text, integer, integer, text[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.cron_field(field text, what text, lowest integer, highest integer, names text[] DEFAULT '{}'::text[]) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $_$
DECLARE
    bits bigint := 0;
    item text;
    part text[];
    first integer;
    last integer;
    step integer;
BEGIN
    IF field = '*' THEN
        RETURN (1::bigint << highest + 1) - (1::bigint << lowest);
    END IF;
    FOREACH item IN ARRAY string_to_array(lower(field), ',') LOOP
        part := regexp_match(item, '^(?:\*|([0-9]{1,2}|[a-z]{3})(?:(-)([0-9]{1,2}|[a-z]{3}))?)(?:/([0-9]{1,2}))?$');
        IF part IS NOT NULL THEN
            step := coalesce(part[4]::integer, 1);
            first := lowest;
            last := highest;
            IF part[1] IS NOT NULL THEN
                first := CASE WHEN part[1] ~ '^[0-9]' THEN part[1]::integer ELSE array_position(names, part[1]) + lowest - 1 END;
                last := CASE WHEN part[2] IS NULL THEN CASE WHEN part[4] IS NULL THEN first ELSE highest END
                             WHEN part[3] ~ '^[0-9]' THEN part[3]::integer ELSE array_position(names, part[3]) + lowest - 1 END;
                IF what = 'day of week' AND last = 0 AND first > 0 THEN
                    last := 7; -- FRI-SUN
                END IF;
            END IF;
        END IF;
        IF part IS NULL OR step = 0 OR (first >= lowest AND last <= highest AND first <= last) IS NOT TRUE THEN
            RAISE EXCEPTION 'schedule: "%" is no % (% to %)', item, what, lowest, highest
                USING ERRCODE = 'RR003', HINT = 'A field is *, a number, a name such as MON or JAN, a range 1-5, each with a step such as */15, or a list of these; L, W, # and ? are not accepted.';
        END IF;
        FOR n IN first..last BY step LOOP
            bits := bits | (1::bigint << n);
        END LOOP;
    END LOOP;
    RETURN bits;
END $_$;


--
-- Name: FUNCTION cron_field(field text, what text, lowest integer, highest integer, names text[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.cron_field(field text, what text, lowest integer, highest integer, names text[]) IS 'Internal: a cron field as a set of bits.';


--
-- Name: cron_local(bigint, bigint, bigint, bigint, bigint, boolean, timestamp without time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.cron_local(minutes bigint, hours bigint, days bigint, months bigint, weekdays bigint, either boolean, since timestamp without time zone) RETURNS timestamp without time zone
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    start timestamp := date_trunc('minute', since + interval '59.999999 s');
    year integer := extract(year FROM start);
    month integer := extract(month FROM start);
    day integer := extract(day FROM start);
    hour integer := extract(hour FROM start);
    minute integer := extract(minute FROM start);
    length integer;
    weekday integer;
BEGIN
    FOR n IN 0..492 LOOP
        EXIT WHEN year > 9998;
        IF months >> month & 1 = 1 THEN
            length := extract(day FROM make_date(year, month, 1) + interval '1 month -1 day');
            weekday := extract(dow FROM make_date(year, month, day));
            WHILE day <= length LOOP
                IF (CASE WHEN either THEN (days >> day) | (weekdays >> weekday) ELSE (days >> day) & (weekdays >> weekday) END) & 1 = 1
                THEN
                    WHILE hour < 24 LOOP
                        IF hours >> hour & 1 = 1 AND minutes >> minute > 0 THEN
                            WHILE minutes >> minute & 1 = 0 LOOP
                                minute := minute + 1;
                            END LOOP;
                            RETURN make_timestamp(year, month, day, hour, minute, 0);
                        END IF;
                        hour := hour + 1;
                        minute := 0;
                    END LOOP;
                END IF;
                day := day + 1;
                weekday := (weekday + 1) % 7;
                hour := 0;
                minute := 0;
            END LOOP;
        END IF;
        day := 1;
        hour := 0;
        minute := 0;
        month := month % 12 + 1;
        year := year + CASE month WHEN 1 THEN 1 ELSE 0 END;
    END LOOP;
    RETURN NULL;
END $$;


--
-- Name: FUNCTION cron_local(minutes bigint, hours bigint, days bigint, months bigint, weekdays bigint, either boolean, since timestamp without time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.cron_local(minutes bigint, hours bigint, days bigint, months bigint, weekdays bigint, either boolean, since timestamp without time zone) IS 'Internal: the first local minute that cron fields let through.';


--
-- Name: database_stands(text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.database_stands(database_id text) RETURNS TABLE(any_id bigint, any_status text, alone_id bigint, alone_status text, active_id bigint, active_status text, active_version text, active_key text, pending_id bigint, pending_version text, pending_key text)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT a.id,
     a.status,
     s.id,
     s.status,
     v.id,
     v.status,
     v.version,
     v.version_key,
     p.id,
     p.version,
     p.version_key
    FROM ((((( SELECT 1 AS "?column?") one
      LEFT JOIN LATERAL ( SELECT u.id,
             u.status
            FROM rowrun.task_run u
           WHERE ((u.database_id = database_stands.database_id) AND (u.status = ANY (ARRAY['AVAILABLE'::text, 'RUNNING'::text])))
           ORDER BY u.database_id, u.version_key
          LIMIT 1) a ON (true))
      LEFT JOIN LATERAL ( SELECT u.id,
             u.status
            FROM rowrun.task_run u
           WHERE ((u.database_id = database_stands.database_id) AND u.sequential AND (u.status = ANY (ARRAY['AVAILABLE'::text, 'RUNNING'::text])))
          LIMIT 1) s ON (true))
      LEFT JOIN LATERAL ( SELECT u.id,
             u.status,
             u.version,
             u.version_key
            FROM rowrun.task_run u
           WHERE ((u.database_id = database_stands.database_id) AND (u.status = ANY (ARRAY['AVAILABLE'::text, 'RUNNING'::text])) AND (u.version_key IS NOT NULL))
           ORDER BY u.database_id, u.version_key
          LIMIT 1) v ON (true))
      LEFT JOIN LATERAL ( SELECT u.id,
             u.version,
             u.version_key
            FROM rowrun.task_run u
           WHERE ((u.database_id = database_stands.database_id) AND (u.status = 'PENDING'::text) AND (u.version_key IS NOT NULL))
           ORDER BY u.database_id, u.version_key, u.sequential, u.priority DESC, u.run_at, u.id
          LIMIT 1) p ON (true));
END;


--
-- Name: FUNCTION database_stands(database_id text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.database_stands(database_id text) IS 'Internal: the runs that others of a database may wait for.';


--
-- Name: databases_of_plans(bigint[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.databases_of_plans(plan_ids bigint[]) RETURNS TABLE(database_id text)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT DISTINCT w.database_id
    FROM (unnest(databases_of_plans.plan_ids) p(id)
      CROSS JOIN LATERAL ( SELECT r.database_id
            FROM rowrun.task_run r
           WHERE ((r.plan_id = p.id) AND (r.status = ANY (ARRAY['PENDING'::text, 'AVAILABLE'::text, 'RUNNING'::text])) AND (COALESCE(r.status, ''::text) = 'PENDING'::text) AND r.sequential AND (r.database_id IS NOT NULL))
          OFFSET 0) w);
END;


--
-- Name: FUNCTION databases_of_plans(plan_ids bigint[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.databases_of_plans(plan_ids bigint[]) IS 'Internal: databases on which sequential runs of these plans wait.';


--
-- Name: define_task(text, text, jsonb, text, text, text, boolean, integer, interval, interval, integer, interval, text, jsonb); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.define_task(name text, type text, payload jsonb DEFAULT '{}'::jsonb, queue text DEFAULT NULL::text, database_id text DEFAULT NULL::text, version text DEFAULT NULL::text, sequential boolean DEFAULT NULL::boolean, priority integer DEFAULT NULL::integer, timeout interval DEFAULT NULL::interval, progress_timeout interval DEFAULT NULL::interval, max_attempts integer DEFAULT NULL::integer, retry_delay interval DEFAULT NULL::interval, on_stale text DEFAULT NULL::text, labels jsonb DEFAULT NULL::jsonb) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    known bigint;
    made bigint;
    replaced text; -- what it had
BEGIN
    IF coalesce(define_task.name, '') = '' THEN
        RAISE EXCEPTION 'define_task needs a name' USING ERRCODE = 'RR003', HINT = 'The name is how run_task finds it.';
    END IF;
    LOOP
        -- A look first: the INSERT of a task that exists would draw an id at each call. INSERT and UPDATE both run even where
        -- nothing is to be changed, so that the answer of rights is the same whatever stands in the table.
        SELECT k.id, concat_ws(', ',
                   CASE WHEN k.type <> define_task.type THEN 'type ' || k.type END,
                   CASE WHEN k.payload <> coalesce(define_task.payload, '{}') THEN 'payload' END,
                   CASE WHEN k.queue <> coalesce(define_task.queue, 'default') THEN 'queue ' || k.queue END,
                   CASE WHEN k.database_id IS DISTINCT FROM define_task.database_id THEN 'database_id ' || coalesce(k.database_id, 'NULL') END,
                   CASE WHEN k.version IS DISTINCT FROM define_task.version THEN 'version ' || coalesce(k.version, 'NULL') END,
                   CASE WHEN k.sequential <> coalesce(define_task.sequential, define_task.type = 'DATABASE_MIGRATE') THEN 'sequential ' || k.sequential END,
                   CASE WHEN k.priority <> coalesce(define_task.priority, 0) THEN 'priority ' || k.priority END,
                   CASE WHEN k.timeout IS DISTINCT FROM define_task.timeout THEN 'timeout ' || coalesce(k.timeout::text, 'NULL') END,
                   CASE WHEN k.progress_timeout IS DISTINCT FROM define_task.progress_timeout THEN 'progress_timeout ' || coalesce(k.progress_timeout::text, 'NULL') END,
                   CASE WHEN k.max_attempts <> coalesce(define_task.max_attempts, 1) THEN 'max_attempts ' || k.max_attempts END,
                   CASE WHEN k.retry_delay <> coalesce(define_task.retry_delay, '10 s') THEN 'retry_delay ' || k.retry_delay END,
                   CASE WHEN k.on_stale <> coalesce(define_task.on_stale, 'FAIL') THEN 'on_stale ' || k.on_stale END,
                   CASE WHEN k.labels <> coalesce(define_task.labels, '{}') THEN 'labels' END)
        INTO known, replaced FROM rowrun.task k WHERE k.name = define_task.name AND k.plan_id IS NULL;
        INSERT INTO rowrun.task AS k (name, type, payload, queue, database_id, version, sequential, priority, timeout,
                                      progress_timeout, max_attempts, retry_delay, on_stale, labels)
        SELECT define_task.name, define_task.type, define_task.payload, define_task.queue, define_task.database_id,
               define_task.version, define_task.sequential, define_task.priority, define_task.timeout,
               define_task.progress_timeout, define_task.max_attempts, define_task.retry_delay, define_task.on_stale, define_task.labels
        WHERE known IS NULL
        ON CONFLICT (name) WHERE name <> '' AND plan_id IS NULL DO NOTHING
        RETURNING k.id INTO made;
        EXIT WHEN FOUND;
        UPDATE rowrun.task k
        SET type = define_task.type, payload = define_task.payload, queue = define_task.queue, database_id = define_task.database_id,
            version = define_task.version, sequential = define_task.sequential, priority = define_task.priority,
            timeout = define_task.timeout, progress_timeout = define_task.progress_timeout, max_attempts = define_task.max_attempts,
            retry_delay = define_task.retry_delay, on_stale = define_task.on_stale, labels = define_task.labels
        WHERE k.id = known AND k.name = define_task.name AND k.plan_id IS NULL
        RETURNING k.id INTO made;
        IF FOUND AND replaced <> '' THEN
            RAISE NOTICE 'define_task: task "%" (id %) is brought up to date; it had another: %', define_task.name, made, replaced;
        END IF;
        EXIT WHEN made IS NOT NULL;
    END LOOP;
    RETURN made;
END $$;


--
-- Name: FUNCTION define_task(name text, type text, payload jsonb, queue text, database_id text, version text, sequential boolean, priority integer, timeout interval, progress_timeout interval, max_attempts integer, retry_delay interval, on_stale text, labels jsonb); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.define_task(name text, type text, payload jsonb, queue text, database_id text, version text, sequential boolean, priority integer, timeout interval, progress_timeout interval, max_attempts integer, retry_delay interval, on_stale text, labels jsonb) IS 'Makes a task without a plan, or brings it up to date; its id. For migration files.';


--
-- Name: delete_dependency(bigint, bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.delete_dependency(task_id bigint, depends_on_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    authors boolean := EXISTS (SELECT FROM task k WHERE k.id = delete_dependency.task_id AND is_authors(k.type));
    gone boolean;
BEGIN
    IF authors AND NOT is_author() THEN
        RAISE EXCEPTION 'only members of rowrun_author may say what task % waits for', delete_dependency.task_id
            USING ERRCODE = 'insufficient_privilege', HINT = 'It is of a type that authors write. GRANT rowrun_author TO the role, or let an author do it.';
    ELSIF authors THEN
        gone := remove_any_dependency(delete_dependency.task_id, delete_dependency.depends_on_id);
    ELSE
        gone := remove_dependency(delete_dependency.task_id, delete_dependency.depends_on_id);
    END IF;
    IF NOT gone THEN
        RAISE EXCEPTION 'task % does not depend on task %', coalesce(delete_dependency.task_id::text, 'NULL'), coalesce(delete_dependency.depends_on_id::text, 'NULL')
            USING ERRCODE = 'no_data_found', HINT = 'Look for it in rowrun.task_dependency.';
    END IF;
END $$;


--
-- Name: FUNCTION delete_dependency(task_id bigint, depends_on_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.delete_dependency(task_id bigint, depends_on_id bigint) IS 'The task doesn''t wait for the other any more.';


--
-- Name: delete_plan(bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.delete_plan(plan_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    authors boolean := EXISTS (SELECT FROM task k WHERE k.plan_id = delete_plan.plan_id AND is_authors(k.type));
    gone boolean;
BEGIN
    IF authors AND NOT is_author() THEN
        RAISE EXCEPTION 'plan % has tasks that only members of rowrun_author may delete', delete_plan.plan_id
            USING ERRCODE = 'insufficient_privilege', HINT = 'GRANT rowrun_author TO the role, or let an author delete the plan.';
    ELSIF authors THEN
        gone := remove_any_plan(delete_plan.plan_id);
    ELSE
        gone := remove_plan(delete_plan.plan_id);
    END IF;
    IF NOT gone THEN
        RAISE EXCEPTION 'plan % does not exist', coalesce(delete_plan.plan_id::text, 'NULL')
            USING ERRCODE = 'no_data_found', HINT = 'Look for its id in rowrun.plan.';
    END IF;
END $$;


--
-- Name: FUNCTION delete_plan(plan_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.delete_plan(plan_id bigint) IS 'Deletes a plan with its tasks and runs; refused while a run is AVAILABLE or RUNNING.';


--
-- Name: delete_task(bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.delete_task(task_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    found_type text;
    gone boolean;
BEGIN
    SELECT k.type INTO found_type FROM task k WHERE k.id = delete_task.task_id;
    IF is_authors(found_type) AND NOT is_author() THEN
        RAISE EXCEPTION 'only members of rowrun_author may delete tasks of type %', found_type
            USING ERRCODE = 'insufficient_privilege', HINT = 'GRANT rowrun_author TO the role, or let an author delete the task.';
    ELSIF is_authors(found_type) THEN
        gone := remove_any_task(delete_task.task_id);
    ELSE
        gone := remove_task(delete_task.task_id);
    END IF;
    IF NOT gone THEN
        RAISE EXCEPTION 'task % does not exist', coalesce(delete_task.task_id::text, 'NULL')
            USING ERRCODE = 'no_data_found', HINT = 'Look for its id in rowrun.task.';
    END IF;
END $$;


--
-- Name: FUNCTION delete_task(task_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.delete_task(task_id bigint) IS 'Deletes a task with its runs; refused while one is AVAILABLE or RUNNING.';


--
-- Name: delete_webhook(bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.delete_webhook(webhook_id bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    DELETE FROM webhook w WHERE w.id = delete_webhook.webhook_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'webhook % does not exist', coalesce(delete_webhook.webhook_id::text, 'NULL')
            USING ERRCODE = 'no_data_found', HINT = 'Look for its id in rowrun.webhook.';
    END IF;
END $$;


--
-- Name: FUNCTION delete_webhook(webhook_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.delete_webhook(webhook_id bigint) IS 'Deletes a webhook with what is addressed to it.';


--
-- Name: deployment_elsewhere(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.deployment_elsewhere() RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$ SELECT coalesce((SELECT d.system_identifier <> s.system_identifier OR d.database_oid <> s.database_oid
                           FROM rowrun.deployment d, rowrun.server_identity() s), false) $$;


--
-- Name: FUNCTION deployment_elsewhere(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.deployment_elsewhere() IS 'Whether the deployment belongs to another server or database, of which this one is a copy.';


--
-- Name: discord_text(text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.discord_text(said text) RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN regexp_replace(said, '([][\\*_~`|>#()<@:!+.{}&-])'::text, '\\\1'::text, 'g'::text);


--
-- Name: FUNCTION discord_text(said text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.discord_text(said text) IS 'Internal: a text without Discord''s markup.';


--
-- Name: discord_body(text, text, text[], text, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.discord_body(title text, subject text, lines text[], link text, event text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    RETURN (jsonb_build_object('allowed_mentions', '{"parse": []}'::jsonb, 'embeds', jsonb_build_array((jsonb_build_object('title', rowrun.discord_text(title), 'description', array_to_string(ARRAY(SELECT rowrun.discord_text(x.l) AS discord_text FROM unnest((array_remove(ARRAY[discord_body.subject], ''::text) || discord_body.lines)) WITH ORDINALITY x(l, n) ORDER BY x.n), '
'::text), 'color', CASE event WHEN 'PIPELINE_COMPLETED'::text THEN 3066993 WHEN 'TEST'::text THEN 3447003 WHEN 'SCHEDULE_PAUSED'::text THEN 15105570 WHEN 'TYPE_ORPHANED'::text THEN 15105570 ELSE 15158332 END) || CASE WHEN (link IS NULL) THEN '{}'::jsonb ELSE jsonb_build_object('url', link) END))))::text;


--
-- Name: FUNCTION discord_body(title text, subject text, lines text[], link text, event text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.discord_body(title text, subject text, lines text[], link text, event text) IS 'Internal: a message for Discord.';


--
-- Name: do_act(text, text, text, jsonb); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.do_act(verb text, kind text, target text, args jsonb) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    target_id bigint;
    reason text := args ->> 'reason';
    run record;
    made bigint[] := '{}';
    changed bigint;
BEGIN
    IF kind <> 'replica' THEN
        target_id := target::bigint;
    END IF;
    CASE kind || '.' || verb
    WHEN 'run.retry' THEN
        SELECT r.id, r.retry_run_id INTO run FROM task_run r WHERE r.id = target_id;
        IF run.retry_run_id IS NOT NULL THEN
            RETURN NULL;
        END IF;
        RETURN ARRAY[rowrun.retry_run(target_id)];
    WHEN 'run.cancel' THEN
        SELECT r.status, r.retry_run_id, r.cancel_requested_at INTO run FROM task_run r WHERE r.id = target_id;
        IF FOUND AND run.retry_run_id IS NULL AND (run.status IN ('DONE', 'FAILED', 'CANCELED') OR run.cancel_requested_at IS NOT NULL) THEN
            RETURN NULL;
        END IF;
        PERFORM rowrun.cancel_run(target_id, reason);
        RETURN made;
    WHEN 'run.abandon' THEN
        PERFORM rowrun.abandon_run(target_id, reason);
        RETURN made;
    WHEN 'task.run' THEN
        made := ARRAY(SELECT rowrun.run_tasks(ARRAY[target_id]));
        RETURN nullif(made, '{}');
    WHEN 'task.retry' THEN
        SELECT s.last_run_id, s.status INTO run FROM task_status s WHERE s.task_id = target_id;
        IF run.status IS DISTINCT FROM 'FAILED' AND run.status IS DISTINCT FROM 'CANCELED' THEN
            RETURN NULL;
        END IF;
        RETURN ARRAY[rowrun.retry_run(run.last_run_id)];
    WHEN 'task.cancel' THEN
        SELECT s.last_run_id, s.status INTO run FROM task_status s WHERE s.task_id = target_id;
        IF run.status IS NULL OR run.status NOT IN ('PENDING', 'AVAILABLE', 'RUNNING') THEN
            RETURN NULL;
        END IF;
        PERFORM rowrun.cancel_run(run.last_run_id, reason);
        RETURN made;
    WHEN 'task.skip', 'task.unskip' THEN
        IF EXISTS (SELECT FROM task k WHERE k.id = target_id AND k.skipped = (verb = 'skip')) THEN
            RETURN NULL;
        ELSIF verb = 'skip' THEN
            PERFORM rowrun.skip_task(target_id, reason);
        ELSE
            PERFORM rowrun.unskip_task(target_id);
        END IF;
        RETURN made;
    WHEN 'task.pause', 'task.resume' THEN
        UPDATE task k SET paused = (verb = 'pause') WHERE k.id = target_id AND k.paused <> (verb = 'pause');
        GET DIAGNOSTICS changed = ROW_COUNT;
    WHEN 'plan.run' THEN
        made := ARRAY(SELECT rowrun.run_plan(target_id));
        RETURN nullif(made, '{}');
    WHEN 'plan.retry' THEN
        made := ARRAY(SELECT rowrun.retry_plan(target_id));
        RETURN nullif(made, '{}');
    WHEN 'plan.cancel' THEN
        changed := rowrun.cancel_plan(target_id, reason);
    WHEN 'plan.pause', 'plan.resume' THEN
        UPDATE plan p SET paused = (verb = 'pause') WHERE p.id = target_id AND p.paused <> (verb = 'pause');
        GET DIAGNOSTICS changed = ROW_COUNT;
    WHEN 'plan.limit' THEN
        UPDATE plan p SET parallel_limit = (args ->> 'limit')::integer
        WHERE p.id = target_id AND p.parallel_limit IS DISTINCT FROM (args ->> 'limit')::integer;
        GET DIAGNOSTICS changed = ROW_COUNT;
    WHEN 'delivery.redeliver' THEN
        UPDATE webhook_delivery d SET status = 'PENDING', attempts = 0, next_attempt_at = clock_timestamp(), delivered_at = NULL,
            leased_until = NULL, lease_token = NULL
        WHERE d.id = target_id AND d.status <> 'PENDING';
        GET DIAGNOSTICS changed = ROW_COUNT;
    WHEN 'replica.pause' THEN
        PERFORM rowrun.pause_replica(target);
        RETURN made;
    WHEN 'replica.resume' THEN
        PERFORM rowrun.resume_replica(target);
        RETURN made;
    ELSE
        RAISE EXCEPTION 'there is no act % of a %', verb, kind USING ERRCODE = 'invalid_parameter_value', HINT = 'The dashboard''s API names what there is.';
    END CASE;
    RETURN CASE WHEN changed > 0 THEN made END;
END $$;


--
-- Name: FUNCTION do_act(verb text, kind text, target text, args jsonb); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.do_act(verb text, kind text, target text, args jsonb) IS 'Internal: one act on one target; the runs made, NULL where there was nothing to do.';


--
-- Name: due_event(rowrun.plan); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.due_event(p rowrun.plan) RETURNS TABLE(event text)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT
         CASE
             WHEN ((due_event.p).announced_round >= (due_event.p).round) THEN NULL::text
             WHEN (EXISTS ( SELECT
                FROM rowrun.task f
               WHERE ((f.plan_id = (due_event.p).id) AND (f.outcome_round = (due_event.p).round) AND (f.outcome = 'FAILED'::text) AND (NOT f.skipped) AND (NOT (EXISTS ( SELECT
                        FROM rowrun.task_run u
                       WHERE ((u.task_id = f.id) AND (u.plan_id IS NOT NULL) AND (u.status = ANY (ARRAY['PENDING'::text, 'AVAILABLE'::text, 'RUNNING'::text]))))))))) THEN 'PIPELINE_FAILED'::text
             WHEN (due_event.p).paused THEN NULL::text
             WHEN (( SELECT o.id
                FROM rowrun.task o
               WHERE ((o.plan_id = (due_event.p).id) AND (o.plan_id IS NOT NULL) AND (NOT o.skipped) AND (o.outcome IS DISTINCT FROM 'DONE'::text))
               ORDER BY o.plan_id DESC, o.id DESC
              LIMIT 1) IS NOT NULL) THEN NULL::text
             WHEN (EXISTS ( SELECT
                FROM (rowrun.task_run u
                  JOIN rowrun.task k ON ((k.id = u.task_id)))
               WHERE ((u.plan_id = (due_event.p).id) AND (u.status = ANY (ARRAY['PENDING'::text, 'AVAILABLE'::text, 'RUNNING'::text])) AND (NOT k.skipped)))) THEN NULL::text
             WHEN (EXISTS ( SELECT
                FROM rowrun.task k
               WHERE (k.plan_id = (due_event.p).id))) THEN 'PIPELINE_COMPLETED'::text
             ELSE NULL::text
         END AS "case"
    FROM ( SELECT) one;
END;


--
-- Name: FUNCTION due_event(p rowrun.plan); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.due_event(p rowrun.plan) IS 'Internal: the event that a plan''s round is due.';


--
-- Name: end_batch(bigint[], uuid[], text[], jsonb[], text[], bigint[], boolean); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.end_batch(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[], plan_tasks bigint[], marks_plans boolean) RETURNS TABLE(run_id bigint, status text, retry_run_id bigint)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    t timestamptz := clock_timestamp();
    plans bigint[] := '{}';
    successors bigint[];
    handled boolean; -- NULL: all ended well
    ended record;
BEGIN
    IF plan_tasks IS NULL THEN
        plan_tasks := ARRAY(SELECT r.task_id FROM rowrun.task_run r WHERE r.id = ANY (run_ids) AND num_nonnulls(r.plan_id) = 1);
    END IF;
    IF cardinality(plan_tasks) > 0 THEN
        plans := rowrun.lock_plans_of_ends(plan_tasks, run_ids, statuses);
    END IF;
    IF ('DONE' = ALL (statuses)) IS NOT TRUE THEN -- what ended well needs no look at anything but the row itself
        -- Locked first, judged later: a cancel that is asked for now waits, or is seen.
        PERFORM FROM rowrun.task_run r WHERE r.id = ANY (run_ids) ORDER BY r.id FOR NO KEY UPDATE;
        SELECT array_agg(j.id), array_agg(j.claim), array_agg(j.status), array_agg(j.result), array_agg(j.retry),
               array_agg(CASE WHEN j.again THEN rowrun.next_run_id() END), bool_or(j.handled)
        INTO run_ids, claims, statuses, results, retries, successors, handled
        FROM (SELECT * FROM rowrun.judge_ends(run_ids, claims, statuses, results, retries) ORDER BY id) j; -- successors come in that order too
    END IF;
    ended := rowrun.make_ended(run_ids, claims, statuses, results, successors, t);
    IF ended.of_plans THEN
        PERFORM rowrun.mark_ended(ended.ids, marks_plans);
    ELSIF ended.databases IS NOT NULL THEN -- all that mark_ended would do, without a look at the rows
        INSERT INTO rowrun.gate_mark (kind, database_id) SELECT 'DATABASE', unnest(ended.databases);
    END IF;
    IF array_remove(ended.successors, NULL) <> '{}' THEN
        PERFORM rowrun.insert_successors(run_ids, retries, ended.successors, t);
    END IF;
    IF handled IS NOT NULL THEN
        IF handled THEN
            PERFORM rowrun.handle_ended(ended.ids);
        END IF;
        IF array_position(ended.successors, NULL) > 0 THEN -- one look at an index, for who wants to know of failures
            IF EXISTS (SELECT FROM rowrun.webhook w WHERE w.enabled AND 'RUN_FAILED' = ANY (w.events)) THEN
                PERFORM rowrun.announce_failures(ended.ids);
            END IF;
        END IF;
    END IF;
    IF ended.kept IS NOT NULL OR ended.ticked IS NOT NULL THEN
        PERFORM rowrun.schedule_ended(ended.kept, ended.ticked);
    END IF;
    IF cardinality(plans) > 0 THEN
        PERFORM rowrun.announce_plans(plans);
    END IF;
    RETURN QUERY SELECT e.id, e.status, e.successor FROM unnest(ended.ids, ended.statuses, ended.successors) AS e(id, status, successor);
END $$;


--
-- Name: FUNCTION end_batch(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[], plan_tasks bigint[], marks_plans boolean); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.end_batch(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[], plan_tasks bigint[], marks_plans boolean) IS 'Internal: ends RUNNING runs and makes their successors.';


--
-- Name: end_runs(bigint[], uuid[], text[], jsonb[], text[], bigint[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.end_runs(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[], plan_tasks bigint[] DEFAULT NULL::bigint[]) RETURNS TABLE(run_id bigint, status text, retry_run_id bigint)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    RETURN QUERY SELECT e.run_id, e.status, e.retry_run_id FROM end_batch(run_ids, claims, statuses, results, retries, plan_tasks, true) e;
END $$;


--
-- Name: FUNCTION end_runs(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[], plan_tasks bigint[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.end_runs(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[], plan_tasks bigint[]) IS 'Internal: ends RUNNING runs, whatever they are.';


--
-- Name: end_worker_runs(uuid[], bigint[], text[], jsonb[], text[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.end_worker_runs(claims uuid[], named_ids bigint[], end_statuses text[], results jsonb[], retries text[]) RETURNS TABLE(n integer, run_id bigint, verdict text)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    mine record;
    ended_ids bigint[];
    ended_statuses text[];
BEGIN
    PERFORM FROM worker_claim c WHERE c.claim_hash = ANY (ARRAY(SELECT sha256(uuid_send(x)) FROM unnest(claims) x)) ORDER BY c.run_id FOR UPDATE;
    SELECT array_agg(c.run_id) AS ids, array_agg(i.claim) AS claims, array_agg(i.status) AS statuses, array_agg(i.result) AS results, array_agg(i.retry) AS retries
    INTO mine
    FROM (SELECT DISTINCT ON (x.claim) x.claim, x.named, x.status, x.result, x.retry
          FROM unnest(claims, named_ids, end_statuses, results, retries) WITH ORDINALITY x(claim, named, status, result, retry, n) ORDER BY x.claim, x.n) i
    JOIN worker_claim c ON c.claim_hash = sha256(uuid_send(i.claim)) AND c.run_id = coalesce(i.named, c.run_id);
    IF mine.ids IS NOT NULL THEN
        SELECT array_agg(e.run_id), array_agg(e.status) INTO ended_ids, ended_statuses
        FROM end_runs(mine.ids, mine.claims, mine.statuses, mine.results, mine.retries) e;
        DELETE FROM worker_claim c WHERE c.claim_hash = ANY (ARRAY(SELECT sha256(uuid_send(x)) FROM unnest(mine.claims) x));
    END IF;
    RETURN QUERY
    SELECT i.n::integer, m.run_id, CASE WHEN e.status IS NULL THEN 'LOST' WHEN e.status = 'CANCELED' AND i.status <> 'CANCELED' THEN 'CANCELED' ELSE 'OK' END
    FROM unnest(claims, end_statuses) WITH ORDINALITY i(claim, status, n)
    LEFT JOIN unnest(mine.ids, mine.claims) m(run_id, claim) ON m.claim = i.claim
    LEFT JOIN unnest(ended_ids, ended_statuses) e(run_id, status) ON e.run_id = m.run_id
    ORDER BY i.n;
END $$;


--
-- Name: FUNCTION end_worker_runs(claims uuid[], named_ids bigint[], end_statuses text[], results jsonb[], retries text[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.end_worker_runs(claims uuid[], named_ids bigint[], end_statuses text[], results jsonb[], retries text[]) IS 'Internal: ends runs that workers hold.';


--
-- Name: insert_many(bigint, jsonb, text[], text, timestamp with time zone, integer); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.insert_many(task bigint, inputs jsonb, idempotency_keys text[], on_conflict text, run_at timestamp with time zone, priority integer) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    IF jsonb_typeof(inputs) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'inputs is an array of JSON objects' USING ERRCODE = 'RR003', HINT = 'For one run use rowrun.run_task.';
    ELSIF cardinality(idempotency_keys) <> jsonb_array_length(inputs) THEN
        RAISE EXCEPTION 'there are % inputs and % idempotency_keys', jsonb_array_length(inputs), cardinality(idempotency_keys)
            USING ERRCODE = 'RR003', HINT = 'One key for each input; NULL for none.';
    ELSIF on_conflict = 'SKIP' THEN
        RETURN QUERY
        INSERT INTO rowrun.task_run AS r (task_id, input, run_at, priority, idempotency_key)
        SELECT insert_many.task, e.input, insert_many.run_at, insert_many.priority, idempotency_keys[e.n]
        FROM jsonb_array_elements(inputs) WITH ORDINALITY AS e(input, n) ORDER BY e.n
        ON CONFLICT (task_id, idempotency_key) DO NOTHING
        RETURNING r.id;
    ELSIF on_conflict = 'FAIL' THEN
        RETURN QUERY
        INSERT INTO rowrun.task_run AS r (task_id, input, run_at, priority, idempotency_key)
        SELECT insert_many.task, e.input, insert_many.run_at, insert_many.priority, idempotency_keys[e.n]
        FROM jsonb_array_elements(inputs) WITH ORDINALITY AS e(input, n) ORDER BY e.n
        RETURNING r.id;
    ELSE
        RAISE EXCEPTION 'on_conflict is FAIL or SKIP, not %', coalesce(on_conflict, 'NULL')
            USING ERRCODE = 'RR003', HINT = 'FAIL: all or nothing. SKIP: runs whose key exists are left out.';
    END IF;
END $$;


--
-- Name: FUNCTION insert_many(task bigint, inputs jsonb, idempotency_keys text[], on_conflict text, run_at timestamp with time zone, priority integer); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.insert_many(task bigint, inputs jsonb, idempotency_keys text[], on_conflict text, run_at timestamp with time zone, priority integer) IS 'Internal: the one text of enqueue_many.';


--
-- Name: enqueue_many(bigint, jsonb[], text[], text, timestamp with time zone, integer); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.enqueue_many(task bigint, inputs jsonb[], idempotency_keys text[] DEFAULT NULL::text[], on_conflict text DEFAULT 'FAIL'::text, run_at timestamp with time zone DEFAULT now(), priority integer DEFAULT NULL::integer) RETURNS SETOF bigint
    LANGUAGE sql
    BEGIN ATOMIC
 SELECT rowrun.insert_many(task, to_jsonb(inputs), idempotency_keys, on_conflict, run_at, priority) AS insert_many;
END;


--
-- Name: FUNCTION enqueue_many(task bigint, inputs jsonb[], idempotency_keys text[], on_conflict text, run_at timestamp with time zone, priority integer); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.enqueue_many(task bigint, inputs jsonb[], idempotency_keys text[], on_conflict text, run_at timestamp with time zone, priority integer) IS 'A run for each of these inputs, in one statement: all or nothing, or (on_conflict SKIP) without those whose key exists; the runs made.';


--
-- Name: enqueue_many(bigint, jsonb, text[], text, timestamp with time zone, integer); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.enqueue_many(task bigint, inputs jsonb, idempotency_keys text[] DEFAULT NULL::text[], on_conflict text DEFAULT 'FAIL'::text, run_at timestamp with time zone DEFAULT now(), priority integer DEFAULT NULL::integer) RETURNS SETOF bigint
    LANGUAGE sql
    BEGIN ATOMIC
 SELECT rowrun.insert_many(task, inputs, idempotency_keys, on_conflict, run_at, priority) AS insert_many;
END;


--
-- Name: FUNCTION enqueue_many(task bigint, inputs jsonb, idempotency_keys text[], on_conflict text, run_at timestamp with time zone, priority integer); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.enqueue_many(task bigint, inputs jsonb, idempotency_keys text[], on_conflict text, run_at timestamp with time zone, priority integer) IS 'A run for each of these inputs, in one statement: all or nothing, or (on_conflict SKIP) without those whose key exists; the runs made.';


--
-- Name: enqueue_many(bigint, text, text[], text, timestamp with time zone, integer); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.enqueue_many(task bigint, inputs text, idempotency_keys text[] DEFAULT NULL::text[], on_conflict text DEFAULT 'FAIL'::text, run_at timestamp with time zone DEFAULT now(), priority integer DEFAULT NULL::integer) RETURNS SETOF bigint
    LANGUAGE sql
    BEGIN ATOMIC
 SELECT rowrun.insert_many(task, (inputs)::jsonb, idempotency_keys, on_conflict, run_at, priority) AS insert_many;
END;


--
-- Name: FUNCTION enqueue_many(task bigint, inputs text, idempotency_keys text[], on_conflict text, run_at timestamp with time zone, priority integer); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.enqueue_many(task bigint, inputs text, idempotency_keys text[], on_conflict text, run_at timestamp with time zone, priority integer) IS 'A run for each of these inputs, in one statement: all or nothing, or (on_conflict SKIP) without those whose key exists; the runs made.';


--
-- Name: task_named(text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_named(task text) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    found_id bigint;
BEGIN
    SELECT k.id INTO found_id FROM rowrun.task k WHERE k.name = task_named.task AND k.name <> '' AND k.plan_id IS NULL;
    IF found_id IS NULL THEN
        RAISE EXCEPTION 'there is no task named "%"', task_named.task
            USING ERRCODE = 'no_data_found', HINT = 'Define it: SELECT rowrun.define_task(name, type, payload).';
    END IF;
    RETURN found_id;
END $$;


--
-- Name: FUNCTION task_named(task text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_named(task text) IS 'Internal: the task without a plan of this name; an error where there is none.';


--
-- Name: enqueue_many(text, jsonb[], text[], text, timestamp with time zone, integer); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.enqueue_many(task text, inputs jsonb[], idempotency_keys text[] DEFAULT NULL::text[], on_conflict text DEFAULT 'FAIL'::text, run_at timestamp with time zone DEFAULT now(), priority integer DEFAULT NULL::integer) RETURNS SETOF bigint
    LANGUAGE sql
    BEGIN ATOMIC
 SELECT rowrun.insert_many(rowrun.task_named(task), to_jsonb(inputs), idempotency_keys, on_conflict, run_at, priority) AS insert_many;
END;


--
-- Name: FUNCTION enqueue_many(task text, inputs jsonb[], idempotency_keys text[], on_conflict text, run_at timestamp with time zone, priority integer); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.enqueue_many(task text, inputs jsonb[], idempotency_keys text[], on_conflict text, run_at timestamp with time zone, priority integer) IS 'A run for each of these inputs, in one statement: all or nothing, or (on_conflict SKIP) without those whose key exists; the runs made.';


--
-- Name: enqueue_many(text, jsonb, text[], text, timestamp with time zone, integer); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.enqueue_many(task text, inputs jsonb, idempotency_keys text[] DEFAULT NULL::text[], on_conflict text DEFAULT 'FAIL'::text, run_at timestamp with time zone DEFAULT now(), priority integer DEFAULT NULL::integer) RETURNS SETOF bigint
    LANGUAGE sql
    BEGIN ATOMIC
 SELECT rowrun.insert_many(rowrun.task_named(task), inputs, idempotency_keys, on_conflict, run_at, priority) AS insert_many;
END;


--
-- Name: FUNCTION enqueue_many(task text, inputs jsonb, idempotency_keys text[], on_conflict text, run_at timestamp with time zone, priority integer); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.enqueue_many(task text, inputs jsonb, idempotency_keys text[], on_conflict text, run_at timestamp with time zone, priority integer) IS 'A run for each of these inputs, in one statement: all or nothing, or (on_conflict SKIP) without those whose key exists; the runs made.';


--
-- Name: enqueue_many(text, text, text[], text, timestamp with time zone, integer); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.enqueue_many(task text, inputs text, idempotency_keys text[] DEFAULT NULL::text[], on_conflict text DEFAULT 'FAIL'::text, run_at timestamp with time zone DEFAULT now(), priority integer DEFAULT NULL::integer) RETURNS SETOF bigint
    LANGUAGE sql
    BEGIN ATOMIC
 SELECT rowrun.insert_many(rowrun.task_named(task), (inputs)::jsonb, idempotency_keys, on_conflict, run_at, priority) AS insert_many;
END;


--
-- Name: FUNCTION enqueue_many(task text, inputs text, idempotency_keys text[], on_conflict text, run_at timestamp with time zone, priority integer); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.enqueue_many(task text, inputs text, idempotency_keys text[], on_conflict text, run_at timestamp with time zone, priority integer) IS 'A run for each of these inputs, in one statement: all or nothing, or (on_conflict SKIP) without those whose key exists; the runs made.';


--
-- Name: fail_run(bigint, uuid, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.fail_run(run_id bigint, claim uuid, detail text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    ended text;
    worker boolean;
BEGIN
    PERFORM check_isolation();
    -- A worker's claim is locked before all others, as in end_worker_runs.
    PERFORM FROM worker_claim c WHERE c.run_id = fail_run.run_id AND c.claim_hash = sha256(uuid_send(fail_run.claim)) FOR UPDATE;
    worker := FOUND;
    SELECT e.status INTO ended FROM end_runs(ARRAY[fail_run.run_id], ARRAY[coalesce(fail_run.claim, gen_random_uuid())],
        ARRAY['FAILED'], ARRAY[jsonb_build_object('code', 'ERROR', 'detail', left(coalesce(fail_run.detail, ''), 100000))],
        ARRAY['FAILURE']) e;
    IF ended IS NULL THEN
        RAISE EXCEPTION 'run % is not held by this claim', fail_run.run_id
            USING ERRCODE = 'RR002', HINT = 'The run has ended or was given to another attempt.';
    END IF;
    IF worker THEN
        DELETE FROM worker_claim c WHERE c.claim_hash = sha256(uuid_send(fail_run.claim));
    END IF;
    RETURN ended;
END $$;


--
-- Name: FUNCTION fail_run(run_id bigint, claim uuid, detail text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.fail_run(run_id bigint, claim uuid, detail text) IS 'For the app that an HTTP task called: the run FAILED; it may be retried.';


--
-- Name: failed_task(bigint, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.failed_task(plan_id bigint, database_id text) RETURNS TABLE(id bigint, name text, outcome text, version_key text)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
( SELECT f.id,
     f.name,
     f.outcome,
     f.version_key
    FROM ( SELECT k.id,
             k.name,
             k.outcome,
             k.version_key
            FROM rowrun.task k
           WHERE ((k.plan_id = failed_task.plan_id) AND (k.database_id = failed_task.database_id) AND (k.version_key IS NOT NULL) AND (k.outcome = ANY (ARRAY['FAILED'::text, 'CANCELED'::text])) AND (NOT k.skipped))
           ORDER BY k.plan_id, k.database_id, k.version_key
          LIMIT 200) f
   WHERE (NOT (EXISTS ( SELECT
            FROM rowrun.task_run u
           WHERE ((u.task_id = f.id) AND (u.plan_id IS NOT NULL) AND (u.status = ANY (ARRAY['PENDING'::text, 'AVAILABLE'::text, 'RUNNING'::text]))))))
   ORDER BY f.version_key
  LIMIT 1)
 UNION ALL
 ( SELECT k.id,
     k.name,
     k.outcome,
     k.version_key
    FROM rowrun.task k
   WHERE ((failed_task.database_id IS NULL) AND (k.plan_id = failed_task.plan_id) AND (k.outcome = ANY (ARRAY['FAILED'::text, 'CANCELED'::text])) AND (k.outcome = 'FAILED'::text) AND (NOT k.skipped) AND (NOT (EXISTS ( SELECT
            FROM rowrun.task_run u
           WHERE ((u.task_id = k.id) AND (u.plan_id IS NOT NULL) AND (u.status = ANY (ARRAY['PENDING'::text, 'AVAILABLE'::text, 'RUNNING'::text])))))))
   ORDER BY k.plan_id, k.database_id, k.version_key
  LIMIT 1);
END;


--
-- Name: FUNCTION failed_task(plan_id bigint, database_id text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.failed_task(plan_id bigint, database_id text) IS 'Internal: the task that holds others of its plan back by its failure.';


--
-- Name: filter_fits(jsonb, bigint, text, text, text, jsonb); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.filter_fits(filter jsonb, task_id bigint, task_name text, type text, queue text, labels jsonb) RETURNS boolean
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT ((filter IS NULL) OR (((NOT (filter ? 'task'::text)) OR ((filter -> 'task'::text) ? task_name) OR ((filter -> 'task'::text) ? (task_id)::text)) AND ((NOT (filter ? 'type'::text)) OR ((filter -> 'type'::text) ? type)) AND ((NOT (filter ? 'queue'::text)) OR ((filter -> 'queue'::text) ? queue)) AND (NOT (EXISTS ( SELECT
            FROM jsonb_each_text((filter_fits.filter -> 'label'::text)) l(key, value)
           WHERE ((filter_fits.labels ->> l.key) IS DISTINCT FROM l.value))))));
END;


--
-- Name: FUNCTION filter_fits(filter jsonb, task_id bigint, task_name text, type text, queue text, labels jsonb); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.filter_fits(filter jsonb, task_id bigint, task_name text, type text, queue text, labels jsonb) IS 'Internal: whether a webhook''s filter lets an event pass.';


--
-- Name: find_deliveries(jsonb, boolean, bigint, bigint, integer, integer); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.find_deliveries(filter jsonb, newest boolean, lowest bigint, highest bigint, most integer, look integer, OUT ids bigint[], OUT reached bigint, OUT over boolean) RETURNS record
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    of_plan bigint := (filter ->> 'plan_id')::bigint;
    window_ids bigint[];
BEGIN
    IF filter = '{}' THEN
        look := least(look, most); -- each that it looks at is found
    END IF;
    IF of_plan IS NOT NULL THEN
        window_ids := ARRAY(SELECT d.id FROM webhook_delivery d WHERE d.plan_id = of_plan AND d.id > lowest AND d.id <= highest
                            ORDER BY CASE WHEN newest THEN -d.id ELSE d.id END LIMIT look);
    ELSIF newest THEN
        window_ids := ARRAY(SELECT d.id FROM webhook_delivery d WHERE d.id > lowest AND d.id <= highest ORDER BY d.id DESC LIMIT look);
    ELSE
        window_ids := ARRAY(SELECT d.id FROM webhook_delivery d WHERE d.id > lowest AND d.id <= highest ORDER BY d.id LIMIT look);
    END IF;
    ids := ARRAY(
        SELECT d.id FROM unnest(window_ids) WITH ORDINALITY w(id, n)
        CROSS JOIN LATERAL (SELECT x.id, x.webhook_id, x.status FROM webhook_delivery x WHERE x.id = w.id OFFSET 0) d
        WHERE (filter ->> 'webhook_id' IS NULL OR d.webhook_id = (filter ->> 'webhook_id')::bigint)
          AND (filter -> 'statuses' IS NULL OR filter -> 'statuses' ? d.status)
        ORDER BY w.n LIMIT most);
    over := cardinality(ids) < most AND cardinality(window_ids) < look;
    reached := CASE WHEN cardinality(ids) = most THEN ids[most]
                    WHEN over THEN CASE WHEN newest THEN lowest + 1 ELSE highest END
                    ELSE window_ids[look] END;
END $$;


--
-- Name: FUNCTION find_deliveries(filter jsonb, newest boolean, lowest bigint, highest bigint, most integer, look integer, OUT ids bigint[], OUT reached bigint, OUT over boolean); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.find_deliveries(filter jsonb, newest boolean, lowest bigint, highest bigint, most integer, look integer, OUT ids bigint[], OUT reached bigint, OUT over boolean) IS 'Internal: a page of the deliveries that a filter names, and how far it looked.';


--
-- Name: find_open_runs(jsonb, text[], boolean, bigint, bigint, integer, integer); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.find_open_runs(filter jsonb, statuses text[], newest boolean, lowest bigint, highest bigint, most integer, look integer, OUT ids bigint[], OUT seen bigint) RETURNS record
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    WITH w AS MATERIALIZED (
        (SELECT r.id FROM task_run r WHERE 'PENDING' = ANY (statuses) AND r.status = 'PENDING' AND r.database_id IS NOT NULL LIMIT look)
        UNION ALL
        (SELECT r.id FROM task_run r WHERE 'PENDING' = ANY (statuses) AND r.plan_id IS NOT NULL
           AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND r.status = 'PENDING' AND r.database_id IS NULL LIMIT look)
        UNION ALL
        (SELECT r.id FROM task_run r WHERE 'PENDING' = ANY (statuses) AND r.status = 'PENDING' AND r.cause = 'PLAN'
           AND r.plan_id IS NULL AND r.database_id IS NULL LIMIT look)
        UNION ALL
        (SELECT r.id FROM task_run r WHERE 'PENDING' = ANY (statuses) AND r.status = 'PENDING' AND r.cause = 'PAUSED'
           AND r.plan_id IS NULL AND r.database_id IS NULL LIMIT look)
        UNION ALL
        (SELECT r.id FROM task_run r WHERE 'PENDING' = ANY (statuses) AND r.status = 'PENDING' AND r.cause = 'NO_REPLICA'
           AND r.plan_id IS NULL AND r.database_id IS NULL LIMIT look)
        UNION ALL
        (SELECT r.id FROM task_run r WHERE 'PENDING' = ANY (statuses) AND r.status = 'PENDING' AND r.judge_at IS NOT NULL
           AND r.plan_id IS NULL AND r.database_id IS NULL AND coalesce(r.cause, '') NOT IN ('PLAN', 'PAUSED', 'NO_REPLICA') LIMIT look)
        UNION ALL
        (SELECT r.id FROM task_run r WHERE 'AVAILABLE' = ANY (statuses) AND r.status = 'AVAILABLE' LIMIT look)
        UNION ALL
        (SELECT r.id FROM task_run r WHERE 'RUNNING' = ANY (statuses) AND r.status = 'RUNNING' LIMIT look)
        UNION ALL
        (SELECT f.id FROM (SELECT r.id FROM task_run r WHERE r.status = 'FAILED' AND r.retry_run_id IS NULL
                           ORDER BY r.finished_at DESC LIMIT look) f WHERE filter -> 'failed' IS NOT NULL)
    ), m AS (
        -- Looked up one by one, in their order, until there are enough: a join might read all of the table.
        SELECT r.id FROM (SELECT w.id FROM w WHERE w.id > lowest AND w.id <= highest ORDER BY CASE WHEN newest THEN -w.id ELSE w.id END OFFSET 0) n
        CROSS JOIN LATERAL (
            SELECT x.id, x.status, x.type, x.queue, x.database_id, x.plan_id, x.task_id, x.retry_run_id, x.created_at, x.result
            FROM task_run x WHERE x.id = n.id OFFSET 0) r
        WHERE rowrun.run_matches(filter, r.status, r.type, r.queue, r.database_id, r.plan_id, r.task_id, r.retry_run_id, r.created_at, r.result)
        LIMIT most
    )
    SELECT (SELECT array_agg(m.id) FROM m), (SELECT count(*) FROM w) INTO ids, seen;
END $$;


--
-- Name: FUNCTION find_open_runs(filter jsonb, statuses text[], newest boolean, lowest bigint, highest bigint, most integer, look integer, OUT ids bigint[], OUT seen bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.find_open_runs(filter jsonb, statuses text[], newest boolean, lowest bigint, highest bigint, most integer, look integer, OUT ids bigint[], OUT seen bigint) IS 'Internal: a page of the unfinished or failed runs that a filter names.';


--
-- Name: find_runs(jsonb, boolean, bigint, bigint, integer, integer); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.find_runs(filter jsonb, newest boolean, lowest bigint, highest bigint, most integer, look integer, OUT ids bigint[], OUT reached bigint, OUT over boolean) RETURNS record
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    statuses text[] := ARRAY(SELECT jsonb_array_elements_text(coalesce(filter -> 'statuses', '[]')));
    of_plan bigint := (filter ->> 'plan_id')::bigint;
    of_tasks bigint[] := ARRAY(SELECT t::bigint FROM jsonb_array_elements_text(coalesce(filter -> 'task_ids', '[]')) t);
    of_one bigint;
    few boolean := false;
    seen bigint;
BEGIN
    IF filter -> 'statuses' = '[]' THEN -- of none at all
        ids := '{}';
        reached := highest;
        over := true;
        RETURN;
    ELSIF of_plan IS NOT NULL THEN
        of_tasks := ARRAY(SELECT k.id FROM task k WHERE k.plan_id = of_plan AND (filter -> 'task_ids' IS NULL OR filter -> 'task_ids' ? k.id::text));
        few := true;
    ELSIF of_tasks <> '{}' THEN
        few := NOT EXISTS (SELECT FROM task k WHERE k.id = ANY (of_tasks) AND k.plan_id IS NULL);
        of_one := CASE WHEN cardinality(of_tasks) = 1 THEN of_tasks[1] END;
    END IF;
    IF few THEN
        -- A look at each task: its runs are few.
        SELECT array_agg(m.id), max(m.seen) INTO ids, seen FROM (
            SELECT r.id, 0 AS seen FROM unnest(of_tasks) t(id) CROSS JOIN LATERAL (
                SELECT x.id, x.status, x.type, x.queue, x.database_id, x.plan_id, x.task_id, x.retry_run_id, x.created_at, x.result
                FROM task_run x WHERE x.task_id = t.id AND x.id > lowest AND x.id <= highest ORDER BY x.id OFFSET 0) r
            WHERE rowrun.run_matches(filter, r.status, r.type, r.queue, r.database_id, r.plan_id, r.task_id, r.retry_run_id, r.created_at, r.result)
            ORDER BY CASE WHEN newest THEN -r.id ELSE r.id END LIMIT most) m;
    ELSIF of_one IS NULL AND (statuses <> '{}' AND statuses <@ '{PENDING,AVAILABLE,RUNNING}' OR filter -> 'failed' IS NOT NULL) THEN
        SELECT o.ids, o.seen INTO ids, seen FROM find_open_runs(filter, statuses, newest, lowest, highest, most, look) o;
        few := seen < look;
    END IF;
    IF few THEN
        ids := coalesce(ids, '{}');
        over := cardinality(ids) < most;
        reached := CASE WHEN over THEN CASE WHEN newest THEN lowest + 1 ELSE highest END ELSE ids[most] END;
        RETURN;
    END IF;
    -- Where only a time is asked for, the look begins and ends there.
    IF filter ->> 'until' IS NOT NULL THEN
        highest := least(highest, rowrun.run_id_at((filter ->> 'until')::timestamptz + interval '1 hour', lowest, highest));
    END IF;
    IF filter ->> 'since' IS NOT NULL THEN
        lowest := greatest(lowest, rowrun.run_id_at((filter ->> 'since')::timestamptz - interval '1 hour', lowest, highest));
    END IF;
    IF newest THEN
        WITH w AS (
            SELECT x.id, x.status, x.type, x.queue, x.database_id, x.plan_id, x.task_id, x.retry_run_id, x.created_at, x.result
            FROM task_run x WHERE of_one IS NULL AND x.id > lowest AND x.id <= highest ORDER BY x.id DESC LIMIT look
        ), o AS (
            SELECT x.id, x.status, x.type, x.queue, x.database_id, x.plan_id, x.task_id, x.retry_run_id, x.created_at, x.result
            FROM task_run x WHERE x.task_id = of_one AND x.id > lowest AND x.id <= highest ORDER BY x.id DESC LIMIT look
        )
        SELECT array_agg(m.id) INTO ids FROM (
            SELECT r.id FROM (SELECT * FROM w UNION ALL SELECT * FROM o) r
            WHERE rowrun.run_matches(filter, r.status, r.type, r.queue, r.database_id, r.plan_id, r.task_id, r.retry_run_id, r.created_at, r.result)
            LIMIT most) m;
    ELSE
        WITH w AS (
            SELECT x.id, x.status, x.type, x.queue, x.database_id, x.plan_id, x.task_id, x.retry_run_id, x.created_at, x.result
            FROM task_run x WHERE of_one IS NULL AND x.id > lowest AND x.id <= highest ORDER BY x.id LIMIT look
        ), o AS (
            SELECT x.id, x.status, x.type, x.queue, x.database_id, x.plan_id, x.task_id, x.retry_run_id, x.created_at, x.result
            FROM task_run x WHERE x.task_id = of_one AND x.id > lowest AND x.id <= highest ORDER BY x.id LIMIT look
        )
        SELECT array_agg(m.id) INTO ids FROM (
            SELECT r.id FROM (SELECT * FROM w UNION ALL SELECT * FROM o) r
            WHERE rowrun.run_matches(filter, r.status, r.type, r.queue, r.database_id, r.plan_id, r.task_id, r.retry_run_id, r.created_at, r.result)
            LIMIT most) m;
    END IF;
    ids := coalesce(ids, '{}');
    over := false;
    IF cardinality(ids) = most THEN
        reached := ids[most];
        RETURN;
    END IF;
    -- Where the look ended: by the index alone.
    IF of_one IS NULL AND newest THEN
        reached := (SELECT x.id FROM task_run x WHERE x.id > lowest AND x.id <= highest ORDER BY x.id DESC OFFSET look - 1 LIMIT 1);
    ELSIF of_one IS NULL THEN
        reached := (SELECT x.id FROM task_run x WHERE x.id > lowest AND x.id <= highest ORDER BY x.id OFFSET look - 1 LIMIT 1);
    ELSIF newest THEN
        reached := (SELECT x.id FROM task_run x WHERE x.task_id = of_one AND x.id > lowest AND x.id <= highest ORDER BY x.id DESC OFFSET look - 1 LIMIT 1);
    ELSE
        reached := (SELECT x.id FROM task_run x WHERE x.task_id = of_one AND x.id > lowest AND x.id <= highest ORDER BY x.id OFFSET look - 1 LIMIT 1);
    END IF;
    over := reached IS NULL;
    reached := coalesce(reached, CASE WHEN newest THEN lowest + 1 ELSE highest END);
END $$;


--
-- Name: FUNCTION find_runs(filter jsonb, newest boolean, lowest bigint, highest bigint, most integer, look integer, OUT ids bigint[], OUT reached bigint, OUT over boolean); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.find_runs(filter jsonb, newest boolean, lowest bigint, highest bigint, most integer, look integer, OUT ids bigint[], OUT reached bigint, OUT over boolean) IS 'Internal: a page of the runs that a filter names, and how far it looked.';


--
-- Name: find_tasks(jsonb, boolean, bigint, bigint, integer, integer); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.find_tasks(filter jsonb, newest boolean, lowest bigint, highest bigint, most integer, look integer, OUT ids bigint[], OUT reached bigint, OUT over boolean) RETURNS record
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    of_plan bigint := (filter ->> 'plan_id')::bigint;
    window_ids bigint[];
BEGIN
    IF filter = '{}' THEN
        look := least(look, most); -- each that it looks at is found
    END IF;
    IF of_plan IS NOT NULL THEN
        window_ids := ARRAY(SELECT k.id FROM task k WHERE k.plan_id = of_plan AND k.id > lowest AND k.id <= highest
                            ORDER BY CASE WHEN newest THEN -k.id ELSE k.id END LIMIT look);
    ELSIF newest THEN
        window_ids := ARRAY(SELECT k.id FROM task k WHERE k.id > lowest AND k.id <= highest ORDER BY k.id DESC LIMIT look);
    ELSE
        window_ids := ARRAY(SELECT k.id FROM task k WHERE k.id > lowest AND k.id <= highest ORDER BY k.id LIMIT look);
    END IF;
    ids := ARRAY(
        SELECT k.id FROM unnest(window_ids) WITH ORDINALITY w(id, n)
        CROSS JOIN LATERAL (SELECT x.id, x.plan_id, x.name, x.type, x.database_id, x.version, x.skipped FROM task x WHERE x.id = w.id OFFSET 0) k
        LEFT JOIN LATERAL (SELECT y.status, y.result FROM task_status y
                           WHERE y.task_id = w.id AND (filter -> 'statuses' IS NOT NULL OR filter -> 'text' IS NOT NULL OR filter -> 'error' IS NOT NULL) OFFSET 0) s ON true
        WHERE (filter -> 'definitions' IS NULL OR k.plan_id IS NULL)
          AND (filter ->> 'q' IS NULL OR position(lower(filter ->> 'q') IN lower(k.name)) > 0)
          AND (filter ->> 'type' IS NULL OR k.type = filter ->> 'type')
          AND (filter ->> 'database_id' IS NULL OR k.database_id = filter ->> 'database_id')
          AND (filter ->> 'version' IS NULL OR k.version = filter ->> 'version')
          AND (filter -> 'statuses' IS NULL OR filter -> 'statuses' ? s.status)
          AND (filter ->> 'text' IS NULL OR s.status IN ('FAILED', 'CANCELED')
               AND (s.result ->> 'code' = filter ->> 'text' OR position(lower(filter ->> 'text') IN lower(s.result ->> 'detail')) > 0))
          AND (filter ->> 'error' IS NULL OR s.status = 'FAILED' AND rowrun.normal_error(s.result ->> 'detail') = filter ->> 'error')
        ORDER BY w.n LIMIT most);
    over := cardinality(ids) < most AND cardinality(window_ids) < look;
    reached := CASE WHEN cardinality(ids) = most THEN ids[most]
                    WHEN over THEN CASE WHEN newest THEN lowest + 1 ELSE highest END
                    ELSE window_ids[look] END;
END $$;


--
-- Name: FUNCTION find_tasks(filter jsonb, newest boolean, lowest bigint, highest bigint, most integer, look integer, OUT ids bigint[], OUT reached bigint, OUT over boolean); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.find_tasks(filter jsonb, newest boolean, lowest bigint, highest bigint, most integer, look integer, OUT ids bigint[], OUT reached bigint, OUT over boolean) IS 'Internal: a page of the tasks that a filter names, and how far it looked.';


--
-- Name: finish_runs(uuid, text, jsonb, text[], integer, interval); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.finish_runs(request_id uuid, worker text, results jsonb, types text[] DEFAULT NULL::text[], claim_next integer DEFAULT 0, lease interval DEFAULT NULL::interval) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    wrong text[] := CASE WHEN coalesce(claim_next, 0) = 0 THEN worker_problem(request_id, 'none', '{none}', 1, interval '1 min') -- that of its id
                         ELSE worker_problem(request_id, worker, types, claim_next, coalesce(lease, interval '1 min')) END;
    hash bytea := sha256(uuid_send(finish_runs.request_id));
    replica text;
    first record;
    ended jsonb;
    claimed jsonb;
BEGIN
    PERFORM check_isolation();
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION '%', wrong[1] USING ERRCODE = 'RR003', HINT = wrong[2];
    END IF;
    PERFORM check_results(results);
    PERFORM pg_advisory_xact_lock(request_key(hash));
    SELECT q.answer, q.results_hash INTO first FROM worker_request q WHERE q.request_hash = hash;
    IF NOT FOUND THEN
        IF claim_next > 0 THEN
            replica := register_worker(worker, types, claim_next, coalesce(lease, interval '1 min'));
        END IF;
        SELECT coalesce(jsonb_agg(jsonb_build_object('run_id', coalesce(e.run_id, a.named[e.n]), 'verdict', e.verdict) ORDER BY e.n), '[]') INTO ended
        FROM (SELECT array_agg((x.o ->> 'claim')::uuid ORDER BY x.n) AS claims, array_agg((x.o ->> 'run_id')::bigint ORDER BY x.n) AS named,
                     array_agg(x.o ->> 'status' ORDER BY x.n) AS statuses, array_agg(worker_result(x.o) ORDER BY x.n) AS results,
                     array_agg('FAILURE'::text) AS retries
              FROM jsonb_array_elements(finish_runs.results) WITH ORDINALITY x(o, n)) a
        CROSS JOIN LATERAL end_worker_runs(a.claims, a.named, a.statuses, a.results, a.retries) e
        WHERE a.claims IS NOT NULL;
        INSERT INTO worker_request (request_hash, made_at, results_hash, answer) VALUES (hash, clock_timestamp(), jsonb_hash_extended(results, 0), ended);
        IF replica IS NOT NULL THEN
            SELECT jsonb_agg(to_jsonb(c)) INTO claimed FROM take_for_worker(finish_runs.request_id, replica, types, claim_next, coalesce(lease, interval '1 min')) c;
        END IF;
    ELSE
        IF first.results_hash IS DISTINCT FROM jsonb_hash_extended(results, 0) THEN
            RAISE EXCEPTION 'this request was sent before, % results', CASE WHEN first.results_hash IS NULL THEN 'without' ELSE 'with other' END
                USING ERRCODE = 'RR003', HINT = 'Give each request an id of its own; the same only where it is sent again as it was.';
        END IF;
        ended := first.answer;
        SELECT jsonb_agg(to_jsonb(c)) INTO claimed FROM claimed_by_request(finish_runs.request_id) c;
    END IF;
    RETURN jsonb_build_object('ended', ended, 'claimed', coalesce(claimed, '[]'));
END $$;


--
-- Name: FUNCTION finish_runs(request_id uuid, worker text, results jsonb, types text[], claim_next integer, lease interval); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.finish_runs(request_id uuid, worker text, results jsonb, types text[], claim_next integer, lease interval) IS 'Records a worker''s results, and claims what comes next; the same request has the same answer.';


--
-- Name: first_looks(bigint[], timestamp with time zone, integer); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.first_looks(oldest bigint[], t timestamp with time zone, most integer) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    turn jsonb := coalesce(nullif(current_setting('rowrun.turn', true), ''), '["", -1]');
    firsts bigint[];
    waiting integer;
BEGIN
    WITH RECURSIVE turns AS (
        (SELECT coalesce(r.database_id, '') AS database_id, coalesce(r.plan_id, 0) AS plan_id, 1 AS n FROM task_run r
         WHERE r.judge_at IS NOT NULL AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL)
           AND (coalesce(r.database_id, ''), coalesce(r.plan_id, 0)) > (turn ->> 0, (turn ->> 1)::bigint)
         ORDER BY coalesce(r.database_id, ''), coalesce(r.plan_id, 0) LIMIT 1)
        UNION ALL
        SELECT x.database_id, x.plan_id, s.n + 1
        FROM turns s
        CROSS JOIN LATERAL (
            SELECT coalesce(r.database_id, '') AS database_id, coalesce(r.plan_id, 0) AS plan_id FROM task_run r
            WHERE r.judge_at IS NOT NULL AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL)
              AND (coalesce(r.database_id, ''), coalesce(r.plan_id, 0)) > (s.database_id, s.plan_id)
            ORDER BY coalesce(r.database_id, ''), coalesce(r.plan_id, 0) LIMIT 1) x
        WHERE s.n < 500
    ), firsts AS (
        SELECT f.id, f.judge_at, row_number() OVER (PARTITION BY s.n ORDER BY f.judge_at) AS place
        FROM turns s
        CROSS JOIN LATERAL (
            SELECT r.id, r.judge_at FROM task_run r
            WHERE r.judge_at IS NOT NULL AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL)
              AND (coalesce(r.database_id, ''), coalesce(r.plan_id, 0), r.judge_at) >= (s.database_id, s.plan_id, timestamptz '-infinity')
              AND (coalesce(r.database_id, ''), coalesce(r.plan_id, 0), r.judge_at) <= (s.database_id, s.plan_id, t)
            ORDER BY coalesce(r.database_id, ''), coalesce(r.plan_id, 0), r.judge_at LIMIT 20) f
    )
    SELECT coalesce((SELECT array_agg(f.id ORDER BY f.place, f.judge_at) FROM firsts f), '{}'),
           (SELECT count(*) FROM firsts f WHERE f.place = 1),
           coalesce((SELECT jsonb_build_array(s.database_id, s.plan_id) FROM turns s WHERE s.n = 500), '["", -1]')
    INTO firsts, waiting, turn;
    PERFORM set_config('rowrun.turn', turn::text, false);
    firsts := firsts[1:most];
    firsts := firsts || ARRAY(SELECT o.id FROM unnest(oldest) WITH ORDINALITY o(id, n) LEFT JOIN unnest(firsts) f(id) ON f.id = o.id
                              WHERE f.id IS NULL ORDER BY o.n);
    RETURN firsts[1:CASE WHEN waiting > 1 THEN least(most, greatest(20 * waiting, 200)) ELSE most END];
END $$;


--
-- Name: FUNCTION first_looks(oldest bigint[], t timestamp with time zone, most integer); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.first_looks(oldest bigint[], t timestamp with time zone, most integer) IS 'Internal: whom a pass looks at where more is due than it takes on.';


--
-- Name: first_sequential(text, text, timestamp with time zone, text[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.first_sequential(database_id text, smallest text, t timestamp with time zone, stale text[] DEFAULT '{}'::text[]) RETURNS TABLE(id bigint, priority integer, run_at timestamp with time zone)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    c record;
BEGIN
    FOR c IN
        SELECT r.id, r.priority, r.run_at FROM rowrun.task_run r
        WHERE r.database_id = (first_sequential.database_id COLLATE "default") AND r.version_key IS NULL AND r.sequential AND r.status = 'PENDING'
          AND (r.cause IS NULL OR r.cause IN ('DATABASE', 'PLAN') OR r.cause = ANY (stale)) AND r.run_at <= t
        ORDER BY r.database_id, r.version_key, r.sequential, r.priority DESC, r.run_at, r.id
    LOOP
        IF rowrun.sequential_open(c.id, t) THEN
            RETURN QUERY SELECT c.id, c.priority, c.run_at;
            EXIT;
        END IF;
    END LOOP;
    IF smallest IS NULL THEN
        RETURN;
    END IF;
    FOR c IN
        SELECT r.id, r.priority, r.run_at FROM rowrun.task_run r
        WHERE r.database_id = (first_sequential.database_id COLLATE "default") AND r.version_key = first_sequential.smallest AND r.sequential AND r.status = 'PENDING'
          AND (r.cause IS NULL OR r.cause IN ('DATABASE', 'PLAN') OR r.cause = ANY (stale)) AND r.run_at <= t
        ORDER BY r.database_id, r.version_key, r.sequential, r.priority DESC, r.run_at, r.id
    LOOP
        IF rowrun.sequential_open(c.id, t) THEN
            RETURN QUERY SELECT c.id, c.priority, c.run_at;
            EXIT;
        END IF;
    END LOOP;
END $$;


--
-- Name: FUNCTION first_sequential(database_id text, smallest text, t timestamp with time zone, stale text[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.first_sequential(database_id text, smallest text, t timestamp with time zone, stale text[]) IS 'Internal: the first sequential run of a database that mutual exclusion alone holds.';


--
-- Name: go_duration(text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.go_duration(duration text) RETURNS interval
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $_$
DECLARE
    seconds numeric;
BEGIN
    IF duration ~ '^([0-9]{1,12}(\.[0-9]{0,9})?(h|m|s|ms|us|\u00b5s|\u00c2\u00b5s|ns))+$' THEN
        SELECT sum(m[1]::numeric * CASE m[2] WHEN 'h' THEN 3600 WHEN 'm' THEN 60 WHEN 's' THEN 1 WHEN 'ms' THEN 0.001
                                             WHEN 'ns' THEN 0.000000001 ELSE 0.000001 END)
        INTO seconds
        FROM regexp_matches(duration, '([0-9]+\.?[0-9]*)(h|ms|m|s|us|\u00b5s|\u00c2\u00b5s|ns)', 'g') m;
    END IF;
    IF (seconds BETWEEN 0.01 AND 315360000) IS NOT TRUE THEN
        RAISE EXCEPTION 'schedule: "%" is no duration between 10ms and 87600h', duration
            USING ERRCODE = 'RR003', HINT = 'Write it as 30s, 10m, 1h30m or 24h.';
    END IF;
    RETURN make_interval(secs => seconds::double precision);
END $_$;


--
-- Name: FUNCTION go_duration(duration text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.go_duration(duration text) IS 'Internal: a duration such as 1h30m.';


--
-- Name: handle_ended(bigint[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.handle_ended(ended bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    failed record;
    handler bigint;
    input   jsonb;
BEGIN
    FOR failed IN
        SELECT r.id, r.root_id, r.task_id, k.name, r.type, r.attempt, r.input, r.result, k.on_failure_task
        FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
        WHERE r.id = ANY (ended) AND r.status = 'FAILED' AND r.retry_run_id IS NULL AND k.on_failure_task IS NOT NULL
          -- A handler that fails has none of its own, nor has a retry of it.
          AND (SELECT h.handles FROM rowrun.task_run h WHERE h.id = r.root_id) IS NULL
        ORDER BY r.id
    LOOP
        BEGIN
            handler := rowrun.handler_task(failed.on_failure_task);
            IF handler IS NULL THEN
                RAISE EXCEPTION 'the task is gone';
            END IF;
            input := jsonb_build_object('run_id', failed.id, 'root_id', failed.root_id, 'task_id', failed.task_id, 'task', failed.name,
                'type', failed.type, 'attempt', failed.attempt, 'code', failed.result -> 'code');
            input := input || CASE WHEN pg_column_size(failed.input) + pg_column_size(failed.result) < 2000
                                        OR octet_length(failed.input::text) + octet_length(failed.result::text) <= 1000000
                THEN jsonb_build_object('input', failed.input, 'result', failed.result)
                ELSE jsonb_build_object('truncated', true, 'result', jsonb_build_object('detail', left(failed.result ->> 'detail', 4096))) END;
            -- Once for each failed run: in the transaction that takes its last edge, which is taken once.
            INSERT INTO rowrun.task_run (id, task_id, input, handles)
            VALUES (rowrun.next_run_id(), handler, jsonb_build_object('failed_run', input), failed.id);
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected OR serialization_failure THEN
                RAISE;
            WHEN OTHERS THEN
                INSERT INTO rowrun.stream_note (event, message, detail)
                VALUES ('task_run.handler_missing', 'the task that on_failure_task names could not be run',
                    jsonb_build_object('run_id', failed.id, 'task_id', failed.task_id, 'on_failure_task', failed.on_failure_task, 'reason', SQLERRM));
        END;
    END LOOP;
END $$;


--
-- Name: FUNCTION handle_ended(ended bigint[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.handle_ended(ended bigint[]) IS 'Internal: the runs of on_failure_task, when runs have failed for good.';


--
-- Name: handler_task(text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.handler_task(named text) RETURNS bigint
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT h.id
    FROM ( SELECT k.id,
             0 AS place
            FROM rowrun.task k
           WHERE ((k.name = handler_task.named) AND (k.name <> ''::text) AND (k.plan_id IS NULL))
         UNION ALL
          SELECT k.id,
             1
            FROM rowrun.task k
           WHERE ((k.id =
                 CASE
                     WHEN (handler_task.named ~ '^[0-9]{1,18}$'::text) THEN (handler_task.named)::bigint
                     ELSE NULL::bigint
                 END) AND (k.plan_id IS NULL))) h
   ORDER BY h.place
  LIMIT 1;
END;


--
-- Name: FUNCTION handler_task(named text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.handler_task(named text) IS 'Internal: the task that on_failure_task names, by name or id.';


--
-- Name: heartbeat_worker(text, uuid[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.heartbeat_worker(worker text, claims uuid[]) RETURNS TABLE(claim uuid, verdict text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    t timestamptz;
    rests boolean;
BEGIN
    PERFORM check_isolation();
    IF cardinality(claims) > 10000 THEN
        RAISE EXCEPTION 'a heartbeat names at most 10000 claims' USING ERRCODE = 'RR003', HINT = 'Send several.';
    END IF;
    -- Where somebody's transaction holds the row, that one is just writing it.
    UPDATE replica_heartbeat h SET last_heartbeat = clock_timestamp(), running = coalesce(cardinality(claims), 0),
        types = CASE WHEN h.state = 'ACTIVE' AND h.paused_at IS NULL
                     THEN ARRAY(SELECT x FROM unnest(h.types) x WHERE NOT EXISTS (SELECT FROM task_type d WHERE d.type = x AND d.draining) ORDER BY x)
                     ELSE '{}' END
    WHERE h.replica_id = (
        SELECT o.replica_id FROM replica_heartbeat o
        WHERE o.worker AND o.state <> 'DEAD' AND o.name = heartbeat_worker.worker AND o.last_heartbeat + o.lease > clock_timestamp()
          AND (o.last_heartbeat < clock_timestamp() - o.lease / 10 OR o.running <> coalesce(cardinality(claims), 0))
        FOR NO KEY UPDATE SKIP LOCKED);
    SELECT h.state <> 'ACTIVE' OR h.paused_at IS NOT NULL INTO rests
    FROM replica_heartbeat h WHERE h.worker AND h.state <> 'DEAD' AND h.name = heartbeat_worker.worker;
    -- Whoever is just ending one of them holds it: what is seen behind the lock is how it was left.
    PERFORM FROM worker_claim c WHERE c.claim_hash = ANY (ARRAY(SELECT sha256(uuid_send(x)) FROM unnest(claims) x)) ORDER BY c.run_id FOR NO KEY UPDATE;
    t := clock_timestamp();
    UPDATE worker_claim c SET until = t + c.lease FROM task_run r
    WHERE c.claim_hash = ANY (ARRAY(SELECT sha256(uuid_send(x)) FROM unnest(claims) x))
      AND r.id = c.run_id AND coalesce(r.status, '') = 'RUNNING' AND r.claim_hash = c.claim_hash;
    RETURN QUERY
    SELECT i.claim, CASE WHEN r.status = 'RUNNING' AND r.cancel_requested_at IS NULL THEN CASE WHEN rests THEN 'DRAIN' ELSE 'OK' END
                         WHEN r.status IN ('RUNNING', 'CANCELED') THEN 'CANCELED' ELSE 'LOST' END
    FROM unnest(claims) WITH ORDINALITY i(claim, n)
    LEFT JOIN worker_claim c ON c.claim_hash = sha256(uuid_send(i.claim))
    LEFT JOIN task_run r ON r.id = c.run_id AND r.claim_hash = c.claim_hash
    ORDER BY i.n;
END $$;


--
-- Name: FUNCTION heartbeat_worker(worker text, claims uuid[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.heartbeat_worker(worker text, claims uuid[]) IS 'Prolongs a worker''s claims; of each OK, CANCELED, DRAIN or LOST.';


--
-- Name: deployment; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.deployment (
    singleton boolean DEFAULT true NOT NULL,
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    stream_replica_id text,
    orphans_looked_at timestamp with time zone,
    system_identifier bigint,
    database_oid bigint,
    timeline integer,
    CONSTRAINT deployment_singleton_check CHECK (singleton)
);


--
-- Name: TABLE deployment; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.deployment IS 'One row: what tells this deployment from others on the same server or the same target databases.';


--
-- Name: COLUMN deployment.singleton; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.deployment.singleton IS 'Holds the table to one row.';


--
-- Name: COLUMN deployment.id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.deployment.id IS 'Identity of the deployment; part of ledger rows in target databases.';


--
-- Name: COLUMN deployment.created_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.deployment.created_at IS 'When the schema was made.';


--
-- Name: COLUMN deployment.stream_replica_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.deployment.stream_replica_id IS 'The replica that last began to write the stream.';


--
-- Name: COLUMN deployment.orphans_looked_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.deployment.orphans_looked_at IS 'When a replica last looked for orphans.';


--
-- Name: COLUMN deployment.system_identifier; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.deployment.system_identifier IS 'The server that the deployment belongs to, as pg_control_system() says; NULL: not known.';


--
-- Name: COLUMN deployment.database_oid; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.deployment.database_oid IS 'The database there.';


--
-- Name: COLUMN deployment.timeline; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.deployment.timeline IS 'The history of that server which was current then: a promotion begins another.';


--
-- Name: promotion_lock; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.promotion_lock (
    id smallint NOT NULL,
    CONSTRAINT promotion_lock_id_check CHECK ((id = 1))
);


--
-- Name: TABLE promotion_lock; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.promotion_lock IS 'Internal: one row; who holds its lock judges the gates.';


--
-- Name: COLUMN promotion_lock.id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.promotion_lock.id IS 'Key, 1.';


--
-- Name: hold_ups(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.hold_ups() RETURNS TABLE(pid bigint, username text, what text)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT (h.pid)::bigint AS pid,
     (COALESCE(a.usename, '?'::name))::text AS "coalesce",
     h.what
    FROM (( SELECT l.pid,
             l.what
            FROM ( SELECT k.pid,
                         CASE
                             WHEN ((k.classid = (1920298606)::oid) AND k.granted AND ((mod((((k.objid)::bigint - now_slice.n) + '4294967296'::bigint), '4294967296'::bigint) >= 1000) AND (mod((((k.objid)::bigint - now_slice.n) + '4294967296'::bigint), '4294967296'::bigint) <= 720000))) THEN 'keeps INSERTs from notifying: runs are found by sweeps'::text
                             WHEN ((k.classid = (1920298607)::oid) AND (k.objid = (3)::oid) AND k.granted AND (k.mode = 'ExclusiveLock'::text) AND (NOT (EXISTS ( SELECT
                                FROM rowrun.replica_heartbeat h_1
                               WHERE ((h_1.wake_source = 'wal'::text) AND (h_1.state <> 'DEAD'::text) AND ((h_1.last_heartbeat + h_1.lease) > clock_timestamp())))))) THEN 'keeps INSERTs from notifying: runs are found by sweeps'::text
                             WHEN ((k.classid = (1920298607)::oid) AND (k.objid = (3)::oid) AND k.granted AND (k.mode = 'ShareLock'::text) AND (NOT pg_has_role(k.usesysid, 'rowrun_replica'::name, 'MEMBER'::text))) THEN 'keeps replicas from being woken by the log'::text
                             WHEN ((k.classid = (1920298607)::oid) AND (k.objid = (2)::oid) AND k.granted AND (NOT (EXISTS ( SELECT
                                FROM (rowrun.deployment d
                                  JOIN rowrun.replica_heartbeat h_1 ON ((h_1.replica_id = d.stream_replica_id)))
                               WHERE ((h_1.state <> 'DEAD'::text) AND ((h_1.last_heartbeat + h_1.lease) > clock_timestamp())))))) THEN 'keeps replicas from writing the stream'::text
                             WHEN ((k.classid = (1920298605)::oid) AND k.granted AND (EXISTS ( SELECT
                                FROM pg_locks w
                               WHERE ((w.locktype = 'advisory'::text) AND (w.database = k.database) AND (w.classid = k.classid) AND (w.objid = k.objid) AND (NOT w.granted))))) THEN 'keeps run_plan, retry_plan or cancel_plan of a plan waiting'::text
                             WHEN ((k.classid = (1919907698)::oid) AND (k.objid = (1970171239)::oid) AND k.granted AND (NOT pg_has_role(k.usesysid, ( SELECT n.nspowner
                                FROM pg_namespace n
                               WHERE (n.nspname = 'rowrun'::name)), 'MEMBER'::text))) THEN 'keeps migrations waiting'::text
                             ELSE NULL::text
                         END AS what
                    FROM (( SELECT (((EXTRACT(epoch FROM clock_timestamp()) * (200)::numeric))::bigint % '4294967296'::bigint) AS n) now_slice
                      CROSS JOIN ( SELECT g.pid,
                             g.classid,
                             g.objid,
                             g.mode,
                             g.granted,
                             g.database,
                             a_1.usesysid
                            FROM (pg_locks g
                              LEFT JOIN pg_stat_activity a_1 ON ((a_1.pid = g.pid)))
                           WHERE ((g.locktype = 'advisory'::text) AND (g.database = ( SELECT d.oid
                                    FROM pg_database d
                                   WHERE (d.datname = current_database()))))) k)
                 UNION ALL
                  SELECT t.pid,
                     (((('holds '::text || min(r.what)) || ' that '::text) ||
                         CASE
                             WHEN (count(*) = 1) THEN 'is'::text
                             ELSE 'are, with more, '::text
                         END) || ' due'::text)
                    FROM (( SELECT x.xmax AS holder,
                             ('run '::text || x.id) AS what
                            FROM ((( SELECT q.id
                                    FROM rowrun.task_run q
                                   WHERE ((q.judge_at < (clock_timestamp() - '00:00:02'::interval)) AND (q.plan_id IS NULL) AND (q.database_id IS NULL))
                                   ORDER BY q.judge_at
                                  LIMIT 20)
                                 UNION ALL
                                 ( SELECT q.id
                                    FROM rowrun.task_run q
                                   WHERE ((q.judge_at < (clock_timestamp() - '00:00:02'::interval)) AND ((q.plan_id IS NOT NULL) OR (q.database_id IS NOT NULL)))
                                   ORDER BY q.judge_at
                                  LIMIT 20)
                                 UNION ALL
                                 ( SELECT q.id
                                    FROM rowrun.task_run q
                                   WHERE ((q.status = 'PENDING'::text) AND (q.cause = 'PLAN'::text) AND (q.plan_id IS NULL))
                                   ORDER BY q.plan_id, q.priority DESC, q.run_at, q.id
                                  LIMIT 20)
                                 UNION ALL
                                 ( SELECT q.id
                                    FROM rowrun.task_run q
                                   WHERE (q.status = 'AVAILABLE'::text)
                                   ORDER BY q.queue, q.type, q.priority DESC, q.run_at, q.id
                                  LIMIT 20)
                                 UNION ALL
                                 ( SELECT m.run_id
                                    FROM rowrun.gate_mark m
                                   WHERE (m.kind = 'RUN'::text)
                                   ORDER BY m.id
                                  LIMIT 20)) due
                              JOIN rowrun.task_run x ON ((x.id = due.id)))
                         UNION ALL
                          SELECT p.xmax,
                             ('plan '::text || p.id) AS what
                            FROM (( SELECT m_1.plan_id
                                    FROM rowrun.gate_mark m_1
                                   WHERE (m_1.kind = ANY (ARRAY['PLAN'::text, 'PLAN_CHANGED'::text]))
                                   ORDER BY m_1.id
                                  LIMIT 20) m
                              JOIN rowrun.plan p ON ((p.id = m.plan_id)))
                         UNION ALL
                          SELECT p.xmax,
                             'the lock of the gates'::text AS what
                            FROM rowrun.promotion_lock p) r
                      JOIN pg_locks t ON (((t.locktype = 'transactionid'::text) AND (t.transactionid = r.holder) AND (t.mode = 'ExclusiveLock'::text) AND t.granted)))
                   WHERE ((r.holder <> '0'::xid) AND (t.pid IS NOT NULL) AND (t.pid <> pg_backend_pid()))
                   GROUP BY t.pid) l
           WHERE (l.what IS NOT NULL)
           GROUP BY l.pid, l.what) h
      LEFT JOIN pg_stat_activity a ON ((a.pid = h.pid)))
   ORDER BY ((h.pid)::bigint), h.what
  LIMIT 20;
END;


--
-- Name: FUNCTION hold_ups(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.hold_ups() IS 'Internal: sessions that hold a lock which something of ours goes without.';


--
-- Name: insert_successors(bigint[], text[], bigint[], timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.insert_successors(run_ids bigint[], retries text[], successors bigint[], t timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO rowrun.task_run (id, task_id, retry_of, root_id, attempt, input, priority, creator, round, tick, run_at, failures, recoveries)
    SELECT r.retry_run_id, r.task_id, r.id, r.root_id, least(r.attempt, 2147483646) + 1, r.input, r.priority, r.creator, r.round, r.tick,
           CASE WHEN i.retry IN ('STALE', 'RELEASED') THEN t
                ELSE t + least(interval '1 hour', least(k.retry_delay, interval '1 hour')
                               * power(2, least(r.failures, 20)) * (0.8 + 0.4 * random())) END,
           least(r.failures, 2147483646) + CASE i.retry WHEN 'FAILURE' THEN 1 ELSE 0 END,
           CASE i.retry WHEN 'STALE' THEN least(r.recoveries, 2147483646) + 1 WHEN 'RELEASED' THEN r.recoveries ELSE 0 END
    FROM unnest(run_ids, retries) AS i(id, retry)
    JOIN rowrun.task_run r ON r.id = i.id
    JOIN rowrun.task k ON k.id = r.task_id
    WHERE r.retry_run_id = ANY (successors);
END $$;


--
-- Name: FUNCTION insert_successors(run_ids bigint[], retries text[], successors bigint[], t timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.insert_successors(run_ids bigint[], retries text[], successors bigint[], t timestamp with time zone) IS 'Internal: the runs that follow runs which have ended.';


--
-- Name: is_owner(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.is_owner() RETURNS boolean
    LANGUAGE sql STABLE
    RETURN pg_has_role(CURRENT_USER, (SELECT c.relowner FROM pg_class c WHERE (c.oid = ('rowrun.task_run'::regclass)::oid)), 'USAGE'::text);


--
-- Name: FUNCTION is_owner(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.is_owner() IS 'Internal: whether the role that executes owns the tables.';


--
-- Name: is_trusted(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.is_trusted() RETURNS boolean
    LANGUAGE sql STABLE
    RETURN (rowrun.is_owner() OR pg_has_role(CURRENT_USER, 'rowrun_replica'::name, 'USAGE'::text));


--
-- Name: FUNCTION is_trusted(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.is_trusted() IS 'Internal: whether the role that executes owns the tables or is a replica''s.';


--
-- Name: is_author(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.is_author() RETURNS boolean
    LANGUAGE sql STABLE
    RETURN (rowrun.is_trusted() OR pg_has_role(CURRENT_USER, 'rowrun_author'::name, 'USAGE'::text));


--
-- Name: FUNCTION is_author(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.is_author() IS 'Internal: whether the role that executes may write tasks for authors.';


--
-- Name: is_authors(text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.is_authors(type text) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    RETURN (type = ANY (ARRAY['SQL'::text, 'DATABASE_MIGRATE'::text, 'COMMAND'::text]));


--
-- Name: FUNCTION is_authors(type text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.is_authors(type text) IS 'Internal: whether tasks of a type are for authors.';


--
-- Name: is_blocked_at_insert(rowrun.task_run, timestamp with time zone, boolean); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.is_blocked_at_insert(r rowrun.task_run, at timestamp with time zone, stopped boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    ahead text; -- what the run says that stands before this one, where it is of the same transaction
BEGIN
    -- Behind a smaller version that this very transaction has inserted it waits at least for that one, whose end has
    -- it looked at: nobody can have ended that before this run can be seen. What else the first judgement of a run
    -- looks at, its plan and what it holds back, is looked at for that one.
    IF r.version_key IS NOT NULL AND (
        SELECT u.xmin = pg_current_xact_id()::xid AND u.created_at = now() AND u.plan_id IS NOT DISTINCT FROM r.plan_id
               AND (u.cause IS NOT DISTINCT FROM 'DATABASE' AND u.judge_at IS NULL OR u.judge_at <= at)
        FROM rowrun.task_run u
        WHERE u.database_id = r.database_id AND u.status = 'PENDING' AND u.version_key < r.version_key
        ORDER BY u.version_key DESC LIMIT 1)
    THEN
        RETURN true;
    END IF;
    IF r.plan_id IS NOT NULL OR stopped THEN
        RETURN false;
    END IF;
    -- Many runs of one transaction that a database holds: the first gets its look, the second has the database looked at
    -- (mark_blocked), and the others wait behind these, to be looked at in their turn.
    IF r.version_key IS NULL THEN
        ahead := (SELECT CASE WHEN u.xmin <> pg_current_xact_id()::xid OR u.created_at <> now() OR u.plan_id IS NOT NULL THEN ''
                              WHEN u.judge_at IS NULL THEN u.cause
                              WHEN u.judge_at <= at AND (r.sequential OR EXISTS (
                                  SELECT FROM rowrun.task_run a WHERE a.database_id = r.database_id AND a.sequential AND a.status IN ('AVAILABLE', 'RUNNING')))
                              THEN 'ASKED' END
                  FROM rowrun.task_run u
                  WHERE u.database_id = r.database_id AND u.version_key IS NULL AND u.sequential = r.sequential AND u.status = 'PENDING'
                    AND u.priority = r.priority AND u.run_at <= r.run_at
                  ORDER BY u.database_id DESC, u.version_key DESC, u.sequential DESC, u.priority, u.run_at DESC, u.id DESC LIMIT 1);
    ELSE
        ahead := (SELECT CASE WHEN u.xmin <> pg_current_xact_id()::xid OR u.created_at <> now() OR u.plan_id IS NOT NULL THEN ''
                              WHEN u.judge_at IS NULL THEN u.cause
                              WHEN u.judge_at <= at AND (r.sequential
                                  OR EXISTS (SELECT FROM rowrun.task_run a WHERE a.database_id = r.database_id AND a.version_key < r.version_key
                                             AND a.status IN ('AVAILABLE', 'RUNNING'))
                                  OR EXISTS (SELECT FROM rowrun.task_run a WHERE a.database_id = r.database_id AND a.version_key < r.version_key
                                             AND a.status = 'PENDING'))
                              THEN 'ASKED' END
                  FROM rowrun.task_run u
                  WHERE u.database_id = r.database_id AND u.version_key = r.version_key AND u.sequential = r.sequential AND u.status = 'PENDING'
                    AND u.priority = r.priority AND u.run_at <= r.run_at
                  ORDER BY u.database_id DESC, u.version_key DESC, u.sequential DESC, u.priority, u.run_at DESC, u.id DESC LIMIT 1);
    END IF;
    RETURN CASE ahead WHEN 'ASKED' THEN rowrun.mark_blocked(r) WHEN 'DATABASE' THEN true ELSE false END;
END $$;


--
-- Name: FUNCTION is_blocked_at_insert(r rowrun.task_run, at timestamp with time zone, stopped boolean); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.is_blocked_at_insert(r rowrun.task_run, at timestamp with time zone, stopped boolean) IS 'Internal: whether a new run waits for its database, so that it needs no first look.';


--
-- Name: is_quiet(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.is_quiet() RETURNS boolean
    LANGUAGE sql STABLE
    RETURN (COALESCE(current_setting('rowrun.notify'::text, true), ''::text) = 'off'::text);


--
-- Name: FUNCTION is_quiet(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.is_quiet() IS 'Internal: whether the session keeps quiet about what it inserts.';


--
-- Name: is_scheduling(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.is_scheduling() RETURNS boolean
    LANGUAGE sql STABLE
    RETURN ((COALESCE(current_setting('rowrun.scheduling'::text, true), ''::text) = 'on'::text) AND rowrun.is_trusted());


--
-- Name: FUNCTION is_scheduling(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.is_scheduling() IS 'Internal: whether a statement that makes or moves ticks is the schedule''s.';


--
-- Name: is_uuid(text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.is_uuid(value text) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    RETURN COALESCE((value ~* '^\{?[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\}?$'::text), false);


--
-- Name: FUNCTION is_uuid(value text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.is_uuid(value text) IS 'Internal: whether a text is a uuid.';


--
-- Name: plan_room(bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.plan_room(plan_id bigint) RETURNS TABLE(open boolean, slots bigint)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT ((NOT p.paused) AND (NOT ((p.on_failure = 'STOP'::text) AND (EXISTS ( SELECT
            FROM rowrun.task f
           WHERE ((f.plan_id = p.id) AND (f.outcome = 'FAILED'::text) AND (NOT f.skipped) AND (( SELECT u.id
                    FROM rowrun.task_run u
                   WHERE ((u.task_id = f.id) AND (u.plan_id IS NOT NULL) AND (u.status = ANY (ARRAY['PENDING'::text, 'AVAILABLE'::text, 'RUNNING'::text])))
                  LIMIT 1) IS NULL))))))),
         CASE
             WHEN (p.parallel_limit IS NULL) THEN (1000000000)::bigint
             ELSE GREATEST((p.parallel_limit - ( SELECT count(*) AS count
                FROM (unnest('{AVAILABLE,RUNNING}'::text[]) w(status)
                  CROSS JOIN LATERAL ( SELECT
                        FROM rowrun.task_run a_1
                       WHERE ((a_1.plan_id = p.id) AND (a_1.status = w.status) AND (a_1.status = ANY (ARRAY['AVAILABLE'::text, 'RUNNING'::text])))
                       ORDER BY a_1.id
                      OFFSET 0) a))), (0)::bigint)
         END AS "greatest"
    FROM rowrun.plan p
   WHERE (p.id = plan_room.plan_id)
  OFFSET 0;
END;


--
-- Name: FUNCTION plan_room(plan_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.plan_room(plan_id bigint) IS 'Internal: whether a plan lets runs through, and how many more.';


--
-- Name: smallest_version(text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.smallest_version(database_id text) RETURNS TABLE(version_key text)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT LEAST(( SELECT r.version_key
            FROM rowrun.task_run r
           WHERE ((r.database_id = smallest_version.database_id) AND (r.status = 'PENDING'::text) AND (r.version_key IS NOT NULL))
           ORDER BY r.version_key
          LIMIT 1), ( SELECT r.version_key
            FROM rowrun.task_run r
           WHERE ((r.database_id = smallest_version.database_id) AND (r.status = ANY (ARRAY['AVAILABLE'::text, 'RUNNING'::text])) AND (r.version_key IS NOT NULL))
           ORDER BY r.version_key
          LIMIT 1)) AS "least";
END;


--
-- Name: FUNCTION smallest_version(database_id text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.smallest_version(database_id text) IS 'Internal: the smallest unfinished version of a database.';


--
-- Name: judge(bigint[], bigint[], timestamp with time zone, bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.judge(run_ids bigint[], plan_ids bigint[], t timestamp with time zone, last_mark bigint) RETURNS TABLE(id bigint, cause text, plan_id bigint, database_id text, exclusive boolean, crowded_out boolean, fresh boolean, freed boolean, judged_at timestamp with time zone)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 WITH moment AS MATERIALIZED (
          SELECT GREATEST(judge.t, max(m.at) FILTER (WHERE (m.id > judge.last_mark))) AS t,
             ARRAY[
                 CASE
                     WHEN bool_or((m.kind = 'PAUSED'::text)) THEN 'PAUSED'::text
                     ELSE NULL::text
                 END,
                 CASE
                     WHEN bool_or((m.kind = ANY (ARRAY['DEPENDENCY'::text, 'TASK'::text, 'RUN'::text]))) THEN 'DEPENDENCY'::text
                     ELSE NULL::text
                 END,
                 CASE
                     WHEN bool_or((m.kind = 'PLAN_FAILED'::text)) THEN 'PLAN_FAILED'::text
                     ELSE NULL::text
                 END,
                 CASE
                     WHEN bool_or((m.kind = ANY (ARRAY['NO_REPLICA'::text, 'RUN'::text]))) THEN 'NO_REPLICA'::text
                     ELSE NULL::text
                 END] AS stale
            FROM rowrun.gate_mark m
         ), room AS MATERIALIZED (
          SELECT l.id AS plan_id,
             p.open,
             p.slots,
             (l.parallel_limit IS NOT NULL) AS limited
            FROM ((generate_subscripts(judge.plan_ids, 1) n(n)
              CROSS JOIN LATERAL ( SELECT l_1.id,
                     l_1.parallel_limit
                    FROM rowrun.plan l_1
                   WHERE (l_1.id = (judge.plan_ids)[n.n])
                  OFFSET 0) l)
              CROSS JOIN LATERAL rowrun.plan_room(l.id) p(open, slots))
         ), candidate AS MATERIALIZED (
          SELECT r.id,
             r.plan_id,
             r.database_id,
             r.version_key,
             r.sequential,
             r.priority,
             r.run_at,
             r.cause AS held,
             COALESCE(p.open, true) AS plan_open,
             COALESCE(p.slots, (1)::bigint) AS slots,
             g.cause
            FROM (((rowrun.task_run r
              LEFT JOIN room p ON ((p.plan_id = r.plan_id)))
              CROSS JOIN moment)
              CROSS JOIN LATERAL rowrun.closed_gate(r.*, COALESCE(p.limited, false), moment.t) g(cause))
           WHERE (r.id = ANY (judge.run_ids))
         ), target AS MATERIALIZED (
          SELECT d.database_id,
                 CASE
                     WHEN d.sequential THEN (EXISTS ( SELECT
                        FROM rowrun.task_run a
                       WHERE ((a.database_id = d.database_id) AND (a.status = ANY (ARRAY['AVAILABLE'::text, 'RUNNING'::text])))))
                     ELSE NULL::boolean
                 END AS active,
                 CASE
                     WHEN d.others THEN (EXISTS ( SELECT
                        FROM rowrun.task_run a
                       WHERE ((a.database_id = d.database_id) AND a.sequential AND (a.status = ANY (ARRAY['AVAILABLE'::text, 'RUNNING'::text])))))
                     ELSE NULL::boolean
                 END AS active_sequential
            FROM ( SELECT c.database_id,
                     bool_or(c.sequential) AS sequential,
                     bool_or((NOT c.sequential)) AS others
                    FROM candidate c
                   WHERE ((c.cause IS NULL) AND c.plan_open AND (c.slots > 0) AND (c.database_id IS NOT NULL))
                   GROUP BY c.database_id) d
         ), open AS MATERIALIZED (
          SELECT c.id,
             c.plan_id,
             c.database_id,
             c.version_key,
             c.sequential,
             c.priority,
             c.run_at,
             c.held,
             c.plan_open,
             c.slots,
             c.cause,
             COALESCE(
                 CASE
                     WHEN c.sequential THEN d.active
                     ELSE d.active_sequential
                 END, false) AS busy
            FROM (( SELECT c_1.id,
                     c_1.plan_id,
                     c_1.database_id,
                     c_1.version_key,
                     c_1.sequential,
                     c_1.priority,
                     c_1.run_at,
                     c_1.held,
                     c_1.plan_open,
                     c_1.slots,
                     c_1.cause
                    FROM candidate c_1
                   WHERE ((c_1.cause IS NULL) AND c_1.plan_open AND (c_1.slots > 0))) c
              FULL JOIN target d ON ((d.database_id = c.database_id)))
         ), base AS MATERIALIZED (
          SELECT d.database_id,
             COALESCE(d.version_key, s.version_key) AS smallest
            FROM (( SELECT o.database_id,
                     min(o.version_key) AS version_key
                    FROM open o
                   WHERE (o.database_id IS NOT NULL)
                   GROUP BY o.database_id) d
              CROSS JOIN LATERAL rowrun.smallest_version(d.database_id) s(version_key))
         ), first_sequential AS MATERIALIZED (
          SELECT DISTINCT ON (s.database_id) s.database_id,
             s.id,
             s.priority,
             s.run_at
            FROM ( SELECT o.database_id,
                     o.id,
                     o.priority,
                     o.run_at
                    FROM open o
                   WHERE (o.sequential AND (o.database_id IS NOT NULL))
                 UNION ALL
                  SELECT b.database_id,
                     x.id,
                     x.priority,
                     x.run_at
                    FROM ((base b
                      CROSS JOIN moment)
                      CROSS JOIN LATERAL rowrun.first_sequential(b.database_id, b.smallest, moment.t, moment.stale) x(id, priority, run_at))
                   WHERE ((EXISTS ( SELECT
                            FROM rowrun.task_run r
                           WHERE ((r.database_id = b.database_id) AND (r.status = 'PENDING'::text) AND (r.version_key IS NULL) AND r.sequential))) OR (EXISTS ( SELECT
                            FROM rowrun.task_run r
                           WHERE ((r.database_id = b.database_id) AND (r.status = 'PENDING'::text) AND (r.version_key = b.smallest) AND r.sequential))))) s
           ORDER BY s.database_id, s.priority DESC, s.run_at, s.id
         ), first_other AS MATERIALIZED (
          SELECT DISTINCT ON (o.database_id) o.database_id,
             o.id,
             o.priority,
             o.run_at
            FROM open o
           WHERE ((NOT o.sequential) AND (NOT o.busy) AND (o.database_id IS NOT NULL))
           ORDER BY o.database_id, o.priority DESC, o.run_at, o.id
         ), passed AS MATERIALIZED (
          SELECT o.id,
             o.plan_id,
             o.database_id,
             o.version_key,
             o.sequential,
             o.priority,
             o.run_at,
             o.held,
             o.plan_open,
             o.slots,
             o.cause,
             o.busy,
             ((NOT o.busy) AND ((o.database_id IS NULL) OR (o.sequential AND (f.id = o.id) AND ((e.id IS NULL) OR (ROW((- (e.priority)::bigint), e.run_at, e.id) > ROW((- (o.priority)::bigint), o.run_at, o.id)))) OR ((NOT o.sequential) AND ((f.id IS NULL) OR (ROW((- (o.priority)::bigint), o.run_at, o.id) < ROW((- (f.priority)::bigint), f.run_at, f.id)))))) AS alone
            FROM ((open o
              FULL JOIN first_sequential f ON ((f.database_id = o.database_id)))
              FULL JOIN first_other e ON ((e.database_id = o.database_id)))
         ), ranked AS MATERIALIZED (
          SELECT a.id,
             a.slots,
             row_number() OVER (PARTITION BY a.plan_id ORDER BY a.priority DESC, a.run_at, a.id) AS n
            FROM passed a
           WHERE a.alone
         )
  SELECT v.id,
     v.cause,
     v.plan_id,
     v.database_id,
     (v.sequential AND (v.database_id IS NOT NULL)),
     v.crowded_out,
     v.fresh,
     (v.could_go AND (v.cause <> 'DATABASE'::text) AND (v.cause IS DISTINCT FROM v.held)),
     ( SELECT moment.t
            FROM moment) AS t
    FROM ( SELECT c.id,
             c.plan_id,
             c.database_id,
             c.sequential,
             c.held,
             ((c.held IS NULL) AND (c.version_key IS NOT NULL)) AS fresh,
             (c.sequential AND (c.database_id IS NOT NULL) AND ((c.held IS NULL) OR (c.held = ANY (ARRAY['DATABASE'::text, 'PLAN'::text])))) AS could_go,
                 CASE
                     WHEN (c.cause IS NOT NULL) THEN c.cause
                     WHEN ((NOT c.plan_open) OR (c.slots <= 0)) THEN 'PLAN'::text
                     WHEN (k.id IS NULL) THEN 'DATABASE'::text
                     WHEN ((c.plan_id IS NOT NULL) AND (k.n > k.slots)) THEN 'PLAN'::text
                     ELSE NULL::text
                 END AS cause,
             ((c.plan_id IS NOT NULL) AND (k.n > k.slots)) AS crowded_out
            FROM (candidate c
              LEFT JOIN ranked k ON ((k.id = c.id)))) v;
END;


--
-- Name: FUNCTION judge(run_ids bigint[], plan_ids bigint[], t timestamp with time zone, last_mark bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.judge(run_ids bigint[], plan_ids bigint[], t timestamp with time zone, last_mark bigint) IS 'Internal: what holds each of these runs, judged together.';


--
-- Name: judge_ends(bigint[], uuid[], text[], jsonb[], text[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.judge_ends(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[]) RETURNS TABLE(id bigint, claim uuid, status text, result jsonb, retry text, again boolean, handled boolean)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT i.id,
     i.claim,
         CASE
             WHEN ((i.status = 'FAILED'::text) AND (x.cancel_requested_at IS NOT NULL)) THEN 'CANCELED'::text
             WHEN ((i.status = 'FAILED'::text) AND (i.retry = 'STALE'::text) AND (k.on_stale = 'CANCEL'::text)) THEN 'CANCELED'::text
             ELSE i.status
         END AS status,
         CASE
             WHEN ((i.status = 'FAILED'::text) AND (x.cancel_requested_at IS NOT NULL)) THEN (COALESCE(i.result, '{}'::jsonb) || jsonb_build_object('code', 'CANCELED', 'detail', (('Task run canceled'::text || COALESCE((': '::text || x.cancel_reason), ''::text)) ||
             CASE
                 WHEN (COALESCE((i.result ->> 'code'::text), 'CANCELED'::text) = 'CANCELED'::text) THEN ''::text
                 ELSE ((((' ('::text || (i.result ->> 'code'::text)) || ': '::text) || COALESCE((i.result ->> 'detail'::text), ''::text)) || ')'::text)
             END)))
             ELSE COALESCE(i.result, '{}'::jsonb)
         END AS "coalesce",
     i.retry,
     ((i.status = 'FAILED'::text) AND (x.cancel_requested_at IS NULL) AND (NOT k.skipped) AND ((k.type = x.type) OR (k.type <> ALL (ARRAY['SQL'::text, 'DATABASE_MIGRATE'::text, 'COMMAND'::text]))) AND ((i.retry = 'RELEASED'::text) OR ((i.retry = 'FAILURE'::text) AND (x.failures < (k.max_attempts - 1))) OR ((i.retry = 'STALE'::text) AND (k.on_stale = 'RETRY'::text) AND (x.recoveries < 5)))),
     ((i.status = 'FAILED'::text) AND (k.on_failure_task IS NOT NULL))
    FROM ((UNNEST(judge_ends.run_ids, judge_ends.claims, judge_ends.statuses, judge_ends.results, judge_ends.retries) i(id, claim, status, result, retry)
      JOIN rowrun.task_run x ON ((x.id = i.id)))
      JOIN rowrun.task k ON ((k.id = x.task_id)))
   WHERE ((COALESCE(x.status, ''::text) = 'RUNNING'::text) AND ((i.claim IS NULL) OR (x.claim_hash = sha256(uuid_send(i.claim)))));
END;


--
-- Name: FUNCTION judge_ends(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.judge_ends(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[]) IS 'Internal: how runs end of which some failed.';


--
-- Name: keeps(rowrun.task, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.keeps(k rowrun.task, status text) RETURNS interval
    LANGUAGE sql STABLE
    RETURN COALESCE((((k).retention_by_status ->> status))::interval, (k).retention);


--
-- Name: FUNCTION keeps(k rowrun.task, status text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.keeps(k rowrun.task, status text) IS 'Internal: how long a task keeps its runs of a status; NULL: as long as the sidecars say.';


--
-- Name: kind_stands(text, text, text, jsonb, timestamp with time zone, boolean); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.kind_stands(queue text, type text, database_id text, payload jsonb, t timestamp with time zone, available boolean) RETURNS TABLE(replicas bigint, free bigint, ids jsonb)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT count(*) AS count,
     max(
         CASE
             WHEN kind_stands.available THEN (h.concurrency - ( SELECT count(*) AS count
                FROM rowrun.task_run a
               WHERE ((a.replica_id = h.replica_id) AND (a.status = 'RUNNING'::text))))
             ELSE NULL::bigint
         END) AS max,
     to_jsonb((array_agg(h.replica_id ORDER BY h.replica_id))[1:100]) AS to_jsonb
    FROM rowrun.replica_heartbeat h
   WHERE rowrun.takes(h.*, kind_stands.t, kind_stands.queue, kind_stands.type, kind_stands.database_id, kind_stands.payload);
END;


--
-- Name: FUNCTION kind_stands(queue text, type text, database_id text, payload jsonb, t timestamp with time zone, available boolean); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.kind_stands(queue text, type text, database_id text, payload jsonb, t timestamp with time zone, available boolean) IS 'Internal: live replicas that could run runs of a kind, and their free slots.';


--
-- Name: known_zone(text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.known_zone(zone text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    RETURN now() AT TIME ZONE zone IS NOT NULL;
EXCEPTION WHEN invalid_parameter_value THEN
    RETURN false;
END $$;


--
-- Name: FUNCTION known_zone(zone text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.known_zone(zone text) IS 'Internal: whether the server has a time zone.';


--
-- Name: leave_marks(record, bigint[], text[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.leave_marks(v record, of_plans bigint[], cut_off text[]) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    left_some boolean := 'SKIPPED' = ANY (v.causes); -- their ends have left marks
BEGIN
    IF v.fresh IS NOT NULL THEN
        -- A version that came may hold a sequential run back, behind which others then needn't wait.
        INSERT INTO gate_mark (kind, database_id)
        SELECT 'DATABASE', d FROM unnest(v.fresh) d
        WHERE (SELECT true FROM task_run w WHERE w.database_id = d AND w.version_key IS NULL AND NOT w.sequential
               AND w.status = 'PENDING' AND w.cause = 'DATABASE' LIMIT 1)
          AND (SELECT true FROM task_run q WHERE q.database_id = d AND q.version_key IS NOT NULL AND q.sequential AND q.status = 'PENDING' LIMIT 1);
        left_some := left_some OR FOUND;
    END IF;
    IF v.freed IS NOT NULL THEN
        -- A sequential run that others waited behind, as mutual exclusion alone held it, and that something else holds now.
        INSERT INTO gate_mark (kind, database_id)
        SELECT 'DATABASE', d FROM unnest(v.freed) d
        WHERE (SELECT true FROM task_run w WHERE w.database_id = d AND w.status = 'PENDING' AND w.cause = 'DATABASE' LIMIT 1);
        left_some := left_some OR FOUND;
    END IF;
    IF cardinality(v.open_ids) > 0 THEN
        -- The same of sequential runs that are no candidates: a plan that has just given its last slot away holds them now.
        -- Runs of the same plan that wait behind them have no slot either. Where the first hundred are of that plan, a run of
        -- another one behind these waits for the next end on the database, or for a sweep.
        INSERT INTO gate_mark (kind, database_id)
        SELECT DISTINCT 'DATABASE', s.database_id
        FROM (SELECT DISTINCT r.plan_id FROM task_run r WHERE r.id = ANY (v.open_ids) AND num_nonnulls(r.plan_id) = 1) p
        CROSS JOIN LATERAL (
            SELECT r.database_id FROM task_run r
            WHERE r.plan_id = p.plan_id AND r.status = 'PENDING' AND r.cause = 'PLAN' AND r.sequential AND r.database_id > ''
            UNION ALL
            SELECT r.database_id FROM task_run r
            WHERE r.plan_id = p.plan_id AND r.status = 'PENDING' AND r.cause = 'DATABASE' AND r.sequential AND r.database_id > '') s
        WHERE (SELECT room.slots FROM rowrun.plan_room(p.plan_id) room) <= 0
          AND (SELECT bool_or(w.plan_id IS DISTINCT FROM p.plan_id)
               FROM (SELECT r.plan_id FROM task_run r
                     WHERE r.database_id = s.database_id AND r.status = 'PENDING' AND r.cause = 'DATABASE' LIMIT 100) w);
        left_some := left_some OR FOUND;
    END IF;
    IF num_nonnulls(v.crowded_out, cut_off) > 0 THEN
        INSERT INTO gate_mark (kind, database_id)
        SELECT DISTINCT 'DATABASE', d FROM unnest(coalesce(v.crowded_out, '{}') || coalesce(cut_off, '{}')) d
        WHERE EXISTS (SELECT FROM unnest(v.causes) h(cause) WHERE h.cause IS DISTINCT FROM 'DATABASE');
        left_some := left_some OR FOUND;
    END IF;
    IF cardinality(of_plans) > 0 THEN
        -- Runs that somebody holds, who may be canceling them, kept others out: as many are candidates as their plan has room for.
        INSERT INTO gate_mark (kind, plan_id, wide)
        SELECT DISTINCT 'PLAN', r.plan_id, true FROM task_run r
        WHERE r.id = ANY (of_plans) AND r.id <> ALL (coalesce(v.ids, '{}')) AND num_nonnulls(r.plan_id) = 1;
        INSERT INTO gate_mark (kind, plan_id, wide)
        SELECT 'PLAN', q.plan_id, q.wide
        FROM (SELECT r.plan_id, bool_or(h.cause IS NOT NULL) AS wide
              FROM task_run r JOIN unnest(v.ids, v.causes) h(id, cause) ON h.id = r.id
              WHERE r.id = ANY (of_plans) AND h.cause IS DISTINCT FROM 'PLAN' GROUP BY r.plan_id) q
        CROSS JOIN LATERAL rowrun.plan_room(q.plan_id) room
        WHERE room.open AND room.slots > 0
          AND EXISTS (SELECT FROM task_run r WHERE r.plan_id = q.plan_id AND r.status = 'PENDING' AND r.cause = 'PLAN');
        left_some := left_some OR FOUND;
    END IF;
    RETURN coalesce(left_some, false);
END $$;


--
-- Name: FUNCTION leave_marks(v record, of_plans bigint[], cut_off text[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.leave_marks(v record, of_plans bigint[], cut_off text[]) IS 'Internal: marks of what a pass may have opened or not got round to.';


--
-- Name: let_start(bigint[], timestamp with time zone, rowrun.claim_request); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.let_start(run_ids bigint[], t timestamp with time zone, request rowrun.claim_request, OUT ids bigint[], OUT claims rowrun.claim[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    taken record;
BEGIN
    ids := '{}';
    claims := '{}';
    IF octet_length(request.hashes) > 32 * request.used THEN
        taken := make_running(run_ids, t, request);
        ids := taken.ids;
        claims := taken.claims;
    END IF;
    IF cardinality(ids) < cardinality(run_ids) THEN
        ids := ids || make_available(run_ids, t); -- those that are PENDING still
    END IF;
END $$;


--
-- Name: FUNCTION let_start(run_ids bigint[], t timestamp with time zone, request rowrun.claim_request, OUT ids bigint[], OUT claims rowrun.claim[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.let_start(run_ids bigint[], t timestamp with time zone, request rowrun.claim_request, OUT ids bigint[], OUT claims rowrun.claim[]) IS 'Internal: promotes runs, and claims those that the request takes.';


--
-- Name: let_start_singly(bigint[], timestamp with time zone, rowrun.claim_request); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.let_start_singly(run_ids bigint[], t timestamp with time zone, request rowrun.claim_request, OUT ids bigint[], OUT claims rowrun.claim[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    step record;
    run bigint;
BEGIN
    BEGIN
        step := let_start(run_ids, t, request);
        ids := step.ids;
        claims := step.claims;
        RETURN;
    EXCEPTION WHEN unique_violation OR lock_not_available THEN
        ids := '{}';
        claims := '{}';
        IF cardinality(run_ids) = 1 THEN
            PERFORM write_causes(run_ids, '{DATABASE}');
            INSERT INTO gate_mark (kind, run_id) VALUES ('RUN', run_ids[1]);
            RETURN;
        END IF;
    END;
    FOR run IN SELECT r.id FROM task_run r WHERE r.id = ANY (run_ids) ORDER BY r.priority DESC, r.run_at, r.id LOOP
        step := let_start_singly(ARRAY[run], t, request);
        ids := ids || step.ids;
        claims := claims || step.claims;
        request.used := request.used + cardinality(step.claims);
    END LOOP;
END $$;


--
-- Name: FUNCTION let_start_singly(run_ids bigint[], t timestamp with time zone, request rowrun.claim_request, OUT ids bigint[], OUT claims rowrun.claim[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.let_start_singly(run_ids bigint[], t timestamp with time zone, request rowrun.claim_request, OUT ids bigint[], OUT claims rowrun.claim[]) IS 'Internal: let_start, one by one where that fails for all.';


--
-- Name: lock_plans_of_ends(bigint[], bigint[], text[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.lock_plans_of_ends(plan_tasks bigint[], run_ids bigint[], statuses text[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    plans bigint[];
    announced boolean;
BEGIN
    -- A plan of which something is PENDING isn't complete, and ends that went well are no event of it: it needn't be
    -- held. (If that run too ends before this transaction does, the mark has the next pass ask.) It is looked for
    -- from the newest on: the entries of those that were promoted first are still passed by a look from the other side.
    SELECT coalesce(array_agg(p.id), '{}'), coalesce(bool_or(p.announced_round >= p.round), false) INTO plans, announced
    FROM (SELECT p.id, p.round, p.announced_round FROM rowrun.plan p
          WHERE p.id = ANY (ARRAY(SELECT k.plan_id FROM rowrun.task k WHERE k.id = ANY (plan_tasks)))
            AND NOT ('DONE' = ALL (statuses) AND p.announced_round < p.round
                     AND (SELECT u.id FROM rowrun.task_run u WHERE u.plan_id = p.id AND u.status = 'PENDING'
                          ORDER BY u.id DESC LIMIT 1) IS NOT NULL)
          ORDER BY p.id FOR NO KEY UPDATE) p;
    PERFORM FROM rowrun.task k WHERE k.id = ANY (plan_tasks) ORDER BY k.id FOR NO KEY UPDATE;
    IF announced THEN -- by hand, or inserted while the plan was just being announced
        PERFORM rowrun.begin_rounds(ARRAY(SELECT r.id FROM rowrun.task_run r WHERE r.id = ANY (run_ids) AND coalesce(r.status, '') = 'RUNNING'), true);
    END IF;
    RETURN plans;
END $$;


--
-- Name: FUNCTION lock_plans_of_ends(plan_tasks bigint[], run_ids bigint[], statuses text[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.lock_plans_of_ends(plan_tasks bigint[], run_ids bigint[], statuses text[]) IS 'Internal: locks plans and tasks whose runs end; the plans that may have an event.';


--
-- Name: lock_promotion(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.lock_promotion() RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
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


--
-- Name: FUNCTION lock_promotion(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.lock_promotion() IS 'Internal: takes the lock of the passes, unless somebody holds it for long.';


--
-- Name: make_available(bigint[], timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.make_available(run_ids bigint[], t timestamp with time zone) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
DECLARE
    ids bigint[];
    items text[];
BEGIN
    WITH changed AS (
        UPDATE task_run r
        SET status = 'AVAILABLE', prev_status = 'PENDING', available_at = greatest(t, r.run_at),
            updated_at = greatest(t, r.updated_at + interval '1 us'), cause = NULL, judge_at = NULL
        WHERE r.id = ANY (run_ids) AND coalesce(r.status, '') = 'PENDING'
        RETURNING r.id, transition(r) AS item
    )
    SELECT coalesce(array_agg(c.id), '{}'), array_agg(c.item) INTO ids, items FROM changed c;
    PERFORM announce(items);
    RETURN ids;
END $$;


--
-- Name: FUNCTION make_available(run_ids bigint[], t timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.make_available(run_ids bigint[], t timestamp with time zone) IS 'Internal: the transition PENDING to AVAILABLE; the runs that took it.';


--
-- Name: make_ended(bigint[], uuid[], text[], jsonb[], bigint[], timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.make_ended(run_ids bigint[], claims uuid[], end_statuses text[], results jsonb[], successor_ids bigint[], t timestamp with time zone, OUT ids bigint[], OUT statuses text[], OUT successors bigint[], OUT databases text[], OUT of_plans boolean, OUT kept bigint[], OUT ticked bigint[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    items text[];
    refused boolean;
BEGIN
    WITH changed AS (
        UPDATE rowrun.task_run r
        SET status = i.status, prev_status = 'RUNNING', edited_directly = NULL, finished_at = t, updated_at = t,
            claim_hash = CASE WHEN i.status = 'CANCELED' THEN r.claim_hash END, result = i.result, retry_run_id = i.successor
        FROM unnest(run_ids, claims, end_statuses, results, successor_ids) AS i(id, claim, status, result, successor)
        WHERE r.id = i.id AND coalesce(r.status, '') = 'RUNNING'
          AND (i.claim IS NULL OR r.claim_hash = sha256(uuid_send(i.claim)))
        RETURNING r.id, r.status, r.retry_run_id, r.plan_id, r.database_id, r.tick,
            r.status = 'DONE' AND r.result ? 'state' AS kept, rowrun.transition(r) AS item,
            jsonb_typeof(r.result) <> 'object' OR (pg_column_size(r.result) >= 2000 AND (octet_length(r.result::text) > 1048576 OR rowrun.too_deep(r.result))) AS bad
    )
    SELECT array_agg(c.id), array_agg(c.status), array_agg(c.retry_run_id), array_agg(c.item),
           array_agg(DISTINCT c.database_id) FILTER (WHERE c.database_id IS NOT NULL), bool_or(c.plan_id IS NOT NULL),
           bool_or(c.bad), array_agg(c.id) FILTER (WHERE c.kept), array_agg(c.id) FILTER (WHERE c.tick IS NOT NULL AND c.retry_run_id IS NULL)
    INTO ids, statuses, successors, items, databases, of_plans, refused, kept, ticked
    FROM changed c;
    IF refused THEN
        RAISE EXCEPTION 'result of a run is a JSON object of at most 1 MiB and 1,000 levels'
            USING ERRCODE = 'check_violation', HINT = 'Keep large data elsewhere and leave a reference.';
    END IF;
    PERFORM rowrun.announce(items);
END $$;


--
-- Name: FUNCTION make_ended(run_ids bigint[], claims uuid[], end_statuses text[], results jsonb[], successor_ids bigint[], t timestamp with time zone, OUT ids bigint[], OUT statuses text[], OUT successors bigint[], OUT databases text[], OUT of_plans boolean, OUT kept bigint[], OUT ticked bigint[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.make_ended(run_ids bigint[], claims uuid[], end_statuses text[], results jsonb[], successor_ids bigint[], t timestamp with time zone, OUT ids bigint[], OUT statuses text[], OUT successors bigint[], OUT databases text[], OUT of_plans boolean, OUT kept bigint[], OUT ticked bigint[]) IS 'Internal: the transition from RUNNING to an end.';


--
-- Name: make_running(bigint[], timestamp with time zone, rowrun.claim_request); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.make_running(run_ids bigint[], t timestamp with time zone, request rowrun.claim_request, OUT ids bigint[], OUT claims rowrun.claim[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
DECLARE
    items text[];
BEGIN
    WITH fitting AS MATERIALIZED (
        SELECT f.place, request.used + (row_number() OVER ())::int AS n
        FROM (SELECT r.ctid AS place FROM task_run r JOIN task k ON k.id = r.task_id
              WHERE r.id = ANY (run_ids) AND coalesce(r.status, '') = 'PENDING' AND r.queue = ANY (request.queues)
                AND r.type = ANY (request.types) AND NOT k.paused AND may_take(r, k, request.databases, request.commands)
              ORDER BY r.priority DESC, r.run_at, r.id LIMIT octet_length(request.hashes) / 32 - request.used) f
    ), taken AS (
        UPDATE task_run r
        SET status = 'RUNNING', prev_status = 'PENDING', edited_directly = NULL, cause = NULL, judge_at = NULL, replica_id = request.replica_id,
            claim_hash = substring(request.hashes FROM 32 * f.n - 31 FOR 32), available_at = greatest(make_running.t, r.run_at),
            started_at = greatest(now.t, r.run_at), updated_at = greatest(now.t, r.run_at, r.updated_at + interval '1 us'),
            deadline = CASE WHEN coalesce(k.timeout, make_interval(secs => request.default_timeout)) > interval '0'
                            THEN now.t + coalesce(k.timeout, make_interval(secs => request.default_timeout)) END
        FROM fitting f, task k, (SELECT greatest(clock_timestamp(), make_running.t) AS t) now
        WHERE k.id = r.task_id AND r.ctid = f.place
        RETURNING r.id, f.n, promotion_and_claim(r) AS item,
            ROW(f.n, r.id, r.root_id, r.task_id, k.name, r.plan_id, r.attempt, r.type, r.queue, r.database_id, r.version, r.input,
                r.failures = 0 AND r.recoveries = 0, date_part('epoch', r.deadline - now.t),
                k.type, CASE WHEN r.type <> k.type THEN (SELECT a.alias_of FROM task_type a WHERE a.type = r.type) END,
                k.database_id, k.version, k.payload, k.state, k.labels ->> 'traceparent',
                date_part('epoch', k.progress_timeout), k.failure_log_level)::rowrun.claim AS claim
    )
    SELECT coalesce(array_agg(c.id), '{}'), coalesce(array_agg(c.claim), '{}'), array_agg(c.item) INTO ids, claims, items FROM taken c;
    IF items IS NOT NULL THEN
        PERFORM announce(items);
    END IF;
END $$;


--
-- Name: FUNCTION make_running(run_ids bigint[], t timestamp with time zone, request rowrun.claim_request, OUT ids bigint[], OUT claims rowrun.claim[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.make_running(run_ids bigint[], t timestamp with time zone, request rowrun.claim_request, OUT ids bigint[], OUT claims rowrun.claim[]) IS 'Internal: PENDING to AVAILABLE and RUNNING at once, of what a replica takes; the runs that took it.';


--
-- Name: mark_blocked(rowrun.task_run); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.mark_blocked(r rowrun.task_run) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    SET jit TO 'off'
    AS $$
BEGIN
    INSERT INTO gate_mark (kind, database_id)
    SELECT 'DATABASE', r.database_id FROM task k
    WHERE k.id = r.task_id
      AND EXISTS (SELECT FROM replica_heartbeat h WHERE takes(h, clock_timestamp(), r.queue, r.type, r.database_id, k.payload));
    RETURN FOUND;
END $$;


--
-- Name: FUNCTION mark_blocked(r rowrun.task_run); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.mark_blocked(r rowrun.task_run) IS 'Internal: a database has new runs that wait for it.';


--
-- Name: mark_edited(text, boolean); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.mark_edited(database_id text, look boolean) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    IF mark_edited.database_id IS NOT NULL THEN
        INSERT INTO rowrun.gate_mark (kind, database_id) VALUES ('DATABASE', mark_edited.database_id);
    END IF;
    IF look THEN
        PERFORM rowrun.notify_look();
    END IF;
END $$;


--
-- Name: FUNCTION mark_edited(database_id text, look boolean); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.mark_edited(database_id text, look boolean) IS 'Internal: a PENDING run was moved, or a cancel asked of a RUNNING one.';


--
-- Name: mark_ended(bigint[], boolean); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.mark_ended(run_ids bigint[], of_plans boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    failed_plans bigint[];
BEGIN
    WITH ended AS (
        UPDATE rowrun.task t
        SET outcome = c.status, outcome_run_id = c.id,
            outcome_round = CASE c.status WHEN 'FAILED' THEN greatest(c.round, (SELECT p.round FROM rowrun.plan p WHERE p.id = c.plan_id)) END
        FROM rowrun.task_run c
        WHERE c.id = ANY (run_ids) AND t.id = c.task_id AND num_nonnulls(c.plan_id) = 1
          AND coalesce(c.status, '') IN ('DONE', 'FAILED', 'CANCELED') AND c.retry_run_id IS NULL
        RETURNING c.status, c.plan_id
    )
    SELECT array_agg(DISTINCT e.plan_id) FILTER (WHERE e.status = 'FAILED') INTO failed_plans FROM ended e;
    IF failed_plans IS NOT NULL THEN
        PERFORM rowrun.mark_stopped(failed_plans);
    END IF;
    INSERT INTO rowrun.gate_mark (kind, database_id, plan_id, task_id)
    SELECT DISTINCT m.kind, m.database_id, m.plan_id, m.task_id
    FROM rowrun.task_run c
    CROSS JOIN LATERAL (VALUES
        ('DATABASE', c.database_id, NULL::bigint, NULL::bigint),
        ('PLAN', NULL, CASE WHEN of_plans AND c.prev_status <> 'PENDING' THEN c.plan_id END, NULL),
        -- Its task is locked by now (above, or before the call): a pass that holds a run back for it either finds it
        -- locked, and leaves a mark of its own, or is over before this statement, which then sees the dependency.
        ('DEPENDENCY', NULL, NULL, CASE WHEN c.plan_id IS NOT NULL AND c.status = 'DONE'
            AND (EXISTS (SELECT FROM rowrun.task_dependency d WHERE d.depends_on_id = c.task_id)
                 OR current_setting('transaction_isolation') <> 'read committed') THEN c.task_id END)
    ) m(kind, database_id, plan_id, task_id)
    WHERE c.id = ANY (run_ids) AND coalesce(c.status, '') IN ('DONE', 'FAILED', 'CANCELED')
      AND (m.database_id IS NOT NULL OR m.plan_id IS NOT NULL OR m.task_id IS NOT NULL);
END $$;


--
-- Name: FUNCTION mark_ended(run_ids bigint[], of_plans boolean); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.mark_ended(run_ids bigint[], of_plans boolean) IS 'Internal: outcome of tasks and marks of what may start, after the end of runs.';


--
-- Name: mark_ready(bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.mark_ready(plan_id bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO gate_mark (kind, plan_id) VALUES ('PLAN', mark_ready.plan_id);
END $$;


--
-- Name: FUNCTION mark_ready(plan_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.mark_ready(plan_id bigint) IS 'Internal: a plan has new runs that may wait for it alone.';


--
-- Name: mark_stopped(bigint[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.mark_stopped(plan_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO rowrun.gate_mark (kind, database_id)
    SELECT 'DATABASE', d.database_id
    FROM rowrun.databases_of_plans(ARRAY(SELECT p.id FROM rowrun.plan p WHERE p.id = ANY (plan_ids) AND p.on_failure = 'STOP')) d;
END $$;


--
-- Name: FUNCTION mark_stopped(plan_ids bigint[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.mark_stopped(plan_ids bigint[]) IS 'Internal: marks of what may start where a failure stops plans.';


--
-- Name: mark_unseen_ends(bigint[], text[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.mark_unseen_ends(run_ids bigint[], causes text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    waiting bigint[];
    locked_tasks bigint[];
BEGIN
    waiting := ARRAY(SELECT r.id FROM unnest(run_ids, causes) v(id, cause) JOIN task_run r ON r.id = v.id
                     WHERE v.cause = 'DEPENDENCY' AND r.cause IS DISTINCT FROM 'DEPENDENCY');
    locked_tasks := ARRAY(SELECT n.id FROM task n
                          WHERE n.id IN (SELECT d.depends_on_id FROM task_run r JOIN unmet_dependency d ON d.task_id = r.task_id
                                         WHERE r.id = ANY (waiting))
                          ORDER BY n.id FOR SHARE SKIP LOCKED);
    INSERT INTO gate_mark (kind, run_id)
    SELECT 'RUN', r.id FROM task_run r
    WHERE r.id = ANY (waiting)
      AND (SELECT coalesce(bool_or(d.depends_on_id <> ALL (locked_tasks)), true) FROM unmet_dependency d WHERE d.task_id = r.task_id);
END $$;


--
-- Name: FUNCTION mark_unseen_ends(run_ids bigint[], causes text[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.mark_unseen_ends(run_ids bigint[], causes text[]) IS 'Internal: marks of runs that wait for a task which may just be ending.';


--
-- Name: may_take(rowrun.task_run, rowrun.task, text[], text[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.may_take(r rowrun.task_run, k rowrun.task, databases text[], commands text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    RETURN (rowrun.fits((r).type, (r).database_id, (k).payload, databases, commands) OR (((r).type = 'COMMAND'::text) AND ((k).type <> 'COMMAND'::text)));


--
-- Name: FUNCTION may_take(r rowrun.task_run, k rowrun.task, databases text[], commands text[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.may_take(r rowrun.task_run, k rowrun.task, databases text[], commands text[]) IS 'Internal: whether a replica with these databases and commands takes a run.';


--
-- Name: missed_at(rowrun.task, timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.missed_at(k rowrun.task, due timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    RETURN CASE WHEN ((k).misfire = 'SKIP'::text) THEN (due + ((CASE WHEN (cardinality((k).schedule_parts) = 1) THEN LEAST((k).schedule_parts[1], (60000000)::bigint) ELSE (60000000)::bigint END)::double precision * '00:00:00.000001'::interval)) ELSE NULL::timestamp with time zone END;


--
-- Name: FUNCTION missed_at(k rowrun.task, due timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.missed_at(k rowrun.task, due timestamp with time zone) IS 'Internal: when a tick counts as missed.';


--
-- Name: next_delivery_id(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.next_delivery_id() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    SET enable_seqscan TO 'off'
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


--
-- Name: FUNCTION next_delivery_id(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.next_delivery_id() IS 'Internal: the next free id of a delivery.';


--
-- Name: next_log_id(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.next_log_id() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    drawn bigint;
BEGIN
    LOOP
        drawn := nextval('rowrun.task_run_log_id_seq');
        EXIT WHEN NOT EXISTS (SELECT FROM rowrun.task_run_log l WHERE l.id = drawn);
    END LOOP;
    RETURN drawn;
END $$;


--
-- Name: FUNCTION next_log_id(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.next_log_id() IS 'Internal: the next free id of a row in a run''s log.';


--
-- Name: webhook_delivery_log; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.webhook_delivery_log (
    plan_id bigint NOT NULL,
    event_type text NOT NULL,
    round integer NOT NULL,
    retry_count integer DEFAULT 0 NOT NULL,
    delivered_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT webhook_delivery_log_event_type_check CHECK ((event_type = ANY (ARRAY['PIPELINE_FAILED'::text, 'PIPELINE_COMPLETED'::text])))
);


--
-- Name: TABLE webhook_delivery_log; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.webhook_delivery_log IS 'The announcement of each plan''s current round, at most one.';


--
-- Name: COLUMN webhook_delivery_log.plan_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery_log.plan_id IS 'The plan.';


--
-- Name: COLUMN webhook_delivery_log.event_type; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery_log.event_type IS 'PIPELINE_FAILED or PIPELINE_COMPLETED.';


--
-- Name: COLUMN webhook_delivery_log.round; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery_log.round IS 'The round that it announces.';


--
-- Name: COLUMN webhook_delivery_log.retry_count; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery_log.retry_count IS 'How many rounds so far were begun by runs after the first.';


--
-- Name: COLUMN webhook_delivery_log.delivered_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery_log.delivered_at IS 'When the right to send was claimed.';


--
-- Name: next_rounds(bigint[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.next_rounds(run_ids bigint[]) RETURNS TABLE(plan_id bigint)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT DISTINCT p.id
    FROM ((rowrun.task_run r
      JOIN rowrun.plan p ON ((p.id = r.plan_id)))
      JOIN rowrun.task k ON ((k.id = r.task_id)))
   WHERE ((r.id = ANY (next_rounds.run_ids)) AND (NOT k.skipped) AND ((r.round > p.round) OR ((p.announced_round = p.round) AND (((k.outcome = 'FAILED'::text) AND (k.outcome_round = p.round)) OR (EXISTS ( SELECT
            FROM rowrun.webhook_delivery_log l
           WHERE ((l.plan_id = p.id) AND (l.round = p.round) AND (l.event_type = 'PIPELINE_COMPLETED'::text))))))));
END;


--
-- Name: FUNCTION next_rounds(run_ids bigint[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.next_rounds(run_ids bigint[]) IS 'Internal: plans whose next round runs belong to.';


--
-- Name: next_run_id(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.next_run_id() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    drawn bigint;
BEGIN
    LOOP
        drawn := nextval('rowrun.task_run_id_seq');
        EXIT WHEN NOT EXISTS (SELECT FROM rowrun.task_run r WHERE r.id = drawn)
              AND NOT EXISTS (SELECT FROM rowrun.task_run r WHERE r.root_id = drawn AND r.attempt > 0 AND r.retry_run_id IS NULL);
    END LOOP;
    RETURN drawn;
END $$;


--
-- Name: FUNCTION next_run_id(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.next_run_id() IS 'Internal: the next free id of a run.';


--
-- Name: parse_schedule(text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.parse_schedule(schedule text) RETURNS bigint[]
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    word text := lower(btrim(schedule, E' \t\n\r'));
    field text[];
    step bigint;
    weekdays bigint;
BEGIN
    IF word = '-' THEN
        RETURN '{}';
    END IF;
    IF word ~ '^@(every|after)\s' THEN
        step := extract(epoch FROM rowrun.go_duration(btrim(substr(word, 7)))) * 1000000;
        RETURN CASE WHEN word ~ '^@every' THEN ARRAY[step] ELSE ARRAY[step, 0] END;
    END IF;
    word := CASE word WHEN '@hourly' THEN '0 * * * *' WHEN '@daily' THEN '0 0 * * *' WHEN '@midnight' THEN '0 0 * * *'
                      WHEN '@weekly' THEN '0 0 * * 0' WHEN '@monthly' THEN '0 0 1 * *'
                      WHEN '@yearly' THEN '0 0 1 1 *' WHEN '@annually' THEN '0 0 1 1 *' ELSE word END;
    field := regexp_split_to_array(word, '\s+');
    IF cardinality(field) <> 5 THEN
        RAISE EXCEPTION 'schedule: "%" is not understood', left(schedule, 100)
            USING ERRCODE = 'RR003', HINT = 'Five fields (minute, hour, day of month, month, day of week), @hourly, @daily, @weekly, @monthly, @yearly, @every 10m, @after 10m, or - for disabled.';
    END IF;
    weekdays := rowrun.cron_field(field[5], 'day of week', 0, 7, '{sun,mon,tue,wed,thu,fri,sat}');
    RETURN ARRAY[rowrun.cron_field(field[1], 'minute', 0, 59),
                 rowrun.cron_field(field[2], 'hour', 0, 23),
                 rowrun.cron_field(field[3], 'day of month', 1, 31),
                 rowrun.cron_field(field[4], 'month', 1, 12, '{jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec}'),
                 (weekdays | (weekdays >> 7)) & 127,
                 (left(field[3], 1) <> '*' AND left(field[5], 1) <> '*')::int,
                 (field[1] || field[2] !~ '[*/]')::int];
END $$;


--
-- Name: FUNCTION parse_schedule(schedule text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.parse_schedule(schedule text) IS 'Internal: what a schedule says, as numbers.';


--
-- Name: tick_after(bigint[], text, timestamp with time zone, timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.tick_after(parts bigint[], zone text, after timestamp with time zone, grid timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    day CONSTANT interval := '25 hours';
    fixed boolean;
    since timestamp;
    shown timestamp;
    guess timestamptz;
    here interval;
    early interval;
    late interval;
    changed timestamptz;
BEGIN
    IF cardinality(parts) = 0 OR after >= timestamptz '9998-01-01 00:00+00' OR after < timestamptz '1900-01-01 00:00+00' THEN
        RETURN NULL;
    ELSIF cardinality(parts) < 7 THEN
        IF cardinality(parts) = 2 OR grid IS NULL THEN
            RETURN after + parts[1] * interval '1 us';
        ELSIF after < grid THEN
            RETURN grid;
        END IF;
        RETURN grid + (floor(extract(epoch FROM after - grid) * 1000000 / parts[1]) + 1) * parts[1] * interval '1 us';
    END IF;
    fixed := parts[7] = 1;
    since := (after AT TIME ZONE zone) + interval '1 us';
    IF zone = 'UTC' THEN
        RETURN rowrun.cron_local(parts[1], parts[2], parts[3], parts[4], parts[5], parts[6] = 1, since) AT TIME ZONE 'UTC';
    END IF;
    here := (after AT TIME ZONE zone) - (after AT TIME ZONE 'UTC');
    IF fixed THEN
        early := ((after - day) AT TIME ZONE zone) - ((after - day) AT TIME ZONE 'UTC');
        IF early > here THEN -- perhaps the clock shows for the second time what it has shown before
            changed := rowrun.clock_change(zone, after - day, after);
            since := greatest(since, (changed AT TIME ZONE 'UTC') + early);
        END IF;
    END IF;
    shown := rowrun.cron_local(parts[1], parts[2], parts[3], parts[4], parts[5], parts[6] = 1, since);
    IF NOT fixed THEN
        late := ((after + day) AT TIME ZONE zone) - ((after + day) AT TIME ZONE 'UTC');
        IF late < here THEN -- the clock will be put back: what it has shown since then comes again
            changed := rowrun.clock_change(zone, after, after + day);
            IF coalesce(shown >= (changed AT TIME ZONE 'UTC') + here, true) THEN
                shown := rowrun.cron_local(parts[1], parts[2], parts[3], parts[4], parts[5], parts[6] = 1,
                                           (changed AT TIME ZONE 'UTC') + late);
            END IF;
        END IF;
    END IF;
    IF shown IS NULL THEN
        RETURN NULL;
    END IF;

    guess := shown AT TIME ZONE zone;
    early := ((guess - day) AT TIME ZONE zone) - ((guess - day) AT TIME ZONE 'UTC');
    late := ((guess + day) AT TIME ZONE zone) - ((guess + day) AT TIME ZONE 'UTC');
    IF early = late THEN
        RETURN guess;
    ELSIF (shown - early) AT TIME ZONE 'UTC' AT TIME ZONE zone = shown AND (shown - early) AT TIME ZONE 'UTC' > after THEN
        RETURN (shown - early) AT TIME ZONE 'UTC';
    ELSIF (shown - late) AT TIME ZONE 'UTC' AT TIME ZONE zone = shown THEN
        RETURN (shown - late) AT TIME ZONE 'UTC';
    ELSIF early < late THEN
        changed := rowrun.clock_change(zone, (shown - late) AT TIME ZONE 'UTC', (shown - early) AT TIME ZONE 'UTC');
        since := (changed AT TIME ZONE 'UTC') + late; -- what the clock shows when the gap is over
        IF fixed OR rowrun.cron_local(parts[1], parts[2], parts[3], parts[4], parts[5], parts[6] = 1, since) = since THEN
            RETURN changed;
        END IF;
        RETURN rowrun.tick_after(parts, zone, changed, grid);
    END IF;
    RETURN guess;
END $$;


--
-- Name: FUNCTION tick_after(parts bigint[], zone text, after timestamp with time zone, grid timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.tick_after(parts bigint[], zone text, after timestamp with time zone, grid timestamp with time zone) IS 'Internal: next_tick of a schedule that was read.';


--
-- Name: next_tick(text, text, timestamp with time zone, timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.next_tick(schedule text, time_zone text, after timestamp with time zone, grid timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN rowrun.tick_after(rowrun.parse_schedule(schedule), time_zone, after, grid);


--
-- Name: FUNCTION next_tick(schedule text, time_zone text, after timestamp with time zone, grid timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.next_tick(schedule text, time_zone text, after timestamp with time zone, grid timestamp with time zone) IS 'The first tick of a schedule after a moment, NULL: never. @every counts from grid, or from the moment.';


--
-- Name: normal_error(text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.normal_error(detail text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN regexp_replace(regexp_replace(regexp_replace("left"(split_part(COALESCE(detail, ''::text), '
'::text, 1), 400), '"[^"]*"|''[^'']*'''::text, '...'::text, 'g'::text), '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|0x[0-9a-fA-F]+'::text, '...'::text, 'g'::text), '[0-9]+([.:,][0-9]+)*'::text, '...'::text, 'g'::text);


--
-- Name: FUNCTION normal_error(detail text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.normal_error(detail text) IS 'Internal: a failure''s text without what differs between failures of one cause.';


--
-- Name: note_act(bigint, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.note_act(act_id bigint, event text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    a record;
    what text;
BEGIN
    SELECT x.* INTO a FROM act x WHERE x.id = note_act.act_id;
    IF NOT FOUND OR note_act.event NOT IN ('act.asked', 'act.ended', 'act.stopped') THEN
        RETURN;
    END IF;
    what := format('%s of %s', a.verb, CASE
        WHEN a.targets IS NULL THEN format('all %ss of a filter', a.kind)
        WHEN cardinality(a.targets) = 1 THEN format('%s %s', a.kind, left(a.targets[1], 200))
        ELSE format('%s %ss', cardinality(a.targets), a.kind) END);
    INSERT INTO stream_note (level, event, message, detail)
    VALUES ('info', note_act.event,
        CASE note_act.event WHEN 'act.asked' THEN format('%s asked for: %s', a.asked_by, what)
            WHEN 'act.stopped' THEN format('%s stopped: %s', a.stopped_by, what)
            ELSE format('ended: %s', what) END,
        jsonb_strip_nulls(jsonb_build_object('act_id', a.id, 'act', a.verb, 'kind', a.kind, 'by', a.asked_by, 'role', a.role,
            'targets', to_jsonb(a.targets[1:20]), 'filter', a.filter, 'reason', a.args ->> 'reason', 'limit', a.args -> 'limit',
            'run_id', CASE WHEN a.kind = 'run' AND cardinality(a.targets) = 1 THEN a.targets[1]::bigint END,
            'task_id', CASE WHEN a.kind = 'task' AND cardinality(a.targets) = 1 THEN a.targets[1]::bigint END,
            'plan_id', CASE WHEN a.kind = 'plan' AND cardinality(a.targets) = 1 THEN a.targets[1]::bigint
                            WHEN a.search ->> 'plan_id' IS NOT NULL THEN (a.search ->> 'plan_id')::bigint END,
            'stopped_by', a.stopped_by)
            || CASE WHEN note_act.event = 'act.asked' THEN '{}' ELSE
               jsonb_build_object('state', a.state, 'done', a.done, 'unchanged', a.unchanged, 'failed', a.failed) END));
    -- What nobody can ask to have repeated any more goes, a few at each act.
    DELETE FROM act x WHERE x.id IN (SELECT o.id FROM act o WHERE o.created_at < now() - interval '30 days' AND o.state <> 'RUNNING'
                                     ORDER BY o.created_at LIMIT 100);
END $$;


--
-- Name: FUNCTION note_act(act_id bigint, event text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.note_act(act_id bigint, event text) IS 'Internal: has the stream tell of an act.';


--
-- Name: notify_look(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.notify_look() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    IF rowrun.may_notify() THEN
        PERFORM pg_notify('rowrun_task_run', '[]');
    END IF;
END $$;


--
-- Name: FUNCTION notify_look(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.notify_look() IS 'Says "look" on rowrun_task_run.';


--
-- Name: other_versions(text, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.other_versions(database_id text, but text) RETURNS TABLE(run_ids bigint[], keys text[], ranks bigint[], first_ids jsonb)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT array_agg(o.id) AS array_agg,
     array_agg(o.version_key) AS array_agg,
     array_agg(o.rank) AS array_agg,
     COALESCE(to_jsonb((array_agg(o.id))[1:100]), '[]'::jsonb) AS "coalesce"
    FROM ( SELECT q.id,
             q.version_key,
             dense_rank() OVER (ORDER BY q.version_key) AS rank
            FROM (( SELECT u.id,
                     u.version_key
                    FROM rowrun.task_run u
                   WHERE ((u.database_id = other_versions.database_id) AND (u.version_key < (other_versions.but COLLATE "C")) AND (u.status = 'PENDING'::text))
                   ORDER BY u.database_id, u.version_key, u.sequential, u.priority DESC, u.run_at, u.id
                  LIMIT 101)
                 UNION ALL
                 ( SELECT u.id,
                     u.version_key
                    FROM rowrun.task_run u
                   WHERE ((u.database_id = other_versions.database_id) AND (u.version_key > (other_versions.but COLLATE "C")) AND (u.status = 'PENDING'::text))
                   ORDER BY u.database_id, u.version_key, u.sequential, u.priority DESC, u.run_at, u.id
                  LIMIT 101)
          LIMIT 101) q
           ORDER BY q.version_key) o;
END;


--
-- Name: FUNCTION other_versions(database_id text, but text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.other_versions(database_id text, but text) IS 'Internal: what waits on a database with a version, but for one of them.';


--
-- Name: overlooked_databases(text[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.overlooked_databases(known text[]) RETURNS TABLE(database_id text)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 WITH RECURSIVE d AS (
         ( SELECT r.database_id
            FROM rowrun.task_run r
           WHERE ((r.status = 'PENDING'::text) AND (r.cause = 'DATABASE'::text))
           ORDER BY r.database_id
          LIMIT 1)
         UNION ALL
          SELECT ( SELECT r.database_id
                    FROM rowrun.task_run r
                   WHERE ((r.status = 'PENDING'::text) AND (r.cause = 'DATABASE'::text) AND (r.database_id > d_1.database_id))
                   ORDER BY r.database_id
                  LIMIT 1) AS database_id
            FROM d d_1
           WHERE (d_1.database_id IS NOT NULL)
         )
  SELECT d.database_id
    FROM d
   WHERE ((d.database_id IS NOT NULL) AND (d.database_id <> ALL (overlooked_databases.known)) AND (NOT (EXISTS ( SELECT
            FROM rowrun.task_run a
           WHERE ((a.database_id = d.database_id) AND (a.status = ANY (ARRAY['AVAILABLE'::text, 'RUNNING'::text])))))));
END;


--
-- Name: FUNCTION overlooked_databases(known text[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.overlooked_databases(known text[]) IS 'Internal: other databases on which runs wait for nobody.';


--
-- Name: overlooked_plans(bigint[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.overlooked_plans(known bigint[]) RETURNS TABLE(plan_id bigint)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 WITH RECURSIVE p AS (
         ( SELECT r.plan_id
            FROM rowrun.task_run r
           WHERE ((r.status = 'PENDING'::text) AND (r.cause = 'PLAN'::text) AND (r.plan_id > 0))
           ORDER BY r.plan_id
          LIMIT 1)
         UNION ALL
          SELECT ( SELECT r.plan_id
                    FROM rowrun.task_run r
                   WHERE ((r.status = 'PENDING'::text) AND (r.cause = 'PLAN'::text) AND (r.plan_id > p_1.plan_id))
                   ORDER BY r.plan_id
                  LIMIT 1) AS plan_id
            FROM p p_1
           WHERE (p_1.plan_id IS NOT NULL)
         )
  SELECT p.plan_id
    FROM p
   WHERE ((p.plan_id IS NOT NULL) AND (p.plan_id <> ALL (overlooked_plans.known)));
END;


--
-- Name: FUNCTION overlooked_plans(known bigint[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.overlooked_plans(known bigint[]) IS 'Internal: other plans with runs that are ready.';


--
-- Name: passed_by(bigint[], timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.passed_by(ids bigint[], t timestamp with time zone) RETURNS TABLE(run_id bigint, cause text, message text, detail jsonb)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 WITH late AS MATERIALIZED (
          SELECT r.id,
             r.holder,
             r.plan_id,
             r.gated
            FROM (generate_subscripts(passed_by.ids, 1) n(n)
              CROSS JOIN LATERAL ( SELECT u.id,
                     u.xmax AS holder,
                     u.plan_id,
                     ((u.status = 'PENDING'::text) AND (num_nonnulls(u.plan_id, u.database_id) > 0)) AS gated
                    FROM rowrun.task_run u
                   WHERE ((u.id = (passed_by.ids)[n.n]) AND (GREATEST(u.created_at, u.run_at, u.available_at) < (passed_by.t - '00:00:02'::interval)))
                  OFFSET 0) r)
         )
  SELECT x.id,
     'NO_REPLICA'::text AS cause,
     ((((((('replicas pass it by: session '::text || l.pid) || COALESCE((' of '::text || (a.usename)::text), ''::text)) || ' holds '::text) || min(x.what)) || '; to end it: SELECT pg_terminate_backend('::text) || l.pid) || ')'::text) AS message,
     jsonb_build_object('pid', l.pid, 'user', a.usename) AS detail
    FROM ((( SELECT r.id,
             r.holder,
             'the run'::text AS what
            FROM late r
         UNION ALL
          SELECT r.id,
             p.xmax,
             ('plan '::text || p.id) AS what
            FROM (late r
              JOIN rowrun.plan p ON ((p.id = r.plan_id)))
         UNION ALL
          SELECT r.id,
             p.xmax,
             'the lock of the gates'::text AS what
            FROM (late r
              CROSS JOIN rowrun.promotion_lock p)
           WHERE r.gated) x
      JOIN pg_locks l ON (((l.locktype = 'transactionid'::text) AND (l.transactionid = x.holder) AND (l.mode = 'ExclusiveLock'::text) AND l.granted)))
      LEFT JOIN pg_stat_activity a ON ((a.pid = l.pid)))
   WHERE ((x.holder <> '0'::xid) AND (l.pid <> pg_backend_pid()) AND ((a.xact_start > (passed_by.t - '00:00:02'::interval)) IS NOT TRUE) AND ((a.xact_start IS NOT NULL) OR (pg_has_role(a.usesysid, 'rowrun_replica'::name, 'MEMBER'::text) IS NOT TRUE)))
   GROUP BY x.id, l.pid, a.usename;
END;


--
-- Name: FUNCTION passed_by(ids bigint[], t timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.passed_by(ids bigint[], t timestamp with time zone) IS 'Internal: who holds the rows of runs that nothing else holds back.';


--
-- Name: pause_replica(text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.pause_replica(replica text) RETURNS SETOF text
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$ SELECT rowrun.set_replica_paused(replica, true) $$;


--
-- Name: FUNCTION pause_replica(replica text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.pause_replica(replica text) IS 'The live replicas of this id or name claim nothing from now on and go on with what they run; their ids.';


--
-- Name: pause_schedule(bigint, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.pause_schedule(task_id bigint, reason text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    UPDATE rowrun.task k SET paused = true, schedule_error = left(pause_schedule.reason, 1000)
    WHERE k.id = pause_schedule.task_id AND k.schedule_error IS NULL;
    IF NOT FOUND THEN
        RETURN; -- it was, and that was said
    END IF;
    INSERT INTO rowrun.stream_note (level, event, message, detail)
    SELECT 'warn', 'task.schedule_paused', 'schedule paused: it can''t be followed any more',
           jsonb_build_object('task_id', k.id, 'task', k.name, 'schedule', k.schedule, 'time_zone', k.time_zone, 'detail', k.schedule_error)
    FROM rowrun.task k WHERE k.id = pause_schedule.task_id;
    PERFORM rowrun.announce_pause(pause_schedule.task_id);
END $$;


--
-- Name: FUNCTION pause_schedule(task_id bigint, reason text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.pause_schedule(task_id bigint, reason text) IS 'Internal: pauses a task whose schedule can''t be followed.';


--
-- Name: plan_fill(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.plan_fill() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    NEW.id := coalesce(NEW.id, nextval('rowrun.plan_id_seq'));
    PERFORM rowrun.check_id(NEW.id, 'rowrun.plan_id_seq');
    NEW.project := coalesce(NEW.project, 'default');
    NEW.name := coalesce(NEW.name, '');
    NEW.on_failure := coalesce(NEW.on_failure, 'STOP_DATABASE');
    NEW.paused := coalesce(NEW.paused, false);
    IF NEW.on_failure NOT IN ('STOP_DATABASE', 'STOP', 'CONTINUE') THEN
        RAISE EXCEPTION 'on_failure "%" of a plan is none of STOP_DATABASE, STOP, CONTINUE', left(NEW.on_failure, 100)
            USING ERRCODE = 'check_violation', CONSTRAINT = 'plan_on_failure_stop_database_stop_or_continue',
                HINT = 'What a task that failed for good holds back: the later versions on its database, the default; every other run of the plan; nothing.';
    END IF;
    NEW.round := 1;
    NEW.announced_round := 0;
    NEW.retry_count := 0;
    NEW.created_at := now();
    RETURN NEW;
END $$;


--
-- Name: FUNCTION plan_fill(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.plan_fill() IS 'Trigger: NULLs get their defaults.';


--
-- Name: plan_gate_changed(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.plan_gate_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO rowrun.gate_mark (kind, plan_id) VALUES ('PLAN_CHANGED', NEW.id);
    IF NEW.on_failure <> OLD.on_failure THEN
        INSERT INTO rowrun.gate_mark (kind, plan_id, database_id)
        SELECT DISTINCT 'PLAN_FAILED', NEW.id, t.database_id FROM rowrun.task t
        WHERE t.plan_id = NEW.id AND t.database_id IS NOT NULL;
    END IF;
    IF NEW.parallel_limit IS NULL AND OLD.parallel_limit IS NOT NULL THEN
        -- Without a limit nothing needs a replica that could run it, but for what has a database.
        INSERT INTO rowrun.gate_mark (kind, run_id)
        SELECT 'RUN', r.id FROM rowrun.task t JOIN rowrun.task_run r ON r.task_id = t.id AND r.plan_id IS NOT NULL
        WHERE t.plan_id = NEW.id AND t.database_id IS NULL AND r.status = 'PENDING';
    END IF;
    -- A plan that waited for nothing but this is complete; the UPDATE holds it. One with an open task isn't: that is
    -- looked up along the index of open tasks, as due_event does, because the whole question takes a hundred times as long.
    IF OLD.paused AND NOT NEW.paused AND NEW.announced_round < NEW.round
       AND (SELECT o.id FROM rowrun.task o
            WHERE o.plan_id = NEW.id AND o.plan_id IS NOT NULL AND NOT o.skipped AND o.outcome IS DISTINCT FROM 'DONE'
            ORDER BY o.plan_id DESC, o.id DESC LIMIT 1) IS NULL
    THEN
        PERFORM rowrun.announce_plans(ARRAY[NEW.id]);
    END IF;
    PERFORM rowrun.notify_look();
    RETURN NULL;
END $$;


--
-- Name: FUNCTION plan_gate_changed(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.plan_gate_changed() IS 'Trigger: pause, limit or on_failure of a plan changed.';


--
-- Name: plan_message(rowrun.plan, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.plan_message(p rowrun.plan, event text, OUT message text, OUT standard text) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    again text := CASE WHEN p.retry_count > 0 THEN ' on retry' ELSE '' END;
    head text;
    tail text;
    items text[] := '{}';
    kept text := '';
    item text;
    first text;
    failed bigint;
BEGIN
    IF event = 'PIPELINE_FAILED' THEN
        SELECT count(*),
               (array_agg(CASE WHEN x.name = '' THEN 'Task ' || x.task_id WHEN x.name ILIKE 'task %' THEN x.name
                               ELSE 'Task ' || x.name END ORDER BY x.n))[1],
               (array_agg(row_to_json(j)::text ORDER BY x.n))[1:500]
        INTO failed, first, items
        FROM (
            SELECT f.id AS task_id, f.name, n.id AS run_id, n.attempt, left(coalesce(n.result ->> 'detail', ''), 2000) AS detail,
                   row_number() OVER (ORDER BY n.finished_at, n.id, f.id) AS n
            FROM task f
            LEFT JOIN LATERAL (
                SELECT r.id, r.attempt, r.result, r.finished_at FROM task_run r
                WHERE r.task_id = f.id AND r.plan_id IS NOT NULL AND r.status = 'FAILED' ORDER BY r.id DESC LIMIT 1) n ON true
            WHERE f.plan_id = p.id AND f.outcome_round = p.round AND f.outcome = 'FAILED' AND NOT f.skipped
              AND NOT EXISTS (SELECT FROM task_run u WHERE u.task_id = f.id AND u.plan_id IS NOT NULL
                              AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
        ) x CROSS JOIN LATERAL (SELECT x.task_id, x.name, x.run_id, x.attempt, x.detail) j;
        message := 'Pipeline failed' || again || ' - ' || first || ' failed';
        tail := ',"failed_task_count":' || failed || ',"failed_tasks":[';
    ELSE
        message := 'Pipeline completed successfully' || again;
        SELECT ',"tasks":' || count(*) || ',"done":' || count(*) FILTER (WHERE NOT k.skipped)
               || ',"skipped":' || count(*) FILTER (WHERE k.skipped)
        INTO tail FROM task k WHERE k.plan_id = p.id;
    END IF;
    head := '{"type":' || to_json(event) || ',"timestamp":"'
        || to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '","data":{"project":' || to_json(p.project)
        || ',"plan_id":' || p.id || ',"plan":' || to_json(p.name) || ',"round":' || p.round || ',"retry_count":' || p.retry_count
        || ',"message":' || to_json(message);
    FOREACH item IN ARRAY items LOOP
        EXIT WHEN octet_length(head) + octet_length(tail) + octet_length(kept) + octet_length(item) + 4 > 20000;
        kept := kept || CASE kept WHEN '' THEN '' ELSE ',' END || item;
    END LOOP;
    standard := head || tail || CASE event WHEN 'PIPELINE_FAILED' THEN kept || ']' ELSE '' END || '}}';
END $$;


--
-- Name: FUNCTION plan_message(p rowrun.plan, event text, OUT message text, OUT standard text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.plan_message(p rowrun.plan, event text, OUT message text, OUT standard text) IS 'Internal: what is said of an event.';


--
-- Name: plan_stands(bigint, timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.plan_stands(plan_id bigint, t timestamp with time zone) RETURNS TABLE(open boolean, paused boolean, on_failure text, limited boolean, parallel_limit integer, slots bigint, run_ids jsonb, stuck_id bigint)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT room.open,
     p.paused,
     p.on_failure,
     (p.parallel_limit IS NOT NULL),
     p.parallel_limit,
     room.slots,
     taken.ids,
     stuck.id
    FROM (((( SELECT q.id,
             q.paused,
             q.parallel_limit,
             q.on_failure
            FROM rowrun.plan q
           WHERE (q.id = plan_stands.plan_id)
          OFFSET 0) p
      CROSS JOIN LATERAL rowrun.plan_room(p.id) room(open, slots))
      LEFT JOIN LATERAL ( SELECT COALESCE(jsonb_agg(x.id ORDER BY x.id), '[]'::jsonb) AS ids
            FROM ( SELECT a.id
                    FROM (unnest('{AVAILABLE,RUNNING}'::text[]) w(status)
                      CROSS JOIN LATERAL ( SELECT u.id
                            FROM rowrun.task_run u
                           WHERE ((u.plan_id = p.id) AND (u.status = w.status) AND (u.status = ANY (ARRAY['AVAILABLE'::text, 'RUNNING'::text])))
                          LIMIT 100) a)
                   ORDER BY a.id
                  LIMIT 100) x
           WHERE (room.slots <= 0)) taken ON (true))
      LEFT JOIN LATERAL ( SELECT u.id
            FROM ( SELECT x.id,
                     x.task_id,
                     x.attempt,
                     x.retry_of,
                     x.root_id,
                     x.status,
                     x.run_at,
                     x.input,
                     x.priority,
                     x.idempotency_key,
                     x.creator,
                     x.plan_id,
                     x.type,
                     x.queue,
                     x.database_id,
                     x.version,
                     x.created_at,
                     x.available_at,
                     x.started_at,
                     x.finished_at,
                     x.updated_at,
                     x.deadline,
                     x.cancel_requested_at,
                     x.cancel_reason,
                     x.progress,
                     x.progress_at,
                     x.result,
                     x.version_key,
                     x.sequential,
                     x.prev_status,
                     x.edited_directly,
                     x.cause,
                     x.judge_at,
                     x.failures,
                     x.recoveries,
                     x.retry_run_id,
                     x.round,
                     x.tick,
                     x.missed_at,
                     x.own_retention,
                     x.handles,
                     x.replica_id,
                     x.claim_hash
                    FROM (unnest('{AVAILABLE}'::text[]) w(status)
                      CROSS JOIN LATERAL ( SELECT u_1.id,
                             u_1.task_id,
                             u_1.attempt,
                             u_1.retry_of,
                             u_1.root_id,
                             u_1.status,
                             u_1.run_at,
                             u_1.input,
                             u_1.priority,
                             u_1.idempotency_key,
                             u_1.creator,
                             u_1.plan_id,
                             u_1.type,
                             u_1.queue,
                             u_1.database_id,
                             u_1.version,
                             u_1.created_at,
                             u_1.available_at,
                             u_1.started_at,
                             u_1.finished_at,
                             u_1.updated_at,
                             u_1.deadline,
                             u_1.cancel_requested_at,
                             u_1.cancel_reason,
                             u_1.progress,
                             u_1.progress_at,
                             u_1.result,
                             u_1.version_key,
                             u_1.sequential,
                             u_1.prev_status,
                             u_1.edited_directly,
                             u_1.cause,
                             u_1.judge_at,
                             u_1.failures,
                             u_1.recoveries,
                             u_1.retry_run_id,
                             u_1.round,
                             u_1.tick,
                             u_1.missed_at,
                             u_1.own_retention,
                             u_1.handles,
                             u_1.replica_id,
                             u_1.claim_hash
                            FROM rowrun.task_run u_1
                           WHERE ((u_1.plan_id = p.id) AND (u_1.status = w.status) AND (u_1.status = ANY (ARRAY['AVAILABLE'::text, 'RUNNING'::text])))
                          OFFSET 0) x)
                  LIMIT 200) u
           WHERE ((room.slots <= 0) AND (NOT (EXISTS ( SELECT
                    FROM rowrun.able_replicas(ROW(u.id, u.task_id, u.attempt, u.retry_of, u.root_id, u.status, u.run_at, u.input, u.priority, u.idempotency_key, u.creator, u.plan_id, u.type, u.queue, u.database_id, u.version, u.created_at, u.available_at, u.started_at, u.finished_at, u.updated_at, u.deadline, u.cancel_requested_at, u.cancel_reason, u.progress, u.progress_at, u.result, u.version_key, u.sequential, u.prev_status, u.edited_directly, u.cause, u.judge_at, u.failures, u.recoveries, u.retry_run_id, u.round, u.tick, u.missed_at, u.own_retention, u.handles, u.replica_id, u.claim_hash), plan_stands.t) able_replicas(replica_id)))))
          LIMIT 1) stuck ON (true));
END;


--
-- Name: FUNCTION plan_stands(plan_id bigint, t timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.plan_stands(plan_id bigint, t timestamp with time zone) IS 'Internal: what a plan holds its runs back by.';


--
-- Name: promote_next_of_plans(bigint[], integer, rowrun.claim_request); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.promote_next_of_plans(plan_tasks bigint[], most integer, request rowrun.claim_request DEFAULT NULL::rowrun.claim_request, OUT promoted integer, OUT marked integer, OUT claims rowrun.claim[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    last_mark bigint;
    t timestamptz;
    plans bigint[] := ARRAY(SELECT DISTINCT k.plan_id FROM rowrun.task k WHERE k.id = ANY (plan_tasks) AND k.plan_id IS NOT NULL);
    firsts record;
    step record;
BEGIN
    promoted := 0;
    marked := 1;
    claims := '{}';
    IF NOT rowrun.lock_promotion() THEN
        INSERT INTO rowrun.gate_mark (kind, plan_id) SELECT 'PLAN', unnest(plans);
        RETURN;
    END IF;
    last_mark := coalesce(pg_sequence_last_value('rowrun.gate_mark_id_seq'), 0);
    t := clock_timestamp(); -- as in verdicts_on
    WITH rival AS MATERIALIZED (
        -- Plans of which a mark may bring others, who would come before those that have waited.
        SELECT m.kind, coalesce((SELECT k.plan_id FROM rowrun.task k WHERE k.id = m.task_id),
                                (SELECT r.plan_id FROM rowrun.task_run r WHERE r.id = m.run_id), m.plan_id) AS plan_id
        FROM rowrun.gate_mark m WHERE m.kind NOT IN ('DATABASE', 'PLAN', 'PLAN_FAILED')
    ), candidate AS MATERIALIZED (
        SELECT l.id AS plan_id, c.id, c.simple AND l.round > l.announced_round AND coalesce(l.round >= c.round, true) AS simple, room.slots
        FROM unnest(plans) p(id)
        CROSS JOIN LATERAL (SELECT l.id, l.round, l.announced_round FROM rowrun.plan l WHERE l.id = p.id AND l.parallel_limit IS NOT NULL OFFSET 0) l
        CROSS JOIN LATERAL rowrun.plan_room(l.id) room
        CROSS JOIN LATERAL (
            SELECT r.id, r.round, r.database_id IS NULL AND g.cause IS NULL AS simple
            FROM (SELECT r.* FROM rowrun.task_run r WHERE r.plan_id = l.id AND r.status = 'PENDING' AND r.cause = 'PLAN'
                  ORDER BY r.priority DESC, r.run_at, r.id LIMIT least(room.slots, most)) r
            CROSS JOIN LATERAL rowrun.closed_gate(r, true, t) g) c
        WHERE room.open AND room.slots > 0
    ), locked AS MATERIALIZED (
        SELECT r.id, r.plan_id FROM rowrun.task_run r
        WHERE r.id = ANY (ARRAY(SELECT c.id FROM candidate c WHERE c.simple))
          AND coalesce(r.status, '') = 'PENDING' AND r.cause = 'PLAN' -- then it is due as well
        FOR NO KEY UPDATE SKIP LOCKED
    ), served AS MATERIALIZED (
        SELECT c.plan_id FROM candidate c LEFT JOIN locked l ON l.id = c.id GROUP BY c.plan_id
        HAVING bool_and(l.id IS NOT NULL) AND max(c.slots) <= most
           AND NOT EXISTS (SELECT FROM rival m WHERE m.plan_id = c.plan_id OR m.kind = 'NO_REPLICA')
           -- So may one that has become due. What is on a database, and has had no look yet, comes behind this end: no index names
           -- it by its plan alone.
           AND NOT EXISTS (SELECT FROM rowrun.task_run r
                           WHERE r.judge_at IS NOT NULL AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL)
                             AND (coalesce(r.database_id, ''), coalesce(r.plan_id, 0), r.judge_at) >= ('', c.plan_id, timestamptz '-infinity')
                             AND (coalesce(r.database_id, ''), coalesce(r.plan_id, 0), r.judge_at) <= ('', c.plan_id, t))
           -- These may hold others back on their databases, or no more.
           AND (SELECT true FROM rowrun.task_run r WHERE r.plan_id = c.plan_id AND r.status = 'PENDING' AND r.cause = 'PLAN'
                AND r.sequential AND r.database_id > '' LIMIT 1) IS NULL
    )
    SELECT ARRAY(SELECT l.id FROM locked l JOIN served s ON s.plan_id = l.plan_id) AS ids,
           ARRAY(SELECT s.plan_id FROM served s) AS served, greatest(t, (SELECT max(m.at) FROM rowrun.gate_mark m WHERE m.id > last_mark)) AS t
    INTO firsts;
    IF cardinality(firsts.ids) > 0 THEN
        step := rowrun.let_start(firsts.ids, firsts.t, request);
        promoted := cardinality(step.ids);
        claims := step.claims;
    END IF;
    IF cardinality(firsts.served) < cardinality(plans) OR promoted < cardinality(firsts.ids) THEN
        INSERT INTO rowrun.gate_mark (kind, plan_id)
        SELECT 'PLAN', p.id FROM unnest(plans) p(id) WHERE promoted < cardinality(firsts.ids) OR p.id <> ALL (firsts.served);
    END IF;
    marked := EXISTS (SELECT FROM rowrun.gate_mark)::integer;
END $$;


--
-- Name: FUNCTION promote_next_of_plans(plan_tasks bigint[], most integer, request rowrun.claim_request, OUT promoted integer, OUT marked integer, OUT claims rowrun.claim[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.promote_next_of_plans(plan_tasks bigint[], most integer, request rowrun.claim_request, OUT promoted integer, OUT marked integer, OUT claims rowrun.claim[]) IS 'Internal: promotes what takes the slots that have come free in plans, or leaves a mark.';


--
-- Name: promote_next_version(text[], rowrun.claim_request); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.promote_next_version(databases text[], request rowrun.claim_request DEFAULT NULL::rowrun.claim_request, OUT promoted integer, OUT marked integer, OUT claims rowrun.claim[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    t timestamptz;
    last_mark bigint;
    firsts record;
    step record;
    ids bigint[] := '{}';
BEGIN
    promoted := 0;
    marked := 0;
    claims := '{}';
    IF NOT rowrun.lock_promotion() THEN
        INSERT INTO rowrun.gate_mark (kind, database_id) SELECT 'DATABASE', unnest(databases);
        marked := cardinality(databases);
        RETURN;
    END IF;
    last_mark := coalesce(pg_sequence_last_value('rowrun.gate_mark_id_seq'), 0);
    t := clock_timestamp(); -- as in promote_runs
    WITH first AS MATERIALIZED (
        SELECT d.id AS database_id, r.id,
               r.plan_id IS NULL AND r.missed_at IS NULL AND a.is_there IS NULL
               AND (r.version_key IS NULL OR NOT EXISTS (
                   SELECT FROM rowrun.task_run u WHERE u.database_id = d.id AND u.status = 'PENDING' AND u.version_key IS NULL))
               AND (r.sequential
                    OR (SELECT count(*) FROM (SELECT FROM rowrun.task_run u WHERE u.database_id = d.id AND u.status = 'PENDING'
                                              AND u.version_key = r.version_key LIMIT 2) u) = 1)
               AND EXISTS (
                   SELECT FROM rowrun.task k
                   JOIN rowrun.replica_heartbeat h ON rowrun.takes(h, t, r.queue, r.type, r.database_id, k.payload)
                   WHERE k.id = r.task_id AND rowrun.own_cause(k, r.missed_at, t) IS NULL) AS simple,
               coalesce(a.version_key < r.version_key, false) AND NOT EXISTS (
                   SELECT FROM rowrun.task_run u WHERE u.database_id = d.id AND u.status = 'PENDING' AND u.version_key IS NULL) AS blocked
        FROM unnest(databases) d(id)
        CROSS JOIN LATERAL (
            SELECT * FROM rowrun.task_run r WHERE r.database_id = d.id AND r.status = 'PENDING'
            ORDER BY r.version_key, r.sequential, r.priority DESC, r.run_at, r.id LIMIT 1) r
        LEFT JOIN LATERAL (
            SELECT true AS is_there, a.version_key FROM rowrun.task_run a WHERE a.database_id = d.id AND a.status IN ('AVAILABLE', 'RUNNING')
            ORDER BY a.version_key LIMIT 1) a ON true
    ), locked AS MATERIALIZED (
        SELECT r.id FROM rowrun.task_run r
        WHERE r.id = ANY (ARRAY(SELECT f.id FROM first f WHERE f.simple))
          AND coalesce(r.status, '') = 'PENDING' AND r.cause = 'DATABASE' -- then it is due as well
        FOR NO KEY UPDATE SKIP LOCKED
    )
    SELECT ARRAY(SELECT l.id FROM locked l) AS ids, greatest(t, (SELECT max(m.at) FROM rowrun.gate_mark m WHERE m.id > last_mark)) AS t,
           coalesce(array_agg(f.database_id), '{}') AS open_databases, array_agg(f.id) AS open_ids
    INTO firsts FROM first f WHERE NOT f.blocked;
    IF cardinality(firsts.ids) > 0 THEN
        step := rowrun.let_start(firsts.ids, firsts.t, request);
        ids := step.ids;
        promoted := cardinality(ids);
        claims := step.claims;
    END IF;
    IF cardinality(firsts.open_databases) > promoted THEN
        INSERT INTO rowrun.gate_mark (kind, database_id)
        SELECT 'DATABASE', f.database_id FROM unnest(firsts.open_databases, firsts.open_ids) f(database_id, id)
        WHERE f.id <> ALL (ids);
        GET DIAGNOSTICS marked = ROW_COUNT;
    END IF;
END $$;


--
-- Name: FUNCTION promote_next_version(databases text[], request rowrun.claim_request, OUT promoted integer, OUT marked integer, OUT claims rowrun.claim[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.promote_next_version(databases text[], request rowrun.claim_request, OUT promoted integer, OUT marked integer, OUT claims rowrun.claim[]) IS 'Internal: promotes the next version on databases where runs have ended, or leaves a mark.';


--
-- Name: promote_runs(boolean, boolean, integer, rowrun.claim_request); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.promote_runs(sweep boolean DEFAULT false, free boolean DEFAULT true, most integer DEFAULT 1000, request rowrun.claim_request DEFAULT NULL::rowrun.claim_request, OUT promoted integer, OUT busy boolean, OUT more boolean, OUT next_ms double precision, OUT claims rowrun.claim[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET lock_timeout TO '200ms'
    AS $$
DECLARE
    t timestamptz := clock_timestamp();
    marked boolean;
    due boolean;
    marks record;
    found_runs record;
    verdicts record;
    step record;
BEGIN
    promoted := 0;
    busy := false;
    more := false;
    claims := '{}';
    IF free THEN -- unless a statement of the same transaction has just looked for them
        step := promote_ungated(t, most, request);
        promoted := step.promoted;
        more := step.more;
        claims := step.claims;
        request.used := request.used + cardinality(claims);
    END IF;
    SELECT a.next_ms, a.marked, a.due INTO next_ms, marked, due FROM asked_for(t) a;
    IF NOT (sweep OR marked OR due) THEN
        RETURN;
    END IF;
    PERFORM FROM promotion_lock l WHERE l.id = 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        busy := true;
        IF sweep THEN -- the row may be missing, after a restore of parts
            INSERT INTO promotion_lock (id) VALUES (1) ON CONFLICT DO NOTHING;
        END IF;
        RETURN;
    END IF;
    marks := take_marks(sweep, most);
    found_runs := candidates(marks, due, most);
    more := more OR marks.more OR found_runs.more;
    IF cardinality(found_runs.ids) > 0 THEN
        verdicts := verdicts_on(found_runs.ids);
        step := apply_verdicts(verdicts, request);
        promoted := promoted + step.promoted;
        claims := claims || step.claims;
        next_ms := least(next_ms, step.next_ms);
        more := leave_marks(verdicts, found_runs.of_plans, found_runs.cut_off) OR more;
    END IF;
END $$;


--
-- Name: FUNCTION promote_runs(sweep boolean, free boolean, most integer, request rowrun.claim_request, OUT promoted integer, OUT busy boolean, OUT more boolean, OUT next_ms double precision, OUT claims rowrun.claim[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.promote_runs(sweep boolean, free boolean, most integer, request rowrun.claim_request, OUT promoted integer, OUT busy boolean, OUT more boolean, OUT next_ms double precision, OUT claims rowrun.claim[]) IS 'Internal: one promote pass, PENDING to AVAILABLE, and to RUNNING what is asked for.';


--
-- Name: promote_ungated(timestamp with time zone, integer, rowrun.claim_request); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.promote_ungated(t timestamp with time zone, most integer, request rowrun.claim_request, OUT promoted integer, OUT more boolean, OUT claims rowrun.claim[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    ids bigint[];
    step record;
    closed bigint[];
    causes text[];
BEGIN
    ids := ARRAY(SELECT r.id FROM task_run r
                 WHERE r.judge_at <= t AND r.plan_id IS NULL AND r.database_id IS NULL AND r.status = 'PENDING'
                 ORDER BY r.judge_at LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED);
    promoted := 0;
    claims := '{}';
    more := cardinality(ids) > 0 AND cardinality(ids) >= least(most, 1000);
    IF cardinality(ids) = 0 THEN
        RETURN;
    END IF;
    ids := ids[1:2 * most];
    step := let_start(ARRAY(
        SELECT r.id FROM task_run r JOIN task k ON k.id = r.task_id
        WHERE r.id = ANY (ids) AND rowrun.own_cause(k, r.missed_at, t) IS NULL), t, request);
    promoted := cardinality(step.ids);
    claims := step.claims;
    IF promoted < cardinality(ids) THEN
        -- The lock on the task orders this against the user who unpauses it: either its mark is seen later, or the task is
        -- not paused any more.
        PERFORM FROM task k WHERE k.id IN (SELECT r.task_id FROM task_run r WHERE r.id = ANY (ids) AND coalesce(r.status, '') = 'PENDING')
        ORDER BY k.id FOR SHARE SKIP LOCKED;
        SELECT array_agg(c.id), array_agg(c.cause) INTO closed, causes
        FROM (SELECT r.id, rowrun.own_cause(k, r.missed_at, t) AS cause FROM task_run r JOIN task k ON k.id = r.task_id
              WHERE r.id = ANY (ids) AND coalesce(r.status, '') = 'PENDING') c
        WHERE c.cause IS NOT NULL;
        PERFORM write_causes(closed, causes);
    END IF;
END $$;


--
-- Name: FUNCTION promote_ungated(t timestamp with time zone, most integer, request rowrun.claim_request, OUT promoted integer, OUT more boolean, OUT claims rowrun.claim[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.promote_ungated(t timestamp with time zone, most integer, request rowrun.claim_request, OUT promoted integer, OUT more boolean, OUT claims rowrun.claim[]) IS 'Internal: promotes runs without plan and database.';


--
-- Name: promotion_and_claim(rowrun.task_run); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.promotion_and_claim(r rowrun.task_run) RETURNS text
    LANGUAGE sql STABLE
    RETURN (((((((((((rowrun.arrival(r) || ',{"run_id":'::text) || (r).id) || ',"task_id":'::text) || (r).task_id) || ',"plan_id":'::text) || COALESCE(((r).plan_id)::text, 'null'::text)) || ',"from":"AVAILABLE","to":"RUNNING","attempt":'::text) || (r).attempt) || ',"replica_id":'::text) || (to_json((r).replica_id))::text) || '}'::text);


--
-- Name: FUNCTION promotion_and_claim(r rowrun.task_run); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.promotion_and_claim(r rowrun.task_run) IS 'Internal: both edges of a run that was promoted and claimed at once, as they are notified.';


--
-- Name: purge_type(text, interval, bigint, integer); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.purge_type(type text, older_than interval DEFAULT '00:00:00'::interval, after_id bigint DEFAULT 0, most integer DEFAULT 500) RETURNS TABLE(last_id bigint, found bigint, canceled bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM check_isolation();
    RETURN QUERY
    WITH picked AS MATERIALIZED (
        SELECT r.id FROM task_run r
        WHERE r.type = purge_type.type AND r.status IN ('PENDING', 'AVAILABLE') AND r.id > purge_type.after_id
          AND r.created_at <= clock_timestamp() - purge_type.older_than
        ORDER BY r.id LIMIT purge_type.most)
    SELECT max(p.id), count(*), count(*) FILTER (WHERE cancel_run(p.id, 'type ' || purge_type.type || ' was purged') = 'CANCELED') FROM picked p;
END $$;


--
-- Name: FUNCTION purge_type(type text, older_than interval, after_id bigint, most integer); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.purge_type(type text, older_than interval, after_id bigint, most integer) IS 'Cancels PENDING and AVAILABLE runs of a type; removes no row.';


--
-- Name: record_orphans(interval, interval); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.record_orphans(patience interval, every interval) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    t     timestamptz := clock_timestamp();
    noted integer;
    begun text[];
BEGIN
    PERFORM FROM rowrun.deployment FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0; -- another replica is at it
    END IF;
    UPDATE rowrun.deployment d SET orphans_looked_at = t WHERE (d.orphans_looked_at > t - every) IS NOT TRUE;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    WITH RECURSIVE pair AS (
        (SELECT r.queue, r.type FROM rowrun.task_run r WHERE r.status = 'AVAILABLE' ORDER BY r.queue, r.type LIMIT 1)
        UNION ALL
        SELECT n.queue, n.type FROM pair p CROSS JOIN LATERAL (
            SELECT r.queue, r.type FROM rowrun.task_run r
            WHERE r.status = 'AVAILABLE' AND (r.queue, r.type) > (p.queue, p.type) ORDER BY r.queue, r.type LIMIT 1) n
    ), waits AS MATERIALIZED (
        SELECT w.status, w.queue, w.type, w.database_id, w.task_id
        FROM pair p CROSS JOIN LATERAL (
            SELECT r.status, r.queue, r.type, r.database_id, r.task_id FROM rowrun.task_run r
            WHERE r.status = 'AVAILABLE' AND r.queue = p.queue AND r.type = p.type LIMIT 500) w
        UNION ALL
        (SELECT r.status, r.queue, r.type, r.database_id, r.task_id FROM rowrun.task_run r
         WHERE r.status = 'PENDING' AND r.cause = 'NO_REPLICA' LIMIT 2000)
        UNION ALL
        (SELECT r.status, r.queue, r.type, r.database_id, r.task_id FROM rowrun.task_run r
         WHERE r.judge_at IS NOT NULL AND r.plan_id IS NULL AND r.database_id IS NULL ORDER BY r.judge_at LIMIT 2000)
    ), kind AS (
        SELECT w.queue, w.type, CASE WHEN w.type IN ('SQL', 'DATABASE_MIGRATE') THEN w.database_id END AS database_id,
               CASE WHEN w.type = 'COMMAND' AND jsonb_typeof(k.payload -> 'command') = 'string' THEN k.payload ->> 'command' END AS command,
               count(*) FILTER (WHERE w.status = 'PENDING') AS pending, count(*) FILTER (WHERE w.status = 'AVAILABLE') AS available
        FROM waits w JOIN rowrun.task k ON k.id = w.task_id
        GROUP BY 1, 2, 3, 4
    ), orphan AS MATERIALIZED (
        SELECT o.type, sum(o.pending)::bigint AS pending, sum(o.available)::bigint AS available FROM kind o
        WHERE NOT EXISTS (
            SELECT FROM rowrun.replica_heartbeat h
            WHERE rowrun.takes(h, t, o.queue, o.type, o.database_id, jsonb_build_object('command', o.command)))
        GROUP BY o.type
    ), told AS MATERIALIZED (
        SELECT x.type FROM rowrun.orphan_type x WHERE x.announced_at IS NOT NULL
    ), seen AS (
        INSERT INTO rowrun.orphan_type AS x (type, first_seen, pending, available)
        SELECT o.type, t, o.pending, o.available FROM orphan o
        ON CONFLICT (type) DO UPDATE SET pending = excluded.pending, available = excluded.available,
            announced_at = CASE WHEN x.first_seen <= t - patience AND coalesce(x.announced_at < t - interval '1 day', true)
                                THEN t ELSE x.announced_at END
        RETURNING x.type, x.announced_at, x.first_seen, x.pending, x.available
    ), gone AS (
        DELETE FROM rowrun.orphan_type x WHERE NOT EXISTS (SELECT FROM orphan o WHERE o.type = x.type)
        RETURNING x.type, x.announced_at
    ), said AS (
        INSERT INTO rowrun.stream_note (level, event, message, detail)
        SELECT 'warn', 'task_type.orphaned', 'runs wait that no live replica can run',
               jsonb_build_object('type', s.type, 'pending', s.pending, 'available', s.available, 'since', s.first_seen)
        FROM seen s WHERE s.announced_at = t
        UNION ALL
        SELECT 'info', 'task_type.served', 'no run of this type waits without a replica any more', jsonb_build_object('type', g.type)
        FROM gone g WHERE g.announced_at IS NOT NULL
        RETURNING 1
    )
    SELECT (SELECT count(*) FROM said), (SELECT array_agg(s.type) FROM seen s WHERE s.announced_at = t AND s.type NOT IN (SELECT told.type FROM told))
    INTO noted, begun;
    IF begun IS NOT NULL THEN
        PERFORM rowrun.announce_orphans(begun);
    END IF;
    RETURN noted;
END $$;


--
-- Name: FUNCTION record_orphans(patience interval, every interval); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.record_orphans(patience interval, every interval) IS 'Internal: looks for runs that no live replica could run, and has the stream say what changed.';


--
-- Name: register_worker(text, text[], integer, interval); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.register_worker(worker_name text, types text[], most integer, lease interval) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    t timestamptz := clock_timestamp();
    known record;
    wanted text[];
    made text;
BEGIN
    LOOP
        SELECT h.replica_id, h.types, h.state = 'ACTIVE' AND h.paused_at IS NULL AS claims, h.last_heartbeat + h.lease < t AS gone,
               h.lease >= register_worker.lease AND h.concurrency >= most AND h.last_heartbeat > t - h.lease / 10 AS fresh
        INTO known FROM replica_heartbeat h WHERE h.worker AND h.state <> 'DEAD' AND h.name = worker_name;
        IF known.gone THEN
            PERFORM FROM replica_heartbeat h WHERE h.replica_id = known.replica_id FOR NO KEY UPDATE SKIP LOCKED;
            IF NOT FOUND THEN
                RETURN CASE WHEN known.claims THEN known.replica_id END;
            END IF;
            UPDATE replica_heartbeat h SET state = 'DEAD'
            WHERE h.replica_id = known.replica_id AND h.state <> 'DEAD' AND h.last_heartbeat + h.lease < t;
            CONTINUE;
        END IF;
        wanted := CASE WHEN known.claims IS FALSE THEN '{}'
                       ELSE ARRAY(SELECT DISTINCT x FROM unnest(known.types || register_worker.types) x
                                  WHERE NOT EXISTS (SELECT FROM task_type d WHERE d.type = x AND d.draining) ORDER BY x) END;
        IF cardinality(wanted) > 500 THEN
            RAISE EXCEPTION 'worker % has claimed more than 500 types', worker_name USING ERRCODE = 'RR003', HINT = 'Give programs that run different types names of their own.';
        END IF;
        IF known.fresh AND known.types = wanted THEN
            RETURN CASE WHEN known.claims THEN known.replica_id END;
        END IF;
        IF deployment_elsewhere() THEN
            RAISE EXCEPTION 'this database is a copy of another deployment''s: its runs are run there'
                USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'rowrun migrate deployment new (a copy) or moved (a restore)';
        END IF;
        IF known.replica_id IS NOT NULL THEN
            UPDATE replica_heartbeat h
            SET last_heartbeat = greatest(h.last_heartbeat, t), lease = greatest(h.lease, register_worker.lease),
                concurrency = greatest(h.concurrency, most), types = wanted
            WHERE h.replica_id = (SELECT o.replica_id FROM replica_heartbeat o
                                  WHERE o.replica_id = known.replica_id AND o.state <> 'DEAD' FOR NO KEY UPDATE SKIP LOCKED);
            RETURN CASE WHEN known.claims THEN known.replica_id END;
        END IF;
        INSERT INTO replica_heartbeat (replica_id, last_heartbeat, name, lease, queues, types, concurrency, worker)
        VALUES ('worker-' || gen_random_uuid(), t, worker_name, register_worker.lease, '{}', wanted, most, true)
        ON CONFLICT (name) WHERE worker AND state <> 'DEAD' DO NOTHING RETURNING replica_id INTO made;
        IF made IS NOT NULL THEN
            RETURN made;
        END IF;
    END LOOP;
END $$;


--
-- Name: FUNCTION register_worker(worker_name text, types text[], most integer, lease interval); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.register_worker(worker_name text, types text[], most integer, lease interval) IS 'Internal: the id of a worker that may claim.';


--
-- Name: release_runs(uuid[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.release_runs(claims uuid[]) RETURNS TABLE(claim uuid, verdict text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM check_isolation();
    IF claims IS NULL THEN
        RETURN;
    END IF;
    IF cardinality(claims) > 1000 THEN
        RAISE EXCEPTION 'at most 1000 runs are released at once' USING ERRCODE = 'RR003', HINT = 'Call it several times.';
    END IF;
    RETURN QUERY
    SELECT i.claim, e.verdict
    FROM unnest(claims) WITH ORDINALITY i(claim, n)
    JOIN end_worker_runs(claims, array_fill(NULL::bigint, ARRAY[cardinality(claims)]), array_fill('FAILED'::text, ARRAY[cardinality(claims)]),
        array_fill('{"code": "RELEASED", "detail": "Task run given back by its worker"}'::jsonb, ARRAY[cardinality(claims)]),
        array_fill('RELEASED'::text, ARRAY[cardinality(claims)])) e ON e.n = i.n
    ORDER BY i.n;
END $$;


--
-- Name: FUNCTION release_runs(claims uuid[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.release_runs(claims uuid[]) IS 'Gives a worker''s runs back, each to a successor; of each claim OK, CANCELED or LOST.';


--
-- Name: remove_any_dependency(bigint, bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.remove_any_dependency(task_id bigint, depends_on_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    DELETE FROM task_dependency d
    WHERE d.task_id = remove_any_dependency.task_id AND d.depends_on_id = remove_any_dependency.depends_on_id;
    RETURN FOUND;
END $$;


--
-- Name: FUNCTION remove_any_dependency(task_id bigint, depends_on_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.remove_any_dependency(task_id bigint, depends_on_id bigint) IS 'Internal: deletes a dependency.';


--
-- Name: remove_any_plan(bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.remove_any_plan(plan_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    DELETE FROM plan p WHERE p.id = remove_any_plan.plan_id;
    RETURN FOUND;
END $$;


--
-- Name: FUNCTION remove_any_plan(plan_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.remove_any_plan(plan_id bigint) IS 'Internal: deletes a plan.';


--
-- Name: remove_any_task(bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.remove_any_task(task_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    DELETE FROM task k WHERE k.id = remove_any_task.task_id;
    RETURN FOUND;
END $$;


--
-- Name: FUNCTION remove_any_task(task_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.remove_any_task(task_id bigint) IS 'Internal: deletes a task.';


--
-- Name: remove_dependency(bigint, bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.remove_dependency(task_id bigint, depends_on_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    DELETE FROM task_dependency d WHERE d.task_id = remove_dependency.task_id AND d.depends_on_id = remove_dependency.depends_on_id
        AND NOT EXISTS (SELECT FROM task k WHERE k.id = d.task_id AND is_authors(k.type));
    RETURN FOUND;
END $$;


--
-- Name: FUNCTION remove_dependency(task_id bigint, depends_on_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.remove_dependency(task_id bigint, depends_on_id bigint) IS 'Internal: deletes a dependency of a task that isn''t for authors.';


--
-- Name: remove_plan(bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.remove_plan(plan_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    PERFORM FROM plan p WHERE p.id = remove_plan.plan_id FOR UPDATE;
    DELETE FROM plan p WHERE p.id = remove_plan.plan_id
        AND NOT EXISTS (SELECT FROM task k WHERE k.plan_id = remove_plan.plan_id AND is_authors(k.type));
    RETURN FOUND;
END $$;


--
-- Name: FUNCTION remove_plan(plan_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.remove_plan(plan_id bigint) IS 'Internal: deletes a plan without tasks for authors.';


--
-- Name: remove_task(bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.remove_task(task_id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    DELETE FROM task k WHERE k.id = remove_task.task_id AND NOT is_authors(k.type);
    RETURN FOUND;
END $$;


--
-- Name: FUNCTION remove_task(task_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.remove_task(task_id bigint) IS 'Internal: deletes a task that isn''t for authors.';


--
-- Name: renew_deployment(boolean); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.renew_deployment(copy boolean) RETURNS uuid
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
    UPDATE rowrun.deployment d
    SET id = CASE WHEN renew_deployment.copy THEN gen_random_uuid() ELSE d.id END,
        stream_replica_id = CASE WHEN renew_deployment.copy THEN NULL ELSE d.stream_replica_id END,
        system_identifier = s.system_identifier, database_oid = s.database_oid, timeline = s.timeline
    FROM rowrun.server_identity() s RETURNING d.id $$;


--
-- Name: FUNCTION renew_deployment(copy boolean); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.renew_deployment(copy boolean) IS 'Internal: the deployment belongs here from now on; with copy it is another one than its origin.';


--
-- Name: replace_run(bigint, text, jsonb, timestamp with time zone, integer); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.replace_run(task bigint, idempotency_key text, input jsonb DEFAULT '{}'::jsonb, run_at timestamp with time zone DEFAULT now(), priority integer DEFAULT NULL::integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    made bigint;
    old  record;
BEGIN
    IF replace_run.idempotency_key IS NULL THEN
        RAISE EXCEPTION 'replace_run needs an idempotency_key' USING ERRCODE = 'RR003', HINT = 'The key is how it finds the run to replace.';
    END IF;
    FOR i IN 1..10 LOOP
        INSERT INTO rowrun.task_run AS r (task_id, input, run_at, priority, idempotency_key)
        VALUES (replace_run.task, replace_run.input, replace_run.run_at, replace_run.priority, replace_run.idempotency_key)
        ON CONFLICT (task_id, idempotency_key) DO NOTHING
        RETURNING r.id INTO made;
        IF made IS NOT NULL THEN
            RETURN made;
        END IF;
        -- A run that is AVAILABLE was due: it stays where it is, and gets what is to be done.
        UPDATE rowrun.task_run r
        SET input = replace_run.input, priority = replace_run.priority,
            run_at = CASE r.status WHEN 'PENDING' THEN replace_run.run_at ELSE r.run_at END
        WHERE r.task_id = replace_run.task AND r.idempotency_key = replace_run.idempotency_key
          AND (r.status = 'PENDING' OR r.status = 'AVAILABLE' AND coalesce(replace_run.run_at, now()) <= clock_timestamp())
        RETURNING r.id INTO made;
        IF made IS NOT NULL THEN
            RETURN made;
        END IF;
        SELECT r.id, r.status INTO old FROM rowrun.task_run r
        WHERE r.task_id = replace_run.task AND r.idempotency_key = replace_run.idempotency_key;
        IF FOUND AND old.status = 'AVAILABLE' AND replace_run.run_at > clock_timestamp() THEN
            RAISE EXCEPTION 'run % has this key and is AVAILABLE: it can''t be put off any more', old.id
                USING ERRCODE = 'RR004', HINT = 'Cancel it, and use another key; or leave run_at out, and it gets this input.';
        ELSIF FOUND AND old.status NOT IN ('PENDING', 'AVAILABLE') THEN
            RAISE EXCEPTION 'run % has this key and is %: a run is replaced until it is claimed', old.id, old.status
                USING ERRCODE = 'RR004', HINT = 'Use another key, for instance with a counter or a time in it.';
        END IF;
    END LOOP;
    RAISE EXCEPTION 'the run with this key keeps changing' USING ERRCODE = 'serialization_failure', HINT = 'Try again.';
END $$;


--
-- Name: FUNCTION replace_run(task bigint, idempotency_key text, input jsonb, run_at timestamp with time zone, priority integer); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.replace_run(task bigint, idempotency_key text, input jsonb, run_at timestamp with time zone, priority integer) IS 'A run with this key: the one that has it and is not claimed yet gets this input, priority and (PENDING) run_at, otherwise a new one; its id.';


--
-- Name: replace_run(text, text, jsonb, timestamp with time zone, integer); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.replace_run(task text, idempotency_key text, input jsonb DEFAULT '{}'::jsonb, run_at timestamp with time zone DEFAULT now(), priority integer DEFAULT NULL::integer) RETURNS bigint
    LANGUAGE sql
    BEGIN ATOMIC
 SELECT rowrun.replace_run(rowrun.task_named(task), idempotency_key, input, run_at, priority) AS replace_run;
END;


--
-- Name: FUNCTION replace_run(task text, idempotency_key text, input jsonb, run_at timestamp with time zone, priority integer); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.replace_run(task text, idempotency_key text, input jsonb, run_at timestamp with time zone, priority integer) IS 'The same, by the name of a task without a plan.';


--
-- Name: replica_changed(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.replica_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO rowrun.gate_mark (kind) VALUES ('NO_REPLICA');
    PERFORM rowrun.notify_look();
    RETURN NULL;
END $$;


--
-- Name: FUNCTION replica_changed(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.replica_changed() IS 'Trigger: a replica came or serves something new.';


--
-- Name: replica_heartbeat_fill(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.replica_heartbeat_fill() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    NEW.name := coalesce(NEW.name, '');
    NEW.hostname := coalesce(NEW.hostname, '');
    NEW.version := coalesce(NEW.version, '');
    NEW.started_at := coalesce(NEW.started_at, now());
    NEW.state := coalesce(NEW.state, 'ACTIVE');
    NEW.lease := coalesce(NEW.lease, '60 s');
    NEW.queues := coalesce(NEW.queues, '{default}');
    NEW.types := coalesce(NEW.types, '{}');
    NEW.databases := coalesce(NEW.databases, '{}');
    NEW.commands := coalesce(NEW.commands, '{}');
    NEW.concurrency := coalesce(NEW.concurrency, 0);
    NEW.running := coalesce(NEW.running, 0);
    NEW.role := coalesce(NEW.role, 'worker');
    RETURN NEW;
END $$;


--
-- Name: FUNCTION replica_heartbeat_fill(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.replica_heartbeat_fill() IS 'Trigger: NULLs get their defaults.';


--
-- Name: report_progress(bigint, uuid, jsonb); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.report_progress(run_id bigint, claim uuid, progress jsonb) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    canceled boolean;
BEGIN
    UPDATE task_run r SET progress = report_progress.progress, progress_at = clock_timestamp(), prev_status = NULL
    WHERE r.id = report_progress.run_id AND r.status = 'RUNNING' AND r.claim_hash = sha256(uuid_send(report_progress.claim))
    RETURNING r.cancel_requested_at IS NOT NULL INTO canceled;
    IF canceled IS NULL THEN
        PERFORM FROM task_run r WHERE r.id = report_progress.run_id AND r.status = 'CANCELED'
            AND r.claim_hash = sha256(uuid_send(report_progress.claim));
        IF NOT FOUND THEN
            RAISE EXCEPTION 'run % is not held by this claim', report_progress.run_id
                USING ERRCODE = 'RR002', HINT = 'The run has ended or was given to another attempt; stop working on it.';
        END IF;
        canceled := true;
    END IF;
    RETURN canceled;
END $$;


--
-- Name: FUNCTION report_progress(run_id bigint, claim uuid, progress jsonb); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.report_progress(run_id bigint, claim uuid, progress jsonb) IS 'Stores progress; true: a cancel was asked for.';


--
-- Name: request_key(bytea); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.request_key(request_hash bytea) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    RETURN ((('x'::text || encode(SUBSTRING(request_hash FROM 1 FOR 8), 'hex'::text)))::bit(64))::bigint;


--
-- Name: FUNCTION request_key(request_hash bytea); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.request_key(request_hash bytea) IS 'Internal: the advisory lock of a worker''s request.';


--
-- Name: resume_replica(text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.resume_replica(replica text) RETURNS SETOF text
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$ SELECT rowrun.set_replica_paused(replica, false) $$;


--
-- Name: FUNCTION resume_replica(replica text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.resume_replica(replica text) IS 'The live replicas of this id or name claim again; their ids.';


--
-- Name: retry_plan(bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.retry_plan(plan_id bigint) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    tasks bigint[];
    runs bigint[];
    retried bigint[];
BEGIN
    PERFORM check_plan(retry_plan.plan_id);
    tasks := ARRAY(SELECT k.id FROM task k
                   WHERE k.plan_id = retry_plan.plan_id AND NOT k.skipped AND k.outcome IN ('FAILED', 'CANCELED')
                   ORDER BY k.id FOR NO KEY UPDATE);
    runs := ARRAY(SELECT n.id FROM unnest(tasks) t(id)
                  CROSS JOIN LATERAL (SELECT r.id FROM task_run r WHERE r.task_id = t.id AND r.plan_id IS NOT NULL
                                      ORDER BY r.id DESC LIMIT 1) n
                  WHERE NOT EXISTS (SELECT FROM task_run u WHERE u.task_id = t.id AND u.plan_id IS NOT NULL
                                    AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING')));
    PERFORM FROM task_run r WHERE r.id = ANY (runs) ORDER BY r.id FOR NO KEY UPDATE;
    WITH again AS (
        UPDATE task_run r SET retry_run_id = next_run_id()
        WHERE r.id = ANY (runs) AND coalesce(r.status, '') IN ('FAILED', 'CANCELED') AND r.retry_run_id IS NULL
        RETURNING r.id
    )
    SELECT coalesce(array_agg(id), '{}') INTO retried FROM again;
    RETURN QUERY
    INSERT INTO task_run AS made (id, task_id, retry_of, root_id, attempt, input, priority, creator)
    SELECT r.retry_run_id, r.task_id, r.id, r.root_id, least(r.attempt, 2147483646) + 1, r.input, r.priority, session_user
    FROM task_run r WHERE r.id = ANY (retried) ORDER BY r.id
    RETURNING made.id;
    IF cardinality(retried) > 0 AND NOT is_quiet() THEN
        PERFORM notify_look();
    END IF;
END $$;


--
-- Name: FUNCTION retry_plan(plan_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.retry_plan(plan_id bigint) IS 'A retry for each FAILED or CANCELED task of a plan; the runs made.';


--
-- Name: retry_run(bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.retry_run(run_id bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    run record;
    made bigint;
BEGIN
    PERFORM check_isolation();
    PERFORM FROM task k WHERE k.id = (SELECT r.task_id FROM task_run r WHERE r.id = retry_run.run_id AND r.plan_id IS NOT NULL)
        FOR NO KEY UPDATE;
    SELECT * INTO run FROM task_run r WHERE r.id = retry_run.run_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'run % does not exist', retry_run.run_id USING ERRCODE = 'no_data_found', HINT = 'It may have been removed by retention.';
    END IF;
    IF run.retry_run_id IS NOT NULL THEN
        RETURN run.retry_run_id;
    END IF;
    IF run.status NOT IN ('FAILED', 'CANCELED') THEN
        RAISE EXCEPTION 'run % is %: only FAILED and CANCELED runs are retried', run.id, run.status
            USING ERRCODE = 'RR004', HINT = 'To do a DONE task once more, insert another run.';
    END IF;
    IF run.plan_id IS NOT NULL AND run.id <> (SELECT s.last_run_id FROM task_status s WHERE s.task_id = run.task_id) THEN
        RAISE EXCEPTION 'run % is not the newest of task %', run.id, run.task_id
            USING ERRCODE = 'RR004', HINT = 'Retry the newest run of that task.';
    END IF;
    IF EXISTS (SELECT FROM task k WHERE k.id = run.task_id AND k.skipped) THEN
        RAISE EXCEPTION 'task % is skipped', run.task_id USING ERRCODE = 'RR004', HINT = 'Unskip it first.';
    END IF;
    made := next_run_id();
    UPDATE task_run r SET retry_run_id = made WHERE r.id = run.id;
    INSERT INTO task_run (id, task_id, retry_of, root_id, attempt, input, priority, creator)
    VALUES (made, run.task_id, run.id, run.root_id, least(run.attempt, 2147483646) + 1, run.input, run.priority, session_user);
    IF NOT is_quiet() THEN
        PERFORM notify_look();
    END IF;
    RETURN made;
END $$;


--
-- Name: FUNCTION retry_run(run_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.retry_run(run_id bigint) IS 'A successor for a FAILED or CANCELED run; its id, or that of the one it has.';


--
-- Name: run_id_at(timestamp with time zone, bigint, bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.run_id_at(moment timestamp with time zone, lowest bigint, highest bigint) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    low bigint := greatest(lowest, coalesce((SELECT min(r.id) - 1 FROM task_run r), 0));
    high bigint := least(highest, coalesce((SELECT max(r.id) FROM task_run r), 0));
    middle bigint;
    at timestamptz;
BEGIN
    WHILE high > low LOOP
        middle := low + (high - low + 1) / 2;
        at := (SELECT r.created_at FROM task_run r WHERE r.id >= middle AND r.id <= high ORDER BY r.id LIMIT 1);
        IF at <= moment THEN
            low := middle;
        ELSE
            high := middle - 1; -- also where no run is left there
        END IF;
    END LOOP;
    RETURN low;
END $$;


--
-- Name: FUNCTION run_id_at(moment timestamp with time zone, lowest bigint, highest bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.run_id_at(moment timestamp with time zone, lowest bigint, highest bigint) IS 'Internal: up to which id runs were inserted by a moment, as far as ids are drawn in order.';


--
-- Name: run_matches(jsonb, text, text, text, text, bigint, bigint, bigint, timestamp with time zone, jsonb); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.run_matches(filter jsonb, status text, type text, queue text, database_id text, plan_id bigint, task_id bigint, retry_run_id bigint, created_at timestamp with time zone, result jsonb) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN ((((filter -> 'statuses'::text) IS NULL) OR ((filter -> 'statuses'::text) ? status)) AND (((filter ->> 'type'::text) IS NULL) OR (type = (filter ->> 'type'::text))) AND (((filter ->> 'queue'::text) IS NULL) OR (queue = (filter ->> 'queue'::text))) AND (((filter ->> 'database_id'::text) IS NULL) OR (database_id = (filter ->> 'database_id'::text))) AND (((filter ->> 'plan_id'::text) IS NULL) OR (plan_id = ((filter ->> 'plan_id'::text))::bigint)) AND (((filter -> 'task_ids'::text) IS NULL) OR ((filter -> 'task_ids'::text) ? (task_id)::text)) AND (((filter ->> 'since'::text) IS NULL) OR (created_at >= ((filter ->> 'since'::text))::timestamp with time zone)) AND (((filter ->> 'until'::text) IS NULL) OR (created_at < ((filter ->> 'until'::text))::timestamp with time zone)) AND (((filter -> 'failed'::text) IS NULL) OR ((status = 'FAILED'::text) AND (retry_run_id IS NULL))) AND (((filter -> 'unretried'::text) IS NULL) OR (retry_run_id IS NULL)) AND (((filter ->> 'text'::text) IS NULL) OR ((status = ANY (ARRAY['FAILED'::text, 'CANCELED'::text])) AND (((result ->> 'code'::text) = (filter ->> 'text'::text)) OR (POSITION((lower((filter ->> 'text'::text))) IN (lower((result ->> 'detail'::text)))) > 0)))) AND (((filter ->> 'error'::text) IS NULL) OR ((status = 'FAILED'::text) AND (rowrun.normal_error((result ->> 'detail'::text)) = (filter ->> 'error'::text)))));


--
-- Name: FUNCTION run_matches(filter jsonb, status text, type text, queue text, database_id text, plan_id bigint, task_id bigint, retry_run_id bigint, created_at timestamp with time zone, result jsonb); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.run_matches(filter jsonb, status text, type text, queue text, database_id text, plan_id bigint, task_id bigint, retry_run_id bigint, created_at timestamp with time zone, result jsonb) IS 'Internal: whether a filter names a run.';


--
-- Name: run_plan(bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.run_plan(plan_id bigint) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM rowrun.check_plan(run_plan.plan_id);
    RETURN QUERY
    INSERT INTO rowrun.task_run AS made (task_id)
    SELECT k.id FROM rowrun.task k
    WHERE k.plan_id = run_plan.plan_id AND NOT k.skipped
      AND NOT EXISTS (SELECT FROM rowrun.task_run r WHERE r.task_id = k.id AND r.plan_id IS NOT NULL)
    ORDER BY k.id
    ON CONFLICT (task_id) WHERE plan_id IS NOT NULL AND status IN ('PENDING', 'AVAILABLE', 'RUNNING') DO NOTHING
    RETURNING made.id;
END $$;


--
-- Name: FUNCTION run_plan(plan_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.run_plan(plan_id bigint) IS 'A run for each NOT_STARTED task of a plan; the runs made.';


--
-- Name: run_task(bigint, jsonb, timestamp with time zone, integer, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.run_task(task bigint, input jsonb DEFAULT '{}'::jsonb, run_at timestamp with time zone DEFAULT now(), priority integer DEFAULT NULL::integer, idempotency_key text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    made bigint;
BEGIN
    IF run_task.idempotency_key IS NULL THEN
        INSERT INTO rowrun.task_run AS r (task_id, input, run_at, priority)
        VALUES (run_task.task, run_task.input, run_task.run_at, run_task.priority) RETURNING r.id INTO made;
        RETURN made;
    END IF;
    FOR i IN 1..10 LOOP
        INSERT INTO rowrun.task_run AS r (task_id, input, run_at, priority, idempotency_key)
        VALUES (run_task.task, run_task.input, run_task.run_at, run_task.priority, run_task.idempotency_key)
        ON CONFLICT (task_id, idempotency_key) DO NOTHING
        RETURNING r.id INTO made;
        IF made IS NULL THEN
            SELECT r.id INTO made FROM rowrun.task_run r
            WHERE r.task_id = run_task.task AND r.idempotency_key = run_task.idempotency_key;
        END IF;
        EXIT WHEN made IS NOT NULL;
    END LOOP;
    RETURN made;
END $$;


--
-- Name: FUNCTION run_task(task bigint, input jsonb, run_at timestamp with time zone, priority integer, idempotency_key text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.run_task(task bigint, input jsonb, run_at timestamp with time zone, priority integer, idempotency_key text) IS 'Inserts a run of a task; its id, or that of the run that has the key.';


--
-- Name: run_task(text, jsonb, timestamp with time zone, integer, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.run_task(task text, input jsonb DEFAULT '{}'::jsonb, run_at timestamp with time zone DEFAULT now(), priority integer DEFAULT NULL::integer, idempotency_key text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $_$
#variable_conflict use_column
DECLARE
    found_id bigint;
BEGIN
    SELECT k.id INTO found_id FROM rowrun.task k WHERE k.name = run_task.task AND k.name <> '' AND k.plan_id IS NULL;
    IF found_id IS NULL AND run_task.task ~ '^[0-9]{1,18}$' THEN -- as drivers send numbers
        SELECT k.id INTO found_id FROM rowrun.task k WHERE k.id = run_task.task::bigint;
    END IF;
    IF found_id IS NULL THEN
        RAISE EXCEPTION 'there is no task named "%"', left(run_task.task, 200)
            USING ERRCODE = 'no_data_found', HINT = coalesce(
                'Did you mean ' || (SELECT quote_literal(k.name) FROM rowrun.task k WHERE lower(k.name) = lower(btrim(run_task.task)) AND k.name <> '' AND k.plan_id IS NULL LIMIT 1) || '?',
                'Define it: SELECT rowrun.define_task(name, type, payload).');
    END IF;
    RETURN rowrun.run_task(found_id, run_task.input, run_task.run_at, run_task.priority, run_task.idempotency_key);
END $_$;


--
-- Name: FUNCTION run_task(task text, input jsonb, run_at timestamp with time zone, priority integer, idempotency_key text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.run_task(task text, input jsonb, run_at timestamp with time zone, priority integer, idempotency_key text) IS 'The same, by the name of a task without a plan, or by an id as text.';


--
-- Name: run_tasks(bigint[], timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.run_tasks(task_ids bigint[], run_at timestamp with time zone DEFAULT now()) RETURNS SETOF bigint
    LANGUAGE sql
    BEGIN ATOMIC
 INSERT INTO rowrun.task_run (task_id, run_at)  SELECT k.id,
             run_tasks.run_at AS run_at
            FROM (( SELECT DISTINCT u.id
                    FROM unnest(run_tasks.task_ids) u(id)) w
              JOIN rowrun.task k ON ((k.id = w.id)))
           WHERE ((k.plan_id IS NULL) OR ((NOT k.skipped) AND (NOT (EXISTS ( SELECT
                    FROM rowrun.task_run u
                   WHERE ((u.task_id = k.id) AND (u.plan_id IS NOT NULL) AND (u.status = ANY (ARRAY['PENDING'::text, 'AVAILABLE'::text, 'RUNNING'::text]))))))))
           ORDER BY k.id ON CONFLICT(task_id)
   WHERE ((plan_id IS NOT NULL) AND (status = ANY (ARRAY['PENDING'::text, 'AVAILABLE'::text, 'RUNNING'::text]))) DO NOTHING
   RETURNING task_run.id;
END;


--
-- Name: FUNCTION run_tasks(task_ids bigint[], run_at timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.run_tasks(task_ids bigint[], run_at timestamp with time zone) IS 'A run for each of these tasks, but for a plan''s tasks that are skipped or have an unfinished run; the runs made.';


--
-- Name: schedule_after(bigint[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.schedule_after(run_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    t timestamptz := clock_timestamp();
    pair record;
    coming timestamptz;
    due timestamptz;
    tasks bigint[] := '{}';
    ticks timestamptz[] := '{}';
    dues timestamptz[] := '{}';
    missed timestamptz[] := '{}';
BEGIN
    FOR pair IN SELECT k, r AS run FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
                WHERE r.id = ANY (run_ids) ORDER BY k.id FOR NO KEY UPDATE OF k
    LOOP
        BEGIN
            coming := rowrun.tick_that_follows(pair.k, pair.run, t);
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected OR serialization_failure OR insufficient_privilege THEN
                RAISE;
            WHEN OTHERS THEN
                coming := NULL;
                PERFORM rowrun.pause_schedule((pair.k).id, SQLERRM || ' (SQLSTATE ' || SQLSTATE || ')');
        END;
        IF coming IS NOT NULL THEN
            due := greatest(coming, t);
            tasks := tasks || (pair.k).id;
            ticks := ticks || coming;
            dues := dues || due;
            missed := missed || rowrun.missed_at(pair.k, due);
        END IF;
    END LOOP;
    IF tasks <> '{}' THEN
        PERFORM set_config('rowrun.scheduling', 'on', true);
        INSERT INTO rowrun.task_run (id, task_id, tick, run_at, missed_at)
        SELECT rowrun.next_run_id(), n.task_id, n.tick, n.due, n.missed FROM unnest(tasks, ticks, dues, missed) n(task_id, tick, due, missed)
        ON CONFLICT DO NOTHING;
        PERFORM set_config('rowrun.scheduling', 'off', true);
    END IF;
END $$;


--
-- Name: FUNCTION schedule_after(run_ids bigint[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.schedule_after(run_ids bigint[]) IS 'Internal: the next runs after these.';


--
-- Name: schedule_ended(bigint[], bigint[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.schedule_ended(kept bigint[], over bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    IF kept IS NOT NULL THEN
        PERFORM FROM rowrun.task k WHERE k.schedule IS NOT NULL
            AND k.id = ANY (ARRAY(SELECT r.task_id FROM rowrun.task_run r WHERE r.id = ANY (kept || over))) ORDER BY k.id FOR NO KEY UPDATE;
        UPDATE rowrun.task k SET state = r.result -> 'state'
        FROM rowrun.task_run r
        WHERE r.id = ANY (kept) AND k.id = r.task_id AND k.schedule IS NOT NULL AND coalesce(r.status, '') = 'DONE';
    END IF;
    IF over IS NOT NULL THEN
        PERFORM rowrun.schedule_after(over);
    END IF;
END $$;


--
-- Name: FUNCTION schedule_ended(kept bigint[], over bigint[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.schedule_ended(kept bigint[], over bigint[]) IS 'Internal: state and next run of tasks whose runs have ended.';


--
-- Name: schedule_sweep(bigint, integer); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.schedule_sweep(after_id bigint, most integer, OUT last_id bigint, OUT made integer) RETURNS record
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    due record;
BEGIN
    made := 0;
    FOR due IN
        SELECT k.id FROM (
            SELECT x.id, x.schedule_parts <> '{}' AND NOT x.skipped AND x.schedule_error IS NULL
                       AND coalesce(x.ends_at > clock_timestamp(), true) AS active
            FROM rowrun.task x WHERE x.schedule IS NOT NULL AND x.id > after_id ORDER BY x.id LIMIT most) k
        WHERE k.active AND NOT EXISTS (SELECT FROM rowrun.task_run r WHERE r.task_id = k.id AND r.tick IS NOT NULL
                                          AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
        ORDER BY k.id
    LOOP
        PERFORM FROM rowrun.task x WHERE x.id = due.id FOR NO KEY UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        BEGIN
            IF rowrun.schedule_task(due.id, false, false) THEN
                made := made + 1;
            END IF;
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected OR serialization_failure OR insufficient_privilege THEN
                RAISE;
            WHEN OTHERS THEN
                PERFORM rowrun.pause_schedule(due.id, SQLERRM || ' (SQLSTATE ' || SQLSTATE || ')');
        END;
    END LOOP;
    SELECT max(x.id) INTO last_id FROM (SELECT k.id FROM rowrun.task k WHERE k.schedule IS NOT NULL AND k.id > after_id ORDER BY k.id LIMIT most) x
    HAVING count(*) = most;
END $$;


--
-- Name: FUNCTION schedule_sweep(after_id bigint, most integer, OUT last_id bigint, OUT made integer); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.schedule_sweep(after_id bigint, most integer, OUT last_id bigint, OUT made integer) IS 'Internal: runs for schedules that have none.';


--
-- Name: schedule_task(bigint, boolean, boolean); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.schedule_task(task_id bigint, moved boolean, anew boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    t timestamptz := clock_timestamp();
    k rowrun.task;
    run rowrun.task_run;
    nothing rowrun.task_run;
    wanted timestamptz;
    due timestamptz;
BEGIN
    SELECT x.* INTO k FROM rowrun.task x WHERE x.id = schedule_task.task_id FOR NO KEY UPDATE;
    SELECT r.* INTO run FROM rowrun.task_run r
    WHERE r.task_id = k.id AND r.tick IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING');
    IF run.status <> 'PENDING' THEN
        RETURN false;
    END IF;
    IF run.id IS NOT NULL AND (NOT moved OR run.attempt > 0) AND run.tick <= coalesce(k.ends_at, 'infinity') AND NOT k.skipped THEN
        wanted := run.tick;
        due := run.run_at;
    ELSE
        wanted := rowrun.tick_that_follows(k, nothing, t);
        due := wanted;
    END IF;
    PERFORM set_config('rowrun.scheduling', 'on', true);
    IF run.id IS NOT NULL AND (wanted IS NULL OR anew AND run.attempt = 0) THEN
        IF NOT rowrun.cancel_tick(run.id, CASE WHEN wanted IS NULL THEN 'its schedule ended' ELSE 'its task was changed' END) THEN
            wanted := NULL;
        END IF;
        run := nothing;
    END IF;
    IF run.attempt = 0 THEN
        UPDATE rowrun.task_run r SET tick = wanted, run_at = due, missed_at = rowrun.missed_at(k, due)
        WHERE r.id = run.id AND coalesce(r.status, '') = 'PENDING';
    ELSIF run.id IS NULL AND wanted IS NOT NULL THEN
        INSERT INTO rowrun.task_run (id, task_id, tick, run_at, missed_at) VALUES (rowrun.next_run_id(), k.id, wanted, due, rowrun.missed_at(k, due))
        ON CONFLICT DO NOTHING;
    END IF;
    PERFORM set_config('rowrun.scheduling', 'off', true);
    RETURN wanted IS NOT NULL;
END $$;


--
-- Name: FUNCTION schedule_task(task_id bigint, moved boolean, anew boolean); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.schedule_task(task_id bigint, moved boolean, anew boolean) IS 'Internal: makes, moves or cancels the waiting run of a schedule.';


--
-- Name: sequential_ahead(text, text, timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.sequential_ahead(database_id text, smallest text, t timestamp with time zone) RETURNS TABLE(id bigint, priority integer, run_at timestamp with time zone)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT f.id,
     f.priority,
     f.run_at
    FROM (( SELECT 1 AS "?column?"
           WHERE ((EXISTS ( SELECT
                    FROM rowrun.task_run u
                   WHERE ((u.database_id = sequential_ahead.database_id) AND (u.status = 'PENDING'::text) AND (u.version_key IS NULL) AND u.sequential))) OR (EXISTS ( SELECT
                    FROM rowrun.task_run u
                   WHERE ((u.database_id = sequential_ahead.database_id) AND (u.status = 'PENDING'::text) AND (u.version_key = (sequential_ahead.smallest COLLATE "C")) AND u.sequential))))) one
      CROSS JOIN LATERAL rowrun.first_sequential(sequential_ahead.database_id, sequential_ahead.smallest, sequential_ahead.t) f(id, priority, run_at))
   ORDER BY f.priority DESC, f.run_at, f.id
  LIMIT 1;
END;


--
-- Name: FUNCTION sequential_ahead(database_id text, smallest text, t timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.sequential_ahead(database_id text, smallest text, t timestamp with time zone) IS 'Internal: the sequential run that later ones of a database wait behind.';


--
-- Name: sequential_open(bigint, timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.sequential_open(run_id bigint, t timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    RETURN (SELECT g.cause IS NULL AND coalesce(room.open AND room.slots > 0, true)
            FROM rowrun.task_run r
            CROSS JOIN LATERAL rowrun.closed_gate(r, false, t) g
            LEFT JOIN LATERAL rowrun.plan_room(r.plan_id) room ON true
            WHERE r.id = sequential_open.run_id);
END $$;


--
-- Name: FUNCTION sequential_open(run_id bigint, t timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.sequential_open(run_id bigint, t timestamp with time zone) IS 'Internal: whether mutual exclusion alone may hold a run.';


--
-- Name: server_identity(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.server_identity(OUT system_identifier bigint, OUT database_oid bigint, OUT timeline integer) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    SELECT d.oid::bigint INTO database_oid FROM pg_catalog.pg_database d WHERE d.datname = current_database();
    SELECT s.system_identifier INTO system_identifier FROM pg_catalog.pg_control_system() s;
    SELECT c.timeline_id INTO timeline FROM pg_catalog.pg_control_checkpoint() c;
EXCEPTION WHEN insufficient_privilege THEN
    NULL; -- somebody took that right from PUBLIC: what can't be known isn't compared
END $$;


--
-- Name: FUNCTION server_identity(OUT system_identifier bigint, OUT database_oid bigint, OUT timeline integer); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.server_identity(OUT system_identifier bigint, OUT database_oid bigint, OUT timeline integer) IS 'Where this database stands; NULL: the role may not know.';


--
-- Name: set_replica_paused(text, boolean); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.set_replica_paused(replica text, pause boolean) RETURNS SETOF text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
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


--
-- Name: FUNCTION set_replica_paused(replica text, pause boolean); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.set_replica_paused(replica text, pause boolean) IS 'Internal: the one text of pause_replica and resume_replica.';


--
-- Name: set_skipped(bigint, boolean, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.set_skipped(task_id bigint, skip boolean, reason text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    of_plan bigint;
    before record;
BEGIN
    PERFORM check_isolation();
    SELECT k.plan_id INTO of_plan FROM task k WHERE k.id = set_skipped.task_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'task % does not exist', coalesce(set_skipped.task_id::text, 'NULL')
            USING ERRCODE = 'no_data_found', HINT = 'Look for its id in rowrun.task.';
    END IF;
    SELECT p.round, p.announced_round INTO before FROM plan p WHERE p.id = of_plan FOR NO KEY UPDATE;
    UPDATE task k SET skipped = skip, skip_reason = CASE WHEN skip THEN reason END
    WHERE k.id = set_skipped.task_id AND k.skipped <> skip;
    IF FOUND AND of_plan IS NOT NULL THEN
        IF before.announced_round >= before.round THEN
            PERFORM begin_round(of_plan, least(before.round, 2147483646) + 1, false);
        END IF;
        PERFORM announce_plans(ARRAY[of_plan]);
    END IF;
END $$;


--
-- Name: FUNCTION set_skipped(task_id bigint, skip boolean, reason text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.set_skipped(task_id bigint, skip boolean, reason text) IS 'Internal: skips a task or takes that back.';


--
-- Name: settle_plans(bigint[], jsonb, boolean); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.settle_plans(plan_ids bigint[], rounds jsonb, sweep boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    due bigint[];
    held bigint[];
    start bigint;
BEGIN
    due := ARRAY(SELECT p.id FROM plan p CROSS JOIN LATERAL rowrun.due_event(p) e
                 WHERE p.id = ANY (plan_ids) AND p.announced_round < p.round AND e.event IS NOT NULL)
        || ARRAY(SELECT p.id FROM jsonb_to_recordset(rounds) AS b(plan_id bigint, round integer)
                 JOIN plan p ON p.id = b.plan_id WHERE b.round > p.round);
    IF sweep THEN
        -- From anywhere on and from the first: each gets its turn, however many plans are never completed.
        start := floor(random() * coalesce((SELECT max(p.id) FROM plan p), 0));
        due := due || ARRAY(
            SELECT p.id FROM plan p CROSS JOIN LATERAL rowrun.due_event(p) e
            WHERE p.id = ANY (ARRAY(SELECT q.id FROM plan q WHERE q.announced_round < q.round AND q.id > start ORDER BY q.id LIMIT 1000)
                              || ARRAY(SELECT q.id FROM plan q WHERE q.announced_round < q.round ORDER BY q.id LIMIT 1000))
              AND e.event IS NOT NULL);
    END IF;
    IF cardinality(due) = 0 THEN
        RETURN;
    END IF;
    held := ARRAY(SELECT p.id FROM plan p WHERE p.id = ANY (due) ORDER BY p.id FOR NO KEY UPDATE SKIP LOCKED);
    INSERT INTO gate_mark (kind, plan_id, round, by_run)
    SELECT DISTINCT 'PLAN', d.id, b.round, b.by_run
    FROM unnest(due) d(id)
    LEFT JOIN jsonb_to_recordset(rounds) AS b(plan_id bigint, round integer, by_run boolean) ON b.plan_id = d.id
    WHERE d.id <> ALL (held);
    PERFORM rowrun.begin_round(b.plan_id, max(b.round), bool_or(b.by_run))
    FROM jsonb_to_recordset(rounds) AS b(plan_id bigint, round integer, by_run boolean)
    WHERE b.plan_id = ANY (held) GROUP BY b.plan_id;
    PERFORM rowrun.announce_plans(held);
END $$;


--
-- Name: FUNCTION settle_plans(plan_ids bigint[], rounds jsonb, sweep boolean); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.settle_plans(plan_ids bigint[], rounds jsonb, sweep boolean) IS 'Internal: events and rounds that marks name.';


--
-- Name: skip_missed(bigint[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.skip_missed(run_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    t timestamptz := clock_timestamp();
    k rowrun.task;
    run rowrun.task_run;
    nothing rowrun.task_run;
    coming timestamptz;
    problem text;
BEGIN
    PERFORM set_config('rowrun.scheduling', 'on', true);
    FOR run IN SELECT r.* FROM rowrun.task_run r WHERE r.id = ANY (run_ids) AND coalesce(r.status, '') = 'PENDING' ORDER BY r.id LOOP
        SELECT x.* INTO k FROM rowrun.task x WHERE x.id = run.task_id;
        problem := NULL;
        coming := NULL;
        BEGIN
            coming := rowrun.tick_that_follows(k, nothing, t);
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected OR serialization_failure OR insufficient_privilege THEN
                RAISE;
            WHEN OTHERS THEN
                problem := SQLERRM || ' (SQLSTATE ' || SQLSTATE || ')';
        END;
        IF coming IS NOT NULL THEN
            UPDATE rowrun.task_run r SET tick = coming, run_at = coming, missed_at = rowrun.missed_at(k, coming) WHERE r.id = run.id;
        ELSE
            PERFORM rowrun.cancel_tick(run.id, 'its tick was missed, and no other comes');
        END IF;
        IF problem IS NOT NULL THEN
            PERFORM rowrun.pause_schedule(k.id, problem);
        END IF;
    END LOOP;
    PERFORM set_config('rowrun.scheduling', 'off', true);
END $$;


--
-- Name: FUNCTION skip_missed(run_ids bigint[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.skip_missed(run_ids bigint[]) IS 'Internal: moves runs whose tick was missed to the next one.';


--
-- Name: skip_task(bigint, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.skip_task(task_id bigint, reason text DEFAULT NULL::text) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$ SELECT rowrun.set_skipped(task_id, true, reason) $$;


--
-- Name: FUNCTION skip_task(task_id bigint, reason text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.skip_task(task_id bigint, reason text) IS 'The task counts as done; refused while a run of it is AVAILABLE or RUNNING.';


--
-- Name: slack_text(text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.slack_text(said text) RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN replace(replace(replace(said, '&'::text, '&amp;'::text), '<'::text, '&lt;'::text), '>'::text, '&gt;'::text);


--
-- Name: FUNCTION slack_text(said text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.slack_text(said text) IS 'Internal: a text with Slack''s escapes.';


--
-- Name: slack_body(text, text, text[], text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.slack_body(title text, subject text, lines text[], link text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    RETURN replace((jsonb_build_object('text', rowrun.slack_text((title || COALESCE(((' ('::text || NULLIF(subject, ''::text)) || ')'::text), ''::text))), 'blocks', (((jsonb_build_array(jsonb_build_object('type', 'section', 'text', jsonb_build_object('type', 'plain_text', 'emoji', false, 'text', rowrun.slack_text(title)))) || CASE subject WHEN ''::text THEN '[]'::jsonb ELSE jsonb_build_array(jsonb_build_object('type', 'context', 'elements', jsonb_build_array(jsonb_build_object('type', 'plain_text', 'emoji', false, 'text', rowrun.slack_text(subject))))) END) || COALESCE((SELECT jsonb_agg(jsonb_build_object('type', 'section', 'text', jsonb_build_object('type', 'plain_text', 'emoji', false, 'text', rowrun.slack_text(x.l))) ORDER BY x.n) AS jsonb_agg FROM unnest(slack_body.lines) WITH ORDINALITY x(l, n) WHERE (x.l <> ''::text)), '[]'::jsonb)) || CASE WHEN (link IS NULL) THEN '[]'::jsonb ELSE jsonb_build_array(jsonb_build_object('type', 'section', 'text', jsonb_build_object('type', 'mrkdwn', 'text', (('<'::text || link) || '|Open in Rowrun>'::text)))) END)))::text, '@'::text, '@\u200b'::text);


--
-- Name: FUNCTION slack_body(title text, subject text, lines text[], link text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.slack_body(title text, subject text, lines text[], link text) IS 'Internal: a message for Slack.';


--
-- Name: step_act(bigint, integer); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.step_act(act_id bigint, most integer) RETURNS boolean
    LANGUAGE plpgsql
    SET lock_timeout TO '300ms'
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    a record;
    part record;
    one text;
    result bigint[];
    n integer := 0;
    message text;
    hint text;
    code text;
BEGIN
    PERFORM check_isolation();
    SELECT x.* INTO a FROM act x WHERE x.id = step_act.act_id AND x.state = 'RUNNING' AND x.kind <> 'webhook' FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF a.targets IS NOT NULL THEN
        SELECT a.targets[a.position + 1 : a.position + most] AS ids, least(a.position + most, cardinality(a.targets)) AS reached,
               a.position + most >= cardinality(a.targets) AS over INTO part;
    ELSIF a.kind = 'run' THEN
        SELECT f.ids::text[] AS ids, f.reached, f.over INTO part FROM rowrun.find_runs(a.search, false, a.position, a.bound, most, 5000) f;
    ELSIF a.kind = 'task' THEN
        SELECT f.ids::text[] AS ids, f.reached, f.over INTO part FROM rowrun.find_tasks(a.search, false, a.position, a.bound, most, 1000) f;
    ELSE
        SELECT f.ids::text[] AS ids, f.reached, f.over INTO part FROM rowrun.find_deliveries(a.search, false, a.position, a.bound, most, 5000) f;
    END IF;
    FOREACH one IN ARRAY part.ids LOOP
        BEGIN
            result := rowrun.do_act(a.verb, a.kind, one, a.args);
            IF result IS NULL THEN
                a.unchanged := a.unchanged + 1;
            ELSE
                a.done := a.done + 1;
                a.made := (a.made || result)[1:100];
            END IF;
        EXCEPTION
            WHEN deadlock_detected OR serialization_failure OR program_limit_exceeded THEN
                RAISE; -- the step is taken again
            WHEN OTHERS THEN
                GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT, code = RETURNED_SQLSTATE;
                IF code = '55P03' AND n > 0 THEN
                    -- Who holds it may wait for what this step holds: the next step begins with it, and holds nothing.
                    part.reached := CASE WHEN a.targets IS NULL THEN one::bigint - 1 ELSE a.position + n END;
                    part.over := false;
                    EXIT;
                ELSIF code = '55P03' THEN
                    message := 'another transaction holds it';
                    hint := 'Try again in a moment; rowrun doctor names sessions that hold rows.';
                END IF;
                a.failed := a.failed + 1;
                IF jsonb_array_length(a.failures) < 100 THEN
                    a.failures := a.failures || jsonb_build_object('id', one, 'message', left(message, 500), 'hint', left(hint, 500), 'code', code);
                END IF;
        END;
        n := n + 1;
    END LOOP;
    UPDATE act x SET position = part.reached, done = a.done, unchanged = a.unchanged, failed = a.failed, failures = a.failures, made = a.made,
        state = CASE WHEN part.over THEN 'DONE' ELSE 'RUNNING' END, ended_at = CASE WHEN part.over THEN clock_timestamp() END
    WHERE x.id = a.id;
    IF part.over AND (a.targets IS NULL OR cardinality(a.targets) > 1 OR a.failed > 0) THEN
        PERFORM rowrun.note_act(a.id, 'act.ended');
    END IF;
    RETURN NOT part.over;
END $$;


--
-- Name: FUNCTION step_act(act_id bigint, most integer); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.step_act(act_id bigint, most integer) IS 'Internal: goes on with an act; true: there is more to do.';


--
-- Name: stuck_on_database(text, timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.stuck_on_database(database_id text, t timestamp with time zone) RETURNS TABLE(any_id bigint, sequential_id bigint, version_id bigint, version_key text)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT min(u.id) AS min,
     min(u.id) FILTER (WHERE u.sequential) AS min,
     (array_agg(u.id ORDER BY u.version_key, u.id) FILTER (WHERE (u.version_key IS NOT NULL)))[1] AS array_agg,
     min(u.version_key) AS min
    FROM ( SELECT x.id,
             x.task_id,
             x.attempt,
             x.retry_of,
             x.root_id,
             x.status,
             x.run_at,
             x.input,
             x.priority,
             x.idempotency_key,
             x.creator,
             x.plan_id,
             x.type,
             x.queue,
             x.database_id,
             x.version,
             x.created_at,
             x.available_at,
             x.started_at,
             x.finished_at,
             x.updated_at,
             x.deadline,
             x.cancel_requested_at,
             x.cancel_reason,
             x.progress,
             x.progress_at,
             x.result,
             x.version_key,
             x.sequential,
             x.prev_status,
             x.edited_directly,
             x.cause,
             x.judge_at,
             x.failures,
             x.recoveries,
             x.retry_run_id,
             x.round,
             x.tick,
             x.missed_at,
             x.own_retention,
             x.handles,
             x.replica_id,
             x.claim_hash
            FROM rowrun.task_run x
           WHERE ((x.database_id = stuck_on_database.database_id) AND (x.status = ANY (ARRAY['AVAILABLE'::text, 'RUNNING'::text])))
           ORDER BY x.database_id, x.version_key
          LIMIT 200) u
   WHERE ((u.status = 'AVAILABLE'::text) AND (NOT (EXISTS ( SELECT
            FROM rowrun.able_replicas(ROW(u.id, u.task_id, u.attempt, u.retry_of, u.root_id, u.status, u.run_at, u.input, u.priority, u.idempotency_key, u.creator, u.plan_id, u.type, u.queue, u.database_id, u.version, u.created_at, u.available_at, u.started_at, u.finished_at, u.updated_at, u.deadline, u.cancel_requested_at, u.cancel_reason, u.progress, u.progress_at, u.result, u.version_key, u.sequential, u.prev_status, u.edited_directly, u.cause, u.judge_at, u.failures, u.recoveries, u.retry_run_id, u.round, u.tick, u.missed_at, u.own_retention, u.handles, u.replica_id, u.claim_hash), stuck_on_database.t) able_replicas(replica_id)))));
END;


--
-- Name: FUNCTION stuck_on_database(database_id text, t timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.stuck_on_database(database_id text, t timestamp with time zone) IS 'Internal: AVAILABLE runs that keep a database and that no live replica takes.';


--
-- Name: take_for_worker(uuid, text, text[], integer, interval); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.take_for_worker(request_id uuid, replica text, types text[], most integer, lease interval) RETURNS TABLE(run_id bigint, claim uuid, type text, payload jsonb, attempt integer, root_id bigint, deadline timestamp with time zone)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    look integer := most;
    given integer := 0;
    seen integer;
    rows integer;
BEGIN
    LOOP
        RETURN QUERY
        WITH RECURSIVE queue AS (
            (SELECT r.queue FROM task_run r WHERE r.status = 'AVAILABLE' ORDER BY r.queue LIMIT 1)
            UNION ALL
            SELECT (SELECT r.queue FROM task_run r WHERE r.status = 'AVAILABLE' AND r.queue > q.queue ORDER BY r.queue LIMIT 1) FROM queue q WHERE q.queue IS NOT NULL
        ), seen AS MATERIALIZED (
            SELECT c.place FROM queue q
            CROSS JOIN unnest(take_for_worker.types) y(type)
            CROSS JOIN LATERAL (
                SELECT r.ctid AS place, r.priority, r.run_at, r.id
                FROM task_run r
                JOIN task k ON k.id = r.task_id
                LEFT JOIN plan p ON p.id = r.plan_id
                WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type AND NOT k.paused AND p.paused IS NOT TRUE
                ORDER BY r.priority DESC, r.run_at, r.id LIMIT look) c
            WHERE NOT EXISTS (SELECT FROM task_type d WHERE d.type = y.type AND d.draining)
            ORDER BY c.priority DESC, c.run_at, c.id LIMIT look
        ), picked AS MATERIALIZED (
            SELECT r.ctid AS place, r.cause = 'UNTOLD' AS untold, worker_claim_of(take_for_worker.request_id, r.id) AS claim FROM task_run r
            WHERE r.ctid = ANY (ARRAY(SELECT s.place FROM seen s)) AND coalesce(r.status, '') = 'AVAILABLE'
            ORDER BY r.priority DESC, r.run_at, r.id LIMIT most - given FOR NO KEY UPDATE SKIP LOCKED
        ), taken AS (
            UPDATE task_run r
            SET status = 'RUNNING', prev_status = 'AVAILABLE', edited_directly = NULL, cause = NULL, replica_id = replica,
                claim_hash = sha256(uuid_send(i.claim)), started_at = now.t, updated_at = now.t,
                deadline = CASE WHEN k.timeout > interval '0' THEN now.t + k.timeout END
            FROM picked i, task k, (SELECT clock_timestamp() AS t) now
            WHERE k.id = r.task_id AND r.ctid = i.place
            RETURNING r.id, i.claim, r.type, worker_payload(k, r) AS payload, r.attempt, r.root_id, r.deadline, r.claim_hash, now.t,
                CASE WHEN i.untold THEN arrival(r) || ',' ELSE '' END || transition(r) AS item, k.type AS task_type,
                r.type <> k.type AND NOT EXISTS (SELECT FROM task_type a WHERE a.type = r.type AND a.alias_of = k.type) AS unfit
        ), held AS (
            INSERT INTO worker_claim (claim_hash, run_id, lease, until)
            SELECT x.claim_hash, x.id, take_for_worker.lease, x.t + take_for_worker.lease FROM taken x WHERE NOT x.unfit
        ), noted AS (
            INSERT INTO worker_request AS q (request_hash, made_at, run_ids)
            SELECT sha256(uuid_send(take_for_worker.request_id)), clock_timestamp(), x.ids
            FROM (SELECT array_agg(x.id) AS ids FROM taken x WHERE NOT x.unfit) x WHERE x.ids IS NOT NULL
            ON CONFLICT (request_hash) DO UPDATE SET made_at = excluded.made_at, run_ids = q.run_ids || excluded.run_ids
        ), said AS (
            SELECT announce(array_agg(x.item)) IS NULL AS x,
                   set_config('rowrun.unfit', coalesce(string_agg(x.id::text, ',') FILTER (WHERE x.unfit), ''), true) AS unfit,
                   set_config('rowrun.claimed', (SELECT count(*) FROM seen)::text, true) AS seen
            FROM taken x
        )
        SELECT x.id, x.claim, x.type, x.payload, x.attempt, x.root_id, x.deadline
        -- What is said is not left out where nobody is given anything.
        FROM (SELECT s.x, s.unfit, s.seen FROM said s OFFSET 0) s
        CROSS JOIN LATERAL (SELECT * FROM taken x WHERE NOT x.unfit AND s.unfit IS NOT NULL) x;
        GET DIAGNOSTICS rows = ROW_COUNT;
        given := given + rows;
        seen := current_setting('rowrun.claimed')::integer;
        IF current_setting('rowrun.unfit') <> '' THEN
            PERFORM end_runs(array_agg(r.id), array_agg(NULL::uuid), array_agg('FAILED'::text), array_agg(jsonb_build_object('code', 'BAD_INPUT', 'detail',
                format('task type changed from %s to %s after the run was inserted: insert it again', r.type, k.type))), array_agg('NONE'::text))
            FROM task_run r JOIN task k ON k.id = r.task_id WHERE r.id = ANY (string_to_array(current_setting('rowrun.unfit'), ',')::bigint[]);
        END IF;
        EXIT WHEN given = most OR seen < look OR look > most;
        look := 4 * most + 100;
    END LOOP;
END $$;


--
-- Name: FUNCTION take_for_worker(request_id uuid, replica text, types text[], most integer, lease interval); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.take_for_worker(request_id uuid, replica text, types text[], most integer, lease interval) IS 'Internal: hands AVAILABLE runs to a worker.';


--
-- Name: take_marks(boolean, integer); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.take_marks(sweep boolean, most integer, OUT runs bigint[], OUT databases text[], OUT plans bigint[], OUT wide bigint[], OUT dependents bigint[], OUT tasks bigint[], OUT paused bigint[], OUT failures jsonb, OUT replicas boolean, OUT more boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    taken integer;
    gates bigint[];
    gate_dbs text[];
    rounds jsonb;
BEGIN
    WITH taken AS (
        DELETE FROM gate_mark WHERE id = ANY (ARRAY(SELECT m.id FROM gate_mark m ORDER BY m.id LIMIT most)) RETURNING *
    )
    SELECT count(*), coalesce(array_agg(DISTINCT k.run_id) FILTER (WHERE k.kind = 'RUN'), '{}'),
           coalesce(array_agg(DISTINCT k.database_id) FILTER (WHERE k.kind = 'DATABASE'), '{}'),
           coalesce(array_agg(DISTINCT k.plan_id) FILTER (WHERE k.kind IN ('PLAN', 'PLAN_CHANGED')), '{}'),
           coalesce(array_agg(DISTINCT k.plan_id) FILTER (WHERE k.kind = 'PLAN_CHANGED'), '{}'),
           coalesce(array_agg(DISTINCT k.plan_id) FILTER (WHERE k.wide), '{}'),
           coalesce(array_agg(DISTINCT k.task_id) FILTER (WHERE k.kind = 'TASK'), '{}'),
           coalesce(array_agg(DISTINCT k.task_id) FILTER (WHERE k.kind = 'DEPENDENCY'), '{}'),
           coalesce(array_agg(DISTINCT k.task_id) FILTER (WHERE k.kind = 'PAUSED'), '{}'),
           jsonb_agg(DISTINCT jsonb_build_object('plan_id', k.plan_id, 'database_id', k.database_id)) FILTER (WHERE k.kind = 'PLAN_FAILED'),
           coalesce(bool_or(k.kind = 'NO_REPLICA'), false),
           jsonb_agg(DISTINCT jsonb_build_object('plan_id', k.plan_id, 'round', k.round, 'by_run', k.by_run)) FILTER (WHERE k.round IS NOT NULL)
    INTO taken, runs, databases, plans, gates, wide, dependents, tasks, paused, failures, replicas, rounds
    FROM taken k;
    more := taken = most;
    IF sweep OR cardinality(plans) > 0 THEN
        PERFORM rowrun.settle_plans(plans, rounds, sweep);
    END IF;
    IF cardinality(gates) > 0 THEN
        -- The sequential runs of these plans hold others back on their databases, or no more.
        gate_dbs := ARRAY(SELECT d.database_id FROM databases_of_plans(gates) d WHERE d.database_id <> ALL (databases));
        databases := databases || gate_dbs[1:most];
        IF cardinality(gate_dbs) > most THEN
            INSERT INTO gate_mark (kind, database_id) SELECT 'DATABASE', unnest(gate_dbs[most + 1:]);
            more := true;
        END IF;
    END IF;
    IF sweep THEN
        databases := databases || ARRAY(SELECT o.database_id FROM rowrun.overlooked_databases(databases) o ORDER BY random() LIMIT 2 * most);
        plans := plans || ARRAY(SELECT o.plan_id FROM rowrun.overlooked_plans(plans) o ORDER BY random() LIMIT 2 * most);
    END IF;
END $$;


--
-- Name: FUNCTION take_marks(sweep boolean, most integer, OUT runs bigint[], OUT databases text[], OUT plans bigint[], OUT wide bigint[], OUT dependents bigint[], OUT tasks bigint[], OUT paused bigint[], OUT failures jsonb, OUT replicas boolean, OUT more boolean); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.take_marks(sweep boolean, most integer, OUT runs bigint[], OUT databases text[], OUT plans bigint[], OUT wide bigint[], OUT dependents bigint[], OUT tasks bigint[], OUT paused bigint[], OUT failures jsonb, OUT replicas boolean, OUT more boolean) IS 'Internal: takes the marks of a pass.';


--
-- Name: task_author_check(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_author_check() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    IF (is_authors(NEW.type) OR TG_OP = 'UPDATE' AND is_authors(OLD.type)) AND NOT is_author() THEN
        RAISE EXCEPTION 'only members of rowrun_author may write tasks of type %',
            CASE WHEN TG_OP = 'UPDATE' AND is_authors(OLD.type) THEN OLD.type ELSE NEW.type END
            USING ERRCODE = 'insufficient_privilege', HINT = 'GRANT rowrun_author TO the role, or let an author define the task.';
    END IF;
    RETURN NEW;
END $$;


--
-- Name: FUNCTION task_author_check(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_author_check() IS 'Trigger: tasks of SQL, DATABASE_MIGRATE and COMMAND are for authors.';


--
-- Name: task_called(bigint, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_called(task_id bigint, name text) RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN (name = ''::text) THEN ('Task '::text || task_id) WHEN (name ~~* 'task %'::text) THEN name ELSE ('Task '::text || name) END;


--
-- Name: FUNCTION task_called(task_id bigint, name text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_called(task_id bigint, name text) IS 'Internal: how a task is called in a message.';


--
-- Name: task_dependency_acyclic(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_dependency_acyclic() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    ids        bigint[];   -- the tasks
    needs      integer[];  -- how many each still needs
    needed_by  integer[];  -- places of those that need a task, one task after the other
    first      integer[];  -- where in needed_by a task's begin
    ready      integer[];
    edge       record;
    n          integer := 0;
    walk       bigint[];
    step       bigint;
    told       text;
BEGIN
    WITH RECURSIVE reached(id) AS (
        SELECT a.depends_on_id FROM added a
        WHERE EXISTS (SELECT FROM rowrun.task_dependency d WHERE d.depends_on_id = a.task_id)
          AND EXISTS (SELECT FROM rowrun.task_dependency d WHERE d.task_id = a.depends_on_id)
        UNION
        SELECT d.depends_on_id FROM reached r
        CROSS JOIN LATERAL (SELECT e.depends_on_id FROM rowrun.task_dependency e WHERE e.task_id = r.id OFFSET 0) d
    )
    SELECT array_agg(r.id ORDER BY r.id) INTO ids FROM reached r;
    IF ids IS NULL THEN
        RETURN NULL;
    END IF;
    needs := array_fill(0, ARRAY[cardinality(ids)]);
    first := array_fill(0, ARRAY[cardinality(ids) + 1]);
    needed_by := '{}';
    FOR edge IN
        WITH edges AS MATERIALIZED (
            SELECT d.task_id, w.place
            FROM unnest(ids) WITH ORDINALITY w(id, place)
            CROSS JOIN LATERAL (SELECT e.task_id FROM rowrun.task_dependency e WHERE e.depends_on_id = w.id OFFSET 0) d
        )
        SELECT t.place::int AS task, e.place::int AS needed
        FROM edges e JOIN unnest(ids) WITH ORDINALITY t(id, place) ON t.id = e.task_id
        ORDER BY e.place
    LOOP
        n := n + 1;
        needed_by[n] := edge.task;
        needs[edge.task] := needs[edge.task] + 1;
        IF first[edge.needed] = 0 THEN
            first[edge.needed] := n;
        END IF;
    END LOOP;
    first[cardinality(ids) + 1] := n + 1;
    FOR i IN REVERSE cardinality(ids)..1 LOOP
        IF first[i] = 0 THEN
            first[i] := first[i + 1];
        END IF;
    END LOOP;
    ready := ARRAY(SELECT i FROM generate_subscripts(needs, 1) i WHERE needs[i] = 0);
    n := 1;
    WHILE n <= cardinality(ready) LOOP
        FOR i IN first[ready[n]]..first[ready[n] + 1] - 1 LOOP
            needs[needed_by[i]] := needs[needed_by[i]] - 1;
            IF needs[needed_by[i]] = 0 THEN
                ready[cardinality(ready) + 1] := needed_by[i];
            END IF;
        END LOOP;
        n := n + 1;
    END LOOP;
    IF cardinality(ready) = cardinality(ids) THEN
        RETURN NULL;
    END IF;

    ids := ARRAY(SELECT ids[i] FROM generate_subscripts(needs, 1) i WHERE needs[i] > 0);
    step := ids[1];
    WHILE step <> ALL (coalesce(walk, '{}')) LOOP
        walk := walk || step;
        SELECT min(d.id) INTO step
        FROM (SELECT e.depends_on_id AS id FROM rowrun.task_dependency e WHERE e.task_id = step OFFSET 0) d WHERE d.id = ANY (ids);
    END LOOP;
    walk := walk[array_position(walk, step):];
    n := array_position(walk, (SELECT min(w) FROM unnest(walk) w));
    walk := walk[n:] || walk[1:n - 1] || walk[n];
    SELECT string_agg(CASE WHEN w.n = 12 AND cardinality(walk) > 20 THEN '... (' || cardinality(walk) - 14 || ' more)'
                           ELSE w.id || CASE k.name WHEN '' THEN '' ELSE ' (' || k.name || ')' END END, ' -> ' ORDER BY w.n)
    INTO told
    FROM unnest(walk) WITH ORDINALITY w(id, n) JOIN rowrun.task k ON k.id = w.id
    WHERE cardinality(walk) <= 20 OR w.n <= 12 OR w.n > cardinality(walk) - 2;
    RAISE EXCEPTION 'dependencies in a circle: task %', told
        USING ERRCODE = 'RR003', HINT = 'Each of these tasks would wait for the next one for ever; leave one dependency out.';
END $$;


--
-- Name: FUNCTION task_dependency_acyclic(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_dependency_acyclic() IS 'Trigger: no task waits for itself by way of others.';


--
-- Name: task_dependency_author(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_dependency_author() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    IF EXISTS (SELECT FROM rowrun.task k WHERE k.id = NEW.task_id AND is_authors(k.type)) AND NOT is_author() THEN
        RAISE EXCEPTION 'only members of rowrun_author may say what task % waits for', NEW.task_id
            USING ERRCODE = 'insufficient_privilege', HINT = 'It is of a type that authors write. GRANT rowrun_author TO the role, or let an author do it.';
    END IF;
    RETURN NEW;
END $$;


--
-- Name: FUNCTION task_dependency_author(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_dependency_author() IS 'Trigger: what an author''s task waits for is the author''s to say.';


--
-- Name: task_dependency_changed(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_dependency_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    dependent bigint := CASE WHEN TG_OP = 'INSERT' THEN NEW.task_id ELSE OLD.task_id END;
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO rowrun.gate_mark (kind, run_id)
        SELECT 'RUN', r.id FROM rowrun.task_run r WHERE r.task_id = dependent AND r.plan_id IS NOT NULL AND r.status = 'PENDING';
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
    ELSE
        -- A run that is just being inserted can't be seen from here, and may be judged before this commits: the mark is
        -- left in any case.
        INSERT INTO rowrun.gate_mark (kind, task_id) VALUES ('TASK', dependent);
    END IF;
    PERFORM rowrun.notify_look();
    RETURN NULL;
END $$;


--
-- Name: FUNCTION task_dependency_changed(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_dependency_changed() IS 'Trigger: a dependency came or went.';


--
-- Name: task_dependency_check(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_dependency_check() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    dependents   bigint[] := CASE TG_OP WHEN 'INSERT' THEN ARRAY[NEW.task_id] WHEN 'DELETE' THEN ARRAY[OLD.task_id]
                                        ELSE ARRAY[OLD.task_id, NEW.task_id] END;
    dependent    bigint;
    waiting_plan bigint;
    needed_plan  bigint;
BEGIN
    SELECT plan_id INTO waiting_plan FROM rowrun.task WHERE id = dependents[cardinality(dependents)];
    IF TG_OP = 'DELETE' THEN
        -- With one of its tasks gone it goes by cascade.
        IF NOT FOUND OR NOT EXISTS (SELECT FROM rowrun.task WHERE id = OLD.depends_on_id) THEN
            RETURN OLD;
        END IF;
    ELSE
        SELECT plan_id INTO needed_plan FROM rowrun.task WHERE id = NEW.depends_on_id;
        IF waiting_plan IS NULL OR needed_plan IS DISTINCT FROM waiting_plan THEN
            RAISE EXCEPTION 'tasks % and % are not of one plan', NEW.task_id, NEW.depends_on_id
                USING ERRCODE = 'RR003', HINT = 'A dependency holds between two tasks of the same plan.';
        END IF;
    END IF;
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        UPDATE rowrun.plan SET name = name WHERE id = waiting_plan; -- of two at once one fails with 40001
    ELSE
        PERFORM FROM rowrun.plan WHERE id = waiting_plan FOR NO KEY UPDATE;
    END IF;
    -- A run that is just being promoted is waited for, and one that is held here isn't promoted.
    PERFORM FROM rowrun.task_run WHERE task_id = ANY (dependents) AND plan_id IS NOT NULL
        AND status IN ('PENDING', 'AVAILABLE', 'RUNNING') ORDER BY id FOR NO KEY UPDATE;
    SELECT task_id INTO dependent FROM rowrun.task_run
    WHERE task_id = ANY (dependents) AND plan_id IS NOT NULL AND status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND status <> 'PENDING';
    IF FOUND THEN
        RAISE EXCEPTION 'task % has a run that is AVAILABLE or RUNNING: what it waits for is fixed until that ends', dependent
            USING ERRCODE = 'RR005', HINT = 'Wait for its end, or cancel the run.';
    END IF;
    RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END $$;


--
-- Name: FUNCTION task_dependency_check(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_dependency_check() IS 'Trigger: both tasks are of one plan, and the one that waits isn''t under way.';


--
-- Name: task_fill(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_fill() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    NEW.id := coalesce(NEW.id, nextval('rowrun.task_id_seq'));
    NEW.name := coalesce(NEW.name, '');
    NEW.queue := coalesce(NEW.queue, 'default');
    NEW.sequential := coalesce(NEW.sequential, NEW.type = 'DATABASE_MIGRATE', false);
    NEW.payload := coalesce(NEW.payload, '{}');
    NEW.priority := coalesce(NEW.priority, 0);
    NEW.max_attempts := coalesce(NEW.max_attempts, 1);
    NEW.retry_delay := coalesce(NEW.retry_delay, '10 s');
    NEW.on_stale := coalesce(NEW.on_stale, 'FAIL');
    NEW.paused := coalesce(NEW.paused, false);
    NEW.skipped := coalesce(NEW.skipped, false);
    NEW.labels := coalesce(NEW.labels, '{}');

    PERFORM rowrun.check_task_words(NEW);
    IF TG_OP = 'INSERT' THEN
        PERFORM rowrun.check_id(NEW.id, 'rowrun.task_id_seq');
        NEW.created_at := now();
        NEW.outcome := NULL;
        NEW.outcome_round := NULL;
        NEW.outcome_run_id := NULL;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF NEW.id <> OLD.id THEN
            RAISE EXCEPTION 'a task keeps its id' USING ERRCODE = 'RR003';
        END IF;
        IF NEW.plan_id IS DISTINCT FROM OLD.plan_id THEN
            NEW.outcome_round := NULL; -- it was counted in the old plan's rounds
            IF EXISTS (SELECT FROM rowrun.task_dependency d WHERE OLD.id IN (d.task_id, d.depends_on_id)) THEN
                RAISE EXCEPTION 'task % has dependencies: it stays in its plan', OLD.id
                    USING ERRCODE = 'RR003', HINT = 'Delete its rows in rowrun.task_dependency first.';
            END IF;
        END IF;
        IF NEW.plan_id IS DISTINCT FROM OLD.plan_id AND EXISTS (
            SELECT FROM rowrun.task_run r WHERE r.task_id = OLD.id AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
           OR OLD.plan_id IS NOT NULL
              AND (NEW.type, NEW.queue, NEW.database_id, NEW.version, NEW.sequential)
                  IS DISTINCT FROM (OLD.type, OLD.queue, OLD.database_id, OLD.version, OLD.sequential)
              AND EXISTS (SELECT FROM rowrun.task_run r WHERE r.task_id = OLD.id AND r.plan_id IS NOT NULL
                          AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
        THEN
            RAISE EXCEPTION 'task % has an unfinished run: its type, queue, database_id, version, sequential and plan_id are fixed until that ends', OLD.id
                USING ERRCODE = 'RR005', HINT = 'Cancel the run or wait for its end.';
        END IF;
        IF NEW.skipped AND NOT OLD.skipped AND OLD.plan_id IS NOT NULL THEN
            -- A run that is just being promoted is waited for, and one that is held here isn't promoted.
            PERFORM FROM rowrun.task_run r WHERE r.task_id = OLD.id AND r.plan_id IS NOT NULL
                AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING') FOR NO KEY UPDATE;
        END IF;
        IF NEW.skipped AND NOT OLD.skipped
           AND (EXISTS (SELECT FROM rowrun.task_run r WHERE r.task_id = OLD.id AND r.status = 'AVAILABLE')
                OR EXISTS (SELECT FROM rowrun.task_run r WHERE r.task_id = OLD.id AND r.status = 'RUNNING'))
        THEN
            RAISE EXCEPTION 'task % has a run that is AVAILABLE or RUNNING: it can''t be skipped', OLD.id
                USING ERRCODE = 'RR004', HINT = 'Cancel the run first.';
        END IF;
    END IF;
    RETURN NEW;
END $$;


--
-- Name: FUNCTION task_fill(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_fill() IS 'Trigger: NULLs get their defaults; who may write which type; what is fixed while a run is unfinished.';


--
-- Name: task_gate_changed(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_gate_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    IF NEW.skipped AND NOT OLD.skipped THEN
        UPDATE rowrun.task_run SET status = 'CANCELED', cancel_reason = coalesce('task skipped: ' || NEW.skip_reason, 'task skipped')
        WHERE task_id = NEW.id AND status = 'PENDING';
        INSERT INTO rowrun.gate_mark (kind, task_id) VALUES ('DEPENDENCY', NEW.id);
    END IF;
    IF NEW.skipped IS DISTINCT FROM OLD.skipped AND NEW.plan_id IS NOT NULL THEN
        INSERT INTO rowrun.gate_mark (kind, plan_id, round, by_run)
        SELECT 'PLAN', p.id, CASE WHEN p.announced_round >= p.round THEN least(p.round, 2147483646) + 1 END, false
        FROM rowrun.plan p WHERE p.id = NEW.plan_id;
        IF OLD.skipped AND NEW.outcome = 'FAILED' THEN -- it counts again
            PERFORM rowrun.mark_stopped(ARRAY[NEW.plan_id]);
        END IF;
    END IF;
    IF NEW.paused IS DISTINCT FROM OLD.paused THEN
        INSERT INTO rowrun.gate_mark (kind, task_id) VALUES ('PAUSED', NEW.id);
        IF NEW.database_id IS NOT NULL THEN
            INSERT INTO rowrun.gate_mark (kind, database_id) VALUES ('DATABASE', NEW.database_id);
        END IF;
    END IF;
    PERFORM rowrun.notify_look();
    RETURN NULL;
END $$;


--
-- Name: FUNCTION task_gate_changed(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_gate_changed() IS 'Trigger: a task was paused, unpaused, skipped or unskipped.';


--
-- Name: task_left_plan(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_left_plan() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO rowrun.gate_mark (kind, plan_id) SELECT 'PLAN', p.id FROM rowrun.plan p WHERE p.id = OLD.plan_id;
    IF FOUND THEN
        PERFORM rowrun.notify_look();
    END IF;
    RETURN NULL;
END $$;


--
-- Name: FUNCTION task_left_plan(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_left_plan() IS 'Trigger: a task of a plan was deleted or moved.';


--
-- Name: task_operations_fill(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_operations_fill() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    NEW.failure_log_level := 'info';
    RETURN NEW;
END $$;


--
-- Name: FUNCTION task_operations_fill(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_operations_fill() IS 'Trigger: an explicit NULL in failure_log_level gets its default.';


--
-- Name: task_outcome_changed(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_outcome_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO rowrun.gate_mark (kind, database_id, plan_id)
    SELECT 'PLAN', NULL, NEW.plan_id
    UNION ALL
    SELECT 'PLAN_FAILED', NEW.database_id, NEW.plan_id WHERE NEW.database_id IS NOT NULL;
    RETURN NULL;
END $$;


--
-- Name: FUNCTION task_outcome_changed(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_outcome_changed() IS 'Trigger: a failed task was mended or skipped.';


--
-- Name: task_recovery_check(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_recovery_check() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    -- A function would run in a session of the sidecar's: a deferred trigger of its author's fires at the COMMIT, with
    -- the sidecar's rights, whatever role the function itself ran under.
    IF NEW.on_stale ILIKE 'FUNCTION%' THEN
        RAISE EXCEPTION 'on_stale is FAIL, RETRY or CANCEL, not "%": a function is no longer called for lost runs', left(NEW.on_stale, 200)
            USING ERRCODE = 'RR003', HINT = 'Name a task in on_failure_task: it is run with the failed run as its input, also when that was lost (code STALE, LOST_CONTACT or DRAINED).';
    END IF;
    IF NEW.on_failure_task IS NOT NULL AND (TG_OP = 'INSERT' OR NEW.on_failure_task IS DISTINCT FROM OLD.on_failure_task)
       AND rowrun.handler_task(NEW.on_failure_task) IS NULL
    THEN
        RAISE EXCEPTION 'on_failure_task: there is no task "%" without a plan', NEW.on_failure_task
            USING ERRCODE = 'RR003', HINT = 'Give the name or the id of a task without a plan; define it first.';
    END IF;
    RETURN NEW;
END $$;


--
-- Name: FUNCTION task_recovery_check(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_recovery_check() IS 'Trigger: on_stale names no function, and the task that on_failure_task names exists.';


--
-- Name: task_run_bounds(rowrun.task_run); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_run_bounds(r rowrun.task_run) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    IF jsonb_typeof(r.input) <> 'object' OR (pg_column_size(r.input) >= 2000 AND (octet_length(r.input::text) > 1048576 OR rowrun.too_deep(r.input))) THEN
        RAISE EXCEPTION 'input of a run is a JSON object of at most 1 MiB and 1,000 levels'
            USING ERRCODE = 'check_violation', HINT = 'Keep large data elsewhere and pass a reference.';
    ELSIF jsonb_typeof(r.result) <> 'object' OR (pg_column_size(r.result) >= 2000 AND (octet_length(r.result::text) > 1048576 OR rowrun.too_deep(r.result))) THEN
        RAISE EXCEPTION 'result of a run is a JSON object of at most 1 MiB and 1,000 levels'
            USING ERRCODE = 'check_violation', HINT = 'Keep large data elsewhere and leave a reference.';
    ELSIF pg_column_size(r.progress) >= 2000 AND (octet_length(r.progress::text) > 1048576 OR rowrun.too_deep(r.progress)) THEN
        RAISE EXCEPTION 'progress of a run is at most 1 MiB and 1,000 levels' USING ERRCODE = 'check_violation', HINT = 'Report less.';
    ELSIF r.run_at < timestamptz '1900-01-01 00:00+00' OR r.run_at >= timestamptz '9999-01-01 00:00+00' THEN
        RAISE EXCEPTION 'run_at lies between the years 1900 and 9999' USING ERRCODE = 'check_violation', HINT = 'For "now" leave it out.';
    ELSIF r.idempotency_key = '' OR octet_length(r.idempotency_key) > 500 THEN
        RAISE EXCEPTION 'idempotency_key has 1 to 500 bytes' USING ERRCODE = 'check_violation', HINT = 'For none use NULL.';
    ELSIF octet_length(r.cancel_reason) > 10000 THEN
        RAISE EXCEPTION 'cancel_reason has at most 10,000 bytes' USING ERRCODE = 'check_violation', HINT = 'Shorten it.';
    ELSIF octet_length(r.replica_id) > 100 THEN
        RAISE EXCEPTION 'replica_id has at most 100 bytes' USING ERRCODE = 'check_violation', HINT = 'Name a replica of rowrun.replica_heartbeat.';
    ELSIF least(r.created_at, r.available_at, r.started_at, r.finished_at, r.updated_at, r.deadline, r.cancel_requested_at,
                r.progress_at, r.tick, r.missed_at, r.judge_at) < timestamptz '1900-01-01 00:00+00'
          OR greatest(r.created_at, r.available_at, r.started_at, r.finished_at, r.updated_at, r.deadline, r.cancel_requested_at,
                      r.progress_at, r.tick, r.missed_at, r.judge_at) >= timestamptz '9999-12-31 00:00+00'
    THEN
        RAISE EXCEPTION 'times of a run lie between the years 1900 and 9999' USING ERRCODE = 'check_violation', HINT = 'For "now" use now().';
    END IF;
END $$;


--
-- Name: FUNCTION task_run_bounds(r rowrun.task_run); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_run_bounds(r rowrun.task_run) IS 'Internal: refuses what is too large or out of range.';


--
-- Name: task_run_deleted(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_run_deleted() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    reopened boolean := false;
    counts_as text;
BEGIN
    IF OLD.plan_id IS NOT NULL THEN
        -- The last ended run goes, or a successor that waits: the run that it followed has now failed for good, in the
        -- round that is current. Without one, the times that remain are the best witness of what came before, and a
        -- failure that counts again has been counted in its own round.
        UPDATE rowrun.task t SET (outcome, outcome_run_id, outcome_round) = (
            SELECT r.status, r.id,
                   CASE WHEN r.status <> 'FAILED' THEN NULL
                        WHEN r.id = OLD.retry_of THEN (SELECT p.round FROM rowrun.plan p WHERE p.id = OLD.plan_id)
                        ELSE r.round END
            FROM rowrun.task_run r
            WHERE r.task_id = OLD.task_id AND r.plan_id IS NOT NULL AND coalesce(r.retry_run_id, OLD.id) = OLD.id
              AND r.status IN ('DONE', 'FAILED', 'CANCELED')
            ORDER BY r.id = OLD.retry_of DESC, r.finished_at DESC, r.id DESC LIMIT 1)
        WHERE t.id = OLD.task_id
          AND CASE WHEN OLD.status = 'PENDING' THEN EXISTS (SELECT FROM rowrun.task_run p WHERE p.id = OLD.retry_of)
                   ELSE coalesce(t.outcome_run_id, OLD.id) = OLD.id END
        RETURNING t.outcome INTO counts_as;
        reopened := FOUND;
        IF counts_as = 'FAILED' THEN
            PERFORM rowrun.mark_stopped(ARRAY[OLD.plan_id]);
        END IF;
    END IF;
    IF OLD.retry_of IS NOT NULL THEN
        UPDATE rowrun.task_run SET retry_run_id = NULL WHERE id = OLD.retry_of AND retry_run_id = OLD.id;
    END IF;
    IF OLD.status = 'PENDING' THEN
        reopened := true;
        IF OLD.database_id IS NOT NULL THEN
            INSERT INTO rowrun.gate_mark (kind, database_id) VALUES ('DATABASE', OLD.database_id);
        END IF;
    END IF;
    IF reopened THEN
        IF OLD.plan_id IS NOT NULL THEN -- its task may count as done again
            INSERT INTO rowrun.gate_mark (kind, task_id, plan_id) VALUES ('DEPENDENCY', OLD.task_id, NULL), ('PLAN', NULL, OLD.plan_id);
        END IF;
        PERFORM rowrun.notify_look();
    END IF;
    RETURN NULL;
END $$;


--
-- Name: FUNCTION task_run_deleted(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_run_deleted() IS 'Trigger: what a deleted run leaves behind.';


--
-- Name: task_run_edited(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_run_edited() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    IF NEW.status = OLD.status THEN -- asked here, because the clause is parsed anew for each statement
        RETURN NULL;
    END IF;
    IF NOT (NEW.created_at = now() AND is_quiet()) THEN -- nobody else has seen what this transaction inserted
        PERFORM announce(CASE WHEN OLD.cause = 'UNTOLD' AND OLD.status = 'AVAILABLE' THEN ARRAY[arrival(NEW), transition(NEW)]
                              ELSE ARRAY[transition(NEW)] END);
    END IF;
    IF NEW.status = 'AVAILABLE' AND NEW.round > 1 THEN -- the promote pass begins the round before it gets here
        INSERT INTO gate_mark (kind, plan_id, round, by_run)
        SELECT 'PLAN', p.id, NEW.round, true FROM plan p WHERE p.id = NEW.plan_id AND NEW.round > p.round;
    END IF;
    IF (NEW.plan_id IS NOT NULL OR NEW.database_id IS NOT NULL) AND NEW.status IN ('DONE', 'FAILED', 'CANCELED') THEN
        PERFORM mark_ended(ARRAY[NEW.id], true);
    END IF;
    IF NEW.status = 'FAILED' AND NEW.plan_id IS NULL THEN
        PERFORM announce_failures(ARRAY[NEW.id]);
    END IF;
    IF NEW.tick IS NOT NULL AND NEW.status IN ('DONE', 'FAILED', 'CANCELED') THEN
        PERFORM schedule_after(ARRAY[NEW.id]);
    END IF;
    RETURN NULL;
END $$;


--
-- Name: FUNCTION task_run_edited(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_run_edited() IS 'Trigger: announces an edge written by hand; marks what it may open.';


--
-- Name: task_run_fill(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_run_fill() RETURNS trigger
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    at timestamptz := clock_timestamp(); -- before the task is read, whose pause is younger then where it isn't seen
    t record;
    current_round integer;
    depends boolean;
    marked boolean;
BEGIN
    SELECT k.type, k.queue, k.database_id, k.version, k.version_key, k.sequential, k.priority, k.plan_id,
           nullif(k.retention IS NOT NULL OR k.retention_by_status IS NOT NULL, false) AS own_retention, k.paused OR k.skipped AS stopped
    INTO t FROM rowrun.task k WHERE k.id = NEW.task_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'task % does not exist', coalesce(NEW.task_id::text, 'NULL')
            USING ERRCODE = 'foreign_key_violation', HINT = 'Insert the task first, or look for its id in rowrun.task.';
    END IF;
    IF NEW.status <> 'PENDING' THEN
        RAISE EXCEPTION 'a run is inserted as PENDING, not as %', NEW.status USING ERRCODE = 'RR003', HINT = 'Leave status out.';
    END IF;
    NEW.id := coalesce(NEW.id, nextval('rowrun.task_run_id_seq'));
    IF NEW.id IS DISTINCT FROM pg_sequence_last_value('rowrun.task_run_id_seq') THEN -- given, or another session has drawn one since
        PERFORM rowrun.check_id(NEW.id, 'rowrun.task_run_id_seq');
        IF EXISTS (SELECT FROM rowrun.task_run c WHERE c.root_id = NEW.id AND c.attempt > 0 AND c.retry_run_id IS NULL)
           AND NOT rowrun.is_owner()
        THEN
            RAISE EXCEPTION 'id % is that of a chain of retries whose first run is gone', NEW.id
                USING ERRCODE = 'RR003', HINT = 'Leave id out.';
        END IF;
    END IF;
    NEW.status := 'PENDING';
    NEW.run_at := coalesce(NEW.run_at, now());
    NEW.input := coalesce(NEW.input, '{}');
    NEW.priority := coalesce(NEW.priority, t.priority);
    NEW.plan_id := t.plan_id;
    NEW.type := t.type;
    NEW.queue := t.queue;
    NEW.database_id := t.database_id;
    NEW.version := t.version;
    NEW.version_key := t.version_key;
    NEW.sequential := t.sequential;
    NEW.own_retention := t.own_retention;
    NEW.created_at := now();
    NEW.updated_at := now();
    NEW.result := '{}';
    IF NEW.retry_of IS NOT NULL THEN -- asked by itself: a query in the condition below would be one for each INSERT
        IF NOT rowrun.is_trusted() OR NOT EXISTS (SELECT FROM rowrun.task_run p WHERE p.id = NEW.retry_of AND p.retry_run_id = NEW.id) THEN
            NEW.retry_of := NULL;
        END IF;
    END IF;
    IF NEW.retry_of IS NULL THEN
        NEW.attempt := 0;
        NEW.root_id := NEW.id;
        NEW.creator := current_user;
        NEW.failures := 0;
        NEW.recoveries := 0;
        NEW.round := NULL;
        IF NEW.tick IS NOT NULL AND NOT rowrun.is_scheduling() THEN
            NEW.tick := NULL;
        END IF;
    END IF;
    -- What is a handler's run follows from who inserts it: a key or a setting could be anybody's.
    IF NEW.handles IS NOT NULL AND NOT rowrun.is_trusted() THEN
        NEW.handles := NULL;
    END IF;
    NEW.missed_at := CASE WHEN NEW.tick IS NOT NULL THEN NEW.missed_at END;
    IF t.plan_id IS NULL THEN
        NEW.round := NULL;
    ELSE
        -- One look at all that its plan says. The round is the current one, or the next where that has its event; an automatic
        -- retry says its predecessor's. A transaction leaves one mark: it has left it where the plan's newest PENDING run is
        -- its own, too. That run is found in an index alone: with old statistics a sort of another one would look cheaper.
        SELECT least(p.round, 2147483646) + (p.announced_round >= p.round)::int,
               EXISTS (SELECT FROM rowrun.task_dependency d WHERE d.task_id = NEW.task_id),
               (SELECT m.created_at = now() AND m.cause IS NOT DISTINCT FROM 'PLAN' FROM rowrun.task_run m
                WHERE m.id = (SELECT u.id FROM rowrun.task_run u
                              WHERE u.plan_id = t.plan_id AND u.status = 'PENDING' ORDER BY u.id DESC LIMIT 1))
        INTO current_round, depends, marked FROM rowrun.plan p WHERE p.id = t.plan_id;
        NEW.round := coalesce(NEW.round, current_round);
    END IF;
    IF NOT (ROW(NEW.available_at, NEW.started_at, NEW.finished_at, NEW.deadline, NEW.cancel_requested_at, NEW.cancel_reason,
                NEW.progress, NEW.progress_at, NEW.replica_id, NEW.claim_hash, NEW.prev_status, NEW.edited_directly, NEW.retry_run_id) IS NULL)
    THEN
        NEW := rowrun.unstarted(NEW);
    END IF;
    IF pg_column_size(NEW.input) >= 2000 OR jsonb_typeof(NEW.input) <> 'object' OR NEW.idempotency_key IS NOT NULL
       OR NEW.run_at < timestamptz '1900-01-01 00:00+00' OR NEW.run_at >= timestamptz '9999-01-01 00:00+00'
    THEN
        PERFORM rowrun.task_run_bounds(NEW);
    END IF;
    IF t.type IN ('SQL', 'DATABASE_MIGRATE', 'COMMAND') AND NEW.input ?| '{sql,transaction,command}' THEN
        RAISE EXCEPTION 'input of a % task may not name sql, transaction or command', t.type
            USING ERRCODE = 'RR003', HINT = 'They belong to the task''s payload.';
    END IF;
    -- Nothing holds a run without plan and database that is due: it needs no pass, and no further version of its row. That
    -- it is AVAILABLE is announced with what becomes of it next. The run of a tick may be missed, and goes with its schedule.
    IF t.plan_id IS NULL AND t.database_id IS NULL AND NEW.run_at <= at AND NOT t.stopped AND NEW.tick IS NULL THEN
        NEW.status := 'AVAILABLE';
        NEW.available_at := at;
        NEW.cause := 'UNTOLD';
        NEW.judge_at := NULL;
    ELSIF t.plan_id IS NOT NULL AND t.database_id IS NULL AND NEW.run_at <= at AND NOT depends THEN
        -- Most likely only its plan holds it, which the pass looks at; the other gates are asked when its turn comes.
        NEW.cause := 'PLAN';
        NEW.judge_at := NULL;
        IF marked IS NOT TRUE THEN
            PERFORM rowrun.mark_ready(t.plan_id);
        END IF;
    ELSE
        -- A run of a plan is looked at at once even where it isn't due yet: a retry ends what its failure held back.
        NEW.cause := NULL;
        NEW.judge_at := CASE WHEN t.plan_id IS NULL THEN NEW.run_at ELSE least(NEW.run_at, now()) END;
        IF t.database_id IS NOT NULL AND NEW.tick IS NULL AND NEW.run_at <= at THEN
            IF rowrun.is_blocked_at_insert(NEW, at, t.stopped) THEN
                NEW.cause := 'DATABASE';
                NEW.judge_at := NULL;
            END IF;
        END IF;
    END IF;
    RETURN NEW;
END $$;


--
-- Name: FUNCTION task_run_fill(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_run_fill() IS 'Trigger: fills a new run from its task.';


--
-- Name: task_run_fixed(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_run_fixed() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    IF (NEW.id, NEW.task_id, NEW.root_id, NEW.retry_of, NEW.attempt, NEW.created_at, NEW.plan_id, NEW.type, NEW.queue,
        NEW.database_id, NEW.version, NEW.version_key, NEW.sequential, NEW.idempotency_key, NEW.round, NEW.creator, NEW.failures,
        NEW.recoveries, NEW.own_retention, NEW.handles)
       IS DISTINCT FROM
       (OLD.id, OLD.task_id, OLD.root_id, OLD.retry_of, OLD.attempt, OLD.created_at, OLD.plan_id, OLD.type, OLD.queue,
        OLD.database_id, OLD.version, OLD.version_key, OLD.sequential, OLD.idempotency_key, OLD.round, OLD.creator, OLD.failures,
        OLD.recoveries, OLD.own_retention, OLD.handles)
    THEN
        RAISE EXCEPTION 'run %: what it is does not change; only run_at, priority and input do until it is claimed', OLD.id
            USING ERRCODE = 'RR003', HINT = 'Cancel the run and insert another one.';
    END IF;
    IF (NEW.tick, NEW.missed_at) IS DISTINCT FROM (OLD.tick, OLD.missed_at) AND NOT rowrun.is_scheduling() THEN
        RAISE EXCEPTION 'run %: its tick is its schedule''s to say', OLD.id
            USING ERRCODE = 'RR003', HINT = 'Change run_at, or the schedule of the task.';
    END IF;
    NEW.run_at := coalesce(NEW.run_at, now());
    NEW.input := coalesce(NEW.input, '{}');
    NEW.priority := coalesce(NEW.priority, (SELECT k.priority FROM rowrun.task k WHERE k.id = OLD.task_id));
    IF (NEW.run_at, NEW.priority, NEW.input) IS DISTINCT FROM (OLD.run_at, OLD.priority, OLD.input) THEN
        -- What has been claimed has its input; a run that is AVAILABLE was due, and stays so.
        IF OLD.status <> 'PENDING' AND (OLD.status <> 'AVAILABLE' OR NEW.run_at <> OLD.run_at) THEN
            RAISE EXCEPTION 'run % is %: run_at changes while it is PENDING, priority and input until it is claimed', OLD.id, OLD.status
                USING ERRCODE = 'RR003', HINT = 'Cancel the run and insert another one.';
        END IF;
        PERFORM rowrun.task_run_bounds(NEW);
        IF OLD.type IN ('SQL', 'DATABASE_MIGRATE', 'COMMAND') AND NEW.input ?| '{sql,transaction,command}' THEN
            RAISE EXCEPTION 'input of a % task may not name sql, transaction or command', OLD.type
                USING ERRCODE = 'RR003', HINT = 'They belong to the task''s payload.';
        END IF;
    END IF;
    RETURN NEW;
END $$;


--
-- Name: FUNCTION task_run_fixed(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_run_fixed() IS 'Trigger: what a run is stays; what users may change of it, and how long.';


--
-- Name: task_run_guard(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_run_guard() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    t timestamptz := clock_timestamp();
    ended boolean;
BEGIN
    NEW.result := coalesce(NEW.result, '{}');
    PERFORM rowrun.task_run_bounds(NEW);
    IF (NEW.run_at, NEW.priority) IS DISTINCT FROM (OLD.run_at, OLD.priority) THEN
        IF NEW.missed_at = OLD.missed_at THEN -- somebody put it off or brought it forward
            NEW.missed_at := OLD.missed_at + (NEW.run_at - OLD.run_at);
        END IF;
        IF NEW.status = 'PENDING' THEN
            PERFORM rowrun.mark_edited(NEW.database_id, NEW.run_at < OLD.run_at);
            NEW.cause := NULL;
            -- As at its INSERT: a run of a plan that is put off before its first look may still end what a failure held back.
            NEW.judge_at := CASE WHEN NEW.plan_id IS NULL THEN NEW.run_at ELSE least(NEW.run_at, t) END;
        END IF;
    END IF;

    IF (NEW.cancel_requested_at, NEW.cancel_reason) IS DISTINCT FROM (OLD.cancel_requested_at, OLD.cancel_reason) THEN
        IF OLD.status IN ('DONE', 'FAILED', 'CANCELED') THEN
            RAISE EXCEPTION 'run % is %: there is nothing to cancel any more', OLD.id, OLD.status
                USING ERRCODE = 'RR004', HINT = 'What followed it is canceled by rowrun.cancel_run.';
        ELSIF OLD.cancel_requested_at IS NOT NULL THEN
            RAISE EXCEPTION 'run %: a cancel that was asked for stays', OLD.id
                USING ERRCODE = 'RR003', HINT = 'When it has ended, rowrun.retry_run makes a successor.';
        ELSIF NEW.cancel_requested_at IS NOT NULL THEN
            NEW.cancel_requested_at := t; -- whatever moment was given
        END IF;
    END IF;

    -- A cancel that was asked for needs nobody's help but for a run that a replica executes.
    IF NEW.status = OLD.status AND NEW.cancel_requested_at IS NOT NULL AND OLD.cancel_requested_at IS NULL
       AND (OLD.status IN ('PENDING', 'AVAILABLE') OR OLD.status = 'RUNNING' AND NEW.replica_id IS NULL)
    THEN
        NEW.status := 'CANCELED';
    END IF;

    IF NEW.status = OLD.status THEN
        IF NEW.cancel_requested_at IS NOT NULL AND OLD.cancel_requested_at IS NULL THEN
            PERFORM rowrun.mark_edited(NULL, true);
        END IF;
        NEW.prev_status := NULL;
        NEW.updated_at := OLD.updated_at;
        RETURN NEW;
    END IF;

    ended := NEW.status IN ('DONE', 'FAILED', 'CANCELED');
    IF NOT (OLD.status = 'PENDING' AND NEW.status IN ('AVAILABLE', 'CANCELED')
            OR OLD.status = 'AVAILABLE' AND NEW.status IN ('RUNNING', 'CANCELED')
            OR OLD.status = 'RUNNING' AND ended)
    THEN
        RAISE EXCEPTION 'run % can''t go from % to %', OLD.id, OLD.status, NEW.status
            USING ERRCODE = 'RR001',
                  HINT = 'PENDING -> AVAILABLE -> RUNNING -> DONE, FAILED or CANCELED; to run it again use rowrun.retry_run or insert a run.';
    END IF;
    NEW.prev_status := OLD.status;
    NEW.edited_directly := true;
    NEW.cause := NULL;
    NEW.judge_at := NULL;
    NEW.updated_at := t;
    IF NEW.status = 'AVAILABLE' THEN
        NEW.available_at := coalesce(NEW.available_at, t);
    ELSIF NEW.status = 'RUNNING' THEN
        IF NEW.replica_id IS NULL THEN
            RAISE EXCEPTION 'run % can''t be RUNNING without a replica', OLD.id
                USING ERRCODE = 'RR003', HINT = 'Set replica_id too.';
        END IF;
        NEW.started_at := coalesce(NEW.started_at, t);
        IF NEW.claim_hash IS NULL AND NEW.deadline IS NULL THEN
            NEW.deadline := (SELECT NEW.started_at + k.timeout FROM rowrun.task k
                             WHERE k.id = NEW.task_id AND k.timeout > interval '0');
        END IF;
    ELSE
        NEW.finished_at := coalesce(NEW.finished_at, t);
        NEW.claim_hash := CASE WHEN NEW.status = 'CANCELED' THEN OLD.claim_hash END;
        IF NEW.status = 'CANCELED' AND NOT NEW.result ? 'code' THEN
            NEW.result := NEW.result || jsonb_build_object('code', 'CANCELED', 'detail',
                'Task run canceled' || coalesce(': ' || NEW.cancel_reason, ''));
        ELSIF NEW.status = 'FAILED' AND NOT NEW.result ? 'code' THEN
            NEW.result := '{"detail": "Task run marked as failed by hand"}' || NEW.result || '{"code": "ERROR"}';
        END IF;
    END IF;
    RETURN NEW;
END $$;


--
-- Name: FUNCTION task_run_guard(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_run_guard() IS 'Trigger: the state machine; completes what is written by hand.';


--
-- Name: task_run_inserted(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_run_inserted() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
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


--
-- Name: FUNCTION task_run_inserted(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_run_inserted() IS 'Trigger, at commit: a new run says "look".';


--
-- Name: task_run_keep(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_run_keep() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    RAISE EXCEPTION 'run % is %: it can''t be deleted, nor its task or plan', OLD.id, OLD.status
        USING ERRCODE = 'RR006', HINT = 'Cancel it and wait for its end.';
END $$;


--
-- Name: FUNCTION task_run_keep(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_run_keep() IS 'Trigger: runs that are AVAILABLE or RUNNING stay.';


--
-- Name: task_schedule_fill(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_schedule_fill() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $_$
DECLARE
    resumed boolean := TG_OP = 'UPDATE' AND OLD.paused AND NOT NEW.paused AND OLD.schedule_error IS NOT NULL;
    changed boolean := TG_OP = 'INSERT';
BEGIN
    NEW.time_zone := coalesce(NEW.time_zone, 'UTC');
    NEW.misfire := coalesce(NEW.misfire, 'SKIP');
    NEW.overlap := coalesce(NEW.overlap, 'SKIP');
    IF TG_OP = 'INSERT' THEN
        NEW.schedule_error := NULL;
    ELSE
        changed := (NEW.schedule, NEW.time_zone, NEW.starts_at) IS DISTINCT FROM (OLD.schedule, OLD.time_zone, OLD.starts_at);
    END IF;
    IF NOT (changed OR resumed) THEN
        RETURN NEW;
    END IF;
    NEW.scheduled_at := clock_timestamp();
    NEW.schedule_error := NULL;
    NEW.schedule_parts := rowrun.parse_schedule(NEW.schedule);
    IF NEW.schedule IS NULL THEN
        RETURN NEW;
    ELSIF NEW.plan_id IS NOT NULL THEN
        RAISE EXCEPTION 'schedule: a task of a plan has none' USING ERRCODE = 'RR003', HINT = 'Leave plan_id out; the scheduled task may insert a plan''s runs.';
    END IF;
    -- Without a digit it is no POSIX rule, and with a slash no abbreviation; the list of all zones is slow to read.
    IF NEW.time_zone <> 'UTC'
       AND NOT (CASE WHEN NEW.time_zone ~ '^[A-Za-z_]+(/[A-Za-z_]+)+$' THEN rowrun.known_zone(NEW.time_zone)
                     ELSE EXISTS (SELECT FROM pg_catalog.pg_timezone_names z WHERE lower(z.name) = lower(NEW.time_zone)) END)
    THEN
        RAISE EXCEPTION 'time_zone: "%" is not known to this server', NEW.time_zone
            USING ERRCODE = 'RR003', HINT = 'An IANA name such as Europe/London; SELECT name FROM pg_timezone_names lists them.';
    END IF;
    IF cardinality(NEW.schedule_parts) = 7
       AND rowrun.tick_after(NEW.schedule_parts, NEW.time_zone, NEW.scheduled_at, NULL) IS NULL
    THEN
        RAISE EXCEPTION 'schedule: the date of "%" never comes', NEW.schedule
            USING ERRCODE = 'RR003', HINT = 'Look at day of month and month: there is no 30 February.';
    END IF;
    RETURN NEW;
END $_$;


--
-- Name: FUNCTION task_schedule_fill(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_schedule_fill() IS 'Trigger: reads a task''s schedule, refuses what can''t be followed.';


--
-- Name: task_scheduled(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.task_scheduled() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    nothing rowrun.task_run;
    coming timestamptz;
BEGIN
    IF TG_OP = 'INSERT' THEN
        coming := tick_that_follows(NEW, nothing, clock_timestamp());
        IF coming IS NOT NULL THEN
            PERFORM set_config('rowrun.scheduling', 'on', true);
            INSERT INTO task_run (id, task_id, tick, run_at, missed_at) VALUES (next_run_id(), NEW.id, coming, coming, missed_at(NEW, coming));
            PERFORM set_config('rowrun.scheduling', 'off', true);
        END IF;
    ELSE
        PERFORM schedule_task(NEW.id,
            NEW.scheduled_at IS DISTINCT FROM OLD.scheduled_at,
            (NEW.type, NEW.queue, NEW.database_id, NEW.version, NEW.sequential, NEW.priority)
                IS DISTINCT FROM (OLD.type, OLD.queue, OLD.database_id, OLD.version, OLD.sequential, OLD.priority));
    END IF;
    RETURN NULL;
END $$;


--
-- Name: FUNCTION task_scheduled(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.task_scheduled() IS 'Trigger: the waiting run follows its task''s schedule.';


--
-- Name: tasks_ahead(bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.tasks_ahead(task_id bigint) RETURNS TABLE(total bigint, first_id bigint, ids jsonb)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT count(*) AS count,
     min(d.depends_on_id) AS min,
     to_jsonb((array_agg(d.depends_on_id ORDER BY d.depends_on_id))[1:100]) AS to_jsonb
    FROM ( SELECT u.depends_on_id
            FROM rowrun.unmet_dependency u
           WHERE (u.task_id = tasks_ahead.task_id)
           ORDER BY u.task_id, u.depends_on_id
          LIMIT 101) d;
END;


--
-- Name: FUNCTION tasks_ahead(task_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.tasks_ahead(task_id bigint) IS 'Internal: the tasks that a task waits for, the first hundred.';


--
-- Name: teams_text(text, jsonb); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.teams_text(said text, looks jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    RETURN jsonb_build_object('type', 'RichTextBlock', 'inlines', jsonb_build_array((looks || jsonb_build_object('type', 'TextRun', 'text', replace(said, '{{'::text, '{ {'::text)))));


--
-- Name: FUNCTION teams_text(said text, looks jsonb); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.teams_text(said text, looks jsonb) IS 'Internal: a text of a card.';


--
-- Name: teams_body(text, text, text[], text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.teams_body(title text, subject text, lines text[], link text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    RETURN (jsonb_build_object('type', 'message', 'attachments', jsonb_build_array(jsonb_build_object('contentType', 'application/vnd.microsoft.card.adaptive', 'contentUrl', NULL::unknown, 'content', (jsonb_build_object('$schema', 'http://adaptivecards.io/schemas/adaptive-card.json', 'type', 'AdaptiveCard', 'version', '1.4', 'body', ((jsonb_build_array(rowrun.teams_text(title, '{"size": "Medium", "weight": "Bolder"}'::jsonb)) || CASE subject WHEN ''::text THEN '[]'::jsonb ELSE jsonb_build_array(rowrun.teams_text(subject, '{"isSubtle": true}'::jsonb)) END) || COALESCE((SELECT jsonb_agg(rowrun.teams_text(x.l, '{}'::jsonb) ORDER BY x.n) AS jsonb_agg FROM unnest(teams_body.lines) WITH ORDINALITY x(l, n) WHERE (x.l <> ''::text)), '[]'::jsonb))) || CASE WHEN (link IS NULL) THEN '{}'::jsonb ELSE jsonb_build_object('actions', jsonb_build_array(jsonb_build_object('type', 'Action.OpenUrl', 'title', 'Open in Rowrun', 'url', link))) END)))))::text;


--
-- Name: FUNCTION teams_body(title text, subject text, lines text[], link text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.teams_body(title text, subject text, lines text[], link text) IS 'Internal: a message for Teams.';


--
-- Name: tick_that_follows(rowrun.task, rowrun.task_run, timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.tick_that_follows(k rowrun.task, run rowrun.task_run, that timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    -- One tick of @every, @after and cron in one way: what begins later has its first tick then.
    grid CONSTANT timestamptz := coalesce(k.starts_at, k.created_at);
    floor CONSTANT timestamptz := greatest(k.scheduled_at, k.starts_at - interval '1 us');
    begun CONSTANT timestamptz := coalesce(run.started_at, that);
    coming timestamptz;
BEGIN
    IF k.schedule IS NULL OR cardinality(k.schedule_parts) = 0 OR k.skipped OR k.schedule_error IS NOT NULL OR k.plan_id IS NOT NULL THEN
        RETURN NULL;
    ELSIF cardinality(k.schedule_parts) = 2 THEN
        coming := CASE WHEN k.starts_at > that THEN k.starts_at ELSE rowrun.tick_after(k.schedule_parts, k.time_zone, that, NULL) END;
    ELSE
        coming := rowrun.tick_after(k.schedule_parts, k.time_zone, greatest(coalesce(run.tick, that), floor), grid);
        IF coming <= that AND NOT (coming <= run.run_at AND (k.misfire = 'ALL' OR k.overlap = 'QUEUE')) THEN
            IF coming <= begun AND k.misfire <> 'ALL' THEN
                coming := rowrun.tick_after(k.schedule_parts, k.time_zone, greatest(begun, floor), grid);
            END IF;
            IF coming <= that AND NOT (coming <= begun OR k.overlap = 'QUEUE') THEN
                coming := rowrun.tick_after(k.schedule_parts, k.time_zone, that, grid);
            END IF;
        END IF;
    END IF;
    -- One that was brought forward by hand has been run.
    WHILE coming > that AND EXISTS (SELECT FROM rowrun.task_run r WHERE r.task_id = k.id AND r.tick = coming
                                  AND r.tick IS NOT NULL AND r.attempt = 0 AND r.status <> 'CANCELED' AND r.status <> 'PENDING') LOOP
        coming := rowrun.tick_after(k.schedule_parts, k.time_zone, coming, grid);
    END LOOP;
    RETURN CASE WHEN coming <= coalesce(k.ends_at, 'infinity') AND coming < timestamptz '9999-01-01 00:00+00' THEN coming END;
END $$;


--
-- Name: FUNCTION tick_that_follows(k rowrun.task, run rowrun.task_run, that timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.tick_that_follows(k rowrun.task, run rowrun.task_run, that timestamp with time zone) IS 'Internal: the tick that follows a run.';


--
-- Name: transition(rowrun.task_run); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.transition(r rowrun.task_run) RETURNS text
    LANGUAGE sql STABLE
    RETURN (((((((((((((('{"run_id":'::text || (r).id) || ',"task_id":'::text) || (r).task_id) || ',"plan_id":'::text) || COALESCE(((r).plan_id)::text, 'null'::text)) || ',"from":"'::text) || (r).prev_status) || '","to":"'::text) || (r).status) || '","attempt":'::text) || (r).attempt) || ',"replica_id":'::text) || COALESCE((to_json((r).replica_id))::text, 'null'::text)) || '}'::text);


--
-- Name: FUNCTION transition(r rowrun.task_run); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.transition(r rowrun.task_run) IS 'Internal: the last edge of a run as it is notified.';


--
-- Name: unskip_task(bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.unskip_task(task_id bigint) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$ SELECT rowrun.set_skipped(task_id, false, NULL) $$;


--
-- Name: FUNCTION unskip_task(task_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.unskip_task(task_id bigint) IS 'The task is as its last run left it.';


--
-- Name: unstarted(rowrun.task_run); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.unstarted(r rowrun.task_run) RETURNS rowrun.task_run
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    r.available_at := NULL;
    r.started_at := NULL;
    r.finished_at := NULL;
    r.deadline := NULL;
    r.cancel_requested_at := NULL;
    r.cancel_reason := NULL;
    r.progress := NULL;
    r.progress_at := NULL;
    r.replica_id := NULL;
    r.claim_hash := NULL;
    r.prev_status := NULL;
    r.edited_directly := NULL;
    r.retry_run_id := NULL;
    RETURN r;
END $$;


--
-- Name: FUNCTION unstarted(r rowrun.task_run); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.unstarted(r rowrun.task_run) IS 'Internal: a new run without what only its later life may say.';


--
-- Name: utc_offset(text, timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.utc_offset(zone text, at timestamp with time zone) RETURNS interval
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN ((at AT TIME ZONE zone) - (at AT TIME ZONE 'UTC'::text));


--
-- Name: FUNCTION utc_offset(zone text, at timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.utc_offset(zone text, at timestamp with time zone) IS 'Internal: how far a zone''s clock is ahead of UTC.';


--
-- Name: verdicts_on(bigint[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.verdicts_on(run_ids bigint[], OUT ids bigint[], OUT causes text[], OUT open_ids bigint[], OUT exclusive boolean, OUT crowded_out text[], OUT fresh text[], OUT freed text[], OUT t timestamp with time zone) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    locked bigint[];
    plans bigint[];
    last_mark bigint;
    of_plans boolean;
    late bigint[];
BEGIN
    -- Rows that a user holds are left for later.
    SELECT coalesce(array_agg(r.id), '{}'), array_agg(DISTINCT r.plan_id) FILTER (WHERE r.plan_id IS NOT NULL)
    INTO locked, plans
    FROM (SELECT r.id, r.plan_id FROM task_run r WHERE r.id = ANY (run_ids) AND coalesce(r.status, '') = 'PENDING'
          ORDER BY r.id FOR NO KEY UPDATE SKIP LOCKED) r;
    IF cardinality(locked) < cardinality(run_ids) THEN
        INSERT INTO gate_mark (kind, run_id)
        SELECT DISTINCT 'RUN', c.id FROM unnest(run_ids) c(id)
        WHERE c.id <> ALL (locked)
          AND EXISTS (SELECT FROM task_run r WHERE r.id = c.id AND coalesce(r.status, '') = 'PENDING' AND r.judge_at IS NULL);
    END IF;

    -- Their moment is one before the next statement's snapshot, so that whatever gate was closed by then is seen closed; and
    -- not before an end that the snapshot sees. An end after t leaves its mark behind the last one now.
    last_mark := coalesce(pg_sequence_last_value('rowrun.gate_mark_id_seq'), 0);
    t := clock_timestamp();
    SELECT array_agg(v.id), array_agg(v.cause), coalesce(array_agg(v.id) FILTER (WHERE v.cause IS NULL), '{}'),
           bool_or(v.cause IS NULL AND v.exclusive), bool_or(v.cause IS NULL AND v.plan_id IS NOT NULL),
           array_agg(DISTINCT v.database_id) FILTER (WHERE v.crowded_out AND v.database_id IS NOT NULL),
           array_agg(DISTINCT v.database_id) FILTER (WHERE v.fresh), array_agg(DISTINCT v.database_id) FILTER (WHERE v.freed),
           max(v.judged_at)
    INTO ids, causes, open_ids, exclusive, of_plans, crowded_out, fresh, freed, t
    FROM rowrun.judge(locked, plans, t, last_mark) v;

    IF of_plans THEN
        -- The first run of a round begins it, with the plan's row held; where somebody else holds that, it waits.
        late := rowrun.begin_rounds(open_ids, false);
        IF cardinality(late) > 0 THEN
            open_ids := ARRAY(SELECT o FROM unnest(open_ids) o WHERE o <> ALL (late));
            causes := ARRAY(SELECT CASE WHEN v.id = ANY (late) THEN 'PLAN' ELSE v.cause END
                           FROM unnest(ids, causes) WITH ORDINALITY v(id, cause, n) ORDER BY v.n);
            INSERT INTO gate_mark (kind, plan_id) SELECT DISTINCT 'PLAN', r.plan_id FROM task_run r WHERE r.id = ANY (late);
        END IF;
    END IF;
END $$;


--
-- Name: FUNCTION verdicts_on(run_ids bigint[], OUT ids bigint[], OUT causes text[], OUT open_ids bigint[], OUT exclusive boolean, OUT crowded_out text[], OUT fresh text[], OUT freed text[], OUT t timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.verdicts_on(run_ids bigint[], OUT ids bigint[], OUT causes text[], OUT open_ids bigint[], OUT exclusive boolean, OUT crowded_out text[], OUT fresh text[], OUT freed text[], OUT t timestamp with time zone) IS 'Internal: locks runs, judges them, and begins the rounds of those that go.';


--
-- Name: waiting_pages(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.waiting_pages() RETURNS TABLE(ids bigint[])
    LANGUAGE plpgsql STABLE ROWS 10
    SET jit TO 'off'
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    RETURN QUERY
    SELECT array_agg(r.id ORDER BY r.n)
    FROM (SELECT u.id, row_number() OVER (ORDER BY u.database_id, u.plan_id, u.type, u.queue, u.id) AS n
          FROM rowrun.task_run u WHERE u.status IN ('PENDING', 'AVAILABLE')) r
    GROUP BY (r.n - 1) / 1000;
END
$$;


--
-- Name: FUNCTION waiting_pages(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.waiting_pages() IS 'Internal: all runs that wait, a thousand at once.';


--
-- Name: waits_for(bigint[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.waits_for(ids bigint[]) RETURNS TABLE(run_id bigint, cause text, message text, detail jsonb)
    LANGUAGE plpgsql STABLE ROWS 10
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    t timestamptz := clock_timestamp();
    told bigint[] := '{}';
    untold bigint[];
BEGIN
    FOR run_id, cause, message, detail IN
        SELECT * FROM rowrun.waits_for_database(ids, t)
        UNION ALL SELECT * FROM rowrun.waits_for_plan(ids, t)
        UNION ALL SELECT * FROM rowrun.waits_for_replica(ids, t)
    LOOP
        told := told || run_id;
        RETURN NEXT;
    END LOOP;
    untold := ARRAY(SELECT unnest(ids) EXCEPT SELECT unnest(told));
    IF untold <> '{}' THEN
        RETURN QUERY SELECT * FROM rowrun.passed_by(untold, t);
    END IF;
END
$$;


--
-- Name: FUNCTION waits_for(ids bigint[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.waits_for(ids bigint[]) IS 'Internal: all causes that hold, of those of these runs that wait.';


--
-- Name: waiting(bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.waiting(run_id bigint DEFAULT NULL::bigint) RETURNS TABLE(run_id bigint, cause text, message text, detail jsonb)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT w.run_id,
     w.cause,
     w.message,
     w.detail
    FROM rowrun.waits_for(ARRAY[waiting.run_id]) w(run_id, cause, message, detail)
   WHERE (waiting.run_id IS NOT NULL)
 UNION ALL
  SELECT w.run_id,
     w.cause,
     w.message,
     w.detail
    FROM (rowrun.waiting_pages() p(ids)
      CROSS JOIN LATERAL rowrun.waits_for(p.ids) w(run_id, cause, message, detail))
   WHERE (waiting.run_id IS NULL);
END;


--
-- Name: FUNCTION waiting(run_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.waiting(run_id bigint) IS 'Why a run is not running: all causes that hold; NULL: of every run that waits.';


--
-- Name: waiting_for_mends(jsonb); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.waiting_for_mends(failures jsonb) RETURNS TABLE(id bigint)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT r.id
    FROM (jsonb_to_recordset(waiting_for_mends.failures) f(plan_id bigint, database_id text)
      JOIN rowrun.task_run r ON (((r.plan_id = f.plan_id) AND (r.database_id = f.database_id))))
   WHERE ((r.status = 'PENDING'::text) AND (r.cause = 'PLAN_FAILED'::text) AND (NOT (EXISTS ( SELECT
            FROM (rowrun.task x
              JOIN rowrun.plan p ON ((p.id = x.plan_id)))
           WHERE ((x.plan_id = r.plan_id) AND (x.database_id = r.database_id) AND (p.on_failure = 'STOP_DATABASE'::text) AND (x.version_key < r.version_key) AND (x.outcome = ANY (ARRAY['FAILED'::text, 'CANCELED'::text])) AND (NOT x.skipped))))))
  LIMIT 2000;
END;


--
-- Name: FUNCTION waiting_for_mends(failures jsonb); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.waiting_for_mends(failures jsonb) IS 'Internal: runs that a failed version held on these databases of plans, and none any more.';


--
-- Name: waiting_for_replicas(timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.waiting_for_replicas(t timestamp with time zone) RETURNS TABLE(id bigint)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 WITH RECURSIVE kinds AS (
         ( SELECT r_1.queue,
             r_1.type,
             COALESCE(r_1.database_id, ''::text) AS database_id,
             (r_1.database_id IS NULL) AS "none"
            FROM rowrun.task_run r_1
           WHERE ((r_1.status = 'PENDING'::text) AND (r_1.cause = 'NO_REPLICA'::text))
           ORDER BY r_1.queue, r_1.type, r_1.database_id
          LIMIT 1)
         UNION ALL
          SELECT n.queue,
             n.type,
             COALESCE(n.database_id, ''::text) AS "coalesce",
             (n.database_id IS NULL)
            FROM (kinds k_1
              CROSS JOIN LATERAL (( SELECT r_1.queue,
                     r_1.type,
                     r_1.database_id
                    FROM rowrun.task_run r_1
                   WHERE ((r_1.status = 'PENDING'::text) AND (r_1.cause = 'NO_REPLICA'::text) AND (NOT k_1."none") AND (r_1.queue = k_1.queue) AND (r_1.type = k_1.type) AND (r_1.database_id > k_1.database_id))
                   ORDER BY r_1.queue, r_1.type, r_1.database_id
                  LIMIT 1)
                 UNION ALL
                 ( SELECT r_1.queue,
                     r_1.type,
                     r_1.database_id
                    FROM rowrun.task_run r_1
                   WHERE ((r_1.status = 'PENDING'::text) AND (r_1.cause = 'NO_REPLICA'::text) AND (NOT k_1."none") AND (r_1.queue = k_1.queue) AND (r_1.type = k_1.type) AND (r_1.database_id IS NULL))
                   ORDER BY r_1.queue, r_1.type, r_1.database_id
                  LIMIT 1)
                 UNION ALL
                 ( SELECT r_1.queue,
                     r_1.type,
                     r_1.database_id
                    FROM rowrun.task_run r_1
                   WHERE ((r_1.status = 'PENDING'::text) AND (r_1.cause = 'NO_REPLICA'::text) AND (ROW(r_1.queue, r_1.type) > ROW(k_1.queue, k_1.type)))
                   ORDER BY r_1.queue, r_1.type, r_1.database_id
                  LIMIT 1)
          LIMIT 1) n)
         ), fitting AS MATERIALIZED (
          SELECT k_1.queue,
             k_1.type,
             k_1.database_id,
             k_1."none"
            FROM kinds k_1
           WHERE (EXISTS ( SELECT
                    FROM rowrun.replica_heartbeat h
                   WHERE rowrun.takes(h.*, waiting_for_replicas.t, k_1.queue, k_1.type,
                         CASE
                             WHEN (NOT k_1."none") THEN k_1.database_id
                             ELSE NULL::text
                         END, NULL::jsonb)))
         )
  SELECT r.id
    FROM ((fitting f
      CROSS JOIN LATERAL ( SELECT q.id,
             q.queue,
             q.type,
             q.database_id,
             q.task_id
            FROM rowrun.task_run q
           WHERE ((q.status = 'PENDING'::text) AND (q.cause = 'NO_REPLICA'::text) AND (q.queue = f.queue) AND (q.type = f.type) AND (NOT f."none") AND (q.database_id = f.database_id))
         UNION ALL
          SELECT q.id,
             q.queue,
             q.type,
             q.database_id,
             q.task_id
            FROM rowrun.task_run q
           WHERE ((q.status = 'PENDING'::text) AND (q.cause = 'NO_REPLICA'::text) AND (q.queue = f.queue) AND (q.type = f.type) AND f."none" AND (q.database_id IS NULL))) r)
      JOIN rowrun.task k ON ((k.id = r.task_id)))
   WHERE ((r.type <> 'COMMAND'::text) OR (EXISTS ( SELECT
            FROM rowrun.replica_heartbeat h
           WHERE rowrun.takes(h.*, waiting_for_replicas.t, r.queue, r.type, r.database_id, k.payload))))
  LIMIT 2000;
END;


--
-- Name: FUNCTION waiting_for_replicas(t timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.waiting_for_replicas(t timestamp with time zone) IS 'Internal: runs that no replica could take, and one can now.';


--
-- Name: waiting_for_tasks(bigint[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.waiting_for_tasks(task_ids bigint[]) RETURNS TABLE(id bigint)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT r.id
    FROM (( SELECT DISTINCT e.task_id
            FROM rowrun.task_dependency e
           WHERE (e.depends_on_id = ANY (waiting_for_tasks.task_ids))) w
      CROSS JOIN LATERAL ( SELECT u.id,
             u.cause
            FROM rowrun.task_run u
           WHERE ((u.task_id = w.task_id) AND (u.plan_id IS NOT NULL) AND (u.status = ANY (ARRAY['PENDING'::text, 'AVAILABLE'::text, 'RUNNING'::text])) AND (COALESCE(u.status, ''::text) = 'PENDING'::text))
          LIMIT 1) r)
   WHERE (((r.cause = 'DEPENDENCY'::text) OR (r.cause IS NULL)) AND (NOT (EXISTS ( SELECT
            FROM rowrun.unmet_dependency d
           WHERE (d.task_id = w.task_id)
          OFFSET 0))))
  LIMIT 2000;
END;


--
-- Name: FUNCTION waiting_for_tasks(task_ids bigint[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.waiting_for_tasks(task_ids bigint[]) IS 'Internal: runs that waited for these tasks, and for none any more.';


--
-- Name: waiting_of_plans(bigint[], bigint[], integer); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.waiting_of_plans(plan_ids bigint[], wide bigint[], most integer) RETURNS TABLE(id bigint)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT x.id
    FROM ((unnest(waiting_of_plans.plan_ids) p(id)
      CROSS JOIN LATERAL rowrun.plan_room(p.id) room(open, slots))
      CROSS JOIN LATERAL ( SELECT r.id
            FROM rowrun.task_run r
           WHERE ((r.plan_id = p.id) AND (r.status = 'PENDING'::text) AND (r.cause = 'PLAN'::text))
           ORDER BY r.priority DESC, r.run_at, r.id
          LIMIT
                 CASE
                     WHEN (p.id = ANY (waiting_of_plans.wide)) THEN (waiting_of_plans.most)::bigint
                     ELSE LEAST(room.slots, (waiting_of_plans.most)::bigint)
                 END) x)
   WHERE (room.open AND (room.slots > 0));
END;


--
-- Name: FUNCTION waiting_of_plans(plan_ids bigint[], wide bigint[], most integer); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.waiting_of_plans(plan_ids bigint[], wide bigint[], most integer) IS 'Internal: runs for which their plans have room.';


--
-- Name: waiting_of_tasks(bigint[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.waiting_of_tasks(task_ids bigint[]) RETURNS TABLE(id bigint)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT u.id
    FROM (unnest(waiting_of_tasks.task_ids) w(task_id)
      CROSS JOIN LATERAL ( SELECT x.id,
             x.status
            FROM rowrun.task_run x
           WHERE ((x.task_id = w.task_id) AND (x.plan_id IS NOT NULL) AND (x.status = ANY (ARRAY['PENDING'::text, 'AVAILABLE'::text, 'RUNNING'::text])))
          LIMIT 1) u)
   WHERE (COALESCE(u.status, ''::text) = 'PENDING'::text);
END;


--
-- Name: FUNCTION waiting_of_tasks(task_ids bigint[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.waiting_of_tasks(task_ids bigint[]) IS 'Internal: the PENDING runs of tasks of plans.';


--
-- Name: waiting_on_databases(text[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.waiting_on_databases(databases text[]) RETURNS TABLE(id bigint, database_id text, n bigint)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT c.id,
     c.database_id,
     c.n
    FROM ((( SELECT d_1.database_id
            FROM unnest(waiting_on_databases.databases) d_1(database_id)
           WHERE (NOT (EXISTS ( SELECT
                    FROM rowrun.task_run a
                   WHERE ((a.database_id = d_1.database_id) AND a.sequential AND (a.status = ANY (ARRAY['AVAILABLE'::text, 'RUNNING'::text]))))))
          OFFSET 0) d
      CROSS JOIN LATERAL rowrun.smallest_version(d.database_id) m(version_key))
      CROSS JOIN LATERAL ( SELECT x.id,
             d.database_id,
             row_number() OVER () AS n,
             (count(*) FILTER (WHERE x.sequential) OVER (ROWS UNBOUNDED PRECEDING) - (x.sequential)::integer) AS before
            FROM ( SELECT r.id,
                     r.sequential
                    FROM rowrun.task_run r
                   WHERE ((r.status = 'PENDING'::text) AND (r.cause = 'DATABASE'::text) AND (r.database_id = d.database_id) AND (r.version_key IS NULL))
                   ORDER BY r.version_key, r.priority DESC, r.run_at, r.id
                  LIMIT 200) x
         UNION ALL
          SELECT x.id,
             d.database_id,
             row_number() OVER () AS n,
             (count(*) FILTER (WHERE x.sequential) OVER (ROWS UNBOUNDED PRECEDING) - (x.sequential)::integer) AS before
            FROM ( SELECT r.id,
                     r.sequential
                    FROM rowrun.task_run r
                   WHERE ((r.status = 'PENDING'::text) AND (r.cause = 'DATABASE'::text) AND (r.database_id = d.database_id) AND (r.version_key = m.version_key))
                   ORDER BY r.priority DESC, r.run_at, r.id
                  LIMIT 200) x) c)
   WHERE (c.before < 5);
END;


--
-- Name: FUNCTION waiting_on_databases(databases text[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.waiting_on_databases(databases text[]) IS 'Internal: runs that the order of their database lets through.';


--
-- Name: waiting_runs(bigint[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.waiting_runs(ids bigint[]) RETURNS TABLE(id bigint, task_id bigint, pending boolean, run_at timestamp with time zone, priority integer, plan_id bigint, type text, queue text, database_id text, version_key text, sequential boolean, task_paused boolean, command jsonb)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT r.id,
     r.task_id,
     (r.status = 'PENDING'::text),
     r.run_at,
     r.priority,
     r.plan_id,
     r.type,
     r.queue,
     r.database_id,
     r.version_key,
     r.sequential,
     k.paused,
     k.command
    FROM ((generate_subscripts(waiting_runs.ids, 1) n(n)
      CROSS JOIN LATERAL ( SELECT x.id,
             x.task_id,
             x.attempt,
             x.retry_of,
             x.root_id,
             x.status,
             x.run_at,
             x.input,
             x.priority,
             x.idempotency_key,
             x.creator,
             x.plan_id,
             x.type,
             x.queue,
             x.database_id,
             x.version,
             x.created_at,
             x.available_at,
             x.started_at,
             x.finished_at,
             x.updated_at,
             x.deadline,
             x.cancel_requested_at,
             x.cancel_reason,
             x.progress,
             x.progress_at,
             x.result,
             x.version_key,
             x.sequential,
             x.prev_status,
             x.edited_directly,
             x.cause,
             x.judge_at,
             x.failures,
             x.recoveries,
             x.retry_run_id,
             x.round,
             x.tick,
             x.missed_at,
             x.own_retention,
             x.handles,
             x.replica_id,
             x.claim_hash
            FROM rowrun.task_run x
           WHERE ((x.id = (waiting_runs.ids)[n.n]) AND (COALESCE(x.status, ''::text) = ANY (ARRAY['PENDING'::text, 'AVAILABLE'::text])))
          OFFSET 0) r)
      CROSS JOIN LATERAL ( SELECT x.paused,
                 CASE r.type
                     WHEN 'COMMAND'::text THEN (x.payload -> 'command'::text)
                     ELSE NULL::jsonb
                 END AS command
            FROM rowrun.task x
           WHERE (x.id = r.task_id)
          OFFSET 0) k);
END;


--
-- Name: FUNCTION waiting_runs(ids bigint[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.waiting_runs(ids bigint[]) IS 'Internal: of these runs those that are PENDING or AVAILABLE.';


--
-- Name: waits_for_database(bigint[], timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.waits_for_database(ids bigint[], t timestamp with time zone) RETURNS TABLE(run_id bigint, cause text, message text, detail jsonb)
    LANGUAGE plpgsql STABLE ROWS 10
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    r record;
    base record; -- of the database of the run before
    stuck record;
    first record;
    others record; -- the versions that wait there, but for the one that others wait for
    ahead text; -- the key of that one
    base_of text;
    first_of text;
    others_of text;
    earlier integer; -- how many runs of others come before this one; 101: or more
    by_run bigint;
BEGIN
    FOR r IN SELECT * FROM rowrun.waiting_runs(ids) w WHERE w.pending AND (w.database_id IS NOT NULL OR w.run_at > t) LOOP
        run_id := r.id;
        IF r.run_at > t THEN
            cause := 'RUN_AT';
            message := 'due in ' || rowrun.ago(r.run_at - t);
            detail := jsonb_build_object('run_at', r.run_at);
            RETURN NEXT;
        END IF;
        CONTINUE WHEN r.database_id IS NULL;
        IF base_of IS DISTINCT FROM r.database_id THEN
            SELECT * INTO base FROM rowrun.database_stands(r.database_id);
            SELECT s.* INTO stuck FROM rowrun.stuck_on_database(CASE WHEN base.any_id IS NOT NULL THEN r.database_id END, t) s;
            base_of := r.database_id;
            first_of := NULL;
            others_of := NULL;
        END IF;

        ahead := CASE WHEN base.active_key < r.version_key COLLATE "C" THEN base.active_key
                      WHEN base.pending_key < r.version_key COLLATE "C" THEN base.pending_key END;
        IF ahead IS NOT NULL THEN
            IF others_of IS DISTINCT FROM ahead THEN
                SELECT o.*, v.*, jsonb_build_object('database_id', r.database_id, 'run_id', v.id, 'version', v.version,
                                                    'waiting_run_ids', o.first_ids) AS detail
                INTO others
                FROM rowrun.other_versions(r.database_id, ahead) o
                CROSS JOIN (SELECT base.active_id AS id, base.active_version AS version, base.active_status AS status WHERE base.active_key = ahead
                            UNION ALL SELECT base.pending_id, base.pending_version, 'PENDING' LIMIT 1) v;
                others_of := ahead;
            END IF;
            earlier := coalesce(array_position(others.keys, r.version_key) - 1, width_bucket(r.version_key COLLATE "C", others.keys), 0);
            cause := 'VERSION';
            message := 'version ' || others.version || ' is ' || others.status || ' on ' || r.database_id || ' (run ' || others.id || ')'
                || CASE WHEN earlier > 0
                        THEN CASE WHEN earlier > 100 THEN '; at least ' ELSE '; ' END || others.ranks[earlier]
                             || CASE others.status WHEN 'PENDING' THEN ' more' ELSE '' END
                             || CASE others.ranks[earlier] WHEN 1 THEN ' earlier version waits' ELSE ' earlier versions wait' END
                        ELSE '' END;
            detail := CASE WHEN earlier >= jsonb_array_length(others.first_ids) THEN others.detail
                           ELSE others.detail || jsonb_build_object('waiting_run_ids', to_jsonb(others.run_ids[1:earlier])) END;
            RETURN NEXT;
        END IF;

        by_run := CASE WHEN r.sequential THEN base.any_id ELSE base.alone_id END;
        IF by_run IS NULL AND NOT r.sequential THEN
            IF first_of IS NULL THEN
                SELECT * INTO first FROM rowrun.sequential_ahead(r.database_id, least(base.active_key COLLATE "C", base.pending_key), t);
                first_of := r.database_id;
            END IF;
            by_run := CASE WHEN (-first.priority::bigint, first.run_at, first.id) < (-r.priority::bigint, r.run_at, r.id) THEN first.id END;
        END IF;
        IF by_run IS NOT NULL THEN
            cause := 'DATABASE_BUSY';
            message := r.database_id || ' is busy: run ' || by_run || ' is '
                || CASE by_run WHEN base.any_id THEN base.any_status WHEN base.alone_id THEN base.alone_status ELSE 'PENDING' END;
            detail := jsonb_build_object('database_id', r.database_id, 'run_id', by_run);
            RETURN NEXT;
        END IF;

        by_run := CASE WHEN r.sequential THEN stuck.any_id WHEN stuck.sequential_id IS NOT NULL THEN stuck.sequential_id
                       WHEN stuck.version_key < r.version_key COLLATE "C" THEN stuck.version_id END;
        IF by_run IS NOT NULL THEN
            cause := 'NO_REPLICA';
            message := 'run ' || by_run || ' keeps ' || r.database_id || ', and no live replica can take it';
            detail := jsonb_build_object('run_id', by_run);
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;


--
-- Name: FUNCTION waits_for_database(ids bigint[], t timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.waits_for_database(ids bigint[], t timestamp with time zone) IS 'Internal: the causes that a run''s moment and its database are.';


--
-- Name: waits_for_plan(bigint[], timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.waits_for_plan(ids bigint[], t timestamp with time zone) RETURNS TABLE(run_id bigint, cause text, message text, detail jsonb)
    LANGUAGE plpgsql STABLE ROWS 10
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    r record;
    plan record; -- of the run before
    plan_of bigint;
    failed record; -- the task that holds others of the plan back on the database of the run before
    failed_of text;
    tasks record;
    first record; -- of these tasks
    first_of bigint;
BEGIN
    FOR r IN SELECT * FROM rowrun.waiting_runs(ids) w WHERE w.plan_id IS NOT NULL LOOP
        run_id := r.id;
        IF plan_of IS DISTINCT FROM r.plan_id THEN
            SELECT * INTO plan FROM rowrun.plan_stands(r.plan_id, t);
            plan_of := r.plan_id;
            failed_of := NULL;
        END IF;
        IF plan.paused AND NOT r.task_paused THEN
            cause := 'PAUSED';
            message := 'plan ' || r.plan_id || ' is paused';
            detail := jsonb_build_object('plan_id', r.plan_id);
            RETURN NEXT;
        END IF;
        CONTINUE WHEN NOT r.pending;
        IF plan.slots <= 0 THEN
            cause := 'PLAN_LIMIT';
            message := 'plan ' || r.plan_id || ': ' || plan.parallel_limit - plan.slots || ' of ' || plan.parallel_limit || ' slots taken';
            detail := jsonb_build_object('plan_id', r.plan_id, 'parallel_limit', plan.parallel_limit, 'run_ids', plan.run_ids);
            RETURN NEXT;
        END IF;
        SELECT * INTO tasks FROM rowrun.tasks_ahead(r.task_id);
        IF tasks.total > 0 THEN
            IF first_of IS DISTINCT FROM tasks.first_id THEN
                SELECT s.name, s.status INTO first FROM rowrun.task_status s WHERE s.task_id = tasks.first_id;
                first_of := tasks.first_id;
            END IF;
            cause := 'DEPENDENCY';
            message := 'waits for ' || CASE WHEN tasks.total > 100 THEN 'more than 100 tasks, first of them task '
                                            WHEN tasks.total > 1 THEN tasks.total || ' tasks, first of them task ' ELSE 'task ' END
                || first_of || CASE WHEN first.name <> '' THEN ' (' || first.name || ')' ELSE '' END || ', which is ' || first.status;
            detail := jsonb_build_object('task_ids', tasks.ids);
            RETURN NEXT;
        END IF;
        CONTINUE WHEN plan.on_failure = 'CONTINUE' OR plan.on_failure = 'STOP' AND plan.open;
        IF failed_of IS DISTINCT FROM coalesce(r.database_id, '') THEN
            SELECT * INTO failed FROM rowrun.failed_task(r.plan_id, CASE plan.on_failure WHEN 'STOP_DATABASE' THEN coalesce(r.database_id, '') END);
            failed_of := coalesce(r.database_id, '');
        END IF;
        IF failed.id IS NOT NULL AND (plan.on_failure = 'STOP' OR failed.version_key < r.version_key COLLATE "C") THEN
            cause := 'PLAN_FAILED';
            message := 'task ' || failed.id || CASE WHEN failed.name <> '' THEN ' (' || failed.name || ')' ELSE '' END || ' of plan ' || r.plan_id
                || CASE failed.outcome WHEN 'FAILED' THEN ' failed' ELSE ' was canceled' END || ': retry or skip it';
            detail := jsonb_build_object('plan_id', r.plan_id, 'task_id', failed.id);
            RETURN NEXT;
        END IF;
        IF plan.stuck_id IS NOT NULL THEN
            cause := 'NO_REPLICA';
            message := 'run ' || plan.stuck_id || ' keeps a slot of plan ' || r.plan_id || ', and no live replica can take it';
            detail := jsonb_build_object('run_id', plan.stuck_id);
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;


--
-- Name: FUNCTION waits_for_plan(ids bigint[], t timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.waits_for_plan(ids bigint[], t timestamp with time zone) IS 'Internal: the causes that a run''s plan is, and what its task depends on.';


--
-- Name: waits_for_replica(bigint[], timestamp with time zone); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.waits_for_replica(ids bigint[], t timestamp with time zone) RETURNS TABLE(run_id bigint, cause text, message text, detail jsonb)
    LANGUAGE plpgsql STABLE ROWS 10
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    r record;
    kind record; -- of the run before
    kind_of text[];
BEGIN
    FOR r IN
        SELECT w.*, w.database_id IS NOT NULL
                    OR w.plan_id IS NOT NULL AND (SELECT p.parallel_limit IS NOT NULL FROM rowrun.plan p WHERE p.id = w.plan_id) AS gated
        FROM rowrun.waiting_runs(ids) w
    LOOP
        run_id := r.id;
        IF r.task_paused THEN
            cause := 'PAUSED';
            message := 'task ' || r.task_id || ' is paused';
            detail := jsonb_build_object('task_id', r.task_id);
            RETURN NEXT;
        END IF;
        CONTINUE WHEN r.pending AND NOT r.gated;
        IF kind_of IS DISTINCT FROM ARRAY[r.pending::text, r.queue, r.type, r.database_id, r.command::text] THEN
            SELECT * INTO kind FROM rowrun.kind_stands(
                r.queue, r.type, r.database_id, CASE WHEN r.type = 'COMMAND' THEN jsonb_build_object('command', r.command) END, t, NOT r.pending);
            kind_of := ARRAY[r.pending::text, r.queue, r.type, r.database_id, r.command::text];
        END IF;
        IF kind.replicas = 0 THEN
            cause := 'NO_REPLICA';
            message := 'no live replica runs type ' || r.type || CASE r.queue WHEN 'default' THEN '' ELSE ' in queue ' || r.queue END
                || CASE WHEN r.type IN ('SQL', 'DATABASE_MIGRATE') THEN ' on ' || coalesce(r.database_id, '?')
                        WHEN r.type = 'COMMAND' THEN ' ' || coalesce(r.command #>> '{}', '?') ELSE '' END;
            detail := jsonb_build_object('type', r.type, 'queue', r.queue, 'database_id', r.database_id);
            RETURN NEXT;
        ELSIF NOT r.pending AND kind.free <= 0 THEN
            cause := 'CAPACITY';
            message := kind.replicas || CASE kind.replicas WHEN 1 THEN ' replica' ELSE ' replicas' END || ' could run it, all are full';
            detail := jsonb_build_object('replicas', kind.replicas, 'replica_ids', kind.ids);
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;


--
-- Name: FUNCTION waits_for_replica(ids bigint[], t timestamp with time zone); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.waits_for_replica(ids bigint[], t timestamp with time zone) IS 'Internal: the causes that a run''s task and the replicas are.';


--
-- Name: webhook_body(text, text, text, text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.webhook_body(format text, message_id text, standard text, base text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
DECLARE
    whole jsonb;
    path  text;
    said  record;
BEGIN
    IF format = 'standard' THEN
        RETURN standard;
    END IF;
    whole := standard::jsonb;
    path := CASE WHEN whole -> 'data' ? 'plan_id' THEN 'plans/' || (whole #>> '{data,plan_id}')
                 WHEN whole -> 'data' ? 'run_id' THEN 'runs/' || (whole #>> '{data,run_id}')
                 WHEN whole -> 'data' ? 'task_id' THEN 'tasks/' || (whole #>> '{data,task_id}') END;
    IF format = 'cloudevents' THEN
        RETURN '{"specversion":"1.0","id":' || to_json(message_id) || ',"source":' || to_json(base)
            || ',"type":' || to_json('com.github.rowrun.' || (whole ->> 'type')) || coalesce(',"subject":' || to_json(coalesce(path, 'types/' || (whole #>> '{data,type}'))), '')
            || ',"time":' || (whole -> 'timestamp') || ',"datacontenttype":"application/json","data":' || (standard::json -> 'data') || '}';
    END IF;
    SELECT s.title, s.subject, s.lines INTO said FROM chat_message(whole) s;
    path := CASE WHEN base ~ '^https?://' THEN base || '/' || coalesce(path, '') END;
    RETURN CASE format
        WHEN 'slack' THEN slack_body(said.title, said.subject, said.lines, path)
        WHEN 'teams' THEN teams_body(said.title, said.subject, said.lines, path)
        WHEN 'discord' THEN discord_body(said.title, said.subject, said.lines, path, whole ->> 'type')
    END;
END $$;


--
-- Name: FUNCTION webhook_body(format text, message_id text, standard text, base text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.webhook_body(format text, message_id text, standard text, base text) IS 'Internal: a message in the format of a webhook.';


--
-- Name: webhook_changed(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.webhook_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    PERFORM rowrun.notify_look();
    RETURN NULL;
END $$;


--
-- Name: FUNCTION webhook_changed(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.webhook_changed() IS 'Trigger: deliveries that waited may be sent.';


--
-- Name: webhook_content_type(text); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.webhook_content_type(format text) RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN CASE format WHEN 'cloudevents'::text THEN 'application/cloudevents+json; charset=utf-8'::text ELSE 'application/json'::text END;


--
-- Name: FUNCTION webhook_content_type(format text); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.webhook_content_type(format text) IS 'Internal: what the body of a format is.';


--
-- Name: webhook_deleted(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.webhook_deleted() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    DELETE FROM rowrun.webhook_delivery WHERE webhook_id = OLD.id;
    RETURN NULL;
END $$;


--
-- Name: FUNCTION webhook_deleted(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.webhook_deleted() IS 'Trigger: nothing is addressed to a webhook that is gone.';


--
-- Name: webhook_fill(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.webhook_fill() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $_$
DECLARE
    unknown text;
BEGIN
    NEW.id := coalesce(NEW.id, nextval('rowrun.webhook_id_seq'));
    IF TG_OP = 'INSERT' THEN
        PERFORM rowrun.check_id(NEW.id, 'rowrun.webhook_id_seq');
    END IF;
    NEW.project := coalesce(NEW.project, 'default');
    NEW.name := coalesce(NEW.name, '');
    NEW.events := coalesce(NEW.events, '{PIPELINE_FAILED,PIPELINE_COMPLETED}');
    NEW.format := coalesce(NEW.format, 'standard');
    NEW.enabled := coalesce(NEW.enabled, true);
    NEW.created_at := coalesce(NEW.created_at, now());
    IF TG_OP = 'UPDATE' AND NEW.id <> OLD.id THEN
        RAISE EXCEPTION 'a webhook keeps its id' USING ERRCODE = 'RR003';
    END IF;
    IF NEW.project = '' OR octet_length(NEW.project) > 200 OR octet_length(NEW.name) > 200 THEN
        RAISE EXCEPTION 'project of a webhook has 1 to 200 bytes, its name at most 200' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.url ~* '^https?://[^/?#]*@' THEN
        RAISE EXCEPTION 'url of a webhook has no user and password in it'
            USING ERRCODE = 'check_violation', HINT = 'Put the whole URL where only the sidecar reads it: env:NAME or file:PATH.';
    ELSIF NEW.url IS NULL OR octet_length(NEW.url) > 2000
       OR (NEW.url !~ '^env:[A-Za-z_][A-Za-z0-9_]*$' AND NEW.url !~ '^file:[^[:cntrl:]]+$'
           AND NEW.url !~* '^https?://[^/?#@\\:[:space:][:cntrl:]][^/?#@\\[:space:][:cntrl:]]*([/?#][^[:space:][:cntrl:]]*)?$')
    THEN
        RAISE EXCEPTION 'url of a webhook is http://... or https://..., env:NAME or file:PATH, of at most 2,000 bytes'
            USING ERRCODE = 'check_violation';
    END IF;
    IF octet_length(NEW.secret_ref) > 2000
       OR (NEW.secret_ref !~ '^env:[A-Za-z_][A-Za-z0-9_]*$' AND NEW.secret_ref !~ '^file:[^[:cntrl:]]+$')
    THEN
        RAISE EXCEPTION 'secret_ref of a webhook names where its secret is: env:NAME or file:PATH'
            USING ERRCODE = 'check_violation', HINT = 'The secret itself never stands in the table; for none use NULL.';
    END IF;
    SELECT e INTO unknown FROM unnest(NEW.events) e WHERE e IS NULL OR e NOT IN ('PIPELINE_FAILED', 'PIPELINE_COMPLETED', 'RUN_FAILED', 'SCHEDULE_PAUSED', 'TYPE_ORPHANED') LIMIT 1;
    IF FOUND OR cardinality(NEW.events) = 0 THEN
        RAISE EXCEPTION 'events of a webhook are of PIPELINE_FAILED, PIPELINE_COMPLETED, RUN_FAILED, SCHEDULE_PAUSED and TYPE_ORPHANED%', coalesce(', not "' || left(unknown, 100) || '"', '')
            USING ERRCODE = 'check_violation', HINT = 'For none of them set enabled to false.';
    END IF;
    IF NEW.format NOT IN ('standard', 'slack', 'teams', 'discord', 'cloudevents') THEN
        RAISE EXCEPTION 'format of a webhook is standard, slack, teams, discord or cloudevents, not "%"', left(NEW.format, 100) USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $_$;


--
-- Name: FUNCTION webhook_fill(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.webhook_fill() IS 'Trigger: NULLs get their defaults; what no webhook can be is refused.';


--
-- Name: webhook_filter(); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.webhook_filter() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $_$
DECLARE
    key   text;
    value jsonb;
    named text;
BEGIN
    IF jsonb_typeof(NEW.filter) <> 'object' OR octet_length(NEW.filter::text) > 10000 THEN
        RAISE EXCEPTION 'filter of a webhook is a JSON object of at most 10,000 bytes'
            USING ERRCODE = 'check_violation', HINT = 'Such as {"type": ["HTTP", "report"], "label": {"team": "core"}}; NULL: none.';
    ELSIF NEW.filter = '{}' THEN
        NEW.filter := NULL;
        RETURN NEW;
    END IF;
    FOR key, value IN SELECT f.key, f.value FROM jsonb_each(NEW.filter) f LOOP
        IF key NOT IN ('task', 'type', 'queue', 'label') THEN
            RAISE EXCEPTION 'filter of a webhook has no "%"', left(key, 100)
                USING ERRCODE = 'check_violation', HINT = 'It may have task (names or ids), type, queue, and label with keys and values.';
        ELSIF key = 'label' THEN
            IF (CASE jsonb_typeof(value) WHEN 'object' THEN value = '{}' OR EXISTS (
                   SELECT FROM jsonb_each(value) l WHERE jsonb_typeof(l.value) NOT IN ('string', 'number', 'boolean')) ELSE true END) THEN
                RAISE EXCEPTION 'label in the filter of a webhook is an object of keys and plain values'
                    USING ERRCODE = 'check_violation', HINT = 'Such as {"label": {"team": "core"}}: tasks that have all of them fit.';
            END IF;
        ELSIF (CASE jsonb_typeof(value) WHEN 'string' THEN value = '""' WHEN 'array' THEN value = '[]' OR EXISTS (
                  SELECT FROM jsonb_array_elements(value) e WHERE jsonb_typeof(e) <> 'string' OR e = '""') ELSE true END) THEN
            RAISE EXCEPTION '% in the filter of a webhook is a text or a list of texts, of which one must fit', key
                USING ERRCODE = 'check_violation', HINT = format('Such as {"%s": ["one", "another"]}.', key);
        END IF;
    END LOOP;
    SELECT e INTO named FROM unnest(NEW.events) e WHERE e IN ('PIPELINE_FAILED', 'PIPELINE_COMPLETED') LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'filter of a webhook means nothing for %, which is of a plan as a whole', named
            USING ERRCODE = 'check_violation', HINT = 'Give it the events RUN_FAILED, SCHEDULE_PAUSED or TYPE_ORPHANED alone; plans are told of to another webhook, by project.';
    ELSIF 'TYPE_ORPHANED' = ANY (NEW.events) AND NEW.filter - 'type' <> '{}' THEN
        RAISE EXCEPTION 'filter of a webhook for TYPE_ORPHANED is by type alone'
            USING ERRCODE = 'check_violation', HINT = 'An outage is that of a type, whatever its tasks: make another webhook for this event.';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.filter IS NOT DISTINCT FROM OLD.filter THEN
        RETURN NEW;
    END IF;
    FOR named IN
        SELECT n FROM jsonb_path_query(NEW.filter, '$.task[*]') x(j) CROSS JOIN LATERAL (SELECT j #>> '{}') y(n)
        WHERE NOT EXISTS (SELECT FROM task k WHERE k.plan_id IS NULL AND k.name <> '' AND k.name = n)
          AND NOT EXISTS (SELECT FROM task k WHERE k.plan_id IS NULL AND k.id = CASE WHEN n ~ '^[0-9]{1,18}$' THEN n::bigint END)
    LOOP
        RAISE NOTICE 'filter of a webhook: there is no task "%" without a plan yet', left(named, 200);
    END LOOP;
    RETURN NEW;
END $_$;


--
-- Name: FUNCTION webhook_filter(); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.webhook_filter() IS 'Trigger: the filter of a webhook means something for its events.';


--
-- Name: worker_claim_of(uuid, bigint); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.worker_claim_of(request_id uuid, run_id bigint) RETURNS uuid
    LANGUAGE sql IMMUTABLE
    RETURN (encode(SUBSTRING(sha256((uuid_send(request_id) || int8send(run_id))) FROM 1 FOR 16), 'hex'::text))::uuid;


--
-- Name: FUNCTION worker_claim_of(request_id uuid, run_id bigint); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.worker_claim_of(request_id uuid, run_id bigint) IS 'Internal: the claim of a request for a run.';


--
-- Name: worker_payload(rowrun.task, rowrun.task_run); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.worker_payload(k rowrun.task, r rowrun.task_run) RETURNS jsonb
    LANGUAGE sql STABLE
    RETURN CASE WHEN ((k).state IS NULL) THEN ((k).payload || (r).input) ELSE ((jsonb_build_object('state', (k).state) || (k).payload) || (r).input) END;


--
-- Name: FUNCTION worker_payload(k rowrun.task, r rowrun.task_run); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.worker_payload(k rowrun.task, r rowrun.task_run) IS 'Internal: what a worker gets of a run.';


--
-- Name: worker_problem(uuid, text, text[], integer, interval); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.worker_problem(request_id uuid, worker text, types text[], most integer, lease interval) RETURNS text[]
    LANGUAGE sql STABLE
    RETURN CASE WHEN (COALESCE(request_id, '00000000-0000-0000-0000-000000000000'::uuid) = '00000000-0000-0000-0000-000000000000'::uuid) THEN ARRAY['a request has an id'::text, 'A random uuid, new for each request and the same when it is sent again: gen_random_uuid().'::text] WHEN ((COALESCE(worker, ''::text) = ''::text) OR (octet_length(worker) > 200)) THEN ARRAY['a worker has a name of 1 to 200 bytes'::text, 'Give what the operator should see, such as reports-1.'::text] WHEN ((COALESCE(cardinality(types), 0) < 1) OR (cardinality(types) > 100) OR (array_position(types, NULL::text) IS NOT NULL) OR (octet_length(array_to_string(types, ''::text)) > 10000)) THEN ARRAY['a worker claims 1 to 100 types, none of them NULL'::text, 'ARRAY[''REPORT'']'::text] WHEN (types && '{NOOP,SQL,DATABASE_MIGRATE,HTTP,COMMAND}'::text[]) THEN ARRAY['the types NOOP, SQL, DATABASE_MIGRATE, HTTP and COMMAND are run by the sidecar, not by workers'::text, 'Give the task a type of your own.'::text] WHEN ((COALESCE(most, 0) < 1) OR (COALESCE(most, 0) > 1000)) THEN ARRAY[('a worker claims 1 to 1000 runs at once, not '::text || COALESCE((most)::text, 'NULL'::text)), 'As many as it has free hands.'::text] WHEN (((lease >= '00:00:01'::interval) AND (lease <= '1 day'::interval)) IS NOT TRUE) THEN ARRAY[('a lease lasts 1 s to 1 day, not '::text || COALESCE((lease)::text, 'NULL'::text)), 'About three times as long as the worker''s heartbeats are apart.'::text] ELSE NULL::text[] END;


--
-- Name: FUNCTION worker_problem(request_id uuid, worker text, types text[], most integer, lease interval); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.worker_problem(request_id uuid, worker text, types text[], most integer, lease interval) IS 'Internal: what is wrong with what a worker asks for.';


--
-- Name: worker_result(jsonb); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.worker_result(entry jsonb) RETURNS jsonb
    LANGUAGE sql STABLE
    RETURN (COALESCE(NULLIF((entry -> 'result'::text), 'null'::jsonb), '{}'::jsonb) || CASE (entry ->> 'status'::text) WHEN 'DONE'::text THEN '{}'::jsonb ELSE jsonb_build_object('detail', "left"(COALESCE((entry ->> 'detail'::text), (entry #>> '{result,detail}'::text[]), ''::text), 100000), 'code', CASE WHEN ((jsonb_typeof((entry #> '{result,code}'::text[])) <> 'string'::text) OR ((entry #>> '{result,code}'::text[]) = ANY (ARRAY[''::text, 'TIMEOUT'::text, 'PROGRESS_TIMEOUT'::text, 'STALE'::text, 'LOST_CONTACT'::text, 'DRAINED'::text, 'ABANDONED'::text, 'RELEASED'::text, 'SNOOZED'::text, 'CANCELED'::text]))) THEN 'ERROR'::text ELSE COALESCE("left"((entry #>> '{result,code}'::text[]), 100), 'ERROR'::text) END) END);


--
-- Name: FUNCTION worker_result(entry jsonb); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.worker_result(entry jsonb) IS 'Internal: the result of a run as a worker gave it.';


--
-- Name: write_causes(bigint[], text[]); Type: FUNCTION; Schema: rowrun; Owner: -
--

CREATE FUNCTION rowrun.write_causes(run_ids bigint[], causes text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'rowrun', 'pg_temp'
    AS $$
BEGIN
    UPDATE task_run r SET cause = v.cause, judge_at = NULL, prev_status = NULL
    FROM unnest(run_ids, causes) v(id, cause)
    WHERE r.id = v.id AND v.cause NOT IN ('RUN_AT', 'SKIPPED', 'MISSED') AND (r.cause IS DISTINCT FROM v.cause OR r.judge_at IS NOT NULL);
    IF 'RUN_AT' = ANY (causes) THEN
        UPDATE task_run r SET cause = NULL, judge_at = r.run_at, prev_status = NULL
        FROM unnest(run_ids, causes) v(id, cause)
        WHERE r.id = v.id AND v.cause = 'RUN_AT' AND (r.cause IS NOT NULL OR r.judge_at IS DISTINCT FROM r.run_at);
    END IF;
    IF 'MISSED' = ANY (causes) THEN
        PERFORM rowrun.skip_missed(ARRAY(SELECT v.id FROM unnest(run_ids, causes) v(id, cause) WHERE v.cause = 'MISSED'));
    END IF;
    IF 'SKIPPED' = ANY (causes) THEN
        UPDATE task_run r
        SET status = 'CANCELED', cancel_reason = 'task skipped'
        FROM unnest(run_ids, causes) v(id, cause)
        WHERE r.id = v.id AND v.cause = 'SKIPPED';
    END IF;
END $$;


--
-- Name: FUNCTION write_causes(run_ids bigint[], causes text[]); Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON FUNCTION rowrun.write_causes(run_ids bigint[], causes text[]) IS 'Internal: writes what holds PENDING runs.';


--
-- Name: act; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.act (
    id bigint NOT NULL,
    request_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    verb text NOT NULL,
    kind text NOT NULL,
    asked_by text NOT NULL,
    role text DEFAULT SESSION_USER NOT NULL,
    targets text[],
    filter jsonb,
    search jsonb,
    args jsonb DEFAULT '{}'::jsonb NOT NULL,
    expected integer,
    capped boolean DEFAULT false NOT NULL,
    "position" bigint DEFAULT 0 NOT NULL,
    bound bigint DEFAULT 0 NOT NULL,
    done integer DEFAULT 0 NOT NULL,
    unchanged integer DEFAULT 0 NOT NULL,
    failed integer DEFAULT 0 NOT NULL,
    failures jsonb DEFAULT '[]'::jsonb NOT NULL,
    made bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    state text DEFAULT 'RUNNING'::text NOT NULL,
    stopped_by text,
    ended_at timestamp with time zone,
    CONSTRAINT act_args_an_object CHECK (((jsonb_typeof(args) = 'object'::text) AND (octet_length((args)::text) <= 65536))),
    CONSTRAINT act_asked_by_1_to_200_bytes CHECK (((asked_by <> ''::text) AND (octet_length(asked_by) <= 200))),
    CONSTRAINT act_by_targets_or_filter CHECK (((targets IS NULL) <> (search IS NULL))),
    CONSTRAINT act_filter_an_object CHECK ((jsonb_typeof(filter) = 'object'::text)),
    CONSTRAINT act_kind_known CHECK ((kind = ANY (ARRAY['run'::text, 'task'::text, 'plan'::text, 'delivery'::text, 'replica'::text, 'webhook'::text]))),
    CONSTRAINT act_search_an_object CHECK (((jsonb_typeof(search) = 'object'::text) AND (octet_length((search)::text) <= 1048576))),
    CONSTRAINT act_state_running_done_or_stopped CHECK ((state = ANY (ARRAY['RUNNING'::text, 'DONE'::text, 'STOPPED'::text]))),
    CONSTRAINT act_stopped_by_1_to_200_bytes CHECK (((stopped_by <> ''::text) AND (octet_length(stopped_by) <= 200))),
    CONSTRAINT act_targets_1_to_1000 CHECK (((cardinality(targets) >= 1) AND (cardinality(targets) <= 1000) AND (array_position(targets, NULL::text) IS NULL))),
    CONSTRAINT act_verb_known CHECK ((verb = ANY (ARRAY['run'::text, 'retry'::text, 'cancel'::text, 'abandon'::text, 'skip'::text, 'unskip'::text, 'pause'::text, 'resume'::text, 'limit'::text, 'redeliver'::text, 'test'::text])))
)
WITH (fillfactor='50');


--
-- Name: TABLE act; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.act IS 'What operators have asked for on the dashboard, each once, and how far it is; kept for 30 days.';


--
-- Name: COLUMN act.id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.id IS 'Key.';


--
-- Name: COLUMN act.request_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.request_id IS 'Drawn by who asks: what is asked again under it is not done again.';


--
-- Name: COLUMN act.created_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.created_at IS 'When it was asked for.';


--
-- Name: COLUMN act.verb; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.verb IS 'What is done: run, retry, cancel, abandon, skip, unskip, pause, resume, limit, redeliver, test.';


--
-- Name: COLUMN act.kind; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.kind IS 'To what: run, task, plan, delivery, replica, webhook.';


--
-- Name: COLUMN act.asked_by; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.asked_by IS 'Who asked, by the name of the token that was shown.';


--
-- Name: COLUMN act.role; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.role IS 'The database role of the process that was asked.';


--
-- Name: COLUMN act.targets; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.targets IS 'Ids, or names of replicas; NULL: all that the filter names.';


--
-- Name: COLUMN act.filter; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.filter IS 'The filter as it was asked for; NULL: there is none.';


--
-- Name: COLUMN act.search; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.search IS 'Internal: the filter as it is searched with, narrowed to what can be acted on.';


--
-- Name: COLUMN act.args; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.args IS 'reason, limit.';


--
-- Name: COLUMN act.expected; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.expected IS 'How many were named or found when it began; NULL: they were not counted.';


--
-- Name: COLUMN act.capped; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.capped IS 'There may have been more than expected.';


--
-- Name: COLUMN act."position"; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act."position" IS 'Internal: how many targets, or up to which id, it has come.';


--
-- Name: COLUMN act.bound; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.bound IS 'Internal: by filter nothing above this id is acted on: it came later.';


--
-- Name: COLUMN act.done; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.done IS 'How many were acted on.';


--
-- Name: COLUMN act.unchanged; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.unchanged IS 'Where there was nothing to do.';


--
-- Name: COLUMN act.failed; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.failed IS 'Where it was refused.';


--
-- Name: COLUMN act.failures; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.failures IS 'Why: the first 100.';


--
-- Name: COLUMN act.made; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.made IS 'The first 100 runs that it made.';


--
-- Name: COLUMN act.state; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.state IS 'RUNNING, DONE, or STOPPED: what it had done by then stays.';


--
-- Name: COLUMN act.stopped_by; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.stopped_by IS 'Who stopped it.';


--
-- Name: COLUMN act.ended_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.act.ended_at IS 'When it was DONE or STOPPED.';


--
-- Name: act_id_seq; Type: SEQUENCE; Schema: rowrun; Owner: -
--

ALTER TABLE rowrun.act ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rowrun.act_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: code_object; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.code_object (
    object text NOT NULL,
    hash text NOT NULL,
    "position" integer NOT NULL,
    retired_in integer
);


--
-- Name: TABLE code_object; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.code_object IS 'The functions, triggers, views and grants that `rowrun migrate up` has made.';


--
-- Name: COLUMN code_object.object; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.code_object.object IS 'Kind and name, as DROP takes them.';


--
-- Name: COLUMN code_object.hash; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.code_object.hash IS 'Of its source.';


--
-- Name: COLUMN code_object."position"; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.code_object."position" IS 'Its place in the order in which they were made.';


--
-- Name: COLUMN code_object.retired_in; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.code_object.retired_in IS 'The release that has it no more; the next one removes it. NULL: it is in use.';


--
-- Name: code_version; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.code_version (
    singleton boolean DEFAULT true NOT NULL,
    release integer NOT NULL,
    hash text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT code_version_singleton_check CHECK (singleton)
);


--
-- Name: TABLE code_version; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.code_version IS 'One row: which functions, triggers, views and grants the schema has; none while it has none.';


--
-- Name: COLUMN code_version.singleton; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.code_version.singleton IS 'Holds the table to one row.';


--
-- Name: COLUMN code_version.release; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.code_version.release IS 'The release that they are of, as the manifest counts them.';


--
-- Name: COLUMN code_version.hash; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.code_version.hash IS 'Of the source of all of them.';


--
-- Name: COLUMN code_version.applied_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.code_version.applied_at IS 'When they were applied.';


--
-- Name: failed_run; Type: VIEW; Schema: rowrun; Owner: -
--

CREATE VIEW rowrun.failed_run WITH (security_invoker='true') AS
 SELECT r.id AS run_id,
    r.root_id,
    r.task_id,
    k.name AS task,
    r.plan_id,
    r.type,
    r.queue,
    r.database_id,
    r.version,
    r.attempt,
    r.finished_at,
    r.replica_id,
    (r.result ->> 'code'::text) AS code,
    (r.result ->> 'detail'::text) AS detail
   FROM (rowrun.task_run r
     JOIN rowrun.task k ON ((k.id = r.task_id)))
  WHERE ((r.status = 'FAILED'::text) AND (r.retry_run_id IS NULL))
  ORDER BY r.finished_at DESC;


--
-- Name: VIEW failed_run; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON VIEW rowrun.failed_run IS 'Runs that failed for good, newest first.';


--
-- Name: gate_mark_id_seq; Type: SEQUENCE; Schema: rowrun; Owner: -
--

ALTER TABLE rowrun.gate_mark ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rowrun.gate_mark_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: orphan_type; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.orphan_type (
    type text NOT NULL,
    first_seen timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    announced_at timestamp with time zone,
    pending bigint NOT NULL,
    available bigint NOT NULL,
    CONSTRAINT orphan_type_counts_what_is_there CHECK (((pending >= 0) AND (pending <= '1000000000000'::bigint) AND (available >= 0) AND (available <= '1000000000000'::bigint)))
);


--
-- Name: TABLE orphan_type; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.orphan_type IS 'Types of orphan_task_run as the last look found them, counted as far as that went.';


--
-- Name: COLUMN orphan_type.type; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.orphan_type.type IS 'Key.';


--
-- Name: COLUMN orphan_type.first_seen; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.orphan_type.first_seen IS 'Since when.';


--
-- Name: COLUMN orphan_type.announced_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.orphan_type.announced_at IS 'When the stream last said so.';


--
-- Name: COLUMN orphan_type.pending; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.orphan_type.pending IS 'How many are PENDING.';


--
-- Name: COLUMN orphan_type.available; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.orphan_type.available IS 'How many are AVAILABLE.';


--
-- Name: webhook; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.webhook (
    id bigint NOT NULL,
    project text DEFAULT 'default'::text NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    url text NOT NULL,
    secret_ref text,
    events text[] DEFAULT '{PIPELINE_FAILED,PIPELINE_COMPLETED}'::text[] NOT NULL,
    format text DEFAULT 'standard'::text NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    filter jsonb
);


--
-- Name: TABLE webhook; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.webhook IS 'Who is told when a plan of its project fails or completes, and what goes wrong outside plans.';


--
-- Name: COLUMN webhook.id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook.id IS 'Key.';


--
-- Name: COLUMN webhook.project; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook.project IS 'Plans of this project; tasks without a plan belong to none.';


--
-- Name: COLUMN webhook.name; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook.name IS 'Free text for people.';


--
-- Name: COLUMN webhook.url; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook.url IS 'http or https without credentials, or where the sidecar finds it: env:NAME, file:PATH.';


--
-- Name: COLUMN webhook.secret_ref; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook.secret_ref IS 'Where the sidecar finds the signing secrets: env:NAME, file:PATH; NULL: unsigned.';


--
-- Name: COLUMN webhook.events; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook.events IS 'Of PIPELINE_FAILED, PIPELINE_COMPLETED, RUN_FAILED, SCHEDULE_PAUSED and TYPE_ORPHANED those that are wanted.';


--
-- Name: COLUMN webhook.format; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook.format IS 'standard (Standard Webhooks), slack, teams, discord or cloudevents.';


--
-- Name: COLUMN webhook.enabled; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook.enabled IS 'While false nothing is sent: what is PENDING waits, new events are not addressed to it.';


--
-- Name: COLUMN webhook.created_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook.created_at IS 'When it was inserted.';


--
-- Name: COLUMN webhook.filter; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook.filter IS 'Of which tasks without a plan: {"task": names or ids, "type": ..., "queue": ..., "label": {...}}, all of which must fit; NULL: of all.';


--
-- Name: webhook_delivery; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.webhook_delivery (
    id bigint NOT NULL,
    webhook_id bigint NOT NULL,
    plan_id bigint,
    round integer,
    event_type text NOT NULL,
    message_id text NOT NULL,
    payload text NOT NULL,
    status text DEFAULT 'PENDING'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone DEFAULT now(),
    response_code integer,
    last_error text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    delivered_at timestamp with time zone,
    leased_until timestamp with time zone,
    lease_token uuid,
    unready_since timestamp with time zone,
    content_type text DEFAULT 'application/json'::text NOT NULL,
    run_id bigint,
    root_id bigint,
    task_id bigint,
    task_type text,
    format text,
    standard text,
    CONSTRAINT webhook_delivery_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT webhook_delivery_delivered_at_check CHECK (((delivered_at >= '1900-01-01 00:00:00+00'::timestamp with time zone) AND (delivered_at < '9999-01-01 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT webhook_delivery_event_type_check CHECK ((event_type = ANY (ARRAY['PIPELINE_FAILED'::text, 'PIPELINE_COMPLETED'::text, 'RUN_FAILED'::text, 'SCHEDULE_PAUSED'::text, 'TYPE_ORPHANED'::text]))),
    CONSTRAINT webhook_delivery_has_time CHECK (((status <> 'PENDING'::text) OR (next_attempt_at IS NOT NULL))),
    CONSTRAINT webhook_delivery_leased_until_check CHECK (((leased_until >= '1900-01-01 00:00:00+00'::timestamp with time zone) AND (leased_until < '9999-01-01 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT webhook_delivery_next_attempt_at_check CHECK (((next_attempt_at >= '1900-01-01 00:00:00+00'::timestamp with time zone) AND (next_attempt_at < '9999-01-01 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT webhook_delivery_says_of_what CHECK (
CASE event_type
    WHEN 'RUN_FAILED'::text THEN (num_nulls(run_id, root_id, task_id) = 0)
    WHEN 'SCHEDULE_PAUSED'::text THEN (task_id IS NOT NULL)
    WHEN 'TYPE_ORPHANED'::text THEN (task_type IS NOT NULL)
    ELSE (num_nulls(plan_id, round) = 0)
END),
    CONSTRAINT webhook_delivery_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'DELIVERED'::text, 'EXHAUSTED'::text, 'DISABLED'::text])))
);


--
-- Name: TABLE webhook_delivery; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.webhook_delivery IS 'One message to one webhook, kept until it is delivered or given up.';


--
-- Name: COLUMN webhook_delivery.id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.id IS 'Key.';


--
-- Name: COLUMN webhook_delivery.webhook_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.webhook_id IS 'To whom.';


--
-- Name: COLUMN webhook_delivery.plan_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.plan_id IS 'Of which plan; it may be gone. NULL: of a task without one.';


--
-- Name: COLUMN webhook_delivery.round; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.round IS 'Of which of its rounds.';


--
-- Name: COLUMN webhook_delivery.event_type; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.event_type IS 'PIPELINE_FAILED, PIPELINE_COMPLETED, RUN_FAILED, SCHEDULE_PAUSED or TYPE_ORPHANED.';


--
-- Name: COLUMN webhook_delivery.message_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.message_id IS 'The same over all tries: receivers drop what they have seen.';


--
-- Name: COLUMN webhook_delivery.payload; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.payload IS 'The exact body, from the first try on: with it some formats get the URL of the dashboard.';


--
-- Name: COLUMN webhook_delivery.status; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.status IS 'PENDING, DELIVERED, EXHAUSTED (every try failed) or DISABLED (the receiver said 410).';


--
-- Name: COLUMN webhook_delivery.attempts; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.attempts IS 'How many tries there were.';


--
-- Name: COLUMN webhook_delivery.next_attempt_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.next_attempt_at IS 'When a PENDING one is tried next.';


--
-- Name: COLUMN webhook_delivery.response_code; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.response_code IS 'HTTP status of the last answer.';


--
-- Name: COLUMN webhook_delivery.last_error; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.last_error IS 'Why the last try failed.';


--
-- Name: COLUMN webhook_delivery.created_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.created_at IS 'When the event was decided.';


--
-- Name: COLUMN webhook_delivery.delivered_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.delivered_at IS 'When a receiver took it.';


--
-- Name: COLUMN webhook_delivery.leased_until; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.leased_until IS 'Internal: until when its sender is trusted to be at it.';


--
-- Name: COLUMN webhook_delivery.lease_token; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.lease_token IS 'Internal: which sender that is.';


--
-- Name: COLUMN webhook_delivery.unready_since; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.unready_since IS 'Internal: since when whoever tried it had no URL or secret for it.';


--
-- Name: COLUMN webhook_delivery.content_type; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.content_type IS 'What the body is, for the header of that name.';


--
-- Name: COLUMN webhook_delivery.run_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.run_id IS 'Of RUN_FAILED: the run; it may be gone.';


--
-- Name: COLUMN webhook_delivery.root_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.root_id IS 'Of RUN_FAILED: the first run of its chain.';


--
-- Name: COLUMN webhook_delivery.task_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.task_id IS 'Of RUN_FAILED and SCHEDULE_PAUSED: the task; it may be gone.';


--
-- Name: COLUMN webhook_delivery.task_type; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.task_type IS 'Of events outside plans: the type of task.';


--
-- Name: COLUMN webhook_delivery.format; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.format IS 'The webhook''s, when the event was decided; NULL: it was decided by release 0.1.';


--
-- Name: COLUMN webhook_delivery.standard; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.webhook_delivery.standard IS 'Internal: the standard body, until the first try; NULL: payload is final.';


--
-- Name: health; Type: VIEW; Schema: rowrun; Owner: -
--

CREATE VIEW rowrun.health WITH (security_invoker='true') AS
 WITH overdue AS MATERIALIZED (
        ( SELECT r.judge_at AS due,
            r.task_id,
            r.tick
           FROM rowrun.task_run r
          WHERE ((r.judge_at < (now() - '00:00:10'::interval)) AND (r.plan_id IS NULL) AND (r.database_id IS NULL))
          ORDER BY r.judge_at
         LIMIT 10000)
        UNION ALL
        ( SELECT r.judge_at,
            r.task_id,
            r.tick
           FROM rowrun.task_run r
          WHERE ((r.judge_at < (now() - '00:00:10'::interval)) AND ((r.plan_id IS NOT NULL) OR (r.database_id IS NOT NULL)))
          ORDER BY r.judge_at
         LIMIT 10000)
        UNION ALL
         SELECT f.due,
            f.task_id,
            f.tick
           FROM ( SELECT GREATEST(r.run_at, r.created_at) AS due,
                    r.task_id,
                    r.tick
                   FROM rowrun.task_run r
                  WHERE ((r.status = 'PENDING'::text) AND (r.cause = 'PLAN'::text) AND (r.plan_id IS NULL))
                  ORDER BY r.plan_id, r.priority DESC, r.run_at, r.id
                 LIMIT 10000) f
          WHERE (f.due < (now() - '00:00:10'::interval))
        ), available AS MATERIALIZED (
         SELECT r.available_at,
            r.task_id,
            r.tick
           FROM rowrun.task_run r
          WHERE (r.status = 'AVAILABLE'::text)
         LIMIT 10000
        ), backlog AS MATERIALIZED (
         SELECT o.created_at AS since,
                CASE
                    WHEN (NOT w.enabled) THEN 'disabled'::text
                    WHEN (o.unready_since IS NOT NULL) THEN 'unready'::text
                    WHEN (o.attempts > 0) THEN 'refused'::text
                    ELSE 'due'::text
                END AS reason
           FROM (rowrun.webhook w
             CROSS JOIN LATERAL ( SELECT d.created_at,
                    d.unready_since,
                    d.attempts
                   FROM rowrun.webhook_delivery d
                  WHERE ((d.webhook_id = w.id) AND (d.status = 'PENDING'::text))
                  ORDER BY d.created_at
                 LIMIT 1) o)
        )
 SELECT ( SELECT count(*) AS count
           FROM rowrun.replica_heartbeat h
          WHERE ((h.state <> 'DEAD'::text) AND (NOT h.worker) AND (h.role = 'worker'::text) AND ((h.last_heartbeat + h.lease) > clock_timestamp()))) AS live_replicas,
    ( SELECT
                CASE
                    WHEN isfinite(min(a.available_at)) THEN (clock_timestamp() - min(a.available_at))
                    ELSE NULL::interval
                END AS "case"
           FROM available a) AS oldest_available,
    ( SELECT count(*) AS count
           FROM overdue) AS overdue_pending,
    ( SELECT
                CASE
                    WHEN isfinite(min(o.due)) THEN (clock_timestamp() - min(o.due))
                    ELSE NULL::interval
                END AS "case"
           FROM overdue o) AS overdue_for,
    ( SELECT count(*) AS count
           FROM ( SELECT
                   FROM rowrun.task_run r
                  WHERE ((r.status = 'RUNNING'::text) AND (r.replica_id IS NOT NULL) AND (NOT (EXISTS ( SELECT
                           FROM rowrun.replica_heartbeat h
                          WHERE ((h.replica_id = r.replica_id) AND
                                CASE h.state
                                    WHEN 'DEAD'::text THEN h.worker
                                    ELSE ((h.last_heartbeat + h.lease) > clock_timestamp())
                                END)))))
                 LIMIT 10000) s) AS stale_runs,
    ( SELECT count(*) AS count
           FROM rowrun.orphan_type) AS orphan_types,
    ( SELECT (COALESCE(sum((o.pending + o.available)), (0)::numeric))::bigint AS "coalesce"
           FROM rowrun.orphan_type o) AS orphan_runs,
    ( SELECT count(*) AS count
           FROM backlog b
          WHERE (b.reason = ANY (ARRAY['refused'::text, 'unready'::text]))) AS failing_webhooks,
    ( SELECT
                CASE
                    WHEN isfinite(min(b.since)) THEN (clock_timestamp() - min(b.since))
                    ELSE NULL::interval
                END AS "case"
           FROM backlog b
          WHERE (b.reason = 'disabled'::text)) AS delivery_disabled_for,
    ( SELECT
                CASE
                    WHEN isfinite(min(b.since)) THEN (clock_timestamp() - min(b.since))
                    ELSE NULL::interval
                END AS "case"
           FROM backlog b
          WHERE (b.reason = 'due'::text)) AS delivery_due_for,
    ( SELECT
                CASE
                    WHEN isfinite(min(b.since)) THEN (clock_timestamp() - min(b.since))
                    ELSE NULL::interval
                END AS "case"
           FROM backlog b
          WHERE (b.reason = 'refused'::text)) AS delivery_refused_for,
    ( SELECT
                CASE
                    WHEN isfinite(min(b.since)) THEN (clock_timestamp() - min(b.since))
                    ELSE NULL::interval
                END AS "case"
           FROM backlog b
          WHERE (b.reason = 'unready'::text)) AS delivery_unready_for,
    ( SELECT count(DISTINCT x.task_id) AS count
           FROM ( SELECT o.task_id,
                    o.tick
                   FROM overdue o
                UNION ALL
                 SELECT a.task_id,
                    a.tick
                   FROM available a) x
          WHERE (x.tick < (clock_timestamp() - '00:01:00'::interval))) AS missed_schedules,
    ( SELECT count(*) AS count
           FROM rowrun.task k
          WHERE (k.schedule_error IS NOT NULL)) AS stopped_schedules,
    pg_notification_queue_usage() AS notify_queue,
    ( SELECT
                CASE
                    WHEN (NOT pg_is_in_recovery()) THEN (pg_wal_lsn_diff(pg_current_wal_lsn(), s.confirmed_flush_lsn))::bigint
                    ELSE NULL::bigint
                END AS "case"
           FROM pg_replication_slots s
          WHERE (s.slot_name = ( SELECT ('rowrun_stream_'::text || "left"((d.id)::text, 8))
                   FROM rowrun.deployment d))) AS slot_lag,
    ( SELECT count(*) AS count
           FROM rowrun.replica_heartbeat h
          WHERE ((h.state <> 'DEAD'::text) AND (h.role = 'admin'::text) AND ((h.last_heartbeat + h.lease) > clock_timestamp()))) AS live_admins;


--
-- Name: VIEW health; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON VIEW rowrun.health IS 'How the deployment stands, in one row. live_replicas are those that claim: no admin, and no program that claims by functions. Counts of runs end at 10,000 (overdue_pending: 30,000), and what is oldest is so among these. Durations are NULL where there is nothing. orphan_types and orphan_runs are what a replica has counted last; missed_schedules have a tick that should have started over a minute ago; stale_runs are RUNNING under a replica or worker whose lease is over; slot_lag is in bytes.';


--
-- Name: job; Type: VIEW; Schema: rowrun; Owner: -
--

CREATE VIEW rowrun.job WITH (security_invoker='true') AS
 SELECT r.id AS root_id,
    r.task_id,
    r.status,
    r.id AS last_run_id,
    1 AS attempts,
    r.plan_id,
    r.created_at,
    r.run_at,
    r.started_at,
    r.finished_at,
    r.progress,
    r.result
   FROM rowrun.task_run r
  WHERE ((r.attempt = 0) AND (r.retry_run_id IS NULL))
UNION ALL
 SELECT r.root_id,
    r.task_id,
    r.status,
    r.id AS last_run_id,
    (LEAST(r.attempt, 2147483646) + 1) AS attempts,
    r.plan_id,
    r.created_at,
    r.run_at,
    r.started_at,
    r.finished_at,
    r.progress,
    r.result
   FROM rowrun.task_run r
  WHERE ((r.attempt > 0) AND (r.retry_run_id IS NULL));


--
-- Name: VIEW job; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON VIEW rowrun.job IS 'One row per chain of retries: its first run''s id and how its last run stands.';


--
-- Name: migration; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.migration (
    version bigint NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL,
    checksum text NOT NULL
);


--
-- Name: TABLE migration; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.migration IS 'Which table steps were committed; written in the transaction of each.';


--
-- Name: COLUMN migration.version; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.migration.version IS 'Number of the step.';


--
-- Name: COLUMN migration.applied_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.migration.applied_at IS 'When its transaction began.';


--
-- Name: COLUMN migration.checksum; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.migration.checksum IS 'SHA-256 of the text that was applied: an applied step is never changed.';


--
-- Name: orphan_task_run; Type: VIEW; Schema: rowrun; Owner: -
--

CREATE VIEW rowrun.orphan_task_run WITH (security_invoker='true') AS
 SELECT o.queue,
    o.type,
    o.database_id,
    o.command,
    o.pending,
    o.available,
    o.oldest
   FROM ( SELECT r.queue,
            r.type,
                CASE
                    WHEN (r.type = ANY (ARRAY['SQL'::text, 'DATABASE_MIGRATE'::text])) THEN r.database_id
                    ELSE NULL::text
                END AS database_id,
                CASE
                    WHEN ((r.type = 'COMMAND'::text) AND (jsonb_typeof((k.payload -> 'command'::text)) = 'string'::text)) THEN (k.payload ->> 'command'::text)
                    ELSE NULL::text
                END AS command,
            count(*) FILTER (WHERE (r.status = 'PENDING'::text)) AS pending,
            count(*) FILTER (WHERE (r.status = 'AVAILABLE'::text)) AS available,
            min(r.created_at) AS oldest
           FROM (rowrun.task_run r
             JOIN rowrun.task k ON ((k.id = r.task_id)))
          WHERE (r.status = ANY (ARRAY['PENDING'::text, 'AVAILABLE'::text]))
          GROUP BY r.queue, r.type,
                CASE
                    WHEN (r.type = ANY (ARRAY['SQL'::text, 'DATABASE_MIGRATE'::text])) THEN r.database_id
                    ELSE NULL::text
                END,
                CASE
                    WHEN ((r.type = 'COMMAND'::text) AND (jsonb_typeof((k.payload -> 'command'::text)) = 'string'::text)) THEN (k.payload ->> 'command'::text)
                    ELSE NULL::text
                END) o
  WHERE (NOT (EXISTS ( SELECT
           FROM rowrun.replica_heartbeat h
          WHERE rowrun.takes(h.*, clock_timestamp(), o.queue, o.type, o.database_id, jsonb_build_object('command', o.command)))));


--
-- Name: VIEW orphan_task_run; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON VIEW rowrun.orphan_task_run IS 'Runs that wait and that no live replica could run: by queue, type, target database and command. Reads every run that waits.';


--
-- Name: plan_id_seq; Type: SEQUENCE; Schema: rowrun; Owner: -
--

ALTER TABLE rowrun.plan ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME rowrun.plan_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: plan_status; Type: VIEW; Schema: rowrun; Owner: -
--

CREATE VIEW rowrun.plan_status WITH (security_invoker='true') AS
 SELECT p.id AS plan_id,
    p.project,
    p.name,
    p.round,
    p.paused,
        CASE
            WHEN (s.failed > 0) THEN 'FAILED'::text
            WHEN (s.running > 0) THEN 'RUNNING'::text
            WHEN (s.available > 0) THEN 'AVAILABLE'::text
            WHEN (s.pending > 0) THEN 'PENDING'::text
            WHEN (s.canceled > 0) THEN 'CANCELED'::text
            WHEN ((s.tasks > 0) AND ((s.done + s.skipped) = s.tasks)) THEN 'DONE'::text
            ELSE 'NOT_STARTED'::text
        END AS status,
    s.tasks,
    s.not_started,
    s.pending,
    s.available,
    s.running,
    s.done,
    s.skipped,
    s.failed,
    s.canceled
   FROM (rowrun.plan p
     CROSS JOIN LATERAL ( SELECT count(*) AS tasks,
            count(*) FILTER (WHERE (x.place = 1)) AS not_started,
            count(*) FILTER (WHERE (x.place = 2)) AS pending,
            count(*) FILTER (WHERE (x.place = 3)) AS available,
            count(*) FILTER (WHERE (x.place = 4)) AS running,
            count(*) FILTER (WHERE (x.place = 5)) AS done,
            count(*) FILTER (WHERE (x.place = 6)) AS skipped,
            count(*) FILTER (WHERE (x.place = 7)) AS failed,
            count(*) FILTER (WHERE (x.place = 8)) AS canceled
           FROM ( SELECT
                        CASE
                            WHEN k.skipped THEN 6
                            WHEN (k.id IN ( SELECT u.task_id
                               FROM rowrun.task_run u
                              WHERE ((u.plan_id = p.id) AND (u.status = 'PENDING'::text)))) THEN 2
                            WHEN (k.id IN ( SELECT u.task_id
                               FROM rowrun.task_run u
                              WHERE ((u.plan_id = p.id) AND (u.status = 'AVAILABLE'::text)))) THEN 3
                            WHEN (k.id IN ( SELECT u.task_id
                               FROM rowrun.task_run u
                              WHERE ((u.plan_id = p.id) AND (u.status = 'RUNNING'::text)))) THEN 4
                            ELSE
                            CASE k.outcome
                                WHEN 'DONE'::text THEN 5
                                WHEN 'FAILED'::text THEN 7
                                WHEN 'CANCELED'::text THEN 8
                                ELSE 1
                            END
                        END AS place
                   FROM rowrun.task k
                  WHERE (k.plan_id = p.id)
                 OFFSET 0) x) s);


--
-- Name: VIEW plan_status; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON VIEW rowrun.plan_status IS 'A plan''s status, first that fits: FAILED, RUNNING, AVAILABLE, PENDING, CANCELED, DONE, NOT_STARTED; and how many tasks have which.';


--
-- Name: replica_status; Type: VIEW; Schema: rowrun; Owner: -
--

CREATE VIEW rowrun.replica_status WITH (security_invoker='true') AS
 SELECT h.replica_id,
    h.name,
    h.hostname,
    h.version,
    h.state,
    h.started_at,
    h.last_heartbeat,
    h.lease,
    ((h.state <> 'DEAD'::text) AND ((h.last_heartbeat + h.lease) > clock_timestamp())) AS live,
    h.queues,
    h.types,
    h.databases,
    h.commands,
    h.concurrency,
    ( SELECT count(*) AS count
           FROM rowrun.task_run r
          WHERE ((r.replica_id = h.replica_id) AND (r.status = 'RUNNING'::text))) AS running,
    (h.replica_id = ( SELECT d.stream_replica_id
           FROM rowrun.deployment d)) AS stream,
    h.wake_source,
    h.paused_at,
    h.worker,
    h.role
   FROM rowrun.replica_heartbeat h;


--
-- Name: VIEW replica_status; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON VIEW rowrun.replica_status IS 'The replicas and workers, whether they are alive and what they run.';


--
-- Name: schema_migrations; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.schema_migrations (
    version bigint NOT NULL,
    dirty boolean NOT NULL
);


--
-- Name: schema_object; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.schema_object (
    kind text NOT NULL,
    name text NOT NULL,
    hash text NOT NULL
);


--
-- Name: TABLE schema_object; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.schema_object IS 'What the schema was made of, for `rowrun doctor`. Migrations: ca2583dec64d449b';


--
-- Name: COLUMN schema_object.kind; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.schema_object.kind IS 'function, view, trigger, constraint, index, publication or grants.';


--
-- Name: COLUMN schema_object.name; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.schema_object.name IS 'Which one.';


--
-- Name: COLUMN schema_object.hash; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.schema_object.hash IS 'Of its definition, as the server told it then.';


--
-- Name: stream_handover; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.stream_handover (
    replica_id text NOT NULL,
    at timestamp with time zone NOT NULL,
    snapshot pg_snapshot NOT NULL,
    run_ids bigint[] NOT NULL,
    ranks text NOT NULL
);


--
-- Name: TABLE stream_handover; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.stream_handover IS 'How far the stream from rows was written when its writer stopped; the next one takes it.';


--
-- Name: COLUMN stream_handover.replica_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.stream_handover.replica_id IS 'Who wrote.';


--
-- Name: COLUMN stream_handover.at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.stream_handover.at IS 'A moment before which no committed transition is missing.';


--
-- Name: COLUMN stream_handover.snapshot; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.stream_handover.snapshot IS 'What was committed at that moment.';


--
-- Name: COLUMN stream_handover.run_ids; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.stream_handover.run_ids IS 'Runs that were written since then.';


--
-- Name: COLUMN stream_handover.ranks; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.stream_handover.ranks IS 'How far each of them was: a digit each, 1 for PENDING to 4 for its end.';


--
-- Name: stream_note; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.stream_note (
    id bigint NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    level text DEFAULT 'warn'::text NOT NULL,
    event text NOT NULL,
    message text NOT NULL,
    detail jsonb DEFAULT '{}'::jsonb NOT NULL,
    printed_at timestamp with time zone,
    CONSTRAINT stream_note_detail_check CHECK ((jsonb_typeof(detail) = 'object'::text)),
    CONSTRAINT stream_note_level_check CHECK ((level = ANY (ARRAY['info'::text, 'warn'::text])))
);


--
-- Name: TABLE stream_note; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.stream_note IS 'What the stream says besides transitions; kept for a week.';


--
-- Name: COLUMN stream_note.id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.stream_note.id IS 'Key.';


--
-- Name: COLUMN stream_note.created_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.stream_note.created_at IS 'When it happened.';


--
-- Name: COLUMN stream_note.level; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.stream_note.level IS 'info or warn.';


--
-- Name: COLUMN stream_note.event; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.stream_note.event IS 'What happened, as the line''s event: task_run.stalled, task_type.orphaned, ...';


--
-- Name: COLUMN stream_note.message; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.stream_note.message IS 'The line''s message.';


--
-- Name: COLUMN stream_note.detail; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.stream_note.detail IS 'The line''s other members.';


--
-- Name: COLUMN stream_note.printed_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.stream_note.printed_at IS 'When the replica that writes the stream wrote it.';


--
-- Name: stream_note_id_seq; Type: SEQUENCE; Schema: rowrun; Owner: -
--

ALTER TABLE rowrun.stream_note ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rowrun.stream_note_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: stream_position; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.stream_position (
    second timestamp with time zone NOT NULL,
    system_id text NOT NULL,
    timeline integer NOT NULL,
    lsn pg_lsn,
    at timestamp with time zone NOT NULL,
    snapshot pg_snapshot NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0');


--
-- Name: TABLE stream_position; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.stream_position IS 'How far the stream was written, one row for each second in which it was, for an hour; the newest of each minute for a week.';


--
-- Name: COLUMN stream_position.second; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.stream_position.second IS 'Key.';


--
-- Name: COLUMN stream_position.system_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.stream_position.system_id IS 'Which server''s log it is, as IDENTIFY_SYSTEM says; empty where lsn is NULL.';


--
-- Name: COLUMN stream_position.timeline; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.stream_position.timeline IS 'Which of its histories.';


--
-- Name: COLUMN stream_position.lsn; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.stream_position.lsn IS 'Every transition that committed before this place was written; NULL: it was not read from the log.';


--
-- Name: COLUMN stream_position.at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.stream_position.at IS 'A moment before which no committed transition is missing.';


--
-- Name: COLUMN stream_position.snapshot; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.stream_position.snapshot IS 'What was committed at that moment.';


--
-- Name: task_id_seq; Type: SEQUENCE; Schema: rowrun; Owner: -
--

ALTER TABLE rowrun.task ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME rowrun.task_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: task_run_id_seq; Type: SEQUENCE; Schema: rowrun; Owner: -
--

ALTER TABLE rowrun.task_run ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME rowrun.task_run_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: task_run_log; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.task_run_log (
    id bigint NOT NULL,
    task_run_id bigint NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    replica_id text,
    type text NOT NULL,
    detail jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT task_run_log_detail_check CHECK (((pg_column_size(detail) < 2000) OR ((octet_length((detail)::text) <= 1048576) AND (NOT rowrun.too_deep(detail)))))
);


--
-- Name: TABLE task_run_log; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.task_run_log IS 'What executors did, in order.';


--
-- Name: COLUMN task_run_log.id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run_log.id IS 'Key; ascending in the order of writing of one run.';


--
-- Name: COLUMN task_run_log.task_run_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run_log.task_run_id IS 'The run.';


--
-- Name: COLUMN task_run_log.created_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run_log.created_at IS 'When it was written.';


--
-- Name: COLUMN task_run_log.replica_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run_log.replica_id IS 'Who wrote it.';


--
-- Name: COLUMN task_run_log.type; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run_log.type IS 'What it is: statement, notice, response, output, ...';


--
-- Name: COLUMN task_run_log.detail; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_run_log.detail IS 'The rest, by type.';


--
-- Name: task_run_log_id_seq; Type: SEQUENCE; Schema: rowrun; Owner: -
--

ALTER TABLE rowrun.task_run_log ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME rowrun.task_run_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: task_status; Type: VIEW; Schema: rowrun; Owner: -
--

CREATE VIEW rowrun.task_status WITH (security_invoker='true') AS
 SELECT k.id AS task_id,
    k.plan_id,
    k.name,
    k.type,
        CASE
            WHEN k.skipped THEN 'SKIPPED'::text
            ELSE COALESCE(n.status, 'NOT_STARTED'::text)
        END AS status,
    n.id AS last_run_id,
    n.result
   FROM (rowrun.task k
     LEFT JOIN LATERAL ( SELECT x.id,
            x.status,
            x.result
           FROM (( SELECT r.id,
                    r.status,
                    r.result,
                    0 AS place
                   FROM rowrun.task_run r
                  WHERE ((k.plan_id IS NOT NULL) AND (r.task_id = k.id) AND (r.plan_id IS NOT NULL) AND (r.status = ANY (ARRAY['PENDING'::text, 'AVAILABLE'::text, 'RUNNING'::text])))
                 LIMIT 1)
                UNION ALL
                 SELECT r.id,
                    r.status,
                    r.result,
                    1
                   FROM rowrun.task_run r
                  WHERE ((k.plan_id IS NOT NULL) AND (r.id = k.outcome_run_id))
                UNION ALL
                ( SELECT r.id,
                    r.status,
                    r.result,
                    2
                   FROM rowrun.task_run r
                  WHERE ((k.plan_id IS NOT NULL) AND (r.task_id = k.id) AND (r.plan_id IS NOT NULL))
                  ORDER BY r.id DESC
                 LIMIT 1)
                UNION ALL
                ( SELECT r.id,
                    r.status,
                    r.result,
                    2
                   FROM rowrun.task_run r
                  WHERE ((k.plan_id IS NULL) AND (r.task_id = k.id))
                  ORDER BY r.id DESC
                 LIMIT 1)) x
          ORDER BY x.place
         LIMIT 1) n ON (true));


--
-- Name: VIEW task_status; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON VIEW rowrun.task_status IS 'A task''s status is that of its newest run; NOT_STARTED without one; SKIPPED where it is skipped.';


--
-- Name: task_type; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.task_type (
    type text NOT NULL,
    draining boolean DEFAULT false NOT NULL,
    alias_of text,
    mapping jsonb,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT task_type_alias_harmless CHECK (((alias_of IS NULL) OR (NOT (ARRAY[type, alias_of] && '{SQL,DATABASE_MIGRATE,COMMAND}'::text[])))),
    CONSTRAINT task_type_check CHECK (((alias_of <> ''::text) AND (octet_length(alias_of) <= 100) AND (alias_of <> type))),
    CONSTRAINT task_type_mapping_check CHECK ((jsonb_typeof(mapping) = 'object'::text)),
    CONSTRAINT task_type_mapping_of_alias CHECK (((mapping IS NULL) OR (alias_of IS NOT NULL))),
    CONSTRAINT task_type_type_check CHECK (((type <> ''::text) AND (octet_length(type) <= 100)))
);


--
-- Name: TABLE task_type; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.task_type IS 'Types of tasks that are draining or run by another type''s executor; rowrun type drain, alias.';


--
-- Name: COLUMN task_type.type; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_type.type IS 'Key: the type of tasks and runs.';


--
-- Name: COLUMN task_type.draining; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_type.draining IS 'While true no replica claims runs of this type.';


--
-- Name: COLUMN task_type.alias_of; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_type.alias_of IS 'Replicas that run this type run also those of type; not for SQL, DATABASE_MIGRATE and COMMAND.';


--
-- Name: COLUMN task_type.mapping; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_type.mapping IS 'Top-level keys of the payload: {"old": "new"} renames one, {"old": null} leaves it out.';


--
-- Name: COLUMN task_type.changed_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.task_type.changed_at IS 'When it last changed.';


--
-- Name: webhook_delivery_id_seq; Type: SEQUENCE; Schema: rowrun; Owner: -
--

ALTER TABLE rowrun.webhook_delivery ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME rowrun.webhook_delivery_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: webhook_id_seq; Type: SEQUENCE; Schema: rowrun; Owner: -
--

ALTER TABLE rowrun.webhook ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME rowrun.webhook_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: worker_claim; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.worker_claim (
    claim_hash bytea NOT NULL,
    run_id bigint NOT NULL,
    lease interval NOT NULL,
    until timestamp with time zone NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000');


--
-- Name: TABLE worker_claim; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.worker_claim IS 'The runs that workers hold. One index: it is written with each claim, and task_run.claim_hash leads here.';


--
-- Name: COLUMN worker_claim.claim_hash; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.worker_claim.claim_hash IS 'SHA-256 of the claim that the worker was given, as in task_run.';


--
-- Name: COLUMN worker_claim.run_id; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.worker_claim.run_id IS 'The run.';


--
-- Name: COLUMN worker_claim.lease; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.worker_claim.lease IS 'By how much a heartbeat prolongs it.';


--
-- Name: COLUMN worker_claim.until; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.worker_claim.until IS 'When it is over.';


--
-- Name: worker_request; Type: TABLE; Schema: rowrun; Owner: -
--

CREATE TABLE rowrun.worker_request (
    request_hash bytea NOT NULL,
    made_at timestamp with time zone NOT NULL,
    run_ids bigint[],
    results_hash bigint,
    answer jsonb
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000');


--
-- Name: TABLE worker_request; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON TABLE rowrun.worker_request IS 'Requests of workers that changed something, for a day: one that is sent again is answered again.';


--
-- Name: COLUMN worker_request.request_hash; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.worker_request.request_hash IS 'SHA-256 of the request''s id: whoever knows the id could derive its claims.';


--
-- Name: COLUMN worker_request.made_at; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.worker_request.made_at IS 'When it came first.';


--
-- Name: COLUMN worker_request.run_ids; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.worker_request.run_ids IS 'The runs that it was given.';


--
-- Name: COLUMN worker_request.results_hash; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.worker_request.results_hash IS 'Of the results that came with it; NULL: it was a claim.';


--
-- Name: COLUMN worker_request.answer; Type: COMMENT; Schema: rowrun; Owner: -
--

COMMENT ON COLUMN rowrun.worker_request.answer IS 'What became of the runs that it ended.';


--
-- Data for Name: act; Type: TABLE DATA; Schema: rowrun; Owner: -
--



--
-- Data for Name: code_object; Type: TABLE DATA; Schema: rowrun; Owner: -
--

INSERT INTO rowrun.code_object VALUES ('roles roles/roles', '004dfab42460dadac18256250aefa0ec', 1, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.is_owner()', '44f7f74ad2c5c7df5cac5e7fc2d0e52d', 2, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.is_trusted()', 'b04fec188d6107458563cfffa6c50803', 3, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.is_authors(text)', 'a81ebcdff6be829d42f4a50d1e7e667c', 4, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.is_author()', 'aec178047038706706d2fd46de414613', 5, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.check_id(bigint, regclass)', '759742502ae54ff97a6adb0a63614d07', 6, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.plan_fill()', '4555837a2e4877f8b8aed8f7c58971af', 7, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger plan_fill ON rowrun.plan', 'efd63ac1b4cc57ff1103421bb334624d', 8, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.check_task_words(rowrun.task)', 'ba0698e6eb71841f1af7bebd93a6a8da', 9, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_fill()', '257599177c8791607e6ecbde47a3a821', 10, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_fill ON rowrun.task', 'fdc3d6bcbd557b212b5ff4a6cbbfccc6', 11, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_author_check()', '40f54cecc1162d79380fc061b3f03f6f', 12, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_author_insert ON rowrun.task', '14fb932f8544b34b43748e243567742c', 13, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_author_update ON rowrun.task', '37bcd742a392414b755effa7315d3f31', 14, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_dependency_author()', '891daa2c8cd0fdacfdc583c382d277bd', 15, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_dependency_author ON rowrun.task_dependency', 'af09930db374279be99e02f3948782e7', 16, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_dependency_check()', 'fd341fc45860c6292d2c6792443fb2a7', 17, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_dependency_check ON rowrun.task_dependency', 'feb18f67e9c8009cd89946ee9255f398', 18, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_dependency_acyclic()', 'f683c7786bf30ccc3af1ce012aaebef6', 19, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_dependency_added ON rowrun.task_dependency', '43fb5c61e32bb6e578009824bfdd4217', 20, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_dependency_moved ON rowrun.task_dependency', 'e1742371d92e6c4037def4ce2882d4ae', 21, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_run_bounds(rowrun.task_run)', '4e6d3a47d67c3056255f5457976b6160', 22, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.is_scheduling()', 'dd0c550cf83f71593a7863d60d699cf5', 23, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.unstarted(rowrun.task_run)', 'be9dfbcd135cbacfa86d0f312c0a765b', 24, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.is_blocked_at_insert(rowrun.task_run, timestamptz, boolean)', 'e692bde5eb05daa13c74dfbcdc966915', 25, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_run_fill()', '828b9dca9d7eb491df98b7e5c94f1e04', 26, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_run_fill ON rowrun.task_run', '318372db143b0572f14f6e0ec43e59a5', 27, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_run_guard()', '64c9383004b62ce0b75b8d238dd898e6', 28, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_run_guard ON rowrun.task_run', '726df5607d3fd6f33d65988ab7609b2a', 29, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_run_fixed()', '031b904191366c1d31e6bf4248514f3f', 30, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_run_fixed ON rowrun.task_run', 'c7d0bb6195c05e48479a86c417626beb', 31, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_run_keep()', 'e4b9de20abfc5d5a1fdc3faf615b4780', 32, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_run_keep ON rowrun.task_run', '4864a0f99913f4106ad0d6bd41312628', 33, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.replica_heartbeat_fill()', '52537c810f7adba773696423d5776022', 34, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger replica_heartbeat_fill ON rowrun.replica_heartbeat', 'f6ede88b4cc1520b75b3531c53117c73', 35, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.may_notify()', '8322e4baa842db1870fd3bb954faaab8', 36, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.notify_look()', '2cf278287f1b8c7f7422065c440e7a12', 37, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.is_quiet()', '9621f50582970fff3d0fd96597e428de', 38, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.transition(rowrun.task_run)', '96b3036f7085a9a4173be230bbad48e9', 39, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.arrival(rowrun.task_run)', 'ef4e8a579e594136f06fcaca7fa13208', 40, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.promotion_and_claim(rowrun.task_run)', '617ea207ccec67bbccb6218d70d2aa0d', 41, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.announce_parts(text[])', 'e2dd719b285e056c08274d96752f2dcf', 42, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.announce(text[])', 'e56da283912d3faeb2309670036ae0be', 43, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.announce_one(text)', '62283bf2c6fbc3345a9b0a1dd4ac5c3a', 44, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.mark_stopped(bigint[])', '84f8fa3f6b2c384dd0e7fe947f02fddd', 45, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.mark_ended(bigint[], boolean)', 'c17bd543b9e16dd4ad45938253af586d', 46, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.mark_edited(text, boolean)', 'a9592f532ef534804b002316ff0afca0', 47, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.mark_ready(bigint)', 'fbb3f9b8e73cef6d8d3fcf9eb448d0cd', 48, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.mark_blocked(rowrun.task_run)', '3cb03a74a083e53d7e6873986e693166', 49, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_run_inserted()', '2b7c5913d808f9f1eb76eb7e67ba6d01', 50, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_run_inserted ON rowrun.task_run', 'e151e459624d2077aad791581840d432', 51, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_run_edited()', '730406d02352ad09b4f70b1909f7f1f1', 52, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_run_edited ON rowrun.task_run', '683769d15c7ffe5239e8e87946e80ad0', 53, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_run_deleted()', '695e20b4efa5ff32ff2f30cebc5fbfa0', 54, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_run_deleted ON rowrun.task_run', 'a6b45706573e42fe0317c26aee7e57cf', 55, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_outcome_changed()', '70b9dfb99d3fd7797cf28584fbacccd6', 56, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_outcome_changed ON rowrun.task', 'db23a1dd4937703410d837deba25cf4b', 57, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_gate_changed()', 'cb82070cf5478b2f70656d7055e53e5c', 58, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_gate_changed ON rowrun.task', 'ad0fc48746dce79e4bd44218851f27f0', 59, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_left_plan()', '2f5e6837c1783cfd8741d212c9aa2fec', 60, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_deleted ON rowrun.task', 'd8346ca9ff34a9627662d7fb60228b75', 61, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_moved ON rowrun.task', 'bcbce982528fe78c675a4dd0fd27705f', 62, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.plan_gate_changed()', '23b0ccda3d1ced94614c913630e3b6b5', 63, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger plan_gate_changed ON rowrun.plan', 'e8e904bd3210174c2a49e26b66b25d6c', 64, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_dependency_changed()', '3d55a3ed6d618262674f1e4348403803', 65, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_dependency_changed ON rowrun.task_dependency', '2266e877376f12292257ccf647cbe21a', 66, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.replica_changed()', '759996cf3242a37c76182a4faacb8c17', 67, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger replica_came ON rowrun.replica_heartbeat', 'b8c35a02d4527704a3cf79f88e219518', 68, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger replica_changed ON rowrun.replica_heartbeat', '4850fbbb51e3479c44f1d8e029c020c7', 69, NULL);
INSERT INTO rowrun.code_object VALUES ('view rowrun.unmet_dependency', '41cc553fcaf692030b5b400fa60095a7', 70, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.fits(text, text, jsonb, text[], text[])', '0b40e3a937f3ce1d95c53d00e4ca3c75', 71, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.takes(rowrun.replica_heartbeat, timestamptz, text, text, text, jsonb)', 'd5619fabd2d6a7c2677b5d291a9c1233', 72, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.may_take(rowrun.task_run, rowrun.task, text[], text[])', 'e52e496ccdeb7bb79859a7a76843a8db', 73, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.sequential_open(bigint, timestamptz)', '05ca9b28db804f0c5f5304656d46c9d5', 74, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.first_sequential(text, text, timestamptz, text[])', 'f2ab7ddecc9672eb3f87735e93ac0017', 75, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.smallest_version(text)', '71cdf2bdcffaaf6fda790eb2796bef25', 76, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.databases_of_plans(bigint[])', '7dc1cd79f63ba5c6e01a973d0acfe01e', 77, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.own_cause(rowrun.task, timestamptz, timestamptz)', 'bd8ccc5796bc2ad5c926486652a837f5', 78, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.closed_gate(rowrun.task_run, boolean, timestamptz)', '58dcc0ea8bb1bcf350f69945b7f50a92', 79, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.plan_room(bigint)', 'ae5ae4183263d956c07f5f337d35c9a6', 80, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.promote_runs(boolean, boolean, integer, rowrun.claim_request)', 'bbd8d7b36e186742bb50a7a44dd7ec13', 81, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.make_available(bigint[], timestamptz)', 'ae841d89947072cfdde9b800cdace6cd', 82, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.make_running(bigint[], timestamptz, rowrun.claim_request)', '55b9e4ebec2477fbad7ce5d16f8b9998', 83, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.let_start(bigint[], timestamptz, rowrun.claim_request)', '411d27bd06e49d51f1c633271253611c', 84, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.let_start_singly(bigint[], timestamptz, rowrun.claim_request)', '1931f8567553ce89dc01dc303cdccdb6', 85, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.write_causes(bigint[], text[])', 'cfc8f9775c859e9e5cb68f9febcf5976', 86, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.promote_ungated(timestamptz, integer, rowrun.claim_request)', '465ff00e8afb2102d615ddfb9a7a03b1', 87, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.asked_for(timestamptz)', 'c6b24ab034e8a5f5a05f73cb993ead9c', 88, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.take_marks(boolean, integer)', 'c04bb97329515bb4879ede69273c4da1', 89, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.overlooked_databases(text[])', '69cb65c6186a43a5cced13e7d7ee4865', 90, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.overlooked_plans(bigint[])', 'a98630c9324d18c7000c761ced729901', 91, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.candidates(record, boolean, integer)', '52e17326cc632b965a509eaa47c0fe72', 92, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.first_looks(bigint[], timestamptz, integer)', 'cff676e704c0d42ec6deb1c23bf61ce9', 93, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.waiting_on_databases(text[])', '89dc8754243718d7230916b68dc557a6', 94, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.waiting_of_tasks(bigint[])', 'c57abf92a4a67091d8a2868b68ff69e4', 95, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.waiting_for_tasks(bigint[])', '8357d486398e56ea217a2a7a07d95f7e', 96, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.waiting_for_mends(jsonb)', '27220f4dbb70076c47fe39451b8543f0', 97, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.waiting_of_plans(bigint[], bigint[], integer)', 'd0eca983c6e7fd77bbd135be975b96c9', 98, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.waiting_for_replicas(timestamptz)', 'b52043e2064b276bba018fa2f57e3fab', 99, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.judge(bigint[], bigint[], timestamptz, bigint)', '1596df3d0080b8a15664580283bfc4f5', 100, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.verdicts_on(bigint[])', 'fe9cdb3b42f59d8bd71bac2c55817545', 101, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.apply_verdicts(record, rowrun.claim_request)', '097519983c3f7bb7b28233bd33e91135', 102, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.mark_unseen_ends(bigint[], text[])', '8b892e4851d272499c4c1d1182d7bd75', 103, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.leave_marks(record, bigint[], text[])', '310a8791a6884be7d819e4d08f7970c4', 104, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.lock_plans_of_ends(bigint[], bigint[], text[])', 'cb8e32fe954a22a9ebf196208ac0bb41', 105, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.judge_ends(bigint[], uuid[], text[], jsonb[], text[])', '7282ce81fdb28cbe91b205865287356c', 106, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.make_ended(bigint[], uuid[], text[], jsonb[], bigint[], timestamptz)', '0aa0d9058ef60cf2dc9ae81a1268336a', 107, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.insert_successors(bigint[], text[], bigint[], timestamptz)', '0694fd08a049f5b0866d2634da934787', 108, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.lock_promotion()', '38d9dd901eaebdcf39faaccbb53f6766', 109, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.promote_next_version(text[], rowrun.claim_request)', '872e5781a1c4eee6ed4e0a5debbb8744', 110, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.promote_next_of_plans(bigint[], integer, rowrun.claim_request)', 'c5c335ca1730c7411031f38fb06eb8e1', 111, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.next_run_id()', '3f06e2216078e37e55b2dba82ae9b5fa', 112, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.next_log_id()', '67fb5a66b510526e850f0019d2dfad3d', 113, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.end_batch(bigint[], uuid[], text[], jsonb[], text[], bigint[], boolean)', 'e48a2a24b4a2c4ef313b9849749147d9', 114, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.end_runs(bigint[], uuid[], text[], jsonb[], text[], bigint[])', '4d244a38d277e4409edd39e557618a8f', 115, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.check_isolation()', 'ccf59a9fda092938222c988f5e2c5d01', 116, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.define_task(text, text, jsonb, text, text, text, boolean, integer, interval, interval, integer, interval, text, jsonb)', '8b17fa17b3c659b70c50701b573dd638', 117, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.create_plan(text, jsonb, text, integer, text)', '667f6140d1a7db0d99e209a7d8cb9155', 118, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.run_task(bigint, jsonb, timestamptz, integer, text)', 'eba9aaaf1049a7276fb53536587703c2', 119, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.run_task(text, jsonb, timestamptz, integer, text)', 'e3e1da01c9709dd222d629d6260f57a1', 120, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.run_tasks(bigint[], timestamptz)', '0d5a66f6e62028e6cefe59da993430b0', 121, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.cancel_run(bigint, text)', '79dbd2cc9559991597e179ae02c0016d', 122, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.retry_run(bigint)', '82da707a599bb76cff207e203043a38a', 123, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.abandon_run(bigint, text)', '10a76349af99e0ed9098ed660231bcd1', 124, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.report_progress(bigint, uuid, jsonb)', 'a21ec07c01cfe2942da741c9b2c12cdf', 125, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.complete_run(bigint, uuid, jsonb)', '560a9449bb9824f03a21eac0cfd9b249', 126, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.fail_run(bigint, uuid, text)', '7a52b0063982600a745add81b2fd4c32', 127, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.remove_task(bigint)', '98996e3b8042ddd687a11670ad342d3e', 128, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.remove_any_task(bigint)', '6b9489adf052ce071f2000f71824d0c1', 129, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.delete_task(bigint)', '4f30b660f83234800d15cce9f88f0f2a', 130, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.remove_plan(bigint)', '394269c09ff1632a9f21aae99b4fa56a', 131, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.remove_any_plan(bigint)', '3b73f84acd5cbc58754f420be32afc0d', 132, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.delete_plan(bigint)', '2ca5523f5ae6ab53624961f00989bbd2', 133, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.remove_dependency(bigint, bigint)', '53b356c71f744e847019fbbfa95cdec4', 134, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.remove_any_dependency(bigint, bigint)', '120af16eacbad9af3aef09e98d44c022', 135, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.delete_dependency(bigint, bigint)', 'b891f0490cc5f144ef9d1a4cdff80f51', 136, NULL);
INSERT INTO rowrun.code_object VALUES ('view rowrun.job', 'ea6aaa36a7ac40e2ece035da85f4fd66', 137, NULL);
INSERT INTO rowrun.code_object VALUES ('view rowrun.task_status', 'b3f88727cb7754462331b1e450566bde', 138, NULL);
INSERT INTO rowrun.code_object VALUES ('view rowrun.plan_status', 'fbbfa9cf2dba4f79511dd452249e7157', 139, NULL);
INSERT INTO rowrun.code_object VALUES ('view rowrun.replica_status', 'd70b3f34d8ef74625fe0e4206929de97', 140, NULL);
INSERT INTO rowrun.code_object VALUES ('view rowrun.failed_run', '309de8bca0fbdb2b45b652f94a5f714f', 141, NULL);
INSERT INTO rowrun.code_object VALUES ('view rowrun.health', 'f4e36972b4006fa2cd1449ce64a00d4e', 142, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.ago(interval)', 'e3169506746f5e30d50d06712f33187b', 143, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.able_replicas(rowrun.task_run, timestamptz)', 'cb0dfafdf027d000352bfe2d20d217df', 144, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.database_stands(text)', '0fd98b489c803919e96b5a68cdca6f9f', 145, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.other_versions(text, text)', '40ab0605917a58dd1b693fe3ec93f72b', 146, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.stuck_on_database(text, timestamptz)', '2c47d729863ac416f89b9ca38555f9d4', 147, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.sequential_ahead(text, text, timestamptz)', 'e1a6d875b1a8cca2a63b268c06997e25', 148, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.waits_for_database(bigint[], timestamptz)', 'ed5b6ef4a0bfc0af44baad487b0ac7db', 149, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.plan_stands(bigint, timestamptz)', 'e0cfd03619fa13b06cd117ab2ba5d72f', 150, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.failed_task(bigint, text)', '30edb095787d5de972b9289e586a9fe9', 151, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.tasks_ahead(bigint)', '59e6c53b6dd3bdd1a98c1598f4b784aa', 152, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.waits_for_plan(bigint[], timestamptz)', '81566fe5f59d40d7ffe31c7cc10d2170', 153, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.kind_stands(text, text, text, jsonb, timestamptz, boolean)', '49609216cb48c6359768e328347798cc', 154, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.waits_for_replica(bigint[], timestamptz)', '0d17b36fc66cadcbb2c09b131887a20f', 155, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.passed_by(bigint[], timestamptz)', 'f2ba88c501dd8907c84e8cdfc5b35ad4', 156, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.waiting_runs(bigint[])', '5d5f48aba8a5068d2ac2b6da76aa16fc', 157, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.waiting_pages()', '1008ba1c44f69a5b5fa97a66eed5c9e6', 158, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.waits_for(bigint[])', '36fd0166504319a1551cd021c2909ee1', 159, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.waiting(bigint)', 'f99b53dd0d1f8472c820743cdb239600', 160, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.next_delivery_id()', 'b060dc5d3283d391296e481d16d7eb08', 161, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.webhook_fill()', '16b93698265cb3a35a6da1f833d00c13', 162, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger webhook_fill ON rowrun.webhook', 'fcf8b5ed257def35f0ad8e80b0a252f8', 163, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.webhook_filter()', '30e44c4bc6785589775f1c63e97defbf', 164, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger webhook_filter ON rowrun.webhook', 'c277d765bba37d914a4d8817f05e3e36', 165, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.filter_fits(jsonb, bigint, text, text, text, jsonb)', '7db8fe4b999642219f97ce4196620c2a', 166, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.chat_message(jsonb)', 'f02042a8626d4094f1ce7d78fb212cf0', 167, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.chat_line(text)', '63b39ba471019f09c06ed87a59a342b5', 168, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.slack_text(text)', '69d41a0a31e783069696716f05337592', 169, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.slack_body(text, text, text[], text)', '0ee0754f7f3c04dd6805cffd05cd2ad8', 170, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.teams_text(text, jsonb)', '792ff2104d1b16e786c6a3f9c2eb79c7', 171, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.teams_body(text, text, text[], text)', '97661a68ec21dac526e7533176b1437d', 172, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.discord_text(text)', 'f605f3c3a11e2aab806ebf920492a2a3', 173, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.discord_body(text, text, text[], text, text)', 'e2f3aa2d9e28236b299fc90964fe8eab', 174, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.webhook_body(text, text, text, text)', '783756791fe47d9c0f7cb9ad04c49e58', 175, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.webhook_content_type(text)', '71681d28c37b4dbb99bd5ee09376fc56', 176, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.address_event(bigint[], text, bigint, integer, text)', 'f9ad1cff381b4d06139599da6e059918', 177, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.address_task_event(bigint[], text, bigint, bigint, bigint, text, text)', 'c66f061cf3d6521a01320491f598457f', 178, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_called(bigint, text)', 'e38c621418b6624e1ee5274b232c667c', 179, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.announce_failures(bigint[])', 'ef54e7e80ab49eb904037a99799b601f', 180, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.announce_pause(bigint)', '6581af45dae9b56b2dfb012fdc13ea80', 181, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.announce_orphans(text[])', '3c711edef6a853391a13c26269fb1279', 182, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.webhook_changed()', 'c418df9be2d4c5184a122ea5437f7a04', 183, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger webhook_changed ON rowrun.webhook', '02c179264815b016aa3d3fb6fcbba0d7', 184, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger webhook_delivery_changed ON rowrun.webhook_delivery', '4be76b7afd68c3a7e922abfaeb487a01', 185, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.webhook_deleted()', '51f27b2ab46d7cfdcb7498486cc1c022', 186, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger webhook_deleted ON rowrun.webhook', '99865f30fd49ca6d26dd2bb2abc42c78', 187, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.delete_webhook(bigint)', 'dd3b7cb9f9e6d3563fc492b5e6e235a7', 188, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.due_event(rowrun.plan)', '904f100dad7be73f6c33048b398a9259', 189, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.plan_message(rowrun.plan, text)', '109479d041a15c2f4053f924a01edd14', 190, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.announce_plans(bigint[])', '10846e54b6622c66cf82574e9e596856', 191, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.begin_round(bigint, integer, boolean)', '7e359607beef09124f26303e701d511b', 192, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.next_rounds(bigint[])', '48763f3d8816c995bd331ed460161eaa', 193, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.begin_rounds(bigint[], boolean)', 'fcee58bb319fd53f1a3b590efbcf9283', 194, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.settle_plans(bigint[], jsonb, boolean)', 'f90449bff5c9bfa3ead900250f8a9d6e', 195, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.check_plan(bigint)', 'e5d5111ec90e7e03cc856f02574d7feb', 196, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.run_plan(bigint)', '7c96fb2708df6ce21ad136da3e605190', 197, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.retry_plan(bigint)', '19c7901d46f481a46dda126b65113499', 198, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.cancel_plan(bigint, text)', '8fda9146adc8371e72d72576fc106da7', 199, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.set_skipped(bigint, boolean, text)', '2ff53f25ee1a4593b4c6edc603501ccf', 200, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.skip_task(bigint, text)', '3e7ca83a3336a03e7a9ee7be70cbedbe', 201, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.unskip_task(bigint)', '625284c096d21284ea17d77325186696', 202, NULL);
INSERT INTO rowrun.code_object VALUES ('publication rowrun_stream', '328c87449a7de51d55c62437631119d1', 203, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.cron_field(text, text, integer, integer, text[])', '845e32d697982e6a20083a5ca240339b', 204, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.go_duration(text)', '64552a711fae61a7dcb7b6272e99ca40', 205, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.cron_local(bigint, bigint, bigint, bigint, bigint, boolean, timestamp)', 'ae4d16c125f6a881471dfb0ea0cba849', 206, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.utc_offset(text, timestamptz)', '3bb3711395543d0e86276f695bf12252', 207, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.clock_change(text, timestamptz, timestamptz)', '67f4248f17f2efbf786ba0bb4b641473', 208, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.parse_schedule(text)', '28b693b8ff67046df0ff60045a90983e', 209, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.tick_after(bigint[], text, timestamptz, timestamptz)', 'ccb3defa3a43e7c45327494ca7310a03', 210, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.next_tick(text, text, timestamptz, timestamptz)', '8a90a8443e4a6dc3bf36d8b53b5a73e4', 211, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_schedule_fill()', '4c4b9fe6a8197865a2de132e97cec225', 212, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.known_zone(text)', '0ee0bab582c6ad0975f481b665ce958b', 213, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_author_schedule ON rowrun.task', '365ae4bc91892e67018741af642d403c', 214, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_schedule_fill ON rowrun.task', '4f5938b8b2e8253ea27bdf4cdba45536', 215, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_schedule_refill ON rowrun.task', '0f6f7dcc185eaddd8edc6a6014d96a9e', 216, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.tick_that_follows(rowrun.task, rowrun.task_run, timestamptz)', '3071994bc6585d5c210197810006871c', 217, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.missed_at(rowrun.task, timestamptz)', '7d1480ac39498c24837b2a00fa88c0f5', 218, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.pause_schedule(bigint, text)', 'ea96a2020728e95449f04595faa1e925', 219, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.schedule_after(bigint[])', '8d46a2d6d17ad99871fa81a0d170c0bf', 220, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.schedule_ended(bigint[], bigint[])', '7d5d59812f872beb87ce91a9ecbbda9a', 221, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.cancel_tick(bigint, text)', 'e6622a69b86c580424214302765b06b3', 222, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.schedule_task(bigint, boolean, boolean)', 'becc4945ed5529321a2fd31cdd801ca9', 223, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_scheduled()', 'ef00b1d4574b73b37480a1c7db2e1e8a', 224, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_scheduled ON rowrun.task', '525836fd40934262c1fcf108ffc3cd52', 225, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_rescheduled ON rowrun.task', '2d449b18fa8776fdee0da96cb254d9d5', 226, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.skip_missed(bigint[])', 'ae849e2866a9a78b713f3a43bbfe0df3', 227, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.schedule_sweep(bigint, integer)', 'c6f11590b17004000506d83ddd09e0a7', 228, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.handler_task(text)', '9defe2985cf50fb6b2d918576fbb37d7', 229, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_recovery_check()', 'f2ad6a20e13c0a1dfc4c73df8b14dd9a', 230, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_recovery_check ON rowrun.task', '2d0593a482fdecc58940dc9d1707407d', 231, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.handle_ended(bigint[])', 'c982aa5f798c3fb2ab75c46015f79717', 232, NULL);
INSERT INTO rowrun.code_object VALUES ('view rowrun.orphan_task_run', '7eb9167c4f150d8fa7606b4e68457d8b', 233, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.record_orphans(interval, interval)', '19a25a170b397df41d703c494d0791b1', 234, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.purge_type(text, interval, bigint, integer)', 'a25d07fe214bcbdc49fdaa42657879e4', 235, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.insert_many(bigint, jsonb, text[], text, timestamptz, integer)', '717df6ed5ae9bd6f42708652604deea2', 236, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_named(text)', 'd816f7d814185b4ef92ae2899a6cfb13', 237, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.enqueue_many(bigint, jsonb, text[], text, timestamptz, integer)', '42d72b421e647a6b89c1af3f45fe5143', 238, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.enqueue_many(bigint, jsonb[], text[], text, timestamptz, integer)', '0a2a89e87c009c2f3f4a777f6e8ddc59', 239, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.enqueue_many(bigint, text, text[], text, timestamptz, integer)', '1d71a934d12febe8865f0fc9d069104e', 240, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.enqueue_many(text, jsonb, text[], text, timestamptz, integer)', 'f5d5e0e76d162ab22218b2e22ef389b7', 241, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.enqueue_many(text, jsonb[], text[], text, timestamptz, integer)', '7aaaa5f5f56c11c540f386ea873716d5', 242, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.enqueue_many(text, text, text[], text, timestamptz, integer)', 'ee4862e986949121b991fcec637ae2be', 243, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.replace_run(bigint, text, jsonb, timestamptz, integer)', '3a65cfabace74c4f6afe2729c573285e', 244, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.replace_run(text, text, jsonb, timestamptz, integer)', 'e8e840bff8e88db5134a23bdcb4f0796', 245, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.worker_claim_of(uuid, bigint)', 'c86df4a5f81c0c6bc56511110fdca8b4', 246, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.register_worker(text, text[], integer, interval)', 'a84733a43af9f86da790189bff26160f', 247, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.worker_problem(uuid, text, text[], integer, interval)', '5aca706f0da991812571b01f0fb69822', 248, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.request_key(bytea)', '649a932c34dc189718a5eac9b24fba8c', 249, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.worker_payload(rowrun.task, rowrun.task_run)', 'c5f18d97705dcdfe391c27ac7c7fa54c', 250, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.claimed_by_request(uuid)', '261019ca160c43c1c65f575a78a69052', 251, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.take_for_worker(uuid, text, text[], integer, interval)', '98c9ed27008a699982d9dba0747d79f8', 252, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.claim_runs(uuid, text, text[], integer, interval)', '1ea5091c576928d6be2e95ba404ae566', 253, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.heartbeat_worker(text, uuid[])', '785fe900422b678b4a689f10b7081638', 254, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.end_worker_runs(uuid[], bigint[], text[], jsonb[], text[])', '736af709168fbc2fa961239836f9c4cd', 255, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.check_results(jsonb)', 'bffc4c090f1f06869b4f8c2b8ee92a59', 256, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.is_uuid(text)', '1228c38d6bbac106b7d9c481a14498f3', 257, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.worker_result(jsonb)', '2976f1d1b8168506bc5b44d499bdc104', 258, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.finish_runs(uuid, text, jsonb, text[], integer, interval)', '9d277a57f526914ea2426321e1b90ed3', 259, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.release_runs(uuid[])', '4ed6fffa555d00f0fb16824f8bed84b4', 260, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.hold_ups()', '1e3ef0e35ff41933bac41ace9aeb55ba', 261, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.task_operations_fill()', '6742109a71a0805ada7dc2a16891200f', 262, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_author_operations ON rowrun.task', '5f88a95aefcbdda987cf531bd59d14c4', 263, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_operations_fill ON rowrun.task', 'b1ec9fe58768e7f3aa70df95e6853c8d', 264, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.keeps(rowrun.task, text)', 'aab82223e402e0a0947c56e2b3032b41', 265, NULL);
INSERT INTO rowrun.code_object VALUES ('trigger task_author_retention ON rowrun.task', 'c3f7d6a05b49989794a7d7f82f89e57f', 266, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.set_replica_paused(text, boolean)', 'f87a64f0e1ba50ff62f5af75aef550c9', 267, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.pause_replica(text)', 'f331e79182826d32aec99688b2a66421', 268, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.resume_replica(text)', 'bca22c761523108e2977183a770ac61d', 269, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.server_identity()', '1098bce595aa3db4dfd84aebae759dd7', 270, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.deployment_elsewhere()', '3fd9728275cfa53d5d02e91890b6eb8c', 271, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.renew_deployment(boolean)', 'f5fc2cc67b13f13240dcd61c7f068b2a', 272, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.normal_error(text)', '24d2744408d6a76dccc6a2edfa2c6d4b', 273, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.run_id_at(timestamptz, bigint, bigint)', '840817d7cbac2fb07224dc89f81fcd90', 274, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.run_matches(jsonb, text, text, text, text, bigint, bigint, bigint, timestamptz, jsonb)', 'e66c5afb87adfb8be11602df0b2c18bc', 275, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.find_open_runs(jsonb, text[], boolean, bigint, bigint, integer, integer)', '42e3f789d8571c4c2372144ae6ca9bf9', 276, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.find_runs(jsonb, boolean, bigint, bigint, integer, integer)', 'cdcc4235b7e7c1112449744846c315d0', 277, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.find_tasks(jsonb, boolean, bigint, bigint, integer, integer)', 'f965410ae2f336ee9c11ff527ef00ce4', 278, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.find_deliveries(jsonb, boolean, bigint, bigint, integer, integer)', '1e6eb6c0467d32c94908a4ddfcc2bfcf', 279, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.do_act(text, text, text, jsonb)', '50cb3b507544bedbee6bd6bca810ccb2', 280, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.step_act(bigint, integer)', '2c6940d44b7f548e2a716768b3c2587a', 281, NULL);
INSERT INTO rowrun.code_object VALUES ('function rowrun.note_act(bigint, text)', '4e22b730d7dfa130bb4ecedfffede1f3', 282, NULL);
INSERT INTO rowrun.code_object VALUES ('grants grants/tables', 'd19bb1a58e58552896bf361ccf7d370d', 283, NULL);
INSERT INTO rowrun.code_object VALUES ('grants grants/functions', 'a637259082191712509d4b4e865ec42f', 284, NULL);
INSERT INTO rowrun.code_object VALUES ('grants grants/schedules', '8a6866a31d5a62d7591cfe6192a08ff5', 285, NULL);
INSERT INTO rowrun.code_object VALUES ('grants grants/liveness', 'a1c15cb6f7d8fb2f1d1a4f8162452643', 286, NULL);
INSERT INTO rowrun.code_object VALUES ('grants grants/operations', 'c24054a0e82fd491acf9fb8e046dbe36', 287, NULL);
INSERT INTO rowrun.code_object VALUES ('grants grants/workers', 'faee09a09ac4e825d70d80eb4515b4b7', 288, NULL);
INSERT INTO rowrun.code_object VALUES ('grants grants/acts', 'da4df2d2d01d35eb83363d2201c3bc10', 289, NULL);
INSERT INTO rowrun.code_object VALUES ('grants grants/excess', '42806fabe1015e1a29b1ff6e58883356', 290, NULL);


--
-- Data for Name: code_version; Type: TABLE DATA; Schema: rowrun; Owner: -
--

INSERT INTO rowrun.code_version VALUES (true, 1, '931eb8526c6d2842de282e3c64475506', '2026-11-23 19:48:07.025275+00');


--
-- Data for Name: deployment; Type: TABLE DATA; Schema: rowrun; Owner: -
--

INSERT INTO rowrun.deployment VALUES (true, '4fd10fff-2264-471b-8d15-cb6921a863a4', '2026-11-23 19:48:06.392955+00', NULL, NULL, 7711443191088456142, 17244, 1);


--
-- Data for Name: gate_mark; Type: TABLE DATA; Schema: rowrun; Owner: -
--

INSERT INTO rowrun.gate_mark OVERRIDING SYSTEM VALUE VALUES (1, 'NO_REPLICA', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:48:07.918088+00');
INSERT INTO rowrun.gate_mark OVERRIDING SYSTEM VALUE VALUES (2, 'NO_REPLICA', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-23 19:48:07.918423+00');
INSERT INTO rowrun.gate_mark OVERRIDING SYSTEM VALUE VALUES (3, 'PLAN', NULL, NULL, 1, NULL, NULL, NULL, NULL, '2026-11-23 19:48:07.973828+00');
INSERT INTO rowrun.gate_mark OVERRIDING SYSTEM VALUE VALUES (4, 'PLAN', NULL, NULL, 1, NULL, NULL, NULL, NULL, '2026-11-23 19:48:07.97508+00');
INSERT INTO rowrun.gate_mark OVERRIDING SYSTEM VALUE VALUES (5, 'PLAN', NULL, NULL, 2, NULL, NULL, NULL, NULL, '2026-11-23 19:48:07.97828+00');
INSERT INTO rowrun.gate_mark OVERRIDING SYSTEM VALUE VALUES (6, 'PLAN', NULL, NULL, 3, NULL, NULL, NULL, NULL, '2026-11-23 19:48:07.978359+00');
INSERT INTO rowrun.gate_mark OVERRIDING SYSTEM VALUE VALUES (7, 'PLAN', NULL, NULL, 1, NULL, NULL, NULL, NULL, '2026-11-23 19:48:08.008856+00');
INSERT INTO rowrun.gate_mark OVERRIDING SYSTEM VALUE VALUES (8, 'PLAN', NULL, NULL, 2, NULL, NULL, NULL, NULL, '2026-11-23 19:48:08.013657+00');
INSERT INTO rowrun.gate_mark OVERRIDING SYSTEM VALUE VALUES (9, 'PLAN', NULL, NULL, 3, NULL, NULL, NULL, NULL, '2026-11-23 19:48:08.026877+00');
INSERT INTO rowrun.gate_mark OVERRIDING SYSTEM VALUE VALUES (10, 'DEPENDENCY', NULL, NULL, NULL, 11, NULL, NULL, NULL, '2026-11-23 19:48:08.04367+00');
INSERT INTO rowrun.gate_mark OVERRIDING SYSTEM VALUE VALUES (11, 'PLAN', NULL, NULL, 1, NULL, NULL, false, NULL, '2026-11-23 19:48:08.043883+00');


--
-- Data for Name: migration; Type: TABLE DATA; Schema: rowrun; Owner: -
--

INSERT INTO rowrun.migration VALUES (1, '2026-11-23 19:48:06.392955+00', 'd73ff5232165c5f9f41e3e3f491cf8312cd7a346c0a7a4925dc83a509fcc6447');
INSERT INTO rowrun.migration VALUES (2, '2026-11-23 19:48:06.800276+00', '8bc882226c70f7766592c9800ed3983cca0db46231ee8244e630f88154458dd1');
INSERT INTO rowrun.migration VALUES (3, '2026-11-23 19:48:06.84003+00', '375cfd27ffa9510958576b0a9f6843b5058811141a6483b28d2cc676624ab2e7');
INSERT INTO rowrun.migration VALUES (4, '2026-11-23 19:48:06.88481+00', '6808320d466e9fc1f608c3f3c15ec7fe9272c6f5c74536344b3716888f2594d8');
INSERT INTO rowrun.migration VALUES (5, '2026-11-23 19:48:06.915989+00', 'd99a87d393a4f625ed11a4af1d9f1fa580331f3423f123442a7dc04132a2b260');
INSERT INTO rowrun.migration VALUES (6, '2026-11-23 19:48:06.931705+00', '7aa251e98cb14b351f35ae6262d55a64f8371197cd303177bfbde5d37feadbc4');
INSERT INTO rowrun.migration VALUES (7, '2026-11-23 19:48:06.958971+00', '221f57dc757f2f8fb660e4f5e120a4e9e32f5eb37a77b7c5fbab56fa05b1914a');
INSERT INTO rowrun.migration VALUES (8, '2026-11-23 19:48:06.991973+00', 'a320cf926dc9f98c50ce03acab45885a5b04a75efc78d59b09ecdca32b88dbc4');


--
-- Data for Name: orphan_type; Type: TABLE DATA; Schema: rowrun; Owner: -
--



--
-- Data for Name: plan; Type: TABLE DATA; Schema: rowrun; Owner: -
--

INSERT INTO rowrun.plan VALUES (1, 'default', 'in every state', 3, 'STOP_DATABASE', false, 1, '2026-11-23 19:48:07.926821+00', 0, 0);
INSERT INTO rowrun.plan VALUES (2, 'default', 'complete', NULL, 'STOP_DATABASE', false, 1, '2026-11-23 19:48:07.926821+00', 0, 0);
INSERT INTO rowrun.plan VALUES (3, 'default', 'failed', NULL, 'STOP_DATABASE', false, 1, '2026-11-23 19:48:07.926821+00', 0, 0);


--
-- Data for Name: promotion_lock; Type: TABLE DATA; Schema: rowrun; Owner: -
--

INSERT INTO rowrun.promotion_lock VALUES (1);


--
-- Data for Name: replica_heartbeat; Type: TABLE DATA; Schema: rowrun; Owner: -
--

INSERT INTO rowrun.replica_heartbeat VALUES ('dump-1', '2026-11-23 19:48:07.911455+00', 'alive', '', '', '2026-11-23 19:48:07.911455+00', 'ACTIVE', '00:01:00', '{default}', '{NOOP,SQL,DATABASE_MIGRATE}', '{orders}', '{}', 0, 0, NULL, NULL, false, 'worker');
INSERT INTO rowrun.replica_heartbeat VALUES ('dump-2', '2026-11-22 19:48:07.911455+00', 'gone', '', '', '2026-11-23 19:48:07.911455+00', 'ACTIVE', '00:01:00', '{default}', '{NOOP}', '{}', '{}', 0, 0, NULL, NULL, false, 'worker');


--
-- Data for Name: schema_migrations; Type: TABLE DATA; Schema: rowrun; Owner: -
--

INSERT INTO rowrun.schema_migrations VALUES (8, false);


--
-- Data for Name: schema_object; Type: TABLE DATA; Schema: rowrun; Owner: -
--

INSERT INTO rowrun.schema_object VALUES ('constraint', 'schema_migrations_pkey ON rowrun.schema_migrations', 'e807ca88c4ae5c4c19244ed438ad4eb8');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'migration_pkey ON rowrun.migration', 'dfc59bddd2878d5d038f6922de2533ac');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'code_version_singleton_check ON rowrun.code_version', '7083dc3580d87bd63ff276fa2a43ee0f');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'code_version_pkey ON rowrun.code_version', 'de3ac796a41407e76434f75657b3e48d');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'code_object_pkey ON rowrun.code_object', 'e86f50072559c90d435f9bc267cf2e91');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'deployment_singleton_check ON rowrun.deployment', '549bf59b4a81af044d7c8a131b65d878');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'deployment_pkey ON rowrun.deployment', '5120ecc0edf4a437ac47dc03e93a22c8');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.version_key(text)', '131eaff6bd92a7dacc5e8ed3e11280f1');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.too_deep(jsonb)', '9b6118db9b79a2779b18cb4988a1615f');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'plan_id_from_1 ON rowrun.plan', 'ddda9897c502e877409d9d3dcb26bda3');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'plan_project_1_to_200_bytes ON rowrun.plan', '0fb5825baa0b262a70b5fd89b70f5ea4');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'plan_name_up_to_200_bytes ON rowrun.plan', 'db2cddbfbe5f4598e6fa7c03ec1c26be');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'plan_parallel_limit_from_1 ON rowrun.plan', '2193bb5a629da190eac2105d45c0be59');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'plan_on_failure_stop_database_stop_or_continue ON rowrun.plan', 'c5a6b307eee51186cce969b04abeffe9');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'plan_pkey ON rowrun.plan', 'ad5502584dbb5347eaeba307002005ad');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.plan_unannounced', '131aac614572ccb9f388212cfd7f5306');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_id_from_1 ON rowrun.task', '6498ec729321e60dc247869f09b71fbb');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_name_up_to_200_bytes ON rowrun.task', '00448fa7acc1d32468f6183430e552de');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_type_1_to_100_bytes_no_control ON rowrun.task', '2dead955f9df4f36bb2c1559839831ff');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_queue_1_to_100_bytes_no_control ON rowrun.task', '073bb6c6fe82ca27a0a8e4be0dea48f1');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_database_id_1_to_200_bytes_no_control ON rowrun.task', '74820785de82e0679f46e6cf5aab78c8');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_version_numbers_and_dots ON rowrun.task', '90a4bd1fee5a925655a0b9d167ae59c6');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_payload_an_object ON rowrun.task', '6d1482574bd64ca13fb50e000165feaa');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_payload_up_to_1_mib_and_1000_levels ON rowrun.task', 'db319046a725bab8c30699dfb63e0fc5');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_timeout_0_to_100_years ON rowrun.task', 'c26e9df4715710ae1b0ac49315370da0');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_progress_timeout_above_0_to_100_years ON rowrun.task', 'cafa9809a8ef1954a532bf663aec14e4');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_max_attempts_from_1 ON rowrun.task', 'a182316c2003ee94cd57c401356e041c');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_retry_delay_0_to_100_years ON rowrun.task', '6f07179ab02793202c51d0ed5afb9ab8');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_on_stale_fail_retry_or_cancel ON rowrun.task', 'abd500da74bbd9179fb923efd0bf8ff5');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_on_failure_task_1_to_200_bytes ON rowrun.task', '220117b6052b84c012b4bb1e6dd27002');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_skip_reason_up_to_10000_bytes ON rowrun.task', 'dce3b401f4d24335d4ee9306490dda7c');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_retention_0_to_100_years ON rowrun.task', 'a0b5353104b46e288734b94d79e90e80');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_labels_an_object ON rowrun.task', '85f94fffdf09d9fdc28441ab013bdc20');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_labels_up_to_1_mib_and_1000_levels ON rowrun.task', 'b8617efb3eb748c1eeaadcd00b122ba1');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_outcome_an_end ON rowrun.task', '05d72279ea2f51196279247818626719');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_schedule_up_to_1000_bytes ON rowrun.task', '16e6abec67c21e6f5ad772585ded8fda');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_time_zone_up_to_100_bytes ON rowrun.task', '330f2ab30956cf4828599f3c5d055596');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_misfire_skip_once_or_all ON rowrun.task', '6a3f06b4090db3a9efcdecde1a0f0cde');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_starts_at_1900_to_9998 ON rowrun.task', '9fb1d7c8204eba24361dff1b3ffc863e');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_ends_at_1900_to_9998 ON rowrun.task', '2115df1bad946582de25f32f1f474cec');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_overlap_skip_or_queue ON rowrun.task', 'b3639ec58c2a8cf580f8423fdddbd389');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_state_up_to_1_mib_and_1000_levels ON rowrun.task', 'aa6a2e7b618dafefda710c188cf5195f');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_failure_log_level_debug_info_warn_error ON rowrun.task', 'ca197c2d2045711e258e65b8103990ee');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_migrate_needs_target ON rowrun.task', 'afb3f33184b208ca28cf0b602e5be05a');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_order_needs_database ON rowrun.task', '52eb7d9d0bec852e5d406fe53a2342b5');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_schedule_without_plan ON rowrun.task', '04d0503f152f57fa5fddff0a70fc14f0');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_pkey ON rowrun.task', 'c73cd761cec7a8c8d1009a143b46d2e5');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_plan_id_fkey ON rowrun.task', 'e03e656f0a6b4cdc1934521a784af157');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_plan_name', 'e4ea45d42d1fa2b9a3f5f3b6113c1f94');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_name', '90a7f61a27fedd0e14b1be8616f3582a');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_plan', '0ba419afa4f84dabf05f847a34c423c0');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_plan_failed', 'c99ff90b17104ce304c3ca4a18e18777');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_plan_failed_round', 'dd443d093341e4ea2eb6bf11febfeef4');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_plan_open', 'ed07328d7e80847f64851d302eabb60f');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_dependency_not_itself ON rowrun.task_dependency', '252a452b95ae418a3e7c5996c014d8f0');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_dependency_pkey ON rowrun.task_dependency', 'bd6c96ef62fb08cc464f281212e15998');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_dependency_task_id_fkey ON rowrun.task_dependency', '1bb669455ba00b03cbe94776c4f2f9b9');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_dependency_depends_on_id_fkey ON rowrun.task_dependency', 'ec5a22c62d73016d991a8dcc0a5d816d');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_dependency_depends_on', '377cc8c530478c486232020321c61a64');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_run_pkey ON rowrun.task_run', 'c368c8c31a03fa1b17380ee93ebda260');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_run_task_id_fkey ON rowrun.task_run', '077a71e92e92f7b79ec2ad911ba45760');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_awaits_plan', '542719066bb3190d31de6862fb8f2125');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_judge_free', '4b907608b2572bdad80430fffe19c4c6');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_judge_gated', 'a1085f00d1b70fad67a3a2789ca4a628');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_judge_turn', '941ae2fc067e54526e4e08d7cbb64b00');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_available', 'b35dfe533d698cce1f2920f33764eceb');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_database_pending', '07d1f7855154f559e1afdda301ef5c71');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_database_held', 'e201ea1a93e9842cab0d66928ff87a33');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_database_active', '51219ef64af945af7eaf26dd01e03cae');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_database_sequential', '195b99ea8edc8f287f702444d1a0d546');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_plan_unfinished', '1725df97a7000078e15192c83ba205a6');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_one_unfinished', '7cd69a9dd9c1b7653b2f53788889d915');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_newest', 'bd009672f407f6da51bec83add8da4e6');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_held_plan', '80bac4c516dd929217bbf51f432ab90c');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_held_paused', '65daf5f0a33fc34d547a4537a33b0cf0');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_held_replica', '4e89e7d0d34b61e5e677127b06db31d5');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_idempotency_key', '74d6adc53ac207819623675c9630208d');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_retry_of', '24703bade0ab6a9536fff2928580e824');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_chain_end', 'ec63b2535c9c0cf7fb8c80365017d026');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_failed', 'd7709093b3b69e70846a362a5f16d987');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_run_log_detail_check ON rowrun.task_run_log', '639eda6c555485022105d0b990e53f41');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_run_log_pkey ON rowrun.task_run_log', 'e3c5dd1229f3762e4d8b34e2866923d4');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_run_log_task_run_id_fkey ON rowrun.task_run_log', '35d1cb92ea9843de6e94a27dfb81a843');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_log_run', '36b8e1e356bde6cfb580414d2b4ad914');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'gate_mark_kind_check ON rowrun.gate_mark', '67528fb06e4489d9cfca06b5a4295b96');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'gate_mark_pkey ON rowrun.gate_mark', 'e4da25032836d6547996f742bc3b62d0');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'promotion_lock_id_check ON rowrun.promotion_lock', '0d9c22f9dd6f3ba7137e759ff7cc37ba');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'promotion_lock_pkey ON rowrun.promotion_lock', 'a03083d2080912bc40881b67e3b3253c');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'webhook_pkey ON rowrun.webhook', '832a478b937ca478b44c563565effb01');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.webhook_project', 'e07b6dadd25cd2460c7771572a74048c');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'webhook_delivery_log_event_type_check ON rowrun.webhook_delivery_log', '99f100235c818e10092509e7755243cf');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'webhook_delivery_log_pkey ON rowrun.webhook_delivery_log', 'dc7687ab35009d74fafcda8c12fccc5b');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'webhook_delivery_log_plan_id_fkey ON rowrun.webhook_delivery_log', '46d4cbda78d64229f92fc9d7c711a65c');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'webhook_delivery_status_check ON rowrun.webhook_delivery', '4e1ae4746b991f930a199e9c5d88176b');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'webhook_delivery_attempts_check ON rowrun.webhook_delivery', 'ffed7d722d348f4bbf8c60be1b1bc187');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'webhook_delivery_next_attempt_at_check ON rowrun.webhook_delivery', '96a5cda4dd47d3244a2a9f2f6db00890');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'webhook_delivery_delivered_at_check ON rowrun.webhook_delivery', 'd39f67bdff25e91f6e2f5ee569c47848');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'webhook_delivery_leased_until_check ON rowrun.webhook_delivery', 'e162d32bca91236d188be777cb1f94e7');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'webhook_delivery_has_time ON rowrun.webhook_delivery', 'dcfe847622e7694a0cf6e4f6ee391ce8');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'webhook_delivery_pkey ON rowrun.webhook_delivery', '1c79c791cafac61c6a665845b60839fa');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'webhook_delivery_message_id_key ON rowrun.webhook_delivery', 'c85a637b5bb0052a81c0d287eab7e7d4');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'webhook_delivery_once ON rowrun.webhook_delivery', '15fb18d428a56ef92f81afb090198a0b');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.webhook_delivery_due', '4ca60c73b752288246cfe8c398f8cfdf');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.webhook_delivery_waiting', 'c7971ebb26c1dad39a370d7d13629734');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.webhook_delivery_oldest', 'd3c9db038ae051702aabe4ae0344ef1f');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.webhook_delivery_leased', 'e3f09e908bf50764b52bc6870c7963de');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.webhook_delivery_plan', '433c6d52e30022c224a1412d7c44b4bb');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.webhook_delivery_settled', 'a911b06e6ac1b1694328da11c86a92e0');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'stream_position_pkey ON rowrun.stream_position', '8434fea796fc12cebcb14adc56563b68');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'stream_handover_pkey ON rowrun.stream_handover', 'c4975e03b9a829141df613bacb4dfc3a');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_tick', 'f520806cfea5bdca8410aa89eaad3bec');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_tick_unfinished', '8f1bf398a002e7eb2abfdf7316005ca4');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_scheduled', '463be00ccdc8f46d8071bab9ab04cbaa');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_schedule_error', 'c73c8d0c8ac6d7ccafd586572f560f6a');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'stream_note_level_check ON rowrun.stream_note', '69879af0e8ca5048cf4854304d3c8255');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'stream_note_detail_check ON rowrun.stream_note', '02faaa4d564ae18e98ad33eb769f6b3c');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'stream_note_pkey ON rowrun.stream_note', '602ac9d6d3393985c23756a30c300baa');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.stream_note_unprinted', '1951003fa12822868fb975e408f276fe');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_type_type_check ON rowrun.task_type', 'a7dea15e30d48d9b93043dd7eb03323a');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_type_check ON rowrun.task_type', '4595e4bde4fb21acd7c17bbd23e213d3');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_type_mapping_check ON rowrun.task_type', '9e00831b3e172b0c9eca003fc8d2ff41');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_type_alias_harmless ON rowrun.task_type', 'dd462a81770cc8a4af105129e411b798');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_type_mapping_of_alias ON rowrun.task_type', '7b5cf8581f37d11dd96635eb16289a31');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_type_pkey ON rowrun.task_type', '1e7b4c4da4441437a1ff8415cb452851');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'orphan_type_counts_what_is_there ON rowrun.orphan_type', '67c52acb92c4f14af218a151dbe2fd49');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'orphan_type_pkey ON rowrun.orphan_type', 'e008154343b0e552bc56b9fa4694e4c2');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_retention', 'a9a476650891e4c008d47d6810279954');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_own_retention', 'da9a1ba0cd2aee9a08c14d0f64b8cb48');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'schema_object_pkey ON rowrun.schema_object', 'bcf10b89daf8a024d5dcb36f8d83a314');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'replica_heartbeat_replica_id_check ON rowrun.replica_heartbeat', 'a8d29637c89f7921b426697f47a5ed88');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'replica_heartbeat_last_heartbeat_check ON rowrun.replica_heartbeat', '75aff0a8525cdc5f344a4f0494fcf5ec');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'replica_heartbeat_name_check ON rowrun.replica_heartbeat', 'ac201b680970287bd610b47293ef682b');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'replica_heartbeat_state_check ON rowrun.replica_heartbeat', 'b0e56ca6dc9affacdf6991948431456d');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'replica_heartbeat_lease_check ON rowrun.replica_heartbeat', '4cbb1a8c7ba61438cbbd63303a6b063a');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'replica_heartbeat_queues_check ON rowrun.replica_heartbeat', 'fb2043a1a2c124998bd0d9febd1605b2');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'replica_heartbeat_types_check ON rowrun.replica_heartbeat', '36d1b50ce7390dc7b8394e687e4ca229');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'replica_heartbeat_databases_check ON rowrun.replica_heartbeat', '369cd99182c62e4643ec1160eecf4381');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'replica_heartbeat_commands_check ON rowrun.replica_heartbeat', '9db816641e3496f3ecf81a982a427e41');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'replica_heartbeat_concurrency_check ON rowrun.replica_heartbeat', '10427d9f164892856644197c9dfe8ed7');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'replica_heartbeat_running_check ON rowrun.replica_heartbeat', 'a7599facba5ee447b9362eb4697d3dd5');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.check_isolation()', '2ed02bd8297be8a7b612137b0c8d26a6');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'replica_heartbeat_wake_source_check ON rowrun.replica_heartbeat', 'df19888926519f35c246e35d6c81ce02');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'replica_heartbeat_pkey ON rowrun.replica_heartbeat', '4a6a7d6fe98e9fa381ffa01085cb9dfa');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_run_running', '7615342168d546bd737a69bd6af010cd');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.replica_heartbeat_worker', '165fbbff9e9e90b864338a5327ca0f23');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'worker_claim_pkey ON rowrun.worker_claim', 'e34fbf004c3bf6e1972f36fe6ec89b55');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'worker_request_pkey ON rowrun.worker_request', 'a746c785e2e39e41381f2713a20a969d');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.worker_request_made', '93202b9144b32cf6735a4a155c6ec4e4');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'replica_heartbeat_role_worker_or_admin ON rowrun.replica_heartbeat', '396a00aa96361006dc475b9542d04113');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_retention_by_status_done_failed_canceled ON rowrun.task', '8c363a67dbb92a1fc36477ff0dbb9683');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'task_retention_by_status_0_to_100_years ON rowrun.task', 'ecb8b7bfafee3bf86a4b0ce38b798dcb');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.task_retention_by_status', '298a24debb4ea588db48f72669382de7');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.webhook_run_failed', '475d135fffe1a2b71ea6828369e6db51');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'webhook_delivery_event_type_check ON rowrun.webhook_delivery', '68f5bd158912736cbe95e24e038c1358');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'webhook_delivery_says_of_what ON rowrun.webhook_delivery', 'd0700a8a41cd6aceb5add3c6d513e7ca');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.webhook_delivery_chain_once', '6926eb1a8d584fd843d10c482cee7e16');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'act_verb_known ON rowrun.act', 'f8826c7c40fc04efc64e3ec07f09c990');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'act_kind_known ON rowrun.act', '0a8c97ea408146f37031ac5f36f2faeb');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'act_asked_by_1_to_200_bytes ON rowrun.act', 'b79fb927566ed720ec3dddecc2d112de');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'act_targets_1_to_1000 ON rowrun.act', 'a3018d21e4efcc964b8f3adccba5212d');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'act_filter_an_object ON rowrun.act', '4bcf1e3f83d55ec062923ca246a7ded8');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'act_search_an_object ON rowrun.act', 'ffa55c2659d94298e1f2cee145191a61');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'act_args_an_object ON rowrun.act', '6fa2e3eb3904ce164ebb0ff6f5dd03fc');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'act_state_running_done_or_stopped ON rowrun.act', '46468ecdf0ab745abc98689a15d1491c');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'act_stopped_by_1_to_200_bytes ON rowrun.act', '7b622b83984b0b198744fd1bc2cc8960');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'act_by_targets_or_filter ON rowrun.act', 'ddfe71627818388162e018aab6f8ec00');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'act_pkey ON rowrun.act', '61b9104aa1ff9c464a82aaaaa978544e');
INSERT INTO rowrun.schema_object VALUES ('constraint', 'act_request_id_key ON rowrun.act', 'b54743490612e2fce032ef65562fbcb6');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.act_unfinished', '2094425935700290dba2222c11ceae90');
INSERT INTO rowrun.schema_object VALUES ('index', 'rowrun.act_created', '443bed7394f3e82410b515208f3cc48f');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.is_owner()', 'c3bf797fed88b6ed1224abb964fc0816');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.is_trusted()', 'c8bdce284dc5a29073bc69a36d4ade44');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.is_authors(text)', '0099b2660f3376f3f9ddc04519e46954');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.is_author()', 'c3ce75cd1f56dd913809592962f4ca9e');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.check_id(bigint,regclass)', '4aa378e6e70a097014c1841d8afea183');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.plan_fill()', 'be812ce2365b8a9c1cb35f02323c6159');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'plan_fill ON rowrun.plan', '678d558852610f3749b0eae440d86dc2');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.check_task_words(rowrun.task)', '0214e3512e6649696e0ce5ccf8d86cfa');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_fill()', 'ab855c5b03b26c2d042ef846dfb3be43');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_fill ON rowrun.task', '71868d0a0c4f9b8ef4beb53b7045ca0b');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_author_check()', 'c2dba19009042f8494192de76b5e7603');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_author_insert ON rowrun.task', '824abf7941346113f8a6274220269460');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_author_update ON rowrun.task', '9b4ce73b53a2ca7f5d6483ea4b342522');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_dependency_author()', 'd7d90ff8dc2d6c3631ae6b62c6b79f67');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_dependency_author ON rowrun.task_dependency', 'fc70a2869f80d3f9a1dc7b838abd94f7');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_dependency_check()', 'af61cc9a8f558556147217c9b2bd6155');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_dependency_check ON rowrun.task_dependency', '446a6d25955a78e6d8a5b91db81f5bc1');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_dependency_acyclic()', '9d6b953d5a727cad17b248587ba8ef7b');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_dependency_added ON rowrun.task_dependency', '89572c4ed942e5e928548690d5330bba');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_dependency_moved ON rowrun.task_dependency', '9ef44978d0cb82067186cf931c2b9f09');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_run_bounds(rowrun.task_run)', '3e66c674f88634ea7cb484bcb555c6dc');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.is_scheduling()', '971295db147184d5d8eba350b5bf1cfb');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.unstarted(rowrun.task_run)', '9cf945e6f9f0d882e6ae8b19933f92ab');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.is_blocked_at_insert(rowrun.task_run,timestamp with time zone,boolean)', '9c708b7dc004dfa8e4bd182d0ef7d2df');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_run_fill()', 'a2c696458e7543e2a654d861a41c4cf3');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_run_fill ON rowrun.task_run', 'd0599eacf3fcfe93dd5b12139ccaa81c');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_run_guard()', '43fe9961b1713c5c6fd9e77c136f395d');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_run_guard ON rowrun.task_run', 'ca2ba7f255d42257e64c124b8a6a66fa');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_run_fixed()', '2c76bab2e1a9fde2f0e186254dc0ec3d');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_run_fixed ON rowrun.task_run', '51fc360e232bd9093bf4f0aa3ae8f0f1');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_run_keep()', '0714a726bceb5a31a2ca6782b9836c77');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_run_keep ON rowrun.task_run', 'd88745b9dc278687313c8ade02b7744d');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.replica_heartbeat_fill()', '8578c1fea652d9eb645ce0d0d2e87abb');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'replica_heartbeat_fill ON rowrun.replica_heartbeat', 'c9950a648d3b1d886e05afe750bfda4c');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.may_notify()', '3946a80310c90ac7a246e549ac375025');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.notify_look()', '5addf60560520a5f5d12c127b82121e7');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.is_quiet()', 'f7de70289c4af0859f0e2b51bcdcc500');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.transition(rowrun.task_run)', '1b848553ef277f5369a0a2535dc75536');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.arrival(rowrun.task_run)', '04f12980aed5f0e630e933dfbd832092');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.promotion_and_claim(rowrun.task_run)', '91fb1ec344bf9fba84d2e241996904ce');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.announce_parts(text[])', '4f4c003de5441b28a3ffd2b24c6b1197');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.announce(text[])', '827321a9b69d25a84c19781f441c4cde');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.announce_one(text)', 'a98e6db6f61891ed80348ddae90984a7');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.mark_stopped(bigint[])', 'f9539bbfa877d69ebc661a85f14735ef');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.mark_ended(bigint[],boolean)', '54120338ed9b774852452fe30400ce33');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.mark_edited(text,boolean)', '6c4ad1ae400729bd5324fdd2bf178086');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.mark_ready(bigint)', 'd70f55844bcfaec132f8e6fd0804d73d');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.mark_blocked(rowrun.task_run)', 'bf8c1f6dd914d507c98049ad1f99d305');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_run_inserted()', '1746a375d70d0558808c4acc05c14434');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_run_inserted ON rowrun.task_run', '4e11b7dd8d2eda92d7d7c9fe1d07871c');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_run_edited()', '11b84b6e3244733683cdcb71b39a2e8a');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_run_edited ON rowrun.task_run', '89b47e0bfb734a69c1f65166fa60586b');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_run_deleted()', '1ccf3bef446d443bb6ad7ef5ec002995');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_run_deleted ON rowrun.task_run', 'dd6d4b221c6a2285782a292c561f84cd');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_outcome_changed()', 'd12b8bb44eba958a9fec64af0d60127c');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_outcome_changed ON rowrun.task', '6be32130d12fd557d4da1a3969062108');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_gate_changed()', 'ec6dc4de1f047507c70e675c9d2e104f');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_gate_changed ON rowrun.task', 'd32c4edbc0ad925f00826fc72c3e42fe');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_left_plan()', 'cf675ceb0a69455ff36121620faaef33');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_deleted ON rowrun.task', 'f4ec23a80ec9c85e8cce679da7ac0a5d');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_moved ON rowrun.task', '925d0bc8a38aec7c6199933279a8b5fc');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.plan_gate_changed()', '7b98e48da1c738ca9e514739e2c72084');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'plan_gate_changed ON rowrun.plan', 'ad7fc4476dea6e946e591481eabf5b1c');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_dependency_changed()', 'efc0355602ee70059f6165ccfb22bd3d');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_dependency_changed ON rowrun.task_dependency', 'c69dfc9a0f7229a53fba091ef91e249e');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.replica_changed()', '70c331b66f62af47a207651416e83dd2');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'replica_came ON rowrun.replica_heartbeat', '72dc24257f52e0b76b3f2ca82ab6c383');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'replica_changed ON rowrun.replica_heartbeat', '10b18463eeaad085d5ad34b11ff0495e');
INSERT INTO rowrun.schema_object VALUES ('view', 'rowrun.unmet_dependency', 'ffcf085ca55b1672c5479ed0b297dd5e');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.fits(text,text,jsonb,text[],text[])', '35fcb25fee8503eedf3beed4d4f29531');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.takes(rowrun.replica_heartbeat,timestamp with time zone,text,text,text,jsonb)', '132eeb3754399d0cc64a99c12801d622');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.may_take(rowrun.task_run,rowrun.task,text[],text[])', '5d40ddb114955d8d3971e81c11aba92e');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.sequential_open(bigint,timestamp with time zone)', '6a18b840f62f2bf3ef10789aee5772f9');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.first_sequential(text,text,timestamp with time zone,text[])', 'f88d13d43f11b92afc7e699c3347372b');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.smallest_version(text)', 'f90ae1ecc497e3cdca2a83cde1fb260a');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.databases_of_plans(bigint[])', 'c9b39ab93392eb419e71a64a134f9719');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.own_cause(rowrun.task,timestamp with time zone,timestamp with time zone)', 'bb867062841135487e36d3ef6c2789af');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.closed_gate(rowrun.task_run,boolean,timestamp with time zone)', 'dd9572f75f89e5c999a9617e65413b68');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.plan_room(bigint)', '009b14cef768a90790bec00029314f13');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.promote_runs(boolean,boolean,integer,rowrun.claim_request)', '2e58744e9dc5fbe322f7c59c4b3d6a22');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.make_available(bigint[],timestamp with time zone)', '0c974bc3ee3a22605faf291896fde498');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.make_running(bigint[],timestamp with time zone,rowrun.claim_request)', '559d858a33fea88e248aa1b563ff760c');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.let_start(bigint[],timestamp with time zone,rowrun.claim_request)', '4a98cfa668b39cfb27c600ab1f4d9d5c');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.let_start_singly(bigint[],timestamp with time zone,rowrun.claim_request)', 'f55f9e41d901f6c679607a542d1106c1');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.write_causes(bigint[],text[])', '7909f18e7d288698648865af4b737aa6');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.promote_ungated(timestamp with time zone,integer,rowrun.claim_request)', 'efd245dadaae6ca86df708d91052e2f4');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.asked_for(timestamp with time zone)', '25ab3e3cd0170eb1919241898b555e3b');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.take_marks(boolean,integer)', '16befa7ca5f005e3a209bc54296550fc');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.overlooked_databases(text[])', '78cfe7c3bd6129f7b9bd75bff01d70a2');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.overlooked_plans(bigint[])', '90fe43ccad242ad50e304e86f9fb9028');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.candidates(record,boolean,integer)', '7344d85adb5ef422083ed7362b84fa46');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.first_looks(bigint[],timestamp with time zone,integer)', '1c1fa3edbe35174701426ce281fb7725');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.waiting_on_databases(text[])', 'c32600716eac31a868fe7c13c2667b62');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.waiting_of_tasks(bigint[])', '69198fc103a164c72932e474334bc0aa');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.waiting_for_tasks(bigint[])', '1e72967dc893b995ae3c852f8a0d68c5');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.waiting_for_mends(jsonb)', '036bda8244912d1e47e8f5187df9bf6c');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.waiting_of_plans(bigint[],bigint[],integer)', '3b289635fe8814006b2cfe4b6af06f62');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.waiting_for_replicas(timestamp with time zone)', '93804a3cb98162424bcc76dcd8a11c17');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.judge(bigint[],bigint[],timestamp with time zone,bigint)', 'd98adcca3ba126a95975e052aae03ba2');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.verdicts_on(bigint[])', 'd592b1e7127438272048e91e17aeeed9');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.apply_verdicts(record,rowrun.claim_request)', '82e93661eca9a98f7f025c6220e7b536');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.mark_unseen_ends(bigint[],text[])', 'e37987f5b55b39abeb91b5800b79b429');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.leave_marks(record,bigint[],text[])', '1249b9ba2112068c302b18d9ba4c1eef');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.lock_plans_of_ends(bigint[],bigint[],text[])', 'f89e673b2738cbf4fa3b454dc75a4192');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.judge_ends(bigint[],uuid[],text[],jsonb[],text[])', '927ee1ec4eb7f031115688c3d52219c4');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.make_ended(bigint[],uuid[],text[],jsonb[],bigint[],timestamp with time zone)', '6e83133c53463b72bc75c42b2ffe59e2');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.insert_successors(bigint[],text[],bigint[],timestamp with time zone)', '183c6de7a21c13d544be7461b1f07da5');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.lock_promotion()', '3fd00a979edb1f960ac924ea71fa30a8');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.promote_next_version(text[],rowrun.claim_request)', '5adc87e1454799fbdd42b641013918ed');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.promote_next_of_plans(bigint[],integer,rowrun.claim_request)', '7ea743fab544d40955bd9f7f7f84cf94');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.next_run_id()', '9a2a2b4fc40b106dcf26efa7ace46edc');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.next_log_id()', 'ef386a29ead92615c48b72397e8d822c');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.end_batch(bigint[],uuid[],text[],jsonb[],text[],bigint[],boolean)', '1bdba5ce0a8bb6584fbc14726fe0c3e9');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.end_runs(bigint[],uuid[],text[],jsonb[],text[],bigint[])', 'dbb6b968e857e4134ad803a7b93047eb');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.define_task(text,text,jsonb,text,text,text,boolean,integer,interval,interval,integer,interval,text,jsonb)', '1cd017db16c59a521fc3ddb97ce4b4ff');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.create_plan(text,jsonb,text,integer,text)', '0587dc84ed863f8ed3ce04172c82297e');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.run_task(bigint,jsonb,timestamp with time zone,integer,text)', '08ed90e77240c0472b17ceceec1e1f74');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.run_task(text,jsonb,timestamp with time zone,integer,text)', '58c42bbc7387d7f0b1f9fdf58202cd07');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.run_tasks(bigint[],timestamp with time zone)', '97cd9451e15e721c6ab6fbd62d23b891');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.cancel_run(bigint,text)', 'a30ce0d1223cebbf948bd27aa93822f8');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.retry_run(bigint)', '103281aafe99dd80165190846cd093ec');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.abandon_run(bigint,text)', '1e726b1ec5538336092faa0c0f082cd8');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.report_progress(bigint,uuid,jsonb)', 'bc49f4685124c215e331885ce8c04673');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.complete_run(bigint,uuid,jsonb)', 'aaa65719ab1f58087cdc272025333089');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.fail_run(bigint,uuid,text)', 'a24468703202a5984d9e8e247989ffe9');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.remove_task(bigint)', 'f7f43b4819010e19fe9f818d72da6a0c');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.remove_any_task(bigint)', 'ae75d8374a85e319373f03b7eb66f68d');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.delete_task(bigint)', '263ad37a4769cabf39510f979c19199b');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.remove_plan(bigint)', '8507c53fc911bd192d953741f81102eb');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.remove_any_plan(bigint)', '6a635af8ba56bee8d2db1c0785ed4b63');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.delete_plan(bigint)', '46fd20da93031d4fefe827ebed450238');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.remove_dependency(bigint,bigint)', '3beb6725cdcf99c44fa64642a25888b3');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.remove_any_dependency(bigint,bigint)', 'cd35968d3d869ca04cda7e9c5251fd49');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.delete_dependency(bigint,bigint)', '3dddc8df25c4b1fa65566d273f9339b7');
INSERT INTO rowrun.schema_object VALUES ('view', 'rowrun.job', '72f54dd3bae790ac23d7cab552b36ddd');
INSERT INTO rowrun.schema_object VALUES ('view', 'rowrun.task_status', 'b8a3717cc14dd38a129118f17830e87a');
INSERT INTO rowrun.schema_object VALUES ('view', 'rowrun.plan_status', '301693b9641386a382705aff82f80357');
INSERT INTO rowrun.schema_object VALUES ('view', 'rowrun.replica_status', '986c670be63460f4ccc4a847105613ab');
INSERT INTO rowrun.schema_object VALUES ('view', 'rowrun.failed_run', '5ec739656e7bff14784ef14a338c7caf');
INSERT INTO rowrun.schema_object VALUES ('view', 'rowrun.health', '6bc8974b05bca9db7c0b51f80d293f86');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.ago(interval)', '83eb5903cc44124eabacd1bd2ee0ab4b');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.able_replicas(rowrun.task_run,timestamp with time zone)', '25522d17cb46ed86bf5402759e1533ca');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.database_stands(text)', 'db62f187f1f02d77ee38e26a19fc55e3');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.other_versions(text,text)', 'c597c877f0d6da13b4b510a7be77344d');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.stuck_on_database(text,timestamp with time zone)', '5014f29669a59a60d6f1332364d47dc5');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.sequential_ahead(text,text,timestamp with time zone)', '33acc30026097756cd2fc61be97d7b5b');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.waits_for_database(bigint[],timestamp with time zone)', '89b949192441a897ba2883d26ba99866');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.plan_stands(bigint,timestamp with time zone)', '11b027b6b2ff4856fcd4181a627ddc97');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.failed_task(bigint,text)', 'e04037d574958ec5c7445e026a6fb543');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.tasks_ahead(bigint)', '6506b31b462f8ffc632ddfa864bba9ad');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.waits_for_plan(bigint[],timestamp with time zone)', 'c8921fa489cf6cc7e4e817058bb01348');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.kind_stands(text,text,text,jsonb,timestamp with time zone,boolean)', 'f88826c949fef60d3ca5a88412ab30a8');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.waits_for_replica(bigint[],timestamp with time zone)', 'ee901b2c6dc7cbe1f625b7fd0e05aeb4');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.passed_by(bigint[],timestamp with time zone)', '1e7bbe7aa993b6ba19a5d0f93b41807b');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.waiting_runs(bigint[])', '47f4d20c16b530faf3bc948b041d87c4');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.waiting_pages()', '9ca2d85c21f49acbda37584768c67a8e');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.waits_for(bigint[])', '0d40439be865232da51c668027d4b28e');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.waiting(bigint)', '91b04816d2b60e6c9e62fbe58f6ea0d6');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.next_delivery_id()', '755091312183296cbc5e101392d38a04');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.webhook_fill()', '4c99a556276c78c15d4a10e99d7382d6');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'webhook_fill ON rowrun.webhook', '16b3d2ddc6ed944cfc052b3388d5e1d6');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.webhook_filter()', '248f3384cd666e4826056375ba699b67');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'webhook_filter ON rowrun.webhook', '91cd6cf49bb8e4da43a7bf3c35583c1a');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.filter_fits(jsonb,bigint,text,text,text,jsonb)', '541979ee2c2d7a1f20483728f9a0f632');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.chat_message(jsonb)', '0f985e268fb58e9b1d7a1c2c3bab0bc6');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.chat_line(text)', '46ccd5d305b4505aafb496ca06a16047');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.slack_text(text)', '01d22d3b3e3b546bcd6d4a23b9c9bbc6');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.slack_body(text,text,text[],text)', '3520703d14bb8db07066f4d7d5782804');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.teams_text(text,jsonb)', '7d52a66acffb32736ca0d7f9472a116c');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.teams_body(text,text,text[],text)', '7c8e9ba1ab4ffb441a8c7fe13815c233');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.discord_text(text)', '19ea43d3853bc9e4511e12a3522fb4a8');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.discord_body(text,text,text[],text,text)', '2a7b5fb1264320ed28e8c9c100471c61');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.webhook_body(text,text,text,text)', '1738e51a4734937efb35543575428690');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.webhook_content_type(text)', 'ed44d677358b774666a1c52e8f24dda8');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.address_event(bigint[],text,bigint,integer,text)', 'a4d53c0eeede56ce625322aadf6dd9da');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.address_task_event(bigint[],text,bigint,bigint,bigint,text,text)', '2f6749c75c507389cd73878f2bbd9d07');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_called(bigint,text)', '31191adf7f43a6ad0f70a401727f1ab1');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.announce_failures(bigint[])', '169f76c932ab863fef6f40c58721ef67');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.announce_pause(bigint)', '2e14a2d65339a5c16edff4ea0a455d3e');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.announce_orphans(text[])', '17d37f123f63e0e26a607a7af0f75ee2');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.webhook_changed()', 'a73b176961465eb1065a694950b89ca1');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'webhook_changed ON rowrun.webhook', '83cf14e12abb98b9afde3edbdc5c8e41');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'webhook_delivery_changed ON rowrun.webhook_delivery', 'b9cb35aa30eeee0f3f62e8af6cf66d3c');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.webhook_deleted()', '10c949d37729ea1d06eaa30d18af0227');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'webhook_deleted ON rowrun.webhook', '5cf57db4277573a88678be3e519e35ee');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.delete_webhook(bigint)', 'af2d77af35966705c16e28f37cd601f4');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.due_event(rowrun.plan)', '1d4478a5fc35fc883eca6196d18d779f');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.plan_message(rowrun.plan,text)', '0e3bacb9c0b99b2ed0073cc696285a5a');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.announce_plans(bigint[])', '6809d4ed440a16237ae0b857ea4fbc19');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.begin_round(bigint,integer,boolean)', 'd7eb3fddb35307c21dab07cd436f4405');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.next_rounds(bigint[])', 'cddcda6dd363bb235cdfacbe4b10801e');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.begin_rounds(bigint[],boolean)', 'b75cb2698337d73bd5fdd26dfd5cfdda');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.settle_plans(bigint[],jsonb,boolean)', '8ead0eafafc3277c64543025c8065987');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.check_plan(bigint)', '1fe3587b6568dbc99549d2154f2084d3');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.run_plan(bigint)', '489726ee26fc483c5b22ff2e79aaba3b');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.retry_plan(bigint)', '79a5b5623c8213a921dab62db9ea1d9d');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.cancel_plan(bigint,text)', '4c10ff703afc52807c14561b6d533553');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.set_skipped(bigint,boolean,text)', '8ade9f1c03f5d2d1630d361ef195dcc5');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.skip_task(bigint,text)', 'b446ee7da9cd0ca982dd144745ce2b1f');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.unskip_task(bigint)', '54a25a0cf3b85f57738d9480fa0d5104');
INSERT INTO rowrun.schema_object VALUES ('publication', 'rowrun_stream', '00d679102c6a13ffde1c24a1e1014535');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.cron_field(text,text,integer,integer,text[])', '2301342cf94443021ae14a423d9b1363');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.go_duration(text)', '3d2712d78af62aae796d0881eed36c84');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.cron_local(bigint,bigint,bigint,bigint,bigint,boolean,timestamp without time zone)', 'aaaa4f4aedbfc993128b446ef28b864c');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.utc_offset(text,timestamp with time zone)', '9f7a1860f9ee987402e3694c174c38f6');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.clock_change(text,timestamp with time zone,timestamp with time zone)', '0e86f856782e04fb1d180d467eab60b6');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.parse_schedule(text)', '51b49d7697745cc205a86650aa06dad4');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.tick_after(bigint[],text,timestamp with time zone,timestamp with time zone)', '55bbf95d53cc23a8d67b0000d25b9852');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.next_tick(text,text,timestamp with time zone,timestamp with time zone)', '5ac35f0d671175775bb2e9e897e797de');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_schedule_fill()', 'b86248ebed49b44831689343e7f19b20');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.known_zone(text)', 'b81980f28a22efdc4123a5b4c7539b05');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_author_schedule ON rowrun.task', 'a9748b189d7deb473cbb0af909ea5046');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_schedule_fill ON rowrun.task', '8612bd3dcba781b3a13b576308bd8208');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_schedule_refill ON rowrun.task', 'afd8b1e4f410f6ee64552ba6679b0a02');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.tick_that_follows(rowrun.task,rowrun.task_run,timestamp with time zone)', '8267f08987444f2b0d741068ec8e989a');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.missed_at(rowrun.task,timestamp with time zone)', '1fbb1c7024d34c6e1acf8eb72eb1235b');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.pause_schedule(bigint,text)', '4a540009b6aaaad486a9adb9538e50d3');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.schedule_after(bigint[])', '5385dd63a9de85430d5df52423bf9eab');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.schedule_ended(bigint[],bigint[])', '85ee53dc7ab4fb444e9bed8761dbf346');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.cancel_tick(bigint,text)', '4af67a6d3ececfe4d8402d287769ec20');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.schedule_task(bigint,boolean,boolean)', '092e5be9e2e33613bd582bff2668fab5');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_scheduled()', 'd95a35ea8b913f5c500aa4f07ec23f47');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_scheduled ON rowrun.task', '70cc8979cd50baf5040f4411f78c3d77');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_rescheduled ON rowrun.task', '606d6ae226965fc06eeb9e32e4aa6412');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.skip_missed(bigint[])', '74e3b044dbe326fe8d38651dccb36fce');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.schedule_sweep(bigint,integer)', '4281e6e6464a29ae5f0691894c32df69');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.handler_task(text)', '314352fe693cdc4d7efc1d09aecd1b78');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_recovery_check()', '975529fe419b70f6b37781d547b12135');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_recovery_check ON rowrun.task', '9869f7eb129e078dde01e1db7452a3cc');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.handle_ended(bigint[])', '10c6753e47513c362c1072b2c5a95191');
INSERT INTO rowrun.schema_object VALUES ('view', 'rowrun.orphan_task_run', '60eb7d384d6aa0916deccdb84b623ea3');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.record_orphans(interval,interval)', '1612f75d2df4b4b87c66e12ff539cad8');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.purge_type(text,interval,bigint,integer)', '789b4a29d89ad12b4cd11b22365f09c9');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.insert_many(bigint,jsonb,text[],text,timestamp with time zone,integer)', '6c7150c720496913ebbe0a4399ef36ed');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_named(text)', 'ee0da11ea39682136485c4f4499c9ee8');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.enqueue_many(bigint,jsonb,text[],text,timestamp with time zone,integer)', '4dd0739b411384b6d1f72e60ca351a60');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.enqueue_many(bigint,jsonb[],text[],text,timestamp with time zone,integer)', 'de5de411f496115c143db676b17878f7');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.enqueue_many(bigint,text,text[],text,timestamp with time zone,integer)', 'c9a697448ce8bd5c323156fec7365cb2');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.enqueue_many(text,jsonb,text[],text,timestamp with time zone,integer)', '6688bad38b7aa55b071373a3575f52c5');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.enqueue_many(text,jsonb[],text[],text,timestamp with time zone,integer)', '6bbb462628a49f3e82a4e2fe59a17c96');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.enqueue_many(text,text,text[],text,timestamp with time zone,integer)', 'b9c3b41795a16f215221d6374c0dc3f5');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.replace_run(bigint,text,jsonb,timestamp with time zone,integer)', '1505cf60be90d30be885a4bb05dcb011');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.replace_run(text,text,jsonb,timestamp with time zone,integer)', '24bc8671e75e6d44d5d8c62d05543263');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.worker_claim_of(uuid,bigint)', 'f1a8ca477048f12d01a9ada9754d9f2b');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.register_worker(text,text[],integer,interval)', '677b3c20be186565424a05f259885cad');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.worker_problem(uuid,text,text[],integer,interval)', '3d5cfac921b4e8d22a19f81865f340c4');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.request_key(bytea)', '66add9a704b0f8d56d286d869d5fdc33');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.worker_payload(rowrun.task,rowrun.task_run)', 'ad43c17808653f51b5d916b57280f52c');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.claimed_by_request(uuid)', '1d767d568df90512f34d5beb0a42d2dd');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.take_for_worker(uuid,text,text[],integer,interval)', '385a2ddfa591351abb8a06a086bee0dc');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.claim_runs(uuid,text,text[],integer,interval)', '322ad5e5ee6a3716712c07239e7b3a9f');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.heartbeat_worker(text,uuid[])', 'e395254904f1d4958b65cba200138ca1');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.end_worker_runs(uuid[],bigint[],text[],jsonb[],text[])', '62bdb99e7b2eb8470ebd1252bf57f6f9');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.check_results(jsonb)', '6b48f960a713b19a57d3fd7d608de04b');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.is_uuid(text)', '83a35151023af6c6c281c23ee6cbbd52');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.worker_result(jsonb)', 'b5549e6dbcf856f169d6fe37c3f5efdf');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.finish_runs(uuid,text,jsonb,text[],integer,interval)', '448858d4196a64741fac56108b8b1f8c');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.release_runs(uuid[])', '8f39efd4803e474e9d63cf75e0a7e739');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.hold_ups()', '6155bfa24a52d71138aecbf90d232af6');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.task_operations_fill()', '6a0357375e0a75646af6dd03ff0cbf0a');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_author_operations ON rowrun.task', '4c4eea444cb664d50bb95b5629aa12d2');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_operations_fill ON rowrun.task', '2ccfd50e2adde4df2dfb7353d14666ef');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.keeps(rowrun.task,text)', '5f98b835ea74f6b0dbae954dd9ae51c4');
INSERT INTO rowrun.schema_object VALUES ('trigger', 'task_author_retention ON rowrun.task', '6c2514c96f5eaca83de3f23684d17683');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.set_replica_paused(text,boolean)', '8f90f5bde8082c096bff5e7adaea2277');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.pause_replica(text)', '1b2b2c6fc88346b31e3cb0e70364bf62');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.resume_replica(text)', '7899b313e4009b1769b4884056c5b341');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.server_identity()', '0f3f4e843f9c9846eff9a65516978ba6');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.deployment_elsewhere()', '40a9aa1032c8d20855088cf801757af0');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.renew_deployment(boolean)', '49e3e133626be3e53437be17a695a47b');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.normal_error(text)', '0bd30490babd7dcb3bafec1c8a3a16e9');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.run_id_at(timestamp with time zone,bigint,bigint)', 'd2bbb8e92bc0f7124c969fe5b4937784');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.run_matches(jsonb,text,text,text,text,bigint,bigint,bigint,timestamp with time zone,jsonb)', '0f6c4264aa36ca31037e4bfa34aea95d');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.find_open_runs(jsonb,text[],boolean,bigint,bigint,integer,integer)', '62fa1152e7345afc0b1e0bdba0353a9e');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.find_runs(jsonb,boolean,bigint,bigint,integer,integer)', 'b2c505010d9ea8d5616cf91fa7af38c9');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.find_tasks(jsonb,boolean,bigint,bigint,integer,integer)', '410a1b7233af6255c496f1d420d7f7f3');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.find_deliveries(jsonb,boolean,bigint,bigint,integer,integer)', '409cfc81e5a7e7e8fa031e120a42ffa8');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.do_act(text,text,text,jsonb)', 'a5c52a8b35e54aaac01fb19f1e76ca27');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.step_act(bigint,integer)', 'e6b605dc94e2305e767e1f9d3f7cfc7c');
INSERT INTO rowrun.schema_object VALUES ('function', 'rowrun.note_act(bigint,text)', '8e677c855acfbd63559d1d11ea938edf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.abandon_run(bigint,text)', '8678be9ca7860a7358907a6caa0e8ca3');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.able_replicas(rowrun.task_run,timestamp with time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.address_event(bigint[],text,bigint,integer,text)', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.address_task_event(bigint[],text,bigint,bigint,bigint,text,text)', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.ago(interval)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.announce(text[])', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.announce_failures(bigint[])', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.announce_one(text)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.announce_orphans(text[])', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.announce_parts(text[])', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.announce_pause(bigint)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.announce_plans(bigint[])', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.apply_verdicts(record,rowrun.claim_request)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.arrival(rowrun.task_run)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.asked_for(timestamp with time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.begin_round(bigint,integer,boolean)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.begin_rounds(bigint[],boolean)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.cancel_plan(bigint,text)', 'c2ba613faa2c6feb14b4a540e486a14a');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.cancel_run(bigint,text)', 'c2ba613faa2c6feb14b4a540e486a14a');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.cancel_tick(bigint,text)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.candidates(record,boolean,integer)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.chat_line(text)', '8c3b1c22e20fce344c4faaa9e90c0eef');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.chat_message(jsonb)', '8c3b1c22e20fce344c4faaa9e90c0eef');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.check_id(bigint,regclass)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.check_isolation()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.check_plan(bigint)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.check_results(jsonb)', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.check_task_words(rowrun.task)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.claim_runs(uuid,text,text[],integer,interval)', 'f8f75f935ef23c0b37f57d847ebf8b3c');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.claimed_by_request(uuid)', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.clock_change(text,timestamp with time zone,timestamp with time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.closed_gate(rowrun.task_run,boolean,timestamp with time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.complete_run(bigint,uuid,jsonb)', '3d600d73c049374cc354adde10cd90fa');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.create_plan(text,jsonb,text,integer,text)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.cron_field(text,text,integer,integer,text[])', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.cron_local(bigint,bigint,bigint,bigint,bigint,boolean,timestamp without time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.database_stands(text)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.databases_of_plans(bigint[])', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.define_task(text,text,jsonb,text,text,text,boolean,integer,interval,interval,integer,interval,text,jsonb)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.delete_dependency(bigint,bigint)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.delete_plan(bigint)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.delete_task(bigint)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.delete_webhook(bigint)', '1c249f7fb69999681983a93f8c339991');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.deployment_elsewhere()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.discord_body(text,text,text[],text,text)', '8c3b1c22e20fce344c4faaa9e90c0eef');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.discord_text(text)', '8c3b1c22e20fce344c4faaa9e90c0eef');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.do_act(text,text,text,jsonb)', '1c1d5e64d63313230348c4c0209f375d');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.due_event(rowrun.plan)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.end_batch(bigint[],uuid[],text[],jsonb[],text[],bigint[],boolean)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.end_runs(bigint[],uuid[],text[],jsonb[],text[],bigint[])', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.end_worker_runs(uuid[],bigint[],text[],jsonb[],text[])', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.enqueue_many(bigint,jsonb,text[],text,timestamp with time zone,integer)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.enqueue_many(bigint,jsonb[],text[],text,timestamp with time zone,integer)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.enqueue_many(bigint,text,text[],text,timestamp with time zone,integer)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.enqueue_many(text,jsonb,text[],text,timestamp with time zone,integer)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.enqueue_many(text,jsonb[],text[],text,timestamp with time zone,integer)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.enqueue_many(text,text,text[],text,timestamp with time zone,integer)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.fail_run(bigint,uuid,text)', '3d600d73c049374cc354adde10cd90fa');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.failed_task(bigint,text)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.filter_fits(jsonb,bigint,text,text,text,jsonb)', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.find_deliveries(jsonb,boolean,bigint,bigint,integer,integer)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.find_open_runs(jsonb,text[],boolean,bigint,bigint,integer,integer)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.find_runs(jsonb,boolean,bigint,bigint,integer,integer)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.find_tasks(jsonb,boolean,bigint,bigint,integer,integer)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.finish_runs(uuid,text,jsonb,text[],integer,interval)', 'f8f75f935ef23c0b37f57d847ebf8b3c');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.first_looks(bigint[],timestamp with time zone,integer)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.first_sequential(text,text,timestamp with time zone,text[])', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.fits(text,text,jsonb,text[],text[])', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.go_duration(text)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.handle_ended(bigint[])', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.handler_task(text)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.heartbeat_worker(text,uuid[])', 'f8f75f935ef23c0b37f57d847ebf8b3c');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.hold_ups()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.insert_many(bigint,jsonb,text[],text,timestamp with time zone,integer)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.insert_successors(bigint[],text[],bigint[],timestamp with time zone)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.is_author()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.is_authors(text)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.is_blocked_at_insert(rowrun.task_run,timestamp with time zone,boolean)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.is_owner()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.is_quiet()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.is_scheduling()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.is_trusted()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.is_uuid(text)', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.judge(bigint[],bigint[],timestamp with time zone,bigint)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.judge_ends(bigint[],uuid[],text[],jsonb[],text[])', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.keeps(rowrun.task,text)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.kind_stands(text,text,text,jsonb,timestamp with time zone,boolean)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.known_zone(text)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.leave_marks(record,bigint[],text[])', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.let_start(bigint[],timestamp with time zone,rowrun.claim_request)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.let_start_singly(bigint[],timestamp with time zone,rowrun.claim_request)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.lock_plans_of_ends(bigint[],bigint[],text[])', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.lock_promotion()', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.make_available(bigint[],timestamp with time zone)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.make_ended(bigint[],uuid[],text[],jsonb[],bigint[],timestamp with time zone)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.make_running(bigint[],timestamp with time zone,rowrun.claim_request)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.mark_blocked(rowrun.task_run)', 'c2ba613faa2c6feb14b4a540e486a14a');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.mark_edited(text,boolean)', 'c2ba613faa2c6feb14b4a540e486a14a');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.mark_ended(bigint[],boolean)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.mark_ready(bigint)', 'c2ba613faa2c6feb14b4a540e486a14a');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.mark_stopped(bigint[])', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.mark_unseen_ends(bigint[],text[])', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.may_notify()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.may_take(rowrun.task_run,rowrun.task,text[],text[])', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.missed_at(rowrun.task,timestamp with time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.next_delivery_id()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.next_log_id()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.next_rounds(bigint[])', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.next_run_id()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.next_tick(text,text,timestamp with time zone,timestamp with time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.normal_error(text)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.note_act(bigint,text)', '1c1d5e64d63313230348c4c0209f375d');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.notify_look()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.other_versions(text,text)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.overlooked_databases(text[])', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.overlooked_plans(bigint[])', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.own_cause(rowrun.task,timestamp with time zone,timestamp with time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.parse_schedule(text)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.passed_by(bigint[],timestamp with time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.pause_replica(text)', '1c1d5e64d63313230348c4c0209f375d');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.pause_schedule(bigint,text)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.plan_fill()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.plan_gate_changed()', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.plan_message(rowrun.plan,text)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.plan_room(bigint)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.plan_stands(bigint,timestamp with time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.promote_next_of_plans(bigint[],integer,rowrun.claim_request)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.promote_next_version(text[],rowrun.claim_request)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.promote_runs(boolean,boolean,integer,rowrun.claim_request)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.promote_ungated(timestamp with time zone,integer,rowrun.claim_request)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.promotion_and_claim(rowrun.task_run)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.purge_type(text,interval,bigint,integer)', '1c1d5e64d63313230348c4c0209f375d');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.record_orphans(interval,interval)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.register_worker(text,text[],integer,interval)', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.release_runs(uuid[])', 'f8f75f935ef23c0b37f57d847ebf8b3c');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.remove_any_dependency(bigint,bigint)', '1c249f7fb69999681983a93f8c339991');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.remove_any_plan(bigint)', '1c249f7fb69999681983a93f8c339991');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.remove_any_task(bigint)', '1c249f7fb69999681983a93f8c339991');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.remove_dependency(bigint,bigint)', 'c8a689f5203b80c1d5d51e4d9274dd56');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.remove_plan(bigint)', 'c8a689f5203b80c1d5d51e4d9274dd56');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.remove_task(bigint)', 'c8a689f5203b80c1d5d51e4d9274dd56');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.renew_deployment(boolean)', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.replace_run(bigint,text,jsonb,timestamp with time zone,integer)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.replace_run(text,text,jsonb,timestamp with time zone,integer)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.replica_changed()', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.replica_heartbeat_fill()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.report_progress(bigint,uuid,jsonb)', '3d600d73c049374cc354adde10cd90fa');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.request_key(bytea)', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.resume_replica(text)', '1c1d5e64d63313230348c4c0209f375d');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.retry_plan(bigint)', 'c2ba613faa2c6feb14b4a540e486a14a');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.retry_run(bigint)', 'c2ba613faa2c6feb14b4a540e486a14a');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.run_id_at(timestamp with time zone,bigint,bigint)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.run_matches(jsonb,text,text,text,text,bigint,bigint,bigint,timestamp with time zone,jsonb)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.run_plan(bigint)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.run_task(bigint,jsonb,timestamp with time zone,integer,text)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.run_task(text,jsonb,timestamp with time zone,integer,text)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.run_tasks(bigint[],timestamp with time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.schedule_after(bigint[])', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.schedule_ended(bigint[],bigint[])', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.schedule_sweep(bigint,integer)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.schedule_task(bigint,boolean,boolean)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.sequential_ahead(text,text,timestamp with time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.sequential_open(bigint,timestamp with time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.server_identity()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.set_replica_paused(text,boolean)', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.set_skipped(bigint,boolean,text)', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.settle_plans(bigint[],jsonb,boolean)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.skip_missed(bigint[])', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.skip_task(bigint,text)', '8678be9ca7860a7358907a6caa0e8ca3');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.slack_body(text,text,text[],text)', '8c3b1c22e20fce344c4faaa9e90c0eef');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.slack_text(text)', '8c3b1c22e20fce344c4faaa9e90c0eef');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.smallest_version(text)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.step_act(bigint,integer)', '1c1d5e64d63313230348c4c0209f375d');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.stuck_on_database(text,timestamp with time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.take_for_worker(uuid,text,text[],integer,interval)', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.take_marks(boolean,integer)', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.takes(rowrun.replica_heartbeat,timestamp with time zone,text,text,text,jsonb)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_author_check()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_called(bigint,text)', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_dependency_acyclic()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_dependency_author()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_dependency_changed()', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_dependency_check()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_fill()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_gate_changed()', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_left_plan()', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_named(text)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_operations_fill()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_outcome_changed()', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_recovery_check()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_run_bounds(rowrun.task_run)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_run_deleted()', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_run_edited()', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_run_fill()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_run_fixed()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_run_guard()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_run_inserted()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_run_keep()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_schedule_fill()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.task_scheduled()', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.tasks_ahead(bigint)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.teams_body(text,text,text[],text)', '8c3b1c22e20fce344c4faaa9e90c0eef');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.teams_text(text,jsonb)', '8c3b1c22e20fce344c4faaa9e90c0eef');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.tick_after(bigint[],text,timestamp with time zone,timestamp with time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.tick_that_follows(rowrun.task,rowrun.task_run,timestamp with time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.too_deep(jsonb)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.transition(rowrun.task_run)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.unskip_task(bigint)', '8678be9ca7860a7358907a6caa0e8ca3');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.unstarted(rowrun.task_run)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.utc_offset(text,timestamp with time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.verdicts_on(bigint[])', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.version_key(text)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.waiting(bigint)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.waiting_for_mends(jsonb)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.waiting_for_replicas(timestamp with time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.waiting_for_tasks(bigint[])', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.waiting_of_plans(bigint[],bigint[],integer)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.waiting_of_tasks(bigint[])', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.waiting_on_databases(text[])', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.waiting_pages()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.waiting_runs(bigint[])', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.waits_for(bigint[])', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.waits_for_database(bigint[],timestamp with time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.waits_for_plan(bigint[],timestamp with time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.waits_for_replica(bigint[],timestamp with time zone)', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.webhook_body(text,text,text,text)', '8c3b1c22e20fce344c4faaa9e90c0eef');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.webhook_changed()', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.webhook_content_type(text)', '8c3b1c22e20fce344c4faaa9e90c0eef');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.webhook_deleted()', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.webhook_fill()', '5f22133af45ac72b7ec32889e080e3bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.webhook_filter()', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.worker_claim_of(uuid,bigint)', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.worker_payload(rowrun.task,rowrun.task_run)', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.worker_problem(uuid,text,text[],integer,interval)', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.worker_result(jsonb)', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'FUNCTION rowrun.write_causes(bigint[],text[])', '07758e2f0022ca8da022427e98a73fe9');
INSERT INTO rowrun.schema_object VALUES ('grants', 'SCHEMA rowrun', '8391cac4d000e6c41921c77774e524b7');
INSERT INTO rowrun.schema_object VALUES ('grants', 'SEQUENCE rowrun.act_id_seq', 'c3bcc4b0cdca5f8dfa3ca4329c61b1bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'SEQUENCE rowrun.gate_mark_id_seq', 'c3bcc4b0cdca5f8dfa3ca4329c61b1bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'SEQUENCE rowrun.plan_id_seq', '82c457d319d6c16807c8f7f8487d153e');
INSERT INTO rowrun.schema_object VALUES ('grants', 'SEQUENCE rowrun.stream_note_id_seq', 'c3bcc4b0cdca5f8dfa3ca4329c61b1bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'SEQUENCE rowrun.task_id_seq', '82c457d319d6c16807c8f7f8487d153e');
INSERT INTO rowrun.schema_object VALUES ('grants', 'SEQUENCE rowrun.task_run_id_seq', '82c457d319d6c16807c8f7f8487d153e');
INSERT INTO rowrun.schema_object VALUES ('grants', 'SEQUENCE rowrun.task_run_log_id_seq', 'd4e1caf391a591b94e7af4b65828785a');
INSERT INTO rowrun.schema_object VALUES ('grants', 'SEQUENCE rowrun.webhook_delivery_id_seq', 'c3bcc4b0cdca5f8dfa3ca4329c61b1bf');
INSERT INTO rowrun.schema_object VALUES ('grants', 'SEQUENCE rowrun.webhook_id_seq', '948c7bcd737063f4890f0ddfbd91140c');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.act', '73f1af72eb55b524cb730c5837cf947e');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.code_object', '37eca09cbaaa7a0b90f89f4e359a6d53');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.code_version', '37eca09cbaaa7a0b90f89f4e359a6d53');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.deployment', '09a0ab01e285775b27fd33b9d6eb2ad3');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.failed_run', '37eca09cbaaa7a0b90f89f4e359a6d53');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.gate_mark', 'abc00b8717268b7f22506440ce9d7e31');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.health', '37eca09cbaaa7a0b90f89f4e359a6d53');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.job', '37eca09cbaaa7a0b90f89f4e359a6d53');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.migration', '37eca09cbaaa7a0b90f89f4e359a6d53');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.orphan_task_run', '37eca09cbaaa7a0b90f89f4e359a6d53');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.orphan_type', '429b6884ced0b742741602c129698d31');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.plan', '5647300e36eff3bceff31b1998a61c31');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.plan_status', '37eca09cbaaa7a0b90f89f4e359a6d53');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.promotion_lock', 'a3687ef99a25ea1df3054222c43e6f74');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.replica_heartbeat', '429b6884ced0b742741602c129698d31');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.replica_status', '37eca09cbaaa7a0b90f89f4e359a6d53');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.schema_migrations', '68b329da9893e34099c7d8ad5cb9c940');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.schema_object', '37eca09cbaaa7a0b90f89f4e359a6d53');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.stream_handover', 'abc00b8717268b7f22506440ce9d7e31');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.stream_note', '429b6884ced0b742741602c129698d31');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.stream_position', '429b6884ced0b742741602c129698d31');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.task', '1ea81f3dfbdabeba23ba7bf76e202e29');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.task_dependency', 'c9da2bb7227dd97089ff486765a40be5');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.task_run', '5db28dfbeb6fd726b1a0d449e53ccf81');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.task_run_log', '429b6884ced0b742741602c129698d31');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.task_status', '37eca09cbaaa7a0b90f89f4e359a6d53');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.task_type', '3d0dde5ce7b60776974d075104244411');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.unmet_dependency', '37eca09cbaaa7a0b90f89f4e359a6d53');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.webhook', '7cd9c9d05fafec8566ef91324ea1ef97');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.webhook_delivery', '423d03a7140d9056b45bf5f49d2fce1a');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.webhook_delivery_log', '37eca09cbaaa7a0b90f89f4e359a6d53');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.worker_claim', 'abc00b8717268b7f22506440ce9d7e31');
INSERT INTO rowrun.schema_object VALUES ('grants', 'TABLE rowrun.worker_request', 'abc00b8717268b7f22506440ce9d7e31');


--
-- Data for Name: stream_handover; Type: TABLE DATA; Schema: rowrun; Owner: -
--



--
-- Data for Name: stream_note; Type: TABLE DATA; Schema: rowrun; Owner: -
--

INSERT INTO rowrun.stream_note OVERRIDING SYSTEM VALUE VALUES (1, '2026-11-23 19:48:08.061053+00', 'warn', 'task_type.orphaned', 'kept', '{}', NULL);


--
-- Data for Name: stream_position; Type: TABLE DATA; Schema: rowrun; Owner: -
--



--
-- Data for Name: task; Type: TABLE DATA; Schema: rowrun; Owner: -
--

INSERT INTO rowrun.task VALUES (1, NULL, 'no plan', 'NOOP', 'default', NULL, NULL, false, '{}', 0, NULL, NULL, 1, '00:00:10', 'FAIL', NULL, false, false, NULL, NULL, '{}', '2026-11-23 19:48:07.92986+00', DEFAULT, NULL, NULL, NULL, NULL, 'UTC', 'SKIP', NULL, NULL, 'SKIP', NULL, NULL, NULL, NULL, 'info', NULL);
INSERT INTO rowrun.task VALUES (2, NULL, 'handler', 'NOOP', 'default', NULL, NULL, false, '{}', 0, NULL, NULL, 1, '00:00:10', 'FAIL', NULL, false, false, NULL, NULL, '{}', '2026-11-23 19:48:07.92986+00', DEFAULT, NULL, NULL, NULL, NULL, 'UTC', 'SKIP', NULL, NULL, 'SKIP', NULL, NULL, NULL, NULL, 'info', NULL);
INSERT INTO rowrun.task VALUES (3, NULL, 'handled', 'NOOP', 'default', NULL, NULL, false, '{}', 0, NULL, NULL, 3, '00:00:10', 'FAIL', 'handler', false, false, NULL, NULL, '{"team": "a"}', '2026-11-23 19:48:07.933175+00', DEFAULT, NULL, NULL, NULL, NULL, 'UTC', 'SKIP', NULL, NULL, 'SKIP', NULL, NULL, NULL, NULL, 'info', NULL);
INSERT INTO rowrun.task VALUES (4, NULL, 'scheduled', 'NOOP', 'default', NULL, NULL, false, '{}', 0, NULL, NULL, 1, '00:00:10', 'FAIL', NULL, false, false, NULL, NULL, '{}', '2026-11-23 19:48:07.935419+00', DEFAULT, NULL, NULL, NULL, '0 3 * * *', 'Europe/London', 'SKIP', NULL, NULL, 'QUEUE', NULL, NULL, '2026-11-23 19:48:07.935949+00', '{1,8,4294967294,8190,127,0,1}', 'info', NULL);
INSERT INTO rowrun.task VALUES (5, 1, 'available', 'NOOP', 'default', NULL, NULL, false, '{}', 0, NULL, NULL, 1, '00:00:10', 'FAIL', NULL, false, false, NULL, NULL, '{}', '2026-11-23 19:48:07.949298+00', DEFAULT, NULL, NULL, NULL, NULL, 'UTC', 'SKIP', NULL, NULL, 'SKIP', NULL, NULL, NULL, NULL, 'info', NULL);
INSERT INTO rowrun.task VALUES (8, 1, 'none', 'NOOP', 'default', NULL, NULL, false, '{}', 0, NULL, NULL, 1, '00:00:10', 'FAIL', NULL, false, false, NULL, NULL, '{}', '2026-11-23 19:48:07.949298+00', DEFAULT, NULL, NULL, NULL, NULL, 'UTC', 'SKIP', NULL, NULL, 'SKIP', NULL, NULL, NULL, NULL, 'info', NULL);
INSERT INTO rowrun.task VALUES (9, 1, 'pending', 'NOOP', 'default', NULL, NULL, false, '{}', 0, NULL, NULL, 1, '00:00:10', 'FAIL', NULL, false, false, NULL, NULL, '{}', '2026-11-23 19:48:07.949298+00', DEFAULT, NULL, NULL, NULL, NULL, 'UTC', 'SKIP', NULL, NULL, 'SKIP', NULL, NULL, NULL, NULL, 'info', NULL);
INSERT INTO rowrun.task VALUES (10, 1, 'running', 'NOOP', 'default', NULL, NULL, false, '{}', 0, NULL, NULL, 1, '00:00:10', 'FAIL', NULL, false, false, NULL, NULL, '{}', '2026-11-23 19:48:07.949298+00', DEFAULT, NULL, NULL, NULL, NULL, 'UTC', 'SKIP', NULL, NULL, 'SKIP', NULL, NULL, NULL, NULL, 'info', NULL);
INSERT INTO rowrun.task VALUES (12, 1, 'migrate 1.10', 'DATABASE_MIGRATE', 'default', 'orders', '1.10', true, '{"sql": "SELECT 1"}', 0, NULL, NULL, 1, '00:00:10', 'FAIL', NULL, false, false, NULL, NULL, '{}', '2026-11-23 19:48:07.953131+00', DEFAULT, NULL, NULL, NULL, NULL, 'UTC', 'SKIP', NULL, NULL, 'SKIP', NULL, NULL, NULL, NULL, 'info', NULL);
INSERT INTO rowrun.task VALUES (13, 1, 'migrate 1.9', 'DATABASE_MIGRATE', 'default', 'orders', '1.9', true, '{"sql": "SELECT 1"}', 0, NULL, NULL, 1, '00:00:10', 'FAIL', NULL, false, false, NULL, NULL, '{}', '2026-11-23 19:48:07.953131+00', DEFAULT, NULL, NULL, NULL, NULL, 'UTC', 'SKIP', NULL, NULL, 'SKIP', NULL, NULL, NULL, NULL, 'info', NULL);
INSERT INTO rowrun.task VALUES (7, 1, 'done', 'NOOP', 'default', NULL, NULL, false, '{}', 0, NULL, NULL, 1, '00:00:10', 'FAIL', NULL, false, false, NULL, NULL, '{}', '2026-11-23 19:48:07.949298+00', DEFAULT, 'DONE', NULL, 4, NULL, 'UTC', 'SKIP', NULL, NULL, 'SKIP', NULL, NULL, NULL, NULL, 'info', NULL);
INSERT INTO rowrun.task VALUES (14, 2, 'only', 'NOOP', 'default', NULL, NULL, false, '{}', 0, NULL, NULL, 1, '00:00:10', 'FAIL', NULL, false, false, NULL, NULL, '{}', '2026-11-23 19:48:07.958863+00', DEFAULT, 'DONE', NULL, 9, NULL, 'UTC', 'SKIP', NULL, NULL, 'SKIP', NULL, NULL, NULL, NULL, 'info', NULL);
INSERT INTO rowrun.task VALUES (15, 3, 'only', 'NOOP', 'default', NULL, NULL, false, '{}', 0, NULL, NULL, 1, '00:00:10', 'FAIL', NULL, false, false, NULL, NULL, '{}', '2026-11-23 19:48:07.958863+00', DEFAULT, 'FAILED', 1, 10, NULL, 'UTC', 'SKIP', NULL, NULL, 'SKIP', NULL, NULL, NULL, NULL, 'info', NULL);
INSERT INTO rowrun.task VALUES (6, 1, 'canceled', 'NOOP', 'default', NULL, NULL, false, '{}', 0, NULL, NULL, 1, '00:00:10', 'FAIL', NULL, false, false, NULL, NULL, '{}', '2026-11-23 19:48:07.949298+00', DEFAULT, 'CANCELED', NULL, 3, NULL, 'UTC', 'SKIP', NULL, NULL, 'SKIP', NULL, NULL, NULL, NULL, 'info', NULL);
INSERT INTO rowrun.task VALUES (11, 1, 'skipped', 'NOOP', 'default', NULL, NULL, false, '{}', 0, NULL, NULL, 1, '00:00:10', 'FAIL', NULL, false, true, 'not wanted', NULL, '{}', '2026-11-23 19:48:07.949298+00', DEFAULT, NULL, NULL, NULL, NULL, 'UTC', 'SKIP', NULL, NULL, 'SKIP', NULL, NULL, NULL, NULL, 'info', NULL);


--
-- Data for Name: task_dependency; Type: TABLE DATA; Schema: rowrun; Owner: -
--

INSERT INTO rowrun.task_dependency VALUES (9, 10);


--
-- Data for Name: task_run; Type: TABLE DATA; Schema: rowrun; Owner: -
--

INSERT INTO rowrun.task_run VALUES (1, 4, 0, NULL, 1, 'PENDING', '2026-11-24 03:00:00+00', '{}', 0, NULL, 'postgres', NULL, 'NOOP', 'default', NULL, NULL, '2026-11-23 19:48:07.935419+00', NULL, NULL, NULL, '2026-11-23 19:48:07.935419+00', NULL, NULL, NULL, NULL, NULL, '{}', NULL, false, NULL, NULL, NULL, '2026-11-24 03:00:00+00', 0, 0, NULL, NULL, '2026-11-24 03:00:00+00', '2026-11-24 03:01:00+00', NULL, NULL, NULL, NULL);
INSERT INTO rowrun.task_run VALUES (5, 9, 0, NULL, 5, 'PENDING', '2026-11-23 19:48:07.970318+00', '{"of": "pending"}', 0, NULL, 'postgres', 1, 'NOOP', 'default', NULL, NULL, '2026-11-23 19:48:07.970318+00', NULL, NULL, NULL, '2026-11-23 19:48:07.970318+00', NULL, NULL, NULL, NULL, NULL, '{}', NULL, false, NULL, NULL, NULL, '2026-11-23 19:48:07.970318+00', 0, 0, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO rowrun.task_run VALUES (7, 12, 0, NULL, 7, 'PENDING', '2026-11-23 19:48:07.970318+00', '{"of": "migrate 1.10"}', 0, NULL, 'postgres', 1, 'DATABASE_MIGRATE', 'default', 'orders', '1.10', '2026-11-23 19:48:07.970318+00', NULL, NULL, NULL, '2026-11-23 19:48:07.970318+00', NULL, NULL, NULL, NULL, NULL, '{}', '0110210', true, NULL, NULL, NULL, '2026-11-23 19:48:07.970318+00', 0, 0, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO rowrun.task_run VALUES (8, 13, 0, NULL, 8, 'PENDING', '2026-11-23 19:48:07.970318+00', '{"of": "migrate 1.9"}', 0, NULL, 'postgres', 1, 'DATABASE_MIGRATE', 'default', 'orders', '1.9', '2026-11-23 19:48:07.970318+00', NULL, NULL, NULL, '2026-11-23 19:48:07.970318+00', NULL, NULL, NULL, NULL, NULL, '{}', '011019', true, NULL, NULL, NULL, '2026-11-23 19:48:07.970318+00', 0, 0, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO rowrun.task_run VALUES (11, 1, 0, NULL, 11, 'PENDING', '2126-11-23 19:48:07.980592+00', '{}', 0, 'key 1', 'postgres', NULL, 'NOOP', 'default', NULL, NULL, '2026-11-23 19:48:07.980592+00', NULL, NULL, NULL, '2026-11-23 19:48:07.980592+00', NULL, NULL, NULL, NULL, NULL, '{}', NULL, false, NULL, NULL, NULL, '2126-11-23 19:48:07.980592+00', 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO rowrun.task_run VALUES (2, 5, 0, NULL, 2, 'AVAILABLE', '2026-11-23 19:48:07.970318+00', '{"of": "available"}', 0, NULL, 'postgres', 1, 'NOOP', 'default', NULL, NULL, '2026-11-23 19:48:07.970318+00', '2026-11-23 19:48:07.988238+00', NULL, NULL, '2026-11-23 19:48:07.988238+00', NULL, NULL, NULL, NULL, NULL, '{}', NULL, false, 'PENDING', true, NULL, NULL, 0, 0, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO rowrun.task_run VALUES (12, 1, 0, NULL, 12, 'AVAILABLE', '2126-11-23 19:48:07.980592+00', '{}', 0, 'key 2', 'postgres', NULL, 'NOOP', 'default', NULL, NULL, '2026-11-23 19:48:07.980592+00', '2026-11-23 19:48:07.990098+00', NULL, NULL, '2026-11-23 19:48:07.990098+00', NULL, NULL, NULL, NULL, NULL, '{}', NULL, false, 'PENDING', true, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO rowrun.task_run VALUES (6, 10, 0, NULL, 6, 'RUNNING', '2026-11-23 19:48:07.970318+00', '{"of": "running"}', 0, NULL, 'postgres', 1, 'NOOP', 'default', NULL, NULL, '2026-11-23 19:48:07.970318+00', '2026-11-23 19:48:07.990009+00', '2026-11-23 19:48:07.998189+00', NULL, '2026-11-23 19:48:07.998189+00', NULL, NULL, NULL, NULL, NULL, '{}', NULL, false, 'AVAILABLE', true, NULL, NULL, 0, 0, NULL, 1, NULL, NULL, NULL, NULL, 'dump-1', NULL);
INSERT INTO rowrun.task_run VALUES (13, 1, 0, NULL, 13, 'RUNNING', '2126-11-23 19:48:07.980592+00', '{}', 0, 'key 3', 'postgres', NULL, 'NOOP', 'default', NULL, NULL, '2026-11-23 19:48:07.980592+00', '2026-11-23 19:48:07.990125+00', '2026-11-23 19:48:07.998499+00', NULL, '2026-11-23 19:48:07.998499+00', NULL, NULL, NULL, NULL, NULL, '{}', NULL, false, 'AVAILABLE', true, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 'dump-1', NULL);
INSERT INTO rowrun.task_run VALUES (4, 7, 0, NULL, 4, 'DONE', '2026-11-23 19:48:07.970318+00', '{"of": "done"}', 0, NULL, 'postgres', 1, 'NOOP', 'default', NULL, NULL, '2026-11-23 19:48:07.970318+00', '2026-11-23 19:48:07.989925+00', '2026-11-23 19:48:07.997568+00', '2026-11-23 19:48:08.002074+00', '2026-11-23 19:48:08.002074+00', NULL, NULL, NULL, NULL, NULL, '{"rows": 1}', NULL, false, 'RUNNING', true, NULL, NULL, 0, 0, NULL, 1, NULL, NULL, NULL, NULL, 'dump-1', NULL);
INSERT INTO rowrun.task_run VALUES (9, 14, 0, NULL, 9, 'DONE', '2026-11-23 19:48:07.970318+00', '{"of": "only"}', 0, NULL, 'postgres', 2, 'NOOP', 'default', NULL, NULL, '2026-11-23 19:48:07.970318+00', '2026-11-23 19:48:07.990046+00', '2026-11-23 19:48:07.998331+00', '2026-11-23 19:48:08.004237+00', '2026-11-23 19:48:08.004237+00', NULL, NULL, NULL, NULL, NULL, '{"rows": 1}', NULL, false, 'RUNNING', true, NULL, NULL, 0, 0, NULL, 1, NULL, NULL, NULL, NULL, 'dump-1', NULL);
INSERT INTO rowrun.task_run VALUES (14, 1, 0, NULL, 14, 'DONE', '2126-11-23 19:48:07.980592+00', '{}', 0, 'key 4', 'postgres', NULL, 'NOOP', 'default', NULL, NULL, '2026-11-23 19:48:07.980592+00', '2026-11-23 19:48:07.990145+00', '2026-11-23 19:48:07.999154+00', '2026-11-23 19:48:08.00436+00', '2026-11-23 19:48:08.00436+00', NULL, NULL, NULL, NULL, NULL, '{"rows": 1}', NULL, false, 'RUNNING', true, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 'dump-1', NULL);
INSERT INTO rowrun.task_run VALUES (10, 15, 0, NULL, 10, 'FAILED', '2026-11-23 19:48:07.970318+00', '{"of": "only"}', 0, NULL, 'postgres', 3, 'NOOP', 'default', NULL, NULL, '2026-11-23 19:48:07.970318+00', '2026-11-23 19:48:07.990072+00', '2026-11-23 19:48:07.998401+00', '2026-11-23 19:48:08.019239+00', '2026-11-23 19:48:08.019239+00', NULL, NULL, NULL, NULL, NULL, '{"code": "ERROR", "detail": "as asked"}', NULL, false, 'RUNNING', true, NULL, NULL, 0, 0, NULL, 1, NULL, NULL, NULL, NULL, 'dump-1', NULL);
INSERT INTO rowrun.task_run VALUES (15, 1, 0, NULL, 15, 'FAILED', '2126-11-23 19:48:07.980592+00', '{}', 0, 'key 5', 'postgres', NULL, 'NOOP', 'default', NULL, NULL, '2026-11-23 19:48:07.980592+00', '2026-11-23 19:48:07.990164+00', '2026-11-23 19:48:07.999315+00', '2026-11-23 19:48:08.019444+00', '2026-11-23 19:48:08.019444+00', NULL, NULL, NULL, NULL, NULL, '{"code": "ERROR", "detail": "as asked"}', NULL, false, 'RUNNING', true, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 'dump-1', NULL);
INSERT INTO rowrun.task_run VALUES (16, 1, 0, NULL, 16, 'CANCELED', '2126-11-23 19:48:07.980592+00', '{}', 0, 'key 6', 'postgres', NULL, 'NOOP', 'default', NULL, NULL, '2026-11-23 19:48:07.980592+00', NULL, NULL, '2026-11-23 19:48:08.033357+00', '2026-11-23 19:48:08.033357+00', NULL, NULL, NULL, NULL, NULL, '{"code": "CANCELED", "detail": "Task run canceled"}', NULL, false, 'PENDING', true, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO rowrun.task_run VALUES (3, 6, 0, NULL, 3, 'CANCELED', '2026-11-23 19:48:07.970318+00', '{"of": "canceled"}', 0, NULL, 'postgres', 1, 'NOOP', 'default', NULL, NULL, '2026-11-23 19:48:07.970318+00', NULL, NULL, '2026-11-23 19:48:08.033593+00', '2026-11-23 19:48:08.033593+00', NULL, NULL, NULL, NULL, NULL, '{"code": "CANCELED", "detail": "Task run canceled"}', NULL, false, 'PENDING', true, NULL, NULL, 0, 0, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO rowrun.task_run VALUES (17, 3, 0, NULL, 17, 'FAILED', '2126-11-23 19:48:07.984161+00', '{}', 0, NULL, 'postgres', NULL, 'NOOP', 'default', NULL, NULL, '2026-11-23 19:48:07.984161+00', '2026-11-23 19:48:07.990184+00', '2026-11-23 19:48:07.999351+00', '2026-11-23 19:48:08.019485+00', '2026-11-23 19:48:08.019485+00', NULL, NULL, NULL, NULL, NULL, '{"code": "ERROR", "detail": "as asked"}', NULL, false, NULL, true, NULL, NULL, 0, 0, 18, NULL, NULL, NULL, NULL, NULL, 'dump-1', NULL);
INSERT INTO rowrun.task_run VALUES (18, 3, 1, 17, 17, 'AVAILABLE', '2026-11-23 19:48:08.045559+00', '{}', 0, NULL, 'postgres', NULL, 'NOOP', 'default', NULL, NULL, '2026-11-23 19:48:08.045559+00', '2026-11-23 19:48:08.049539+00', NULL, NULL, '2026-11-23 19:48:08.045559+00', NULL, NULL, NULL, NULL, NULL, '{}', NULL, false, NULL, NULL, 'UNTOLD', NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);


--
-- Data for Name: task_run_log; Type: TABLE DATA; Schema: rowrun; Owner: -
--

INSERT INTO rowrun.task_run_log VALUES (1, 1, '2026-11-23 19:48:08.056101+00', NULL, 'note', '{"text": "kept"}');


--
-- Data for Name: task_type; Type: TABLE DATA; Schema: rowrun; Owner: -
--

INSERT INTO rowrun.task_type VALUES ('OLD', true, NULL, NULL, '2026-11-23 19:48:08.057376+00');


--
-- Data for Name: webhook; Type: TABLE DATA; Schema: rowrun; Owner: -
--

INSERT INTO rowrun.webhook VALUES (1, 'default', 'hook', 'https://example.com/hook', NULL, '{PIPELINE_FAILED,PIPELINE_COMPLETED}', 'standard', true, '2026-11-23 19:48:07.921059+00', NULL);


--
-- Data for Name: webhook_delivery; Type: TABLE DATA; Schema: rowrun; Owner: -
--



--
-- Data for Name: webhook_delivery_log; Type: TABLE DATA; Schema: rowrun; Owner: -
--



--
-- Data for Name: worker_claim; Type: TABLE DATA; Schema: rowrun; Owner: -
--



--
-- Data for Name: worker_request; Type: TABLE DATA; Schema: rowrun; Owner: -
--



--
-- Name: act_id_seq; Type: SEQUENCE SET; Schema: rowrun; Owner: -
--

SELECT pg_catalog.setval('rowrun.act_id_seq', 1, false);


--
-- Name: gate_mark_id_seq; Type: SEQUENCE SET; Schema: rowrun; Owner: -
--

SELECT pg_catalog.setval('rowrun.gate_mark_id_seq', 11, true);


--
-- Name: plan_id_seq; Type: SEQUENCE SET; Schema: rowrun; Owner: -
--

SELECT pg_catalog.setval('rowrun.plan_id_seq', 3, true);


--
-- Name: stream_note_id_seq; Type: SEQUENCE SET; Schema: rowrun; Owner: -
--

SELECT pg_catalog.setval('rowrun.stream_note_id_seq', 1, true);


--
-- Name: task_id_seq; Type: SEQUENCE SET; Schema: rowrun; Owner: -
--

SELECT pg_catalog.setval('rowrun.task_id_seq', 15, true);


--
-- Name: task_run_id_seq; Type: SEQUENCE SET; Schema: rowrun; Owner: -
--

SELECT pg_catalog.setval('rowrun.task_run_id_seq', 18, true);


--
-- Name: task_run_log_id_seq; Type: SEQUENCE SET; Schema: rowrun; Owner: -
--

SELECT pg_catalog.setval('rowrun.task_run_log_id_seq', 1, true);


--
-- Name: webhook_delivery_id_seq; Type: SEQUENCE SET; Schema: rowrun; Owner: -
--

SELECT pg_catalog.setval('rowrun.webhook_delivery_id_seq', 1, false);


--
-- Name: webhook_id_seq; Type: SEQUENCE SET; Schema: rowrun; Owner: -
--

SELECT pg_catalog.setval('rowrun.webhook_id_seq', 1, true);


--
-- Name: act act_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.act
    ADD CONSTRAINT act_pkey PRIMARY KEY (id);


--
-- Name: act act_request_id_key; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.act
    ADD CONSTRAINT act_request_id_key UNIQUE (request_id);


--
-- Name: code_object code_object_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.code_object
    ADD CONSTRAINT code_object_pkey PRIMARY KEY (object);


--
-- Name: code_version code_version_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.code_version
    ADD CONSTRAINT code_version_pkey PRIMARY KEY (singleton);


--
-- Name: deployment deployment_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.deployment
    ADD CONSTRAINT deployment_pkey PRIMARY KEY (singleton);


--
-- Name: gate_mark gate_mark_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.gate_mark
    ADD CONSTRAINT gate_mark_pkey PRIMARY KEY (id);


--
-- Name: migration migration_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (version);


--
-- Name: orphan_type orphan_type_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.orphan_type
    ADD CONSTRAINT orphan_type_pkey PRIMARY KEY (type);


--
-- Name: plan plan_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.plan
    ADD CONSTRAINT plan_pkey PRIMARY KEY (id);


--
-- Name: promotion_lock promotion_lock_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.promotion_lock
    ADD CONSTRAINT promotion_lock_pkey PRIMARY KEY (id);


--
-- Name: replica_heartbeat replica_heartbeat_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.replica_heartbeat
    ADD CONSTRAINT replica_heartbeat_pkey PRIMARY KEY (replica_id);


--
-- Name: schema_migrations schema_migrations_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);


--
-- Name: schema_object schema_object_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.schema_object
    ADD CONSTRAINT schema_object_pkey PRIMARY KEY (kind, name);


--
-- Name: stream_handover stream_handover_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.stream_handover
    ADD CONSTRAINT stream_handover_pkey PRIMARY KEY (replica_id);


--
-- Name: stream_note stream_note_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.stream_note
    ADD CONSTRAINT stream_note_pkey PRIMARY KEY (id);


--
-- Name: stream_position stream_position_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.stream_position
    ADD CONSTRAINT stream_position_pkey PRIMARY KEY (second);


--
-- Name: task_dependency task_dependency_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.task_dependency
    ADD CONSTRAINT task_dependency_pkey PRIMARY KEY (task_id, depends_on_id);


--
-- Name: task task_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.task
    ADD CONSTRAINT task_pkey PRIMARY KEY (id);


--
-- Name: task_run_log task_run_log_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.task_run_log
    ADD CONSTRAINT task_run_log_pkey PRIMARY KEY (id);


--
-- Name: task_run task_run_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.task_run
    ADD CONSTRAINT task_run_pkey PRIMARY KEY (id);


--
-- Name: task_type task_type_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.task_type
    ADD CONSTRAINT task_type_pkey PRIMARY KEY (type);


--
-- Name: webhook_delivery_log webhook_delivery_log_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.webhook_delivery_log
    ADD CONSTRAINT webhook_delivery_log_pkey PRIMARY KEY (plan_id);


--
-- Name: webhook_delivery webhook_delivery_message_id_key; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.webhook_delivery
    ADD CONSTRAINT webhook_delivery_message_id_key UNIQUE (message_id);


--
-- Name: webhook_delivery webhook_delivery_once; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.webhook_delivery
    ADD CONSTRAINT webhook_delivery_once UNIQUE (webhook_id, plan_id, round);


--
-- Name: webhook_delivery webhook_delivery_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.webhook_delivery
    ADD CONSTRAINT webhook_delivery_pkey PRIMARY KEY (id);


--
-- Name: webhook webhook_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.webhook
    ADD CONSTRAINT webhook_pkey PRIMARY KEY (id);


--
-- Name: worker_claim worker_claim_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.worker_claim
    ADD CONSTRAINT worker_claim_pkey PRIMARY KEY (claim_hash);


--
-- Name: worker_request worker_request_pkey; Type: CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.worker_request
    ADD CONSTRAINT worker_request_pkey PRIMARY KEY (request_hash);


--
-- Name: act_created; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX act_created ON rowrun.act USING btree (created_at);


--
-- Name: act_unfinished; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX act_unfinished ON rowrun.act USING btree (id) WHERE (state = 'RUNNING'::text);


--
-- Name: plan_unannounced; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX plan_unannounced ON rowrun.plan USING btree (id) WHERE (announced_round < round);


--
-- Name: replica_heartbeat_worker; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE UNIQUE INDEX replica_heartbeat_worker ON rowrun.replica_heartbeat USING btree (name) WHERE (worker AND (state <> 'DEAD'::text));


--
-- Name: stream_note_unprinted; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX stream_note_unprinted ON rowrun.stream_note USING btree (id) WHERE (printed_at IS NULL);


--
-- Name: task_dependency_depends_on; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_dependency_depends_on ON rowrun.task_dependency USING btree (depends_on_id);


--
-- Name: task_name; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE UNIQUE INDEX task_name ON rowrun.task USING btree (name) WHERE ((name <> ''::text) AND (plan_id IS NULL));


--
-- Name: task_plan; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_plan ON rowrun.task USING btree (plan_id) WHERE (plan_id IS NOT NULL);


--
-- Name: task_plan_failed; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_plan_failed ON rowrun.task USING btree (plan_id, database_id, version_key) WHERE ((outcome = ANY (ARRAY['FAILED'::text, 'CANCELED'::text])) AND (NOT skipped));


--
-- Name: task_plan_failed_round; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_plan_failed_round ON rowrun.task USING btree (plan_id, outcome_round) WHERE ((outcome = 'FAILED'::text) AND (NOT skipped));


--
-- Name: task_plan_name; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE UNIQUE INDEX task_plan_name ON rowrun.task USING btree (plan_id, name) WHERE ((name <> ''::text) AND (plan_id IS NOT NULL));


--
-- Name: task_plan_open; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_plan_open ON rowrun.task USING btree (plan_id, id) WHERE ((plan_id IS NOT NULL) AND (NOT skipped) AND (outcome IS DISTINCT FROM 'DONE'::text));


--
-- Name: task_retention; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_retention ON rowrun.task USING btree (id) WHERE (retention IS NOT NULL);


--
-- Name: task_retention_by_status; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_retention_by_status ON rowrun.task USING btree (id) WHERE (retention_by_status IS NOT NULL);


--
-- Name: task_run_available; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_run_available ON rowrun.task_run USING btree (queue, type, priority DESC, run_at, id) WHERE (status = 'AVAILABLE'::text);


--
-- Name: task_run_awaits_plan; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_run_awaits_plan ON rowrun.task_run USING btree (plan_id, priority DESC, run_at, id) WHERE ((status = 'PENDING'::text) AND (cause = 'PLAN'::text));


--
-- Name: task_run_chain_end; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_run_chain_end ON rowrun.task_run USING btree (root_id) WHERE ((attempt > 0) AND (retry_run_id IS NULL));


--
-- Name: task_run_database_active; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_run_database_active ON rowrun.task_run USING btree (database_id, version_key) WHERE ((status = ANY (ARRAY['AVAILABLE'::text, 'RUNNING'::text])) AND (database_id IS NOT NULL));


--
-- Name: task_run_database_held; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_run_database_held ON rowrun.task_run USING btree (database_id, version_key, priority DESC, run_at, id) WHERE ((status = 'PENDING'::text) AND (cause = 'DATABASE'::text));


--
-- Name: task_run_database_pending; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_run_database_pending ON rowrun.task_run USING btree (database_id, version_key, sequential, priority DESC, run_at, id) WHERE ((status = 'PENDING'::text) AND (database_id IS NOT NULL));


--
-- Name: task_run_database_sequential; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE UNIQUE INDEX task_run_database_sequential ON rowrun.task_run USING btree (database_id) WHERE (sequential AND (status = ANY (ARRAY['AVAILABLE'::text, 'RUNNING'::text])));


--
-- Name: task_run_failed; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_run_failed ON rowrun.task_run USING btree (finished_at DESC) WHERE ((status = 'FAILED'::text) AND (retry_run_id IS NULL));


--
-- Name: task_run_held_paused; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_run_held_paused ON rowrun.task_run USING btree (task_id) WHERE ((status = 'PENDING'::text) AND (cause = 'PAUSED'::text));


--
-- Name: task_run_held_plan; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_run_held_plan ON rowrun.task_run USING btree (plan_id, database_id) WHERE ((status = 'PENDING'::text) AND ((cause = 'PLAN_FAILED'::text) OR ((cause = 'PLAN'::text) AND sequential) OR ((cause = 'DATABASE'::text) AND sequential)));


--
-- Name: task_run_held_replica; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_run_held_replica ON rowrun.task_run USING btree (queue, type, database_id) WHERE ((status = 'PENDING'::text) AND (cause = 'NO_REPLICA'::text));


--
-- Name: task_run_idempotency_key; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE UNIQUE INDEX task_run_idempotency_key ON rowrun.task_run USING btree (task_id, idempotency_key);


--
-- Name: task_run_judge_free; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_run_judge_free ON rowrun.task_run USING btree (judge_at) WHERE ((judge_at IS NOT NULL) AND (plan_id IS NULL) AND (database_id IS NULL));


--
-- Name: task_run_judge_gated; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_run_judge_gated ON rowrun.task_run USING btree (judge_at) WHERE ((judge_at IS NOT NULL) AND ((plan_id IS NOT NULL) OR (database_id IS NOT NULL)));


--
-- Name: task_run_judge_turn; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_run_judge_turn ON rowrun.task_run USING btree (COALESCE(database_id, ''::text), COALESCE(plan_id, (0)::bigint), judge_at) WHERE ((judge_at IS NOT NULL) AND ((plan_id IS NOT NULL) OR (database_id IS NOT NULL)));


--
-- Name: task_run_log_run; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_run_log_run ON rowrun.task_run_log USING btree (task_run_id, id);


--
-- Name: task_run_newest; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_run_newest ON rowrun.task_run USING btree (task_id, id);


--
-- Name: task_run_one_unfinished; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE UNIQUE INDEX task_run_one_unfinished ON rowrun.task_run USING btree (task_id) WHERE ((plan_id IS NOT NULL) AND (status = ANY (ARRAY['PENDING'::text, 'AVAILABLE'::text, 'RUNNING'::text])));


--
-- Name: task_run_own_retention; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_run_own_retention ON rowrun.task_run USING btree (task_id, finished_at) WHERE (own_retention AND (status = ANY (ARRAY['DONE'::text, 'FAILED'::text, 'CANCELED'::text])));


--
-- Name: task_run_plan_unfinished; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_run_plan_unfinished ON rowrun.task_run USING btree (plan_id, status, id) WHERE ((plan_id IS NOT NULL) AND (status = ANY (ARRAY['PENDING'::text, 'AVAILABLE'::text, 'RUNNING'::text])));


--
-- Name: task_run_retry_of; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE UNIQUE INDEX task_run_retry_of ON rowrun.task_run USING btree (retry_of) WHERE (retry_of IS NOT NULL);


--
-- Name: task_run_running; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_run_running ON rowrun.task_run USING btree (replica_id) WHERE (status = 'RUNNING'::text);


--
-- Name: task_run_tick; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE UNIQUE INDEX task_run_tick ON rowrun.task_run USING btree (task_id, tick) WHERE ((tick IS NOT NULL) AND (attempt = 0) AND (status <> 'CANCELED'::text));


--
-- Name: task_run_tick_unfinished; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE UNIQUE INDEX task_run_tick_unfinished ON rowrun.task_run USING btree (task_id) WHERE ((tick IS NOT NULL) AND (status = ANY (ARRAY['PENDING'::text, 'AVAILABLE'::text, 'RUNNING'::text])));


--
-- Name: task_schedule_error; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_schedule_error ON rowrun.task USING btree (id) WHERE (schedule_error IS NOT NULL);


--
-- Name: task_scheduled; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX task_scheduled ON rowrun.task USING btree (id) WHERE (schedule IS NOT NULL);


--
-- Name: webhook_delivery_chain_once; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE UNIQUE INDEX webhook_delivery_chain_once ON rowrun.webhook_delivery USING btree (root_id, webhook_id) WHERE (root_id IS NOT NULL);


--
-- Name: webhook_delivery_due; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX webhook_delivery_due ON rowrun.webhook_delivery USING btree (next_attempt_at) WHERE (status = 'PENDING'::text);


--
-- Name: webhook_delivery_leased; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX webhook_delivery_leased ON rowrun.webhook_delivery USING btree (leased_until) WHERE ((status = 'PENDING'::text) AND (leased_until IS NOT NULL));


--
-- Name: webhook_delivery_oldest; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX webhook_delivery_oldest ON rowrun.webhook_delivery USING btree (webhook_id, created_at) WHERE (status = 'PENDING'::text);


--
-- Name: webhook_delivery_plan; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX webhook_delivery_plan ON rowrun.webhook_delivery USING btree (plan_id);


--
-- Name: webhook_delivery_settled; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX webhook_delivery_settled ON rowrun.webhook_delivery USING btree (created_at) WHERE (status <> 'PENDING'::text);


--
-- Name: webhook_delivery_waiting; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX webhook_delivery_waiting ON rowrun.webhook_delivery USING btree (webhook_id, next_attempt_at, id) WHERE (status = 'PENDING'::text);


--
-- Name: webhook_project; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX webhook_project ON rowrun.webhook USING btree (project) WHERE enabled;


--
-- Name: webhook_run_failed; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX webhook_run_failed ON rowrun.webhook USING btree (id) WHERE (enabled AND ('RUN_FAILED'::text = ANY (events)));


--
-- Name: worker_request_made; Type: INDEX; Schema: rowrun; Owner: -
--

CREATE INDEX worker_request_made ON rowrun.worker_request USING btree (made_at);


--
-- Name: plan plan_fill; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER plan_fill BEFORE INSERT ON rowrun.plan FOR EACH ROW EXECUTE FUNCTION rowrun.plan_fill();


--
-- Name: plan plan_gate_changed; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER plan_gate_changed AFTER UPDATE ON rowrun.plan FOR EACH ROW WHEN (((new.paused <> old.paused) OR (new.parallel_limit IS DISTINCT FROM old.parallel_limit) OR (new.on_failure <> old.on_failure))) EXECUTE FUNCTION rowrun.plan_gate_changed();


--
-- Name: replica_heartbeat replica_came; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER replica_came AFTER INSERT ON rowrun.replica_heartbeat FOR EACH ROW EXECUTE FUNCTION rowrun.replica_changed();


--
-- Name: replica_heartbeat replica_changed; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER replica_changed AFTER UPDATE ON rowrun.replica_heartbeat FOR EACH ROW WHEN (((new.state = 'ACTIVE'::text) AND (((old.last_heartbeat + old.lease) < new.last_heartbeat) OR (new.state IS DISTINCT FROM old.state) OR (new.queues IS DISTINCT FROM old.queues) OR (new.types IS DISTINCT FROM old.types) OR (new.databases IS DISTINCT FROM old.databases) OR (new.commands IS DISTINCT FROM old.commands)))) EXECUTE FUNCTION rowrun.replica_changed();


--
-- Name: replica_heartbeat replica_heartbeat_fill; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER replica_heartbeat_fill BEFORE INSERT ON rowrun.replica_heartbeat FOR EACH ROW EXECUTE FUNCTION rowrun.replica_heartbeat_fill();


--
-- Name: task task_author_insert; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_author_insert BEFORE INSERT ON rowrun.task FOR EACH ROW EXECUTE FUNCTION rowrun.task_author_check();


--
-- Name: task task_author_operations; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_author_operations BEFORE UPDATE OF failure_log_level ON rowrun.task FOR EACH ROW EXECUTE FUNCTION rowrun.task_author_check();


--
-- Name: task task_author_retention; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_author_retention BEFORE UPDATE OF retention_by_status ON rowrun.task FOR EACH ROW EXECUTE FUNCTION rowrun.task_author_check();


--
-- Name: task task_author_schedule; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_author_schedule BEFORE UPDATE OF schedule, time_zone, misfire, starts_at, ends_at, overlap, state ON rowrun.task FOR EACH ROW EXECUTE FUNCTION rowrun.task_author_check();


--
-- Name: task task_author_update; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_author_update BEFORE UPDATE OF id, plan_id, name, type, queue, database_id, version, sequential, payload, priority, timeout, progress_timeout, max_attempts, retry_delay, on_stale, on_failure_task, paused, skipped, skip_reason, retention, labels, created_at ON rowrun.task FOR EACH ROW EXECUTE FUNCTION rowrun.task_author_check();


--
-- Name: task task_deleted; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_deleted AFTER DELETE ON rowrun.task FOR EACH ROW WHEN ((old.plan_id IS NOT NULL)) EXECUTE FUNCTION rowrun.task_left_plan();


--
-- Name: task_dependency task_dependency_added; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_dependency_added AFTER INSERT ON rowrun.task_dependency REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION rowrun.task_dependency_acyclic();


--
-- Name: task_dependency task_dependency_author; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_dependency_author BEFORE INSERT ON rowrun.task_dependency FOR EACH ROW EXECUTE FUNCTION rowrun.task_dependency_author();


--
-- Name: task_dependency task_dependency_changed; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_dependency_changed AFTER INSERT OR DELETE OR UPDATE ON rowrun.task_dependency FOR EACH ROW EXECUTE FUNCTION rowrun.task_dependency_changed();


--
-- Name: task_dependency task_dependency_check; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_dependency_check BEFORE INSERT OR DELETE OR UPDATE ON rowrun.task_dependency FOR EACH ROW EXECUTE FUNCTION rowrun.task_dependency_check();


--
-- Name: task_dependency task_dependency_moved; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_dependency_moved AFTER UPDATE ON rowrun.task_dependency REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION rowrun.task_dependency_acyclic();


--
-- Name: task task_fill; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_fill BEFORE INSERT OR UPDATE OF id, plan_id, name, type, queue, database_id, version, sequential, payload, priority, timeout, progress_timeout, max_attempts, retry_delay, on_stale, paused, skipped, skip_reason, labels, created_at ON rowrun.task FOR EACH ROW EXECUTE FUNCTION rowrun.task_fill();


--
-- Name: task task_gate_changed; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_gate_changed AFTER UPDATE ON rowrun.task FOR EACH ROW WHEN (((new.paused IS DISTINCT FROM old.paused) OR (new.skipped IS DISTINCT FROM old.skipped))) EXECUTE FUNCTION rowrun.task_gate_changed();


--
-- Name: task task_moved; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_moved AFTER UPDATE OF plan_id ON rowrun.task FOR EACH ROW WHEN (((old.plan_id IS NOT NULL) AND (new.plan_id IS DISTINCT FROM old.plan_id))) EXECUTE FUNCTION rowrun.task_left_plan();


--
-- Name: task task_operations_fill; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_operations_fill BEFORE INSERT OR UPDATE OF failure_log_level ON rowrun.task FOR EACH ROW WHEN ((new.failure_log_level IS NULL)) EXECUTE FUNCTION rowrun.task_operations_fill();


--
-- Name: task task_outcome_changed; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_outcome_changed AFTER UPDATE ON rowrun.task FOR EACH ROW WHEN (((old.plan_id IS NOT NULL) AND (old.outcome = ANY (ARRAY['FAILED'::text, 'CANCELED'::text])) AND (NOT old.skipped) AND ((new.outcome IS DISTINCT FROM old.outcome) OR new.skipped))) EXECUTE FUNCTION rowrun.task_outcome_changed();


--
-- Name: task task_recovery_check; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_recovery_check BEFORE INSERT OR UPDATE OF on_stale, on_failure_task ON rowrun.task FOR EACH ROW WHEN (((new.on_stale ~~* 'FUNCTION%'::text) OR (new.on_failure_task IS NOT NULL))) EXECUTE FUNCTION rowrun.task_recovery_check();


--
-- Name: task task_rescheduled; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_rescheduled AFTER UPDATE ON rowrun.task FOR EACH ROW WHEN ((((new.schedule IS NOT NULL) OR (old.schedule IS NOT NULL)) AND ((new.scheduled_at IS DISTINCT FROM old.scheduled_at) OR (new.misfire IS DISTINCT FROM old.misfire) OR (new.ends_at IS DISTINCT FROM old.ends_at) OR (new.skipped IS DISTINCT FROM old.skipped) OR (new.type IS DISTINCT FROM old.type) OR (new.queue IS DISTINCT FROM old.queue) OR (new.database_id IS DISTINCT FROM old.database_id) OR (new.version IS DISTINCT FROM old.version) OR (new.sequential IS DISTINCT FROM old.sequential) OR (new.priority IS DISTINCT FROM old.priority)))) EXECUTE FUNCTION rowrun.task_scheduled();


--
-- Name: task_run task_run_deleted; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_run_deleted AFTER DELETE ON rowrun.task_run FOR EACH ROW WHEN (((old.plan_id IS NOT NULL) OR (old.retry_of IS NOT NULL) OR ((old.status = 'PENDING'::text) AND (old.database_id IS NOT NULL)))) EXECUTE FUNCTION rowrun.task_run_deleted();


--
-- Name: task_run task_run_edited; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_run_edited AFTER UPDATE ON rowrun.task_run FOR EACH ROW WHEN (new.edited_directly) EXECUTE FUNCTION rowrun.task_run_edited();


--
-- Name: task_run task_run_fill; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_run_fill BEFORE INSERT ON rowrun.task_run FOR EACH ROW EXECUTE FUNCTION rowrun.task_run_fill();


--
-- Name: task_run task_run_fixed; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_run_fixed BEFORE UPDATE OF id, task_id, root_id, retry_of, attempt, created_at, plan_id, type, queue, database_id, version, version_key, sequential, idempotency_key, round, creator, failures, recoveries, own_retention, handles, tick, missed_at, run_at, priority, input ON rowrun.task_run FOR EACH ROW EXECUTE FUNCTION rowrun.task_run_fixed();


--
-- Name: task_run task_run_guard; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_run_guard BEFORE UPDATE ON rowrun.task_run FOR EACH ROW WHEN (((((new.prev_status = old.status) AND (new.updated_at > old.updated_at) AND (((old.status || new.status) = ANY ('{PENDINGAVAILABLE,PENDINGCANCELED,AVAILABLERUNNING,RUNNINGDONE,RUNNINGFAILED,RUNNINGCANCELED}'::text[])) OR (((old.status || new.status) = 'PENDINGRUNNING'::text) AND (new.available_at <= new.started_at) AND (new.replica_id > ''::text) AND (octet_length(new.claim_hash) = 32)))) OR ((new.cause <> COALESCE(old.cause, ''::text)) AND (new.status = old.status))) IS NOT TRUE)) EXECUTE FUNCTION rowrun.task_run_guard();


--
-- Name: task_run task_run_inserted; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE CONSTRAINT TRIGGER task_run_inserted AFTER INSERT ON rowrun.task_run DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.retry_of IS NULL)) EXECUTE FUNCTION rowrun.task_run_inserted();


--
-- Name: task_run task_run_keep; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_run_keep BEFORE DELETE ON rowrun.task_run FOR EACH ROW WHEN ((old.status = ANY (ARRAY['AVAILABLE'::text, 'RUNNING'::text]))) EXECUTE FUNCTION rowrun.task_run_keep();


--
-- Name: task task_schedule_fill; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_schedule_fill BEFORE INSERT ON rowrun.task FOR EACH ROW WHEN (((new.schedule IS NOT NULL) OR (num_nulls(new.time_zone, new.misfire, new.overlap) > 0))) EXECUTE FUNCTION rowrun.task_schedule_fill();


--
-- Name: task task_schedule_refill; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_schedule_refill BEFORE UPDATE OF schedule, time_zone, misfire, overlap, starts_at, paused, plan_id ON rowrun.task FOR EACH ROW WHEN (((new.schedule IS NOT NULL) OR (old.schedule IS NOT NULL) OR (num_nulls(new.time_zone, new.misfire, new.overlap) > 0))) EXECUTE FUNCTION rowrun.task_schedule_fill();


--
-- Name: task task_scheduled; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER task_scheduled AFTER INSERT ON rowrun.task FOR EACH ROW WHEN ((new.schedule IS NOT NULL)) EXECUTE FUNCTION rowrun.task_scheduled();


--
-- Name: webhook webhook_changed; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER webhook_changed AFTER UPDATE ON rowrun.webhook FOR EACH ROW WHEN ((new.enabled AND ((NOT old.enabled) OR (new.url <> old.url) OR (new.secret_ref IS DISTINCT FROM old.secret_ref)))) EXECUTE FUNCTION rowrun.webhook_changed();


--
-- Name: webhook webhook_deleted; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER webhook_deleted AFTER DELETE ON rowrun.webhook FOR EACH ROW EXECUTE FUNCTION rowrun.webhook_deleted();


--
-- Name: webhook_delivery webhook_delivery_changed; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER webhook_delivery_changed AFTER UPDATE ON rowrun.webhook_delivery FOR EACH ROW WHEN (((new.status = 'PENDING'::text) AND (old.status <> 'PENDING'::text))) EXECUTE FUNCTION rowrun.webhook_changed();


--
-- Name: webhook webhook_fill; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER webhook_fill BEFORE INSERT OR UPDATE ON rowrun.webhook FOR EACH ROW EXECUTE FUNCTION rowrun.webhook_fill();


--
-- Name: webhook webhook_filter; Type: TRIGGER; Schema: rowrun; Owner: -
--

CREATE TRIGGER webhook_filter BEFORE INSERT OR UPDATE ON rowrun.webhook FOR EACH ROW WHEN ((new.filter IS NOT NULL)) EXECUTE FUNCTION rowrun.webhook_filter();


--
-- Name: task_dependency task_dependency_depends_on_id_fkey; Type: FK CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.task_dependency
    ADD CONSTRAINT task_dependency_depends_on_id_fkey FOREIGN KEY (depends_on_id) REFERENCES rowrun.task(id) ON DELETE CASCADE;


--
-- Name: task_dependency task_dependency_task_id_fkey; Type: FK CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.task_dependency
    ADD CONSTRAINT task_dependency_task_id_fkey FOREIGN KEY (task_id) REFERENCES rowrun.task(id) ON DELETE CASCADE;


--
-- Name: task task_plan_id_fkey; Type: FK CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.task
    ADD CONSTRAINT task_plan_id_fkey FOREIGN KEY (plan_id) REFERENCES rowrun.plan(id) ON DELETE CASCADE;


--
-- Name: task_run_log task_run_log_task_run_id_fkey; Type: FK CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.task_run_log
    ADD CONSTRAINT task_run_log_task_run_id_fkey FOREIGN KEY (task_run_id) REFERENCES rowrun.task_run(id) ON DELETE CASCADE;


--
-- Name: task_run task_run_task_id_fkey; Type: FK CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.task_run
    ADD CONSTRAINT task_run_task_id_fkey FOREIGN KEY (task_id) REFERENCES rowrun.task(id) ON DELETE CASCADE;


--
-- Name: webhook_delivery_log webhook_delivery_log_plan_id_fkey; Type: FK CONSTRAINT; Schema: rowrun; Owner: -
--

ALTER TABLE ONLY rowrun.webhook_delivery_log
    ADD CONSTRAINT webhook_delivery_log_plan_id_fkey FOREIGN KEY (plan_id) REFERENCES rowrun.plan(id) ON DELETE CASCADE;


--
-- Name: rowrun_stream; Type: PUBLICATION; Schema: -; Owner: -
--

CREATE PUBLICATION rowrun_stream WITH (publish = 'insert, update');


--
-- Name: PUBLICATION rowrun_stream; Type: COMMENT; Schema: -; Owner: -
--

COMMENT ON PUBLICATION rowrun_stream IS 'What `rowrun serve` reads for the stream, by a slot of its own.';


--
-- Name: rowrun_stream task_run; Type: PUBLICATION TABLE; Schema: rowrun; Owner: -
--

ALTER PUBLICATION rowrun_stream ADD TABLE ONLY rowrun.task_run (id, task_id, attempt, retry_of, root_id, status, plan_id, type, queue, database_id, version, created_at, available_at, started_at, finished_at, result, prev_status, retry_run_id, replica_id);


--
-- Name: SCHEMA rowrun; Type: ACL; Schema: -; Owner: -
--

GRANT USAGE ON SCHEMA rowrun TO rowrun_client;
GRANT USAGE ON SCHEMA rowrun TO rowrun_author;
GRANT USAGE ON SCHEMA rowrun TO rowrun_operator;
GRANT USAGE ON SCHEMA rowrun TO rowrun_viewer;
GRANT USAGE ON SCHEMA rowrun TO rowrun_replica;
GRANT USAGE ON SCHEMA rowrun TO rowrun_worker;


--
-- Name: FUNCTION abandon_run(run_id bigint, reason text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.abandon_run(run_id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.abandon_run(run_id bigint, reason text) TO rowrun_operator;
GRANT ALL ON FUNCTION rowrun.abandon_run(run_id bigint, reason text) TO rowrun_replica;


--
-- Name: TABLE replica_heartbeat; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.replica_heartbeat TO rowrun_client;
GRANT SELECT ON TABLE rowrun.replica_heartbeat TO rowrun_viewer;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE rowrun.replica_heartbeat TO rowrun_replica;


--
-- Name: TABLE task; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT,INSERT ON TABLE rowrun.task TO rowrun_client;
GRANT SELECT ON TABLE rowrun.task TO rowrun_viewer;
GRANT SELECT,DELETE,UPDATE ON TABLE rowrun.task TO rowrun_replica;


--
-- Name: COLUMN task.name; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(name) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.type; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(type) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.queue; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(queue) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.database_id; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(database_id) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.version; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(version) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.sequential; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(sequential) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.payload; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(payload) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.priority; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(priority) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.timeout; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(timeout) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.progress_timeout; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(progress_timeout) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.max_attempts; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(max_attempts) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.retry_delay; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(retry_delay) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.on_stale; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(on_stale) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.on_failure_task; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(on_failure_task) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.paused; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(paused) ON TABLE rowrun.task TO rowrun_operator;


--
-- Name: COLUMN task.skipped; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(skipped) ON TABLE rowrun.task TO rowrun_operator;


--
-- Name: COLUMN task.skip_reason; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(skip_reason) ON TABLE rowrun.task TO rowrun_operator;


--
-- Name: COLUMN task.retention; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(retention) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.labels; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(labels) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.schedule; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(schedule) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.time_zone; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(time_zone) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.misfire; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(misfire) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.starts_at; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(starts_at) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.ends_at; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(ends_at) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.overlap; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(overlap) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.state; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(state) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.failure_log_level; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(failure_log_level) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: COLUMN task.retention_by_status; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(retention_by_status) ON TABLE rowrun.task TO rowrun_client;


--
-- Name: TABLE task_run; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT,INSERT ON TABLE rowrun.task_run TO rowrun_client;
GRANT SELECT ON TABLE rowrun.task_run TO rowrun_viewer;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE rowrun.task_run TO rowrun_replica;


--
-- Name: COLUMN task_run.task_id; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(task_id) ON TABLE rowrun.task_run TO rowrun_client;


--
-- Name: COLUMN task_run.run_at; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(run_at) ON TABLE rowrun.task_run TO rowrun_client;


--
-- Name: COLUMN task_run.input; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(input) ON TABLE rowrun.task_run TO rowrun_client;


--
-- Name: COLUMN task_run.priority; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(priority) ON TABLE rowrun.task_run TO rowrun_client;


--
-- Name: COLUMN task_run.idempotency_key; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(idempotency_key) ON TABLE rowrun.task_run TO rowrun_client;


--
-- Name: COLUMN task_run.cancel_requested_at; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(cancel_requested_at) ON TABLE rowrun.task_run TO rowrun_client;


--
-- Name: COLUMN task_run.cancel_reason; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(cancel_reason) ON TABLE rowrun.task_run TO rowrun_client;


--
-- Name: FUNCTION address_event(webhooks bigint[], event text, plan_id bigint, round integer, standard text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.address_event(webhooks bigint[], event text, plan_id bigint, round integer, standard text) FROM PUBLIC;


--
-- Name: FUNCTION address_task_event(webhooks bigint[], event text, run_id bigint, root_id bigint, task_id bigint, task_type text, data text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.address_task_event(webhooks bigint[], event text, run_id bigint, root_id bigint, task_id bigint, task_type text, data text) FROM PUBLIC;


--
-- Name: FUNCTION announce_failures(run_ids bigint[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.announce_failures(run_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.announce_failures(run_ids bigint[]) TO rowrun_replica;


--
-- Name: FUNCTION announce_orphans(types text[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.announce_orphans(types text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.announce_orphans(types text[]) TO rowrun_replica;


--
-- Name: FUNCTION announce_pause(task_id bigint); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.announce_pause(task_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.announce_pause(task_id bigint) TO rowrun_replica;


--
-- Name: FUNCTION announce_plans(plan_ids bigint[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.announce_plans(plan_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.announce_plans(plan_ids bigint[]) TO rowrun_replica;


--
-- Name: FUNCTION apply_verdicts(v record, request rowrun.claim_request, OUT promoted integer, OUT next_ms double precision, OUT claims rowrun.claim[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.apply_verdicts(v record, request rowrun.claim_request, OUT promoted integer, OUT next_ms double precision, OUT claims rowrun.claim[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.apply_verdicts(v record, request rowrun.claim_request, OUT promoted integer, OUT next_ms double precision, OUT claims rowrun.claim[]) TO rowrun_replica;


--
-- Name: TABLE gate_mark; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE rowrun.gate_mark TO rowrun_replica;


--
-- Name: FUNCTION begin_round(plan_id bigint, next integer, by_run boolean); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.begin_round(plan_id bigint, next integer, by_run boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.begin_round(plan_id bigint, next integer, by_run boolean) TO rowrun_replica;


--
-- Name: FUNCTION begin_rounds(run_ids bigint[], wait boolean); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.begin_rounds(run_ids bigint[], wait boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.begin_rounds(run_ids bigint[], wait boolean) TO rowrun_replica;


--
-- Name: FUNCTION cancel_plan(plan_id bigint, reason text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.cancel_plan(plan_id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.cancel_plan(plan_id bigint, reason text) TO rowrun_client;
GRANT ALL ON FUNCTION rowrun.cancel_plan(plan_id bigint, reason text) TO rowrun_replica;


--
-- Name: FUNCTION cancel_run(run_id bigint, reason text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.cancel_run(run_id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.cancel_run(run_id bigint, reason text) TO rowrun_client;
GRANT ALL ON FUNCTION rowrun.cancel_run(run_id bigint, reason text) TO rowrun_replica;


--
-- Name: FUNCTION cancel_tick(run_id bigint, reason text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.cancel_tick(run_id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.cancel_tick(run_id bigint, reason text) TO rowrun_replica;


--
-- Name: FUNCTION candidates(marks record, due boolean, most integer, OUT ids bigint[], OUT of_plans bigint[], OUT cut_off text[], OUT more boolean); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.candidates(marks record, due boolean, most integer, OUT ids bigint[], OUT of_plans bigint[], OUT cut_off text[], OUT more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.candidates(marks record, due boolean, most integer, OUT ids bigint[], OUT of_plans bigint[], OUT cut_off text[], OUT more boolean) TO rowrun_replica;


--
-- Name: FUNCTION chat_line(line text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.chat_line(line text) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.chat_line(line text) TO rowrun_author;
GRANT ALL ON FUNCTION rowrun.chat_line(line text) TO rowrun_replica;


--
-- Name: FUNCTION chat_message(message jsonb, OUT title text, OUT subject text, OUT lines text[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.chat_message(message jsonb, OUT title text, OUT subject text, OUT lines text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.chat_message(message jsonb, OUT title text, OUT subject text, OUT lines text[]) TO rowrun_author;
GRANT ALL ON FUNCTION rowrun.chat_message(message jsonb, OUT title text, OUT subject text, OUT lines text[]) TO rowrun_replica;


--
-- Name: FUNCTION check_results(results jsonb); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.check_results(results jsonb) FROM PUBLIC;


--
-- Name: FUNCTION claim_runs(request_id uuid, worker text, types text[], max integer, lease interval); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.claim_runs(request_id uuid, worker text, types text[], max integer, lease interval) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.claim_runs(request_id uuid, worker text, types text[], max integer, lease interval) TO rowrun_worker;
GRANT ALL ON FUNCTION rowrun.claim_runs(request_id uuid, worker text, types text[], max integer, lease interval) TO rowrun_replica;


--
-- Name: FUNCTION claimed_by_request(request_id uuid); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.claimed_by_request(request_id uuid) FROM PUBLIC;


--
-- Name: TABLE plan; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT,INSERT ON TABLE rowrun.plan TO rowrun_client;
GRANT SELECT ON TABLE rowrun.plan TO rowrun_viewer;
GRANT SELECT,DELETE,UPDATE ON TABLE rowrun.plan TO rowrun_replica;


--
-- Name: COLUMN plan.project; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(project) ON TABLE rowrun.plan TO rowrun_client;


--
-- Name: COLUMN plan.name; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(name) ON TABLE rowrun.plan TO rowrun_client;


--
-- Name: COLUMN plan.parallel_limit; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(parallel_limit) ON TABLE rowrun.plan TO rowrun_operator;


--
-- Name: COLUMN plan.on_failure; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(on_failure) ON TABLE rowrun.plan TO rowrun_operator;


--
-- Name: COLUMN plan.paused; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(paused) ON TABLE rowrun.plan TO rowrun_operator;


--
-- Name: TABLE task_dependency; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT,INSERT ON TABLE rowrun.task_dependency TO rowrun_client;
GRANT SELECT ON TABLE rowrun.task_dependency TO rowrun_viewer;
GRANT SELECT,DELETE ON TABLE rowrun.task_dependency TO rowrun_replica;


--
-- Name: TABLE unmet_dependency; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.unmet_dependency TO rowrun_client;
GRANT SELECT ON TABLE rowrun.unmet_dependency TO rowrun_viewer;
GRANT SELECT ON TABLE rowrun.unmet_dependency TO rowrun_replica;


--
-- Name: FUNCTION complete_run(run_id bigint, claim uuid, result jsonb); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.complete_run(run_id bigint, claim uuid, result jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.complete_run(run_id bigint, claim uuid, result jsonb) TO rowrun_client;
GRANT ALL ON FUNCTION rowrun.complete_run(run_id bigint, claim uuid, result jsonb) TO rowrun_replica;
GRANT ALL ON FUNCTION rowrun.complete_run(run_id bigint, claim uuid, result jsonb) TO rowrun_worker;


--
-- Name: FUNCTION delete_webhook(webhook_id bigint); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.delete_webhook(webhook_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.delete_webhook(webhook_id bigint) TO rowrun_author;


--
-- Name: FUNCTION discord_text(said text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.discord_text(said text) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.discord_text(said text) TO rowrun_author;
GRANT ALL ON FUNCTION rowrun.discord_text(said text) TO rowrun_replica;


--
-- Name: FUNCTION discord_body(title text, subject text, lines text[], link text, event text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.discord_body(title text, subject text, lines text[], link text, event text) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.discord_body(title text, subject text, lines text[], link text, event text) TO rowrun_author;
GRANT ALL ON FUNCTION rowrun.discord_body(title text, subject text, lines text[], link text, event text) TO rowrun_replica;


--
-- Name: FUNCTION do_act(verb text, kind text, target text, args jsonb); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.do_act(verb text, kind text, target text, args jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.do_act(verb text, kind text, target text, args jsonb) TO rowrun_operator;


--
-- Name: FUNCTION end_batch(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[], plan_tasks bigint[], marks_plans boolean); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.end_batch(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[], plan_tasks bigint[], marks_plans boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.end_batch(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[], plan_tasks bigint[], marks_plans boolean) TO rowrun_replica;


--
-- Name: FUNCTION end_runs(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[], plan_tasks bigint[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.end_runs(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[], plan_tasks bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.end_runs(run_ids bigint[], claims uuid[], statuses text[], results jsonb[], retries text[], plan_tasks bigint[]) TO rowrun_replica;


--
-- Name: FUNCTION end_worker_runs(claims uuid[], named_ids bigint[], end_statuses text[], results jsonb[], retries text[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.end_worker_runs(claims uuid[], named_ids bigint[], end_statuses text[], results jsonb[], retries text[]) FROM PUBLIC;


--
-- Name: FUNCTION fail_run(run_id bigint, claim uuid, detail text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.fail_run(run_id bigint, claim uuid, detail text) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.fail_run(run_id bigint, claim uuid, detail text) TO rowrun_client;
GRANT ALL ON FUNCTION rowrun.fail_run(run_id bigint, claim uuid, detail text) TO rowrun_replica;
GRANT ALL ON FUNCTION rowrun.fail_run(run_id bigint, claim uuid, detail text) TO rowrun_worker;


--
-- Name: FUNCTION filter_fits(filter jsonb, task_id bigint, task_name text, type text, queue text, labels jsonb); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.filter_fits(filter jsonb, task_id bigint, task_name text, type text, queue text, labels jsonb) FROM PUBLIC;


--
-- Name: FUNCTION finish_runs(request_id uuid, worker text, results jsonb, types text[], claim_next integer, lease interval); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.finish_runs(request_id uuid, worker text, results jsonb, types text[], claim_next integer, lease interval) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.finish_runs(request_id uuid, worker text, results jsonb, types text[], claim_next integer, lease interval) TO rowrun_worker;
GRANT ALL ON FUNCTION rowrun.finish_runs(request_id uuid, worker text, results jsonb, types text[], claim_next integer, lease interval) TO rowrun_replica;


--
-- Name: FUNCTION first_looks(oldest bigint[], t timestamp with time zone, most integer); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.first_looks(oldest bigint[], t timestamp with time zone, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.first_looks(oldest bigint[], t timestamp with time zone, most integer) TO rowrun_replica;


--
-- Name: FUNCTION handle_ended(ended bigint[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.handle_ended(ended bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.handle_ended(ended bigint[]) TO rowrun_replica;


--
-- Name: FUNCTION heartbeat_worker(worker text, claims uuid[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.heartbeat_worker(worker text, claims uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.heartbeat_worker(worker text, claims uuid[]) TO rowrun_worker;
GRANT ALL ON FUNCTION rowrun.heartbeat_worker(worker text, claims uuid[]) TO rowrun_replica;


--
-- Name: TABLE deployment; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.deployment TO rowrun_client;
GRANT SELECT ON TABLE rowrun.deployment TO rowrun_viewer;
GRANT SELECT ON TABLE rowrun.deployment TO rowrun_replica;


--
-- Name: COLUMN deployment.stream_replica_id; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(stream_replica_id) ON TABLE rowrun.deployment TO rowrun_replica;


--
-- Name: COLUMN deployment.orphans_looked_at; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(orphans_looked_at) ON TABLE rowrun.deployment TO rowrun_replica;


--
-- Name: TABLE promotion_lock; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.promotion_lock TO rowrun_client;
GRANT SELECT ON TABLE rowrun.promotion_lock TO rowrun_viewer;
GRANT SELECT,INSERT,UPDATE ON TABLE rowrun.promotion_lock TO rowrun_replica;


--
-- Name: FUNCTION insert_successors(run_ids bigint[], retries text[], successors bigint[], t timestamp with time zone); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.insert_successors(run_ids bigint[], retries text[], successors bigint[], t timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.insert_successors(run_ids bigint[], retries text[], successors bigint[], t timestamp with time zone) TO rowrun_replica;


--
-- Name: FUNCTION is_uuid(value text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.is_uuid(value text) FROM PUBLIC;


--
-- Name: FUNCTION leave_marks(v record, of_plans bigint[], cut_off text[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.leave_marks(v record, of_plans bigint[], cut_off text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.leave_marks(v record, of_plans bigint[], cut_off text[]) TO rowrun_replica;


--
-- Name: FUNCTION let_start(run_ids bigint[], t timestamp with time zone, request rowrun.claim_request, OUT ids bigint[], OUT claims rowrun.claim[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.let_start(run_ids bigint[], t timestamp with time zone, request rowrun.claim_request, OUT ids bigint[], OUT claims rowrun.claim[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.let_start(run_ids bigint[], t timestamp with time zone, request rowrun.claim_request, OUT ids bigint[], OUT claims rowrun.claim[]) TO rowrun_replica;


--
-- Name: FUNCTION let_start_singly(run_ids bigint[], t timestamp with time zone, request rowrun.claim_request, OUT ids bigint[], OUT claims rowrun.claim[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.let_start_singly(run_ids bigint[], t timestamp with time zone, request rowrun.claim_request, OUT ids bigint[], OUT claims rowrun.claim[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.let_start_singly(run_ids bigint[], t timestamp with time zone, request rowrun.claim_request, OUT ids bigint[], OUT claims rowrun.claim[]) TO rowrun_replica;


--
-- Name: FUNCTION lock_plans_of_ends(plan_tasks bigint[], run_ids bigint[], statuses text[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.lock_plans_of_ends(plan_tasks bigint[], run_ids bigint[], statuses text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.lock_plans_of_ends(plan_tasks bigint[], run_ids bigint[], statuses text[]) TO rowrun_replica;


--
-- Name: FUNCTION lock_promotion(); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.lock_promotion() FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.lock_promotion() TO rowrun_replica;


--
-- Name: FUNCTION make_available(run_ids bigint[], t timestamp with time zone); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.make_available(run_ids bigint[], t timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.make_available(run_ids bigint[], t timestamp with time zone) TO rowrun_replica;


--
-- Name: FUNCTION make_ended(run_ids bigint[], claims uuid[], end_statuses text[], results jsonb[], successor_ids bigint[], t timestamp with time zone, OUT ids bigint[], OUT statuses text[], OUT successors bigint[], OUT databases text[], OUT of_plans boolean, OUT kept bigint[], OUT ticked bigint[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.make_ended(run_ids bigint[], claims uuid[], end_statuses text[], results jsonb[], successor_ids bigint[], t timestamp with time zone, OUT ids bigint[], OUT statuses text[], OUT successors bigint[], OUT databases text[], OUT of_plans boolean, OUT kept bigint[], OUT ticked bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.make_ended(run_ids bigint[], claims uuid[], end_statuses text[], results jsonb[], successor_ids bigint[], t timestamp with time zone, OUT ids bigint[], OUT statuses text[], OUT successors bigint[], OUT databases text[], OUT of_plans boolean, OUT kept bigint[], OUT ticked bigint[]) TO rowrun_replica;


--
-- Name: FUNCTION make_running(run_ids bigint[], t timestamp with time zone, request rowrun.claim_request, OUT ids bigint[], OUT claims rowrun.claim[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.make_running(run_ids bigint[], t timestamp with time zone, request rowrun.claim_request, OUT ids bigint[], OUT claims rowrun.claim[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.make_running(run_ids bigint[], t timestamp with time zone, request rowrun.claim_request, OUT ids bigint[], OUT claims rowrun.claim[]) TO rowrun_replica;


--
-- Name: FUNCTION mark_blocked(r rowrun.task_run); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.mark_blocked(r rowrun.task_run) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.mark_blocked(r rowrun.task_run) TO rowrun_client;
GRANT ALL ON FUNCTION rowrun.mark_blocked(r rowrun.task_run) TO rowrun_replica;


--
-- Name: FUNCTION mark_edited(database_id text, look boolean); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.mark_edited(database_id text, look boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.mark_edited(database_id text, look boolean) TO rowrun_client;
GRANT ALL ON FUNCTION rowrun.mark_edited(database_id text, look boolean) TO rowrun_replica;


--
-- Name: FUNCTION mark_ended(run_ids bigint[], of_plans boolean); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.mark_ended(run_ids bigint[], of_plans boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.mark_ended(run_ids bigint[], of_plans boolean) TO rowrun_replica;


--
-- Name: FUNCTION mark_ready(plan_id bigint); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.mark_ready(plan_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.mark_ready(plan_id bigint) TO rowrun_client;
GRANT ALL ON FUNCTION rowrun.mark_ready(plan_id bigint) TO rowrun_replica;


--
-- Name: FUNCTION mark_stopped(plan_ids bigint[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.mark_stopped(plan_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.mark_stopped(plan_ids bigint[]) TO rowrun_replica;


--
-- Name: FUNCTION mark_unseen_ends(run_ids bigint[], causes text[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.mark_unseen_ends(run_ids bigint[], causes text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.mark_unseen_ends(run_ids bigint[], causes text[]) TO rowrun_replica;


--
-- Name: TABLE webhook_delivery_log; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.webhook_delivery_log TO rowrun_client;
GRANT SELECT ON TABLE rowrun.webhook_delivery_log TO rowrun_viewer;
GRANT SELECT ON TABLE rowrun.webhook_delivery_log TO rowrun_replica;


--
-- Name: FUNCTION note_act(act_id bigint, event text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.note_act(act_id bigint, event text) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.note_act(act_id bigint, event text) TO rowrun_operator;


--
-- Name: FUNCTION pause_replica(replica text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.pause_replica(replica text) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.pause_replica(replica text) TO rowrun_operator;


--
-- Name: FUNCTION pause_schedule(task_id bigint, reason text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.pause_schedule(task_id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.pause_schedule(task_id bigint, reason text) TO rowrun_replica;


--
-- Name: FUNCTION plan_gate_changed(); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.plan_gate_changed() FROM PUBLIC;


--
-- Name: FUNCTION promote_next_of_plans(plan_tasks bigint[], most integer, request rowrun.claim_request, OUT promoted integer, OUT marked integer, OUT claims rowrun.claim[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.promote_next_of_plans(plan_tasks bigint[], most integer, request rowrun.claim_request, OUT promoted integer, OUT marked integer, OUT claims rowrun.claim[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.promote_next_of_plans(plan_tasks bigint[], most integer, request rowrun.claim_request, OUT promoted integer, OUT marked integer, OUT claims rowrun.claim[]) TO rowrun_replica;


--
-- Name: FUNCTION promote_next_version(databases text[], request rowrun.claim_request, OUT promoted integer, OUT marked integer, OUT claims rowrun.claim[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.promote_next_version(databases text[], request rowrun.claim_request, OUT promoted integer, OUT marked integer, OUT claims rowrun.claim[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.promote_next_version(databases text[], request rowrun.claim_request, OUT promoted integer, OUT marked integer, OUT claims rowrun.claim[]) TO rowrun_replica;


--
-- Name: FUNCTION promote_runs(sweep boolean, free boolean, most integer, request rowrun.claim_request, OUT promoted integer, OUT busy boolean, OUT more boolean, OUT next_ms double precision, OUT claims rowrun.claim[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.promote_runs(sweep boolean, free boolean, most integer, request rowrun.claim_request, OUT promoted integer, OUT busy boolean, OUT more boolean, OUT next_ms double precision, OUT claims rowrun.claim[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.promote_runs(sweep boolean, free boolean, most integer, request rowrun.claim_request, OUT promoted integer, OUT busy boolean, OUT more boolean, OUT next_ms double precision, OUT claims rowrun.claim[]) TO rowrun_replica;


--
-- Name: FUNCTION promote_ungated(t timestamp with time zone, most integer, request rowrun.claim_request, OUT promoted integer, OUT more boolean, OUT claims rowrun.claim[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.promote_ungated(t timestamp with time zone, most integer, request rowrun.claim_request, OUT promoted integer, OUT more boolean, OUT claims rowrun.claim[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.promote_ungated(t timestamp with time zone, most integer, request rowrun.claim_request, OUT promoted integer, OUT more boolean, OUT claims rowrun.claim[]) TO rowrun_replica;


--
-- Name: FUNCTION purge_type(type text, older_than interval, after_id bigint, most integer); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.purge_type(type text, older_than interval, after_id bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.purge_type(type text, older_than interval, after_id bigint, most integer) TO rowrun_operator;


--
-- Name: FUNCTION record_orphans(patience interval, every interval); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.record_orphans(patience interval, every interval) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.record_orphans(patience interval, every interval) TO rowrun_replica;


--
-- Name: FUNCTION register_worker(worker_name text, types text[], most integer, lease interval); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.register_worker(worker_name text, types text[], most integer, lease interval) FROM PUBLIC;


--
-- Name: FUNCTION release_runs(claims uuid[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.release_runs(claims uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.release_runs(claims uuid[]) TO rowrun_worker;
GRANT ALL ON FUNCTION rowrun.release_runs(claims uuid[]) TO rowrun_replica;


--
-- Name: FUNCTION remove_any_dependency(task_id bigint, depends_on_id bigint); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.remove_any_dependency(task_id bigint, depends_on_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.remove_any_dependency(task_id bigint, depends_on_id bigint) TO rowrun_author;


--
-- Name: FUNCTION remove_any_plan(plan_id bigint); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.remove_any_plan(plan_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.remove_any_plan(plan_id bigint) TO rowrun_author;


--
-- Name: FUNCTION remove_any_task(task_id bigint); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.remove_any_task(task_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.remove_any_task(task_id bigint) TO rowrun_author;


--
-- Name: FUNCTION remove_dependency(task_id bigint, depends_on_id bigint); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.remove_dependency(task_id bigint, depends_on_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.remove_dependency(task_id bigint, depends_on_id bigint) TO rowrun_client;


--
-- Name: FUNCTION remove_plan(plan_id bigint); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.remove_plan(plan_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.remove_plan(plan_id bigint) TO rowrun_client;


--
-- Name: FUNCTION remove_task(task_id bigint); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.remove_task(task_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.remove_task(task_id bigint) TO rowrun_client;


--
-- Name: FUNCTION renew_deployment(copy boolean); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.renew_deployment(copy boolean) FROM PUBLIC;


--
-- Name: FUNCTION replica_changed(); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.replica_changed() FROM PUBLIC;


--
-- Name: FUNCTION report_progress(run_id bigint, claim uuid, progress jsonb); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.report_progress(run_id bigint, claim uuid, progress jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.report_progress(run_id bigint, claim uuid, progress jsonb) TO rowrun_client;
GRANT ALL ON FUNCTION rowrun.report_progress(run_id bigint, claim uuid, progress jsonb) TO rowrun_replica;
GRANT ALL ON FUNCTION rowrun.report_progress(run_id bigint, claim uuid, progress jsonb) TO rowrun_worker;


--
-- Name: FUNCTION request_key(request_hash bytea); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.request_key(request_hash bytea) FROM PUBLIC;


--
-- Name: FUNCTION resume_replica(replica text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.resume_replica(replica text) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.resume_replica(replica text) TO rowrun_operator;


--
-- Name: FUNCTION retry_plan(plan_id bigint); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.retry_plan(plan_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.retry_plan(plan_id bigint) TO rowrun_client;
GRANT ALL ON FUNCTION rowrun.retry_plan(plan_id bigint) TO rowrun_replica;


--
-- Name: FUNCTION retry_run(run_id bigint); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.retry_run(run_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.retry_run(run_id bigint) TO rowrun_client;
GRANT ALL ON FUNCTION rowrun.retry_run(run_id bigint) TO rowrun_replica;


--
-- Name: FUNCTION schedule_after(run_ids bigint[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.schedule_after(run_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.schedule_after(run_ids bigint[]) TO rowrun_replica;


--
-- Name: FUNCTION schedule_ended(kept bigint[], over bigint[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.schedule_ended(kept bigint[], over bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.schedule_ended(kept bigint[], over bigint[]) TO rowrun_replica;


--
-- Name: FUNCTION schedule_sweep(after_id bigint, most integer, OUT last_id bigint, OUT made integer); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.schedule_sweep(after_id bigint, most integer, OUT last_id bigint, OUT made integer) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.schedule_sweep(after_id bigint, most integer, OUT last_id bigint, OUT made integer) TO rowrun_replica;


--
-- Name: FUNCTION schedule_task(task_id bigint, moved boolean, anew boolean); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.schedule_task(task_id bigint, moved boolean, anew boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.schedule_task(task_id bigint, moved boolean, anew boolean) TO rowrun_replica;


--
-- Name: FUNCTION set_replica_paused(replica text, pause boolean); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.set_replica_paused(replica text, pause boolean) FROM PUBLIC;


--
-- Name: FUNCTION set_skipped(task_id bigint, skip boolean, reason text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.set_skipped(task_id bigint, skip boolean, reason text) FROM PUBLIC;


--
-- Name: FUNCTION settle_plans(plan_ids bigint[], rounds jsonb, sweep boolean); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.settle_plans(plan_ids bigint[], rounds jsonb, sweep boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.settle_plans(plan_ids bigint[], rounds jsonb, sweep boolean) TO rowrun_replica;


--
-- Name: FUNCTION skip_missed(run_ids bigint[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.skip_missed(run_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.skip_missed(run_ids bigint[]) TO rowrun_replica;


--
-- Name: FUNCTION skip_task(task_id bigint, reason text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.skip_task(task_id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.skip_task(task_id bigint, reason text) TO rowrun_operator;
GRANT ALL ON FUNCTION rowrun.skip_task(task_id bigint, reason text) TO rowrun_replica;


--
-- Name: FUNCTION slack_text(said text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.slack_text(said text) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.slack_text(said text) TO rowrun_author;
GRANT ALL ON FUNCTION rowrun.slack_text(said text) TO rowrun_replica;


--
-- Name: FUNCTION slack_body(title text, subject text, lines text[], link text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.slack_body(title text, subject text, lines text[], link text) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.slack_body(title text, subject text, lines text[], link text) TO rowrun_author;
GRANT ALL ON FUNCTION rowrun.slack_body(title text, subject text, lines text[], link text) TO rowrun_replica;


--
-- Name: FUNCTION step_act(act_id bigint, most integer); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.step_act(act_id bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.step_act(act_id bigint, most integer) TO rowrun_operator;


--
-- Name: FUNCTION take_for_worker(request_id uuid, replica text, types text[], most integer, lease interval); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.take_for_worker(request_id uuid, replica text, types text[], most integer, lease interval) FROM PUBLIC;


--
-- Name: FUNCTION take_marks(sweep boolean, most integer, OUT runs bigint[], OUT databases text[], OUT plans bigint[], OUT wide bigint[], OUT dependents bigint[], OUT tasks bigint[], OUT paused bigint[], OUT failures jsonb, OUT replicas boolean, OUT more boolean); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.take_marks(sweep boolean, most integer, OUT runs bigint[], OUT databases text[], OUT plans bigint[], OUT wide bigint[], OUT dependents bigint[], OUT tasks bigint[], OUT paused bigint[], OUT failures jsonb, OUT replicas boolean, OUT more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.take_marks(sweep boolean, most integer, OUT runs bigint[], OUT databases text[], OUT plans bigint[], OUT wide bigint[], OUT dependents bigint[], OUT tasks bigint[], OUT paused bigint[], OUT failures jsonb, OUT replicas boolean, OUT more boolean) TO rowrun_replica;


--
-- Name: FUNCTION task_called(task_id bigint, name text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.task_called(task_id bigint, name text) FROM PUBLIC;


--
-- Name: FUNCTION task_dependency_changed(); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.task_dependency_changed() FROM PUBLIC;


--
-- Name: FUNCTION task_gate_changed(); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.task_gate_changed() FROM PUBLIC;


--
-- Name: FUNCTION task_left_plan(); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.task_left_plan() FROM PUBLIC;


--
-- Name: FUNCTION task_outcome_changed(); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.task_outcome_changed() FROM PUBLIC;


--
-- Name: FUNCTION task_run_deleted(); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.task_run_deleted() FROM PUBLIC;


--
-- Name: FUNCTION task_run_edited(); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.task_run_edited() FROM PUBLIC;


--
-- Name: FUNCTION task_scheduled(); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.task_scheduled() FROM PUBLIC;


--
-- Name: FUNCTION teams_text(said text, looks jsonb); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.teams_text(said text, looks jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.teams_text(said text, looks jsonb) TO rowrun_author;
GRANT ALL ON FUNCTION rowrun.teams_text(said text, looks jsonb) TO rowrun_replica;


--
-- Name: FUNCTION teams_body(title text, subject text, lines text[], link text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.teams_body(title text, subject text, lines text[], link text) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.teams_body(title text, subject text, lines text[], link text) TO rowrun_author;
GRANT ALL ON FUNCTION rowrun.teams_body(title text, subject text, lines text[], link text) TO rowrun_replica;


--
-- Name: FUNCTION unskip_task(task_id bigint); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.unskip_task(task_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.unskip_task(task_id bigint) TO rowrun_operator;
GRANT ALL ON FUNCTION rowrun.unskip_task(task_id bigint) TO rowrun_replica;


--
-- Name: FUNCTION verdicts_on(run_ids bigint[], OUT ids bigint[], OUT causes text[], OUT open_ids bigint[], OUT exclusive boolean, OUT crowded_out text[], OUT fresh text[], OUT freed text[], OUT t timestamp with time zone); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.verdicts_on(run_ids bigint[], OUT ids bigint[], OUT causes text[], OUT open_ids bigint[], OUT exclusive boolean, OUT crowded_out text[], OUT fresh text[], OUT freed text[], OUT t timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.verdicts_on(run_ids bigint[], OUT ids bigint[], OUT causes text[], OUT open_ids bigint[], OUT exclusive boolean, OUT crowded_out text[], OUT fresh text[], OUT freed text[], OUT t timestamp with time zone) TO rowrun_replica;


--
-- Name: FUNCTION webhook_body(format text, message_id text, standard text, base text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.webhook_body(format text, message_id text, standard text, base text) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.webhook_body(format text, message_id text, standard text, base text) TO rowrun_author;
GRANT ALL ON FUNCTION rowrun.webhook_body(format text, message_id text, standard text, base text) TO rowrun_replica;


--
-- Name: FUNCTION webhook_changed(); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.webhook_changed() FROM PUBLIC;


--
-- Name: FUNCTION webhook_content_type(format text); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.webhook_content_type(format text) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.webhook_content_type(format text) TO rowrun_author;
GRANT ALL ON FUNCTION rowrun.webhook_content_type(format text) TO rowrun_replica;


--
-- Name: FUNCTION webhook_deleted(); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.webhook_deleted() FROM PUBLIC;


--
-- Name: FUNCTION webhook_filter(); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.webhook_filter() FROM PUBLIC;


--
-- Name: FUNCTION worker_claim_of(request_id uuid, run_id bigint); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.worker_claim_of(request_id uuid, run_id bigint) FROM PUBLIC;


--
-- Name: FUNCTION worker_payload(k rowrun.task, r rowrun.task_run); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.worker_payload(k rowrun.task, r rowrun.task_run) FROM PUBLIC;


--
-- Name: FUNCTION worker_problem(request_id uuid, worker text, types text[], most integer, lease interval); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.worker_problem(request_id uuid, worker text, types text[], most integer, lease interval) FROM PUBLIC;


--
-- Name: FUNCTION worker_result(entry jsonb); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.worker_result(entry jsonb) FROM PUBLIC;


--
-- Name: FUNCTION write_causes(run_ids bigint[], causes text[]); Type: ACL; Schema: rowrun; Owner: -
--

REVOKE ALL ON FUNCTION rowrun.write_causes(run_ids bigint[], causes text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION rowrun.write_causes(run_ids bigint[], causes text[]) TO rowrun_replica;


--
-- Name: TABLE act; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.act TO rowrun_client;
GRANT SELECT ON TABLE rowrun.act TO rowrun_viewer;
GRANT SELECT ON TABLE rowrun.act TO rowrun_replica;


--
-- Name: COLUMN act.request_id; Type: ACL; Schema: rowrun; Owner: -
--

GRANT INSERT(request_id) ON TABLE rowrun.act TO rowrun_operator;


--
-- Name: COLUMN act.verb; Type: ACL; Schema: rowrun; Owner: -
--

GRANT INSERT(verb) ON TABLE rowrun.act TO rowrun_operator;


--
-- Name: COLUMN act.kind; Type: ACL; Schema: rowrun; Owner: -
--

GRANT INSERT(kind) ON TABLE rowrun.act TO rowrun_operator;


--
-- Name: COLUMN act.asked_by; Type: ACL; Schema: rowrun; Owner: -
--

GRANT INSERT(asked_by) ON TABLE rowrun.act TO rowrun_operator;


--
-- Name: COLUMN act.targets; Type: ACL; Schema: rowrun; Owner: -
--

GRANT INSERT(targets) ON TABLE rowrun.act TO rowrun_operator;


--
-- Name: COLUMN act.filter; Type: ACL; Schema: rowrun; Owner: -
--

GRANT INSERT(filter) ON TABLE rowrun.act TO rowrun_operator;


--
-- Name: COLUMN act.search; Type: ACL; Schema: rowrun; Owner: -
--

GRANT INSERT(search) ON TABLE rowrun.act TO rowrun_operator;


--
-- Name: COLUMN act.args; Type: ACL; Schema: rowrun; Owner: -
--

GRANT INSERT(args) ON TABLE rowrun.act TO rowrun_operator;


--
-- Name: COLUMN act.expected; Type: ACL; Schema: rowrun; Owner: -
--

GRANT INSERT(expected) ON TABLE rowrun.act TO rowrun_operator;


--
-- Name: COLUMN act.capped; Type: ACL; Schema: rowrun; Owner: -
--

GRANT INSERT(capped) ON TABLE rowrun.act TO rowrun_operator;


--
-- Name: COLUMN act."position"; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE("position") ON TABLE rowrun.act TO rowrun_operator;


--
-- Name: COLUMN act.bound; Type: ACL; Schema: rowrun; Owner: -
--

GRANT INSERT(bound) ON TABLE rowrun.act TO rowrun_operator;


--
-- Name: COLUMN act.done; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(done) ON TABLE rowrun.act TO rowrun_operator;


--
-- Name: COLUMN act.unchanged; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(unchanged) ON TABLE rowrun.act TO rowrun_operator;


--
-- Name: COLUMN act.failed; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(failed) ON TABLE rowrun.act TO rowrun_operator;


--
-- Name: COLUMN act.failures; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(failures) ON TABLE rowrun.act TO rowrun_operator;


--
-- Name: COLUMN act.made; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(made) ON TABLE rowrun.act TO rowrun_operator;


--
-- Name: COLUMN act.state; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(state) ON TABLE rowrun.act TO rowrun_operator;


--
-- Name: COLUMN act.stopped_by; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(stopped_by) ON TABLE rowrun.act TO rowrun_operator;


--
-- Name: COLUMN act.ended_at; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(ended_at) ON TABLE rowrun.act TO rowrun_operator;


--
-- Name: SEQUENCE act_id_seq; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON SEQUENCE rowrun.act_id_seq TO rowrun_viewer;
GRANT SELECT ON SEQUENCE rowrun.act_id_seq TO rowrun_replica;


--
-- Name: TABLE code_object; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.code_object TO rowrun_client;
GRANT SELECT ON TABLE rowrun.code_object TO rowrun_viewer;
GRANT SELECT ON TABLE rowrun.code_object TO rowrun_replica;


--
-- Name: TABLE code_version; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.code_version TO rowrun_client;
GRANT SELECT ON TABLE rowrun.code_version TO rowrun_viewer;
GRANT SELECT ON TABLE rowrun.code_version TO rowrun_replica;


--
-- Name: TABLE failed_run; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.failed_run TO rowrun_client;
GRANT SELECT ON TABLE rowrun.failed_run TO rowrun_viewer;
GRANT SELECT ON TABLE rowrun.failed_run TO rowrun_replica;


--
-- Name: SEQUENCE gate_mark_id_seq; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON SEQUENCE rowrun.gate_mark_id_seq TO rowrun_viewer;
GRANT SELECT ON SEQUENCE rowrun.gate_mark_id_seq TO rowrun_replica;


--
-- Name: TABLE orphan_type; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.orphan_type TO rowrun_client;
GRANT SELECT ON TABLE rowrun.orphan_type TO rowrun_viewer;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE rowrun.orphan_type TO rowrun_replica;


--
-- Name: TABLE webhook; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT,INSERT ON TABLE rowrun.webhook TO rowrun_author;
GRANT SELECT ON TABLE rowrun.webhook TO rowrun_replica;


--
-- Name: COLUMN webhook.id; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT(id) ON TABLE rowrun.webhook TO rowrun_client;
GRANT SELECT(id) ON TABLE rowrun.webhook TO rowrun_viewer;


--
-- Name: COLUMN webhook.project; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT(project) ON TABLE rowrun.webhook TO rowrun_client;
GRANT SELECT(project) ON TABLE rowrun.webhook TO rowrun_viewer;
GRANT UPDATE(project) ON TABLE rowrun.webhook TO rowrun_author;


--
-- Name: COLUMN webhook.name; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT(name) ON TABLE rowrun.webhook TO rowrun_client;
GRANT SELECT(name) ON TABLE rowrun.webhook TO rowrun_viewer;
GRANT UPDATE(name) ON TABLE rowrun.webhook TO rowrun_author;


--
-- Name: COLUMN webhook.url; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(url) ON TABLE rowrun.webhook TO rowrun_author;


--
-- Name: COLUMN webhook.secret_ref; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(secret_ref) ON TABLE rowrun.webhook TO rowrun_author;


--
-- Name: COLUMN webhook.events; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT(events) ON TABLE rowrun.webhook TO rowrun_client;
GRANT SELECT(events) ON TABLE rowrun.webhook TO rowrun_viewer;
GRANT UPDATE(events) ON TABLE rowrun.webhook TO rowrun_author;


--
-- Name: COLUMN webhook.format; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT(format) ON TABLE rowrun.webhook TO rowrun_client;
GRANT SELECT(format) ON TABLE rowrun.webhook TO rowrun_viewer;
GRANT UPDATE(format) ON TABLE rowrun.webhook TO rowrun_author;


--
-- Name: COLUMN webhook.enabled; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT(enabled) ON TABLE rowrun.webhook TO rowrun_client;
GRANT SELECT(enabled) ON TABLE rowrun.webhook TO rowrun_viewer;
GRANT UPDATE(enabled) ON TABLE rowrun.webhook TO rowrun_author;
GRANT UPDATE(enabled) ON TABLE rowrun.webhook TO rowrun_replica;


--
-- Name: COLUMN webhook.created_at; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT(created_at) ON TABLE rowrun.webhook TO rowrun_client;
GRANT SELECT(created_at) ON TABLE rowrun.webhook TO rowrun_viewer;


--
-- Name: COLUMN webhook.filter; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT(filter) ON TABLE rowrun.webhook TO rowrun_client;
GRANT SELECT(filter) ON TABLE rowrun.webhook TO rowrun_viewer;
GRANT UPDATE(filter) ON TABLE rowrun.webhook TO rowrun_author;


--
-- Name: TABLE webhook_delivery; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.webhook_delivery TO rowrun_client;
GRANT SELECT ON TABLE rowrun.webhook_delivery TO rowrun_viewer;
GRANT SELECT,DELETE,UPDATE ON TABLE rowrun.webhook_delivery TO rowrun_replica;


--
-- Name: COLUMN webhook_delivery.status; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(status) ON TABLE rowrun.webhook_delivery TO rowrun_author;


--
-- Name: COLUMN webhook_delivery.attempts; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(attempts) ON TABLE rowrun.webhook_delivery TO rowrun_author;


--
-- Name: COLUMN webhook_delivery.next_attempt_at; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(next_attempt_at) ON TABLE rowrun.webhook_delivery TO rowrun_author;


--
-- Name: COLUMN webhook_delivery.delivered_at; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(delivered_at) ON TABLE rowrun.webhook_delivery TO rowrun_author;


--
-- Name: COLUMN webhook_delivery.leased_until; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(leased_until) ON TABLE rowrun.webhook_delivery TO rowrun_author;


--
-- Name: COLUMN webhook_delivery.lease_token; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(lease_token) ON TABLE rowrun.webhook_delivery TO rowrun_author;


--
-- Name: TABLE health; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.health TO rowrun_client;
GRANT SELECT ON TABLE rowrun.health TO rowrun_viewer;
GRANT SELECT ON TABLE rowrun.health TO rowrun_replica;


--
-- Name: TABLE job; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.job TO rowrun_client;
GRANT SELECT ON TABLE rowrun.job TO rowrun_viewer;
GRANT SELECT ON TABLE rowrun.job TO rowrun_replica;


--
-- Name: TABLE migration; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.migration TO rowrun_client;
GRANT SELECT ON TABLE rowrun.migration TO rowrun_viewer;
GRANT SELECT ON TABLE rowrun.migration TO rowrun_replica;


--
-- Name: TABLE orphan_task_run; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.orphan_task_run TO rowrun_client;
GRANT SELECT ON TABLE rowrun.orphan_task_run TO rowrun_viewer;
GRANT SELECT ON TABLE rowrun.orphan_task_run TO rowrun_replica;


--
-- Name: SEQUENCE plan_id_seq; Type: ACL; Schema: rowrun; Owner: -
--

GRANT USAGE ON SEQUENCE rowrun.plan_id_seq TO rowrun_client;
GRANT SELECT,USAGE ON SEQUENCE rowrun.plan_id_seq TO rowrun_replica;
GRANT SELECT ON SEQUENCE rowrun.plan_id_seq TO rowrun_viewer;


--
-- Name: TABLE plan_status; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.plan_status TO rowrun_client;
GRANT SELECT ON TABLE rowrun.plan_status TO rowrun_viewer;
GRANT SELECT ON TABLE rowrun.plan_status TO rowrun_replica;


--
-- Name: TABLE replica_status; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.replica_status TO rowrun_client;
GRANT SELECT ON TABLE rowrun.replica_status TO rowrun_viewer;
GRANT SELECT ON TABLE rowrun.replica_status TO rowrun_replica;


--
-- Name: TABLE schema_object; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.schema_object TO rowrun_client;
GRANT SELECT ON TABLE rowrun.schema_object TO rowrun_viewer;
GRANT SELECT ON TABLE rowrun.schema_object TO rowrun_replica;


--
-- Name: TABLE stream_handover; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE rowrun.stream_handover TO rowrun_replica;


--
-- Name: TABLE stream_note; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.stream_note TO rowrun_client;
GRANT SELECT ON TABLE rowrun.stream_note TO rowrun_viewer;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE rowrun.stream_note TO rowrun_replica;


--
-- Name: SEQUENCE stream_note_id_seq; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON SEQUENCE rowrun.stream_note_id_seq TO rowrun_viewer;
GRANT SELECT ON SEQUENCE rowrun.stream_note_id_seq TO rowrun_replica;


--
-- Name: TABLE stream_position; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.stream_position TO rowrun_client;
GRANT SELECT ON TABLE rowrun.stream_position TO rowrun_viewer;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE rowrun.stream_position TO rowrun_replica;


--
-- Name: SEQUENCE task_id_seq; Type: ACL; Schema: rowrun; Owner: -
--

GRANT USAGE ON SEQUENCE rowrun.task_id_seq TO rowrun_client;
GRANT SELECT,USAGE ON SEQUENCE rowrun.task_id_seq TO rowrun_replica;
GRANT SELECT ON SEQUENCE rowrun.task_id_seq TO rowrun_viewer;


--
-- Name: SEQUENCE task_run_id_seq; Type: ACL; Schema: rowrun; Owner: -
--

GRANT USAGE ON SEQUENCE rowrun.task_run_id_seq TO rowrun_client;
GRANT SELECT,USAGE ON SEQUENCE rowrun.task_run_id_seq TO rowrun_replica;
GRANT SELECT ON SEQUENCE rowrun.task_run_id_seq TO rowrun_viewer;


--
-- Name: TABLE task_run_log; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.task_run_log TO rowrun_client;
GRANT SELECT ON TABLE rowrun.task_run_log TO rowrun_viewer;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE rowrun.task_run_log TO rowrun_replica;


--
-- Name: SEQUENCE task_run_log_id_seq; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT,USAGE ON SEQUENCE rowrun.task_run_log_id_seq TO rowrun_replica;
GRANT SELECT ON SEQUENCE rowrun.task_run_log_id_seq TO rowrun_viewer;


--
-- Name: TABLE task_status; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.task_status TO rowrun_client;
GRANT SELECT ON TABLE rowrun.task_status TO rowrun_viewer;
GRANT SELECT ON TABLE rowrun.task_status TO rowrun_replica;


--
-- Name: TABLE task_type; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON TABLE rowrun.task_type TO rowrun_client;
GRANT SELECT ON TABLE rowrun.task_type TO rowrun_viewer;
GRANT SELECT ON TABLE rowrun.task_type TO rowrun_replica;
GRANT INSERT ON TABLE rowrun.task_type TO rowrun_operator;


--
-- Name: COLUMN task_type.draining; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(draining) ON TABLE rowrun.task_type TO rowrun_operator;


--
-- Name: COLUMN task_type.alias_of; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(alias_of) ON TABLE rowrun.task_type TO rowrun_operator;


--
-- Name: COLUMN task_type.mapping; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(mapping) ON TABLE rowrun.task_type TO rowrun_operator;


--
-- Name: COLUMN task_type.changed_at; Type: ACL; Schema: rowrun; Owner: -
--

GRANT UPDATE(changed_at) ON TABLE rowrun.task_type TO rowrun_operator;


--
-- Name: SEQUENCE webhook_delivery_id_seq; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON SEQUENCE rowrun.webhook_delivery_id_seq TO rowrun_viewer;
GRANT SELECT ON SEQUENCE rowrun.webhook_delivery_id_seq TO rowrun_replica;


--
-- Name: SEQUENCE webhook_id_seq; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT ON SEQUENCE rowrun.webhook_id_seq TO rowrun_viewer;
GRANT SELECT ON SEQUENCE rowrun.webhook_id_seq TO rowrun_replica;
GRANT USAGE ON SEQUENCE rowrun.webhook_id_seq TO rowrun_author;


--
-- Name: TABLE worker_claim; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE rowrun.worker_claim TO rowrun_replica;


--
-- Name: TABLE worker_request; Type: ACL; Schema: rowrun; Owner: -
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE rowrun.worker_request TO rowrun_replica;


--
-- PostgreSQL database dump complete
--


