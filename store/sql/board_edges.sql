-- board_edges
-- Dependencies of a plan. It is planned for its parameters.
-- $1 bigint: plan
-- $2 bigint: only from and to this task; 0: all
-- $3 bigint: how many at most
-- Returns: store.Edge
SELECT d.task_id, d.depends_on_id FROM rowrun.task_dependency d
WHERE $2::bigint = 0 AND d.task_id = ANY (ARRAY(SELECT k.id FROM rowrun.task k WHERE k.plan_id = $1))
UNION ALL
(SELECT d.task_id, d.depends_on_id FROM rowrun.task_dependency d JOIN rowrun.task k ON k.id = d.task_id
 WHERE $2::bigint <> 0 AND d.task_id = $2 AND k.plan_id = $1)
UNION ALL
(SELECT d.task_id, d.depends_on_id FROM rowrun.task_dependency d JOIN rowrun.task k ON k.id = d.depends_on_id
 WHERE $2::bigint <> 0 AND d.depends_on_id = $2 AND k.plan_id = $1)
LIMIT $3
