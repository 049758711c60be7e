-- The gates, as the promotion asks them. One text for all replicas, whatever their version: a rolling upgrade can't
-- have two opinions about a gate. rowrun.waiting() explains the same gates to people.

-- What tasks still wait for.
CREATE OR REPLACE VIEW rowrun.unmet_dependency WITH (security_invoker = true) AS
SELECT d.task_id, d.depends_on_id
FROM rowrun.task_dependency d JOIN rowrun.task n ON n.id = d.depends_on_id
WHERE NOT n.skipped
  AND (n.outcome IS DISTINCT FROM 'DONE'
       OR EXISTS (SELECT FROM rowrun.task_run u WHERE u.task_id = n.id AND u.plan_id IS NOT NULL
                  AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING')));
COMMENT ON VIEW rowrun.unmet_dependency IS 'Internal: dependencies on tasks that are neither DONE nor SKIPPED.';
