-- What holds a run that is due by its own task or tick: the one text of skip, pause and missed ticks, for runs with gates and
-- without. Inlined where it is called.
CREATE OR REPLACE FUNCTION rowrun.own_cause(k rowrun.task, missed_at timestamptz, t timestamptz) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN k.skipped THEN 'SKIPPED' WHEN k.paused THEN 'PAUSED' WHEN missed_at < t THEN 'MISSED' END;
COMMENT ON FUNCTION rowrun.own_cause(rowrun.task, timestamptz, timestamptz) IS 'Internal: what holds a run by its own task or tick.';

-- The first gate that is closed for a PENDING run, but for those of its plan (limit, pause, STOP) and for mutual
-- exclusion, which need to be asked of all candidates together. NULL: none of them. Other jobs are asked for before the time, so
-- that a run that waits for nothing but its time has them behind it. Inlined where it is called.
CREATE OR REPLACE FUNCTION rowrun.closed_gate(r rowrun.task_run, plan_limited boolean, t timestamptz) RETURNS TABLE (cause text)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE WHEN r.after IS NOT NULL AND NOT k.skipped AND rowrun.awaits_runs(r.id) THEN 'DEPENDENCY'
                WHEN r.run_at > t THEN 'RUN_AT' ELSE coalesce(rowrun.own_cause(k, r.missed_at, t), CASE
        WHEN r.plan_id IS NOT NULL AND EXISTS (SELECT FROM rowrun.unmet_dependency d WHERE d.task_id = r.task_id) THEN 'DEPENDENCY'
        WHEN k.wave IS NOT NULL AND EXISTS (SELECT FROM rowrun.plan_wave w WHERE w.plan_id = r.plan_id AND w.wave = k.wave AND w.opened_at IS NULL)
        THEN 'DEPENDENCY'
        WHEN r.version_key IS NOT NULL AND (
            EXISTS (SELECT FROM rowrun.task_run u WHERE u.database_id = r.database_id
                    AND u.version_key < r.version_key AND u.status = 'PENDING')
            OR EXISTS (SELECT FROM rowrun.task_run u WHERE u.database_id = r.database_id
                       AND u.version_key < r.version_key AND u.status IN ('AVAILABLE', 'RUNNING'))
        ) THEN 'DATABASE'
        WHEN r.version_key IS NOT NULL AND r.plan_id IS NOT NULL AND EXISTS (
            SELECT FROM rowrun.task f JOIN rowrun.plan p ON p.id = f.plan_id
            WHERE p.id = r.plan_id AND p.on_failure = 'STOP_DATABASE' AND f.database_id = r.database_id
              AND f.version_key < r.version_key AND f.outcome IN ('FAILED', 'CANCELED') AND NOT f.skipped
        ) THEN 'PLAN_FAILED'
        WHEN (r.database_id IS NOT NULL OR plan_limited) AND NOT EXISTS (
            SELECT FROM rowrun.replica_heartbeat h WHERE rowrun.takes(h, t, r.queue, r.type, r.database_id, k.payload)
        ) THEN 'NO_REPLICA'
    END) END
    FROM rowrun.task k WHERE k.id = r.task_id;
END;
COMMENT ON FUNCTION rowrun.closed_gate(rowrun.task_run, boolean, timestamptz) IS 'Internal: the first closed gate of a PENDING run, but for its plan and mutual exclusion.';
