-- Opens the waves whose turn has come. Called under the lock of the passes; a wave that is opened stays so, and what it opens is
-- looked at by the next pass. Plans whose waves somebody holds keep their marks. Whether any was opened.
CREATE OR REPLACE FUNCTION rowrun.advance_waves(plan_ids bigint[], sweep boolean) RETURNS boolean LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    t timestamptz := clock_timestamp();
    opened boolean := false;
    p bigint;
BEGIN
    FOR p IN
        SELECT DISTINCT w.plan_id FROM plan_wave w WHERE w.plan_id = ANY (plan_ids) AND w.opened_at IS NULL
        UNION
        (SELECT w.plan_id FROM plan_wave w WHERE sweep AND w.opened_at IS NULL AND w.opens_at <= t ORDER BY w.opens_at LIMIT 100)
        UNION
        (SELECT w.plan_id FROM plan_wave w
         WHERE sweep AND w.opened_at IS NULL AND w.plan_id > (SELECT floor(random() * max(x.plan_id)) FROM plan_wave x WHERE x.opened_at IS NULL)
         ORDER BY w.plan_id LIMIT 100)
    LOOP
        WHILE rowrun.open_next_wave(p, t) LOOP
            opened := true;
        END LOOP;
    END LOOP;
    RETURN opened;
END $$;
COMMENT ON FUNCTION rowrun.advance_waves(bigint[], boolean) IS 'Internal: opens waves of plans whose turn has come.';

-- No wave soaks for longer. An interval of any size can stand in a row that its owner has written, also one whose years and days have
-- different signs, which compares as a short one and leads out of time when it is added: what counts is its seconds.
CREATE OR REPLACE FUNCTION rowrun.longest_soak() RETURNS interval LANGUAGE sql IMMUTABLE RETURN make_interval(days => 36525);
COMMENT ON FUNCTION rowrun.longest_soak() IS 'Internal: how long a wave soaks at most, 100 years.';

CREATE OR REPLACE FUNCTION rowrun.bounded_soak(soak interval) RETURNS interval LANGUAGE sql IMMUTABLE
    RETURN make_interval(secs => least(greatest(extract(epoch FROM soak), 0), extract(epoch FROM rowrun.longest_soak()))::float8);
COMMENT ON FUNCTION rowrun.bounded_soak(interval) IS 'Internal: how long a wave soaks that has this soak.';

-- Looks at the wave of a plan that was opened last: stopped by its failures, under way, soaking, or over, so that the next one is
-- opened; whether that was so.
CREATE OR REPLACE FUNCTION rowrun.open_next_wave(plan_id bigint, t timestamptz) RETURNS boolean LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    held integer;
    coming plan_wave;
    now_open plan_wave;
    failures bigint;
    under_way boolean;
    done timestamptz;
    stopped timestamptz;
    opens timestamptz;
BEGIN
    SELECT count(*) INTO held FROM (SELECT FROM plan_wave w WHERE w.plan_id = open_next_wave.plan_id ORDER BY w.wave FOR UPDATE SKIP LOCKED) l;
    IF held < (SELECT count(*) FROM plan_wave w WHERE w.plan_id = open_next_wave.plan_id) THEN
        INSERT INTO gate_mark (kind, plan_id) VALUES ('PLAN', open_next_wave.plan_id);
        RETURN false;
    END IF;
    SELECT * INTO coming FROM plan_wave w WHERE w.plan_id = open_next_wave.plan_id AND w.opened_at IS NULL ORDER BY w.plan_id, w.wave LIMIT 1;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT * INTO now_open FROM plan_wave w WHERE w.plan_id = coming.plan_id AND w.wave < coming.wave ORDER BY w.wave DESC LIMIT 1;
    IF FOUND THEN
        -- One statement, one snapshot: a task that fails in between would be neither a failure nor under way.
        SELECT rowrun.failures_of_wave(coming.plan_id, now_open.wave), rowrun.is_wave_under_way(coming.plan_id, now_open.wave)
        INTO failures, under_way;
        IF failures > now_open.max_failures AND now_open.accepted_at IS NULL THEN
            stopped := coalesce(now_open.stopped_at, t);
        ELSIF NOT under_way THEN
            done := coalesce(now_open.done_at, t);
            opens := least(done, t) + bounded_soak(now_open.soak);
        END IF;
        IF stopped IS DISTINCT FROM now_open.stopped_at OR done IS DISTINCT FROM now_open.done_at THEN
            UPDATE plan_wave w SET stopped_at = stopped, done_at = done WHERE w.plan_id = coming.plan_id AND w.wave = now_open.wave;
        END IF;
        IF opens IS DISTINCT FROM coming.opens_at THEN
            UPDATE plan_wave w SET opens_at = opens WHERE w.plan_id = coming.plan_id AND w.wave = coming.wave;
        END IF;
        IF opens IS NULL OR opens > t THEN
            RETURN false;
        END IF;
    END IF;
    PERFORM rowrun.open_wave(coming.plan_id, coming.wave, t);
    RETURN true;
END $$;
COMMENT ON FUNCTION rowrun.open_next_wave(bigint, timestamptz) IS 'Internal: opens the next wave of a plan, if its turn has come.';

-- The tasks of a wave that have failed for good or are CANCELED, and are not under way again.
CREATE OR REPLACE FUNCTION rowrun.failures_of_wave(plan_id bigint, wave integer) RETURNS bigint LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT count(*) FROM rowrun.task k
    WHERE k.plan_id = failures_of_wave.plan_id AND k.wave = failures_of_wave.wave AND k.outcome IN ('FAILED', 'CANCELED') AND NOT k.skipped
      AND NOT EXISTS (SELECT FROM rowrun.task_run u WHERE u.task_id = k.id AND u.plan_id IS NOT NULL AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING'));
END;
COMMENT ON FUNCTION rowrun.failures_of_wave(bigint, integer) IS 'Internal: how many tasks of a wave have failed for good or are CANCELED.';

-- The smaller versions whose failures keep a task from starting (STOP_DATABASE), and that do not run again: as long as that is so it
-- has no end to wait for.
CREATE OR REPLACE FUNCTION rowrun.failures_before(k rowrun.task) RETURNS TABLE (task_id bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT f.id FROM rowrun.plan p JOIN rowrun.task f ON f.plan_id = p.id
    WHERE p.id = k.plan_id AND p.on_failure = 'STOP_DATABASE' AND f.database_id = k.database_id AND f.version_key < k.version_key
      AND f.outcome IN ('FAILED', 'CANCELED') AND NOT f.skipped
      AND NOT EXISTS (SELECT FROM rowrun.task_run u WHERE u.task_id = f.id AND u.plan_id IS NOT NULL AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING'));
END;
COMMENT ON FUNCTION rowrun.failures_before(rowrun.task) IS 'Internal: smaller versions whose failures keep a task from starting.';

-- Whether a task of a wave has no end yet: none so far, or another run of it is unfinished. Those that a failure holds back are left
-- out: where it is borne, the next wave needn't wait for them.
CREATE OR REPLACE FUNCTION rowrun.is_wave_under_way(plan_id bigint, wave integer) RETURNS boolean LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT EXISTS (SELECT FROM rowrun.task k
                   WHERE k.plan_id = is_wave_under_way.plan_id AND k.wave = is_wave_under_way.wave AND k.outcome IS NULL AND NOT k.skipped
                     AND NOT EXISTS (SELECT FROM rowrun.failures_before(k)))
        OR EXISTS (SELECT FROM rowrun.task_run u JOIN rowrun.task k ON k.id = u.task_id
                   WHERE u.plan_id = is_wave_under_way.plan_id AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING')
                     AND k.wave = is_wave_under_way.wave AND NOT k.skipped
                     AND (u.status <> 'PENDING' OR NOT EXISTS (SELECT FROM rowrun.failures_before(k))));
END;
COMMENT ON FUNCTION rowrun.is_wave_under_way(bigint, integer) IS 'Internal: whether a task of a wave has no end yet.';

-- Opens a wave: its runs are looked at by the next pass.
CREATE OR REPLACE FUNCTION rowrun.open_wave(plan_id bigint, wave integer, t timestamptz) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    UPDATE plan_wave w SET opened_at = t WHERE w.plan_id = open_wave.plan_id AND w.wave = open_wave.wave;
    INSERT INTO gate_mark (kind, run_id)
    SELECT 'RUN', r.id FROM task_run r JOIN task k ON k.id = r.task_id
    WHERE r.plan_id = open_wave.plan_id AND r.status = 'PENDING' AND k.wave = open_wave.wave ORDER BY r.id;
    PERFORM rowrun.notify_look();
END $$;
COMMENT ON FUNCTION rowrun.open_wave(bigint, integer, timestamptz) IS 'Internal: opens a wave of a plan.';
