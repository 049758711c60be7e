-- How long a task keeps its runs that ended so: 0 for ever, NULL as long as the sidecars say. Inlined where it is called.
CREATE OR REPLACE FUNCTION rowrun.keeps(k rowrun.task, status text) RETURNS interval LANGUAGE sql STABLE
    RETURN coalesce((k.retention_by_status ->> status)::interval, k.retention);
COMMENT ON FUNCTION rowrun.keeps(rowrun.task, text) IS 'Internal: how long a task keeps its runs of a status; NULL: as long as the sidecars say.';

-- Every task of it is skipped or has only ended runs, all that was long ago, its event too, and nothing is still to be told of it.
-- When a task without runs was skipped nobody knows: what it keeps is counted from itself and from the event.
CREATE OR REPLACE FUNCTION rowrun.plan_is_old(p rowrun.plan, keep double precision, keep_failed double precision) RETURNS boolean LANGUAGE sql STABLE
    RETURN EXISTS (SELECT FROM rowrun.task k WHERE k.plan_id = p.id)
       AND NOT EXISTS (SELECT FROM rowrun.webhook_delivery d WHERE d.plan_id = p.id AND d.status = 'PENDING')
       AND NOT EXISTS (SELECT FROM rowrun.webhook_delivery_log e WHERE e.plan_id = p.id AND e.delivered_at >= statement_timestamp() - make_interval(secs => keep))
       AND NOT EXISTS (
           SELECT FROM rowrun.task k
           LEFT JOIN LATERAL (SELECT count(*) AS runs,
                                     bool_and(r.status IN ('DONE', 'FAILED', 'CANCELED')
                                              AND r.finished_at < statement_timestamp() - greatest(rowrun.keeps(k, r.status),
                                                  make_interval(secs => CASE r.status WHEN 'FAILED' THEN greatest(keep, keep_failed) ELSE keep END))
                                              AND rowrun.keeps(k, r.status) IS DISTINCT FROM interval '0') AS old
                              FROM rowrun.task_run r WHERE r.task_id = k.id AND r.plan_id IS NOT NULL) x ON true
           WHERE k.plan_id = p.id AND NOT CASE
               WHEN x.runs > 0 THEN x.old
               ELSE k.skipped AND k.retention IS DISTINCT FROM interval '0' AND coalesce(k.created_at < statement_timestamp() - k.retention, true)
                   AND NOT EXISTS (SELECT FROM rowrun.webhook_delivery_log e WHERE e.plan_id = p.id AND e.delivered_at >= statement_timestamp() - k.retention)
               END);
COMMENT ON FUNCTION rowrun.plan_is_old(rowrun.plan, double precision, double precision) IS 'Internal: whether a plan has outlived all it is kept for, in seconds.';

-- Tasks of SQL, DATABASE_MIGRATE and COMMAND are for authors, this column of theirs too.
CREATE OR REPLACE TRIGGER task_author_retention BEFORE UPDATE OF retention_by_status ON rowrun.task
    FOR EACH ROW EXECUTE FUNCTION rowrun.task_author_check();
