-- board_find_runs
-- The ids of a page of runs.
-- $1 text: filter, as rowrun.find_runs takes it
-- $2 boolean: true: the newest first
-- $3 bigint: only above this id
-- $4 bigint: only up to this id
-- $5 integer: how many at most
-- $6 integer: how many to look at
-- Returns: ids in order, how far it looked, whether that was all, when the run there was inserted
SELECT f.ids, f.reached, f.over, (SELECT r.created_at FROM rowrun.task_run r WHERE r.id = f.reached)
FROM rowrun.find_runs($1::text::jsonb, $2, $3, $4, $5, $6) f
