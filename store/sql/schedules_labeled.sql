-- schedules_labeled
-- Tasks that recur and have a label of that value.
-- $1 text: key of the label
-- $2 text: its value
-- $3 bigint: how many at most
-- Returns: rows: id, name, schedule
SELECT k.id, k.name, k.schedule FROM rowrun.task k
WHERE k.plan_id IS NULL AND k.schedule IS NOT NULL AND k.labels ->> $1 = $2
ORDER BY k.id LIMIT $3
