-- board_moments
-- When the runs of a plan's tasks came and went.
-- $1 bigint: plan
-- $2 bigint: only runs behind this one
-- $3 bigint: how many at most
-- Returns: store.RunMoments, by run
-- Task by task, whose runs are few: beside many runs the planner would walk all of them by id.
SELECT r.id, r.task_id, r.attempt, r.created_at, r.available_at, r.started_at, r.finished_at, r.status
FROM (SELECT t.id FROM rowrun.task t WHERE t.plan_id = $1 OFFSET 0) k
CROSS JOIN LATERAL (
    SELECT x.id, x.task_id, x.attempt, x.created_at, x.available_at, x.started_at, x.finished_at, x.status
    FROM rowrun.task_run x WHERE x.task_id = k.id AND x.id > $2 ORDER BY x.id OFFSET 0) r
ORDER BY r.id LIMIT $3
