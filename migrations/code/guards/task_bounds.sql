-- Values of a task that its CHECKs refuse as well, which say less: what is wrong is said with what to do about it. Before the defaults
-- are filled in, so that a NULL is none of these.
CREATE OR REPLACE FUNCTION rowrun.task_bounds() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    century CONSTANT interval := interval '100 years';
BEGIN
    IF octet_length(NEW.name) > 200 THEN
        RAISE EXCEPTION 'name of a task has at most 200 bytes' USING ERRCODE = 'check_violation', CONSTRAINT = 'task_name_up_to_200_bytes', HINT = 'Shorten it.';
    ELSIF NEW.type = '' OR octet_length(NEW.type) > 100 OR NEW.type ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION 'type of a task has 1 to 100 bytes and no control characters' USING ERRCODE = 'check_violation', CONSTRAINT = 'task_type_1_to_100_bytes_no_control',
            HINT = 'NOOP, HTTP, SQL, DATABASE_MIGRATE, COMMAND, or a name of your own that your executor or worker has.';
    ELSIF NEW.queue = '' OR octet_length(NEW.queue) > 100 OR NEW.queue ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION 'queue of a task has 1 to 100 bytes and no control characters' USING ERRCODE = 'check_violation', CONSTRAINT = 'task_queue_1_to_100_bytes_no_control',
            HINT = 'Leave it out for the queue default.';
    ELSIF NEW.database_id = '' OR octet_length(NEW.database_id) > 200 OR NEW.database_id ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION 'database_id of a task has 1 to 200 bytes and no control characters' USING ERRCODE = 'check_violation', CONSTRAINT = 'task_database_id_1_to_200_bytes_no_control',
            HINT = 'It is a name of --config''s databases; for none use NULL.';
    ELSIF jsonb_typeof(NEW.payload) <> 'object' THEN
        RAISE EXCEPTION 'payload of a task is a JSON object, not of type %', jsonb_typeof(NEW.payload) USING ERRCODE = 'check_violation', CONSTRAINT = 'task_payload_an_object',
            HINT = 'What it holds is its type''s to say, such as {"path": "/report"} of HTTP.';
    ELSIF jsonb_typeof(NEW.labels) <> 'object' THEN
        RAISE EXCEPTION 'labels of a task are a JSON object, not of type %', jsonb_typeof(NEW.labels) USING ERRCODE = 'check_violation', CONSTRAINT = 'task_labels_an_object',
            HINT = 'Keys and values, such as {"team": "core"}.';
    ELSIF NEW.timeout < interval '0' OR NEW.timeout > century THEN
        RAISE EXCEPTION 'timeout of a task is 0 to 100 years, not %', NEW.timeout USING ERRCODE = 'check_violation', CONSTRAINT = 'task_timeout_0_to_100_years',
            HINT = '0: none; NULL: that of the sidecar that claims.';
    ELSIF NEW.progress_timeout <= interval '0' OR NEW.progress_timeout > century THEN
        RAISE EXCEPTION 'progress_timeout of a task is above 0 and at most 100 years, not %', NEW.progress_timeout USING ERRCODE = 'check_violation', CONSTRAINT = 'task_progress_timeout_above_0_to_100_years',
            HINT = 'NULL: none.';
    ELSIF NEW.retry_delay < interval '0' OR NEW.retry_delay > century THEN
        RAISE EXCEPTION 'retry_delay of a task is 0 to 100 years, not %', NEW.retry_delay USING ERRCODE = 'check_violation', CONSTRAINT = 'task_retry_delay_0_to_100_years',
            HINT = '10 s is the default; it doubles per attempt, up to an hour.';
    ELSIF NEW.on_failure_task = '' OR octet_length(NEW.on_failure_task) > 200 THEN
        RAISE EXCEPTION 'on_failure_task of a task has 1 to 200 bytes' USING ERRCODE = 'check_violation', CONSTRAINT = 'task_on_failure_task_1_to_200_bytes',
            HINT = 'It is the name or the id of a task without a plan; for none use NULL.';
    ELSIF octet_length(NEW.skip_reason) > 10000 THEN
        RAISE EXCEPTION 'skip_reason of a task has at most 10,000 bytes' USING ERRCODE = 'check_violation', CONSTRAINT = 'task_skip_reason_up_to_10000_bytes', HINT = 'Shorten it.';
    ELSIF NEW.failure_log_level NOT IN ('debug', 'info', 'warn', 'error') THEN
        RAISE EXCEPTION 'failure_log_level "%" of a task is none of debug, info, warn, error', left(NEW.failure_log_level, 100) USING ERRCODE = 'check_violation',
            CONSTRAINT = 'task_failure_log_level_debug_info_warn_error', HINT = 'info is the default.';
    END IF;
    IF NEW.retention < interval '0' OR NEW.retention > century THEN
        RAISE EXCEPTION 'retention of a task is 0 to 100 years, not %', NEW.retention USING ERRCODE = 'check_violation', CONSTRAINT = 'task_retention_0_to_100_years',
            HINT = '0: its runs are kept for ever; NULL: as long as the sidecars say.';
    ELSIF (CASE WHEN jsonb_typeof(NEW.retention_by_status) = 'object' THEN NEW.retention_by_status - '{DONE,FAILED,CANCELED}'::text[] <> '{}'
                ELSE NEW.retention_by_status IS NOT NULL END)
    THEN
        RAISE EXCEPTION 'retention_by_status of a task is a JSON object with DONE, FAILED and CANCELED' USING ERRCODE = 'check_violation',
            CONSTRAINT = 'task_retention_by_status_done_failed_canceled', HINT = 'Such as {"DONE": "1 day", "FAILED": "90 days"}.';
    ELSIF jsonb_path_exists(NEW.retention_by_status, 'strict $.* ? (@.type() != "string" && @.type() != "number" && @.type() != "null")') THEN
        RAISE EXCEPTION 'durations in retention_by_status of a task are texts' USING ERRCODE = 'check_violation', -- of a list the text may be one, in seconds
            CONSTRAINT = 'task_retention_by_status_0_to_100_years', HINT = 'Such as {"DONE": "1 day", "FAILED": "90 days"}.';
    ELSIF least((NEW.retention_by_status ->> 'DONE')::interval, (NEW.retention_by_status ->> 'FAILED')::interval, (NEW.retention_by_status ->> 'CANCELED')::interval) < interval '0'
       OR greatest((NEW.retention_by_status ->> 'DONE')::interval, (NEW.retention_by_status ->> 'FAILED')::interval, (NEW.retention_by_status ->> 'CANCELED')::interval) > century
    THEN
        RAISE EXCEPTION 'durations in retention_by_status of a task are 0 to 100 years' USING ERRCODE = 'check_violation', CONSTRAINT = 'task_retention_by_status_0_to_100_years',
            HINT = '0: runs that ended so are kept for ever; leave a status out to have retention hold for it.';
    ELSIF octet_length(NEW.schedule) > 1000 THEN
        RAISE EXCEPTION 'schedule of a task has at most 1,000 bytes' USING ERRCODE = 'check_violation', CONSTRAINT = 'task_schedule_up_to_1000_bytes',
            HINT = 'Five fields (minute, hour, day of month, month, day of week), @every 10m, @after 10m, or - for disabled.';
    ELSIF octet_length(NEW.time_zone) > 100 THEN
        RAISE EXCEPTION 'time_zone of a task has at most 100 bytes' USING ERRCODE = 'check_violation', CONSTRAINT = 'task_time_zone_up_to_100_bytes',
            HINT = 'An IANA name such as Europe/London.';
    ELSIF NEW.misfire NOT IN ('SKIP', 'ONCE', 'ALL') THEN
        RAISE EXCEPTION 'misfire "%" of a task is none of SKIP, ONCE, ALL', left(NEW.misfire, 100) USING ERRCODE = 'check_violation', CONSTRAINT = 'task_misfire_skip_once_or_all',
            HINT = 'How many of the ticks that were missed are run: none, the default; the last; all.';
    ELSIF NEW.overlap NOT IN ('SKIP', 'QUEUE') THEN
        RAISE EXCEPTION 'overlap "%" of a task is none of SKIP, QUEUE', left(NEW.overlap, 100) USING ERRCODE = 'check_violation', CONSTRAINT = 'task_overlap_skip_or_queue',
            HINT = 'SKIP, the default: a tick that comes while the run before is under way is left out. QUEUE: it waits.';
    ELSIF NEW.starts_at < timestamptz '1900-01-01 00:00+00' OR NEW.starts_at >= timestamptz '9999-01-01 00:00+00' THEN
        RAISE EXCEPTION 'starts_at of a task lies between the years 1900 and 9999' USING ERRCODE = 'check_violation', CONSTRAINT = 'task_starts_at_1900_to_9998',
            HINT = 'NULL: its schedule holds from now on.';
    ELSIF NEW.ends_at < timestamptz '1900-01-01 00:00+00' OR NEW.ends_at >= timestamptz '9999-01-01 00:00+00' THEN
        RAISE EXCEPTION 'ends_at of a task lies between the years 1900 and 9999' USING ERRCODE = 'check_violation', CONSTRAINT = 'task_ends_at_1900_to_9998',
            HINT = 'NULL: its schedule has no end.';
    ELSIF NEW.spread < interval '0' OR NEW.spread > interval '1 year' THEN
        RAISE EXCEPTION 'spread of a task is 0 to 1 year, not %', NEW.spread USING ERRCODE = 'check_violation', CONSTRAINT = 'task_spread_0_to_1_year',
            HINT = 'The runs of its ticks are put off by up to that; NULL: by nothing.';
    ELSIF NEW.aging < interval '1 s' OR NEW.aging > interval '1 year' THEN
        RAISE EXCEPTION 'aging of a task is 1 s to 1 year, not %', NEW.aging USING ERRCODE = 'check_violation', CONSTRAINT = 'task_aging_1_second_to_1_year',
            HINT = 'The priority of a run grows by one for each of it that it waits; NULL: it doesn''t grow.';
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.task_bounds() IS 'Trigger: what is too long or out of range is refused with what to do about it.';
CREATE OR REPLACE TRIGGER task_bounds BEFORE INSERT OR UPDATE OF name, type, queue, database_id, payload, labels, timeout, progress_timeout, retry_delay,
    on_failure_task, skip_reason, failure_log_level, retention, retention_by_status, schedule, time_zone, misfire, overlap, starts_at, ends_at, spread, aging
    ON rowrun.task FOR EACH ROW EXECUTE FUNCTION rowrun.task_bounds();
