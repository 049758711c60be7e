-- Values of a limit that its CHECKs refuse as well, which say less. Before the defaults are filled in, so that a NULL is none of these.
-- strict: the CHECK looks into arrays, which as a weight would fail each pass.
CREATE OR REPLACE FUNCTION rowrun.limit_bounds() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF NEW.name = '' OR octet_length(NEW.name) > 200 OR NEW.name ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION 'name of a limit has 1 to 200 bytes and no control characters' USING ERRCODE = 'check_violation',
            CONSTRAINT = 'concurrency_limit_name_1_to_200_bytes_no_control', HINT = 'It is what people call it, such as "reports of a tenant".';
    ELSIF NEW.type = '' OR octet_length(NEW.type) > 100 THEN
        RAISE EXCEPTION 'type of a limit has 1 to 100 bytes' USING ERRCODE = 'check_violation', CONSTRAINT = 'concurrency_limit_type_1_to_100_bytes',
            HINT = 'NULL: it is for runs of any type.';
    ELSIF NEW.queue = '' OR octet_length(NEW.queue) > 100 THEN
        RAISE EXCEPTION 'queue of a limit has 1 to 100 bytes' USING ERRCODE = 'check_violation', CONSTRAINT = 'concurrency_limit_queue_1_to_100_bytes',
            HINT = 'NULL: it is for runs of any queue.';
    ELSIF (cardinality(NEW.key_path) BETWEEN 1 AND 20 AND array_ndims(NEW.key_path) = 1 AND array_position(NEW.key_path, NULL) IS NULL) IS FALSE THEN
        RAISE EXCEPTION 'key_path of a limit is a list of 1 to 20 names' USING ERRCODE = 'check_violation', CONSTRAINT = 'concurrency_limit_key_path_1_to_20_names',
            HINT = 'Such as {tenant}: where in the payload the key of a run stands. NULL: one limit for all.';
    ELSIF NEW.max_running < 0 THEN
        RAISE EXCEPTION 'max_running of a limit is at least 0, not %', NEW.max_running USING ERRCODE = 'check_violation', CONSTRAINT = 'concurrency_limit_max_running_from_0',
            HINT = '0: no run starts; NULL: any number.';
    ELSIF (NEW.rate IS NULL) <> (NEW.per IS NULL) THEN
        RAISE EXCEPTION 'rate and per of a limit go together' USING ERRCODE = 'check_violation', CONSTRAINT = 'concurrency_limit_rate_with_per',
            HINT = 'rate 10 and per 1 s: ten runs may start in a second. Both NULL: any number.';
    ELSIF NEW.rate < 1 THEN
        RAISE EXCEPTION 'rate of a limit is at least 1, not %', NEW.rate USING ERRCODE = 'check_violation', CONSTRAINT = 'concurrency_limit_rate_from_1',
            HINT = 'For less than one in a second give a longer per. To have no run start set max_running to 0.';
    ELSIF NEW.per < interval '1 ms' OR NEW.per > interval '1 year' THEN
        RAISE EXCEPTION 'per of a limit is 1 ms to 1 year, not %', NEW.per USING ERRCODE = 'check_violation', CONSTRAINT = 'concurrency_limit_per_1_ms_to_1_year',
            HINT = 'rate 10 and per 1 s: ten runs may start in a second.';
    ELSIF NEW.burst IS NOT NULL AND NEW.rate IS NULL THEN
        RAISE EXCEPTION 'burst of a limit goes with a rate' USING ERRCODE = 'check_violation', CONSTRAINT = 'concurrency_limit_burst_with_rate',
            HINT = 'Give rate and per too, or leave burst out.';
    ELSIF NEW.burst < 1 THEN
        RAISE EXCEPTION 'burst of a limit is at least 1, not %', NEW.burst USING ERRCODE = 'check_violation', CONSTRAINT = 'concurrency_limit_burst_from_1',
            HINT = 'How many may start at once after a quiet time; NULL: as many as the rate.';
    ELSIF NEW.share NOT IN ('NONE', 'FAIR') THEN
        RAISE EXCEPTION 'share "%" of a limit is none of NONE, FAIR', left(NEW.share, 100) USING ERRCODE = 'check_violation', CONSTRAINT = 'concurrency_limit_share_none_fair',
            HINT = 'FAIR: the keys take turns. NONE, the default: runs start in the order of priority and time.';
    ELSIF NEW.share = 'FAIR' AND NEW.key_path IS NULL THEN
        RAISE EXCEPTION 'a limit with share FAIR needs key_path' USING ERRCODE = 'check_violation', CONSTRAINT = 'concurrency_limit_fair_with_key_path',
            HINT = 'The keys that it leads to take turns, such as {tenant}.';
    ELSIF jsonb_typeof(NEW.weights) <> 'object' OR octet_length(NEW.weights::text) > 65536 THEN
        RAISE EXCEPTION 'weights of a limit are a JSON object of at most 64 KiB' USING ERRCODE = 'check_violation', CONSTRAINT = 'concurrency_limit_weights_an_object',
            HINT = 'Such as {"gold": 3}: that key has three turns where others have one.';
    ELSIF jsonb_path_exists(NEW.weights, 'strict $.* ? (@.type() != "number" || @ < 1 || @ > 1000)') THEN
        RAISE EXCEPTION 'weights of a limit are numbers from 1 to 1000' USING ERRCODE = 'check_violation', CONSTRAINT = 'concurrency_limit_weights_from_1_to_1000',
            HINT = 'Such as {"gold": 3}: that key has three turns where others have one.';
    ELSIF NEW.not_before < timestamptz '1900-01-01 00:00+00' OR NEW.not_before >= timestamptz '9999-01-01 00:00+00' THEN
        RAISE EXCEPTION 'not_before of a limit lies between the years 1900 and 9999' USING ERRCODE = 'check_violation', CONSTRAINT = 'concurrency_limit_not_before_1900_to_9998',
            HINT = 'NULL: its runs may start at once. To have none start for good set max_running to 0.';
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.limit_bounds() IS 'Trigger: what a limit can''t be is refused with what to do about it.';
CREATE OR REPLACE TRIGGER concurrency_limit_bounds BEFORE INSERT OR UPDATE OF name, type, queue, key_path, max_running, rate, per, burst, share, weights, not_before
    ON rowrun.concurrency_limit FOR EACH ROW EXECUTE FUNCTION rowrun.limit_bounds();
