-- A lock leaves nothing behind when it is released: who looks at what plans' tasks wait for by an older snapshot is to find their rows
-- changed. A plan that this transaction has made or touched is nobody else's to see before.
CREATE OR REPLACE FUNCTION rowrun.touch_plans(plan_ids bigint[]) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    UPDATE rowrun.plan p SET name = p.name WHERE p.id = ANY (plan_ids) AND p.xmin <> pg_current_xact_id()::xid;
END $$;
COMMENT ON FUNCTION rowrun.touch_plans(bigint[]) IS 'Internal: a transaction with an older snapshot that changes what tasks of these plans wait for fails.';

-- Kahn's algorithm on what the new edges lead to: tasks that need nothing (any more) are taken away; where some are
-- left, they wait for each other. An edge from a task that nobody needs, or to one that needs nothing, closes none.
CREATE OR REPLACE FUNCTION rowrun.task_dependency_acyclic() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp
    SET enable_seqscan = off -- the table may have grown a hundredfold since statistics were made, by this statement
    SET jit = off
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
    PERFORM rowrun.touch_plans(ARRAY(SELECT DISTINCT k.plan_id FROM added a JOIN rowrun.task k ON k.id = a.task_id));
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
COMMENT ON FUNCTION rowrun.task_dependency_acyclic() IS 'Trigger: no task waits for itself by way of others.';
CREATE OR REPLACE TRIGGER task_dependency_added AFTER INSERT ON rowrun.task_dependency REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION rowrun.task_dependency_acyclic();
CREATE OR REPLACE TRIGGER task_dependency_moved AFTER UPDATE ON rowrun.task_dependency REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION rowrun.task_dependency_acyclic();
