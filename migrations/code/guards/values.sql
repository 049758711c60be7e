-- What a value may hold that others compute with: a statement that fails at one row fails for everybody whose rows it reads too.

-- Whether a document has more than 1 MiB of text, or more than 1,000 levels, which take 2,000 bytes of it. Stored, it may be
-- small: ten bytes hold a number of 131,072 digits, and compression makes one of 255. Inlined where it is called.
CREATE OR REPLACE FUNCTION rowrun.too_large(document jsonb) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
    RETURN (pg_column_size(document) >= 80 OR pg_column_compression(document) IS NOT NULL)
       AND CASE width_bucket(octet_length(document::text), 2000, 1048577, 1) WHEN 0 THEN false WHEN 1 THEN rowrun.too_deep(document) ELSE true END;
COMMENT ON FUNCTION rowrun.too_large(jsonb) IS 'Internal: whether a document is larger than 1 MiB or deeper than 1,000 levels.';

-- Whether an interval is as long by the calendar, by which it is added to a time, as by comparison, by which a month has 30 days:
-- '1000000 years -359999999 days' compares as one day. One that compares as negative is refused by its CHECK. Inlined where it is called.
CREATE OR REPLACE FUNCTION rowrun.is_duration(i interval) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN i < interval '0' OR least(date_part('year', i), date_part('month', i), date_part('day', i), date_part('hour', i), date_part('minute', i), date_part('second', i)) >= 0;
COMMENT ON FUNCTION rowrun.is_duration(interval) IS 'Internal: whether an interval has no negative part, unless it is negative; NULL of NULL.';

CREATE OR REPLACE FUNCTION rowrun.refuse_duration() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'a duration in % has a negative part', TG_TABLE_NAME
        USING ERRCODE = 'check_violation', HINT = 'Give it in one direction: 1 month, not 2 months -30 days.';
END $$;
COMMENT ON FUNCTION rowrun.refuse_duration() IS 'Trigger: no duration has parts of different signs.';
CREATE OR REPLACE TRIGGER task_durations BEFORE INSERT OR UPDATE OF timeout, progress_timeout, retry_delay, retention, retention_by_status, spread, aging ON rowrun.task
    FOR EACH ROW WHEN ((rowrun.is_duration(NEW.timeout) AND rowrun.is_duration(NEW.progress_timeout) AND rowrun.is_duration(NEW.retry_delay)
        AND rowrun.is_duration(NEW.retention) AND rowrun.is_duration(NEW.spread) AND rowrun.is_duration(NEW.aging)
        AND CASE WHEN jsonb_typeof(NEW.retention_by_status) = 'object'
            THEN coalesce(rowrun.is_duration((NEW.retention_by_status ->> 'DONE')::interval), true)
             AND coalesce(rowrun.is_duration((NEW.retention_by_status ->> 'FAILED')::interval), true)
             AND coalesce(rowrun.is_duration((NEW.retention_by_status ->> 'CANCELED')::interval), true) END) IS FALSE)
    EXECUTE FUNCTION rowrun.refuse_duration();
CREATE OR REPLACE TRIGGER replica_durations BEFORE INSERT OR UPDATE OF lease ON rowrun.replica_heartbeat
    FOR EACH ROW WHEN (NOT rowrun.is_duration(NEW.lease)) EXECUTE FUNCTION rowrun.refuse_duration();
CREATE OR REPLACE TRIGGER limit_durations BEFORE INSERT OR UPDATE OF per ON rowrun.concurrency_limit
    FOR EACH ROW WHEN (NOT rowrun.is_duration(NEW.per)) EXECUTE FUNCTION rowrun.refuse_duration();

CREATE OR REPLACE FUNCTION rowrun.refuse_document() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    RAISE EXCEPTION '%: a document has at most 1 MiB and 1,000 levels', TG_ARGV[0]
        USING ERRCODE = 'check_violation', HINT = 'Keep large data elsewhere and pass a reference.';
END $$;
COMMENT ON FUNCTION rowrun.refuse_document() IS 'Trigger: documents are small as text too; its argument says which.';
CREATE OR REPLACE TRIGGER task_documents BEFORE INSERT OR UPDATE OF payload, labels, state ON rowrun.task
    FOR EACH ROW WHEN ((rowrun.too_large(NEW.payload) OR rowrun.too_large(NEW.labels) OR rowrun.too_large(NEW.state)) IS TRUE)
    EXECUTE FUNCTION rowrun.refuse_document('payload, labels and state of a task');
CREATE OR REPLACE TRIGGER task_run_log_document BEFORE INSERT OR UPDATE OF detail ON rowrun.task_run_log
    FOR EACH ROW WHEN (rowrun.too_large(NEW.detail)) EXECUTE FUNCTION rowrun.refuse_document('detail in the log of a run');
CREATE OR REPLACE TRIGGER task_type_document BEFORE INSERT OR UPDATE OF mapping ON rowrun.task_type
    FOR EACH ROW WHEN (rowrun.too_large(NEW.mapping)) EXECUTE FUNCTION rowrun.refuse_document('mapping of a type');
