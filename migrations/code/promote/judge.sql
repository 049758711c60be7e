-- The judgement: for each of these PENDING runs what holds it at its moment, or NULL. It writes nothing, and holds nothing:
-- under the lock of the passes the caller does, and has locked the rows. plan_ids are the plans of these runs. The moment is t,
-- or that of a later end, whose mark is behind last_mark: the times would otherwise suggest that more ran at once than did.
--
-- Gates are asked in this order: those of rowrun.closed_gate, the plan's, mutual exclusion with what is active, mutual
-- exclusion among those judged together and with what waits, the plan's limit among those judged together.
--
-- crowded_out: its plan had room, but for others. fresh: a version that is looked at for the first time. freed: others
-- may have waited behind it that needn't now. exclusive: sequential on a database.
-- Inlined where it is called.
CREATE OR REPLACE FUNCTION rowrun.judge(run_ids bigint[], plan_ids bigint[], t timestamptz, last_mark bigint)
    RETURNS TABLE (id bigint, cause text, plan_id bigint, database_id text, exclusive boolean, crowded_out boolean, fresh boolean, freed boolean,
                   judged_at timestamptz)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH moment AS MATERIALIZED (
        -- What was written about other runs may be out of date where a mark says that something has changed: those that
        -- came since the pass took its marks, and those that it left.
        SELECT greatest(judge.t, max(m.at) FILTER (WHERE m.id > judge.last_mark)) AS t,
               ARRAY[CASE WHEN bool_or(m.kind = 'PAUSED') THEN 'PAUSED' END,
                     CASE WHEN bool_or(m.kind IN ('DEPENDENCY', 'TASK', 'RUN')) THEN 'DEPENDENCY' END,
                     CASE WHEN bool_or(m.kind = 'PLAN_FAILED') THEN 'PLAN_FAILED' END,
                     CASE WHEN bool_or(m.kind IN ('NO_REPLICA', 'RUN')) THEN 'NO_REPLICA' END]
               || (coalesce(array_agg(DISTINCT 'LIMIT:' || m.limit_key) FILTER (WHERE m.kind = 'LIMIT'), '{}'))[1:100] AS stale
        FROM rowrun.gate_mark m
    ), room AS MATERIALIZED (
        -- Taken for many, so that they are hashed: as many plans as runs would be compared each with each.
        SELECT l.id AS plan_id, p.open, p.slots, l.parallel_limit IS NOT NULL AS limited
        FROM generate_subscripts(judge.plan_ids, 1) n
        CROSS JOIN LATERAL (SELECT l.id, l.parallel_limit FROM rowrun.plan l WHERE l.id = judge.plan_ids[n] OFFSET 0) l
        CROSS JOIN LATERAL rowrun.plan_room(l.id) p
    ), candidate AS MATERIALIZED (
        SELECT r.id, r.plan_id, r.database_id, r.version_key, r.sequential, r.priority, r.run_at, r.cause AS held,
               coalesce(p.open, true) AS plan_open, coalesce(p.slots, 1) AS slots, g.cause
        FROM rowrun.task_run r
        LEFT JOIN room p ON p.plan_id = r.plan_id
        CROSS JOIN moment
        CROSS JOIN LATERAL rowrun.closed_gate(r, coalesce(p.limited, false), moment.t) g
        WHERE r.id = ANY (judge.run_ids)
    ), target AS MATERIALIZED (
        -- What is AVAILABLE or RUNNING there: asked once, because with an old snapshot each answer passes by all that ended.
        SELECT d.database_id,
               CASE WHEN d.sequential THEN EXISTS (SELECT FROM rowrun.task_run a WHERE a.database_id = d.database_id
                                                   AND a.status IN ('AVAILABLE', 'RUNNING')) END AS active,
               CASE WHEN d.others THEN EXISTS (SELECT FROM rowrun.task_run a WHERE a.database_id = d.database_id AND a.sequential
                                               AND a.status IN ('AVAILABLE', 'RUNNING')) END AS active_sequential
        FROM (SELECT c.database_id, bool_or(c.sequential) AS sequential, bool_or(NOT c.sequential) AS others
              FROM candidate c WHERE c.cause IS NULL AND c.plan_open AND c.slots > 0 AND c.database_id IS NOT NULL GROUP BY 1) d
    ), open AS MATERIALIZED (
        -- Mutual exclusion with that. Each database is that of a candidate, so that FULL finds no more than LEFT; but it is
        -- never done as a loop, which the planner takes for few, and which compares each of a thousand with each.
        SELECT c.*, coalesce(CASE WHEN c.sequential THEN d.active ELSE d.active_sequential END, false) AS busy
        FROM (SELECT * FROM candidate c WHERE c.cause IS NULL AND c.plan_open AND c.slots > 0) c
        FULL JOIN target d ON d.database_id = c.database_id
    ), base AS MATERIALIZED (
        -- A run whose gates are open has the smallest version there is.
        SELECT d.database_id, coalesce(d.version_key, s.version_key) AS smallest
        FROM (SELECT o.database_id, min(o.version_key) AS version_key FROM open o WHERE o.database_id IS NOT NULL GROUP BY 1) d
        CROSS JOIN LATERAL rowrun.smallest_version(d.database_id) s
    ), first_other AS MATERIALIZED (
        -- Of each database the first of the others that may go: asked once, and not by each sequential run.
        SELECT DISTINCT ON (o.database_id) o.database_id, o.id, o.priority, o.run_at
        FROM open o WHERE NOT o.sequential AND NOT o.busy AND o.database_id IS NOT NULL
        ORDER BY o.database_id, o.priority DESC, o.run_at, o.id
    ), first_sequential AS MATERIALIZED (
        -- Of each database the first sequential run that mutual exclusion alone holds, candidate or not: the runs
        -- that come later in the order wait behind it. The limits of one that others keep from its start are asked here, as
        -- nobody asks them afterwards.
        SELECT DISTINCT ON (s.database_id) s.database_id, s.id, s.priority, s.run_at
        FROM (
            SELECT o.database_id, o.id, o.priority, o.run_at FROM open o CROSS JOIN moment FULL JOIN first_other e ON e.database_id = o.database_id
            WHERE o.sequential AND o.database_id IS NOT NULL
              AND NOT ((o.busy OR (-e.priority::bigint, e.run_at, e.id) < (-o.priority::bigint, o.run_at, o.id)) IS TRUE AND rowrun.limit_holding(o.id, moment.t) IS NOT NULL)
            UNION ALL
            SELECT b.database_id, x.id, x.priority, x.run_at
            FROM base b CROSS JOIN moment CROSS JOIN LATERAL rowrun.first_sequential(b.database_id, b.smallest, moment.t, moment.stale) x
            WHERE EXISTS (SELECT FROM rowrun.task_run r WHERE r.database_id = b.database_id AND r.status = 'PENDING'
                            AND r.version_key IS NULL AND r.sequential)
               OR EXISTS (SELECT FROM rowrun.task_run r WHERE r.database_id = b.database_id AND r.status = 'PENDING'
                            AND r.version_key = b.smallest AND r.sequential)
        ) s
        ORDER BY s.database_id, s.priority DESC, s.run_at, s.id
    ), passed AS MATERIALIZED (
        SELECT o.*,
               NOT o.busy AND (
                   o.database_id IS NULL
                   OR (o.sequential AND f.id = o.id AND (e.id IS NULL
                           OR (-e.priority::bigint, e.run_at, e.id) > (-o.priority::bigint, o.run_at, o.id)))
                   OR (NOT o.sequential AND (f.id IS NULL
                           OR (-o.priority::bigint, o.run_at, o.id) < (-f.priority::bigint, f.run_at, f.id)))
               ) AS alone
        FROM open o FULL JOIN first_sequential f ON f.database_id = o.database_id FULL JOIN first_other e ON e.database_id = o.database_id
    ), ranked AS MATERIALIZED (
        SELECT a.id, a.slots, row_number() OVER (PARTITION BY a.plan_id ORDER BY a.priority DESC, a.run_at, a.id) AS n
        FROM passed a WHERE a.alone
    )
    SELECT v.id, v.cause, v.plan_id, v.database_id, v.sequential AND v.database_id IS NOT NULL, v.crowded_out, v.fresh,
           v.could_go AND v.cause <> 'DATABASE' AND v.cause IS DISTINCT FROM v.held, (SELECT moment.t FROM moment)
    FROM (
        SELECT c.id, c.plan_id, c.database_id, c.sequential, c.held, c.held IS NULL AND c.version_key IS NOT NULL AS fresh,
               c.sequential AND c.database_id IS NOT NULL AND (c.held IS NULL OR c.held IN ('DATABASE', 'PLAN', 'LIMIT')) AS could_go,
               CASE WHEN c.cause IS NOT NULL THEN c.cause
                    WHEN NOT c.plan_open OR c.slots <= 0 THEN 'PLAN'
                    WHEN k.id IS NULL THEN 'DATABASE'
                    WHEN c.plan_id IS NOT NULL AND k.n > k.slots THEN 'PLAN' END AS cause,
               c.plan_id IS NOT NULL AND k.n > k.slots AS crowded_out
        FROM candidate c LEFT JOIN ranked k ON k.id = c.id
    ) v;
END;
COMMENT ON FUNCTION rowrun.judge(bigint[], bigint[], timestamptz, bigint) IS 'Internal: what holds each of these runs, judged together.';
