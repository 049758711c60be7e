-- Whether a plan lets runs through at all, and how many more. Inlined where it is called, and evaluated once there
-- whatever is asked of it (OFFSET 0). What is counted is asked for in the order of its index, and by a status that isn't
-- spelled out: with statistics of an empty table any other index looks as good, that of all AVAILABLE runs too.
CREATE OR REPLACE FUNCTION rowrun.plan_room(plan_id bigint) RETURNS TABLE (open boolean, slots bigint)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT NOT p.paused AND NOT (p.on_failure = 'STOP' AND EXISTS (
               SELECT FROM rowrun.task f
               WHERE f.plan_id = p.id AND f.outcome = 'FAILED' AND NOT f.skipped
                 AND (SELECT u.id FROM rowrun.task_run u WHERE u.task_id = f.id AND u.plan_id IS NOT NULL
                      AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING') LIMIT 1) IS NULL)),
           CASE WHEN p.parallel_limit IS NULL THEN 1000000000
                ELSE greatest(p.parallel_limit
                              - (SELECT count(*) FROM unnest('{AVAILABLE,RUNNING}'::text[]) w(status)
                                 CROSS JOIN LATERAL (SELECT FROM rowrun.task_run a
                                                     WHERE a.plan_id = p.id AND a.status = w.status AND a.status IN ('AVAILABLE', 'RUNNING')
                                                     ORDER BY a.id OFFSET 0) a), 0) END
    FROM rowrun.plan p WHERE p.id = plan_room.plan_id OFFSET 0;
END;
COMMENT ON FUNCTION rowrun.plan_room(bigint) IS 'Internal: whether a plan lets runs through, and how many more.';
