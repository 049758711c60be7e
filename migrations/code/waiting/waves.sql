-- Why the wave of a task isn't open; no row where it is, or where there is none.
CREATE OR REPLACE FUNCTION rowrun.closed_wave(task_id bigint) RETURNS TABLE (cause text, message text, detail jsonb) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE WHEN b.stopped_at IS NOT NULL THEN 'PLAN_FAILED' ELSE 'DEPENDENCY' END,
           'waits for wave ' || w.wave || CASE WHEN w.name <> '' THEN ' (' || w.name || ')' ELSE '' END || ': '
           || coalesce('wave ' || b.wave || CASE WHEN b.name <> '' THEN ' (' || b.name || ')' ELSE '' END
               || CASE WHEN b.stopped_at IS NOT NULL THEN ' has ' || rowrun.failures_of_wave(b.plan_id, b.wave) || ' failures, at most ' || b.max_failures
                            || ' are accepted: rowrun plan wave resume, roll-on or give-up ' || b.plan_id
                       WHEN b.opened_at IS NULL THEN ' is not open yet'
                       WHEN b.done_at IS NOT NULL THEN ' is done and soaks until ' || to_char(w.opens_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC'
                       ELSE ' is under way' END, 'it is about to be opened'),
           jsonb_build_object('plan_id', w.plan_id, 'wave', w.wave, 'behind', b.wave, 'opens_at', w.opens_at)
    FROM rowrun.task k JOIN rowrun.plan_wave w ON w.plan_id = k.plan_id AND w.wave = k.wave
    LEFT JOIN LATERAL (SELECT * FROM rowrun.plan_wave x WHERE x.plan_id = w.plan_id AND x.wave < w.wave ORDER BY x.wave DESC LIMIT 1) b ON true
    WHERE k.id = closed_wave.task_id AND k.wave IS NOT NULL AND w.opened_at IS NULL;
END;
COMMENT ON FUNCTION rowrun.closed_wave(bigint) IS 'Internal: why the wave of a task is not open.';
