-- The tables, their indexes and sequences, and the functions that columns and CHECKs use. Everything else that the schema
-- has is code, in migrations/code. A step that a database has applied is frozen: what changes a table is a next step.

CREATE TABLE rowrun.migration (
    version    bigint PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now(),
    checksum   text NOT NULL
);
COMMENT ON TABLE rowrun.migration IS 'Which table steps were committed; written in the transaction of each.';
COMMENT ON COLUMN rowrun.migration.version IS 'Number of the step.';
COMMENT ON COLUMN rowrun.migration.applied_at IS 'When its transaction began.';
COMMENT ON COLUMN rowrun.migration.checksum IS 'SHA-256 of the text that was applied: an applied step is never changed.';

CREATE TABLE rowrun.code_version (
    singleton  boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    release    integer NOT NULL,
    hash       text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE rowrun.code_version IS 'One row: which functions, triggers, views and grants the schema has; none while it has none.';
COMMENT ON COLUMN rowrun.code_version.singleton IS 'Holds the table to one row.';
COMMENT ON COLUMN rowrun.code_version.release IS 'The release that they are of, as the manifest counts them.';
COMMENT ON COLUMN rowrun.code_version.hash IS 'Of the source of all of them.';
COMMENT ON COLUMN rowrun.code_version.applied_at IS 'When they were applied.';

CREATE TABLE rowrun.code_object (
    object     text PRIMARY KEY,
    hash       text NOT NULL,
    position   integer NOT NULL,
    retired_in integer
);
COMMENT ON TABLE rowrun.code_object IS 'The functions, triggers, views and grants that `rowrun migrate up` has made.';
COMMENT ON COLUMN rowrun.code_object.object IS 'Kind and name, as DROP takes them.';
COMMENT ON COLUMN rowrun.code_object.hash IS 'Of its source.';
COMMENT ON COLUMN rowrun.code_object.position IS 'Its place in the order in which they were made.';
COMMENT ON COLUMN rowrun.code_object.retired_in IS 'The release that has it no more; the next one removes it. NULL: it is in use.';

CREATE TABLE rowrun.deployment (
    singleton         boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    id                uuid NOT NULL DEFAULT gen_random_uuid(),
    created_at        timestamptz NOT NULL DEFAULT now(),
    stream_replica_id text,
    orphans_looked_at timestamptz,
    system_identifier bigint,
    database_oid      bigint,
    timeline          integer
);
INSERT INTO rowrun.deployment DEFAULT VALUES;
COMMENT ON TABLE rowrun.deployment IS 'One row: what tells this deployment from others on the same server or the same target databases.';
COMMENT ON COLUMN rowrun.deployment.singleton IS 'Holds the table to one row.';
COMMENT ON COLUMN rowrun.deployment.id IS 'Identity of the deployment; part of ledger rows in target databases.';
COMMENT ON COLUMN rowrun.deployment.created_at IS 'When the schema was made.';
COMMENT ON COLUMN rowrun.deployment.stream_replica_id IS 'The replica that last began to write the stream.';
COMMENT ON COLUMN rowrun.deployment.orphans_looked_at IS 'When a replica last looked for orphans.';
COMMENT ON COLUMN rowrun.deployment.system_identifier IS 'The server that the deployment belongs to, as pg_control_system() says; NULL: not known.';
COMMENT ON COLUMN rowrun.deployment.database_oid IS 'The database there.';
COMMENT ON COLUMN rowrun.deployment.timeline IS 'The history of that server which was current then: a promotion begins another.';

-- version_key maps a version to text whose byte order is the order of versions:
-- each number without leading zeros behind its length in two digits, trailing zero numbers dropped.
CREATE FUNCTION rowrun.version_key(version text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (
        SELECT coalesce(string_agg(lpad(length(d.digits)::text, 2, '0') || d.digits, '' ORDER BY d.n), '')
        FROM (
            SELECT ltrim(p.part, '0') AS digits, p.n,
                   max(p.n) FILTER (WHERE ltrim(p.part, '0') <> '') OVER () AS last
            FROM unnest(string_to_array(version, '.')) WITH ORDINALITY AS p(part, n)
        ) d
        WHERE d.n <= d.last
    );
COMMENT ON FUNCTION rowrun.version_key(text) IS 'Text that compares bytewise (COLLATE "C") as versions compare: number by number, 1.0 = 1.';

-- Documents are held to 1 MiB of text, and to 1,000 levels: what is deeper is read and written back at the end of a server's
-- stack or of a program's, at one place and not at another, and would fail the statement of everybody beside it. Compression makes at most 255 of 1, so that what is stored in less than 2,000
-- bytes needs no look; spelled out in each CHECK, because they are asked at every change of a run.

CREATE FUNCTION rowrun.too_deep(document jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN jsonb_path_exists(document, '$.**{1000}');
COMMENT ON FUNCTION rowrun.too_deep(jsonb) IS 'Internal: whether a document has more than 1,000 levels.';

CREATE TABLE rowrun.plan (
    id             bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY CONSTRAINT plan_id_from_1 CHECK (id >= 1),
    project        text NOT NULL DEFAULT 'default' CONSTRAINT plan_project_1_to_200_bytes CHECK (project <> '' AND octet_length(project) <= 200),
    name           text NOT NULL DEFAULT '' CONSTRAINT plan_name_up_to_200_bytes CHECK (octet_length(name) <= 200),
    parallel_limit integer CONSTRAINT plan_parallel_limit_from_1 CHECK (parallel_limit >= 1),
    on_failure     text NOT NULL DEFAULT 'STOP_DATABASE' CONSTRAINT plan_on_failure_stop_database_stop_or_continue CHECK (on_failure IN ('STOP_DATABASE', 'STOP', 'CONTINUE')),
    paused         boolean NOT NULL DEFAULT false,
    round          integer NOT NULL DEFAULT 1,
    created_at     timestamptz NOT NULL DEFAULT now(),
    announced_round integer NOT NULL DEFAULT 0,
    retry_count    integer NOT NULL DEFAULT 0
);
CREATE INDEX plan_unannounced ON rowrun.plan (id) WHERE announced_round < round;
COMMENT ON TABLE rowrun.plan IS 'Tasks that belong together and whose failure or completion is announced.';
COMMENT ON COLUMN rowrun.plan.id IS 'Key.';
COMMENT ON COLUMN rowrun.plan.project IS 'Whose plan it is; webhooks belong to projects.';
COMMENT ON COLUMN rowrun.plan.name IS 'Free text for people.';
COMMENT ON COLUMN rowrun.plan.parallel_limit IS 'Most runs AVAILABLE or RUNNING at once; NULL: no limit.';
COMMENT ON COLUMN rowrun.plan.on_failure IS 'What a task that failed for good holds back until it is retried or skipped: STOP_DATABASE: the plan''s later versions on its database (a CANCELED task holds these too); STOP: every other run of the plan; CONTINUE: nothing.';
COMMENT ON COLUMN rowrun.plan.paused IS 'While true no run of the plan is promoted or claimed.';
COMMENT ON COLUMN rowrun.plan.round IS 'Counts announcements: the first is 1.';
COMMENT ON COLUMN rowrun.plan.created_at IS 'When it was inserted.';
COMMENT ON COLUMN rowrun.plan.announced_round IS 'Internal: the last round whose event was decided; equal to round, or less while none was.';
COMMENT ON COLUMN rowrun.plan.retry_count IS 'Internal: how many rounds were begun by runs after the first.';

CREATE TABLE rowrun.task (
    id               bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY CONSTRAINT task_id_from_1 CHECK (id >= 1),
    plan_id          bigint REFERENCES rowrun.plan ON DELETE CASCADE,
    name             text NOT NULL DEFAULT '' CONSTRAINT task_name_up_to_200_bytes CHECK (octet_length(name) <= 200),
    type             text NOT NULL CONSTRAINT task_type_1_to_100_bytes_no_control CHECK (type <> '' AND octet_length(type) <= 100 AND type !~ '[[:cntrl:]]'),
    queue            text NOT NULL DEFAULT 'default' CONSTRAINT task_queue_1_to_100_bytes_no_control CHECK (queue <> '' AND octet_length(queue) <= 100 AND queue !~ '[[:cntrl:]]'),
    database_id      text CONSTRAINT task_database_id_1_to_200_bytes_no_control CHECK (database_id <> '' AND octet_length(database_id) <= 200 AND database_id !~ '[[:cntrl:]]'),
    version          text CONSTRAINT task_version_numbers_and_dots CHECK (version ~ '^[0-9]{1,20}(\.[0-9]{1,20}){0,9}$'),
    sequential       boolean NOT NULL,
    payload          jsonb NOT NULL DEFAULT '{}' CONSTRAINT task_payload_an_object CHECK (jsonb_typeof(payload) = 'object') CONSTRAINT task_payload_up_to_1_mib_and_1000_levels CHECK (pg_column_size(payload) < 2000 OR (octet_length(payload::text) <= 1048576 AND NOT rowrun.too_deep(payload))),
    priority         integer NOT NULL DEFAULT 0,
    timeout          interval CONSTRAINT task_timeout_0_to_100_years CHECK (timeout >= interval '0' AND timeout <= interval '100 years'),
    progress_timeout interval CONSTRAINT task_progress_timeout_above_0_to_100_years CHECK (progress_timeout > interval '0' AND progress_timeout <= interval '100 years'),
    max_attempts     integer NOT NULL DEFAULT 1 CONSTRAINT task_max_attempts_from_1 CHECK (max_attempts >= 1),
    retry_delay      interval NOT NULL DEFAULT '10 s' CONSTRAINT task_retry_delay_0_to_100_years CHECK (retry_delay >= interval '0' AND retry_delay <= interval '100 years'),
    on_stale         text NOT NULL DEFAULT 'FAIL' CONSTRAINT task_on_stale_fail_retry_or_cancel CHECK (on_stale IN ('FAIL', 'RETRY', 'CANCEL')),
    on_failure_task  text CONSTRAINT task_on_failure_task_1_to_200_bytes CHECK (on_failure_task <> '' AND octet_length(on_failure_task) <= 200),
    paused           boolean NOT NULL DEFAULT false,
    skipped          boolean NOT NULL DEFAULT false,
    skip_reason      text CONSTRAINT task_skip_reason_up_to_10000_bytes CHECK (octet_length(skip_reason) <= 10000),
    retention        interval CONSTRAINT task_retention_0_to_100_years CHECK (retention >= interval '0' AND retention <= interval '100 years'),
    labels           jsonb NOT NULL DEFAULT '{}' CONSTRAINT task_labels_an_object CHECK (jsonb_typeof(labels) = 'object') CONSTRAINT task_labels_up_to_1_mib_and_1000_levels CHECK (pg_column_size(labels) < 2000 OR (octet_length(labels::text) <= 1048576 AND NOT rowrun.too_deep(labels))),
    created_at       timestamptz NOT NULL DEFAULT now(),
    version_key      text COLLATE "C" GENERATED ALWAYS AS (rowrun.version_key(version)) STORED,
    outcome          text CONSTRAINT task_outcome_an_end CHECK (outcome IN ('DONE', 'FAILED', 'CANCELED')),
    outcome_round    integer,
    outcome_run_id   bigint,
    schedule         text CONSTRAINT task_schedule_up_to_1000_bytes CHECK (octet_length(schedule) <= 1000),
    time_zone        text NOT NULL DEFAULT 'UTC' CONSTRAINT task_time_zone_up_to_100_bytes CHECK (octet_length(time_zone) <= 100),
    misfire          text NOT NULL DEFAULT 'SKIP' CONSTRAINT task_misfire_skip_once_or_all CHECK (misfire IN ('SKIP', 'ONCE', 'ALL')),
    starts_at        timestamptz CONSTRAINT task_starts_at_1900_to_9998 CHECK (starts_at >= '1900-01-01 00:00+00' AND starts_at < '9999-01-01 00:00+00'),
    ends_at          timestamptz CONSTRAINT task_ends_at_1900_to_9998 CHECK (ends_at >= '1900-01-01 00:00+00' AND ends_at < '9999-01-01 00:00+00'),
    overlap          text NOT NULL DEFAULT 'SKIP' CONSTRAINT task_overlap_skip_or_queue CHECK (overlap IN ('SKIP', 'QUEUE')),
    state            jsonb CONSTRAINT task_state_up_to_1_mib_and_1000_levels CHECK (pg_column_size(state) < 2000 OR (octet_length(state::text) <= 1048576 AND NOT rowrun.too_deep(state))),
    schedule_error   text,
    scheduled_at     timestamptz,
    schedule_parts   bigint[],
    failure_log_level text NOT NULL DEFAULT 'info' CONSTRAINT task_failure_log_level_debug_info_warn_error CHECK (failure_log_level IN ('debug', 'info', 'warn', 'error')),
    CONSTRAINT task_migrate_needs_target CHECK (type <> 'DATABASE_MIGRATE' OR (version IS NOT NULL AND database_id IS NOT NULL)),
    CONSTRAINT task_order_needs_database CHECK (database_id IS NOT NULL OR (version IS NULL AND NOT sequential)),
    CONSTRAINT task_schedule_without_plan CHECK (schedule IS NULL OR plan_id IS NULL)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
CREATE UNIQUE INDEX task_plan_name ON rowrun.task (plan_id, name) WHERE name <> '' AND plan_id IS NOT NULL;
CREATE UNIQUE INDEX task_name ON rowrun.task (name) WHERE name <> '' AND plan_id IS NULL;
CREATE INDEX task_plan ON rowrun.task (plan_id) WHERE plan_id IS NOT NULL;
CREATE INDEX task_plan_failed ON rowrun.task (plan_id, database_id, version_key)
    WHERE outcome IN ('FAILED', 'CANCELED') AND NOT skipped;
-- A plan's event is asked for at every end of a run: the same few looks with 10 tasks and with 10,000.
CREATE INDEX task_plan_failed_round ON rowrun.task (plan_id, outcome_round) WHERE outcome = 'FAILED' AND NOT skipped;
CREATE INDEX task_plan_open ON rowrun.task (plan_id, id)
    WHERE plan_id IS NOT NULL AND NOT skipped AND outcome IS DISTINCT FROM 'DONE';
COMMENT ON TABLE rowrun.task IS 'What is to be done: in a plan once, without a plan a definition of which each run is one more job.';
COMMENT ON COLUMN rowrun.task.id IS 'Key.';
COMMENT ON COLUMN rowrun.task.plan_id IS 'The plan it belongs to; NULL: a reusable definition.';
COMMENT ON COLUMN rowrun.task.name IS 'Unique, where not empty, in its plan or among the tasks without one.';
COMMENT ON COLUMN rowrun.task.type IS 'NOOP, SQL, DATABASE_MIGRATE, HTTP, COMMAND or a type that a program of yours runs.';
COMMENT ON COLUMN rowrun.task.queue IS 'Only replicas that serve this queue claim its runs.';
COMMENT ON COLUMN rowrun.task.database_id IS 'Name of a target database; for types other than SQL and DATABASE_MIGRATE a name to order by.';
COMMENT ON COLUMN rowrun.task.version IS 'Numbers and dots, compared number by number: 1.10 > 1.9, 1.0 = 1. Smaller versions of a database go first.';
COMMENT ON COLUMN rowrun.task.sequential IS 'Its runs are alone on their database. NULL at insert: true for DATABASE_MIGRATE only.';
COMMENT ON COLUMN rowrun.task.payload IS 'What the executor of the type needs: a JSON object of at most 1 MiB.';
COMMENT ON COLUMN rowrun.task.priority IS 'Higher is promoted and claimed first; the default of its runs.';
COMMENT ON COLUMN rowrun.task.timeout IS 'How long a run may take from started_at; NULL: the default of the sidecar that claims it; 0: no limit.';
COMMENT ON COLUMN rowrun.task.progress_timeout IS 'How long a run may go without reporting progress; NULL: no limit.';
COMMENT ON COLUMN rowrun.task.max_attempts IS 'How many failures in a row, since the last retry that a person asked for, end the chain.';
COMMENT ON COLUMN rowrun.task.retry_delay IS 'Wait before the first automatic retry; doubles per attempt, at most 1 h, +-20 %.';
COMMENT ON COLUMN rowrun.task.on_stale IS 'What becomes of a run that is lost with its replica. FAIL: it is FAILED; RETRY: and gets a successor at once (at most 5 in a row); CANCEL: it is CANCELED. on_failure_task names a task to run when it is FAILED without a successor.';
COMMENT ON COLUMN rowrun.task.on_failure_task IS 'Name or id of a task without a plan that is run, with the failed run as input, when a run has failed for good, also when it was lost (STALE, LOST_CONTACT, DRAINED).';
COMMENT ON COLUMN rowrun.task.paused IS 'While true none of its runs is promoted or claimed.';
COMMENT ON COLUMN rowrun.task.skipped IS 'Counts as done; refused while a run is AVAILABLE or RUNNING; cancels a PENDING run.';
COMMENT ON COLUMN rowrun.task.skip_reason IS 'Why it was skipped, for people.';
COMMENT ON COLUMN rowrun.task.retention IS 'How long its ended runs are kept; NULL: as long as the sidecars say (--retention); 0: they are never removed.';
COMMENT ON COLUMN rowrun.task.labels IS 'A JSON object of the user''s own.';
COMMENT ON COLUMN rowrun.task.created_at IS 'When it was inserted.';
COMMENT ON COLUMN rowrun.task.version_key IS 'Internal: version as text that sorts like it.';
COMMENT ON COLUMN rowrun.task.outcome IS 'Internal: how the newest ended run of a plan''s task ended for good.';
COMMENT ON COLUMN rowrun.task.outcome_round IS 'Internal: the plan''s round for which a FAILED outcome counts.';
COMMENT ON COLUMN rowrun.task.outcome_run_id IS 'Internal: that run. Ids are drawn in another order than runs live, and finished_at can be changed.';
COMMENT ON COLUMN rowrun.task.schedule IS 'When it recurs: five cron fields, @hourly to @yearly, @every 10m, @after 10m, - for disabled; NULL: it doesn''t. Only tasks without a plan.';
COMMENT ON COLUMN rowrun.task.time_zone IS 'IANA name of the zone that cron fields are read in.';
COMMENT ON COLUMN rowrun.task.misfire IS 'What becomes of ticks that nobody could start in time: SKIP: nothing; ONCE: one run for all; ALL: each is run.';
COMMENT ON COLUMN rowrun.task.starts_at IS 'No tick before this moment; the grid of @every begins here.';
COMMENT ON COLUMN rowrun.task.ends_at IS 'No tick after this moment.';
COMMENT ON COLUMN rowrun.task.overlap IS 'What becomes of ticks that pass while a run is under way: SKIP: nothing; QUEUE: they are run after it, one by one.';
COMMENT ON COLUMN rowrun.task.state IS 'Handed to each run as the key state under its payload; replaced by the state of a DONE run''s result.';
COMMENT ON COLUMN rowrun.task.schedule_error IS 'Why the schedule was paused by itself: it could not be followed any more. Resuming the task clears it.';
COMMENT ON COLUMN rowrun.task.scheduled_at IS 'Internal: when its schedule last changed.';
COMMENT ON COLUMN rowrun.task.schedule_parts IS 'Internal: the schedule as numbers, so that the end of a run needn''t read its text.';
COMMENT ON COLUMN rowrun.task.failure_log_level IS 'The level of the lines that say that a run of it FAILED: debug, info, warn or error.';

CREATE TABLE rowrun.task_dependency (
    task_id       bigint NOT NULL REFERENCES rowrun.task ON DELETE CASCADE,
    depends_on_id bigint NOT NULL REFERENCES rowrun.task ON DELETE CASCADE,
    PRIMARY KEY (task_id, depends_on_id),
    CONSTRAINT task_dependency_not_itself CHECK (task_id <> depends_on_id)
);
CREATE INDEX task_dependency_depends_on ON rowrun.task_dependency (depends_on_id);
COMMENT ON TABLE rowrun.task_dependency IS 'A task of a plan that waits until another one of that plan is DONE or SKIPPED.';
COMMENT ON COLUMN rowrun.task_dependency.task_id IS 'The task that waits.';
COMMENT ON COLUMN rowrun.task_dependency.depends_on_id IS 'The task that it waits for.';

-- Its status, documents and texts are held to their bounds by triggers (code/guards), not by CHECKs: these
-- are asked anew at each of a run's four statements, and cost a quarter of an INSERT.
CREATE TABLE rowrun.task_run (
    id                  bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    task_id             bigint NOT NULL REFERENCES rowrun.task ON DELETE CASCADE,
    attempt             integer NOT NULL DEFAULT 0,
    retry_of            bigint,
    root_id             bigint NOT NULL,
    status              text NOT NULL DEFAULT 'PENDING',
    run_at              timestamptz NOT NULL DEFAULT now(),
    input               jsonb NOT NULL DEFAULT '{}',
    priority            integer NOT NULL,
    idempotency_key     text,
    creator             text NOT NULL,
    plan_id             bigint,
    type                text NOT NULL,
    queue               text NOT NULL,
    database_id         text,
    version             text,
    created_at          timestamptz NOT NULL DEFAULT now(),
    available_at        timestamptz,
    started_at          timestamptz,
    finished_at         timestamptz,
    updated_at          timestamptz NOT NULL DEFAULT now(),
    deadline            timestamptz,
    cancel_requested_at timestamptz,
    cancel_reason       text,
    progress            jsonb,
    progress_at         timestamptz,
    result              jsonb NOT NULL DEFAULT '{}',
    version_key         text COLLATE "C",
    sequential          boolean NOT NULL,
    prev_status         text,
    edited_directly     boolean,
    cause               text,
    judge_at            timestamptz,
    failures            integer NOT NULL DEFAULT 0,
    recoveries          integer NOT NULL DEFAULT 0,
    retry_run_id        bigint,
    round               integer,
    tick                timestamptz,
    missed_at           timestamptz,
    own_retention       boolean,
    handles             bigint
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

-- Lean on purpose: nothing but the key covers a run that has ended, unless it was retried, keyed or belongs to a plan.
CREATE INDEX task_run_awaits_plan ON rowrun.task_run (plan_id, priority DESC, run_at, id)
    WHERE status = 'PENDING' AND cause = 'PLAN';
CREATE INDEX task_run_judge_free ON rowrun.task_run (judge_at)
    WHERE judge_at IS NOT NULL AND plan_id IS NULL AND database_id IS NULL;
CREATE INDEX task_run_judge_gated ON rowrun.task_run (judge_at)
    WHERE judge_at IS NOT NULL AND (plan_id IS NOT NULL OR database_id IS NOT NULL);
CREATE INDEX task_run_judge_turn ON rowrun.task_run (coalesce(database_id, ''), coalesce(plan_id, 0), judge_at)
    WHERE judge_at IS NOT NULL AND (plan_id IS NOT NULL OR database_id IS NOT NULL);
CREATE INDEX task_run_available ON rowrun.task_run (queue, type, priority DESC, run_at, id)
    WHERE status = 'AVAILABLE';
CREATE INDEX task_run_database_pending ON rowrun.task_run (database_id, version_key, sequential, priority DESC, run_at, id)
    WHERE status = 'PENDING' AND database_id IS NOT NULL;
CREATE INDEX task_run_database_held ON rowrun.task_run (database_id, version_key, priority DESC, run_at, id)
    WHERE status = 'PENDING' AND cause = 'DATABASE';
CREATE INDEX task_run_database_active ON rowrun.task_run (database_id, version_key)
    WHERE status IN ('AVAILABLE', 'RUNNING') AND database_id IS NOT NULL;
CREATE UNIQUE INDEX task_run_database_sequential ON rowrun.task_run (database_id)
    WHERE sequential AND status IN ('AVAILABLE', 'RUNNING');
CREATE INDEX task_run_plan_unfinished ON rowrun.task_run (plan_id, status, id)
    WHERE plan_id IS NOT NULL AND status IN ('PENDING', 'AVAILABLE', 'RUNNING');
CREATE UNIQUE INDEX task_run_one_unfinished ON rowrun.task_run (task_id)
    WHERE plan_id IS NOT NULL AND status IN ('PENDING', 'AVAILABLE', 'RUNNING');
-- For all runs, because the deletion of a task looks for its runs by this foreign key: without an index that covers them
-- all, each task of a plan that retention removes would have the whole table read.
CREATE INDEX task_run_newest ON rowrun.task_run (task_id, id);
CREATE INDEX task_run_held_plan ON rowrun.task_run (plan_id, database_id) WHERE status = 'PENDING' AND (cause = 'PLAN_FAILED' OR cause = 'PLAN' AND sequential OR cause = 'DATABASE' AND sequential);
CREATE INDEX task_run_held_paused ON rowrun.task_run (task_id) WHERE status = 'PENDING' AND cause = 'PAUSED';
CREATE INDEX task_run_held_replica ON rowrun.task_run (queue, type, database_id) WHERE status = 'PENDING' AND cause = 'NO_REPLICA';
-- Without a predicate: the upserts of ORMs name the columns alone.
CREATE UNIQUE INDEX task_run_idempotency_key ON rowrun.task_run (task_id, idempotency_key);
CREATE UNIQUE INDEX task_run_retry_of ON rowrun.task_run (retry_of) WHERE retry_of IS NOT NULL;
CREATE INDEX task_run_chain_end ON rowrun.task_run (root_id) WHERE attempt > 0 AND retry_run_id IS NULL;
CREATE INDEX task_run_failed ON rowrun.task_run (finished_at DESC) WHERE status = 'FAILED' AND retry_run_id IS NULL;

COMMENT ON TABLE rowrun.task_run IS 'One run of a task. Insert task_id and what you like of run_at, input, priority and idempotency_key.';
COMMENT ON COLUMN rowrun.task_run.id IS 'Key.';
COMMENT ON COLUMN rowrun.task_run.task_id IS 'The task to run.';
COMMENT ON COLUMN rowrun.task_run.attempt IS '0 for the first run of a chain, one more for each retry.';
COMMENT ON COLUMN rowrun.task_run.retry_of IS 'The run that this one follows.';
COMMENT ON COLUMN rowrun.task_run.root_id IS 'The first run of the chain.';
COMMENT ON COLUMN rowrun.task_run.status IS 'PENDING, AVAILABLE, RUNNING, then DONE, FAILED or CANCELED; no way back.';
COMMENT ON COLUMN rowrun.task_run.run_at IS 'Not before this moment.';
COMMENT ON COLUMN rowrun.task_run.input IS 'Laid over the task''s payload at the claim, top-level keys win: a JSON object of at most 1 MiB.';
COMMENT ON COLUMN rowrun.task_run.priority IS 'Higher is promoted and claimed first. NULL at insert: the task''s.';
COMMENT ON COLUMN rowrun.task_run.idempotency_key IS 'Unique per task as long as the run is kept.';
COMMENT ON COLUMN rowrun.task_run.creator IS 'The role that inserted it.';
COMMENT ON COLUMN rowrun.task_run.plan_id IS 'Copied from the task.';
COMMENT ON COLUMN rowrun.task_run.type IS 'Copied from the task.';
COMMENT ON COLUMN rowrun.task_run.queue IS 'Copied from the task.';
COMMENT ON COLUMN rowrun.task_run.database_id IS 'Copied from the task.';
COMMENT ON COLUMN rowrun.task_run.version IS 'Copied from the task.';
COMMENT ON COLUMN rowrun.task_run.created_at IS 'When it was inserted.';
COMMENT ON COLUMN rowrun.task_run.available_at IS 'When it was promoted.';
COMMENT ON COLUMN rowrun.task_run.started_at IS 'When it was claimed.';
COMMENT ON COLUMN rowrun.task_run.finished_at IS 'When it ended.';
COMMENT ON COLUMN rowrun.task_run.updated_at IS 'When its status last changed.';
COMMENT ON COLUMN rowrun.task_run.deadline IS 'When its timeout is over; NULL: never.';
COMMENT ON COLUMN rowrun.task_run.cancel_requested_at IS 'When a cancel was asked for; setting it asks for one.';
COMMENT ON COLUMN rowrun.task_run.cancel_reason IS 'Why, for people.';
COMMENT ON COLUMN rowrun.task_run.progress IS 'What the executor last reported.';
COMMENT ON COLUMN rowrun.task_run.progress_at IS 'When it did.';
COMMENT ON COLUMN rowrun.task_run.result IS 'What the run left behind; of FAILED and CANCELED runs with code and detail.';
COMMENT ON COLUMN rowrun.task_run.version_key IS 'Internal: version as text that sorts like it.';
COMMENT ON COLUMN rowrun.task_run.sequential IS 'Internal: copied from the task.';
COMMENT ON COLUMN rowrun.task_run.prev_status IS 'Internal: the status before, where the newest version of the row is a change of status.';
COMMENT ON COLUMN rowrun.task_run.edited_directly IS 'Internal: the last edge was written by hand, and a trigger announced it; NULL: the statement that took it announced it itself.';
COMMENT ON COLUMN rowrun.task_run.cause IS 'Internal: what the last judgement left a PENDING run waiting for; PLAN: for its plan alone (PLAN_LIMIT, PAUSED, PLAN_FAILED of it); DATABASE: for the runs on its database (VERSION, DATABASE_BUSY); others: that cause. Of an AVAILABLE run UNTOLD: its INSERT made it so, and nobody has been notified of that.';
COMMENT ON COLUMN rowrun.task_run.judge_at IS 'Internal: when a PENDING run must be judged; NULL: not before something happens.';
COMMENT ON COLUMN rowrun.task_run.failures IS 'Internal: failures in this chain since the last retry that a person asked for.';
COMMENT ON COLUMN rowrun.task_run.recoveries IS 'Internal: successors in a row that this chain got for lost replicas.';
COMMENT ON COLUMN rowrun.task_run.retry_run_id IS 'Internal: the run that follows this one.';
COMMENT ON COLUMN rowrun.task_run.tick IS 'The moment of its task''s schedule that it stands for; NULL: somebody asked for it.';
COMMENT ON COLUMN rowrun.task_run.missed_at IS 'Internal: when its tick counts as missed, where missed ticks are skipped.';
COMMENT ON COLUMN rowrun.task_run.own_retention IS 'Internal: its task had a retention when it was inserted; NULL: it had none.';
COMMENT ON COLUMN rowrun.task_run.handles IS 'Internal: the failed run for which this is the run of its task''s on_failure_task.';
COMMENT ON COLUMN rowrun.task_run.round IS 'Internal: the round of its plan that it belongs to.';

-- What a pass is asked to claim of what it promotes, and what it claimed: as values between functions, in no table.
CREATE TYPE rowrun.claim_request AS (
    replica_id      text,
    hashes          bytea,
    used            integer,
    default_timeout double precision,
    queues          text[],
    types           text[],
    databases       text[],
    commands        text[]
);
COMMENT ON TYPE rowrun.claim_request IS 'Internal: which runs a replica takes, and how many: there is a hash of 32 bytes for each, of which the first used ones are gone.';
CREATE TYPE rowrun.claim AS (
    n                 integer,
    id                bigint,
    root_id           bigint,
    task_id           bigint,
    name              text,
    plan_id           bigint,
    attempt           integer,
    type              text,
    queue             text,
    database_id       text,
    version           text,
    input             jsonb,
    manual            boolean,
    timeout           double precision,
    task_type         text,
    alias_of          text,
    task_database_id  text,
    task_version      text,
    payload           jsonb,
    state             jsonb,
    traceparent       text,
    progress_timeout  double precision,
    failure_log_level text
);
COMMENT ON TYPE rowrun.claim IS 'Internal: a run that was handed to a replica with the n-th hash of its request, and what its executor needs.';

CREATE TABLE rowrun.task_run_log (
    id          bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    task_run_id bigint NOT NULL REFERENCES rowrun.task_run ON DELETE CASCADE,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    replica_id  text,
    type        text NOT NULL,
    detail      jsonb NOT NULL DEFAULT '{}' CHECK (pg_column_size(detail) < 2000 OR (octet_length(detail::text) <= 1048576 AND NOT rowrun.too_deep(detail)))
);
CREATE INDEX task_run_log_run ON rowrun.task_run_log (task_run_id, id);
COMMENT ON TABLE rowrun.task_run_log IS 'What executors did, in order.';
COMMENT ON COLUMN rowrun.task_run_log.id IS 'Key; ascending in the order of writing of one run.';
COMMENT ON COLUMN rowrun.task_run_log.task_run_id IS 'The run.';
COMMENT ON COLUMN rowrun.task_run_log.created_at IS 'When it was written.';
COMMENT ON COLUMN rowrun.task_run_log.replica_id IS 'Who wrote it.';
COMMENT ON COLUMN rowrun.task_run_log.type IS 'What it is: statement, notice, response, output, ...';
COMMENT ON COLUMN rowrun.task_run_log.detail IS 'The rest, by type.';

CREATE TABLE rowrun.gate_mark (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind        text NOT NULL CHECK (kind IN ('RUN', 'TASK', 'DATABASE', 'PLAN', 'PLAN_CHANGED', 'DEPENDENCY', 'PLAN_FAILED', 'PAUSED', 'NO_REPLICA')),
    run_id      bigint,
    database_id text,
    plan_id     bigint,
    task_id     bigint,
    round       integer,
    by_run      boolean,
    wide        boolean,
    at          timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_insert_threshold = 1000, autovacuum_vacuum_insert_scale_factor = 0);
COMMENT ON TABLE rowrun.gate_mark IS 'Where a gate may have opened: written by whatever opens one, taken by the next promote pass.';
COMMENT ON COLUMN rowrun.gate_mark.id IS 'Key; taken in this order.';
COMMENT ON COLUMN rowrun.gate_mark.kind IS 'RUN: judge it. TASK: judge the run of a task that waits for less. DATABASE: a run there ended. PLAN: it has new runs, a slot or the plan became free, or its round may have its event. PLAN_CHANGED: a PLAN that was paused, resumed or given another limit, so that others on its databases may go on too. DEPENDENCY: the task is done or skipped. PLAN_FAILED: a failed version of the plan and database was mended. PAUSED: a task goes on. NO_REPLICA: a replica came that may fit.';
COMMENT ON COLUMN rowrun.gate_mark.run_id IS 'For RUN.';
COMMENT ON COLUMN rowrun.gate_mark.database_id IS 'For DATABASE and FAILURE.';
COMMENT ON COLUMN rowrun.gate_mark.plan_id IS 'For PLAN, PLAN_CHANGED and PLAN_FAILED.';
COMMENT ON COLUMN rowrun.gate_mark.task_id IS 'For TASK, DEPENDENCY and PAUSED.';
COMMENT ON COLUMN rowrun.gate_mark.round IS 'For PLAN: the round that has begun with what left the mark.';
COMMENT ON COLUMN rowrun.gate_mark.by_run IS 'Whether a run began it.';
COMMENT ON COLUMN rowrun.gate_mark.at IS 'When it was left: not before the end that left it, nor after its commit.';
COMMENT ON COLUMN rowrun.gate_mark.wide IS 'For PLAN: the next of its runs may be held by more than the plan; look at more than it has slots.';

-- Who holds this row is the one who judges. A row, because what locks it needs the right to update it: anybody may take
-- an advisory lock on any key, and keep it. It is never written: a lock leaves no version behind.
CREATE TABLE rowrun.promotion_lock (
    id smallint PRIMARY KEY CHECK (id = 1)
);
COMMENT ON TABLE rowrun.promotion_lock IS 'Internal: one row; who holds its lock judges the gates.';
COMMENT ON COLUMN rowrun.promotion_lock.id IS 'Key, 1.';
INSERT INTO rowrun.promotion_lock VALUES (1);

-- Who is told of a plan's events, and the outbox: what is to be delivered stands here from the transaction that decides
-- the event until a receiver has it.

CREATE TABLE rowrun.webhook (
    id         bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    project    text NOT NULL DEFAULT 'default',
    name       text NOT NULL DEFAULT '',
    url        text NOT NULL,
    secret_ref text,
    events     text[] NOT NULL DEFAULT '{PIPELINE_FAILED,PIPELINE_COMPLETED}',
    format     text NOT NULL DEFAULT 'standard',
    enabled    boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX webhook_project ON rowrun.webhook (project) WHERE enabled;
COMMENT ON TABLE rowrun.webhook IS 'Who is told when a plan of its project fails or completes.';
COMMENT ON COLUMN rowrun.webhook.id IS 'Key.';
COMMENT ON COLUMN rowrun.webhook.project IS 'Plans of this project.';
COMMENT ON COLUMN rowrun.webhook.name IS 'Free text for people.';
COMMENT ON COLUMN rowrun.webhook.url IS 'http or https without credentials, or where the sidecar finds it: env:NAME, file:PATH.';
COMMENT ON COLUMN rowrun.webhook.secret_ref IS 'Where the sidecar finds the signing secrets: env:NAME, file:PATH; NULL: unsigned.';
COMMENT ON COLUMN rowrun.webhook.events IS 'Of PIPELINE_FAILED and PIPELINE_COMPLETED those that are wanted.';
COMMENT ON COLUMN rowrun.webhook.format IS 'standard (Standard Webhooks) or slack.';
COMMENT ON COLUMN rowrun.webhook.enabled IS 'While false nothing is sent: what is PENDING waits, new events are not addressed to it.';
COMMENT ON COLUMN rowrun.webhook.created_at IS 'When it was inserted.';

CREATE TABLE rowrun.webhook_delivery_log (
    plan_id      bigint PRIMARY KEY REFERENCES rowrun.plan ON DELETE CASCADE,
    event_type   text NOT NULL CHECK (event_type IN ('PIPELINE_FAILED', 'PIPELINE_COMPLETED')),
    round        integer NOT NULL,
    retry_count  integer NOT NULL DEFAULT 0,
    delivered_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE rowrun.webhook_delivery_log IS 'The announcement of each plan''s current round, at most one.';
COMMENT ON COLUMN rowrun.webhook_delivery_log.plan_id IS 'The plan.';
COMMENT ON COLUMN rowrun.webhook_delivery_log.event_type IS 'PIPELINE_FAILED or PIPELINE_COMPLETED.';
COMMENT ON COLUMN rowrun.webhook_delivery_log.round IS 'The round that it announces.';
COMMENT ON COLUMN rowrun.webhook_delivery_log.retry_count IS 'How many rounds so far were begun by runs after the first.';
COMMENT ON COLUMN rowrun.webhook_delivery_log.delivered_at IS 'When the right to send was claimed.';

-- Outlives its plan: a plan that somebody deletes doesn't take along what is still to be told of it. No foreign key
-- leads to the webhook: an event would wait, with the plan held, for whoever is changing or deleting one. A trigger
-- deletes with the webhook what is addressed to it, and retention what was being written meanwhile.
CREATE TABLE rowrun.webhook_delivery (
    id              bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    webhook_id      bigint NOT NULL,
    plan_id         bigint NOT NULL,
    round           integer NOT NULL,
    event_type      text NOT NULL CHECK (event_type IN ('PIPELINE_FAILED', 'PIPELINE_COMPLETED')),
    message_id      text NOT NULL UNIQUE,
    payload         text NOT NULL,
    status          text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'DELIVERED', 'EXHAUSTED', 'DISABLED')),
    attempts        integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_attempt_at timestamptz DEFAULT now() CHECK (next_attempt_at >= '1900-01-01 00:00+00' AND next_attempt_at < '9999-01-01 00:00+00'),
    response_code   integer,
    last_error      text,
    created_at      timestamptz NOT NULL DEFAULT now(),
    delivered_at    timestamptz CHECK (delivered_at >= '1900-01-01 00:00+00' AND delivered_at < '9999-01-01 00:00+00'),
    leased_until    timestamptz CHECK (leased_until >= '1900-01-01 00:00+00' AND leased_until < '9999-01-01 00:00+00'),
    lease_token     uuid,
    unready_since   timestamptz,
    CONSTRAINT webhook_delivery_once UNIQUE (webhook_id, plan_id, round),
    CONSTRAINT webhook_delivery_has_time CHECK (status <> 'PENDING' OR next_attempt_at IS NOT NULL)
);
CREATE INDEX webhook_delivery_due ON rowrun.webhook_delivery (next_attempt_at) WHERE status = 'PENDING';
CREATE INDEX webhook_delivery_waiting ON rowrun.webhook_delivery (webhook_id, next_attempt_at, id) WHERE status = 'PENDING';
CREATE INDEX webhook_delivery_oldest ON rowrun.webhook_delivery (webhook_id, created_at) WHERE status = 'PENDING';
CREATE INDEX webhook_delivery_leased ON rowrun.webhook_delivery (leased_until) WHERE status = 'PENDING' AND leased_until IS NOT NULL;
CREATE INDEX webhook_delivery_plan ON rowrun.webhook_delivery (plan_id);
CREATE INDEX webhook_delivery_settled ON rowrun.webhook_delivery (created_at) WHERE status <> 'PENDING';
COMMENT ON TABLE rowrun.webhook_delivery IS 'One message to one webhook, kept until it is delivered or given up.';
COMMENT ON COLUMN rowrun.webhook_delivery.id IS 'Key.';
COMMENT ON COLUMN rowrun.webhook_delivery.webhook_id IS 'To whom.';
COMMENT ON COLUMN rowrun.webhook_delivery.plan_id IS 'Of which plan; it may be gone.';
COMMENT ON COLUMN rowrun.webhook_delivery.round IS 'Of which of its rounds.';
COMMENT ON COLUMN rowrun.webhook_delivery.event_type IS 'PIPELINE_FAILED or PIPELINE_COMPLETED.';
COMMENT ON COLUMN rowrun.webhook_delivery.message_id IS 'The same over all tries: receivers drop what they have seen.';
COMMENT ON COLUMN rowrun.webhook_delivery.payload IS 'The exact body.';
COMMENT ON COLUMN rowrun.webhook_delivery.status IS 'PENDING, DELIVERED, EXHAUSTED (every try failed) or DISABLED (the receiver said 410).';
COMMENT ON COLUMN rowrun.webhook_delivery.attempts IS 'How many tries there were.';
COMMENT ON COLUMN rowrun.webhook_delivery.next_attempt_at IS 'When a PENDING one is tried next.';
COMMENT ON COLUMN rowrun.webhook_delivery.response_code IS 'HTTP status of the last answer.';
COMMENT ON COLUMN rowrun.webhook_delivery.last_error IS 'Why the last try failed.';
COMMENT ON COLUMN rowrun.webhook_delivery.created_at IS 'When the event was decided.';
COMMENT ON COLUMN rowrun.webhook_delivery.delivered_at IS 'When a receiver took it.';
COMMENT ON COLUMN rowrun.webhook_delivery.leased_until IS 'Internal: until when its sender is trusted to be at it.';
COMMENT ON COLUMN rowrun.webhook_delivery.lease_token IS 'Internal: which sender that is.';
COMMENT ON COLUMN rowrun.webhook_delivery.unready_since IS 'Internal: since when whoever tried it had no URL or secret for it.';

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

CREATE UNIQUE INDEX task_run_tick ON rowrun.task_run (task_id, tick) WHERE tick IS NOT NULL AND attempt = 0 AND status <> 'CANCELED';
CREATE UNIQUE INDEX task_run_tick_unfinished ON rowrun.task_run (task_id)
    WHERE tick IS NOT NULL AND status IN ('PENDING', 'AVAILABLE', 'RUNNING');
CREATE INDEX task_scheduled ON rowrun.task (id) WHERE schedule IS NOT NULL;
CREATE INDEX task_schedule_error ON rowrun.task (id) WHERE schedule_error IS NOT NULL;

-- What the stream says besides transitions: the replica that writes it prints these rows and marks them.
CREATE TABLE rowrun.stream_note (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    level      text NOT NULL DEFAULT 'warn' CHECK (level IN ('info', 'warn')),
    event      text NOT NULL,
    message    text NOT NULL,
    detail     jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(detail) = 'object'),
    printed_at timestamptz
);
CREATE INDEX stream_note_unprinted ON rowrun.stream_note (id) WHERE printed_at IS NULL;
COMMENT ON TABLE rowrun.stream_note IS 'What the stream says besides transitions; kept for a week.';
COMMENT ON COLUMN rowrun.stream_note.id IS 'Key.';
COMMENT ON COLUMN rowrun.stream_note.created_at IS 'When it happened.';
COMMENT ON COLUMN rowrun.stream_note.level IS 'info or warn.';
COMMENT ON COLUMN rowrun.stream_note.event IS 'What happened, as the line''s event: task_run.stalled, task_type.orphaned, ...';
COMMENT ON COLUMN rowrun.stream_note.message IS 'The line''s message.';
COMMENT ON COLUMN rowrun.stream_note.detail IS 'The line''s other members.';
COMMENT ON COLUMN rowrun.stream_note.printed_at IS 'When the replica that writes the stream wrote it.';

-- How a type of task goes: nothing new of it is claimed, or another type's executor runs it. Replicas read this at
-- each sweep and announce what they run in replica_heartbeat.types.
CREATE TABLE rowrun.task_type (
    type       text PRIMARY KEY CHECK (type <> '' AND octet_length(type) <= 100),
    draining   boolean NOT NULL DEFAULT false,
    alias_of   text CHECK (alias_of <> '' AND octet_length(alias_of) <= 100 AND alias_of <> type),
    mapping    jsonb CHECK (jsonb_typeof(mapping) = 'object'),
    changed_at timestamptz NOT NULL DEFAULT now(),
    -- Those who may write tasks of these types are fewer than those who may write tasks of others.
    CONSTRAINT task_type_alias_harmless CHECK (alias_of IS NULL
        OR NOT ARRAY[type, alias_of] && '{SQL,DATABASE_MIGRATE,COMMAND}'),
    CONSTRAINT task_type_mapping_of_alias CHECK (mapping IS NULL OR alias_of IS NOT NULL)
);
COMMENT ON TABLE rowrun.task_type IS 'Types of tasks that are draining or run by another type''s executor; rowrun type drain, alias.';
COMMENT ON COLUMN rowrun.task_type.type IS 'Key: the type of tasks and runs.';
COMMENT ON COLUMN rowrun.task_type.draining IS 'While true no replica claims runs of this type.';
COMMENT ON COLUMN rowrun.task_type.alias_of IS 'Replicas that run this type run also those of type; not for SQL, DATABASE_MIGRATE and COMMAND.';
COMMENT ON COLUMN rowrun.task_type.mapping IS 'Top-level keys of the payload: {"old": "new"} renames one, {"old": null} leaves it out.';
COMMENT ON COLUMN rowrun.task_type.changed_at IS 'When it last changed.';

CREATE TABLE rowrun.orphan_type (
    type         text PRIMARY KEY,
    first_seen   timestamptz NOT NULL DEFAULT clock_timestamp(),
    announced_at timestamptz,
    pending      bigint NOT NULL,
    available    bigint NOT NULL,
    CONSTRAINT orphan_type_counts_what_is_there CHECK (pending >= 0 AND pending <= 1000000000000 AND available >= 0 AND available <= 1000000000000)
);
COMMENT ON TABLE rowrun.orphan_type IS 'Types of orphan_task_run as the last look found them, counted as far as that went.';
COMMENT ON COLUMN rowrun.orphan_type.type IS 'Key.';
COMMENT ON COLUMN rowrun.orphan_type.first_seen IS 'Since when.';
COMMENT ON COLUMN rowrun.orphan_type.announced_at IS 'When the stream last said so.';
COMMENT ON COLUMN rowrun.orphan_type.pending IS 'How many are PENDING.';
COMMENT ON COLUMN rowrun.orphan_type.available IS 'How many are AVAILABLE.';

-- Runs of tasks with a retention of their own are found by it; no other run stands in this index.
CREATE INDEX task_retention ON rowrun.task (id) WHERE retention IS NOT NULL;
CREATE INDEX task_run_own_retention ON rowrun.task_run (task_id, finished_at)
    WHERE own_retention AND status IN ('DONE', 'FAILED', 'CANCELED');

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
