-- board_moments
-- When the runs of a plan's tasks came and went.
-- $1 bigint: plan
-- $2 bigint: only runs behind this one
-- $3 bigint: how many at most
-- Returns: store.RunMoments, by run
SELECT r.id, r.task_id, r.attempt, r.created_at, r.available_at, r.started_at, r.finished_at, r.status
FROM rowrun.task k JOIN rowrun.task_run r ON r.task_id = k.id
WHERE k.plan_id = $1 AND r.id > $2
ORDER BY r.id LIMIT $3
