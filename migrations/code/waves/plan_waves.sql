-- Gives tasks of a plan waves: [{"name": "canary", "soak": 600, "max_failures": 0, "tasks": [7, 8]}, ...], soak in seconds. They come
-- behind the waves that the plan has. The tasks have no run yet, nor a wave. What an author's tasks wait for is the author's: with
-- authors false a plan that has such tasks gets no waves, as its next ones would wait for these.
CREATE OR REPLACE FUNCTION rowrun.give_waves(plan_id bigint, waves jsonb, authors boolean) RETURNS integer LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    last integer;
    given integer;
    item jsonb;
    ids bigint[];
    wrong text;
BEGIN
    PERFORM check_plan(give_waves.plan_id);
    PERFORM FROM plan p WHERE p.id = give_waves.plan_id FOR NO KEY UPDATE;
    IF NOT authors AND EXISTS (SELECT FROM task k WHERE k.plan_id = give_waves.plan_id AND is_authors(k.type)) THEN
        RAISE EXCEPTION 'plan % has tasks to which only members of rowrun_author may give waves', give_waves.plan_id
            USING ERRCODE = 'insufficient_privilege', HINT = 'GRANT rowrun_author TO the role, or let an author do it.';
    END IF;
    last := coalesce((SELECT max(w.wave) FROM plan_wave w WHERE w.plan_id = give_waves.plan_id), 0);
    IF jsonb_typeof(waves) IS DISTINCT FROM 'array' OR jsonb_array_length(waves) NOT BETWEEN 1 AND 100 THEN
        RAISE EXCEPTION 'waves is an array of 1 to 100 objects' USING ERRCODE = 'RR003', HINT = '[{"name": "canary", "soak": 600, "max_failures": 0, "tasks": [7]}]';
    END IF;
    FOR item IN SELECT e.value FROM jsonb_array_elements(waves) e LOOP
        last := last + 1;
        -- A member that is misspelt would leave its tasks without a wave, and they would run at once.
        wrong := CASE WHEN jsonb_typeof(item) <> 'object' THEN 'it is no object'
                      WHEN jsonb_typeof(item -> 'tasks') IS DISTINCT FROM 'array' THEN 'tasks is no array of ids'
                      ELSE (SELECT format('%I is none of its members', min(k.key COLLATE "C"))
                            FROM jsonb_object_keys(item - ARRAY['name', 'soak', 'max_failures', 'tasks']) k(key) HAVING count(*) > 0) END;
        IF wrong IS NOT NULL THEN
            RAISE EXCEPTION 'wave %: %', last, wrong USING ERRCODE = 'RR003', HINT = '{"name": "canary", "soak": 600, "max_failures": 0, "tasks": [7]}';
        END IF;
        IF (item ->> 'soak')::numeric NOT BETWEEN 0 AND extract(epoch FROM longest_soak()) THEN
            RAISE EXCEPTION 'soak of wave % is between 0 s and 100 years', last USING ERRCODE = 'RR003', HINT = 'It is a number of seconds: "soak": 600.';
        ELSIF (item ->> 'max_failures')::integer < 0 THEN
            RAISE EXCEPTION 'max_failures of wave % is at least 0, not %', last, item ->> 'max_failures' USING ERRCODE = 'RR003', HINT = '0, the default: a failure stops the plan.';
        END IF;
        ids := ARRAY(SELECT e.value::bigint FROM jsonb_array_elements_text(item -> 'tasks') e);
        INSERT INTO plan_wave (plan_id, wave, name, soak, max_failures)
        VALUES (give_waves.plan_id, last, coalesce(item ->> 'name', ''), make_interval(secs => coalesce((item ->> 'soak')::float8, 0)),
                coalesce((item ->> 'max_failures')::integer, 0));
        PERFORM FROM task k WHERE k.id = ANY (ids) ORDER BY k.id FOR NO KEY UPDATE;
        UPDATE task k SET wave = last
        WHERE k.id = ANY (ids) AND k.plan_id = give_waves.plan_id AND k.wave IS NULL
          AND NOT EXISTS (SELECT FROM task_run r WHERE r.task_id = k.id);
        GET DIAGNOSTICS given = ROW_COUNT;
        IF given <> cardinality(ids) THEN
            RAISE EXCEPTION 'a task of wave % is not of plan %, has a wave, or has run', item ->> 'name', give_waves.plan_id
                USING ERRCODE = 'RR003', HINT = 'Give new tasks a wave before their first run.';
        END IF;
        PERFORM check_versions_of_wave(give_waves.plan_id, last);
        PERFORM check_dependents_of_waves(ids);
    END LOOP;
    PERFORM touch_plans(ARRAY[give_waves.plan_id]);
    INSERT INTO gate_mark (kind, plan_id) VALUES ('PLAN', give_waves.plan_id);
    PERFORM notify_look();
    RETURN last;
END $$;
COMMENT ON FUNCTION rowrun.give_waves(bigint, jsonb, boolean) IS 'Internal: gives new tasks of a plan waves.';

-- A version waits for the smaller ones of its database, and a wave for those before it: of two tasks that wait for each other so
-- neither would ever start. Where a task is named, only what it is one of counts. What is over waits for nobody, nor does a wave that is open; and none
-- waits for one whose next is open.
CREATE OR REPLACE FUNCTION rowrun.check_versions_of_wave(plan_id bigint, wave integer, task_id bigint DEFAULT NULL) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    found_pair record;
BEGIN
    SELECT k.id, k.version, k.database_id, h.id AS other_id, h.version AS other_version, h.wave AS other_wave INTO found_pair
    FROM task k JOIN task h ON h.plan_id = k.plan_id AND h.database_id = k.database_id AND h.version_key > k.version_key AND h.wave < k.wave
    WHERE k.plan_id = check_versions_of_wave.plan_id AND k.wave = check_versions_of_wave.wave
      AND (check_versions_of_wave.task_id IS NULL OR check_versions_of_wave.task_id IN (k.id, h.id)) AND NOT rowrun.is_over(k) AND NOT rowrun.is_over(h)
      AND NOT EXISTS (SELECT FROM plan_wave w WHERE w.plan_id = k.plan_id AND w.wave > h.wave AND w.opened_at IS NOT NULL)
    ORDER BY k.id, h.id LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'task % (version % of %) in wave % would wait for task % (version %) in wave %, and that one for it', found_pair.id,
            found_pair.version, found_pair.database_id, check_versions_of_wave.wave, found_pair.other_id, found_pair.other_version, found_pair.other_wave
            USING ERRCODE = 'RR003', HINT = 'A database gets its versions in their order: give the smaller one no later wave, or have the larger one end first.';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.check_versions_of_wave(bigint, integer, bigint) IS 'Internal: refuses a version that a larger one in an earlier wave waits for.';

-- A task of a wave that gets another version or database may be the smaller or the larger one of such a pair.
CREATE OR REPLACE FUNCTION rowrun.task_version_in_wave() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    PERFORM check_versions_of_wave(NEW.plan_id, s.wave, NEW.id)
    FROM (SELECT DISTINCT k.wave FROM task k
          WHERE k.plan_id = NEW.plan_id AND k.database_id = NEW.database_id AND k.wave >= NEW.wave AND (k.id = NEW.id OR k.version_key < NEW.version_key)) s;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION rowrun.task_version_in_wave() IS 'Trigger: no task of a wave gets a version that waits for its wave, and that wave for it.';
CREATE OR REPLACE TRIGGER task_version_in_wave AFTER UPDATE OF version, database_id ON rowrun.task FOR EACH ROW
    WHEN (NEW.wave IS NOT NULL AND (NEW.version IS DISTINCT FROM OLD.version OR NEW.database_id IS DISTINCT FROM OLD.database_id))
    EXECUTE FUNCTION rowrun.task_version_in_wave();

CREATE OR REPLACE FUNCTION rowrun.make_waves(plan_id bigint, waves jsonb) RETURNS integer LANGUAGE sql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$ SELECT rowrun.give_waves(plan_id, waves, false) $$;
COMMENT ON FUNCTION rowrun.make_waves(bigint, jsonb) IS 'Internal: gives tasks of a plan without tasks for authors waves.';

CREATE OR REPLACE FUNCTION rowrun.make_any_waves(plan_id bigint, waves jsonb) RETURNS integer LANGUAGE sql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$ SELECT rowrun.give_waves(plan_id, waves, true) $$;
COMMENT ON FUNCTION rowrun.make_any_waves(bigint, jsonb) IS 'Internal: gives tasks of a plan waves.';

-- Whoever may, by the rights of the caller: inside of the functions above everybody is their owner.
CREATE OR REPLACE FUNCTION rowrun.add_waves(plan_id bigint, waves jsonb) RETURNS integer LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF is_author() AND EXISTS (SELECT FROM task k WHERE k.plan_id = add_waves.plan_id AND is_authors(k.type)) THEN
        RETURN make_any_waves(add_waves.plan_id, waves);
    END IF;
    RETURN make_waves(add_waves.plan_id, waves);
END $$;
COMMENT ON FUNCTION rowrun.add_waves(bigint, jsonb) IS 'Gives new tasks of a plan waves, behind those that it has; the last wave.';

-- A wave is given by add_waves: a task that is inserted into one would keep it under way.
CREATE OR REPLACE FUNCTION rowrun.task_wave_given() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF NOT is_trusted() THEN
        RAISE EXCEPTION 'a task is inserted without a wave' USING ERRCODE = 'RR003', HINT = 'Leave wave out, and call rowrun.add_waves before its first run.';
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.task_wave_given() IS 'Trigger: a wave is given by add_waves.';
CREATE OR REPLACE TRIGGER task_wave_given BEFORE INSERT ON rowrun.task FOR EACH ROW WHEN (NEW.wave IS NOT NULL)
    EXECUTE FUNCTION rowrun.task_wave_given();

-- What a person does with the waves of a plan. RESUME: runs for the tasks of the open wave that have failed or are CANCELED. ROLL_ON: the
-- next wave is opened now, whatever became of this one. GIVE_UP: all that is unfinished is canceled. Returns the runs made or
-- canceled, or the wave opened.
CREATE OR REPLACE FUNCTION rowrun.move_waves(plan_id bigint, act text, reason text DEFAULT NULL) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    open_now integer;
    coming integer;
    ids bigint[];
BEGIN
    PERFORM check_plan(move_waves.plan_id);
    PERFORM FROM plan p WHERE p.id = move_waves.plan_id FOR NO KEY UPDATE;
    PERFORM FROM plan_wave w WHERE w.plan_id = move_waves.plan_id ORDER BY w.wave FOR UPDATE;
    SELECT max(w.wave) FILTER (WHERE w.opened_at IS NOT NULL), min(w.wave) FILTER (WHERE w.opened_at IS NULL) INTO open_now, coming
    FROM plan_wave w WHERE w.plan_id = move_waves.plan_id;
    IF num_nonnulls(open_now, coming) = 0 THEN
        RAISE EXCEPTION 'plan % has no waves', move_waves.plan_id USING ERRCODE = 'RR004', HINT = 'rowrun plan apply DIR --to ... --wave 1 --wave 10%';
    END IF;
    CASE act
    WHEN 'RESUME' THEN
        ids := ARRAY(SELECT k.id FROM task k
                     WHERE k.plan_id = move_waves.plan_id AND k.wave = open_now AND k.outcome IN ('FAILED', 'CANCELED') AND NOT k.skipped ORDER BY k.id);
        INSERT INTO gate_mark (kind, plan_id) VALUES ('PLAN', move_waves.plan_id);
        PERFORM notify_look();
        RETURN (SELECT count(*) FROM run_tasks(ids));
    WHEN 'ROLL_ON' THEN
        IF coming IS NULL THEN
            RAISE EXCEPTION 'the last wave of plan % is open', move_waves.plan_id USING ERRCODE = 'RR004', HINT = 'Nothing waits for it.';
        END IF;
        UPDATE plan_wave w SET accepted_at = clock_timestamp(), stopped_at = NULL WHERE w.plan_id = move_waves.plan_id AND w.wave = open_now;
        PERFORM open_wave(move_waves.plan_id, coming, clock_timestamp());
        RETURN coming;
    WHEN 'GIVE_UP' THEN
        RETURN cancel_plan(move_waves.plan_id, coalesce(reason, 'the plan was given up'));
    ELSE
        RAISE EXCEPTION 'a plan''s waves are not moved by %', act USING ERRCODE = 'RR003', HINT = 'RESUME, ROLL_ON or GIVE_UP.';
    END CASE;
END $$;
COMMENT ON FUNCTION rowrun.move_waves(bigint, text, text) IS 'RESUME, ROLL_ON or GIVE_UP: what a person does with the waves of a plan.';

-- Opens a wave of a plan now, if it is the next one: for who has seen which one comes next, and has it open before a second one is asked for.
-- Of two who ask at once one opens it, and neither the wave behind it. Returns the wave, NULL if it is open already.
CREATE OR REPLACE FUNCTION rowrun.roll_on(plan_id bigint, wave integer) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    asked plan_wave;
    coming integer;
BEGIN
    PERFORM check_plan(roll_on.plan_id);
    PERFORM FROM plan p WHERE p.id = roll_on.plan_id FOR NO KEY UPDATE;
    PERFORM FROM plan_wave w WHERE w.plan_id = roll_on.plan_id ORDER BY w.wave FOR UPDATE;
    SELECT w.* INTO asked FROM plan_wave w WHERE w.plan_id = roll_on.plan_id AND w.wave = roll_on.wave;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'plan % has no wave %', roll_on.plan_id, roll_on.wave USING ERRCODE = 'RR004', HINT = 'rowrun plan show has those that there are.';
    ELSIF asked.opened_at IS NOT NULL THEN
        RETURN NULL;
    END IF;
    coming := (SELECT min(w.wave) FROM plan_wave w WHERE w.plan_id = roll_on.plan_id AND w.opened_at IS NULL);
    IF coming <> asked.wave THEN
        RAISE EXCEPTION 'wave % of plan % is not the next one', roll_on.wave, roll_on.plan_id USING ERRCODE = 'RR004', HINT = format('The next one is %s.', coming);
    END IF;
    RETURN move_waves(roll_on.plan_id, 'ROLL_ON');
END $$;
COMMENT ON FUNCTION rowrun.roll_on(bigint, integer) IS 'Opens a wave of a plan now, if it is the next one; NULL if it is open already.';

-- How the waves of plans stand.
CREATE OR REPLACE VIEW rowrun.plan_wave_status WITH (security_invoker = true) AS
SELECT w.plan_id, w.wave, w.name,
       CASE WHEN w.opened_at IS NULL THEN 'WAITING' WHEN n.closed IS NULL AND x.over THEN 'DONE' WHEN w.stopped_at IS NOT NULL AND n.closed THEN 'STOPPED'
            WHEN n.closed AND w.done_at IS NOT NULL THEN 'SOAKING' WHEN NOT x.over THEN 'RUNNING' ELSE 'DONE' END AS status,
       x.tasks, x.done, x.failed, w.soak, w.max_failures, w.opened_at, w.done_at, w.opens_at, w.stopped_at, w.accepted_at
FROM rowrun.plan_wave w
LEFT JOIN LATERAL (SELECT m.opened_at IS NULL AS closed FROM rowrun.plan_wave m
                   WHERE m.plan_id = w.plan_id AND m.wave > w.wave ORDER BY m.wave LIMIT 1) n ON true
CROSS JOIN LATERAL (
    SELECT count(*) AS tasks, count(*) FILTER (WHERE k.skipped OR k.outcome = 'DONE') AS done, rowrun.failures_of_wave(w.plan_id, w.wave) AS failed,
           NOT rowrun.is_wave_under_way(w.plan_id, w.wave) AS over
    FROM rowrun.task k WHERE k.plan_id = w.plan_id AND k.wave = w.wave) x;
COMMENT ON VIEW rowrun.plan_wave_status IS 'The waves of plans: WAITING, RUNNING, SOAKING, STOPPED or DONE, and how many of their tasks are.';
