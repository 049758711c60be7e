-- When the next run is due, whoever inserts an earlier one says so; and what there is to do: marks, runs with gates that
-- are due, runs without.
CREATE OR REPLACE FUNCTION rowrun.asked_for(t timestamptz) RETURNS TABLE (next_ms double precision, marked boolean, due boolean, ungated boolean)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT extract(epoch FROM least(
               (SELECT r.judge_at FROM rowrun.task_run r
                WHERE r.judge_at > asked_for.t AND r.plan_id IS NULL AND r.database_id IS NULL ORDER BY r.judge_at LIMIT 1),
               (SELECT r.judge_at FROM rowrun.task_run r
                WHERE r.judge_at > asked_for.t AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL) ORDER BY r.judge_at LIMIT 1))
               - asked_for.t) * 1000,
           EXISTS (SELECT FROM rowrun.gate_mark),
           EXISTS (SELECT FROM rowrun.task_run r WHERE r.judge_at <= asked_for.t AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL)),
           EXISTS (SELECT FROM rowrun.task_run r WHERE r.judge_at <= asked_for.t AND r.plan_id IS NULL AND r.database_id IS NULL);
END;
COMMENT ON FUNCTION rowrun.asked_for(timestamptz) IS 'Internal: what asks for a judgement, and when the next run is due.';

-- The marks, and what they say must be looked at; with a sweep also what has lost its mark.
CREATE OR REPLACE FUNCTION rowrun.take_marks(sweep boolean, most integer, OUT runs bigint[], OUT databases text[], OUT plans bigint[],
    OUT wide bigint[], OUT dependents bigint[], OUT tasks bigint[], OUT paused bigint[], OUT failures jsonb, OUT replicas boolean,
    OUT limit_keys text[], OUT more boolean) LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
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
           coalesce(bool_or(k.kind = 'NO_REPLICA'), false), coalesce(array_agg(DISTINCT k.limit_key) FILTER (WHERE k.kind = 'LIMIT'), '{}'),
           jsonb_agg(DISTINCT jsonb_build_object('plan_id', k.plan_id, 'round', k.round, 'by_run', k.by_run)) FILTER (WHERE k.round IS NOT NULL)
    INTO taken, runs, databases, plans, gates, wide, dependents, tasks, paused, failures, replicas, limit_keys, rounds
    FROM taken k;
    more := taken = most;
    IF cardinality(limit_keys) > 0 THEN
        more := mark_limit_databases(limit_keys, clock_timestamp()) OR more;
    END IF;
    IF sweep OR cardinality(plans) > 0 THEN
        PERFORM rowrun.settle_plans(plans, rounds, sweep);
        -- One look at an empty index where there are no waves.
        IF (SELECT true FROM plan_wave w WHERE w.opened_at IS NULL LIMIT 1) THEN
            more := rowrun.advance_waves(plans, sweep) OR more;
        END IF;
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
        runs := runs || rowrun.overlooked_after(most) || (rowrun.overlooked_held())[1:most];
        replicas := replicas OR rowrun.overlooked_replicas(clock_timestamp());
        databases := databases || ARRAY(SELECT o.database_id FROM rowrun.overlooked_databases(databases) o ORDER BY random() LIMIT 2 * most);
        plans := plans || ARRAY(SELECT o.plan_id FROM rowrun.overlooked_plans(plans) o ORDER BY random() LIMIT 2 * most);
        IF rowrun.may_be_limited() THEN
            PERFORM rowrun.tidy_limits();
            limit_keys := limit_keys || ARRAY(SELECT w.limit_key FROM rowrun.limit_waits() w WHERE w.limit_key <> ALL (limit_keys) ORDER BY random() LIMIT 2 * most);
        END IF;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.take_marks(boolean, integer) IS 'Internal: takes the marks of a pass.';

-- The safety net: databases on which something waits and nothing is active, plans with runs that are ready. Of databases on which something is
-- active, but nothing sequential, some: what waits there may do so behind a sequential run that something else holds by now.
CREATE OR REPLACE FUNCTION rowrun.overlooked_databases(known text[]) RETURNS TABLE (database_id text) LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH RECURSIVE d AS (
        (SELECT r.database_id FROM rowrun.task_run r WHERE r.status = 'PENDING' AND r.cause = 'DATABASE' ORDER BY r.database_id LIMIT 1)
        UNION ALL
        SELECT (SELECT r.database_id FROM rowrun.task_run r WHERE r.status = 'PENDING' AND r.cause = 'DATABASE'
                  AND r.database_id > d.database_id ORDER BY r.database_id LIMIT 1)
        FROM d WHERE d.database_id IS NOT NULL
    ), other AS MATERIALIZED (
        SELECT d.database_id, EXISTS (SELECT FROM rowrun.task_run a WHERE a.database_id = d.database_id AND a.status IN ('AVAILABLE', 'RUNNING')) AS busy
        FROM d WHERE d.database_id IS NOT NULL AND d.database_id <> ALL (overlooked_databases.known)
    )
    SELECT o.database_id FROM other o WHERE NOT o.busy
    UNION ALL
    (SELECT o.database_id FROM other o
     WHERE o.busy AND NOT EXISTS (SELECT FROM rowrun.task_run a WHERE a.database_id = o.database_id AND a.sequential AND a.status IN ('AVAILABLE', 'RUNNING'))
     ORDER BY random() LIMIT 20);
END;
COMMENT ON FUNCTION rowrun.overlooked_databases(text[]) IS 'Internal: other databases on which runs wait for nobody.';

CREATE OR REPLACE FUNCTION rowrun.overlooked_plans(known bigint[]) RETURNS TABLE (plan_id bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH RECURSIVE p AS (
        (SELECT r.plan_id FROM rowrun.task_run r WHERE r.status = 'PENDING' AND r.cause = 'PLAN' AND r.plan_id > 0 ORDER BY r.plan_id LIMIT 1)
        UNION ALL
        SELECT (SELECT r.plan_id FROM rowrun.task_run r WHERE r.status = 'PENDING' AND r.cause = 'PLAN'
                  AND r.plan_id > p.plan_id ORDER BY r.plan_id LIMIT 1)
        FROM p WHERE p.plan_id IS NOT NULL
    )
    SELECT p.plan_id FROM p WHERE p.plan_id IS NOT NULL AND p.plan_id <> ALL (overlooked_plans.known);
END;
COMMENT ON FUNCTION rowrun.overlooked_plans(bigint[]) IS 'Internal: other plans with runs that are ready.';
